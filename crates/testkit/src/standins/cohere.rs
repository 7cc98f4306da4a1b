//! The stand-in for Cohere's rerank, and for servers that speak like it.

use serde_json::{Value, json};

use super::content::nearness;
use super::{Fault, Reply, SeenRequest, Shared};

pub(super) fn answer(shared: &Shared, request: &SeenRequest, fault: Option<&Fault>) -> Reply {
    let body = request.json();
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models") => {
            Reply::Json(200, json!({ "models": [{ "name": "rerank-v3.5", "endpoints": ["rerank"] }] }))
        }
        ("GET", "/info") => Reply::Json(200, json!({ "model_id": "stand-in" })),
        ("POST", "/v2/rerank" | "/v1/rerank") => {
            if !body["model"].is_string() || !body["query"].is_string() {
                return shared.error(400, "invalid request: model and query are required");
            }
            let results = results(shared, &body["query"], &body["documents"], fault);
            let top = body["top_n"].as_u64().map_or(results.len(), |top| top as usize);
            let results: Vec<Value> = results
                .into_iter()
                .take(top)
                .map(|(index, score)| json!({ "index": index, "relevance_score": score }))
                .collect();
            let billed = json!({ "api_version": { "version": "2" }, "billed_units": { "search_units": 1 } });
            Reply::Json(200, json!({ "id": "standin", "results": results, "meta": billed }))
        }
        ("POST", "/rerank") => {
            let results = results(shared, &body["query"], &body["texts"], fault);
            Reply::Json(
                200,
                results.into_iter().map(|(index, score)| json!({ "index": index, "score": score })).collect(),
            )
        }
        _ => shared.error(404, "not found"),
    }
}

pub(super) fn error(message: &str) -> Value {
    json!({ "id": "standin", "message": message })
}

/// The documents by nearness, the nearest first.
fn results(shared: &Shared, query: &Value, documents: &Value, fault: Option<&Fault>) -> Vec<(usize, f32)> {
    shared.count(|counts| counts.rerank_calls += 1);
    let query = query.as_str().unwrap_or_default();
    let documents = documents.as_array().map_or(&[][..], Vec::as_slice);
    let text =
        |document: &Value| document.as_str().or(document["text"].as_str()).unwrap_or_default().to_owned();
    let mut results: Vec<(usize, f32)> =
        documents.iter().map(|document| nearness(query, &text(document))).enumerate().collect();
    results.sort_by(|one, other| other.1.total_cmp(&one.1));
    if fault == Some(&Fault::OneTooFew) {
        results.pop();
    }
    results
}
