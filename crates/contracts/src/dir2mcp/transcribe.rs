//! `dir2mcp.transcribe`: what is said in a recording, kept and searchable (dir2mcp specification, section 15.7).

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, TranscribeProgress, TranscribeReport, TranscribeRequest};
use model::{ErrorCode, Failure, PriceClass, TranscriptSegment};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::not_blank;
use super::schema;
use crate::arguments::typed;
use crate::service::ProgressSink;
use crate::text::{Summary, one_line};
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.transcribe",
    title: "Transcribe",
    description: "Write down what is said in an audio file of the indexed directory, keep the transcript and make it \
                  searchable. Returns the transcript that is kept unless retranscribe is true. Needs a provider that \
                  transcribes (stt.provider, or `dir2mcp extras add speech`).",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: TIMEOUT,
    read_only: false,
    idempotent: true,
    price: PriceClass::Model,
};

/// An hour of speech takes the local model some twelve minutes.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60 * 60);

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>) -> Tool {
    let engine = Arc::clone(engine);
    Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let request = request(invocation.arguments, invocation.progress)?;
            let done = engine.transcribe(&invocation.call, request).await?;
            Ok(render(&done))
        }
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": schema::recording(),
            "language": {
                "type": "string",
                "description": "Language of the recording, such as en; the model finds out without it."
            },
            "timestamps": {
                "type": "boolean", "default": true,
                "description": "Ask for times, so that passages are cited by time."
            },
            "retranscribe": {
                "type": "boolean", "default": false,
                "description": "Transcribe again where there is a transcript already."
            }
        },
        "required": ["rel_path"]
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": { "type": "string" },
            "provider": { "type": "string", "enum": &schema::STT_PROVIDERS[..5] },
            "model": { "type": "string" },
            "indexed": { "type": "boolean" },
            "segments": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "start_ms": { "type": "integer" },
                        "end_ms": { "type": "integer" },
                        "text": { "type": "string" }
                    },
                    "required": ["start_ms", "end_ms", "text"]
                }
            }
        },
        "required": ["rel_path", "provider", "model", "indexed"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    rel_path: String,
    language: Option<String>,
    timestamps: Option<bool>,
    retranscribe: Option<bool>,
}

fn request(arguments: Value, progress: Option<ProgressSink>) -> Result<TranscribeRequest, Failure> {
    let arguments: Arguments = typed(arguments)?;
    Ok(TranscribeRequest {
        path: not_blank(arguments.rel_path, "rel_path")?,
        language: arguments.language.map(|language| language.trim().to_owned()).filter(|l| !l.is_empty()),
        timestamps: arguments.timestamps.unwrap_or(true),
        again: arguments.retranscribe.unwrap_or(false),
        progress: progress.map(told),
    })
}

/// Reports how much of the recording is done.
pub(super) fn told(progress: ProgressSink) -> TranscribeProgress {
    Arc::new(move |done_ms: u64| {
        let seconds = done_ms / 1000;
        progress(done_ms as f64, None, format!("transcribed {:02}:{:02}", seconds / 60, seconds % 60));
    })
}

fn render(done: &TranscribeReport) -> ToolOutput {
    let transcript = &done.transcript;
    let how = if done.transcribed { "transcribed" } else { "already transcribed" };
    let found = if done.indexed { "searchable" } else { "not searchable yet" };
    let (path, provider) = (one_line(&done.rel_path), schema::stt_provider(&transcript.provider));
    let mut summary = Summary::new(format!(
        "{path}: {how} by {provider} ({}), {} segments, {found}.",
        one_line(&transcript.model),
        transcript.segments.len()
    ));
    for segment in &transcript.segments {
        summary.entry(&line(segment, transcript.has_times));
    }
    if summary.left_out() > 0 {
        let left_out = summary.left_out();
        summary.line(&format!("… and {left_out} more segments, in the structured result."));
    }
    let segments: Vec<Value> = transcript
        .segments
        .iter()
        .map(
            |segment| json!({ "start_ms": segment.start_ms, "end_ms": segment.end_ms, "text": segment.text }),
        )
        .collect();
    ToolOutput::new(
        summary.finish(),
        json!({
            "rel_path": done.rel_path,
            "provider": provider,
            "model": transcript.model,
            "indexed": done.indexed,
            "segments": segments,
        }),
    )
}

fn line(segment: &TranscriptSegment, has_times: bool) -> String {
    let text = one_line(segment.text.trim());
    if !has_times {
        return text;
    }
    let seconds = segment.start_ms / 1000;
    format!("[{:02}:{:02}] {text}", seconds / 60, seconds % 60)
}

#[cfg(test)]
pub(super) mod tests {
    use model::Transcript;

    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        request(sample(input), None).unwrap();
    }

    #[test]
    fn d159_arguments_and_their_defaults() {
        let plain = request(json!({"rel_path": "a.wav"}), None).unwrap();
        assert_eq!(
            (plain.path.as_str(), plain.language, plain.timestamps, plain.again),
            ("a.wav", None, true, false)
        );
        let full = json!({"rel_path": "a.wav", "language": "de", "timestamps": false, "retranscribe": true});
        let full = request(full, None).unwrap();
        assert_eq!((full.language.as_deref(), full.timestamps, full.again), (Some("de"), false, true));
        assert_eq!(
            request(json!({"rel_path": " "}), None).err().map(|f| f.code),
            Some(ErrorCode::InvalidField)
        );
    }

    #[test]
    fn d160_the_transcript_is_returned_with_its_provider() {
        let transcript = Transcript {
            provider: "whisper-base".into(),
            model: "base-q8".into(),
            language: Some("en".into()),
            duration_ms: 70_000,
            has_times: true,
            segments: vec![TranscriptSegment {
                start_ms: 61_000,
                end_ms: 70_000,
                text: " The ferry leaves at noon.".into(),
                speaker: None,
            }],
        };
        let done =
            TranscribeReport { rel_path: "talk.wav".into(), transcript, transcribed: true, indexed: true };
        let output = render(&done);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        assert_eq!(output.structured["provider"], "local");
        assert!(output.content[0].contains("\n[01:01] The ferry leaves at noon."), "{}", output.content[0]);
    }
}
