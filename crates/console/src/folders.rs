//! What is in a folder or an archive, for the tree beside a file.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use engine::{Engine, FolderEntry, FolderListRequest, ListedFile};
use http::request::Parts;
use model::{Caller, DocType, Failure};
use serde_json::{Value, json};

use crate::ConsoleParts;
use crate::answer::{answered, call, time_text};
use crate::parameters::Parameters;
use crate::source::{Asker, ViewedSource};

/// Entries unless said, and at most.
const ENTRIES: (u64, u64) = (500, 5000);

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    answered(list(&state, &request).await)
}

async fn list(state: &ConsoleParts, request: &Parts) -> Result<Value, Failure> {
    let asker = Asker::of(&request.extensions);
    let given = Parameters::read(request.uri.query(), &["source", "path", "offset", "limit", "filter"])?;
    let source = given.required("source")?;
    let engine = ViewedSource::folder(&state.workspace, &asker, source)?;
    let request = FolderListRequest {
        path: engine::invisible(given.text("path").unwrap_or_default()).into_owned(),
        containing: given.text("filter").map(str::to_owned),
        offset: given.number("offset", u64::from(u32::MAX))?.unwrap_or(0) as usize,
        limit: given.number("limit", ENTRIES.1)?.unwrap_or(ENTRIES.0) as usize,
    };
    listing(&engine, asker.caller, source, request).await
}

/// A page of the entries of a folder.
pub(crate) async fn listing(
    engine: &Engine,
    caller: Caller,
    source: &str,
    request: FolderListRequest,
) -> Result<Value, Failure> {
    let offset = request.offset;
    let found = engine.list_folder(&call(caller), request).await?;
    let is_cut = (offset + found.entries.len()) < found.total as usize;
    Ok(json!({
        "source": source,
        "path": found.path,
        "total": found.total,
        "offset": offset,
        "truncated": is_cut,
        "entries": found.entries.iter().map(entry).collect::<Vec<Value>>(),
    }))
}

pub(crate) fn first_page(path: String) -> FolderListRequest {
    FolderListRequest { path, containing: None, offset: 0, limit: ENTRIES.0 as usize }
}

fn entry(entry: &FolderEntry) -> Value {
    match entry {
        FolderEntry::Folder { path, files } => {
            json!({ "kind": "folder", "name": last(path), "path": path, "files": files })
        }
        FolderEntry::File { file, files } => {
            let mut shown = file_json(file);
            let is_archive = file.doc_type == DocType::Archive;
            shown["kind"] = if is_archive { "archive".into() } else { "file".into() };
            if is_archive {
                shown["files"] = json!(files);
            }
            shown
        }
    }
}

pub(crate) fn file_json(file: &ListedFile) -> Value {
    json!({
        "kind": "file",
        "name": last(&file.rel_path),
        "path": file.rel_path,
        "doc_type": file.doc_type.as_str(),
        "size_bytes": file.size_bytes,
        "mtime": time_text(file.mtime_unix),
        "status": file.status.as_str(),
        "reason": file.reason,
    })
}

pub(crate) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
