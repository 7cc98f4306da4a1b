//! The tools of the Smart File Search specification: shared folders, searched and previewed, never shown whole.

mod envelope;
mod index_folder;
mod list_roots;
mod open_file;
mod rewrite_query;
mod search_files;
mod summarize_results;

use std::sync::Arc;

use engine::smart::Smart;
use futures::future::BoxFuture;
use model::Failure;
use serde_json::Value;

use crate::tool::{Envelope, Invocation, Output, Spec, Tool};
use envelope::SmartEnvelope;
pub(crate) use envelope::public_code;

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 1;

/// What every answer carries, as a field and, over HTTP, as a header: the version of the specification.
pub const MCP_VERSION: &str = "v1.0.0";

/// A new tool is one file and one line here.
pub(crate) fn tools(smart: &Smart) -> Vec<Tool> {
    let envelope: Arc<dyn Envelope> = Arc::new(SmartEnvelope { smart: smart.clone() });
    let tool = |spec, run| enclosed(&envelope, smart, spec, run);
    vec![
        tool(list_roots::SPEC, |smart, invocation| Box::pin(list_roots::run(smart, invocation))),
        tool(index_folder::SPEC, |smart, invocation| Box::pin(index_folder::run(smart, invocation))),
        tool(search_files::SPEC, |smart, invocation| Box::pin(search_files::run(smart, invocation))),
        tool(open_file::SPEC, |smart, invocation| Box::pin(open_file::run(smart, invocation))),
        tool(summarize_results::SPEC, |smart, invocation| {
            Box::pin(summarize_results::run(smart, invocation))
        }),
        tool(rewrite_query::SPEC, |smart, invocation| Box::pin(rewrite_query::run(smart, invocation))),
    ]
}

type Run = fn(Smart, Invocation) -> BoxFuture<'static, Result<Output, Failure>>;

/// Every call counts against its caller's limit before it does anything.
fn enclosed(envelope: &Arc<dyn Envelope>, smart: &Smart, spec: Spec, run: Run) -> Tool {
    let smart = smart.clone();
    Tool::enclosed(Arc::clone(envelope), spec, move |invocation| {
        let smart = smart.clone();
        async move {
            smart.admit(&invocation.call)?;
            run(smart, invocation).await
        }
    })
}

/// A result with the version in front; its text is the same JSON.
fn output(mut result: Value) -> Output {
    let mut versioned = serde_json::json!({ "mcp_version": MCP_VERSION });
    if let (Some(into), Some(from)) = (versioned.as_object_mut(), result.as_object_mut()) {
        into.append(from);
    }
    Output::new(versioned.to_string(), versioned)
}

/// The schema of a result with these properties, all of them required.
fn schema(properties: Value) -> Value {
    let mut all = serde_json::json!({
        "mcp_version": { "type": "string", "description": "Version of the tool specification." }
    });
    if let (Some(into), Some(from)) = (all.as_object_mut(), properties.as_object()) {
        into.extend(from.clone());
    }
    let required: Vec<String> = all.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    serde_json::json!({ "type": "object", "properties": all, "required": required })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::tests::{assert_well_formed, listed};

    fn specs() -> [Spec; 6] {
        [
            list_roots::SPEC,
            index_folder::SPEC,
            search_files::SPEC,
            open_file::SPEC,
            summarize_results::SPEC,
            rewrite_query::SPEC,
        ]
    }

    /// What `tools/list` shows, as one file that a reviewer reads. Whoever changes it raises [`SCHEMA_VERSION`].
    #[test]
    fn s008_to_s029_tools_list_snapshot() {
        let page = listed(SCHEMA_VERSION, &specs(), &envelope::published);
        insta::assert_snapshot!("tools_list", page);
    }

    #[test]
    fn names_and_schemas_are_well_formed() {
        let specs = specs();
        assert_well_formed(&specs, &envelope::published);
        for spec in specs {
            assert!(spec.name.chars().all(char::is_alphabetic), "{}", spec.name);
        }
    }

    #[test]
    fn s035_every_answer_names_the_version_first() {
        let answer = output(serde_json::json!({ "roots": [] }));
        assert_eq!(answer.structured.to_string(), r#"{"mcp_version":"v1.0.0","roots":[]}"#);
        assert_eq!(answer.content, [answer.structured.to_string()]);
    }
}
