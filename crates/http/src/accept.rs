//! Which form of answer a client takes: one JSON document, or a stream of events.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;

use crate::errors::Refusal;

/// What the MCP transport wants to read in `Accept`.
pub(crate) const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Either,
    /// The client cannot read events. The protocol asks it to, the dir2mcp specification (section 10.2) only
    /// recommends it, and plain HTTP tools do not: it gets the final message as a document.
    Json,
}

pub(crate) fn of_post(headers: &HeaderMap) -> Result<Wants, Refusal> {
    if !headers.contains_key(ACCEPT) {
        return Ok(Wants::Either);
    }
    match (admits(headers, "application/json"), admits(headers, "text/event-stream")) {
        (true, true) => Ok(Wants::Either),
        (true, false) => Ok(Wants::Json),
        (false, _) => Err(Refusal::NotAcceptable),
    }
}

pub(crate) fn of_get(headers: &HeaderMap) -> Result<(), Refusal> {
    if admits(headers, "text/event-stream") { Ok(()) } else { Err(Refusal::NotAcceptable) }
}

pub(crate) fn is(response: &HeaderMap, media_type: &str) -> bool {
    response.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(media_type.as_bytes()))
}

/// Waits for the end of an event stream and keeps its last message, which is the answer to the request.
pub(crate) async fn last_message(
    response: Response<BoxBody<Bytes, std::convert::Infallible>>,
) -> Option<Response<Bytes>> {
    let (mut parts, body) = response.into_parts();
    let Ok(events) = body.collect().await;
    let events = events.to_bytes();
    let last = events
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"data:"))
        .map(|data| data.trim_ascii())
        .rfind(|data| !data.is_empty())?;
    let message = events.slice_ref(last);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove("x-accel-buffering");
    Some(Response::from_parts(parts, message))
}

fn admits(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = wanted.split('/').next().unwrap_or_default();
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            let covers = media == "*/*"
                || media.eq_ignore_ascii_case(wanted)
                || media.strip_suffix("/*").is_some_and(|m| m.eq_ignore_ascii_case(kind));
            covers && !refused
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(accept: &str) -> Result<Wants, Refusal> {
        of_post(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())]))
    }

    #[test]
    fn d116_accept_is_a_recommendation() {
        assert_eq!(of_post(&HeaderMap::new()), Ok(Wants::Either));
        for either in
            ["*/*", "application/json, text/event-stream", "text/*;q=0.1,application/*", "*/*;q=0.8"]
        {
            assert_eq!(post(either), Ok(Wants::Either), "{either}");
        }
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/json, text/html"] {
            assert_eq!(post(json), Ok(Wants::Json), "{json}");
        }
        for neither in ["text/html", "text/event-stream", "", "application/json;q=0"] {
            assert_eq!(post(neither), Err(Refusal::NotAcceptable), "{neither}");
        }
    }
}
