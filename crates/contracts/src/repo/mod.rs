//! The `repo.*` tools (repo specification, section 11, and what its users asked for next).

mod audit_log;
mod build_context_bundle;
mod envelope;
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

use std::sync::Arc;

use engine::repo::Repo;
use model::Failure;

use crate::tool::{Envelope, Invocation, Output, Spec, Tool};
use envelope::RepoEnvelope;
pub(crate) use envelope::public_code;

pub use build_context_bundle::{BundleArguments, BundleBudget, bundle_json, bundle_markdown};
pub use limits::{LIMITS, Limits};
pub use outline::outline_json;

/// Changes with every published name, schema or description; the snapshot beside it shows how.
pub const SCHEMA_VERSION: u32 = 2;

/// A repository, and what its callers may take.
#[derive(Clone)]
pub struct RepoTools {
    pub repo: Repo,
    pub limits: Limits,
}

/// What every handler gets.
pub(crate) struct Context {
    repo: Repo,
    limits: Limits,
}

/// A new tool is one file and one line here.
pub(crate) fn tools(of: &RepoTools) -> Vec<Tool> {
    let envelope: Arc<dyn Envelope> = Arc::new(RepoEnvelope {
        log: Arc::clone(of.repo.log()),
        max_bytes: of.limits.max_total_bytes_per_response,
    });
    let context = Arc::new(Context { repo: of.repo.clone(), limits: of.limits });
    let tool = |spec, run| enclosed(&envelope, &context, spec, run);
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

type Run = fn(Arc<Context>, Invocation) -> futures::future::BoxFuture<'static, Result<Output, Failure>>;

fn enclosed(envelope: &Arc<dyn Envelope>, context: &Arc<Context>, spec: Spec, run: Run) -> Tool {
    let context = Arc::clone(context);
    Tool::enclosed(Arc::clone(envelope), spec, move |invocation| run(Arc::clone(&context), invocation))
}

/// A result; its text is the envelope around it.
fn output(result: serde_json::Value, warnings: Vec<String>) -> Output {
    Output { warnings, ..Output::new("result".to_owned(), result) }
}

const INCOMPLETE: &str = "indexing is still running: the answer covers the files indexed so far";

fn incomplete(is_complete: bool) -> Vec<String> {
    if is_complete { Vec::new() } else { vec![INCOMPLETE.to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::tests::{assert_well_formed, listed};

    fn specs() -> [Spec; 10] {
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
