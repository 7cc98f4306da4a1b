//! Asks the model that judges passages: with redacted text, within a deadline, and not again for what it has judged.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::{ProviderError, ProviderErrorKind, Reranker};
use policy::Redactor;
use retrieve::RerankStage;

use crate::model_text::cleaned;

/// How long a search waits to have its passages judged.
const DEADLINE: Duration = Duration::from_secs(5);
/// After a failure the model is not asked for this long, so that not every search waits for the deadline.
const PAUSE: Duration = Duration::from_secs(10);
/// Judgements that are remembered: asking the same again costs nothing.
const REMEMBERED: usize = 128;

pub(crate) struct Reranking {
    model: Arc<dyn Reranker>,
    redactor: Arc<Redactor>,
    memory: Mutex<RerankMemory>,
}

#[derive(Default)]
struct RerankMemory {
    known: VecDeque<(blake3::Hash, Vec<f32>)>,
    resting: Option<(Instant, ProviderError)>,
}

impl Reranking {
    pub(crate) fn new(model: Arc<dyn Reranker>, redactor: Arc<Redactor>) -> Reranking {
        Reranking { model, redactor, memory: Mutex::default() }
    }

    /// The stage of a search that asks it.
    pub(crate) fn stage(self: &Arc<Self>) -> RerankStage {
        let reranking = Arc::clone(self);
        RerankStage(Arc::new(move |question, passages| reranking.scores(question, passages)))
    }

    /// How well each passage answers. For threads on which a call does its work: they may block.
    pub(crate) fn scores(&self, question: &str, passages: &[String]) -> Result<Vec<f32>, ProviderError> {
        let question = cleaned(&self.redactor, question);
        let passages: Vec<String> = passages.iter().map(|text| cleaned(&self.redactor, text)).collect();
        let key = key(self.model.model(), &question, &passages);
        if let Some(known) = self.memory().get(key) {
            return known;
        }
        let texts: Vec<&str> = passages.iter().map(String::as_str).collect();
        let asked = async { tokio::time::timeout(DEADLINE, self.model.scores(&question, &texts)).await };
        let scores = tokio::runtime::Handle::current().block_on(asked).unwrap_or_else(|_| {
            let reason = format!("none within {} s", DEADLINE.as_secs());
            Err(ProviderError::new(self.model.provider(), ProviderErrorKind::Unreachable { reason }))
        });
        let scores = scores.and_then(|scores| {
            if scores.len() == texts.len() && scores.iter().all(|score| score.is_finite()) {
                return Ok(scores);
            }
            let reason = format!("{} scores for {} passages", scores.len(), texts.len());
            Err(ProviderError::new(self.model.provider(), ProviderErrorKind::BadAnswer { reason }))
        });
        self.memory().put(key, &scores);
        scores
    }

    fn memory(&self) -> MutexGuard<'_, RerankMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RerankMemory {
    fn get(&self, key: blake3::Hash) -> Option<Result<Vec<f32>, ProviderError>> {
        if let Some((_, scores)) = self.known.iter().find(|(known, _)| *known == key) {
            return Some(Ok(scores.clone()));
        }
        let (until, error) = self.resting.as_ref()?;
        (Instant::now() < *until).then(|| Err(error.clone()))
    }

    fn put(&mut self, key: blake3::Hash, scores: &Result<Vec<f32>, ProviderError>) {
        match scores {
            Ok(scores) => {
                if self.known.len() >= REMEMBERED {
                    self.known.pop_front();
                }
                self.known.push_back((key, scores.clone()));
                self.resting = None;
            }
            Err(error) => self.resting = Some((Instant::now() + PAUSE, error.clone())),
        }
    }
}

fn key(model: &str, question: &str, passages: &[String]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for text in [model, question].into_iter().chain(passages.iter().map(String::as_str)) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}
