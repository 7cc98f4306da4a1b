//! `dir2mcp.search`: hits with snippets and citations (dir2mcp specification, section 15.2).

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, SearchResults};
use model::{ErrorCode, Failure, IndexChoice, PriceClass, Query};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::{filter, not_blank};
use super::hits::{hit_json, list_hits, notes};
use super::rendered::Rendered;
use super::schema;
use crate::arguments::{typed, whole};
use crate::text::{Summary, shown};
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.search",
    title: "Search",
    description: "Search the indexed directory: code identifiers, file names, phrases in quotes or plain words. \
                  Returns ranked hits, each with its path, line span, score and the lines that match. Use it \
                  instead of reading files one by one; open a hit with open_file.",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(15),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

/// `k` is how many hits are returned unless told otherwise; the schema publishes it.
pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>, k: usize) -> Tool {
    let engine = Arc::clone(engine);
    let rendered = Arc::new(Rendered::default());
    let tool = Tool::new(frame, SPEC, move |invocation| {
        let (engine, rendered) = (Arc::clone(&engine), Arc::clone(&rendered));
        async move {
            let query = query(invocation.arguments, k)?;
            let answer = engine.search(&invocation.call, query.into()).await?;
            Ok(rendered.get(&answer, render))
        }
    });
    tool.defaulting("k", json!(k))
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "query": { "type": "string", "minLength": 1, "description": "What to look for." },
            "k": schema::k(),
            "index": schema::index(),
            "path_prefix": schema::path_prefix(),
            "file_glob": schema::glob(),
            "doc_types": schema::doc_types()
        },
        "required": ["query"]
    })
}

fn output() -> Value {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "query": { "type": "string" },
            "k": { "type": "integer" },
            "index_used": { "type": "string", "enum": ["text", "code", "both"] },
            "hits": {
                "type": "array",
                "items": { "$ref": "#/definitions/Hit" }
            },
            "indexing_complete": { "type": "boolean" }
        },
        "required": ["query", "hits", "indexing_complete"]
    });
    schema::with_definitions(schema, &["Span", "Hit"])
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default, deserialize_with = "whole")]
    k: Option<u64>,
    index: Option<IndexChoice>,
    path_prefix: Option<String>,
    file_glob: Option<String>,
    doc_types: Option<Vec<String>>,
}

fn query(arguments: Value, k: usize) -> Result<Query, Failure> {
    let arguments: Arguments = typed(arguments)?;
    Ok(Query {
        text: not_blank(arguments.query, "query")?,
        k: arguments.k.map_or(k, |k| k as usize),
        index: arguments.index.unwrap_or(IndexChoice::Auto),
        filter: filter(arguments.path_prefix, arguments.file_glob, arguments.doc_types)?,
    })
}

fn render(answer: &SearchResults) -> ToolOutput {
    let note = notes(answer.indexing_complete, answer.note.as_deref());
    let asked = shown(&answer.query);
    let used = answer.index_used;
    let mut summary = Summary::new(match answer.hits.len() {
        0 => format!("No hits for \"{asked}\" (index: {used}). Try other words or fewer filters.{note}"),
        1 => format!("1 hit for \"{asked}\" (index: {used}).{note}"),
        n => format!("{n} hits for \"{asked}\" (index: {used}), best first.{note}"),
    });
    list_hits(&mut summary, &answer.hits);
    ToolOutput::new(
        summary.finish(),
        json!({
            "query": answer.query,
            "k": answer.k,
            "index_used": used.as_str(),
            "hits": answer.hits.iter().map(hit_json).collect::<Vec<_>>(),
            "indexing_complete": answer.indexing_complete,
        }),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use model::{Hit, IndexUsed};

    use super::super::hits::tests::sample_hit;
    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        query(sample(input), 10).unwrap();
    }

    fn refused(arguments: Value) -> ErrorCode {
        Schema::compile(input()).unwrap().check(&arguments, SPEC.out_of_range).unwrap_err().code
    }

    #[test]
    fn d144_arguments_and_their_defaults() {
        let plain = query(json!({"query": "retry budget"}), 10).unwrap();
        assert_eq!((plain.k, plain.index), (10, IndexChoice::Auto));
        let full = query(json!({
            "query": "x", "k": 50, "index": "both", "path_prefix": "src/", "file_glob": "*.rs", "doc_types": ["Code"]
        }), 10)
        .unwrap();
        assert_eq!((full.k, full.index), (50, IndexChoice::Both));
        assert_eq!(full.filter.path_prefix(), Some("src/"));
        assert_eq!(full.filter.doc_types(), ["code"]);

        assert_eq!(refused(json!({})), ErrorCode::MissingField);
        assert_eq!(refused(json!({"query": ""})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"query": "x", "k": 0})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"query": "x", "k": 51})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"query": "x", "index": "all"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"query": "x", "limit": 3})), ErrorCode::InvalidField);
        assert_eq!(query(json!({"query": " \n"}), 10).unwrap_err().code, ErrorCode::InvalidField);
        assert_eq!(
            query(json!({"query": "x", "doc_types": ["nope"]}), 10).unwrap_err().code,
            ErrorCode::InvalidField
        );
    }

    fn answer(hits: usize) -> SearchResults {
        SearchResults {
            query: "main".into(),
            k: 50,
            index_used: IndexUsed::Both,
            hits: (0..hits).map(|i| sample_hit(&format!("src/file_{i}.rs"))).collect(),
            indexing_complete: false,
            note: None,
        }
    }

    #[test]
    fn d145_d146_case_12_the_answer_and_its_text() {
        let output = render(&answer(2));
        let schema = Schema::compile(super::output()).unwrap();
        assert_eq!(schema.complaint(&output.structured), None);
        assert_eq!(output.structured["index_used"], "both");
        let text = &output.content[0];
        assert!(text.contains("1. [src/file_0.rs:L3-L9] score 0.87\n    fn main() {"), "{text}");
        assert!(text.contains("2. [src/file_1.rs:L3-L9]"));
        assert!(text.contains("still running"));
        insta::assert_snapshot!("search_text", text);
    }

    #[test]
    fn no_hits_still_say_something() {
        let output = render(&answer(0));
        assert!(output.content[0].starts_with("No hits for \"main\""));
        assert_eq!(output.structured["hits"], json!([]));
    }

    #[test]
    fn a_large_answer_has_a_small_text() {
        let mut large = answer(50);
        large.hits = (large.hits.iter().cloned())
            .map(|hit| Hit { snippet: "long line of words ".repeat(12), ..hit })
            .collect();
        let output = render(&large);
        assert!(output.content[0].len() < 9 * 1024);
        assert!(output.content[0].contains("more, in the structured result"));
        assert_eq!(output.structured["hits"].as_array().unwrap().len(), 50);
    }
}
