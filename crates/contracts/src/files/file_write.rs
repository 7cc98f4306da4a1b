//! `file_write`: puts text into a file, which is made if it is not there.

use std::sync::Arc;
use std::time::Duration;

use engine::{TenantFiles, WriteIntent};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{GuardArguments, answer, changing, check_encoding, count, file_path, hash, signed};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_write",
    title: "Write file",
    description: "Write text to a file of a project; the file and its directories are made as needed. APPEND (default) writes at the end and ignores offset, OVERWRITE replaces bytes from offset on and keeps what lies behind, TRUNCATE makes the content the whole file.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: false,
    idempotent: false,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    let own = json!({
        "path": file_path(),
        "content": { "type": "string", "description": "Text. Binary data must be encoded by you." },
        "content_encoding": { "type": "string", "default": "utf-8", "description": "utf-8; nothing else." },
        "offset": { "type": "integer", "default": 0, "description": "First byte that OVERWRITE replaces." },
        "mode": { "type": "string", "default": "APPEND", "description": "APPEND, OVERWRITE or TRUNCATE." },
        "must_be_new": {
            "type": "boolean", "default": false,
            "description": "PRECONDITION_FAILED if the file is there already."
        }
    });
    changing(own, &["path", "content"])
}

fn schema() -> Value {
    let properties = json!({
        "bytes_written": count("Bytes of the content that was sent."),
        "size": count("Bytes of the file now."),
        "content_hash": hash()
    });
    answer(properties, &["size", "content_hash"])
}

#[derive(Debug, Deserialize)]
struct WriteArguments {
    project: String,
    path: String,
    content: String,
    content_encoding: Option<String>,
    #[serde(default, deserialize_with = "signed")]
    offset: Option<i64>,
    mode: Option<String>,
    #[serde(flatten)]
    guard: GuardArguments,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: WriteArguments = typed(invocation.arguments)?;
    let WriteArguments { project, path, content, content_encoding, offset, mode, guard } = arguments;
    check_encoding(content_encoding.as_deref())?;
    let (content, offset) = (content.into_bytes(), offset.unwrap_or(0));
    let intent = WriteIntent { content, mode, offset, guard: guard.guard()? };
    let written = store.write(&invocation.call, &project, &path, intent).await?;
    Ok(output(json!({
        "bytes_written": written.bytes_written,
        "size": written.size,
        "content_hash": written.content_hash.to_hex(),
    })))
}
