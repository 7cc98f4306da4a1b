//! The HTTP edge: everything between a socket and an MCP server.
//!
//! A request passes one check after another, cheapest and most suspicious first, and its body is read only after it
//! has proved who sent it: Host, Origin, credential, rate, type, size, strict JSON, session. Only then does it reach
//! the MCP transport. Nothing here knows a tool.

mod accept;
mod auth;
mod body;
mod client;
mod clock;
mod config;
mod connection;
mod cors;
mod edge;
mod errors;
mod health;
mod host;
mod limits;
mod message;
mod origin;
mod reply;
mod seats;
mod serve;
mod sessions;
mod tls;
mod turns;
mod unsent;

pub use auth::{Auth, Credential, SecretToken};
pub use client::{BadNetwork, Network};
pub use clock::{Clock, SystemClock};
pub use config::{HttpConfig, RateLimit, Timeouts};
pub use edge::Mount;
pub use errors::HttpError;
pub use health::{NoVitals, Vitals};
pub use serve::{Bound, bind, resolve};
pub use tls::TlsFiles;
