//! `dir2mcp search`: what `dir2mcp.search` finds, in a form that editors and terminals can follow.

use engine::Call;
use model::Query;
use model::citation::citation_text;
use serde_json::{Map, Value, json};

use super::tools::{call, current_engine, query_arguments};
use crate::cli::SearchArgs;
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print;
use crate::print::hits;

pub(crate) fn run(loaded: &Loaded, args: &SearchArgs) -> Result<(), Exit> {
    let query = args.filters.query(&args.query, loaded.settings.rag.k_default)?;
    if args.explain {
        return explain(loaded, query);
    }
    let mut arguments = query_arguments(&query);
    arguments.insert("query".to_owned(), json!(query.text));
    let engine = current_engine(loaded)?;
    let result = call(loaded, engine, "dir2mcp.search", arguments)?;
    if loaded.settings.output.json {
        return Ok(print::out_json(&result.structured)?);
    }
    Ok(print::out(&hits::list(&loaded.settings.root, &query.text, &result.structured))?)
}

/// The hits with the parts of their scores, for people who tune or doubt the ranking.
fn explain(loaded: &Loaded, query: Query) -> Result<(), Exit> {
    let engine = current_engine(loaded)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (answer, breakdowns) =
        runtime.block_on(engine.explain(&Call::cli("dir2mcp.search"), query.into()))?;
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
