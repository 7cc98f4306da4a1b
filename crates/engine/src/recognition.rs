//! Has pictures, scanned pages and recordings read in the background, where there are providers that can.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use index::IndexError;
use ingest::{ReadEvent, ReadReport};
use model::{Capability, DocType, ProviderError, SkipReason};
use tokio::sync::watch;

use crate::provider_thread::ProviderThread;
use crate::shared::SharedEngine;
use crate::worker::{CORPUS_EVERY, EngineEvent, EventSink};

/// The two threads that read. Pages come before recordings, which take long.
pub(crate) struct Recognition {
    pages: ProviderThread,
    recordings: ProviderThread,
    /// Pages are being read, or are about to be.
    pages_first: watch::Sender<bool>,
    /// A wake makes the pages' thread read: it runs, and its provider did not fail the last time.
    pages_follow: AtomicBool,
}

impl Default for Recognition {
    fn default() -> Recognition {
        Recognition {
            pages: ProviderThread::new("text recognition", |shared, on_event| -> BoxFuture<'_, _> {
                run_pages(shared, on_event).boxed()
            }),
            recordings: ProviderThread::new("transcription", |shared, on_event| -> BoxFuture<'_, _> {
                run_recordings(shared, on_event).boxed()
            }),
            pages_first: watch::Sender::new(false),
            pages_follow: AtomicBool::new(false),
        }
    }
}

impl Recognition {
    pub(crate) fn start(&self, shared: &Arc<SharedEngine>, on_event: &EventSink) {
        // What is published was read where the folder is.
        if shared.project.is_some() {
            return;
        }
        if shared.providers.recognizer.is_some() {
            self.pages_follow.store(true, Relaxed);
            self.pages.start(shared, on_event);
        }
        if shared.providers.transcriber.is_some() {
            self.recordings.start(shared, on_event);
        }
    }

    pub(crate) fn wake(&self) {
        if self.pages_follow.load(Relaxed) {
            self.pages_first.send_replace(true);
        }
        self.pages.wake();
        self.recordings.wake();
    }

    /// Reads all that is pending before it returns: for a command that ends afterwards.
    pub(crate) fn run_now(&self, shared: &Arc<SharedEngine>, on_event: &EventSink) {
        if shared.providers.recognizer.is_some() {
            self.pages.run_now(shared, on_event);
        }
        if shared.providers.transcriber.is_some() {
            self.recordings.run_now(shared, on_event);
        }
    }

    /// Ends the threads. What was kept stays.
    pub(crate) fn stop(&self) {
        self.pages.stop();
        self.recordings.stop();
    }
}

async fn run_pages(shared: &Arc<SharedEngine>, on_event: &EventSink) -> Option<ProviderError> {
    let recognizer = shared.providers.recognizer.as_ref()?;
    let desk = Arc::new(shared.desk().ok()?);
    let watch = ReadingWatch::new(shared, on_event, Capability::Ocr);
    let report = ingest::recognize_pending(&desk, recognizer, &|event| watch.on_event(event)).await;
    let stopped = watch.finish(report);
    // Recordings do not wait for a provider that is away.
    shared.recognition.pages_follow.store(stopped.is_none(), Relaxed);
    shared.recognition.pages_first.send_replace(false);
    stopped
}

async fn run_recordings(shared: &Arc<SharedEngine>, on_event: &EventSink) -> Option<ProviderError> {
    let transcriber = shared.providers.transcriber.as_ref()?;
    let mut pages_first = shared.recognition.pages_first.subscribe();
    // The sender lives as long as the engine.
    let _ = pages_first.wait_for(|reading| !reading).await;
    let desk = Arc::new(shared.desk().ok()?);
    let watch = ReadingWatch::new(shared, on_event, Capability::Stt);
    let report = ingest::transcribe_pending(&desk, transcriber, &|event| watch.on_event(event)).await;
    watch.finish(report)
}

/// Tells of a run while it goes on and when it has ended.
struct ReadingWatch<'a> {
    shared: &'a Arc<SharedEngine>,
    on_event: &'a EventSink,
    capability: Capability,
    last_corpus: Mutex<Instant>,
}

impl<'a> ReadingWatch<'a> {
    fn new(shared: &'a Arc<SharedEngine>, on_event: &'a EventSink, capability: Capability) -> Self {
        ReadingWatch { shared, on_event, capability, last_corpus: Mutex::new(Instant::now()) }
    }

    fn on_event(&self, event: ReadEvent) {
        match event {
            ReadEvent::Kept { parts } => self.shared.counters.add_read(self.capability, parts),
            ReadEvent::Refused { path, message } => {
                (self.on_event)(EngineEvent::FileError { path, message });
            }
            // New words want vectors.
            ReadEvent::Put => self.shared.embedding_thread.wake(),
        }
        let mut last = self.last_corpus.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= CORPUS_EVERY {
            self.shared.write_corpus();
            *last = Instant::now();
        }
        (self.on_event)(EngineEvent::Progress(self.shared.progress()));
    }

    fn finish(&self, report: Result<ReadReport, IndexError>) -> Option<ProviderError> {
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                // The index was replaced, or is damaged, which the indexing thread mends.
                tracing::warn!(%error, "what was read could not be kept");
                return None;
            }
        };
        let ReadReport { documents, parts, refused, stopped } = report;
        let what = match self.capability {
            Capability::Stt => "recordings are not transcribed yet",
            _ => "pictures and scanned pages are not read yet",
        };
        let note = stopped.as_ref().map(|error| {
            let remedy = error.failure(model::ErrorCode::OcrFailed).hint.unwrap_or_default();
            format!("some {what} ({error}). {remedy}")
        });
        let is_news = self.shared.counters.set_reading_note(self.capability, note.clone());
        if let (true, Some(note)) = (is_news, note) {
            (self.on_event)(EngineEvent::Warning(note));
        }
        if documents + parts + refused > 0 || is_news {
            self.shared.after_reading();
            (self.on_event)(EngineEvent::Progress(self.shared.progress()));
        }
        stopped
    }
}

impl SharedEngine {
    /// Gives files that wait for a provider the reason that is true with the providers of this process.
    pub(crate) fn retell_unread(&self) -> Result<(), IndexError> {
        let recognizer =
            self.providers.recognizer.as_ref().map(|it| format!("{}/{}", it.provider(), it.model()));
        let transcriber =
            self.providers.transcriber.as_ref().map(|it| format!("{}/{}", it.provider(), it.model()));
        let reason_now =
            |doc_type: DocType, needs: Capability, refused_by: Option<&str>| -> Option<SkipReason> {
                let reader = if needs == Capability::Stt { &transcriber } else { &recognizer };
                // What this one has refused keeps the reason that it gave.
                let is_refused = reader.is_some() && refused_by == reader.as_deref();
                (!is_refused).then(|| ingest::lacking(doc_type, needs, reader.is_some()))
            };
        self.index().retell_unread(&reason_now)?;
        Ok(())
    }
}
