//! `dir2mcp ask`: the answer of `dir2mcp.ask`, with citations that can be clicked on a terminal.

use serde_json::json;

use super::tools::{call, current_engine, query_arguments};
use crate::cli::{AskArgs, AskMode};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print;
use crate::print::{hits, safe_text};

pub(crate) fn run(loaded: &Loaded, args: &AskArgs) -> Result<(), Exit> {
    let query = args.filters.query(&args.question, loaded.settings.rag.k_default)?;
    let mode = match args.mode {
        AskMode::Answer => "answer",
        AskMode::SearchOnly => "search_only",
    };
    let mut arguments = query_arguments(&query);
    arguments.insert("question".to_owned(), json!(query.text));
    arguments.insert("mode".to_owned(), json!(mode));
    let engine = current_engine(loaded)?;
    let result = call(loaded, engine, "dir2mcp.ask", arguments)?;
    if loaded.settings.output.json {
        return Ok(print::out_json(&result.structured)?);
    }
    let root = &loaded.settings.root;
    let text = if result.structured.get("answer").is_some() {
        let answer = safe_text(&result.content.join("\n")).into_owned();
        format!("{}\n", hits::with_links(root, &answer, &result.structured))
    } else {
        hits::list(root, &query.text, &result.structured)
    };
    Ok(print::out(&text)?)
}
