//! `listRoots`: the folders that may be searched.

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "listRoots",
    title: "List roots",
    description: "The folders that may be searched and previewed. Every path of these tools lies below one of them.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(10),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn input() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

fn schema() -> Value {
    super::schema(json!({
        "roots": { "type": "array", "items": { "type": "string" }, "description": "Absolute paths." }
    }))
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let roots = context.workspace.list_roots(&invocation.call).await?;
    Ok(output(json!({ "roots": roots })))
}
