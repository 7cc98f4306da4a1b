//! The tools of the MCP FileIO specification: projects of text files that belong to the caller's key, written, read, moved and
//! searched; and, beside its seven, former contents of files and chains of calls.

mod envelope;
mod file_delete;
mod file_list;
mod file_read;
mod file_rename;
mod file_restore;
mod file_search;
mod file_stat;
mod file_version_read;
mod file_versions;
mod file_write;
mod pipe;
mod shapes;

use std::path::PathBuf;
use std::sync::Arc;

use engine::{AuditLog, TenantFiles};
use futures::future::BoxFuture;
use model::Failure;
use policy::{Redactor, SecretPatterns};

use crate::contract::{ContractSet, ServedRoots, Services};
use crate::registry::ToolNames;
use crate::tool::{ContractFrame, Invocation, Tool, ToolOutput, ToolSpec};
use envelope::FilesEnvelope;

pub use shapes::{ZERO_TIME, store_time_text};

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 1;

/// What the operator decided.
#[derive(Clone)]
pub struct FilesConfig {
    pub store: Arc<TenantFiles>,
    /// Where the audit log is kept, if it is.
    pub data_dir: Option<PathBuf>,
}

/// The contract of the MCP FileIO specification.
pub(crate) struct Files;

impl ContractSet for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn serves(&self) -> ServedRoots {
        ServedRoots::FileStore
    }

    fn instructions(&self, _: ToolNames) -> String {
        INSTRUCTIONS.to_owned()
    }

    fn tools(&self, services: &Services) -> Vec<Tool> {
        services.files.as_ref().map(|config| tools(services, config)).unwrap_or_default()
    }

    fn has_endpoint(&self) -> bool {
        true
    }
}

const INSTRUCTIONS: &str = " file_write, file_read, file_list, file_stat, file_rename and file_delete keep text files of your \
    own in projects, apart from any folder; file_search finds passages in them, with project * in all of them. Paths are \
    absolute within their project, such as /notes/today.md. file_versions and file_restore bring former contents back; pipe \
    runs several tools in one call.";

/// A new tool is one file and one line here.
fn tools(services: &Services, config: &FilesConfig) -> Vec<Tool> {
    let redactor = Arc::new(Redactor::new(&SecretPatterns::Default).expect("the built-in rules can be read"));
    let log = match &config.data_dir {
        Some(dir) => services.workspace.audit_log(dir, &redactor),
        None => Arc::new(AuditLog::new(None, redactor)),
    };
    let frame = ContractFrame::new(services, log, FilesEnvelope).naming_callers();
    let tool = |spec, run| framed(&frame, &config.store, spec, run);
    vec![
        tool(file_stat::SPEC, |store, invocation| Box::pin(file_stat::run(store, invocation))),
        tool(file_read::SPEC, |store, invocation| Box::pin(file_read::run(store, invocation))),
        tool(file_write::SPEC, |store, invocation| Box::pin(file_write::run(store, invocation))),
        tool(file_delete::SPEC, |store, invocation| Box::pin(file_delete::run(store, invocation))),
        tool(file_rename::SPEC, |store, invocation| Box::pin(file_rename::run(store, invocation))),
        tool(file_list::SPEC, |store, invocation| Box::pin(file_list::run(store, invocation))),
        tool(file_search::SPEC, |store, invocation| Box::pin(file_search::run(store, invocation))),
        tool(file_versions::SPEC, |store, invocation| Box::pin(file_versions::run(store, invocation))),
        tool(file_version_read::SPEC, |store, invocation| {
            Box::pin(file_version_read::run(store, invocation))
        }),
        tool(file_restore::SPEC, |store, invocation| Box::pin(file_restore::run(store, invocation))),
        // The tools that it calls are entered in the log of calls, each for itself.
        Tool::new(&frame, pipe::SPEC, pipe::run),
    ]
}

type Run = fn(Arc<TenantFiles>, Invocation) -> BoxFuture<'static, Result<ToolOutput, Failure>>;

/// Every call is admitted and entered in its tenant's log.
fn framed(frame: &ContractFrame, store: &Arc<TenantFiles>, spec: ToolSpec, run: Run) -> Tool {
    let store = Arc::clone(store);
    Tool::new(frame, spec, move |invocation| {
        let store = Arc::clone(&store);
        async move {
            let (call, parameters) = (invocation.call.clone(), invocation.arguments.clone());
            store.entered(&call, &parameters, run(Arc::clone(&store), invocation)).await
        }
    })
}

/// An answer whose text is the same JSON.
fn output(answer: serde_json::Value) -> ToolOutput {
    ToolOutput::new(answer.to_string(), answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::tests::{assert_well_formed, listed};

    fn specs() -> [ToolSpec; 11] {
        [
            file_stat::SPEC,
            file_read::SPEC,
            file_write::SPEC,
            file_delete::SPEC,
            file_rename::SPEC,
            file_list::SPEC,
            file_search::SPEC,
            file_versions::SPEC,
            file_version_read::SPEC,
            file_restore::SPEC,
            pipe::SPEC,
        ]
    }

    /// What `tools/list` shows, as one file that a reviewer reads. Whoever changes it raises [`SCHEMA_VERSION`].
    #[test]
    fn f006_f035_to_f116_tools_list_snapshot() {
        let page = listed(SCHEMA_VERSION, &specs(), &envelope::published);
        insta::assert_snapshot!("tools_list", page);
    }

    #[test]
    fn names_and_schemas_are_well_formed() {
        let specs = specs();
        assert_well_formed(&specs, &envelope::published);
        let seven = ["stat", "read", "write", "delete", "rename", "list", "search"];
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        assert_eq!(names[..7], seven.map(|name| format!("file_{name}")));
    }
}
