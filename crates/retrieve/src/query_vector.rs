//! The vectors of a question: made once, for both indices and all roots, within a deadline.
//!
//! A search never waits long for a provider, and never fails with it: without vectors it answers by words and says why
//! ([`crate::SearchAnswer::vector_error`]).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{
    Embedder, EmbeddingProvider, IndexKind, LocalEmbedder, ProviderError, ProviderErrorKind, Purpose,
};
use tokio::time::Instant;

use crate::operators::Operators;
use crate::parse::{MAX_QUERY_BYTES, cut};

/// How long a question waits for its vector. Most answers of embedding services come within half a second.
const DEADLINE: Duration = Duration::from_secs(2);

/// After a failure the provider is not asked for this long, so that not every question waits for the deadline.
const PAUSE: Duration = Duration::from_secs(10);
/// The same after it refused the key, which does not mend itself.
const PAUSE_WITHOUT_KEY: Duration = Duration::from_secs(60);

/// Questions whose vectors are remembered: people and models ask the same again with other filters. About 2 MB.
const REMEMBERED: usize = 256;

/// Embeds questions.
pub struct QueryEmbedder {
    embedding: EmbeddingProvider,
    memory: Mutex<Memory>,
}

/// The vectors of one question, for each index.
#[derive(Clone, Default)]
pub struct QueryVectors {
    text: Option<Vec<f32>>,
    code: Option<Vec<f32>>,
    embedder: Option<Arc<dyn LocalEmbedder>>,
    error: Option<ProviderError>,
}

impl QueryEmbedder {
    pub fn new(embedding: EmbeddingProvider) -> QueryEmbedder {
        QueryEmbedder { embedding, memory: Mutex::default() }
    }

    /// The vectors of a question, as it was asked: operators of the search (`ext:rs`, `-word`) are left out.
    pub async fn vectors(&self, question: &str) -> QueryVectors {
        match &self.embedding {
            EmbeddingProvider::Local(embedder) => QueryVectors::local(embedder, question),
            EmbeddingProvider::Remote(embedder) => {
                let operators = Operators::read(question);
                self.remote(embedder.as_ref(), cut(&operators.text, MAX_QUERY_BYTES)).await
            }
        }
    }

    /// The same where nothing has to be waited for.
    pub fn local_vectors(&self, question: &str) -> Option<QueryVectors> {
        self.embedding.local().map(|embedder| QueryVectors::local(embedder, question))
    }

    async fn remote(&self, embedder: &dyn Embedder, text: &str) -> QueryVectors {
        let (for_text, for_code) = (embedder.model(IndexKind::Text), embedder.model(IndexKind::Code));
        let both = async {
            if for_text == for_code {
                let vector = self.one(embedder, IndexKind::Text, text).await?;
                return Ok((vector.clone(), vector));
            }
            let one = |kind| self.one(embedder, kind, text);
            futures::future::try_join(one(IndexKind::Text), one(IndexKind::Code)).await
        };
        let answer = match tokio::time::timeout(DEADLINE, both).await {
            Ok(answer) => answer,
            Err(_) => {
                let reason = format!("none within {} s", DEADLINE.as_secs());
                Err(ProviderError::new(embedder.provider(), ProviderErrorKind::Unreachable { reason }))
            }
        };
        match answer {
            Ok((text, code)) => QueryVectors { text, code, ..QueryVectors::default() },
            Err(error) => {
                self.lock().rest_after(&error);
                QueryVectors { error: Some(error), ..QueryVectors::default() }
            }
        }
    }

    /// The vector of one model, remembered or made.
    async fn one(
        &self,
        embedder: &dyn Embedder,
        kind: IndexKind,
        text: &str,
    ) -> Result<Option<Vec<f32>>, ProviderError> {
        if embedder.dimensions(kind) == 0 || text.trim().is_empty() {
            return Ok(None);
        }
        let model = embedder.model(kind);
        if let Some(vector) = self.lock().get(model, text) {
            return Ok(usable(vector));
        }
        if let Some(error) = self.lock().pause() {
            return Err(error);
        }
        let mut vectors = embedder.vectors(kind, Purpose::Question, &[text]).await?;
        let vector = vectors.pop().unwrap_or_default();
        self.lock().put(model, text, vector.clone());
        Ok(usable(vector))
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueryVectors {
    /// For a search by words alone.
    pub fn none() -> QueryVectors {
        QueryVectors::default()
    }

    /// What a local embedder makes of a question.
    pub fn local(embedder: &Arc<dyn LocalEmbedder>, question: &str) -> QueryVectors {
        let operators = Operators::read(question);
        let text = cut(&operators.text, MAX_QUERY_BYTES);
        let vector = |kind| {
            if embedder.dimensions(kind) > 0 { usable(embedder.embed_query(kind, text)) } else { None }
        };
        QueryVectors {
            text: vector(IndexKind::Text),
            code: vector(IndexKind::Code),
            embedder: Some(Arc::clone(embedder)),
            error: None,
        }
    }

    /// Why there are none, where there should be some.
    pub fn error(&self) -> Option<&ProviderError> {
        self.error.as_ref()
    }

    /// The vector for an index; none for a question without a word, to which everything would be equally near.
    pub(crate) fn of(&self, kind: IndexKind) -> Option<&[f32]> {
        match kind {
            IndexKind::Text => self.text.as_deref(),
            IndexKind::Code => self.code.as_deref(),
        }
    }

    /// Embeds further texts during the search, where that costs next to nothing.
    pub(crate) fn embedder(&self) -> Option<&dyn LocalEmbedder> {
        self.embedder.as_deref()
    }
}

/// What was asked before, and whether the provider is being left alone.
#[derive(Default)]
struct Memory {
    /// Model, text and vector; the one that was used last comes last.
    known: VecDeque<(String, String, Vec<f32>)>,
    resting: Option<(Instant, ProviderError)>,
}

impl Memory {
    fn get(&mut self, model: &str, text: &str) -> Option<Vec<f32>> {
        let at = self.known.iter().position(|(known, asked, _)| known == model && asked == text)?;
        let entry = self.known.remove(at)?;
        let vector = entry.2.clone();
        self.known.push_back(entry);
        Some(vector)
    }

    fn put(&mut self, model: &str, text: &str, vector: Vec<f32>) {
        if self.known.len() >= REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back((model.to_owned(), text.to_owned(), vector));
    }

    /// What the provider failed with, while it is left alone.
    fn pause(&self) -> Option<ProviderError> {
        let (until, error) = self.resting.as_ref()?;
        (*until > Instant::now()).then(|| error.clone())
    }

    fn rest_after(&mut self, error: &ProviderError) {
        if self.pause().is_some() {
            return;
        }
        let pause = match &error.kind {
            ProviderErrorKind::RateLimited { after: Some(told) }
            | ProviderErrorKind::Paused { after: told, .. } => *told,
            ProviderErrorKind::Auth => PAUSE_WITHOUT_KEY,
            // It may well take the next one.
            ProviderErrorKind::Refused { .. } => Duration::ZERO,
            _ => PAUSE,
        };
        self.resting = Some((Instant::now() + pause, error.clone()));
    }
}

fn usable(vector: Vec<f32>) -> Option<Vec<f32>> {
    let usable = vector.iter().any(|x| *x != 0.0) && vector.iter().all(|x| x.is_finite());
    usable.then_some(vector)
}
