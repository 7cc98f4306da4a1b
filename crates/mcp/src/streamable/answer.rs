//! The body of an answer, and the session that it keeps in use until it is out.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};

use super::accept::{self, Wants};
use super::refusal::TransportRefusal;
use super::sessions::SessionVisit;

/// A document, or a stream of events.
pub struct AnswerBody {
    inner: AnswerContent,
    /// The session is in use until its answer is out.
    visit: Option<SessionVisit>,
}

enum AnswerContent {
    Document(Full<Bytes>),
    Stream(BoxBody<Bytes, Infallible>),
}

/// Marks the response whose stream ends only with its client, its session or the server.
#[derive(Clone, Copy)]
struct EndlessStream;

/// Whether the response with these extensions is a stream that ends only with its client, its session or the server. It
/// does not count as work, and a server that stops has to end it.
pub fn is_endless(extensions: &Extensions) -> bool {
    extensions.get::<EndlessStream>().is_some()
}

pub(super) fn mark_endless(response: &mut Response<AnswerBody>) {
    response.extensions_mut().insert(EndlessStream);
}

impl AnswerBody {
    pub(super) fn document(bytes: Bytes) -> AnswerBody {
        AnswerBody { inner: AnswerContent::Document(Full::new(bytes)), visit: None }
    }

    pub(super) fn holding(mut self, visit: SessionVisit) -> AnswerBody {
        self.visit = Some(visit);
        self
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.inner {
            AnswerContent::Document(document) => Pin::new(document).poll_frame(context),
            AnswerContent::Stream(stream) => Pin::new(stream).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            AnswerContent::Document(document) => document.is_end_stream(),
            AnswerContent::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            AnswerContent::Document(document) => document.size_hint(),
            AnswerContent::Stream(stream) => stream.size_hint(),
        }
    }
}

pub(super) fn status(status: StatusCode) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::document(Bytes::new()));
    *response.status_mut() = status;
    response
}

pub(super) fn json_document(bytes: Bytes) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::document(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The library's answers as ours: its plain-text refusals become JSON-RPC errors, and event streams become documents
/// for clients that cannot read them.
pub(super) async fn translate(
    response: Response<BoxBody<Bytes, Infallible>>,
    wants: Wants,
) -> Result<Response<AnswerBody>, TransportRefusal> {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if is_error && !accept::is(response.headers(), "application/json") {
        let Ok(text) = response.into_body().collect().await;
        return Err(refusal(status, &text.to_bytes()));
    }
    if wants == Wants::Json && accept::is(response.headers(), "text/event-stream") {
        let document = accept::last_message(response).await.ok_or(TransportRefusal::Internal)?;
        return Ok(document.map(AnswerBody::document));
    }
    Ok(response.map(|stream| AnswerBody { inner: AnswerContent::Stream(stream), visit: None }))
}

fn refusal(status: StatusCode, text: &[u8]) -> TransportRefusal {
    match status {
        StatusCode::BAD_REQUEST => {
            let text = String::from_utf8_lossy(text);
            let detail = text.strip_prefix("Bad Request: ").unwrap_or(&text);
            TransportRefusal::BadField { detail: detail.to_owned().into() }
        }
        StatusCode::NOT_FOUND => TransportRefusal::SessionNotFound { expired: None },
        StatusCode::METHOD_NOT_ALLOWED => TransportRefusal::MethodNotAllowed { allow: "POST" },
        StatusCode::NOT_ACCEPTABLE => TransportRefusal::NotAcceptable,
        // The type was checked before; what is left is a body that is no message of this protocol.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            TransportRefusal::BadField { detail: "the body is not a message of this protocol".into() }
        }
        _ => TransportRefusal::Internal,
    }
}
