//! One thing that is served: where, to whom, within which limits, and by which service.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Extensions, HeaderValue, Method, Request, Response};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

use crate::cors::Cors;
use crate::error::HttpError;
use crate::hardening::Hardening;
use crate::refusal::{Wording, plain_json};

/// A service at a path. Everything but the path and the service has a default that fits a small JSON API.
pub struct Route {
    pub(crate) path: String,
    /// Meant to be at `/`, which as a configured path would be a slip.
    is_root: bool,
    /// Paths below this one belong to the route, too.
    pub(crate) with_subpaths: bool,
    pub(crate) methods: Option<RouteMethods>,
    pub(crate) guard: RouteGuard,
    pub(crate) admits_guests: bool,
    pub(crate) hardening: Hardening,
    pub(crate) limits: RouteLimits,
    pub(crate) cors: Option<Cors>,
    pub(crate) wording: Wording,
    pub(crate) is_endless: fn(&Extensions) -> bool,
    pub(crate) service: BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>,
}

/// Who may use a route. Host and Origin are checked on every route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteGuard {
    /// Every client that can reach the server, without a rate limit.
    Open,
    /// Clients that show a credential. The service finds a [`Caller`](model::Caller) in the extensions of the request, and no
    /// header with a secret.
    Identified,
    /// Like `Identified` where others than this machine can reach the server, like `Open` elsewhere.
    IdentifiedWhenExposed,
}

/// What one request may cost.
#[derive(Debug, Clone, Copy)]
pub struct RouteLimits {
    pub body_bytes: usize,
    /// For the whole body; `None` takes the server's usual time.
    pub body_time: Option<Duration>,
    pub turn: WaitsForTurn,
}

/// When a request waits for its client's turn, so that no client keeps the others from being served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsForTurn {
    /// The end of the body is held back until it is the client's turn. A service that leaves the body alone does not wait.
    AtEndOfBody,
    /// Before the service is called: for work that needs no body.
    BeforeService,
    /// Never: for what costs nothing.
    Never,
}

/// Put into the extensions of a response whose stream has no end of its own: it is not counted as work, and it ends when
/// the server stops.
#[derive(Debug, Clone, Copy)]
pub struct Endless;

/// The methods of a route, and the header that lists them.
pub(crate) struct RouteMethods {
    known: Vec<Method>,
    pub(crate) allow: HeaderValue,
}

impl Default for RouteLimits {
    fn default() -> RouteLimits {
        RouteLimits { body_bytes: 1024 * 1024, body_time: None, turn: WaitsForTurn::AtEndOfBody }
    }
}

impl Route {
    /// Serves exactly this path.
    pub fn new<S, B>(path: impl Into<String>, service: S) -> Route
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        Route {
            path: path.into(),
            is_root: false,
            with_subpaths: false,
            methods: None,
            guard: RouteGuard::Identified,
            admits_guests: false,
            hardening: Hardening::default(),
            limits: RouteLimits::default(),
            cors: None,
            wording: plain_json,
            is_endless: |extensions| extensions.get::<Endless>().is_some(),
            service: BoxCloneSyncService::new(service.map_response(|response| response.map(Body::new))),
        }
    }

    /// Serves `/` alone, such as the first page of a site.
    pub fn at_root<S, B>(service: S) -> Route
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        Route { is_root: true, ..Route::new("/", service) }
    }

    /// Serves the paths below this one as well, such as those of an [`axum::Router`], which sees the whole path.
    #[must_use]
    pub fn with_subpaths(self) -> Route {
        Route { with_subpaths: true, ..self }
    }

    /// Other methods are refused before anything else is looked at. Without this the service answers for methods.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Route {
        Route { methods: Some(RouteMethods::new(methods.into_iter().collect())), ..self }
    }

    #[must_use]
    pub fn guard(self, guard: RouteGuard) -> Route {
        Route { guard, ..self }
    }

    /// Lets those in whose credential opens nothing else ([`Authenticated::is_guest`](crate::Authenticated::is_guest)).
    #[must_use]
    pub fn admitting_guests(self) -> Route {
        Route { admits_guests: true, ..self }
    }

    #[must_use]
    pub fn hardening(self, hardening: Hardening) -> Route {
        Route { hardening, ..self }
    }

    #[must_use]
    pub fn limits(self, limits: RouteLimits) -> Route {
        Route { limits, ..self }
    }

    /// Lets pages of allowed origins use the route; their preflights are answered here.
    #[must_use]
    pub fn cors(self, cors: Cors) -> Route {
        Route { cors: Some(cors), ..self }
    }

    #[must_use]
    pub fn wording(self, wording: Wording) -> Route {
        Route { wording, ..self }
    }

    /// For services that know of endless streams but not of [`Endless`]: how to tell by a response's extensions.
    #[must_use]
    pub fn endless_when(self, is_endless: fn(&Extensions) -> bool) -> Route {
        Route { is_endless, ..self }
    }

    /// A gate between the guard and the service: it knows the caller, and may refuse, or add to the answer. See
    /// [`axum::middleware::from_fn`].
    #[must_use]
    pub fn gate<L>(self, layer: L) -> Route
    where
        L: Layer<BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>>,
        L::Service: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
        L::Service: Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Future: Send + 'static,
    {
        Route { service: BoxCloneSyncService::new(layer.layer(self.service)), ..self }
    }

    pub(crate) fn check_path(&self) -> Result<(), HttpError> {
        let path = &self.path;
        if self.is_root {
            return Ok(());
        }
        let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#%\\".contains(&byte));
        if path.len() < 2 || !path.starts_with('/') || path.ends_with('/') || !plain {
            return Err(HttpError::config("path", format!("{path:?} is not a path such as /mcp")));
        }
        Ok(())
    }
}

impl RouteMethods {
    fn new(known: Vec<Method>) -> RouteMethods {
        let names: Vec<&str> = known.iter().map(Method::as_str).collect();
        let allow = HeaderValue::try_from(names.join(", ")).unwrap_or(HeaderValue::from_static(""));
        RouteMethods { known, allow }
    }

    pub(crate) fn contain(&self, method: &Method) -> bool {
        self.known.contains(method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d020_paths() {
        let check = |path: &str| Route::new(path, axum::Router::new()).check_path();
        for good in ["/mcp", "/mcp/repo", "/a.b_c-d"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "mcp", "/mcp/", "/m cp", "/mcp?x", "/m#", "/ü", "/a%2f"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(Route::at_root(axum::Router::new()).check_path().is_ok());
    }
}
