//! How the vectors of chunks are made: by a function in this process, or by a service with the caller's own key.

use std::sync::Arc;

use futures::future::BoxFuture;
use model::{IndexKind, LocalEmbedder, ProviderError};

use super::job::IndexJob;
use crate::project::ProjectScope;

/// A caller's key for a service, as it comes out of its envelope. It is never shown and is wiped from memory by nobody but
/// its owner, so that it lives as short as a request.
pub struct ProviderSecret(pub String);

impl std::fmt::Debug for ProviderSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("****")
    }
}

/// Where the worker gets the key that a job's author handed over, and forgets it afterwards.
pub trait JobCredentials: Send + Sync + 'static {
    /// `None`: it is missing or expired. No other key takes its place.
    fn fetch<'a>(&'a self, job: &'a IndexJob) -> BoxFuture<'a, Option<ProviderSecret>>;

    fn forget<'a>(&'a self, job: &'a IndexJob) -> BoxFuture<'a, ()>;
}

/// Whose vectors are made, of what.
#[derive(Debug)]
pub struct EmbedTask<'a> {
    pub scope: &'a ProjectScope,
    pub kind: IndexKind,
    pub secret: Option<&'a ProviderSecret>,
    pub texts: &'a [&'a str],
}

/// Makes vectors of chunks and of questions, all of one model and one length.
pub trait ChunkEmbedder: Send + Sync + 'static {
    /// A name that changes whenever the vectors would; stored beside them.
    fn model(&self) -> &str;

    /// 0: there are no vectors at all.
    fn dimensions(&self) -> usize;

    /// Texts in one request.
    fn batch(&self) -> usize;

    /// A service that wants the caller's key. Without it, the vectors are made in the transaction that stores the words.
    fn needs_secret(&self) -> bool;

    /// One vector per text, in order.
    fn embed<'a>(&'a self, task: EmbedTask<'a>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>>;

    /// The vector of a question; none where it says nothing.
    fn embed_question<'a>(
        &'a self,
        task: EmbedTask<'a>,
    ) -> BoxFuture<'a, Result<Option<Vec<f32>>, ProviderError>>;

    /// A function of this process, for ranking signals that cost next to nothing.
    fn local(&self) -> Option<&Arc<dyn LocalEmbedder>> {
        None
    }
}

/// The built-in vectors.
pub struct LocalChunkEmbedder {
    embedder: Arc<dyn LocalEmbedder>,
}

impl LocalChunkEmbedder {
    /// Its models for prose and code have to be one: chunks of both are compared with each other.
    pub fn new(embedder: Arc<dyn LocalEmbedder>) -> LocalChunkEmbedder {
        LocalChunkEmbedder { embedder }
    }
}

impl ChunkEmbedder for LocalChunkEmbedder {
    fn model(&self) -> &str {
        self.embedder.model(IndexKind::Text)
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions(IndexKind::Text)
    }

    fn batch(&self) -> usize {
        256
    }

    fn needs_secret(&self) -> bool {
        false
    }

    fn embed<'a>(&'a self, task: EmbedTask<'a>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>> {
        let texts: Vec<String> = task.texts.iter().map(|text| (*text).to_owned()).collect();
        let (embedder, kind) = (Arc::clone(&self.embedder), task.kind);
        // A long file takes as long as several requests: other tasks of the thread do not wait for it.
        let work = move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            embedder.embed(kind, &texts)
        };
        Box::pin(async move {
            tokio::task::spawn_blocking(work).await.map_err(|_| {
                let reason = "the embedder ended abnormally".to_owned();
                ProviderError::new("local", model::ProviderErrorKind::BadAnswer { reason })
            })
        })
    }

    fn embed_question<'a>(
        &'a self,
        task: EmbedTask<'a>,
    ) -> BoxFuture<'a, Result<Option<Vec<f32>>, ProviderError>> {
        let text = task.texts.first().copied().unwrap_or_default();
        let vector = self.embedder.embed_query(task.kind, text);
        let usable = vector.iter().any(|x| *x != 0.0) && vector.iter().all(|x| x.is_finite());
        Box::pin(std::future::ready(Ok(usable.then_some(vector))))
    }

    fn local(&self) -> Option<&Arc<dyn LocalEmbedder>> {
        Some(&self.embedder)
    }
}
