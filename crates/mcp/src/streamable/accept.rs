//! The media types of a message: what the client sends, and which form of answer it takes, one JSON document or a stream
//! of events.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;

use super::refusal::TransportRefusal;

/// What the MCP transport wants to read in `Accept`.
pub(super) const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Either,
    /// The client cannot read events. The protocol asks it to, the dir2mcp specification (section 10.2) only
    /// recommends it, and plain HTTP tools do not: it gets the final message as a document.
    Json,
}

/// A cross-site form cannot send `application/json`, so this is also a defence.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), TransportRefusal> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return Err(TransportRefusal::NotJson) };
    let value = value.to_str().map_err(|_| TransportRefusal::NotJson)?;
    let media = value.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") || headers.contains_key(CONTENT_ENCODING) {
        return Err(TransportRefusal::NotJson);
    }
    Ok(())
}

pub(super) fn of_post(headers: &HeaderMap) -> Result<Wants, TransportRefusal> {
    if !headers.contains_key(ACCEPT) {
        return Ok(Wants::Either);
    }
    match (admits(headers, "application/json"), admits(headers, "text/event-stream")) {
        (true, true) => Ok(Wants::Either),
        (true, false) => Ok(Wants::Json),
        (false, _) => Err(TransportRefusal::NotAcceptable),
    }
}

pub(super) fn of_get(headers: &HeaderMap) -> Result<(), TransportRefusal> {
    if admits(headers, "text/event-stream") { Ok(()) } else { Err(TransportRefusal::NotAcceptable) }
}

pub(super) fn is(response: &HeaderMap, media_type: &str) -> bool {
    response.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(media_type.as_bytes()))
}

/// Waits for the end of an event stream and keeps its last message, which is the answer to the request.
pub(super) async fn last_message(
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

    fn post(accept: &str) -> Result<Wants, TransportRefusal> {
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
            assert_eq!(post(neither), Err(TransportRefusal::NotAcceptable), "{neither}");
        }
    }
    #[test]
    fn content_types() {
        let check = |value: &str| {
            check_type(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(value).unwrap())]))
        };
        for good in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON ;x=y"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "text/plain", "application/jsonp", "application/json-seq", "text/json", "application"]
        {
            assert_eq!(check(bad), Err(TransportRefusal::NotJson), "{bad}");
        }
        assert_eq!(check_type(&HeaderMap::new()), Err(TransportRefusal::NotJson));
    }
}
