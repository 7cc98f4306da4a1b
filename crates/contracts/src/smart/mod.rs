//! The tools of the Smart File Search specification: shared folders, searched and previewed, never shown whole.

mod envelope;
mod index_folder;
mod limits;
mod list_roots;
mod open_file;
mod rewrite_query;
mod search_files;
mod summarize_results;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use engine::{AuditLog, Call, PreviewRules, Workspace};
use futures::future::BoxFuture;
use model::{ErrorCode, Failure};
use policy::Redactor;
use serde_json::Value;

use crate::contract::{ContractSet, ServedRoots, Services};
use crate::registry::ToolNames;
use crate::tool::{ContractFrame, Invocation, Tool, ToolOutput, ToolSpec};
use envelope::SmartEnvelope;
pub(crate) use envelope::public_code;
use limits::CallLimits;

pub use limits::MinuteLimits;

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 2;

/// What every answer carries, as a field and, over HTTP, as a header: the version of the specification.
pub const MCP_VERSION: &str = "v1.0.0";

/// What the operator decided.
#[derive(Debug, Clone)]
pub struct SmartConfig {
    /// Where the audit log is kept, if it is.
    pub data_dir: Option<PathBuf>,
    /// The largest preview or snippet, in bytes.
    pub preview_bytes: usize,
    /// What was asked is kept in the audit log.
    pub audit_queries: bool,
    pub limits: MinuteLimits,
    /// Blanks what must not be shown.
    pub redactor: Arc<Redactor>,
}

/// What every handler gets.
pub(crate) struct SmartContext {
    workspace: Arc<Workspace>,
    config: SmartConfig,
    limits: CallLimits,
}

impl SmartContext {
    /// Text as it may leave these tools.
    fn redacted(&self, text: &str) -> String {
        self.config.redactor.redact(text).into_owned()
    }

    fn redacted_path(&self, path: &str) -> String {
        self.workspace.redacted_path(path, &self.config.redactor)
    }

    fn rules(&self) -> PreviewRules {
        PreviewRules { bytes: self.config.preview_bytes, redactor: Arc::clone(&self.config.redactor) }
    }

    /// Counts a call against its caller's limit. Where no folder is configured there is nothing to call.
    fn admit(&self, call: &Call) -> Result<(), Failure> {
        if self.workspace.primary().is_none() {
            return Err(Failure::new(ErrorCode::InternalError, "no folder is configured").hint(
                "Start the server with --roots FOLDER,FOLDER or set workspace.roots in a config file.",
            ));
        }
        self.limits.admit(&call.caller, call.tool, Instant::now())
    }
}

/// The contract of the Smart File Search specification.
pub(crate) struct Smart;

impl ContractSet for Smart {
    fn name(&self) -> &'static str {
        "smart"
    }

    fn serves(&self) -> ServedRoots {
        ServedRoots::AllRoots
    }

    fn instructions(&self, _: ToolNames) -> String {
        INSTRUCTIONS.to_owned()
    }

    fn tools(&self, services: &Services) -> Vec<Tool> {
        tools(services)
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("mcp_version", MCP_VERSION)]
    }

    fn has_endpoint(&self) -> bool {
        true
    }
}

const INSTRUCTIONS: &str = " searchFiles finds files in shared folders from a plain question and understands file types and \
    years; openFile previews a place in one of them, with addresses, phone numbers and secrets blanked; listRoots names \
    the folders, summarizeResults words results briefly. Paths are absolute.";

/// A new tool is one file and one line here.
fn tools(services: &Services) -> Vec<Tool> {
    let (workspace, config) = (Arc::clone(&services.workspace), services.smart.clone());
    let log = match &config.data_dir {
        Some(dir) => workspace.audit_log(dir, &config.redactor),
        None => Arc::new(AuditLog::new(None, Arc::clone(&config.redactor))),
    };
    let context = Arc::new(SmartContext { workspace, limits: CallLimits::new(config.limits), config });
    let envelope = SmartEnvelope { context: Arc::clone(&context) };
    let frame = ContractFrame::new(services, log, envelope).naming_callers();
    let tool = |spec, run| framed(&frame, &context, spec, run);
    vec![
        tool(list_roots::SPEC, |context, invocation| Box::pin(list_roots::run(context, invocation))),
        tool(index_folder::SPEC, |context, invocation| Box::pin(index_folder::run(context, invocation))),
        tool(search_files::SPEC, |context, invocation| Box::pin(search_files::run(context, invocation))),
        tool(open_file::SPEC, |context, invocation| Box::pin(open_file::run(context, invocation))),
        tool(summarize_results::SPEC, |context, invocation| {
            Box::pin(summarize_results::run(context, invocation))
        }),
        tool(rewrite_query::SPEC, |context, invocation| Box::pin(rewrite_query::run(context, invocation))),
    ]
}

type Run = fn(Arc<SmartContext>, Invocation) -> BoxFuture<'static, Result<ToolOutput, Failure>>;

/// Every call counts against its caller's limit before it does anything.
fn framed(frame: &ContractFrame, context: &Arc<SmartContext>, spec: ToolSpec, run: Run) -> Tool {
    let context = Arc::clone(context);
    Tool::new(frame, spec, move |invocation| {
        let context = Arc::clone(&context);
        async move {
            context.admit(&invocation.call)?;
            run(context, invocation).await
        }
    })
}

/// A result with the version in front; its text is the same JSON.
fn output(mut result: Value) -> ToolOutput {
    let mut versioned = serde_json::json!({ "mcp_version": MCP_VERSION });
    if let (Some(into), Some(from)) = (versioned.as_object_mut(), result.as_object_mut()) {
        into.append(from);
    }
    ToolOutput::new(versioned.to_string(), versioned)
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

    fn specs() -> [ToolSpec; 6] {
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
