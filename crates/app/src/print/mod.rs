//! Everything that goes to the terminal: safe text, the connection block, NDJSON events, progress.

pub(crate) mod connection;
pub(crate) mod events;
pub(crate) mod report;
pub(crate) mod safe;

use std::io::{self, Write};

pub(crate) use safe::{is_unsafe, safe, safe_text};

/// Writes to standard output. A reader that went away (`| head`) is no failure.
pub(crate) fn out(text: &str) -> io::Result<()> {
    tolerate_closed_pipe(write_all(&mut io::stdout().lock(), text))
}

/// Writes to standard error, where a failure has nobody left to hear of it.
pub(crate) fn err(text: &str) {
    let _ = write_all(&mut io::stderr().lock(), text);
}

/// Says something that is not wrong but should be known.
pub(crate) fn warn(message: &str) {
    err(&format!("WARNING: {message}\n"));
}

/// A JSON value for a script: indented, with a line end, safe on a terminal.
pub(crate) fn out_json(value: &serde_json::Value) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    out(&format!("{}\n", safe::escape_json(&text)))
}

fn write_all(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

pub(crate) fn tolerate_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
