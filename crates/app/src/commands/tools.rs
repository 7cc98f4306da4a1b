//! Calling a tool from the shell: the same registry that answers clients, over an index that is up to date.

use std::sync::Arc;

use contracts::{CallContext, Contract, ProgressSink, Registry, ToolNames, ToolResult, failure_sentence};
use engine::{Engine, Workspace};
use model::{Caller, Failure, IndexMode, Query};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::indexing::bring_up_to_date;
use crate::config::Loaded;
use crate::exit::{Exit, ExitCode};
use crate::print::report::Reporter;
use crate::{print, wire};

/// Opens the engine and brings the index up to date, unless a server does so already.
pub(super) fn current_engine(loaded: &Loaded) -> Result<Arc<Engine>, Exit> {
    let reporter = Arc::new(Reporter::beside_a_result(&loaded.settings.output));
    for warning in &loaded.warnings {
        print::warn(warning);
    }
    let engine = wire::open_engine(loaded)?;
    bring_up_to_date(&engine, IndexMode::Incremental, &reporter)?;
    Ok(engine)
}

/// The arguments that searching and asking have in common.
pub(super) fn query_arguments(query: &Query) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("k".to_owned(), json!(query.k));
    arguments.insert("index".to_owned(), json!(query.index));
    if let Some(prefix) = query.filter.path_prefix() {
        arguments.insert("path_prefix".to_owned(), json!(prefix));
    }
    if let Some(glob) = query.filter.file_glob() {
        arguments.insert("file_glob".to_owned(), json!(glob));
    }
    if !query.filter.doc_types().is_empty() {
        arguments.insert("doc_types".to_owned(), json!(query.filter.doc_types()));
    }
    arguments
}

/// Calls one tool. Its error becomes the end of the run.
pub(super) fn call(
    loaded: &Loaded,
    engine: Arc<Engine>,
    tool: &'static str,
    arguments: Map<String, Value>,
) -> Result<ToolResult, Exit> {
    call_following(loaded, engine, tool, arguments, None)
}

/// The same, told of what the tool reports on the way.
pub(super) fn call_following(
    loaded: &Loaded,
    engine: Arc<Engine>,
    tool: &'static str,
    arguments: Map<String, Value>,
    progress: Option<ProgressSink>,
) -> Result<ToolResult, Exit> {
    let workspace = Arc::new(Workspace::new(Arc::clone(&engine), Vec::new()));
    let services = wire::services(&loaded.settings, &workspace, None);
    let registry = Registry::new(&services, &[Contract::DIR2MCP], ToolNames::Dotted)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ask = || {
        let context = CallContext {
            caller: Caller::cli(),
            cancel: CancellationToken::new(),
            progress: progress.clone(),
            request_id: None,
        };
        runtime
            .block_on(registry.call_typed(tool, arguments.clone(), context))
            .map_err(|error| Exit::generic(error.to_string()))
    };
    let mut result = ask()?;
    if engine.damage().is_some() {
        // The question met damage that nothing had met before: it is mended, and the question asked again.
        let reporter = Arc::new(Reporter::beside_a_result(&loaded.settings.output));
        bring_up_to_date(&engine, IndexMode::Incremental, &reporter)?;
        result = ask()?;
    }
    result.map_err(|failure| {
        let failure = in_a_shell(failure);
        Exit::new(ExitCode::Generic, failure.code.as_str(), failure_sentence(&failure))
    })
}

/// A hint that means a tool names the command that does the same.
fn in_a_shell(failure: Failure) -> Failure {
    match failure.hint.as_deref() {
        Some(policy::LIST_FILES_HINT) => {
            failure.hint("`dir2mcp status --files` lists those that are searchable.")
        }
        _ => failure,
    }
}
