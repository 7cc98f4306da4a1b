//! The stand-in for Mistral.

use serde_json::{Value, json};

use super::content::data_url;
use super::openai::{chat, embeddings, heard, models, whole};
use super::{Fault, Reply, SeenPage, SeenRequest, Shared};

pub(super) fn answer(shared: &Shared, request: &SeenRequest, fault: Option<&Fault>) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models") => models(&[
            "mistral-embed",
            "codestral-embed",
            "mistral-small-latest",
            "mistral-ocr-latest",
            "voxtral-mini-latest",
        ]),
        ("POST", "/v1/embeddings") => {
            let body = request.json();
            let usual = if body["model"].as_str().is_some_and(|model| model.starts_with("codestral")) {
                1536
            } else {
                1024
            };
            let wanted = body["output_dimension"].as_u64().map_or(usual, |number| number as usize);
            embeddings(shared, &body, wanted, fault)
        }
        ("POST", "/v1/chat/completions") => {
            let body = request.json();
            if body.get("stream_options").is_some() {
                let detail = json!([{ "type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted" }]);
                return Reply::Json(422, json!({ "detail": detail }));
            }
            chat(shared, &body)
        }
        ("POST", "/v1/ocr") => ocr(shared, &request.json(), fault),
        ("POST", "/v1/audio/transcriptions") => transcription(shared, request),
        _ => shared.error(404, "no Route matched with those values"),
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    match status {
        422 => {
            json!({ "detail": [{ "type": "value_error", "loc": ["body"], "msg": message, "input": null }] })
        }
        401 | 403 => json!({ "message": message, "request_id": "standin" }),
        429 => json!({
            "object": "error", "message": message, "type": "rate_limited", "param": null, "code": "1300",
            "raw_status_code": 429,
        }),
        _ => json!({
            "object": "error", "message": message, "type": "invalid_request_error", "param": null, "code": null,
        }),
    }
}

fn ocr(shared: &Shared, body: &Value, fault: Option<&Fault>) -> Reply {
    let document = &body["document"];
    let url = match document["type"].as_str() {
        Some("document_url") => &document["document_url"],
        Some("image_url") if document["image_url"].is_object() => &document["image_url"]["url"],
        Some("image_url") => &document["image_url"],
        _ => return shared.error(422, "document is required"),
    };
    let Some((media_type, bytes)) = url.as_str().and_then(data_url) else {
        return shared.error(400, "Document could not be fetched");
    };
    let numbers = if media_type == "application/pdf" {
        page_numbers(&body["pages"]).unwrap_or_else(|| (0..pages_of(&bytes)).collect())
    } else {
        vec![0]
    };
    shared.count(|counts| {
        counts.ocr_calls += 1;
        counts.pages += numbers.len();
    });
    let mut pages: Vec<Value> = numbers
        .iter()
        .map(|index| {
            let seen = SeenPage { bytes: &bytes, media_type: &media_type, page: index + 1 };
            page(body, *index, &shared.page_text(seen))
        })
        .collect();
    if fault == Some(&Fault::OneTooFew) {
        pages.pop();
    }
    Reply::Json(
        200,
        json!({
            "pages": pages, "model": body["model"], "document_annotation": null,
            "usage_info": { "pages_processed": numbers.len(), "doc_size_bytes": bytes.len() },
        }),
    )
}

fn page(body: &Value, index: u32, text: &str) -> Value {
    let mut page = json!({
        "index": index, "markdown": text, "images": [],
        "dimensions": { "dpi": 200, "height": 2200, "width": 1700 },
    });
    if body["include_blocks"] == json!(true) {
        let block = |(number, text): (usize, &str)| {
            let top = 100 + 40 * number;
            json!({
                "type": "text", "content": text, "top_left_x": 100, "top_left_y": top,
                "bottom_right_x": 1600, "bottom_right_y": top + 32,
            })
        };
        page["blocks"] = text.lines().enumerate().map(block).collect();
    }
    if body["confidence_scores_granularity"].is_string() {
        page["confidence_scores"] =
            json!({ "average_page_confidence_score": 0.98, "minimum_page_confidence_score": 0.61 });
    }
    page
}

/// A list of numbers, or ranges such as `0-5,7`.
fn page_numbers(pages: &Value) -> Option<Vec<u32>> {
    match pages {
        Value::Array(list) => Some(list.iter().filter_map(|one| Some(one.as_u64()? as u32)).collect()),
        Value::String(text) => {
            let mut numbers = Vec::new();
            for part in text.split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                numbers.extend(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?);
            }
            Some(numbers)
        }
        _ => None,
    }
}

/// As far as a PDF says it in plain words.
fn pages_of(pdf: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(pdf).replace("/Type /Page", "/Type/Page");
    let all = text.matches("/Type/Page").count() - text.matches("/Type/Pages").count();
    all.max(1) as u32
}

fn transcription(shared: &Shared, request: &SeenRequest) -> Reply {
    let with_times = request.field("timestamp_granularities").is_some();
    if with_times && request.field("language").is_some_and(|language| language != "null") {
        return shared.error(400, "timestamp_granularities is not compatible with language");
    }
    let Some((said, length_ms)) = heard(shared, request) else {
        return shared.error(422, "file is required");
    };
    let segments: Vec<Value> = said
        .iter()
        .map(|said| {
            json!({
                "type": "transcription_segment", "text": said.text,
                "start": said.start_ms as f64 / 1000.0, "end": said.end_ms as f64 / 1000.0,
            })
        })
        .collect();
    Reply::Json(
        200,
        json!({
            "model": request.field("model"), "text": whole(&said), "language": null,
            "segments": if with_times { segments } else { Vec::new() },
            "usage": {
                "prompt_audio_seconds": length_ms.div_ceil(1000), "prompt_tokens": 4, "completion_tokens": 10, "total_tokens": 14,
            },
        }),
    )
}
