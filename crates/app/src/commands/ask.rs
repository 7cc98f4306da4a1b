//! `dir2mcp ask` and `dir2mcp search`: the tools of the same names, called from the shell.

use std::sync::Arc;

use contracts::{CallContext, Contract, Registry, ToolNames, ToolService};
use engine::smart::Roots;
use engine::{Call, Engine};
use model::citation::citation_text;
use model::{Caller, IndexMode, Query};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::indexing::bring_up_to_date;
use crate::cli::{AskArgs, AskMode, SearchArgs};
use crate::config::Loaded;
use crate::exit::{Exit, ExitCode};
use crate::print::report::Reporter;
use crate::{print, wire};

pub(crate) fn ask(loaded: &Loaded, args: &AskArgs) -> Result<(), Exit> {
    let query = args.filters.query(&args.question, loaded.settings.rag.k_default)?;
    let mode = match args.mode {
        AskMode::Answer => "answer",
        AskMode::SearchOnly => "search_only",
    };
    let mut arguments = arguments(&query);
    arguments.insert("question".to_owned(), json!(query.text));
    arguments.insert("mode".to_owned(), json!(mode));
    call(loaded, "dir2mcp.ask", arguments)
}

pub(crate) fn search(loaded: &Loaded, args: &SearchArgs) -> Result<(), Exit> {
    let query = args.filters.query(&args.query, loaded.settings.rag.k_default)?;
    if args.explain {
        return explain(loaded, query);
    }
    let mut arguments = arguments(&query);
    arguments.insert("query".to_owned(), json!(query.text));
    call(loaded, "dir2mcp.search", arguments)
}

/// The arguments that both tools take.
fn arguments(query: &Query) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("k".to_owned(), json!(query.k));
    arguments.insert("index".to_owned(), json!(query.index));
    if let Some(prefix) = &query.filter.path_prefix {
        arguments.insert("path_prefix".to_owned(), json!(prefix));
    }
    if let Some(glob) = &query.filter.file_glob {
        arguments.insert("file_glob".to_owned(), json!(glob));
    }
    if !query.filter.doc_types.is_empty() {
        arguments.insert("doc_types".to_owned(), json!(query.filter.doc_types));
    }
    arguments
}

/// Opens the engine and brings the index up to date, unless a server does so already.
pub(super) fn current_engine(loaded: &Loaded) -> Result<Arc<Engine>, Exit> {
    let reporter = Arc::new(Reporter::beside_a_result(&loaded.settings.output));
    for warning in &loaded.warnings {
        print::warn(warning);
    }
    let engine = wire::open_engine(&loaded.settings)?;
    bring_up_to_date(&engine, IndexMode::Incremental, &reporter)?;
    Ok(engine)
}

/// The hits with the parts of their scores, for people who tune or doubt the ranking.
fn explain(loaded: &Loaded, query: Query) -> Result<(), Exit> {
    let engine = current_engine(loaded)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (answer, breakdowns) = runtime.block_on(engine.explain(&Call::cli("dir2mcp.search"), query))?;
    let explained = answer.hits.iter().zip(&breakdowns);
    if loaded.settings.output.json {
        let hits: Vec<Value> = explained
            .map(|(hit, breakdown)| {
                let parts: Map<String, Value> =
                    breakdown.parts().into_iter().map(|(name, value)| (name.to_owned(), json!(rounded(value)))).collect();
                json!({ "rel_path": hit.rel_path, "citation": citation_text(&hit.rel_path, hit.span), "score": rounded(hit.score), "parts": parts })
            })
            .collect();
        let used = answer.index_used.as_str();
        return Ok(print::out_json(&json!({ "query": answer.query, "index_used": used, "hits": hits }))?);
    }
    let count = answer.hits.len();
    let hits = if count == 1 { "hit" } else { "hits" };
    let mut text = format!("{count} {hits} (index: {})\n", answer.index_used);
    for (at, (hit, breakdown)) in explained.enumerate() {
        let citation = citation_text(&hit.rel_path, hit.span);
        text.push_str(&format!("{}. {citation} score {:.3}\n   ", at + 1, hit.score));
        for (name, value) in breakdown.parts().into_iter().filter(|(_, value)| *value != 0.0) {
            text.push_str(&format!(" {name} {value:.2}"));
        }
        text.push('\n');
    }
    print::out(&print::safe_text(&text))?;
    Ok(())
}

/// Six digits: what follows is the noise of turning the number into one of more digits.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 1e6).round() / 1e6
}

/// Calls one tool over a current index and prints its result.
fn call(loaded: &Loaded, tool: &'static str, arguments: Map<String, Value>) -> Result<(), Exit> {
    let output = &loaded.settings.output;
    let engine = current_engine(loaded)?;
    let roots = Arc::new(Roots::new(engine, Vec::new()));
    let rooms = wire::rooms(&loaded.settings, &roots);
    let registry = Registry::new(&rooms, &[Contract::Dir2mcp], ToolNames::Dotted)?;
    let context = CallContext {
        caller: Caller::Cli,
        cancel: CancellationToken::new(),
        progress: None,
        request_id: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime
        .block_on(registry.call(tool, Some(arguments), context))
        .map_err(|error| Exit::generic(error.to_string()))?;
    if result.is_error {
        let text = result.content.join("\n");
        let message = text.strip_prefix("ERROR: ").unwrap_or(&text);
        let (label, message) = message.split_once(": ").unwrap_or(("INTERNAL_ERROR", message));
        let label = model::ErrorCode::parse(label).map_or("INTERNAL_ERROR", model::ErrorCode::as_str);
        return Err(Exit::new(ExitCode::Generic, label, message));
    }
    if output.json {
        print::out_json(&result.structured)?;
    } else {
        print::out(&format!("{}\n", print::safe_text(&result.content.join("\n"))))?;
    }
    Ok(())
}
