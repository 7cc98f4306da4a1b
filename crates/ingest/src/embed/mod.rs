//! The embedding worker: buys vectors for the chunks that wait for one, while words can already be searched.
//!
//! ```text
//! index::pending_chunks ─▶ requests (a batch of the embedder, divided) ─▶ index::store_vectors ─▶ publish
//! ```
//!
//! Every answer is stored at once, under the model and the hash of the text, and the requests under way hold no more than
//! one batch together: that is what a kill costs, and nothing that was stored. A text that occurs several times is sent once.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use index::{Index, IndexError, NewVector, PendingChunk};
use model::{ChunkId, EmbedLimits, Embedder, IndexKind, ProviderError, ProviderErrorKind, Purpose};
use tokio::time::Instant;

use crate::pace::ProviderPace;
use crate::recognize::blocking;

/// A request without an answer counts as lost after this time, whatever the provider's client does about it.
const REQUEST_DEADLINE: Duration = Duration::from_secs(120);

/// Vectors become searchable first after half a second, then at intervals that grow with the job, as words do.
const FIRST_PUBLICATION: Duration = Duration::from_millis(500);
const RAREST_PUBLICATION: Duration = Duration::from_secs(15);

/// When all texts of a request of at least this size are refused one by one, the provider refuses us and not the texts.
const REFUSED_ALTOGETHER: usize = 8;

/// Chunks whose vectors were bought earlier that are stored in one transaction.
const KNOWN_TOGETHER: usize = 512;

/// What a run of the worker did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedReport {
    /// Chunks that have got a vector.
    pub embedded: u64,
    /// Chunks that will have none, with the reason in the catalog.
    pub refused: u64,
    /// Why chunks are still pending, if some are.
    pub stopped: Option<ProviderError>,
}

/// Buys a vector for every pending chunk. Ends when none is left, or when the provider has said something that waiting
/// for a while does not change; then the rest stays pending.
///
/// Dropping the future stops the work at once. `on_stored` is told how many chunks have got a vector, each time some have; of
/// the last ones when they can be searched, so that a complete count means complete vectors.
/// Waits are waits of tokio's clock, which tests can stop and move.
pub async fn embed_pending(
    index: &Arc<Index>,
    embedder: &Arc<dyn Embedder>,
    on_stored: &(dyn Fn(u64) + Send + Sync),
) -> Result<EmbedReport, IndexError> {
    let started = Instant::now();
    let mut worker = Worker {
        index,
        embedder: &**embedder,
        limits: embedder.limits(),
        pace: ProviderPace::new(),
        on_stored,
        started,
        published: started,
        is_published: true,
        untold: 0,
        report: EmbedReport::default(),
    };
    for kind in [IndexKind::Text, IndexKind::Code] {
        if embedder.dimensions(kind) == 0 {
            continue;
        }
        // Chunks that come meanwhile have any id, so the last pass is one that finds nothing.
        while worker.report.stopped.is_none() && worker.pass(kind).await? {}
    }
    worker.publish().await?;
    Ok(worker.report)
}

struct Worker<'a> {
    index: &'a Arc<Index>,
    embedder: &'a dyn Embedder,
    limits: EmbedLimits,
    pace: ProviderPace,
    on_stored: &'a (dyn Fn(u64) + Send + Sync),
    started: Instant,
    published: Instant,
    is_published: bool,
    /// Chunks with a vector that `on_stored` has not been told of.
    untold: u64,
    report: EmbedReport,
}

/// A text under way, by its hash.
type TextHash = [u8; 16];

/// The vector of a text, or why the provider refuses it.
type Answer = (TextHash, Result<Vec<f32>, String>);

impl Worker<'_> {
    /// One look at all pending chunks of a kind. Returns whether there were any.
    async fn pass(&mut self, kind: IndexKind) -> Result<bool, IndexError> {
        let (embedder, pace) = (self.embedder, self.pace.clone());
        let mut queue = Queue::new(Arc::clone(self.index), kind, self.limits);
        let mut under_way = FuturesUnordered::new();
        let mut found_any = false;
        loop {
            while self.report.stopped.is_none() && under_way.len() < self.limits.requests_at_once() {
                let Next { texts, known } = queue.next().await?;
                if texts.is_empty() && known.is_empty() {
                    break;
                }
                found_any = true;
                self.store(kind, known).await?;
                if !texts.is_empty() {
                    under_way.push(ask(embedder, pace.clone(), kind, texts));
                }
            }
            match under_way.next().await {
                None => return Ok(found_any),
                Some(Ok(answers)) => self.store(kind, queue.answered(answers)).await?,
                // The other requests end by themselves: they share the pace.
                Some(Err(error)) => self.report.stopped = Some(error),
            }
        }
    }

    async fn store(&mut self, kind: IndexKind, vectors: Vec<NewVector>) -> Result<(), IndexError> {
        if vectors.is_empty() {
            return Ok(());
        }
        let refused = vectors.iter().filter(|new| new.vector.is_err()).count() as u64;
        let index = Arc::clone(self.index);
        let embedded = blocking(move || index.store_vectors(kind, &vectors)).await?;
        self.report.embedded += embedded;
        self.report.refused += refused;
        self.is_published = false;
        self.tell();
        self.untold = embedded;
        let interval = (self.started.elapsed() / 2).clamp(FIRST_PUBLICATION, RAREST_PUBLICATION);
        if self.published.elapsed() >= interval {
            self.publish().await?;
        }
        Ok(())
    }

    async fn publish(&mut self) -> Result<(), IndexError> {
        if !std::mem::replace(&mut self.is_published, true) {
            let index = Arc::clone(self.index);
            blocking(move || index.publish()).await?;
            self.published = Instant::now();
        }
        self.tell();
        Ok(())
    }

    fn tell(&mut self) {
        match std::mem::take(&mut self.untold) {
            0 => {}
            chunks => (self.on_stored)(chunks),
        }
    }
}

/// What is to be done next about pending chunks.
struct Next {
    /// To be sent in one request.
    texts: Vec<(TextHash, String)>,
    /// The vector is there already.
    known: Vec<NewVector>,
}

/// The pending chunks of a kind, read a few requests ahead.
struct Queue {
    index: Arc<Index>,
    kind: IndexKind,
    limits: EmbedLimits,
    after: ChunkId,
    ahead: VecDeque<PendingChunk>,
    /// The chunks that wait for each text under way.
    waiting: HashMap<TextHash, Vec<ChunkId>>,
}

impl Queue {
    fn new(index: Arc<Index>, kind: IndexKind, limits: EmbedLimits) -> Queue {
        Queue { index, kind, limits, after: ChunkId(0), ahead: VecDeque::new(), waiting: HashMap::new() }
    }

    async fn next(&mut self) -> Result<Next, IndexError> {
        let mut next = Next { texts: Vec::new(), known: Vec::new() };
        let (most_texts, mut bytes) = (self.limits.texts_of_a_request(), 0);
        while next.texts.len() < most_texts && next.known.len() < KNOWN_TOGETHER {
            if self.ahead.is_empty() {
                self.read_ahead().await?;
            }
            let Some(chunk) = self.ahead.pop_front() else { break };
            if let Some(vector) = chunk.bought {
                next.known.push(NewVector { id: chunk.id, text_hash: chunk.text_hash, vector: Ok(vector) });
            } else if let Some(chunks) = self.waiting.get_mut(&chunk.text_hash) {
                chunks.push(chunk.id);
            } else if !next.texts.is_empty() && bytes + chunk.text.len() > self.limits.bytes {
                self.ahead.push_front(chunk);
                break;
            } else {
                bytes += chunk.text.len();
                self.waiting.insert(chunk.text_hash, vec![chunk.id]);
                next.texts.push((chunk.text_hash, chunk.text));
            }
        }
        Ok(next)
    }

    async fn read_ahead(&mut self) -> Result<(), IndexError> {
        let (index, kind, after) = (Arc::clone(&self.index), self.kind, self.after);
        let limit = self.limits.texts.max(1);
        let read = blocking(move || index.pending_chunks(kind, after, limit)).await?;
        self.after = read.last().map_or(self.after, |chunk| chunk.id);
        self.ahead = read.into();
        Ok(())
    }

    /// What the answers mean for the chunks that wait for them.
    fn answered(&mut self, answers: Vec<Answer>) -> Vec<NewVector> {
        let mut vectors = Vec::with_capacity(answers.len());
        for (text_hash, vector) in answers {
            let chunks = self.waiting.remove(&text_hash).unwrap_or_default();
            vectors.extend(chunks.into_iter().map(|id| NewVector { id, text_hash, vector: vector.clone() }));
        }
        vectors
    }
}

/// Asks for some texts together, and for each alone if they are refused: one of them may be to blame.
async fn ask(
    embedder: &dyn Embedder,
    pace: ProviderPace,
    kind: IndexKind,
    texts: Vec<(TextHash, String)>,
) -> Result<Vec<Answer>, ProviderError> {
    let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let refusal = match request(embedder, &pace, kind, &all).await? {
        Ok(vectors) => {
            return Ok(texts.iter().map(|(hash, _)| *hash).zip(vectors.into_iter().map(Ok)).collect());
        }
        Err(reason) => reason,
    };
    if let [(hash, _)] = *texts {
        return Ok(vec![(hash, Err(refusal))]);
    }
    let mut answers = Vec::with_capacity(texts.len());
    for (hash, text) in &texts {
        let answer = request(embedder, &pace, kind, &[text]).await?;
        answers.push((*hash, answer.map(|mut one| one.pop().unwrap_or_default())));
    }
    if answers.len() >= REFUSED_ALTOGETHER && answers.iter().all(|(_, answer)| answer.is_err()) {
        let kind = ProviderErrorKind::Refused { reason: refusal };
        return Err(pace.give_up(ProviderError::new(embedder.provider(), kind)));
    }
    Ok(answers)
}

/// One request, repeated at the provider's pace until it is answered or refused; the error ends the run.
async fn request(
    embedder: &dyn Embedder,
    pace: &ProviderPace,
    kind: IndexKind,
    texts: &[&str],
) -> Result<Result<Vec<Vec<f32>>, String>, ProviderError> {
    loop {
        let turn = pace.turn().await?;
        let answer = embedder.vectors(kind, Purpose::Passage, texts);
        let error = match tokio::time::timeout(REQUEST_DEADLINE, answer).await {
            Ok(Ok(vectors)) => {
                pace.succeeded();
                return Ok(Ok(vectors));
            }
            Ok(Err(ProviderError { kind: ProviderErrorKind::Refused { reason }, .. })) => {
                pace.succeeded();
                return Ok(Err(reason));
            }
            Ok(Err(error)) => error,
            Err(_) => {
                let reason = format!("none within {} s", REQUEST_DEADLINE.as_secs());
                ProviderError::new(embedder.provider(), ProviderErrorKind::Unreachable { reason })
            }
        };
        tracing::warn!(%error, "texts could not be embedded");
        pace.failed(turn, error)?;
    }
}
