//! The signals that end a server: an interrupt from the terminal, a polite request to terminate, or the end of the
//! terminal itself.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is made, so that a request to stop is heard however early it comes.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// None where the caller asked for it to be ignored, as `nohup` does.
    hangup: Option<Signal>,
}

impl StopSignals {
    /// Needs a running runtime.
    pub(crate) fn listen() -> io::Result<StopSignals> {
        let hangup =
            if is_ignored(SignalKind::hangup()) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Completes at the first of them.
    pub(crate) async fn received(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this process was started with a signal ignored. Without `/proc` that cannot be told, and it is not.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file about this process")]
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
