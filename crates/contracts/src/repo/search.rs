//! `repo.search`: ranked passages by words (repo specification, section 11.5).

use std::sync::Arc;
use std::time::Duration;

use engine::{LineHits, ResultPage, Retrieval, SearchFilter, SearchRequest};
use model::{ErrorCode, Failure, Filter, IndexChoice, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{self, given, not_blank, within};
use super::{RepoContext, incomplete, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.search",
    title: "Search",
    description: "Ranked passages for words, identifiers or a question: path, line range, the lines that match, score and \
                  matched terms. The same question over the same files gives the same answer.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(60),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

/// Hits returned unless told otherwise. The limit is the operator's; what follows the tenth hit is rarely read and always
/// paid for.
const DEFAULT_TOP_K: u32 = 10;

pub(super) const MODES: [&str; 3] = ["bm25", "hybrid", "semantic"];

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "query": { "type": "string", "minLength": 1, "description": "What to look for." },
            "mode": {
                "type": "string",
                "enum": MODES,
                "default": "bm25",
                "description": "bm25 looks at words only; hybrid and semantic must be switched on by the operator."
            },
            "top_k": {
                "type": "integer", "minimum": 1, "default": DEFAULT_TOP_K,
                "description": "Maximum results, up to max_search_hits."
            },
            "file_glob": schema::glob(),
            "path_prefix": { "type": "string", "description": "Only paths starting with this prefix." }
        },
        "required": ["query"]
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": { "type": "string" },
            "mode": { "type": "string" },
            "hits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": { "type": "string" },
                        "start_line": { "type": "integer" },
                        "end_line": { "type": "integer" },
                        "snippet": { "type": "string" },
                        "score": { "type": "number", "description": "Comparable within one answer." },
                        "matched_terms": { "type": "array", "items": { "type": "string" } },
                        "chunk_id": { "type": "string" }
                    },
                    "required": ["path", "start_line", "end_line", "snippet", "score", "matched_terms", "chunk_id"]
                }
            }
        },
        "required": ["query", "mode", "hits"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    mode: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    top_k: Option<u64>,
    file_glob: Option<String>,
    path_prefix: Option<String>,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let mode = arguments.mode.unwrap_or_else(|| MODES[0].to_owned());
    let request = SearchRequest {
        text: not_blank(arguments.query, "query")?,
        roots: Vec::new(),
        scope: None,
        retrieval: retrieval(&mode),
        index: IndexChoice::Both,
        page: ResultPage {
            offset: 0,
            limit: within(
                Some(
                    arguments
                        .top_k
                        .unwrap_or_else(|| DEFAULT_TOP_K.min(context.limits.max_search_hits).into()),
                ),
                context.limits.max_search_hits,
                "top_k",
                "max_search_hits",
            )?,
        },
        filter: SearchFilter {
            paths: Filter::of_files(
                given(arguments.path_prefix).map(|prefix| prefix.replace("//", "/")),
                given(arguments.file_glob),
                &[],
            ),
            ..SearchFilter::default()
        },
    };
    context.permitted(request.retrieval)?;
    let text = request.text.clone();
    let view = &context.config.view;
    let found = context.engine.search_lines(&invocation.call, request, view, context.windows()).await?;
    Ok(render(&text, &mode, &found))
}

pub(super) fn retrieval(mode: &str) -> Retrieval {
    match mode {
        "semantic" => Retrieval::Meaning,
        "hybrid" => Retrieval::Hybrid,
        _ => Retrieval::Words,
    }
}

fn render(query: &str, mode: &str, found: &LineHits) -> ToolOutput {
    let mut warnings = incomplete(found.is_complete);
    let mut changed: Vec<&str> =
        found.hits.iter().filter(|hit| hit.is_changed).map(|hit| hit.path.as_str()).collect();
    changed.dedup();
    for path in changed.into_iter().take(5) {
        warnings.push(format!(
            "{path} has changed since it was indexed; repo.refresh_index brings it up to date"
        ));
    }
    let hits: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            json!({
                "path": hit.path,
                "start_line": hit.start_line,
                "end_line": hit.end_line,
                "snippet": hit.snippet,
                "score": rounded(hit.score),
                "matched_terms": hit.matched_terms,
                "chunk_id": hit.chunk_id,
            })
        })
        .collect();
    output(json!({ "query": query, "mode": mode, "hits": hits }), warnings)
}

/// Six digits: what a float shows beyond them is noise.
pub(super) fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e6).round() / 1e6
}
