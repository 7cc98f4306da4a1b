//! The signals that end a server: an interrupt from the terminal, or a polite request to terminate.

use tokio::signal::unix::{SignalKind, signal};

/// Completes at the first of them.
pub(crate) async fn stop() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the default action ends the process anyway.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
