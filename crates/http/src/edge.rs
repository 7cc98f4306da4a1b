//! The way of a request through the checks, in order, to the MCP transport and back.

use std::convert::Infallible;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use mcp::Direct;
use model::Caller;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::accept::{self, Wants};
use crate::auth::Gate;
use crate::client::{Network, client_address};
use crate::config::HttpConfig;
use crate::errors::{HttpError, Refusal, Refused};
use crate::health::{Probe, Vitals};
use crate::host::Hosts;
use crate::limits::Limiter;
use crate::message::{self, Message, PROTOCOL_VERSION, SESSION_ID};
use crate::origin::Origins;
use crate::reply::Reply;
use crate::sessions::{
    BadHandshake, Door, Full as TableFull, Gone, Handshake, NotAwake, SessionLimits, Sessions, Visit,
};
use crate::turns::{ClientKey, TurnLimits, Turns};
use crate::unsent::Unsent;
use crate::{body, cors};

pub(crate) struct Edge<H> {
    hosts: Hosts,
    origins: Origins,
    gate: Gate,
    limiter: Option<Limiter>,
    trusted_proxies: Vec<Network>,
    mounts: Vec<Mounted<H>>,
    sessions: Arc<Sessions>,
    max_body_bytes: usize,
    body_patience: Duration,
    stopping: CancellationToken,
    stopped: CancellationToken,
    vitals: Arc<dyn Vitals>,
    is_exposed: bool,
    /// An operator who forgot to name a proxy is told once.
    proxy_hinted: AtomicBool,
    turns: Arc<Turns>,
}

/// One MCP server at one path, as the caller gives it.
pub struct Mount<H> {
    pub path: String,
    /// A variant of the path, chosen by one parameter of the URL's query, such as `names=underscore`.
    pub variant: Option<&'static str>,
    pub server: H,
    /// Headers of every answer, names in small letters.
    pub headers: Vec<(&'static str, &'static str)>,
}

/// The same, ready to serve.
struct Mounted<H> {
    path: String,
    variant: Option<&'static str>,
    server: H,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Serves requests within sessions.
    sessions: StreamableHttpService<H, Door>,
    /// Serves requests that speak for themselves, and handshakes.
    stateless: StreamableHttpService<H, Door>,
    versions: Vec<String>,
}

/// Who sent a request, and to which endpoint.
struct Sender {
    identity: Arc<str>,
    address: IpAddr,
    mount: usize,
}

/// The two ends of a server's life: told to stop, and out of patience.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) stopping: CancellationToken,
    pub(crate) stopped: CancellationToken,
}

impl<H> Edge<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    pub(crate) fn new(
        config: &HttpConfig,
        hosts: Hosts,
        exposed: bool,
        mounts: Vec<Mount<H>>,
        ends: &Ends,
    ) -> Result<Edge<H>, HttpError> {
        let limits = SessionLimits {
            inactivity: config.inactivity(),
            max_lifetime: config.max_lifetime(),
            max_sessions: config.max_sessions,
            max_awake: config.max_awake_sessions,
        };
        let limit = config.rate_limit.filter(|_| exposed);
        Ok(Edge {
            hosts,
            origins: Origins::new(&config.allowed_origins, config.tls.is_some())?,
            gate: Gate::new(&config.auth),
            limiter: limit.map(|limit| Limiter::new(limit, config.clock.clone())),
            trusted_proxies: config.trusted_proxies.clone(),
            mounts: mounts.into_iter().map(|mount| Mounted::new(mount, config, ends)).collect(),
            sessions: Sessions::new(limits, config.clock.clone()),
            max_body_bytes: config.max_body_bytes,
            body_patience: config.timeouts.body,
            stopping: ends.stopping.clone(),
            stopped: ends.stopped.clone(),
            vitals: config.vitals.clone(),
            is_exposed: exposed,
            proxy_hinted: AtomicBool::new(false),
            turns: Turns::new(TurnLimits::default()),
        })
    }

    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// Whether many clients may stand behind this peer.
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|network| network.contains(peer.to_canonical()))
    }

    pub(crate) async fn handle(
        &self,
        peer: IpAddr,
        connection: &Arc<Unsent>,
        request: Request<Incoming>,
    ) -> Response<Reply> {
        if !self.hosts.admit(request.uri(), request.headers()) {
            return harden(Refusal::ForbiddenHost.respond(None));
        }
        let Ok(origin) = self.origins.admit(request.headers()) else {
            return harden(Refusal::ForbiddenOrigin.respond(None));
        };
        let mut response = match self.route(peer, connection, request).await {
            Ok(response) => response,
            Err(Refused { refusal, id }) => refusal.respond(id.as_ref()),
        };
        if let Some(origin) = origin {
            cors::share(response.headers_mut(), origin);
        }
        harden(response)
    }

    async fn route(
        &self,
        peer: IpAddr,
        connection: &Arc<Unsent>,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Refused> {
        let path = request.uri().path();
        if let Some(probe) = Probe::at(path) {
            Probe::check(request.method())?;
            // Whoever else can reach the server learns from the numbers how it is used.
            if probe == Probe::Metrics && self.is_exposed {
                self.identify(peer, request.headers(), 0)?;
            }
            return Ok(probe.answer(self.vitals.as_ref(), self.stopping.is_cancelled()));
        }
        let mount = self.find_mount(path, request.uri().query()).ok_or(Refusal::NoSuchPath)?;
        if request.method() == Method::OPTIONS {
            return Ok(cors::preflight(request.headers()));
        }
        let sender = self.identify(peer, request.headers(), mount)?;
        message::check_headers(request.headers())?;
        let mut response = match *request.method() {
            Method::POST => self.post(sender, connection, request).await,
            Method::GET => self.get(sender, request).await,
            Method::DELETE => Ok(self.delete(sender, request.headers())?),
            _ => Err(Refusal::MethodNotAllowed { allow: cors::METHODS }.into()),
        }?;
        for (name, value) in &self.mounts[mount].headers {
            response.headers_mut().insert(name, value.clone());
        }
        Ok(response)
    }

    /// The variant that the query asks for, else the path's own server.
    fn find_mount(&self, path: &str, query: Option<&str>) -> Option<usize> {
        let asked = |variant: &str| query.is_some_and(|query| query.split('&').any(|part| part == variant));
        let at = |chosen: &dyn Fn(Option<&str>) -> bool| {
            self.mounts.iter().position(|mount| mount.path == path && chosen(mount.variant))
        };
        at(&|variant| variant.is_some_and(asked)).or_else(|| at(&|variant| variant.is_none()))
    }

    /// A credential first, then the rate. Guessing credentials costs as much as asking questions.
    fn identify(&self, peer: IpAddr, headers: &HeaderMap, mount: usize) -> Result<Sender, Refusal> {
        let address = client_address(peer, headers, &self.trusted_proxies);
        if self.trusted_proxies.is_empty()
            && headers.contains_key("x-forwarded-for")
            && !self.proxy_hinted.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %peer,
                "X-Forwarded-For is ignored: if this address is a proxy of yours, name it in server.trusted_proxies"
            );
        }
        let identity = self.gate.identify(headers);
        if self.limiter.as_ref().is_some_and(|limiter| !limiter.admit(address)) {
            return Err(Refusal::RateLimited);
        }
        let identity = identity.ok_or(Refusal::Unauthorized)?;
        Ok(Sender { identity, address, mount })
    }

    async fn post(
        &self,
        sender: Sender,
        connection: &Arc<Unsent>,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Refused> {
        let (mut parts, body) = request.into_parts();
        body::check_type(&parts.headers)?;
        let wants = accept::of_post(&parts.headers)?;
        let bytes = body::read(&parts.headers, body, self.max_body_bytes, self.body_patience).await?;
        let client = ClientKey { identity: sender.identity.clone(), address: sender.address };
        connection.belongs_to(&client);
        let turn = self.turns.take(&client, connection.begin()).await;
        let mut message = Message::read(&bytes, &parts.headers)?;
        if message.stateless
            && let Some(answer) = self.answer_directly(&sender, &parts.headers, &mut message).await
        {
            return answer.map_err(|refusal| Refused { refusal, id: message.id });
        }
        parts.headers.insert(ACCEPT, accept::BOTH);
        // Media types have no case, but the MCP transport compares this one as it is written.
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = if message.stateless {
            parts.headers.remove(SESSION_ID);
            self.post_stateless(&sender, &message, parts, bytes, wants).await
        } else if let Some(handshake) = &message.handshake {
            parts.headers.remove(SESSION_ID);
            self.post_handshake(&sender, handshake, parts, bytes).await
        } else {
            self.post_in_session(&sender, &message, parts, bytes, wants).await
        };
        // A subscription has no end; it is not work.
        let works = !message.is("subscriptions/listen");
        answer
            .map(|response| if works { response.map(|reply| reply.working(turn)) } else { response })
            .map_err(|refusal| Refused { refusal, id: message.id })
    }

    /// The short way, for requests that need nothing of the MCP transport. Its answers are documents, which every
    /// client takes that came so far.
    async fn answer_directly(
        &self,
        sender: &Sender,
        headers: &HeaderMap,
        message: &mut Message,
    ) -> Option<Result<Response<Reply>, Refusal>> {
        let id = message.id.as_ref()?;
        let cancel = self.stopped.child_token();
        // A client that hangs up drops this future, and with it the work.
        let _stops_work = cancel.clone().drop_guard();
        let server = &self.mount(sender).server;
        let answer = server.direct(headers, id, &mut message.body, || sender.caller(), cancel)?;
        Some(answer.await.ok_or(Refusal::Internal).map(|body| {
            let mut response = Response::new(Reply::full(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }))
    }

    async fn post_stateless(
        &self,
        sender: &Sender,
        message: &Message,
        parts: Parts,
        bytes: Bytes,
        wants: Wants,
    ) -> Result<Response<Reply>, Refusal> {
        let request = sender.sign(parts, Full::new(bytes));
        let response = self.mount(sender).stateless.handle(request).await;
        let mut response = translate(response, wants).await?;
        if message.is("subscriptions/listen") {
            response = response.map(|reply| reply.until(&self.stopping));
        }
        Ok(response)
    }

    async fn post_handshake(
        &self,
        sender: &Sender,
        params: &Value,
        mut parts: Parts,
        bytes: Bytes,
    ) -> Result<Response<Reply>, Refusal> {
        if self.stopping.is_cancelled() {
            return Err(Refusal::Stopping);
        }
        if let Err(refusal) = self.check_version(sender, &parts.headers) {
            // A client that only says twice which revision it would like is offered another.
            let asked = params.get("protocolVersion").and_then(Value::as_str);
            let said = parts.headers.remove(PROTOCOL_VERSION);
            if said.as_ref().map(HeaderValue::as_bytes) != asked.map(str::as_bytes) {
                return Err(refusal);
            }
        }
        let entry = match Handshake::new(Some(params)) {
            Ok(handshake) => Some(
                self.sessions
                    .enter(&sender.identity, sender.mount, handshake)
                    .map_err(|TableFull { retry_after }| Refusal::TooManySessions { retry_after })?,
            ),
            Err(BadHandshake::TooLong { limit }) => return Err(Refusal::TooLarge { limit }),
            Err(BadHandshake::Unreadable) => None,
        };
        let request = sender.sign(parts, Full::new(bytes));
        let response = self.mount(sender).stateless.handle(request).await;
        let (mut parts, body) = response.into_parts();
        let Ok(body) = body.collect().await;
        let body = body.to_bytes();
        let negotiated = parts.status.is_success()
            && serde_json::from_slice::<Value>(&body).is_ok_and(|answer| answer.get("result").is_some());
        if let Some(entry) = entry.filter(|_| negotiated) {
            parts.headers.insert(SESSION_ID, entry.settle());
        }
        translate(Response::from_parts(parts, Full::new(body).boxed()), Wants::Either).await
    }

    async fn post_in_session(
        &self,
        sender: &Sender,
        message: &Message,
        mut parts: Parts,
        bytes: Bytes,
        wants: Wants,
    ) -> Result<Response<Reply>, Refusal> {
        let says_ready = message.is("notifications/initialized");
        let visit = self.visit(sender, &parts.headers, !says_ready)?;
        self.check_version(sender, &parts.headers)?;
        // Waking a session replays this notification; it is no reason to wake one.
        if says_ready {
            return Ok(status(StatusCode::ACCEPTED));
        }
        parts.headers.insert(SESSION_ID, visit.tag());
        let request = sender.sign(parts, Full::new(bytes));
        let response = self.serve_in_session(sender, &visit, request).await?;
        Ok(translate(response, wants).await?.map(|reply| reply.holding(visit)))
    }

    async fn serve_in_session<B>(
        &self,
        sender: &Sender,
        visit: &Visit,
        request: Request<B>,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Refusal>
    where
        B: Body<Error: Display> + Send + 'static,
    {
        let mount = self.mount(sender);
        let failed = || match visit.has_ended() {
            true => Refusal::SessionNotFound { expired: None },
            false => Refusal::Internal,
        };
        let worker = visit.wake(&mount.server).await.map_err(|NotAwake| failed())?;
        let response = worker.serve(mount.sessions.handle(request)).await;
        if response.status().is_server_error() { Err(failed()) } else { Ok(response) }
    }

    async fn get(&self, sender: Sender, request: Request<Incoming>) -> Result<Response<Reply>, Refused> {
        let (mut parts, _) = request.into_parts();
        if message::is_stateless(&parts.headers) {
            return Err(Refusal::MethodNotAllowed { allow: "POST" }.into());
        }
        accept::of_get(&parts.headers)?;
        let visit = self.visit(&sender, &parts.headers, true)?;
        self.check_version(&sender, &parts.headers)?;
        parts.headers.insert(ACCEPT, accept::BOTH);
        parts.headers.insert(SESSION_ID, visit.tag());
        let request = sender.sign(parts, Empty::<Bytes>::new());
        let response = self.serve_in_session(&sender, &visit, request).await?;
        let response = translate(response, Wants::Either).await?;
        Ok(response.map(|reply| reply.until(&self.stopping).holding(visit)))
    }

    fn delete(&self, sender: Sender, headers: &HeaderMap) -> Result<Response<Reply>, Refusal> {
        if message::is_stateless(headers) {
            return Err(Refusal::MethodNotAllowed { allow: "POST" });
        }
        let id = headers.get(SESSION_ID).ok_or(NO_SESSION_ID)?;
        self.check_version(&sender, headers)?;
        self.sessions
            .close(id, &sender.identity, sender.mount)
            .map_err(|Gone(expired)| Refusal::SessionNotFound { expired })?;
        Ok(status(StatusCode::NO_CONTENT))
    }

    fn visit(&self, sender: &Sender, headers: &HeaderMap, counts_as_use: bool) -> Result<Visit, Refusal> {
        let id = headers.get(SESSION_ID).ok_or(NO_SESSION_ID)?;
        self.sessions
            .visit(id, &sender.identity, sender.mount, counts_as_use)
            .map_err(|Gone(expired)| Refusal::SessionNotFound { expired })
    }

    /// In a session the header may only name a revision that is served. Requests outside a session name theirs in
    /// the body too, and the MCP layer answers those with the list of revisions.
    fn check_version(&self, sender: &Sender, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(version) = headers.get(PROTOCOL_VERSION) else { return Ok(()) };
        let served = &self.mount(sender).versions;
        if served.iter().any(|served| served.as_bytes() == version.as_bytes()) {
            return Ok(());
        }
        let detail = format!("unsupported MCP-Protocol-Version; served are {}", served.join(", "));
        Err(Refusal::BadField { detail: detail.into() })
    }

    fn mount(&self, sender: &Sender) -> &Mounted<H> {
        &self.mounts[sender.mount]
    }
}

const NO_SESSION_ID: Refusal = Refusal::MissingField { detail: "the header MCP-Session-Id is missing" };

impl<H> Mounted<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    fn new(mount: Mount<H>, config: &HttpConfig, ends: &Ends) -> Mounted<H> {
        let Mount { path, variant, server, headers } = mount;
        let own = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let headers = headers.into_iter().map(own).collect();
        let versions =
            server.supported_protocol_versions().iter().map(|version| version.as_str().to_owned()).collect();
        // Host and Origin were checked before the request came here.
        let transport = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(config.max_body_bytes)
            .with_cancellation_token(ends.stopped.clone());
        let factory = {
            let server = server.clone();
            move || Ok(server.clone())
        };
        let stateless = StreamableHttpService::new(
            factory.clone(),
            Arc::new(Door),
            transport.clone().with_legacy_session_mode(false),
        );
        let sessions = StreamableHttpService::new(factory, Arc::new(Door), transport);
        Mounted { path, variant, server, headers, sessions, stateless, versions }
    }
}

impl Sender {
    /// The request as the MCP layer sees it: with a caller, and without the secrets that proved who it is.
    fn sign<B>(&self, mut parts: Parts, body: B) -> Request<B> {
        for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
            parts.headers.remove(secret);
        }
        parts.extensions.insert(self.caller());
        Request::from_parts(parts, body)
    }

    fn caller(&self) -> Caller {
        Caller::Http { identity: self.identity.to_string(), address: self.address.to_string() }
    }
}

/// The library's answers as ours: its plain-text refusals become JSON-RPC errors, and event streams become documents
/// for clients that cannot read them.
async fn translate(
    response: Response<BoxBody<Bytes, Infallible>>,
    wants: Wants,
) -> Result<Response<Reply>, Refusal> {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if is_error && !accept::is(response.headers(), "application/json") {
        let Ok(text) = response.into_body().collect().await;
        return Err(refusal(status, &text.to_bytes()));
    }
    if wants == Wants::Json && accept::is(response.headers(), "text/event-stream") {
        let document = accept::last_message(response).await.ok_or(Refusal::Internal)?;
        return Ok(document.map(Reply::full));
    }
    Ok(response.map(Reply::stream))
}

fn refusal(status: StatusCode, text: &[u8]) -> Refusal {
    match status {
        StatusCode::BAD_REQUEST => {
            let text = String::from_utf8_lossy(text);
            let detail = text.strip_prefix("Bad Request: ").unwrap_or(&text);
            Refusal::BadField { detail: detail.to_owned().into() }
        }
        StatusCode::NOT_FOUND => Refusal::SessionNotFound { expired: None },
        StatusCode::METHOD_NOT_ALLOWED => Refusal::MethodNotAllowed { allow: "POST" },
        StatusCode::NOT_ACCEPTABLE => Refusal::NotAcceptable,
        // The type was checked before; what is left is a body that is no message of this protocol.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Refusal::BadField { detail: "the body is not a message of this protocol".into() }
        }
        _ => Refusal::Internal,
    }
}

fn status(status: StatusCode) -> Response<Reply> {
    let mut response = Response::new(Reply::empty());
    *response.status_mut() = status;
    response
}

/// No answer may be cached, sniffed or shown as a page.
fn harden(mut response: Response<Reply>) -> Response<Reply> {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
