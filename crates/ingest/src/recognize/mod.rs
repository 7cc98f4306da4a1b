//! The recognition worker: has pictures, scanned pages and recordings read, while everything else can already be searched.
//!
//! ```text
//! index::unread_documents ─▶ a batch of pages, or a recording ─▶ index::keep_parts ─▶ the document put again ─▶ publish
//! ```
//!
//! Every answer is kept at once, by the hash of the content: a kill costs what was under way and nothing that was kept, and
//! a copy of the file is not read again.

mod desk;
mod pages;
mod speech;
mod turns;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use index::{DocumentRow, IndexError};
use model::{
    Capability, ContentHash, ProviderError, ProviderErrorKind, RelPath, SkipReason, TextRecognizer,
    Transcriber, UnreadParts,
};
use tokio::time::Instant;

use crate::kept::{recognizer_name, transcriber_name};
use crate::pace::ProviderPace;
use crate::texts::{TextLayer, still_unread};

use self::pages::{PageAnswer, PageReader, PageRequests, draw};

pub use desk::{DocumentDesk, LoadedDocument};
pub use speech::{TranscribeWish, transcribe};
pub use turns::Turns;

/// What was read becomes searchable first after half a second, then at intervals that grow with the job, as words do.
const FIRST_PUBLICATION: Duration = Duration::from_millis(500);
const RAREST_PUBLICATION: Duration = Duration::from_secs(15);

/// A long document is put again so often while its pages come.
const PUT_EVERY: Duration = Duration::from_secs(20);

/// Documents looked at ahead: enough to find one that made no trouble.
const LOOK_AHEAD: usize = 64;

/// A document for which no answer came so often, while others were read, is given up.
const MOST_TROUBLES: u32 = 3;

/// What a run of the worker did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Documents of which nothing is unread any more.
    pub documents: u64,
    /// Pages, or recordings, that were read.
    pub parts: u64,
    /// Documents that the provider will not read, with the reason in the catalog.
    pub refused: u64,
    /// Why some are still unread, if so.
    pub stopped: Option<ProviderError>,
}

/// What the worker tells while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadEvent {
    /// So many more pages or recordings were read and kept.
    Kept { parts: u64 },
    /// A document will not be read.
    Refused { path: String, message: String },
    /// A document can be searched by what was read in it.
    Put,
}

/// Has all pending pages and pictures recognised. Ends when none is left, or when the provider has said something that
/// waiting for a while does not change; then the rest stays pending.
///
/// Dropping the future stops the work at once. Waits are waits of tokio's clock, which tests can stop and move.
pub async fn recognize_pending(
    desk: &Arc<DocumentDesk>,
    recognizer: &Arc<dyn TextRecognizer>,
    on_event: &(dyn Fn(ReadEvent) + Send + Sync),
) -> Result<ReadReport, IndexError> {
    let reader = PartReader::Pages(recognizer.as_ref());
    Run::new(desk, reader, on_event).all().await
}

/// The same for recordings.
pub async fn transcribe_pending(
    desk: &Arc<DocumentDesk>,
    transcriber: &Arc<dyn Transcriber>,
    on_event: &(dyn Fn(ReadEvent) + Send + Sync),
) -> Result<ReadReport, IndexError> {
    let reader = PartReader::Speech(transcriber.as_ref());
    Run::new(desk, reader, on_event).all().await
}

#[derive(Clone, Copy)]
enum PartReader<'a> {
    Pages(&'a dyn TextRecognizer),
    Speech(&'a dyn Transcriber),
}

impl PartReader<'_> {
    fn capability(self) -> Capability {
        match self {
            PartReader::Pages(_) => Capability::Ocr,
            PartReader::Speech(_) => Capability::Stt,
        }
    }

    fn provider(&self) -> &str {
        match self {
            PartReader::Pages(recognizer) => recognizer.provider(),
            PartReader::Speech(transcriber) => transcriber.provider(),
        }
    }

    fn name(self) -> String {
        match self {
            PartReader::Pages(recognizer) => recognizer_name(recognizer),
            PartReader::Speech(transcriber) => transcriber_name(transcriber),
        }
    }
}

struct Run<'a> {
    desk: &'a Arc<DocumentDesk>,
    reader: PartReader<'a>,
    name: String,
    on_event: &'a (dyn Fn(ReadEvent) + Send + Sync),
    pace: ProviderPace,
    started: Instant,
    published: Instant,
    is_published: bool,
    report: ReadReport,
}

/// How the reading of a document ended.
enum Ending {
    Read,
    /// The provider will not read it, for this reason.
    Refused(String),
    /// No answer came.
    Unanswered(ProviderError),
    /// It could not be given to the provider, through no fault of either.
    NotTried(String),
}

impl<'a> Run<'a> {
    fn new(
        desk: &'a Arc<DocumentDesk>,
        reader: PartReader<'a>,
        on_event: &'a (dyn Fn(ReadEvent) + Send + Sync),
    ) -> Run<'a> {
        let started = Instant::now();
        Run {
            desk,
            reader,
            name: reader.name(),
            on_event,
            pace: ProviderPace::new(),
            started,
            published: started,
            is_published: true,
            report: ReadReport::default(),
        }
    }

    async fn all(mut self) -> Result<ReadReport, IndexError> {
        // Those that stay unread for now: gone, changed, or to be tried in the next run.
        let mut left: HashSet<String> = HashSet::new();
        while self.report.stopped.is_none() {
            let Some(row) = self.next(&left).await? else { break };
            let path = row.document.path.clone();
            if !self.document(row).await? {
                left.insert(path);
            }
        }
        self.publish().await?;
        Ok(self.report)
    }

    /// The smallest document that is unread; those that made trouble come last.
    async fn next(&self, left: &HashSet<String>) -> Result<Option<DocumentRow>, IndexError> {
        let (desk, capability, name) = (Arc::clone(self.desk), self.reader.capability(), self.name.clone());
        let limit = left.len() + LOOK_AHEAD;
        let rows = blocking(move || desk.index.unread_documents(capability, &name, limit)).await?;
        let mut rows: Vec<DocumentRow> =
            rows.into_iter().filter(|row| !left.contains(&row.document.path)).collect();
        let in_trouble = |row: &DocumentRow| {
            row.content_hash.as_ref().is_some_and(|content| self.desk.turns.is_in_trouble(content))
        };
        let first = rows.iter().position(|row| !in_trouble(row)).unwrap_or(0);
        Ok((first < rows.len()).then(|| rows.swap_remove(first)))
    }

    /// Has one document read. Returns whether there is nothing more to do about it.
    async fn document(&mut self, row: DocumentRow) -> Result<bool, IndexError> {
        let (Ok(path), Some(content)) = (RelPath::from_walk(&row.path), row.content_hash) else {
            return Ok(false);
        };
        let _turn = self.desk.turns.take(content).await;
        let loaded = {
            let desk = Arc::clone(self.desk);
            blocking(move || {
                let Ok(document) = desk.load(&path) else { return Ok(None) };
                if document.content_hash != content {
                    return Ok(None);
                }
                let layer = desk.layer(&document);
                let kept = desk.kept(&content)?;
                Ok(Some((document, layer, kept)))
            })
            .await?
        };
        // What happened to it meanwhile is for the scan to find out.
        let Some((document, layer, kept)) = loaded else { return Ok(false) };
        let document = Arc::new(document);
        let ending = match layer.unread().and_then(|parts| still_unread(parts, &kept)) {
            // Another document has the same content, and was read first.
            None => Ending::Read,
            Some(UnreadParts::Pages(pages)) => self.pages(&document, &layer, &pages).await?,
            Some(UnreadParts::Speech) => self.speech(&document).await?,
        };
        match ending {
            Ending::Read => {
                self.desk.turns.succeeded(&content);
                self.put(&document, layer).await?;
                self.report.documents += 1;
                Ok(true)
            }
            Ending::Refused(reason) => {
                // What was read of it counts all the same.
                self.put(&document, layer).await?;
                self.refuse(&document, content, reason).await?;
                Ok(true)
            }
            Ending::NotTried(detail) => {
                self.put(&document, layer).await?;
                let is_hopeless = self.desk.turns.failed(content) >= MOST_TROUBLES;
                if is_hopeless {
                    self.refuse(&document, content, detail).await?;
                }
                Ok(is_hopeless)
            }
            Ending::Unanswered(error) => {
                self.put(&document, layer).await?;
                let is_hopeless = self.desk.turns.failed(content) >= MOST_TROUBLES;
                match error.kind {
                    ProviderErrorKind::Unreachable { reason } if is_hopeless => {
                        self.refuse(&document, content, format!("no answer: {reason}")).await?;
                        Ok(true)
                    }
                    kind => {
                        self.report.stopped = Some(ProviderError { kind, ..error });
                        Ok(false)
                    }
                }
            }
        }
    }

    async fn pages(
        &mut self,
        document: &Arc<LoadedDocument>,
        layer: &TextLayer,
        pages: &[u32],
    ) -> Result<Ending, IndexError> {
        let PartReader::Pages(recognizer) = self.reader else { return Ok(Ending::Read) };
        let (limits, pace) = (recognizer.limits(), self.pace.clone());
        let reader = PageReader { recognizer, pace: &pace, document };
        let mut taken = TakenPages::new();
        match PageRequests::of(&limits, document, pages) {
            PageRequests::Pdf(requests) => {
                for pages in requests {
                    let answer = reader.read_pdf(pages).await;
                    self.take(&mut taken, document, layer, answer).await?;
                    if taken.unanswered.is_some() {
                        break;
                    }
                }
            }
            PageRequests::Pictures(groups) => {
                for pages in groups {
                    let drawn = {
                        let (desk, document) = (Arc::clone(self.desk), Arc::clone(document));
                        let draw = move || Ok(draw(desk.options.reader.as_ref(), &document, &pages, &limits));
                        blocking(draw).await?
                    };
                    let ask = |(page, picture)| reader.read_picture(page, picture);
                    let answers = futures::stream::iter(drawn).map(ask);
                    let mut answers = answers.buffer_unordered(limits.requests.max(1));
                    // After a failure the other requests end by themselves, since they share the pace; what they still
                    // bring is kept.
                    while let Some(answer) = answers.next().await {
                        self.take(&mut taken, document, layer, answer).await?;
                    }
                    if taken.unanswered.is_some() {
                        break;
                    }
                }
            }
        }
        Ok(taken.ending(pages))
    }

    /// Keeps what came of one request.
    async fn take(
        &mut self,
        taken: &mut TakenPages,
        document: &Arc<LoadedDocument>,
        layer: &TextLayer,
        answer: Result<PageAnswer, ProviderError>,
    ) -> Result<(), IndexError> {
        let PageAnswer { read, refused, not_tried } = match answer {
            Ok(answer) => answer,
            Err(error) => {
                taken.unanswered.get_or_insert(error);
                return Ok(());
            }
        };
        taken.refused.extend(refused);
        taken.not_tried = taken.not_tried.take().or(not_tried);
        let parts = read.len() as u64;
        if parts == 0 {
            return Ok(());
        }
        let (desk, of) = (Arc::clone(self.desk), Arc::clone(document));
        blocking(move || desk.keep_pages(&of, &read)).await?;
        self.report.parts += parts;
        (self.on_event)(ReadEvent::Kept { parts });
        if Instant::now() >= taken.put_at {
            self.put(document, layer.clone()).await?;
            taken.put_at = Instant::now() + PUT_EVERY;
        }
        Ok(())
    }

    async fn speech(&mut self, document: &Arc<LoadedDocument>) -> Result<Ending, IndexError> {
        let PartReader::Speech(transcriber) = self.reader else { return Ok(Ending::Read) };
        let wish = TranscribeWish { language: None, timestamps: true, on_progress: None };
        let reader = Arc::clone(&self.desk.options.reader);
        let mut bad_answers = 0;
        let transcript = loop {
            let turn = match self.pace.turn().await {
                Ok(turn) => turn,
                Err(error) => return Ok(Ending::Unanswered(error)),
            };
            let error = match transcribe(transcriber, &reader, document, wish).await {
                Ok(transcript) => break transcript,
                Err(error) => error,
            };
            match error.kind {
                ProviderErrorKind::Refused { reason } => return Ok(Ending::Refused(reason)),
                ProviderErrorKind::BadAnswer { reason } if bad_answers > 0 => {
                    return Ok(Ending::Refused(format!("the answer is not usable: {reason}")));
                }
                ProviderErrorKind::BadAnswer { .. } => bad_answers += 1,
                kind => {
                    let error = ProviderError { kind, ..error };
                    tracing::warn!(%error, "a recording could not be transcribed");
                    if let Err(error) = self.pace.failed(turn, error) {
                        return Ok(Ending::Unanswered(error));
                    }
                }
            }
        };
        self.pace.succeeded();
        let (desk, document) = (Arc::clone(self.desk), Arc::clone(document));
        blocking(move || desk.keep_transcript(&document, &transcript)).await?;
        self.report.parts += 1;
        (self.on_event)(ReadEvent::Kept { parts: 1 });
        Ok(Ending::Read)
    }

    /// Puts a document again with what is kept of it by now.
    async fn put(&mut self, document: &Arc<LoadedDocument>, layer: TextLayer) -> Result<(), IndexError> {
        let (desk, document) = (Arc::clone(self.desk), Arc::clone(document));
        blocking(move || desk.put(&document.path, &document.content_hash, layer)).await?;
        self.is_published = false;
        let interval = (self.started.elapsed() / 2).clamp(FIRST_PUBLICATION, RAREST_PUBLICATION);
        if self.published.elapsed() >= interval {
            self.publish().await?;
        }
        (self.on_event)(ReadEvent::Put);
        Ok(())
    }

    async fn refuse(
        &mut self,
        document: &Arc<LoadedDocument>,
        content: ContentHash,
        detail: String,
    ) -> Result<(), IndexError> {
        let reason = SkipReason::NotRecognized {
            needs: self.reader.capability(),
            provider: self.reader.provider().to_owned(),
            detail,
        };
        let (desk, path, name) =
            (Arc::clone(self.desk), document.path.as_str().to_owned(), self.name.clone());
        let event = ReadEvent::Refused { path: path.clone(), message: reason.to_string() };
        if blocking(move || desk.index.refuse_unread(&path, &content, &name, &reason)).await? {
            self.report.refused += 1;
            (self.on_event)(event);
        }
        Ok(())
    }

    async fn publish(&mut self) -> Result<(), IndexError> {
        if !std::mem::replace(&mut self.is_published, true) {
            let desk = Arc::clone(self.desk);
            blocking(move || desk.index.publish()).await?;
            self.published = Instant::now();
        }
        Ok(())
    }
}

/// What has come of the pages of a document so far.
struct TakenPages {
    refused: Vec<(u32, String)>,
    unanswered: Option<ProviderError>,
    not_tried: Option<String>,
    /// When it is put again with what there is.
    put_at: Instant,
}

impl TakenPages {
    fn new() -> TakenPages {
        let put_at = Instant::now() + PUT_EVERY;
        TakenPages { refused: Vec::new(), unanswered: None, not_tried: None, put_at }
    }

    fn ending(mut self, pages: &[u32]) -> Ending {
        if let Some(error) = self.unanswered {
            return Ending::Unanswered(error);
        }
        self.refused.sort();
        match (self.refused.first(), self.not_tried) {
            (Some((_, reason)), _) if pages.len() == 1 => Ending::Refused(reason.clone()),
            (Some((page, reason)), _) => {
                let more = match self.refused.len() {
                    1 => String::new(),
                    all => format!(" and {} more", all - 1),
                };
                Ending::Refused(format!("page {page}{more}: {reason}"))
            }
            (None, Some(detail)) => Ending::NotTried(detail),
            (None, None) => Ending::Read,
        }
    }
}

/// Runs work that waits for the disk or takes long off the threads that drive requests.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(IndexError::ReadOnly),
        },
    }
}
