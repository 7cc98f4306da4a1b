//! Questions, answered while the answer is being made: the hits first, then sentence by sentence.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contracts::{CallContext, CallRefused, ToolResult};
use dir2mcp_http::Refusal;
use futures::stream::unfold;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};
use model::citation::citation_text;
use model::{Caller, ErrorCode, Failure, Span};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ConsoleParts;
use crate::answer::{refusal, refused, spell_out};
use crate::source::Asker;

/// A sign of life, for whatever lies between.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// How the first line of an answer begins that no model wrote.
const EXTRACTIVE: &str = "Extractive answer";

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Request<Body>) -> Response {
    let asker = Asker::of(request.extensions());
    let Ok(body) = to_bytes(request.into_body(), usize::MAX).await else {
        return Refusal::body_broken().into_response();
    };
    let Ok(Value::Object(mut arguments)) = serde_json::from_slice(&body) else {
        return refusal(&refused("the body must be a JSON object with a question")).into_response();
    };
    if arguments.remove("mode").is_some() || !arguments.get("question").is_some_and(Value::is_string) {
        return refusal(&refused("the body must have a question, and no mode")).into_response();
    }
    let (pieces, heard) = unbounded_channel();
    let cancel = CancellationToken::new();
    let answering = Answering { state, caller: asker.caller, cancel: cancel.clone(), pieces };
    // Ends by itself once it is cancelled, which happens when the stream is dropped: the client is gone.
    tokio::spawn(answering.run(arguments));
    let following = Following { heard, _cancels: cancel.drop_guard() };
    let stream = unfold(following, |mut following| async move {
        let text = following.next().await?;
        Some((Ok::<Bytes, Infallible>(text.into()), following))
    });
    let mut response = Response::new(Body::from_stream(stream));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Following {
    heard: UnboundedReceiver<String>,
    _cancels: DropGuard,
}

impl Following {
    async fn next(&mut self) -> Option<String> {
        match tokio::time::timeout(COMMENT_EVERY, self.heard.recv()).await {
            Ok(piece) => piece,
            Err(_) => Some(":\n\n".to_owned()),
        }
    }
}

/// One question on its way.
struct Answering {
    state: Arc<ConsoleParts>,
    caller: Caller,
    cancel: CancellationToken,
    /// An answer is bounded by what a model may write.
    pieces: UnboundedSender<String>,
}

impl Answering {
    async fn run(self, arguments: Map<String, Value>) {
        let started = Instant::now();
        if let Err(failure) = self.answer(arguments, started).await {
            let row = failure.code.row();
            let message = contracts::failure_sentence(&failure);
            let code = failure.code.as_str();
            self.tell("error", json!({ "code": code, "message": message, "retryable": row.retryable }));
        }
    }

    async fn answer(&self, arguments: Map<String, Value>, started: Instant) -> Result<(), Failure> {
        let mut search = arguments.clone();
        if let Some(question) = search.remove("question") {
            search.insert("query".into(), question);
        }
        let found = self.call("dir2mcp.search", search, false).await?.structured;
        self.tell("hits", json!({ "hits": found["hits"], "indexing_complete": found["indexing_complete"] }));
        let result = self.call("dir2mcp.ask", arguments, true).await?;
        let answered = &result.structured;
        let citations = answered["citations"].as_array().cloned().unwrap_or_default();
        for (at, citation) in citations.iter().enumerate() {
            let mut told = citation.clone();
            told["n"] = json!(at + 1);
            told["text"] = json!(citation_of(citation));
            self.tell("citation", told);
        }
        let answer = answered["answer"].as_str().unwrap_or_default();
        let said = result.content.first().map_or("", String::as_str);
        // What the tool says behind its answer: that indexing still runs, or that a provider failed.
        let note = said.strip_prefix(answer).map(str::trim).filter(|note| !note.is_empty());
        self.tell(
            "done",
            json!({
                "answer": answer,
                "citations": citations,
                "hits": answered["hits"],
                "extractive": self.state.chat.is_none() || answer.starts_with(EXTRACTIVE),
                "indexing_complete": answered["indexing_complete"],
                "note": note,
                "took_ms": started.elapsed().as_millis() as u64,
            }),
        );
        Ok(())
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        follows: bool,
    ) -> Result<ToolResult, Failure> {
        let Some(tools) = &self.state.folder_tools else {
            return Err(Failure::new(ErrorCode::NotFound, "no folder is served"));
        };
        let pieces = self.pieces.clone();
        let progress: contracts::ProgressSink = Arc::new(move |_, _, sentences: String| {
            let _ = pieces.send(event("delta", json!({ "text": sentences })));
        });
        let context = CallContext {
            caller: self.caller.clone(),
            cancel: self.cancel.clone(),
            progress: follows.then_some(progress),
            request_id: None,
        };
        match tools.call_typed(tool, arguments, context).await {
            Ok(done) => done,
            Err(CallRefused::BadArguments(message)) => Err(refused(message)),
            Err(CallRefused::UnknownTool(name)) => {
                Err(Failure::new(ErrorCode::InternalError, format!("there is no tool {name}")))
            }
        }
    }

    fn tell(&self, name: &str, data: Value) {
        // Nobody listens any more: then the question ends soon.
        let _ = self.pieces.send(event(name, data));
    }
}

fn event(name: &str, mut data: Value) -> String {
    spell_out(&mut data);
    format!("event: {name}\ndata: {data}\n\n")
}

/// A citation as the answer writes it.
fn citation_of(citation: &Value) -> Option<String> {
    let number = |name: &str| citation["span"][name].as_u64();
    let short = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    let span = match citation["span"]["kind"].as_str()? {
        "lines" => Span::Lines { start_line: short("start_line")?, end_line: short("end_line")? },
        "page" => Span::Page { page: short("page")? },
        _ => Span::Time { start_ms: number("start_ms")?, end_ms: number("end_ms")? },
    };
    Some(citation_text(citation["rel_path"].as_str()?, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_written_as_in_answers() {
        let lines =
            json!({ "rel_path": "a.md", "span": { "kind": "lines", "start_line": 1, "end_line": 3 } });
        assert_eq!(citation_of(&lines).as_deref(), Some("[a.md:L1-L3]"));
        assert_eq!(citation_of(&json!({ "rel_path": "a", "span": {} })), None);
    }
}
