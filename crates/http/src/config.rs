//! What the edge is told: where to listen, whom to trust, and how much of anything to accept.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::Auth;
use crate::client::Network;
use crate::clock::{Clock, SystemClock};
use crate::errors::HttpError;
use crate::health::{NoVitals, Vitals};
use crate::tls::TlsFiles;

/// The dir2mcp specification, section 10.3: a day without a request ends a session.
const DEFAULT_INACTIVITY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone)]
pub struct HttpConfig {
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// What `listen` stands for, from [`resolve`](crate::resolve); looked up by `bind` when empty.
    pub addresses: Vec<SocketAddr>,
    /// Where the MCP endpoint is, and what [`Bound::url`](crate::Bound::url) ends with.
    pub mcp_path: String,
    pub auth: Auth,
    /// Others can reach this server: rate limits apply. An address that is not loopback counts as public anyway.
    pub public: bool,
    /// Serve the public without a credential, against advice.
    pub allow_insecure: bool,
    /// `scheme://host[:port]`; an entry without a port admits any port.
    pub allowed_origins: Vec<String>,
    /// Names this server answers to besides the loopback ones and its own address: `host[:port]`.
    pub allowed_hosts: Vec<String>,
    pub tls: Option<TlsFiles>,
    /// How long a session lives without a request; zero means a day.
    pub session_inactivity: Duration,
    /// How long a session lives at all.
    pub session_max_lifetime: Option<Duration>,
    pub max_sessions: usize,
    /// Sessions that keep their tasks and channels; the others sleep and cost a few hundred bytes.
    pub max_awake_sessions: usize,
    pub max_body_bytes: usize,
    pub max_connections: usize,
    /// Applies to the public only; `None` switches it off.
    pub rate_limit: Option<RateLimit>,
    /// Peers whose `X-Forwarded-For` is believed. None unless the operator names them: any client can send that header.
    pub trusted_proxies: Vec<Network>,
    pub timeouts: Timeouts,
    /// How long running calls may go on after the server was told to stop.
    pub shutdown_grace: Duration,
    pub clock: Arc<dyn Clock>,
    /// What `/readyz` and `/metrics` tell.
    pub vitals: Arc<dyn Vitals>,
    /// Called after many sessions ended at once: a time to tidy up.
    pub after_burst: fn(),
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
            mcp_path: "/mcp".into(),
            auth: Auth::None,
            public: false,
            allow_insecure: false,
            allowed_origins: vec![
                "http://localhost".into(),
                "http://127.0.0.1".into(),
                "http://[::1]".into(),
            ],
            allowed_hosts: Vec::new(),
            tls: None,
            session_inactivity: DEFAULT_INACTIVITY,
            session_max_lifetime: None,
            max_sessions: 10_000,
            max_awake_sessions: 64,
            max_body_bytes: 1024 * 1024,
            max_connections: 16_384,
            rate_limit: Some(RateLimit { per_second: 60, burst: 20 }),
            trusted_proxies: Vec::new(),
            timeouts: Timeouts::default(),
            shutdown_grace: Duration::from_secs(5),
            clock: Arc::new(SystemClock),
            vitals: Arc::new(NoVitals),
            after_burst: || {},
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
    pub(crate) fn inactivity(&self) -> Duration {
        if self.session_inactivity.is_zero() { DEFAULT_INACTIVITY } else { self.session_inactivity }
    }

    /// Zero means no limit, as in the configuration file.
    pub(crate) fn max_lifetime(&self) -> Option<Duration> {
        self.session_max_lifetime.filter(|lifetime| !lifetime.is_zero())
    }

    /// Everything that can be judged before a socket is opened.
    pub(crate) fn check(&self) -> Result<(), HttpError> {
        check_path(&self.mcp_path)?;
        self.auth.check()?;
        if let Some(lifetime) = self.max_lifetime()
            && lifetime < self.inactivity()
        {
            return Err(HttpError::config(
                "session_max_lifetime",
                format!("{lifetime:?} is shorter than session_inactivity_timeout ({:?})", self.inactivity()),
            ));
        }
        if let Some(limit) = self.rate_limit
            && (limit.per_second == 0 || limit.burst == 0)
        {
            return Err(HttpError::config("rate_limit", "rate and burst must be positive"));
        }
        if self.max_sessions == 0 || self.max_awake_sessions == 0 || self.max_connections == 0 {
            return Err(HttpError::config("limits", "at least one session and one connection are needed"));
        }
        Ok(())
    }
}

pub(crate) fn check_path(path: &str) -> Result<(), HttpError> {
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#%\\".contains(&byte));
    if path.len() < 2 || !path.starts_with('/') || path.ends_with('/') || !plain {
        return Err(HttpError::config("mcp_path", format!("{path:?} is not a path such as /mcp")));
    }
    if crate::health::Probe::at(path).is_some() {
        return Err(HttpError::config("mcp_path", format!("{path} is taken by the health checks")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d118_zero_inactivity_means_a_day() {
        let config = HttpConfig { session_inactivity: Duration::ZERO, ..HttpConfig::default() };
        assert_eq!(config.inactivity(), DEFAULT_INACTIVITY);
    }

    #[test]
    fn d119_zero_lifetime_means_no_limit_and_a_short_one_is_refused() {
        let mut config = HttpConfig { session_max_lifetime: Some(Duration::ZERO), ..HttpConfig::default() };
        assert!(config.check().is_ok());
        config.session_max_lifetime = Some(Duration::from_secs(60));
        assert_eq!(config.check().unwrap_err().code(), "CONFIG_INVALID");
    }

    #[test]
    fn d020_paths() {
        for good in ["/mcp", "/mcp/repo", "/a.b_c-d"] {
            assert!(check_path(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "mcp", "/mcp/", "/m cp", "/mcp?x", "/m#", "/healthz", "/ü", "/a%2f"] {
            assert!(check_path(bad).is_err(), "{bad}");
        }
    }
}
