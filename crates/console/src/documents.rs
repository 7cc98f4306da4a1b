//! Files by what became of them: why is this one not found?

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use engine::DocumentsRequest;
use http::request::Parts;
use model::{DocStatus, DocType, ErrorCode, Failure, SkipReason};
use serde_json::{Value, json};

use crate::ConsoleParts;
use crate::answer::{answered, call, refused};
use crate::folders::file_json;
use crate::parameters::Parameters;
use crate::source::{Asker, ViewedSource};

/// Files unless said, and at most: all of a large folder's, to be saved.
const FILES: (u64, u64) = (200, 10_000);

/// Also every file that no search finds, whatever it is called.
const NOT_SEARCHABLE: &str = "not_searchable";

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    answered(list(&state, &request).await)
}

async fn list(state: &ConsoleParts, request: &Parts) -> Result<Value, Failure> {
    let asker = Asker::of(&request.extensions);
    let known = ["source", "status", "code", "type", "filter", "offset", "limit"];
    let given = Parameters::read(request.uri.query(), &known)?;
    let engine = ViewedSource::folder(&state.workspace, &asker, given.text("source").unwrap_or("dir"))?;
    let status = match given.text("status") {
        None | Some("") | Some(NOT_SEARCHABLE) => None,
        Some(name) => Some(DocStatus::parse(name).ok_or_else(|| {
            refused(format!("status must be {NOT_SEARCHABLE}, {}", names(DocStatus::ALL, DocStatus::as_str)))
        })?),
    };
    let doc_type = match given.text("type").filter(|name| !name.is_empty()) {
        None => None,
        Some(name) => Some(
            DocType::parse(name)
                .ok_or_else(|| refused(format!("type must be {}", names(DocType::ALL, DocType::as_str))))?,
        ),
    };
    let code = match given.text("code").filter(|name| !name.is_empty()) {
        None => None,
        Some(name) => Some(ErrorCode::parse(name).ok_or_else(|| refused("code is not known"))?),
    };
    let offset = given.number("offset", u64::from(u32::MAX))?.unwrap_or(0) as usize;
    let request = DocumentsRequest {
        status,
        not_searchable: given.text("status") == Some(NOT_SEARCHABLE),
        code,
        doc_type,
        containing: given.text("filter").filter(|part| !part.is_empty()).map(str::to_owned),
        offset,
        limit: given.number("limit", FILES.1)?.unwrap_or(FILES.0) as usize,
    };
    let (total, files) = engine.list_documents(&call(asker.caller), request).await?;
    let is_cut = offset + files.len() < total as usize;
    let shown = files.iter().map(|(file, reason)| {
        let mut shown = file_json(file);
        let told = reason.as_ref().map(reason_json).unwrap_or_default();
        shown["code"] = told["code"].clone();
        shown["reason"] = told["message"].clone();
        shown["remedy"] = told["remedy"].clone();
        shown
    });
    Ok(
        json!({ "total": total, "offset": offset, "truncated": is_cut, "files": shown.collect::<Vec<Value>>() }),
    )
}

/// Why a document has no text, and what can be done about it, which the sentence says behind its semicolon.
pub(crate) fn reason_json(reason: &SkipReason) -> Value {
    let text = reason.to_string();
    let sentence = text.split_once(": ").map_or(text.as_str(), |(_, sentence)| sentence);
    let (message, remedy) = match sentence.split_once("; ") {
        Some((message, remedy)) => (message, Some(remedy)),
        None => (sentence, None),
    };
    json!({ "code": reason.code().as_str(), "message": message, "remedy": remedy })
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_what_to_do() {
        let reason = SkipReason::Encrypted { format: "pdf".into() };
        assert_eq!(
            reason_json(&reason),
            json!({
                "code": "ENCRYPTED",
                "message": "the pdf file needs a password",
                "remedy": "save a copy without one",
            })
        );
        assert_eq!(reason_json(&SkipReason::Binary)["remedy"], Value::Null);
    }
}
