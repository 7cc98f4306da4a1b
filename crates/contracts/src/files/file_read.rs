//! `file_read`: the content of a file, or a range of its bytes.

use std::sync::Arc;
use std::time::Duration;

use engine::TenantFiles;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, as_text, count, file_path, hash, input, signed};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_read",
    title: "Read file",
    description: "Read a text file of a project, or length bytes of it from offset on (bytes, as file_search gives them). Beyond the end the content is empty.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    let own = json!({
        "path": file_path(),
        "offset": { "type": "integer", "default": 0, "description": "First byte." },
        "length": { "type": "integer", "default": -1, "description": "Bytes; -1 is all to the end." }
    });
    input(own, &["path"])
}

fn schema() -> Value {
    let properties = json!({
        "content": { "type": "string" },
        "content_encoding": { "type": "string", "const": "utf-8" },
        "is_lossy": {
            "type": "boolean",
            "description": "The range cuts a character; what is left of it is shown as U+FFFD."
        },
        "size": count("Bytes of the whole file."),
        "content_hash": hash()
    });
    answer(properties, &["is_lossy", "size", "content_hash"])
}

#[derive(Debug, Deserialize)]
struct ReadArguments {
    project: String,
    path: String,
    #[serde(default, deserialize_with = "signed")]
    offset: Option<i64>,
    #[serde(default, deserialize_with = "signed")]
    length: Option<i64>,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: ReadArguments = typed(invocation.arguments)?;
    let ReadArguments { project, path, offset, length } = arguments;
    let (offset, length) = (offset.unwrap_or(0), length.unwrap_or(-1));
    let slice = store.read(&invocation.call, &project, &path, offset, length).await?;
    let (content, is_lossy) = as_text(slice.bytes);
    let mut answer = json!({ "content": content, "content_encoding": "utf-8" });
    if is_lossy {
        answer["is_lossy"] = json!(true);
    }
    answer["size"] = json!(slice.size);
    answer["content_hash"] = json!(slice.content_hash.to_hex());
    Ok(output(answer))
}
