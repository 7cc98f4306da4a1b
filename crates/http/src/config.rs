//! What the server is told: where to listen, whom to trust, and how much of anything to accept.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use model::{MonotonicClock, SystemMonotonicClock};

use crate::auth::{Anonymous, Authenticate};
use crate::client::Network;
use crate::error::HttpError;
use crate::tls::TlsFiles;

#[derive(Clone)]
pub struct HttpConfig {
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// What `listen` resolves to, from [`resolve`](crate::resolve); looked up by `bind` when empty.
    pub addresses: Vec<SocketAddr>,
    pub auth: Arc<dyn Authenticate>,
    /// Others can reach this server: rate limits apply. An address that is not loopback counts as public anyway.
    pub public: bool,
    /// Serve the public without a credential, against advice.
    pub allow_insecure: bool,
    /// `scheme://host[:port]`; an entry without a port admits any port.
    pub allowed_origins: Vec<String>,
    /// Names this server answers to besides the loopback ones and its own address: `host[:port]`.
    pub allowed_hosts: Vec<String>,
    pub tls: Option<TlsFiles>,
    pub max_connections: usize,
    /// Applies to the public only; `None` switches it off.
    pub rate_limit: Option<RateLimit>,
    /// Peers whose `X-Forwarded-For` is believed. None unless the operator names them: any client can send that header.
    pub trusted_proxies: Vec<Network>,
    pub timeouts: Timeouts,
    /// How long running calls may go on after the server was told to stop.
    pub shutdown_grace: Duration,
    pub clock: Arc<dyn MonotonicClock>,
    /// Called when a burst of connections or requests is over: a time to tidy up.
    pub after_burst: Arc<dyn Fn() + Send + Sync>,
}

/// A token bucket per client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub per_second: u32,
    pub burst: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a request to the end of its headers; also for a TLS handshake.
    pub head: Duration,
    /// For a whole request body.
    pub body: Duration,
    /// How long a client may leave an answer unread.
    pub write: Duration,
    /// Between two requests of one connection.
    pub idle: Duration,
}

impl Default for HttpConfig {
    fn default() -> HttpConfig {
        HttpConfig {
            listen: "127.0.0.1:0".into(),
            addresses: Vec::new(),
            auth: Arc::new(Anonymous::default()),
            public: false,
            allow_insecure: false,
            allowed_origins: vec![
                "http://localhost".into(),
                "http://127.0.0.1".into(),
                "http://[::1]".into(),
            ],
            allowed_hosts: Vec::new(),
            tls: None,
            max_connections: 16_384,
            rate_limit: Some(RateLimit { per_second: 60, burst: 20 }),
            trusted_proxies: Vec::new(),
            timeouts: Timeouts::default(),
            shutdown_grace: Duration::from_secs(5),
            clock: Arc::new(SystemMonotonicClock),
            after_burst: Arc::new(|| {}),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            write: Duration::from_secs(30),
            idle: Duration::from_secs(120),
        }
    }
}

impl HttpConfig {
    /// Everything that can be judged before a socket is opened.
    pub(crate) fn check(&self) -> Result<(), HttpError> {
        if let Some(limit) = self.rate_limit
            && (limit.per_second == 0 || limit.burst == 0)
        {
            return Err(HttpError::config("rate_limit", "rate and burst must be positive"));
        }
        if self.max_connections == 0 {
            return Err(HttpError::config("max_connections", "at least one connection is needed"));
        }
        Ok(())
    }
}
