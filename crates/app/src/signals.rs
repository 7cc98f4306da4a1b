//! The signals that end a server: an interrupt from the terminal, or a polite request to terminate.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is made, so that a request to stop is heard however early it comes.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Needs a running runtime.
    pub(crate) fn listen() -> io::Result<StopSignals> {
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Completes at the first of them.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
