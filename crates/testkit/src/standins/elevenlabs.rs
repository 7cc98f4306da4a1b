//! The stand-in for ElevenLabs.

use serde_json::{Value, json};

use super::content::silence;
use super::openai::{heard, whole};
use super::{Reply, Said, SeenRequest, Shared};

pub(super) fn answer(shared: &Shared, request: &SeenRequest) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models") => Reply::Json(
            200,
            json!([{ "model_id": "eleven_multilingual_v2", "name": "Eleven Multilingual v2" }]),
        ),
        ("POST", "/v1/speech-to-text") => speech_to_text(shared, request),
        ("POST", path) if path.strip_prefix("/v1/text-to-speech/").is_some_and(|voice| !voice.is_empty()) => {
            let body = request.json();
            let Some(text) = body["text"].as_str() else { return shared.error(422, "text is required") };
            shared.count(|counts| counts.tts_calls += 1);
            let format = request.query.split('&').find_map(|pair| pair.strip_prefix("output_format="));
            let (kind, sound) = silence(text, format.unwrap_or("mp3_44100_128"));
            Reply::Bytes(kind, sound)
        }
        _ => shared.error(404, "Not Found"),
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    match status {
        401 => json!({ "detail": { "status": "invalid_api_key", "message": message } }),
        429 => json!({ "detail": { "status": "too_many_concurrent_requests", "message": message } }),
        422 => json!({ "detail": [{ "type": "missing", "loc": ["body"], "msg": message, "input": null }] }),
        _ => json!({ "detail": { "status": "error", "message": message } }),
    }
}

fn speech_to_text(shared: &Shared, request: &SeenRequest) -> Reply {
    if request.field("model_id").is_none() {
        return shared.error(422, "model_id is required");
    }
    let Some((said, length_ms)) = heard(shared, request) else {
        return shared.error(400, "file is required");
    };
    let with_times = request.field("timestamps_granularity").as_deref() != Some("none");
    let words: Vec<Value> = if with_times { said.iter().flat_map(words).collect() } else { Vec::new() };
    Reply::Json(
        200,
        json!({
            "language_code": "eng", "language_probability": 0.99, "text": whole(&said), "words": words,
            "transcription_id": "standin", "audio_duration_secs": length_ms as f64 / 1000.0,
        }),
    )
}

/// The words of a sentence, spread evenly over its time, and the spaces between them.
fn words(said: &Said) -> Vec<Value> {
    let texts: Vec<&str> = said.text.split_whitespace().collect();
    let each = said.end_ms.saturating_sub(said.start_ms) as f64 / 1000.0 / texts.len().max(1) as f64;
    let mut words = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let start = said.start_ms as f64 / 1000.0 + each * number as f64;
        let end = start + each;
        let of = |text: &str, kind: &str, start: f64, end: f64| json!({ "text": text, "start": start, "end": end, "type": kind, "logprob": -0.1, "speaker_id": null });
        words.push(of(text, "word", start, end));
        words.push(of(" ", "spacing", end, end));
    }
    words
}
