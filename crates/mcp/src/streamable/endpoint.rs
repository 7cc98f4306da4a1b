//! An endpoint: the MCP servers at one path, as a service over HTTP requests.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use model::{Caller, Identity};
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::accept::{self, Wants};
use super::answer::{self, AnswerBody};
use super::message::{self, PROTOCOL_VERSION, SESSION_ID};
use super::refusal::{Refused, TransportRefusal};
use super::sessions::{Gone, NotAwake, OpenSessions, SessionAccess, SessionVisit};
use super::{METHODS, Streamable};
use crate::Direct;

const NO_SESSION_ID: TransportRefusal =
    TransportRefusal::MissingField { detail: "the header MCP-Session-Id is missing" };

/// A server at a path: the usual one, or the one that a parameter of the URL's query asks for.
pub struct Variant<H> {
    /// Such as `names=underscore`; `None` for the usual server.
    pub query: Option<&'static str>,
    pub server: H,
}

/// Cheap to clone.
pub struct Endpoint<H>(Arc<EndpointState<H>>);

pub(super) struct EndpointState<H> {
    servers: Vec<ServedEndpoint<H>>,
    headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) sessions: Arc<OpenSessions>,
    pub(super) stopping: CancellationToken,
    pub(super) stopped: CancellationToken,
}

/// A server, ready to serve.
pub(super) struct ServedEndpoint<H> {
    /// Which of all servers it is: sessions belong to one.
    number: usize,
    query: Option<&'static str>,
    pub(super) server: H,
    /// Serves requests within sessions.
    in_sessions: StreamableHttpService<H, SessionAccess>,
    /// Serves requests that speak for themselves, and handshakes.
    pub(super) stateless: StreamableHttpService<H, SessionAccess>,
    versions: Vec<String>,
}

/// A request's caller and the server that it asks.
pub(super) struct Sender<'a, H> {
    pub(super) caller: Caller,
    pub(super) owner: Identity,
    pub(super) to: &'a ServedEndpoint<H>,
}

impl<H> Clone for Endpoint<H> {
    fn clone(&self) -> Endpoint<H> {
        Endpoint(Arc::clone(&self.0))
    }
}

impl<H> Endpoint<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    pub(super) fn new(
        shared: &Streamable,
        variants: Vec<Variant<H>>,
        headers: Vec<(&'static str, &'static str)>,
    ) -> Endpoint<H> {
        let serve = |Variant { query, server }| ServedEndpoint::new(shared, query, server);
        let own = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        Endpoint(Arc::new(EndpointState {
            servers: variants.into_iter().map(serve).collect(),
            headers: headers.into_iter().map(own).collect(),
            sessions: Arc::clone(&shared.sessions),
            stopping: shared.stopping.clone(),
            stopped: shared.stopped.clone(),
        }))
    }
}

impl<H, B> tower_service::Service<Request<B>> for Endpoint<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { Ok(inner.handle(request).await) })
    }
}

impl<H> EndpointState<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    async fn handle<B>(&self, request: Request<B>) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        let (parts, body) = request.into_parts();
        match self.dispatch(parts, body).await {
            Ok(mut response) => {
                for (name, value) in &self.headers {
                    response.headers_mut().insert(name, value.clone());
                }
                response
            }
            Err(refused) => refused.respond().map(AnswerBody::document),
        }
    }

    async fn dispatch<B>(&self, parts: Parts, body: B) -> Result<Response<AnswerBody>, Refused>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        message::check_headers(&parts.headers)?;
        let sender = self.sender(&parts)?;
        match parts.method {
            Method::POST => self.post(&sender, parts, body).await,
            Method::GET => Ok(self.get(&sender, parts).await?),
            Method::DELETE => Ok(self.delete(&sender, &parts.headers)?),
            _ => Err(TransportRefusal::MethodNotAllowed { allow: METHODS }.into()),
        }
    }

    /// The variant that the query asks for, else the usual server.
    fn sender(&self, parts: &Parts) -> Result<Sender<'_, H>, TransportRefusal> {
        let query = parts.uri.query();
        let asked = |variant: &str| query.is_some_and(|query| query.split('&').any(|part| part == variant));
        let by_query = |served: &&ServedEndpoint<H>| served.query.is_some_and(asked);
        let to = self
            .servers
            .iter()
            .find(by_query)
            .or_else(|| self.servers.iter().find(|served| served.query.is_none()))
            .ok_or(TransportRefusal::Internal)?;
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_else(Caller::unknown);
        let owner = caller.identity.clone().unwrap_or_else(|| Identity::new("unknown"));
        Ok(Sender { caller, owner, to })
    }

    async fn get(
        &self,
        sender: &Sender<'_, H>,
        mut parts: Parts,
    ) -> Result<Response<AnswerBody>, TransportRefusal> {
        if message::is_stateless(&parts.headers) {
            return Err(TransportRefusal::MethodNotAllowed { allow: "POST" });
        }
        accept::of_get(&parts.headers)?;
        let visit = self.visit(sender, &parts.headers, true)?;
        sender.to.check_version(&parts.headers)?;
        parts.headers.insert(ACCEPT, accept::BOTH);
        parts.headers.insert(SESSION_ID, visit.tag());
        let request = Request::from_parts(parts, Empty::<Bytes>::new());
        let response = sender.to.serve_in_session(&visit, request).await?;
        let mut response = answer::translate(response, Wants::Either).await?.map(|body| body.holding(visit));
        answer::mark_endless(&mut response);
        Ok(response)
    }

    fn delete(
        &self,
        sender: &Sender<'_, H>,
        headers: &HeaderMap,
    ) -> Result<Response<AnswerBody>, TransportRefusal> {
        if message::is_stateless(headers) {
            return Err(TransportRefusal::MethodNotAllowed { allow: "POST" });
        }
        let id = headers.get(SESSION_ID).ok_or(NO_SESSION_ID)?;
        sender.to.check_version(headers)?;
        self.sessions
            .close(id, &sender.owner, sender.to.number)
            .map_err(|Gone(expired)| TransportRefusal::SessionNotFound { expired })?;
        Ok(answer::status(StatusCode::NO_CONTENT))
    }

    pub(super) fn visit(
        &self,
        sender: &Sender<'_, H>,
        headers: &HeaderMap,
        counts_as_use: bool,
    ) -> Result<SessionVisit, TransportRefusal> {
        let id = headers.get(SESSION_ID).ok_or(NO_SESSION_ID)?;
        self.sessions
            .visit(id, &sender.owner, sender.to.number, counts_as_use)
            .map_err(|Gone(expired)| TransportRefusal::SessionNotFound { expired })
    }
}

impl<H> ServedEndpoint<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    fn new(shared: &Streamable, query: Option<&'static str>, server: H) -> ServedEndpoint<H> {
        let versions =
            server.supported_protocol_versions().iter().map(|version| version.as_str().to_owned()).collect();
        // Host, Origin and size were checked before the request came here.
        let transport = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(shared.stopped.clone());
        let factory = {
            let server = server.clone();
            move || Ok(server.clone())
        };
        let stateless = StreamableHttpService::new(
            factory.clone(),
            Arc::new(SessionAccess),
            transport.clone().with_legacy_session_mode(false),
        );
        let in_sessions = StreamableHttpService::new(factory, Arc::new(SessionAccess), transport);
        ServedEndpoint { number: shared.next_endpoint(), query, server, in_sessions, stateless, versions }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) async fn serve_in_session<B>(
        &self,
        visit: &SessionVisit,
        request: Request<B>,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, TransportRefusal>
    where
        B: Body<Error: Display> + Send + 'static,
    {
        let failed = || match visit.has_ended() {
            true => TransportRefusal::SessionNotFound { expired: None },
            false => TransportRefusal::Internal,
        };
        let worker = visit.wake(&self.server).await.map_err(|NotAwake| failed())?;
        let response = worker.serve(self.in_sessions.handle(request)).await;
        if response.status().is_server_error() { Err(failed()) } else { Ok(response) }
    }

    /// In a session the header may only name a revision that is served. Requests outside a session name theirs in
    /// the body too, and the MCP layer answers those with the list of revisions.
    pub(super) fn check_version(&self, headers: &HeaderMap) -> Result<(), TransportRefusal> {
        let Some(version) = headers.get(PROTOCOL_VERSION) else { return Ok(()) };
        if self.versions.iter().any(|served| served.as_bytes() == version.as_bytes()) {
            return Ok(());
        }
        let detail = format!("unsupported MCP-Protocol-Version; served are {}", self.versions.join(", "));
        Err(TransportRefusal::BadField { detail: detail.into() })
    }
}

/// Reads the whole body. Where that fails, the server in front answers; what is returned here does not matter.
pub(super) async fn read<B>(body: B) -> Result<Bytes, TransportRefusal>
where
    B: Body<Data = Bytes>,
{
    let broken = |_| TransportRefusal::BadField { detail: "the body could not be read".into() };
    Ok(body.collect().await.map_err(broken)?.to_bytes())
}
