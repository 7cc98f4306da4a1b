//! `dir2mcp ask`: the answer of `dir2mcp.ask`, with citations that can be clicked on a terminal. There the sentences of a
//! model appear as they are written.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};

use contracts::ProgressSink;
use serde_json::json;

use super::tools::{call_following, current_engine, query_arguments};
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
    let follows = io::stdout().is_terminal() && !loaded.settings.output.json;
    let written: Arc<Mutex<String>> = Arc::default();
    let sink = follows.then(|| as_it_is_written(&written));
    let result = call_following(loaded, engine, "dir2mcp.ask", arguments, sink)?;
    if loaded.settings.output.json {
        return Ok(print::out_json(&result.structured)?);
    }
    let root = &loaded.settings.root;
    if result.structured.get("answer").is_none() {
        return Ok(print::out(&hits::list(root, &query.text, &result.structured))?);
    }
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    let text = safe_text(&result.content.join("\n")).into_owned();
    let text = match text.strip_prefix(written.trim_end()) {
        // All of it is on the screen already; what is left is a note behind it.
        Some(rest) if !written.trim().is_empty() => rest.to_owned(),
        // The model's answer was not supported, or was cut off: this one is in its place.
        _ if !written.trim().is_empty() => {
            format!("\n\n{}", hits::with_links(root, &text, &result.structured))
        }
        _ => hits::with_links(root, &text, &result.structured),
    };
    Ok(print::out(&format!("{text}\n"))?)
}

/// Shows each sentence when it is there.
fn as_it_is_written(written: &Arc<Mutex<String>>) -> ProgressSink {
    let written = Arc::clone(written);
    Arc::new(move |_, _, sentence| {
        let sentence = safe_text(&sentence).into_owned();
        // A reader that is gone will be noticed when the whole answer is printed.
        let _ = print::out(&sentence);
        written.lock().unwrap_or_else(PoisonError::into_inner).push_str(&sentence);
    })
}
