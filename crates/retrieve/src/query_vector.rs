//! The vectors of a question: made once, for both indices and all roots, within a deadline.
//!
//! A search never waits long for a provider, and never fails with it: without vectors it answers by words and says why
//! ([`crate::SearchAnswer::vector_error`]).

use std::collections::{HashMap, VecDeque};
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
#[derive(Default)]
pub struct QueryEmbedder {
    memory: Mutex<Memory>,
}

/// Who made the vectors of each index: prose, then code ([`index::Snapshot::embedding`]); nobody where they are not asked.
pub type QueryMakers<'a> = [Option<&'a EmbeddingProvider>; 2];

/// The vectors of one question, for each index.
#[derive(Clone, Default)]
pub struct QueryVectors {
    text: Option<Vec<f32>>,
    code: Option<Vec<f32>>,
    embedders: [Option<Arc<dyn LocalEmbedder>>; 2],
    error: Option<ProviderError>,
}

impl QueryEmbedder {
    /// The vectors of a question, as it was asked: operators of the search (`ext:rs`, `-word`) are left out.
    pub async fn vectors(&self, question: &str, makers: QueryMakers<'_>) -> QueryVectors {
        if let Some(vectors) = self.local_vectors(question, makers) {
            return vectors;
        }
        let operators = Operators::read(question);
        let text = cut(&operators.text, MAX_QUERY_BYTES);
        let [for_text, for_code] = makers;
        let is_shared = matches!((for_text, for_code), (Some(EmbeddingProvider::Remote(a)), Some(EmbeddingProvider::Remote(b)))
            if (a.provider(), a.model(IndexKind::Text)) == (b.provider(), b.model(IndexKind::Code)));
        let (of_text, of_code) = if is_shared {
            let vector = self.of(for_text, IndexKind::Text, text).await;
            (vector.clone(), vector)
        } else {
            futures::future::join(
                self.of(for_text, IndexKind::Text, text),
                self.of(for_code, IndexKind::Code, text),
            )
            .await
        };
        let error = of_text.as_ref().err().or(of_code.as_ref().err()).cloned();
        QueryVectors {
            text: of_text.ok().flatten(),
            code: of_code.ok().flatten(),
            embedders: makers.map(|maker| maker?.local().cloned()),
            error,
        }
    }

    /// The same where nothing has to be waited for.
    pub fn local_vectors(&self, question: &str, makers: QueryMakers<'_>) -> Option<QueryVectors> {
        if makers.iter().flatten().any(|maker| maker.local().is_none()) {
            return None;
        }
        let embedders = makers.map(|maker| maker?.local().cloned());
        let operators = Operators::read(question);
        let text = cut(&operators.text, MAX_QUERY_BYTES);
        Some(QueryVectors {
            text: embedders[0].as_ref().and_then(|embedder| local_vector(embedder, IndexKind::Text, text)),
            code: embedders[1].as_ref().and_then(|embedder| local_vector(embedder, IndexKind::Code, text)),
            embedders,
            error: None,
        })
    }

    /// The vector for one index, within the deadline.
    async fn of(
        &self,
        maker: Option<&EmbeddingProvider>,
        kind: IndexKind,
        text: &str,
    ) -> Result<Option<Vec<f32>>, ProviderError> {
        let embedder = match maker {
            None => return Ok(None),
            Some(EmbeddingProvider::Local(embedder)) => return Ok(local_vector(embedder, kind, text)),
            Some(EmbeddingProvider::Remote(embedder)) => embedder.as_ref(),
        };
        let answer = match tokio::time::timeout(DEADLINE, self.one(embedder, kind, text)).await {
            Ok(answer) => answer,
            Err(_) => {
                let reason = format!("none within {} s", DEADLINE.as_secs());
                Err(ProviderError::new(embedder.provider(), ProviderErrorKind::Unreachable { reason }))
            }
        };
        answer.inspect_err(|error| self.lock().rest_after(error))
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
        // Another service may have another model under the same name.
        let model = &format!("{}/{}", embedder.provider(), embedder.model(kind));
        if let Some(vector) = self.lock().get(model, text) {
            return Ok(usable(vector));
        }
        if let Some(error) = self.lock().pause(embedder.provider()) {
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
        let maker = EmbeddingProvider::Local(Arc::clone(embedder));
        QueryEmbedder::default().local_vectors(question, [Some(&maker), Some(&maker)]).unwrap_or_default()
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
    pub(crate) fn embedder(&self, kind: IndexKind) -> Option<&dyn LocalEmbedder> {
        self.embedders[usize::from(kind == IndexKind::Code)].as_deref()
    }
}

/// What was asked before, and whether the provider is being left alone.
#[derive(Default)]
struct Memory {
    /// Model, text and vector; the one that was used last comes last.
    known: VecDeque<(String, String, Vec<f32>)>,
    /// Until when a provider is left alone, and what it failed with.
    resting: HashMap<String, (Instant, ProviderError)>,
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
    fn pause(&self, provider: &str) -> Option<ProviderError> {
        let (until, error) = self.resting.get(provider)?;
        (*until > Instant::now()).then(|| error.clone())
    }

    fn rest_after(&mut self, error: &ProviderError) {
        if self.pause(&error.provider).is_some() {
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
        self.resting.insert(error.provider.clone(), (Instant::now() + pause, error.clone()));
    }
}

fn local_vector(embedder: &Arc<dyn LocalEmbedder>, kind: IndexKind, text: &str) -> Option<Vec<f32>> {
    if embedder.dimensions(kind) == 0 {
        return None;
    }
    usable(embedder.embed_query(kind, text))
}

fn usable(vector: Vec<f32>) -> Option<Vec<f32>> {
    let usable = vector.iter().any(|x| *x != 0.0) && vector.iter().all(|x| x.is_finite());
    usable.then_some(vector)
}
