//! `listRoots`: the folders that may be searched.

use std::time::Duration;

use engine::smart::Smart;
use model::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::output;
use crate::tool::{Invocation, Output, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "listRoots",
    title: "List roots",
    description: "The folders that may be searched and previewed. Every path of these tools lies below one of them.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(10),
};

fn input() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

fn schema() -> Value {
    super::schema(json!({
        "roots": { "type": "array", "items": { "type": "string" }, "description": "Absolute paths." }
    }))
}

pub(super) async fn run(smart: Smart, _: Invocation) -> Result<Output, Failure> {
    let roots: Vec<String> = smart.roots().listed().map(|root| root.to_string_lossy().into_owned()).collect();
    Ok(output(json!({ "roots": roots })))
}
