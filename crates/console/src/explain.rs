//! How the scores of hits came about.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use model::{ErrorCode, Failure, Filter, IndexChoice, Query};
use serde_json::{Value, json};

use crate::ConsoleParts;
use crate::answer::{answered, call, refused};
use crate::parameters::Parameters;
use crate::source::Asker;

/// Hits unless said, and at most, as the tools have it.
const HITS: (u64, u64) = (10, 50);

/// The longest question.
const MAX_QUERY: usize = 4096;

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    answered(explain(&state, &request).await)
}

async fn explain(state: &ConsoleParts, request: &Parts) -> Result<Value, Failure> {
    let asker = Asker::of(&request.extensions);
    let given = Parameters::read(request.uri.query(), &["q", "k", "path_prefix", "file_glob"])?;
    let text = given.required("q")?.trim().to_owned();
    if text.is_empty() || text.len() > MAX_QUERY {
        return Err(refused(format!("q must have 1 to {MAX_QUERY} bytes")));
    }
    let some = |name: &str| given.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let engine = state.workspace.primary().cloned();
    let engine = engine.ok_or_else(|| Failure::new(ErrorCode::NotFound, "no folder is served"))?;
    let query = Query {
        text,
        k: given.number("k", HITS.1)?.unwrap_or(HITS.0).max(1) as usize,
        index: IndexChoice::Auto,
        filter: Filter::of_files(some("path_prefix"), some("file_glob"), &[]),
    };
    let (found, breakdowns) = engine.explain(&call(asker.caller), query.into()).await?;
    let hits = found.hits.iter().zip(&breakdowns).map(|(hit, breakdown)| {
        let parts = breakdown.parts().into_iter().filter(|(_, value)| *value != 0.0 && value.is_finite());
        let parts: Vec<Value> =
            parts.map(|(name, value)| json!({ "name": name, "value": rounded(value) })).collect();
        json!({
            "chunk_id": hit.chunk_id.0,
            "rel_path": hit.rel_path,
            "score": rounded(hit.score),
            "parts": parts,
        })
    });
    Ok(json!({ "hits": hits.collect::<Vec<Value>>() }))
}

fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}
