//! The thread that keeps outlines behind the texts: started with the first question across files, woken
//! after every change.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ingest::IngestError;

use crate::engine::{STOP_WAIT, leave};
use crate::shared::SharedEngine;

#[derive(Default)]
pub(crate) struct Outliner {
    running: Mutex<Option<(JoinHandle<()>, Sender<()>)>>,
}

impl Outliner {
    /// Starts the thread unless it runs.
    pub(crate) fn start(&self, shared: &Arc<SharedEngine>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return;
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let shared = Arc::clone(shared);
        let spawned = std::thread::Builder::new().name("outliner".to_owned()).spawn(move || {
            while receiver.recv().is_ok() {
                // Several wakes are one.
                while receiver.try_recv().is_ok() {}
                catch_up(&shared);
            }
        });
        match spawned {
            Ok(thread) => {
                let _ = sender.send(());
                *running = Some((thread, sender));
            }
            // Outlines are then made again for each question.
            Err(error) => tracing::warn!(%error, "outlines cannot be made in the background"),
        }
    }

    pub(crate) fn wake(&self) {
        if let Some((_, sender)) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(());
        }
    }

    /// Ends the thread; `stopping` has told it to leave its work.
    pub(crate) fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((thread, sender)) = running {
            drop(sender);
            leave(thread, "outlining", STOP_WAIT);
        }
    }
}

fn catch_up(shared: &SharedEngine) {
    if !shared.is_writer() {
        return;
    }
    // Searching and indexing come first.
    let threads = (shared.config.threads / 2).max(1);
    let read = |path: &model::RelPath, max_bytes| shared.text(path, max_bytes);
    match ingest::outline_all(&read, &shared.index(), threads, &shared.stopping) {
        Ok(made) => tracing::debug!(made, "outlines are up to date"),
        Err(IngestError::Cancelled) => {}
        Err(error) => tracing::warn!(%error, "outlines could not be stored"),
    }
}
