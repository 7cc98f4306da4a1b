//! `dir2mcp.transcribe_and_ask`: a question to a recording (dir2mcp specification, section 15.9).

use std::sync::Arc;
use std::time::Duration;

use engine::{AskRequest, Engine, TranscribeReport, TranscribeRequest};
use model::{ErrorCode, Failure, IndexChoice, PriceClass, Query};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::{not_blank, one_file};
use super::{ask, schema, transcribe};
use crate::arguments::{typed, whole};
use crate::service::ProgressSink;
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.transcribe_and_ask",
    title: "Transcribe and ask",
    description: "Answer a question from one audio file: it is transcribed first if there is no transcript of its present \
                  content, then the question is answered from the transcript alone, with citations by time. Needs a \
                  provider that transcribes (stt.provider, or `dir2mcp extras add speech`).",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(62 * 60),
    read_only: false,
    idempotent: true,
    price: PriceClass::Model,
};

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>, k: usize) -> Tool {
    let engine = Arc::clone(engine);
    let tool = Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let Arguments { rel_path, question, k: wanted } = typed(invocation.arguments)?;
            let request = TranscribeRequest {
                path: not_blank(rel_path, "rel_path")?,
                language: None,
                timestamps: true,
                again: false,
                progress: invocation.progress.clone().map(transcribe::told),
            };
            let text = not_blank(question, "question")?;
            let done = engine.transcribe(&invocation.call, request).await?;
            if !done.indexed {
                return Err(not_searchable(&done));
            }
            let query = Query {
                text,
                k: wanted.map_or(k, |k| k as usize),
                index: IndexChoice::Auto,
                filter: one_file(&done.rel_path),
            };
            let request = AskRequest {
                search: query.into(),
                answer: true,
                // The progress of the transcript was counted in milliseconds; it goes on from there.
                on_text: invocation.progress.map(|progress| {
                    let from = done.transcript.duration_ms as f64;
                    let counted: ProgressSink =
                        Arc::new(move |written, total, message| progress(from + written, total, message));
                    ask::told(counted)
                }),
            };
            let answer = engine.ask(&invocation.call, request).await?;
            Ok(with_transcript(ask::render(&answer), &done))
        }
    });
    tool.defaulting("k", json!(k))
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": schema::recording(),
            "question": { "type": "string", "minLength": 1, "description": "The question, in plain words." },
            "k": schema::k()
        },
        "required": ["rel_path", "question"]
    })
}

/// That of `ask`, and three fields more.
fn output() -> Value {
    let mut schema = ask::output();
    schema["properties"]["transcript_provider"] = json!({ "type": "string" });
    schema["properties"]["transcript_model"] = json!({ "type": "string" });
    schema["properties"]["transcribed"] =
        json!({ "type": "boolean", "description": "The transcript was made by this call." });
    schema
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    rel_path: String,
    question: String,
    #[serde(default, deserialize_with = "whole")]
    k: Option<u64>,
}

fn with_transcript(mut output: ToolOutput, done: &TranscribeReport) -> ToolOutput {
    let structured = Arc::make_mut(&mut output.structured);
    structured["transcript_provider"] = json!(done.transcript.provider);
    structured["transcript_model"] = json!(done.transcript.model);
    structured["transcribed"] = json!(done.transcribed);
    output
}

fn not_searchable(done: &TranscribeReport) -> Failure {
    let message = format!("{} has a transcript that cannot be searched here", done.rel_path);
    Failure::new(ErrorCode::IndexNotReady, message)
        .hint("Another process keeps the index: ask the server that runs for this directory, or try again in a moment.")
}

#[cfg(test)]
pub(super) mod tests {
    use model::Transcript;

    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        let _: Arguments = typed(sample(input)).unwrap();
    }

    #[test]
    fn d163_arguments() {
        let schema = Schema::compile(input()).unwrap();
        let refused = |arguments: Value| schema.check(&arguments, SPEC.out_of_range).unwrap_err().code;
        assert_eq!(refused(json!({"rel_path": "a.wav"})), ErrorCode::MissingField);
        assert_eq!(refused(json!({"rel_path": "a", "question": "q", "k": 0})), ErrorCode::InvalidRange);
        assert_eq!(
            refused(json!({"rel_path": "a", "question": "q", "mode": "answer"})),
            ErrorCode::InvalidField
        );
    }

    #[test]
    fn d164_the_answer_says_where_the_transcript_comes_from() {
        let structured =
            json!({"question": "q", "answer": "a", "citations": [], "hits": [], "indexing_complete": true});
        let done = TranscribeReport {
            rel_path: "a.wav".into(),
            transcript: Transcript {
                provider: "mistral".into(),
                model: "voxtral".into(),
                ..Transcript::default()
            },
            transcribed: true,
            indexed: true,
        };
        let output = with_transcript(ToolOutput::new("a".into(), structured), &done);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        assert_eq!(output.structured["transcript_model"], "voxtral");
        assert_eq!(output.structured["transcribed"], true);
    }
}
