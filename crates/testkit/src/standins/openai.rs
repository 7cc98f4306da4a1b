//! The stand-in for OpenAI and what speaks like it. Mistral's has most of its answers from here.

use serde_json::{Value, json};

use super::content::{duration_ms, encoded, pieces, silence, tokens, vector};
use super::{Fault, Reply, Said, SeenRequest, Shared};

const DIMENSIONS: usize = 1536;

pub(super) fn answer(shared: &Shared, request: &SeenRequest, fault: Option<&Fault>) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models") => models(&["text-embedding-3-small", "gpt-4o-mini", "whisper-1", "tts-1"]),
        ("POST", "/v1/embeddings") => {
            let body = request.json();
            let wanted = body["dimensions"].as_u64().map_or(DIMENSIONS, |number| number as usize);
            embeddings(shared, &body, wanted, fault)
        }
        ("POST", "/v1/chat/completions") => chat(shared, &request.json()),
        ("POST", "/v1/audio/transcriptions") => transcription(shared, request),
        ("POST", "/v1/audio/speech") => {
            let body = request.json();
            shared.count(|counts| counts.tts_calls += 1);
            let format = body["response_format"].as_str().unwrap_or("mp3");
            let (kind, sound) = silence(body["input"].as_str().unwrap_or_default(), format);
            Reply::Bytes(kind, sound)
        }
        _ => shared.error(404, "Invalid URL"),
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

pub(super) fn models(names: &[&str]) -> Reply {
    let list: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({
                "id": name, "object": "model", "created": 1_700_000_000, "owned_by": "stand-in", "type": "base",
                "capabilities": { "completion_chat": true, "function_calling": false, "completion_fim": false, "fine_tuning": false },
            })
        })
        .collect();
    Reply::Json(200, json!({ "object": "list", "data": list }))
}

pub(super) fn embeddings(shared: &Shared, body: &Value, dimensions: usize, fault: Option<&Fault>) -> Reply {
    let texts: Vec<&str> = match &body["input"] {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if texts.is_empty() || !body["model"].is_string() {
        return shared.error(422, "model and input are required");
    }
    let most = shared.lock().most_inputs;
    if texts.len() > most {
        return shared.error(400, "Too many inputs in request, split into more batches.");
    }
    shared.count(|counts| {
        counts.embed_calls += 1;
        counts.inputs += texts.len();
    });
    let dimensions = if let Some(Fault::Dimensions(wrong)) = fault { *wrong } else { dimensions };
    let mut data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let embedding = encoded(&vector(text, dimensions), &body["encoding_format"]);
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    if fault == Some(&Fault::OneTooFew) {
        data.pop();
    }
    let used: usize = texts.iter().map(|text| tokens(text)).sum();
    Reply::Json(
        200,
        json!({
            "id": "standin", "object": "list", "model": body["model"], "data": data,
            "usage": { "prompt_tokens": used, "completion_tokens": 0, "total_tokens": used },
        }),
    )
}

pub(super) fn chat(shared: &Shared, body: &Value) -> Reply {
    if !body["messages"].is_array() || !body["model"].is_string() {
        return shared.error(422, "model and messages are required");
    }
    shared.count(|counts| counts.chat_calls += 1);
    let mut text = shared.chat_answer(body);
    let limit = [&body["max_tokens"], &body["max_completion_tokens"]].into_iter().find_map(Value::as_u64);
    let is_cut = limit.is_some_and(|limit| tokens(&text) as u64 > limit);
    if is_cut {
        text = text.chars().take(limit.unwrap_or(0) as usize * 4).collect();
    }
    let finish_reason = if is_cut { "length" } else { "stop" };
    let prompt: usize = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| tokens(message["content"].as_str().unwrap_or_default()))
        .sum();
    let used = json!({
        "prompt_tokens": prompt, "completion_tokens": tokens(&text), "total_tokens": prompt + tokens(&text),
    });
    let around = |object: &str, choices: Value, usage: Value| {
        json!({
            "id": "standin", "object": object, "created": 1_700_000_000, "model": body["model"],
            "choices": choices, "usage": usage,
        })
    };
    if body["stream"] != json!(true) {
        let message = json!({ "role": "assistant", "content": text });
        let choices = json!([{ "index": 0, "message": message, "finish_reason": finish_reason }]);
        return Reply::Json(200, around("chat.completion", choices, used));
    }
    let chunk = |delta: Value, finish: Value, usage: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        around("chat.completion.chunk", choices, usage).to_string()
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null, Value::Null)];
    for piece in pieces(&text) {
        events.push(chunk(json!({ "content": piece }), Value::Null, Value::Null));
    }
    let is_mistral = shared.service == super::Service::Mistral;
    let at_end = if is_mistral { used.clone() } else { Value::Null };
    events.push(chunk(json!({ "content": "" }), json!(finish_reason), at_end));
    if body["stream_options"]["include_usage"] == json!(true) {
        events.push(around("chat.completion.chunk", json!([]), used).to_string());
    }
    events.push("[DONE]".to_owned());
    Reply::Events(events)
}

fn transcription(shared: &Shared, request: &SeenRequest) -> Reply {
    let Some((said, length_ms)) = heard(shared, request) else {
        return shared.error(400, "file is required");
    };
    let text = whole(&said);
    let seconds = length_ms as f64 / 1000.0;
    match request.field("response_format").as_deref() {
        Some("verbose_json") => {
            let segments: Vec<Value> = said
                .iter()
                .enumerate()
                .map(|(id, said)| {
                    json!({
                        "id": id, "seek": 0, "start": said.start_ms as f64 / 1000.0, "end": said.end_ms as f64 / 1000.0,
                        "text": said.text, "tokens": [], "temperature": 0.0, "avg_logprob": -0.1,
                        "compression_ratio": 1.0, "no_speech_prob": 0.0,
                    })
                })
                .collect();
            Reply::Json(
                200,
                json!({
                    "task": "transcribe", "language": "english", "duration": seconds, "text": text,
                    "segments": segments, "usage": { "type": "duration", "seconds": seconds },
                }),
            )
        }
        _ => Reply::Json(200, json!({ "text": text, "usage": { "type": "duration", "seconds": seconds } })),
    }
}

/// What is said in the file of a form, and how long it is; counted.
pub(super) fn heard(shared: &Shared, request: &SeenRequest) -> Option<(Vec<Said>, u64)> {
    let file = request.file()?;
    let length_ms = duration_ms(&file.value);
    shared.count(|counts| {
        counts.stt_calls += 1;
        counts.audio_ms += length_ms;
    });
    Some((shared.said(&file.value), length_ms))
}

pub(super) fn whole(said: &[Said]) -> String {
    said.iter().map(|said| said.text.as_str()).collect::<Vec<_>>().join(" ")
}
