//! The thread that keeps vectors behind the words, where they are bought from a provider: woken after every change.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ingest::EmbedReport;
use model::{ProviderError, ProviderErrorKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::engine::{STOP_WAIT, leave};
use crate::shared::SharedEngine;
use crate::worker::{CORPUS_EVERY, EngineEvent, EventSink};

/// Pause before a provider that failed is asked again; doubles up to the second one while it keeps failing.
const FIRST_RETRY: Duration = Duration::from_secs(30);
const RAREST_RETRY: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(crate) struct EmbeddingThread {
    wake: Arc<Notify>,
    stop: CancellationToken,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl EmbeddingThread {
    /// Starts the thread; not for a local embedder, which the index calls itself.
    pub(crate) fn start(&self, shared: &Arc<SharedEngine>, on_event: &EventSink) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.embedding.remote().is_none() || running.is_some() {
            return;
        }
        let (wake, stop) = (Arc::clone(&self.wake), self.stop.clone());
        let (shared, events) = (Arc::clone(shared), Arc::clone(on_event));
        let spawned = std::thread::Builder::new().name("embedder".to_owned()).spawn(move || {
            // Its own: the work goes on while calls keep the server's threads busy.
            match runtime() {
                Ok(runtime) => runtime.block_on(async {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = follow(&shared, &wake, &events) => {}
                    }
                }),
                Err(error) => tracing::error!(%error, "vectors cannot be made in the background"),
            }
        });
        match spawned {
            Ok(thread) => *running = Some(thread),
            Err(error) => {
                (on_event)(EngineEvent::Warning(format!(
                    "the system grants no thread to embed with: {error}"
                )));
            }
        }
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends the thread. What was stored stays.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = running {
            leave(thread, "embedding", STOP_WAIT);
        }
    }
}

/// Embeds all that is pending, in this thread: for a command that ends afterwards.
pub(crate) fn embed_now(shared: &Arc<SharedEngine>, on_event: &EventSink) {
    if shared.embedding.remote().is_none() || shared.stopping.load(Relaxed) {
        return;
    }
    match runtime() {
        Ok(runtime) => {
            let stop = shared.embedding_thread.stop.clone();
            runtime.block_on(async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = run(shared, on_event) => {}
                }
            });
        }
        Err(error) => {
            (on_event)(EngineEvent::Warning(format!("the system grants no thread to embed with: {error}")));
        }
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Embeds whenever something has changed, and again after a while where the provider failed.
async fn follow(shared: &Arc<SharedEngine>, wake: &Notify, on_event: &EventSink) {
    let mut retry = FIRST_RETRY;
    loop {
        wake.notified().await;
        while shared.is_writer() {
            let Some(error) = run(shared, on_event).await else {
                retry = FIRST_RETRY;
                break;
            };
            let pause = match error.kind {
                // Nothing changes until the user changes the key, and then the process starts again.
                ProviderErrorKind::Auth => return,
                ProviderErrorKind::RateLimited { after: Some(told) }
                | ProviderErrorKind::Paused { after: told, .. } => told,
                _ => retry,
            };
            retry = (2 * retry).min(RAREST_RETRY);
            tokio::time::sleep(pause).await;
        }
    }
}

/// One run over all that is pending. Returns why some of it still is.
async fn run(shared: &Arc<SharedEngine>, on_event: &EventSink) -> Option<ProviderError> {
    let embedder = shared.embedding.remote()?;
    let index = shared.index();
    let last_corpus = Mutex::new(Instant::now());
    let on_stored = |chunks| {
        shared.counters.add_embedded(chunks);
        let mut last = last_corpus.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= CORPUS_EVERY {
            shared.write_corpus();
            *last = Instant::now();
        }
        (on_event)(EngineEvent::Progress(shared.progress()));
    };
    let report = match ingest::embed_pending(&index, embedder, &on_stored).await {
        Ok(report) => report,
        Err(error) => {
            // The index was replaced, or is damaged, which the indexing thread mends.
            tracing::warn!(%error, "vectors could not be stored");
            return None;
        }
    };
    let EmbedReport { embedded, refused, stopped } = report;
    let note = stopped.as_ref().map(|error| {
        format!("some passages have no vectors yet and are found by their words only ({error})")
    });
    let is_news = shared.counters.set_embedding_note(note.clone());
    if let (true, Some(note)) = (is_news, note) {
        (on_event)(EngineEvent::Warning(note));
    }
    if embedded + refused > 0 || is_news {
        shared.refresh_totals();
        shared.write_corpus();
        (on_event)(EngineEvent::Progress(shared.progress()));
    }
    stopped
}
