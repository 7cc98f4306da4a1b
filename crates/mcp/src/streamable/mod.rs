//! MCP over HTTP ("Streamable HTTP"): an [`Endpoint`] is a tower service that takes posted messages, opens streams and
//! keeps the sessions of the revisions that have them.
//!
//! The HTTP server in front has checked who sent a request and leaves a [`Caller`](model::Caller) in its extensions. Its
//! body ends when the server is ready to let the request be worked on, and fails if it is too long or too slow; then the
//! server answers for it. Everything else about a message is decided here: media types, the JSON-RPC envelope, headers that
//! steer it, its session.

mod accept;
mod answer;
mod endpoint;
mod message;
mod post;
mod refusal;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::{MonotonicClock, SystemMonotonicClock};
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;

pub use answer::{AnswerBody, is_endless};
pub use endpoint::{Endpoint, Variant};
pub use refusal::word_refusal;
use sessions::{OpenSessions, SessionLimits};
pub use sessions::{SessionSeen, SessionsSeen};

use crate::Direct;

/// The methods of an endpoint.
pub const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// The headers that a web page may send to an endpoint.
pub const REQUEST_HEADERS: &str = "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, \
     MCP-Session-Id, Mcp-Method, Mcp-Name, PAYMENT-SIGNATURE";

/// The names of these depend on the tool that is called.
pub const REQUEST_HEADER_PREFIX: &str = "mcp-param-";

/// The headers that a web page may read of an answer.
pub const RESPONSE_HEADERS: &str = "MCP-Session-Id, MCP-Protocol-Version, PAYMENT-REQUIRED, PAYMENT-RESPONSE, \
     X-MCP-Session-Expired, WWW-Authenticate, Retry-After";

/// The dir2mcp specification, section 10.3: a day without a request ends a session.
const DEFAULT_INACTIVITY: Duration = Duration::from_secs(24 * 60 * 60);

/// This many sessions that end at once count as a burst.
const BURST: usize = 256;

#[derive(Clone)]
pub struct StreamableConfig {
    /// How long a session lives without a request; zero means a day.
    pub session_inactivity: Duration,
    /// How long a session lives at all; zero means without limit.
    pub session_max_lifetime: Option<Duration>,
    pub max_sessions: usize,
    /// Sessions that keep their tasks and channels; the others sleep and cost a few hundred bytes.
    pub max_awake_sessions: usize,
    pub clock: Arc<dyn MonotonicClock>,
    /// Fires when no new session may begin.
    pub stopping: CancellationToken,
    /// Fires when running calls are dropped.
    pub stopped: CancellationToken,
    /// Called after many sessions ended at once: a time to tidy up.
    pub after_burst: Arc<dyn Fn() + Send + Sync>,
}

/// Limits that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionLimitsError {
    #[error("session_max_lifetime: {lifetime:?} is shorter than session_inactivity_timeout ({inactivity:?})")]
    LifetimeTooShort { lifetime: Duration, inactivity: Duration },
    #[error("max_sessions: at least one session is needed")]
    NoSessions,
}

/// What all endpoints of a server share: the table of sessions.
#[derive(Clone)]
pub struct Streamable {
    sessions: Arc<OpenSessions>,
    endpoints: Arc<AtomicUsize>,
    stopping: CancellationToken,
    stopped: CancellationToken,
    after_burst: Arc<dyn Fn() + Send + Sync>,
}

impl Default for StreamableConfig {
    fn default() -> StreamableConfig {
        StreamableConfig {
            session_inactivity: DEFAULT_INACTIVITY,
            session_max_lifetime: None,
            max_sessions: 10_000,
            max_awake_sessions: 64,
            clock: Arc::new(SystemMonotonicClock),
            stopping: CancellationToken::new(),
            stopped: CancellationToken::new(),
            after_burst: Arc::new(|| {}),
        }
    }
}

impl StreamableConfig {
    fn limits(&self) -> Result<SessionLimits, SessionLimitsError> {
        let inactivity =
            if self.session_inactivity.is_zero() { DEFAULT_INACTIVITY } else { self.session_inactivity };
        let max_lifetime = self.session_max_lifetime.filter(|lifetime| !lifetime.is_zero());
        if let Some(lifetime) = max_lifetime.filter(|lifetime| *lifetime < inactivity) {
            return Err(SessionLimitsError::LifetimeTooShort { lifetime, inactivity });
        }
        if self.max_sessions == 0 || self.max_awake_sessions == 0 {
            return Err(SessionLimitsError::NoSessions);
        }
        Ok(SessionLimits {
            inactivity,
            max_lifetime,
            max_sessions: self.max_sessions,
            max_awake: self.max_awake_sessions,
        })
    }
}

impl Streamable {
    pub fn new(config: StreamableConfig) -> Result<Streamable, SessionLimitsError> {
        let limits = config.limits()?;
        let StreamableConfig { clock, stopping, stopped, after_burst, .. } = config;
        Ok(Streamable {
            sessions: OpenSessions::new(limits, clock),
            endpoints: Arc::default(),
            stopping,
            stopped,
            after_burst,
        })
    }

    /// An endpoint for one path. Sessions belong to the variant they began at. `headers` go with every answer; their
    /// names are in small letters.
    pub fn endpoint<H>(
        &self,
        variants: Vec<Variant<H>>,
        headers: Vec<(&'static str, &'static str)>,
    ) -> Endpoint<H>
    where
        H: ServerHandler + Direct + Clone + Send + Sync + 'static,
    {
        Endpoint::new(self, variants, headers)
    }

    /// Ends sessions whose time is over and puts idle ones to sleep, until the server has stopped; then ends them all.
    pub async fn look_after_sessions(self) {
        let interval = self.sessions.sweep_interval();
        while self.stopped.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            if self.sessions.sweep() >= BURST {
                (self.after_burst)();
            }
        }
        self.sessions.close_all();
    }

    /// The sessions that are open, with the newest of them.
    pub fn sessions_seen(&self, most: usize) -> SessionsSeen {
        self.sessions.seen(most)
    }

    fn next_endpoint(&self) -> usize {
        self.endpoints.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d118_zero_inactivity_means_a_day() {
        let config = StreamableConfig { session_inactivity: Duration::ZERO, ..StreamableConfig::default() };
        assert_eq!(config.limits().unwrap().inactivity, DEFAULT_INACTIVITY);
    }

    #[test]
    fn d119_zero_lifetime_means_no_limit_and_a_short_one_is_refused() {
        let mut config =
            StreamableConfig { session_max_lifetime: Some(Duration::ZERO), ..StreamableConfig::default() };
        assert!(config.limits().unwrap().max_lifetime.is_none());
        config.session_max_lifetime = Some(Duration::from_secs(60));
        let error = config.limits().err().unwrap();
        assert!(matches!(error, SessionLimitsError::LifetimeTooShort { .. }), "{error}");
        assert!(Streamable::new(StreamableConfig { max_sessions: 0, ..Default::default() }).is_err());
    }
}
