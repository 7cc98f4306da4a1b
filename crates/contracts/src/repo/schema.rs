//! Pieces of schema and of argument handling that several tools share.

use model::{ErrorCode, Failure};
use serde_json::{Value, json};

pub(super) fn lines(what: &str) -> Value {
    json!({ "type": "integer", "description": what })
}

pub(super) fn path() -> Value {
    json!({ "type": "string", "description": "Relative to the root, or absolute below it; either slash." })
}

pub(super) fn glob() -> Value {
    json!({
        "type": "string",
        "description": "Gitignore-style: * stays within a folder, ** crosses folders; without a slash it is matched \
                        against the file's name."
    })
}

pub(super) fn symbol() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "description": "A name, alone (run) or qualified (Service.run, service::Service::run)."
    })
}

pub(super) fn path_within() -> Value {
    json!({ "type": "string", "description": "Only this file, or the files below this folder." })
}

pub(super) fn top_k() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "Maximum results (default: the server's limit)." })
}

/// A number up to a limit of the operator's: more is refused, not cut.
pub(super) fn within(asked: Option<u64>, limit: u32, argument: &str, name: &str) -> Result<usize, Failure> {
    let asked = asked.unwrap_or(u64::from(limit));
    if asked > u64::from(limit) {
        let message = format!("{argument} {asked} exceeds {name} ({limit})");
        return Err(Failure::new(ErrorCode::LimitExceeded, message).hint(format!("Use at most {limit}.")));
    }
    Ok(asked as usize)
}

pub(super) fn not_blank(text: String, argument: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidField, format!("{argument} is blank")));
    }
    Ok(text)
}

/// An optional text; an empty one asks for nothing.
pub(super) fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
