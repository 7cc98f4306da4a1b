//! `dir2mcp.ask_audio`: the answer of `ask`, and a recording of it (dir2mcp specification, section 15.10).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{AskRequest, Engine, SpeakRequest};
use model::citation::citation_text;
use model::{Citation, ErrorCode, Failure, Filter, IndexChoice, PriceClass, Query, SpeechFormat};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask;
use super::filter::not_blank;
use crate::arguments::typed;
use crate::service::SpokenContent;
use crate::text::failure_sentence;
use crate::tool::{ContractFrame, Tool, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.ask_audio",
    title: "Ask, and hear the answer",
    description: "Answer a question from the indexed directory as ask does, and read the answer aloud: the result has the \
                  text with its citations and a recording of it. Needs a provider that reads aloud (tts.provider).",
    input,
    output: ask::output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(200),
    read_only: true,
    idempotent: true,
    price: PriceClass::Model,
};

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>, k: usize) -> Tool {
    let engine = Arc::clone(engine);
    Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let asked = question(invocation.arguments, k)?;
            // Before anything is paid for.
            engine.speaker()?;
            let request = AskRequest {
                search: asked.query.into(),
                answer: true,
                on_text: invocation.progress.map(ask::told),
            };
            let answer = engine.ask(&invocation.call, request).await?;
            let mut output = ask::render(&answer);
            let text = spoken(answer.answer.as_deref().unwrap_or(&output.content[0]), &answer.citations);
            let request = SpeakRequest { text, voice: asked.voice, format: asked.format };
            match engine.speak(&invocation.call, request).await {
                Ok(sound) => output.audio.push(SpokenContent {
                    data: STANDARD.encode(sound),
                    media_type: asked.format.media_type(),
                }),
                // The call has ended; its answer has no use.
                Err(failure) if matches!(failure.code, ErrorCode::Cancelled | ErrorCode::Timeout) => {
                    return Err(failure);
                }
                // The answer is there and was paid for: a voice that fails does not take it away.
                Err(failure) => output.content.push(format!(
                    "The answer could not be read aloud: {}: {}",
                    failure.code,
                    failure_sentence(&failure)
                )),
            }
            Ok(output)
        }
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "question": { "type": "string", "minLength": 1, "description": "The question, in plain words." },
            "voice_id": {
                "type": "string",
                "description": "A voice of the provider, by the provider's own name for it; else the configured one."
            },
            "format": {
                "type": "string", "enum": ["mp3", "wav"], "default": "mp3",
                "description": "How the recording is encoded."
            }
        },
        "required": ["question"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    voice_id: Option<String>,
    format: Option<String>,
}

struct AskedAloud {
    query: Query,
    voice: Option<String>,
    format: SpeechFormat,
}

fn question(arguments: Value, k: usize) -> Result<AskedAloud, Failure> {
    let arguments: Arguments = typed(arguments)?;
    let query = Query {
        text: not_blank(arguments.question, "question")?,
        k,
        index: IndexChoice::Auto,
        filter: Filter::default(),
    };
    let format = match arguments.format.as_deref() {
        Some("wav") => SpeechFormat::Wav,
        _ => SpeechFormat::Mp3,
    };
    let voice = arguments.voice_id.filter(|voice| !voice.trim().is_empty());
    Ok(AskedAloud { query, voice, format })
}

/// An answer as it is read: without citations and the signs of quotations, which nobody wants to hear.
fn spoken(answer: &str, citations: &[Citation]) -> String {
    let mut text = answer.to_owned();
    for citation in citations {
        text = text.replace(&citation_text(&citation.rel_path, citation.span), "");
    }
    let lines = text.lines().map(|line| line.trim_start_matches(['>', '#', '-', '*', '|', ' ']).trim());
    let lines: Vec<String> =
        lines.map(|line| line.replace(" .", ".").replace(['|', '*', '`'], " ")).collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    words.join(" ")
}

#[cfg(test)]
pub(super) mod tests {
    use model::{ChunkId, Span};

    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        question(sample(input), 10).unwrap();
    }

    #[test]
    fn d165_arguments_and_their_defaults() {
        let plain = question(json!({"question": "why?"}), 7).unwrap();
        assert_eq!((plain.query.k, plain.voice, plain.format), (7, None, SpeechFormat::Mp3));
        let full = question(json!({"question": "why?", "voice_id": "anna", "format": "wav"}), 7).unwrap();
        assert_eq!((full.voice.as_deref(), full.format), (Some("anna"), SpeechFormat::Wav));
        let schema = Schema::compile(input()).unwrap();
        let refused = |arguments: Value| schema.check(&arguments, SPEC.out_of_range).unwrap_err().code;
        assert_eq!(refused(json!({"question": "x", "format": "ogg"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"question": "x", "k": 3})), ErrorCode::InvalidField);
    }

    #[test]
    fn citations_and_marks_are_not_read_aloud() {
        let span = Span::Lines { start_line: 1, end_line: 9 };
        let citation = Citation { chunk_id: ChunkId(1), rel_path: "a.md".into(), span };
        let answer =
            "Extractive answer:\n\n> Ten days **each**.\n[a.md:L1-L9] Leave\n\nIt is so [a.md:L1-L9].";
        assert_eq!(spoken(answer, &[citation]), "Extractive answer: Ten days each . Leave It is so.");
    }
}
