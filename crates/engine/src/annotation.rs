//! Data that a model drew from a document: kept until the file's content changes, and found by its lines.

use std::sync::Arc;

use ingest::Annotation;
use model::{ErrorCode, Failure};
use serde_json::Value;

use crate::call::Call;
use crate::engine::Engine;

/// Data about a document, to be kept. It takes the place of what was kept before.
#[derive(Debug, Clone)]
pub struct NewAnnotation {
    /// As the caller wrote it.
    pub path: String,
    pub json: Value,
    /// The data as `key: value` lines.
    pub text: String,
    /// The lines are to be found by searches.
    pub index_it: bool,
    /// Who drew the data.
    pub provider: String,
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnnotation {
    pub rel_path: String,
    /// The lines can be searched now.
    pub is_indexed: bool,
}

impl Engine {
    /// Keeps an annotation. Only the process that writes the index can.
    pub async fn store_annotation(
        &self,
        call: &Call,
        annotation: NewAnnotation,
    ) -> Result<StoredAnnotation, Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |stop| {
            let NewAnnotation { path, json, text, index_it, provider, model } = annotation;
            let path = shared.located(&path)?;
            if let Some(holder) = shared.held_by() {
                let message = format!("another process keeps this index ({holder})");
                return Err(Failure::new(ErrorCode::AnnotateFailed, message)
                    .hint("Ask the server that runs for this directory."));
            }
            let desk = shared.desk()?;
            let document = desk.load(&path)?;
            stop.check()?;
            if let Some(secret) = shared.guard.policy().scan(&path, text.as_bytes()) {
                return Err(secret.failure(&path));
            }
            let annotation = Annotation { json, text, is_indexed: index_it, provider, model };
            let is_put = desk.put_annotation(&document, &annotation)?;
            Ok(StoredAnnotation { rel_path: path.as_str().to_owned(), is_indexed: is_put && index_it })
        })
        .await
    }
}
