//! `dir2mcp.ask`: an answer with citations, or the hits alone (dir2mcp specification, section 15.3).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::{AskAnswer, AskRequest, Engine, TextSink};
use model::{ErrorCode, Failure, IndexChoice, PriceClass, Query};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::{filter, not_blank};
use super::hits::{hit_json, list_hits, notes, span_json};
use super::schema;
use crate::arguments::{typed, whole};
use crate::service::ProgressSink;
use crate::text::{Summary, shown, visible};
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.ask",
    title: "Ask",
    description: "Answer a question from the indexed directory, with citations. With a chat model the answer is written \
                  from the best passages and compared with them: a sentence marked (not in the sources) has a number or \
                  a name that they do not hold. Without one the answer is extractive: the best passages, quoted with \
                  their sources. With mode search_only only the hits are returned.",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: TIMEOUT,
    read_only: true,
    idempotent: true,
    price: PriceClass::Model,
};

/// More than the engine waits for a model, so that the passages can still answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// `k` is how many hits are returned unless told otherwise; the schema publishes it.
pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>, k: usize) -> Tool {
    let engine = Arc::clone(engine);
    let tool = Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let (query, mode) = question(invocation.arguments, k)?;
            let request = AskRequest {
                search: query.into(),
                answer: mode == AskToolMode::Answer,
                on_text: invocation.progress.map(told),
            };
            let answer = engine.ask(&invocation.call, request).await?;
            Ok(render(&answer))
        }
    });
    tool.defaulting("k", json!(k))
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "question": { "type": "string", "minLength": 1, "description": "The question, in plain words." },
            "k": schema::k(),
            "mode": {
                "type": "string", "enum": ["answer", "search_only"], "default": "answer",
                "description": "answer gives an answer and its hits, search_only the hits alone."
            },
            "index": schema::index(),
            "path_prefix": schema::path_prefix(),
            "file_glob": schema::glob(),
            "doc_types": schema::doc_types()
        },
        "required": ["question"]
    })
}

/// Reports each sentence of an answer as it is written: the message is the sentence, the progress counts characters.
pub(super) fn told(progress: ProgressSink) -> TextSink {
    let written = AtomicUsize::new(0);
    Arc::new(move |sentences: &str| {
        let length = sentences.chars().count();
        let done = written.fetch_add(length, Ordering::Relaxed) + length;
        progress(done as f64, None, sentences.to_owned());
    })
}

pub(super) fn output() -> Value {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "question": { "type": "string" },
            "answer": { "type": "string" },
            "citations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "chunk_id": { "type": "integer" },
                        "rel_path": { "type": "string" },
                        "span": { "$ref": "#/definitions/Span" }
                    },
                    "required": ["chunk_id", "rel_path", "span"]
                }
            },
            "hits": { "type": "array", "items": { "$ref": "#/definitions/Hit" } },
            "indexing_complete": { "type": "boolean" }
        },
        "required": ["question", "citations", "hits", "indexing_complete"]
    });
    schema::with_definitions(schema, &["Span", "Hit"])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskToolMode {
    Answer,
    SearchOnly,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default, deserialize_with = "whole")]
    k: Option<u64>,
    mode: Option<AskToolMode>,
    index: Option<IndexChoice>,
    path_prefix: Option<String>,
    file_glob: Option<String>,
    doc_types: Option<Vec<String>>,
}

fn question(arguments: Value, k: usize) -> Result<(Query, AskToolMode), Failure> {
    let arguments: Arguments = typed(arguments)?;
    let query = Query {
        text: not_blank(arguments.question, "question")?,
        k: arguments.k.map_or(k, |k| k as usize),
        index: arguments.index.unwrap_or(IndexChoice::Auto),
        filter: filter(arguments.path_prefix, arguments.file_glob, arguments.doc_types)?,
    };
    Ok((query, arguments.mode.unwrap_or(AskToolMode::Answer)))
}

pub(super) fn render(answer: &AskAnswer) -> ToolOutput {
    let citations: Vec<Value> = answer
        .citations
        .iter()
        .map(|citation| {
            json!({
                "chunk_id": citation.chunk_id.0,
                "rel_path": citation.rel_path,
                "span": span_json(citation.span),
            })
        })
        .collect();
    let mut structured = json!({ "question": answer.question });
    if let Some(text) = &answer.answer {
        structured["answer"] = json!(text);
    }
    structured["citations"] = Value::Array(citations);
    structured["hits"] = answer.hits.iter().map(hit_json).collect();
    structured["indexing_complete"] = json!(answer.indexing_complete);
    ToolOutput::new(text(answer), structured)
}

fn text(answer: &AskAnswer) -> String {
    let note = notes(answer.indexing_complete, answer.note.as_deref());
    if let Some(answer) = &answer.answer {
        let answer = visible(answer);
        return if note.is_empty() { answer } else { format!("{answer}\n\n{}", note.trim_start()) };
    }
    let asked = shown(&answer.question);
    let mut summary = Summary::new(match answer.hits.len() {
        0 => format!("No hits for \"{asked}\". Try other words or fewer filters.{note}"),
        1 => format!("1 hit for \"{asked}\".{note}"),
        n => format!("{n} hits for \"{asked}\", best first.{note}"),
    });
    list_hits(&mut summary, &answer.hits);
    summary.finish()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::hits::tests::sample_hit;
    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        question(sample(input), 10).unwrap();
    }

    #[test]
    fn d147_arguments_and_their_defaults() {
        let (query, mode) = question(json!({"question": "why?"}), 10).unwrap();
        assert_eq!((query.k, query.index, mode), (10, IndexChoice::Auto, AskToolMode::Answer));
        let (_, mode) = question(json!({"question": "why?", "mode": "search_only"}), 10).unwrap();
        assert_eq!(mode, AskToolMode::SearchOnly);

        let schema = Schema::compile(input()).unwrap();
        let refused = |arguments: Value| schema.check(&arguments, SPEC.out_of_range).unwrap_err().code;
        assert_eq!(refused(json!({"question": "x", "mode": "guess"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"k": 3})), ErrorCode::MissingField);
        assert_eq!(refused(json!({"question": "x", "k": 51})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"question": "x", "query": "x"})), ErrorCode::InvalidField);
        assert_eq!(question(json!({"question": "  "}), 10).unwrap_err().code, ErrorCode::InvalidField);
    }

    fn answered(answer: Option<&str>) -> AskAnswer {
        let hit = sample_hit("src/main.rs");
        AskAnswer {
            question: "what runs?".into(),
            answer: answer.map(str::to_owned),
            citations: vec![hit.citation()],
            hits: vec![hit],
            indexing_complete: true,
            note: None,
        }
    }

    #[test]
    fn d148_d149_the_answer_is_the_text() {
        let output = render(&answered(Some("It runs. [src/main.rs:L3-L9]")));
        assert_eq!(output.content, ["It runs. [src/main.rs:L3-L9]"]);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        let keys: Vec<&String> = output.structured.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["question", "answer", "citations", "hits", "indexing_complete"]);
        assert_eq!(output.structured["citations"][0]["rel_path"], "src/main.rs");
    }

    #[test]
    fn d114_search_only_gives_hits_and_no_answer() {
        let output = render(&answered(None));
        assert_eq!(output.structured.get("answer"), None);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        assert!(output.content[0].contains("1. [src/main.rs:L3-L9] score 0.87"));
    }

    #[test]
    fn sentences_are_reported_with_rising_progress() {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = {
            let heard = Arc::clone(&heard);
            told(Arc::new(move |done, total, message| heard.lock().unwrap().push((done, total, message))))
        };
        sink("One. ");
        sink("Zwölf.");
        let expected = [(5.0, None, "One. ".to_owned()), (11.0, None, "Zwölf.".to_owned())];
        assert_eq!(*heard.lock().unwrap(), expected);
    }
}
