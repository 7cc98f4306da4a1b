//! The `repo.*` tools (repo specification, section 11, and what its users asked for next).

mod audit_log;
mod build_context_bundle;
mod envelope;
mod files_shown;
mod find_definition;
mod limits;
mod list_files;
mod open_file;
mod outline;
mod references;
mod refresh_index;
mod schema;
mod search;
mod status;

use std::path::PathBuf;
use std::sync::Arc;

use engine::{AuditLog, Engine, FileView, Retrieval, Windows};
use model::{ErrorCode, Failure};

use crate::contract::{ContractSet, ServedRoots, Services};
use crate::registry::ToolNames;
use crate::tool::{ContractFrame, Invocation, Tool, ToolOutput, ToolSpec};
use envelope::RepoEnvelope;
pub(crate) use envelope::public_code;

pub use build_context_bundle::{BundleArguments, BundleBudget, bundle_json, bundle_markdown};
pub use files_shown::{default_exclude_globs, default_include_extensions};
pub use limits::{RESPONSE_LIMITS, RepoLimits};
pub use outline::outline_json;

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 2;

/// What the operator decided.
#[derive(Debug, Clone)]
pub struct RepoConfig {
    /// Where the audit log, the last bundle and the last refresh are kept.
    pub data_dir: PathBuf,
    pub view: Arc<FileView>,
    /// Search by meaning may be asked for.
    pub semantic: bool,
    /// How texts without structure are cut.
    pub chunk_lines: usize,
    pub chunk_overlap: usize,
    pub limits: RepoLimits,
}

/// What every handler gets.
pub(crate) struct RepoContext {
    engine: Arc<Engine>,
    config: RepoConfig,
    limits: RepoLimits,
    log: Arc<AuditLog>,
}

impl RepoContext {
    fn windows(&self) -> Windows {
        Windows::new(self.config.chunk_lines, self.config.chunk_overlap)
    }

    /// Refuses what the operator did not switch on.
    fn permitted(&self, retrieval: Retrieval) -> Result<(), Failure> {
        if retrieval == Retrieval::Words || self.config.semantic {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::SemanticNotAvailable,
            "search by meaning is switched off; set semantic.enabled = true in repo_mcp.toml, start with --semantic, or \
             use mode bm25",
        ))
    }
}

/// The contract of the repo specification.
pub(crate) struct Repo;

impl ContractSet for Repo {
    fn name(&self) -> &'static str {
        "repo"
    }

    fn serves(&self) -> ServedRoots {
        ServedRoots::PrimaryRoot
    }

    fn instructions(&self, names: ToolNames) -> String {
        instructions(names)
    }

    fn tools(&self, services: &Services) -> Vec<Tool> {
        let Some(engine) = services.engine() else { return Vec::new() };
        tools(services, engine)
    }

    fn has_endpoint(&self) -> bool {
        true
    }

    fn uses_outlines(&self) -> bool {
        true
    }
}

/// A new tool is one file and one line here.
fn tools(services: &Services, engine: &Arc<Engine>) -> Vec<Tool> {
    let config = services.repo.clone();
    let limits = config.limits;
    let log = services.workspace.audit_log(&config.data_dir, engine.redactor());
    let envelope = RepoEnvelope { max_bytes: limits.max_total_bytes_per_response };
    let frame = ContractFrame::new(services, Arc::clone(&log), envelope);
    let context = Arc::new(RepoContext { engine: Arc::clone(engine), config, limits, log });
    let tool = |spec, run| framed(&frame, &context, spec, run);
    vec![
        tool(status::SPEC, |context, invocation| Box::pin(status::run(context, invocation))),
        tool(list_files::SPEC, |context, invocation| Box::pin(list_files::run(context, invocation))),
        tool(open_file::SPEC, |context, invocation| Box::pin(open_file::run(context, invocation))),
        tool(outline::SPEC, |context, invocation| Box::pin(outline::run(context, invocation))),
        tool(search::SPEC, |context, invocation| Box::pin(search::run(context, invocation))),
        tool(find_definition::SPEC, |context, invocation| {
            Box::pin(find_definition::run(context, invocation))
        }),
        tool(references::SPEC, |context, invocation| Box::pin(references::run(context, invocation))),
        tool(refresh_index::SPEC, |context, invocation| Box::pin(refresh_index::run(context, invocation))),
        tool(build_context_bundle::SPEC, |context, invocation| {
            Box::pin(build_context_bundle::run(context, invocation))
        }),
        tool(audit_log::SPEC, |context, invocation| Box::pin(audit_log::run(context, invocation))),
    ]
}

type Run =
    fn(Arc<RepoContext>, Invocation) -> futures::future::BoxFuture<'static, Result<ToolOutput, Failure>>;

fn framed(frame: &ContractFrame, context: &Arc<RepoContext>, spec: ToolSpec, run: Run) -> Tool {
    let context = Arc::clone(context);
    Tool::new(frame, spec, move |invocation| run(Arc::clone(&context), invocation))
}

fn instructions(names: ToolNames) -> String {
    let name = |tool: &str| names.spell(&format!("repo.{tool}"));
    format!(
        " For a coding task call {bundle} first: it returns the excerpts that matter, with line numbers. {search} finds \
         passages by words and identifiers, {definition} and {references} follow a name, {outline} shows what a file \
         declares, {open} reads lines. Paths are relative to the repository root. A blocked call says why and what to do.",
        bundle = name("build_context_bundle"),
        search = name("search"),
        definition = name("find_definition"),
        references = name("references"),
        outline = name("outline"),
        open = name("open_file"),
    )
}

/// A result; its text is the envelope around it.
fn output(result: serde_json::Value, warnings: Vec<String>) -> ToolOutput {
    ToolOutput { warnings, ..ToolOutput::new("result".to_owned(), result) }
}

const INCOMPLETE: &str = "indexing is still running: the answer covers the files indexed so far";

fn incomplete(is_complete: bool) -> Vec<String> {
    if is_complete { Vec::new() } else { vec![INCOMPLETE.to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::tests::{assert_well_formed, listed};

    fn specs() -> [ToolSpec; 10] {
        [
            status::SPEC,
            list_files::SPEC,
            open_file::SPEC,
            outline::SPEC,
            search::SPEC,
            find_definition::SPEC,
            references::SPEC,
            refresh_index::SPEC,
            build_context_bundle::SPEC,
            audit_log::SPEC,
        ]
    }

    /// What `tools/list` shows, as one file that a reviewer reads. Whoever changes it raises [`SCHEMA_VERSION`].
    #[test]
    fn r039_to_r049_tools_list_snapshot() {
        let page = listed(SCHEMA_VERSION, &specs(), &envelope::published);
        insta::assert_snapshot!("tools_list", page);
    }

    #[test]
    fn names_and_schemas_are_well_formed() {
        let specs = specs();
        assert_well_formed(&specs, &envelope::published);
        for spec in specs {
            assert!(spec.name.starts_with("repo."));
        }
    }
}
