//! NDJSON events (dir2mcp specification, section 3.2): one object per line on standard output.

use std::io::{self, Write};
use std::sync::Mutex;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::safe::escape_json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Writes events. Lines never mix, whatever thread they come from.
pub(crate) struct Events {
    out: Mutex<Box<dyn Write + Send>>,
    now: fn() -> Timestamp,
}

impl Events {
    pub(crate) fn stdout() -> Events {
        Events { out: Mutex::new(Box::new(io::stdout())), now: Timestamp::now }
    }

    /// Emits one event. A reader that went away is not told.
    pub(crate) fn emit(&self, level: Level, event: &str, data: Value) {
        let line = line((self.now)(), level, event, &data);
        let mut out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // In one piece, so that another process on the same pipe cannot get in between.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

fn line(now: Timestamp, level: Level, event: &str, data: &Value) -> String {
    let ts = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let event = json!({ "ts": ts, "level": level.word(), "event": event, "data": data });
    format!("{}\n", escape_json(&event.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn fixed() -> Timestamp {
        "2026-02-25T12:34:56.789012Z".parse().unwrap()
    }

    #[test]
    fn d047_one_object_per_line() {
        let text = line(fixed(), Level::Warn, "file_error", &json!({"rel_path": "a\nb\u{9b}"}));
        assert_eq!(
            text,
            "{\"ts\":\"2026-02-25T12:34:56.789Z\",\"level\":\"warn\",\"event\":\"file_error\",\
             \"data\":{\"rel_path\":\"a\\nb\\u009b\"}}\n"
        );
        let whole = line("2026-02-25T12:34:56Z".parse().unwrap(), Level::Info, "x", &json!({}));
        assert!(whole.starts_with("{\"ts\":\"2026-02-25T12:34:56.000Z\""), "{whole}");
    }

    #[test]
    fn lines_of_many_threads_stay_whole() {
        let shared = Shared::default();
        let events = Events { out: Mutex::new(Box::new(shared.clone())), now: fixed };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..200).for_each(|n| events.emit(Level::Info, "x", json!({ "n": n }))));
            }
        });
        let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1600);
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }

    #[test]
    fn a_closed_pipe_is_survived() {
        let events = Events { out: Mutex::new(Box::new(Closed)), now: fixed };
        events.emit(Level::Info, "x", json!({}));
        events.emit(Level::Info, "x", json!({}));
    }
}
