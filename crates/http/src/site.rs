//! The site: its routes, and the way of a request through the checks, in order, to the service of its route and back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use model::Caller;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::admission::BodyAdmission;
use crate::auth::{Authenticate, Guest, PROVIDER_KEY};
use crate::body::{self, BodyLimits};
use crate::client::{Network, client_address};
use crate::config::HttpConfig;
use crate::cors;
use crate::error::HttpError;
use crate::hardening::Hardening;
use crate::health::{self, Vitals};
use crate::host::Hosts;
use crate::origin::Origins;
use crate::rate::Limiter;
use crate::refusal::{Refusal, Wording, plain_json};
use crate::reply::ReplyBody;
use crate::route::{Route, RouteGuard, WaitsForTurn};
use crate::serve::Shutdown;
use crate::turns::{ClientKey, RequestTurns, TurnLimits};
use crate::unsent::Unsent;

/// What a server serves.
pub struct HttpSite {
    routes: Vec<Route>,
    vitals: Option<Arc<dyn Vitals>>,
    wording: Wording,
    response_headers: &'static str,
    background: Vec<BoxFuture<'static, ()>>,
}

impl Default for HttpSite {
    fn default() -> HttpSite {
        HttpSite {
            routes: Vec::new(),
            vitals: None,
            wording: plain_json,
            response_headers: "",
            background: Vec::new(),
        }
    }
}

impl HttpSite {
    #[must_use]
    pub fn route(mut self, route: Route) -> HttpSite {
        self.routes.push(route);
        self
    }

    /// Serves `/healthz`, `/readyz` and `/metrics`.
    #[must_use]
    pub fn vitals(self, vitals: Arc<dyn Vitals>) -> HttpSite {
        HttpSite { vitals: Some(vitals), ..self }
    }

    /// How refusals are worded by the health checks, and at paths where nothing is.
    #[must_use]
    pub fn wording(self, wording: Wording) -> HttpSite {
        HttpSite { wording, ..self }
    }

    /// The headers that allowed pages may read of answers by routes without rules of their own.
    #[must_use]
    pub fn response_headers(self, names: &'static str) -> HttpSite {
        HttpSite { response_headers: names, ..self }
    }

    /// Work that a service needs done beside the requests. It ends by itself when the server has stopped.
    #[must_use]
    pub fn background(mut self, task: impl Future<Output = ()> + Send + 'static) -> HttpSite {
        self.background.push(Box::pin(task));
        self
    }
}

/// A site being served.
pub(crate) struct ServedSite {
    hosts: Hosts,
    origins: Origins,
    auth: Arc<dyn Authenticate>,
    limiter: Option<Limiter>,
    trusted_proxies: Vec<Network>,
    routes: Vec<Route>,
    /// Where in `routes` a path is served.
    by_path: HashMap<String, usize>,
    /// The routes that serve subpaths, longest path first.
    by_prefix: Vec<usize>,
    /// For paths where nothing is.
    wording: Wording,
    hardening: Hardening,
    response_headers: &'static str,
    body_time: Duration,
    stopping: CancellationToken,
    is_exposed: bool,
    /// An operator who forgot to name a proxy is told once.
    proxy_hinted: AtomicBool,
    turns: Arc<RequestTurns>,
}

impl ServedSite {
    /// Also gives back the work to be done beside the requests.
    pub(crate) fn new(
        site: HttpSite,
        config: &HttpConfig,
        hosts: Hosts,
        is_exposed: bool,
        shutdown: &Shutdown,
    ) -> Result<(ServedSite, Vec<BoxFuture<'static, ()>>), HttpError> {
        let HttpSite { mut routes, vitals, wording, response_headers, background } = site;
        if let Some(vitals) = vitals {
            let health = health::routes(&vitals, &shutdown.stopping);
            routes.splice(0..0, health.map(|route| route.wording(wording)));
        }
        let mut by_path = HashMap::new();
        for (n, route) in routes.iter().enumerate() {
            route.check_path()?;
            if by_path.insert(route.path.clone(), n).is_some() {
                return Err(HttpError::config("path", format!("{} is served twice", route.path)));
            }
        }
        let mut by_prefix: Vec<usize> = (0..routes.len()).filter(|n| routes[*n].with_subpaths).collect();
        by_prefix.sort_by_key(|n| std::cmp::Reverse(routes[*n].path.len()));
        let limit = config.rate_limit.filter(|_| is_exposed);
        let served = ServedSite {
            hosts,
            origins: Origins::new(&config.allowed_origins, config.tls.is_some())?,
            auth: Arc::clone(&config.auth),
            limiter: limit.map(|limit| Limiter::new(limit, config.clock.clone())),
            trusted_proxies: config.trusted_proxies.clone(),
            routes,
            by_path,
            by_prefix,
            wording,
            hardening: Hardening::default(),
            response_headers,
            body_time: config.timeouts.body,
            stopping: shutdown.stopping.clone(),
            is_exposed,
            proxy_hinted: AtomicBool::new(false),
            turns: RequestTurns::new(TurnLimits::default()),
        };
        Ok((served, background))
    }

    pub(crate) fn turns(&self) -> &Arc<RequestTurns> {
        &self.turns
    }

    /// Whether many clients may be behind this peer.
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|network| network.contains(peer.to_canonical()))
    }

    pub(crate) async fn handle(
        &self,
        peer: IpAddr,
        connection: &Arc<Unsent>,
        request: Request<Incoming>,
    ) -> Response<ReplyBody> {
        let route = self.find(request.uri().path());
        let mut shared_with = None;
        let served = if !self.hosts.admit(request.uri(), request.headers()) {
            Err(Refusal::forbidden_host())
        } else {
            match self.origins.admit(request.headers()) {
                Err(_) => Err(Refusal::forbidden_origin()),
                Ok(origin) => {
                    shared_with = origin;
                    match route {
                        Some(route) => self.serve(route, peer, connection, request).await,
                        None => Err(Refusal::no_such_path()),
                    }
                }
            }
        };
        let is_refusal = served.is_err();
        let mut response = served.unwrap_or_else(|refusal| {
            let wording = route.map_or(self.wording, |route| route.wording);
            refusal.worded(wording).map(ReplyBody::new)
        });
        let headers = response.headers_mut();
        if let Some(origin) = shared_with {
            let cors = route.and_then(|route| route.cors);
            cors::share(headers, origin, cors.map_or(self.response_headers, |cors| cors.response_headers));
        }
        route.map_or(&self.hardening, |route| &route.hardening).apply(headers, is_refusal);
        response
    }

    fn find(&self, path: &str) -> Option<&Route> {
        let n = self.by_path.get(path).copied().or_else(|| {
            self.by_prefix.iter().copied().find(|n| {
                path.strip_prefix(self.routes[*n].path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
        })?;
        self.routes.get(n)
    }

    async fn serve(
        &self,
        route: &Route,
        peer: IpAddr,
        connection: &Arc<Unsent>,
        request: Request<Incoming>,
    ) -> Result<Response<ReplyBody>, Refusal> {
        let (mut head, body) = request.into_parts();
        if let Some(cors) = route.cors.filter(|_| head.method == Method::OPTIONS) {
            return Ok(cors.preflight(&head.headers).map(ReplyBody::new));
        }
        if let Some(methods) = route.methods.as_ref().filter(|methods| !methods.contain(&head.method)) {
            return Err(Refusal::method_not_allowed(&methods.allow));
        }
        let address = client_address(peer, &head.headers, &self.trusted_proxies);
        let caller = match route.guard {
            RouteGuard::Identified => Some(self.identify(route, peer, address, &head.headers).await?),
            RouteGuard::IdentifiedWhenExposed if self.is_exposed => {
                Some(self.identify(route, peer, address, &head.headers).await?)
            }
            RouteGuard::Open | RouteGuard::IdentifiedWhenExposed => None,
        };
        let identity = caller.as_ref().and_then(|(caller, _)| caller.identity.clone());
        if let Some((caller, is_guest)) = caller {
            head.extensions.insert(caller);
            if is_guest {
                head.extensions.insert(Guest);
            }
        }
        // The caller is known by now; services do not need the secret that proved it.
        for secret in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, PROVIDER_KEY] {
            head.headers.remove(secret);
        }

        let admission = BodyAdmission::new(&self.turns, connection, ClientKey { identity, address });
        let limits = BodyLimits {
            bytes: route.limits.body_bytes,
            time: route.limits.body_time.unwrap_or(self.body_time),
            ends_with_turn: route.limits.turn == WaitsForTurn::AtEndOfBody,
        };
        if route.limits.turn == WaitsForTurn::BeforeService {
            admission.wait_for_turn().await;
        }
        let body = body::limited(Arc::clone(&admission), &head.headers, body, limits);
        let Ok(mut response) = route.service.clone().oneshot(Request::from_parts(head, body)).await;
        let refusal = admission.take_refusal().or_else(|| response.extensions_mut().remove::<Refusal>());
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let is_endless = (route.is_endless)(response.extensions());
        Ok(response.map(|body: Body| {
            let reply = ReplyBody::new(body);
            match admission.take_turn() {
                _ if is_endless => reply.until(&self.stopping),
                Some(turn) if !reply.is_document() => reply.working(turn),
                _ => reply,
            }
        }))
    }

    /// Who calls, and whether as a guest. A credential first, then the rate: guessing credentials costs as much as asking
    /// questions.
    async fn identify(
        &self,
        route: &Route,
        peer: IpAddr,
        address: IpAddr,
        headers: &HeaderMap,
    ) -> Result<(Caller, bool), Refusal> {
        if self.trusted_proxies.is_empty()
            && headers.contains_key("x-forwarded-for")
            && !self.proxy_hinted.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %peer,
                "X-Forwarded-For is ignored: if this address is a proxy of yours, name it in server.trusted_proxies"
            );
        }
        let known = self.auth.authenticate(headers).await;
        if self.limiter.as_ref().is_some_and(|limiter| !limiter.admit(address)) {
            return Err(Refusal::rate_limited());
        }
        // To a guest, other routes are as if its credential were unknown.
        let known = known.filter(|known| route.admits_guests || !known.is_guest);
        let known = known.ok_or_else(Refusal::unauthorized)?;
        let caller = Caller::http(known.identity, address).of_tenant(known.tenant);
        Ok((caller.with_provider_key(known.provider_key), known.is_guest))
    }
}
