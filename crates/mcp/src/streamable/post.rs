//! Posted messages: answered directly, outside of sessions, as a handshake, or within a session.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use rmcp::ServerHandler;
use serde_json::Value;

use super::accept::{self, Wants};
use super::answer::{self, AnswerBody, translate};
use super::endpoint::{self, EndpointState, Sender};
use super::message::{Message, PROTOCOL_VERSION, SESSION_ID};
use super::refusal::{Refused, TransportRefusal};
use super::sessions::{BadHandshake, Handshake, TableFull};
use crate::Direct;

impl<H> EndpointState<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    pub(super) async fn post<B>(
        &self,
        sender: &Sender<'_, H>,
        mut parts: Parts,
        body: B,
    ) -> Result<Response<AnswerBody>, Refused>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        accept::check_type(&parts.headers)?;
        let wants = accept::of_post(&parts.headers)?;
        let bytes = endpoint::read(body).await?;
        let mut message = Message::read(&bytes, &parts.headers)?;
        if message.stateless
            && let Some(answer) = self.answer_directly(sender, &parts.headers, &mut message).await
        {
            return answer.map_err(|refusal| Refused { refusal, id: message.id });
        }
        parts.headers.insert(ACCEPT, accept::BOTH);
        // Media types have no case, but the MCP transport compares this one as it is written.
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = if message.stateless {
            parts.headers.remove(SESSION_ID);
            self.post_stateless(sender, &message, parts, bytes, wants).await
        } else if let Some(handshake) = &message.handshake {
            parts.headers.remove(SESSION_ID);
            self.post_handshake(sender, handshake, parts, bytes).await
        } else {
            self.post_in_session(sender, &message, parts, bytes, wants).await
        };
        answer.map_err(|refusal| Refused { refusal, id: message.id })
    }

    /// The short way, for requests that need nothing of the MCP library's transport. Its answers are documents, which
    /// every client takes that came so far.
    async fn answer_directly(
        &self,
        sender: &Sender<'_, H>,
        headers: &HeaderMap,
        message: &mut Message,
    ) -> Option<Result<Response<AnswerBody>, TransportRefusal>> {
        let id = message.id.as_ref()?;
        let cancel = self.stopped.child_token();
        // A client that hangs up drops this future, and with it the work.
        let _stops_work = cancel.clone().drop_guard();
        let answer = sender.to.server.direct(headers, id, &mut message.body, &sender.caller, cancel)?;
        Some(answer.await.ok_or(TransportRefusal::Internal).map(answer::json_document))
    }

    async fn post_stateless(
        &self,
        sender: &Sender<'_, H>,
        message: &Message,
        parts: Parts,
        bytes: Bytes,
        wants: Wants,
    ) -> Result<Response<AnswerBody>, TransportRefusal> {
        let request = Request::from_parts(parts, Full::new(bytes));
        let response = sender.to.stateless.handle(request).await;
        let mut response = translate(response, wants).await?;
        if message.is("subscriptions/listen") {
            answer::mark_endless(&mut response);
        }
        Ok(response)
    }

    async fn post_handshake(
        &self,
        sender: &Sender<'_, H>,
        params: &Value,
        mut parts: Parts,
        bytes: Bytes,
    ) -> Result<Response<AnswerBody>, TransportRefusal> {
        if self.stopping.is_cancelled() {
            return Err(TransportRefusal::Stopping);
        }
        if let Err(refusal) = sender.to.check_version(&parts.headers) {
            // A header that only repeats the version of the body is no contradiction: the handshake offers another version.
            let asked = params.get("protocolVersion").and_then(Value::as_str);
            let said = parts.headers.remove(PROTOCOL_VERSION);
            if said.as_ref().map(HeaderValue::as_bytes) != asked.map(str::as_bytes) {
                return Err(refusal);
            }
        }
        let new_session = match Handshake::new(Some(params)) {
            Ok(handshake) => Some(
                self.sessions
                    .enter(&sender.owner, sender.to.number(), handshake)
                    .map_err(|TableFull { retry_after }| TransportRefusal::TooManySessions { retry_after })?,
            ),
            Err(BadHandshake::TooLong { limit }) => return Err(TransportRefusal::HandshakeTooLong { limit }),
            Err(BadHandshake::Unreadable) => None,
        };
        let request = Request::from_parts(parts, Full::new(bytes));
        let response = sender.to.stateless.handle(request).await;
        let (mut parts, body) = response.into_parts();
        let Ok(body) = body.collect().await;
        let body = body.to_bytes();
        let negotiated = parts.status.is_success()
            && serde_json::from_slice::<Value>(&body).is_ok_and(|answer| answer.get("result").is_some());
        if let Some(new_session) = new_session.filter(|_| negotiated) {
            parts.headers.insert(SESSION_ID, new_session.settle());
        }
        translate(Response::from_parts(parts, Full::new(body).boxed()), Wants::Either).await
    }

    async fn post_in_session(
        &self,
        sender: &Sender<'_, H>,
        message: &Message,
        mut parts: Parts,
        bytes: Bytes,
        wants: Wants,
    ) -> Result<Response<AnswerBody>, TransportRefusal> {
        let says_ready = message.is("notifications/initialized");
        let visit = self.visit(sender, &parts.headers, !says_ready)?;
        sender.to.check_version(&parts.headers)?;
        // Waking a session replays this notification; it is no reason to wake one.
        if says_ready {
            return Ok(answer::status(StatusCode::ACCEPTED));
        }
        parts.headers.insert(SESSION_ID, visit.tag());
        let request = Request::from_parts(parts, Full::new(bytes));
        let response = sender.to.serve_in_session(&visit, request).await?;
        Ok(translate(response, wants).await?.map(|body| body.holding(visit)))
    }
}
