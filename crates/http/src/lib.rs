//! An HTTP server: everything between a socket and the service that answers a request.
//!
//! An [`HttpSite`] is a list of [`Route`]s. A request passes one check after another, cheapest and most suspicious first:
//! Host, Origin, path, method, credential, rate. Then the route's service gets it, any tower service, an axum router
//! among them. The service reads the body within the route's limits, and the body ends only when it is the client's turn.
//! What the server refuses is a [`Refusal`], plain facts that each route puts into its own words. Nothing here knows what
//! is spoken inside the bodies.

mod admission;
mod auth;
mod body;
mod client;
mod config;
mod connection_slots;
mod cors;
mod error;
mod hardening;
mod health;
mod host;
mod listen;
mod origin;
mod query;
mod rate;
mod refusal;
mod reply;
mod route;
mod serve;
mod site;
mod tide;
mod timed_stream;
mod tls;
mod turns;
mod unsent;

pub use auth::{
    Anonymous, Authenticate, Authenticated, BearerTokens, Credential, Guest, PROVIDER_KEY, SecretToken,
    presented_provider_key, presented_token,
};
pub use client::{BadNetwork, Network, client_address};
pub use config::{HttpConfig, RateLimit, Timeouts};
pub use cors::Cors;
pub use error::HttpError;
pub use hardening::Hardening;
pub use health::{NoVitals, Vitals};
pub use host::Hosts;
pub use listen::{Bound, bind, resolve};
pub use origin::{OriginRefused, Origins};
pub use query::query_pairs;
pub use refusal::{Refusal, Wording, plain_json};
pub use route::{Endless, Route, RouteGuard, RouteLimits, WaitsForTurn};
pub use serve::Shutdown;
pub use site::HttpSite;
pub use tls::TlsFiles;
