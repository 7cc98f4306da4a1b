//! Keeps vectors behind the words, where they are bought from a provider.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use ingest::EmbedReport;
use model::ProviderError;

use crate::provider_thread::ProviderThread;
use crate::shared::SharedEngine;
use crate::worker::{CORPUS_EVERY, EngineEvent, EventSink};

pub(crate) fn thread() -> ProviderThread {
    ProviderThread::new("embedding", |shared, on_event| -> BoxFuture<'_, _> { run(shared, on_event).boxed() })
}

/// One run over all that is pending. Returns why some of it still is. Nothing for a local embedder, which the index calls
/// itself.
async fn run(shared: &Arc<SharedEngine>, on_event: &EventSink) -> Option<ProviderError> {
    let embedder = shared.providers.embedding.remote()?;
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
