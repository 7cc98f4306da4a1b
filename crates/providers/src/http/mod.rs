//! One HTTP client for all providers: connections, deadlines, repetition, limits and what may be reached.
//!
//! A provider makes an [`ProviderEndpoint`] of its base URL and key, and each request is a [`HttpCall`]. What comes back is either what was
//! asked for or a `ProviderErrorKind`; no text of it holds the key.

mod address;
mod breaker;
mod call;
mod endpoint;
mod error_body;
mod exchange;
mod lane;
mod retry;
mod sse;
#[cfg(test)]
mod tests;
mod timer;
mod tls;

use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use reqwest::{Client, Url, redirect};

pub(crate) use address::Address;
pub use address::AddressError;
pub(crate) use call::{FormField, HttpCall, StreamItem};
pub(crate) use endpoint::{EndpointSettings, KeyHeader, ProviderEndpoint};
pub use retry::RetryPolicy;
pub use timer::{HttpTimer, SystemTimer};

use crate::runtime::ProviderRuntime;

/// Until a connection is made.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// Connections that are kept open without being used.
const IDLE_CONNECTIONS: usize = 8;

/// How the client behaves towards all providers.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub retry: RetryPolicy,
    pub timer: Arc<dyn HttpTimer>,
    /// Use the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name. Loopback is always reached directly.
    pub use_system_proxies: bool,
    /// Hosts that may be reached at all; without a list it is the hosts of the base URLs that are configured.
    pub allowed_hosts: Option<Vec<String>>,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            retry: RetryPolicy::default(),
            timer: Arc::new(SystemTimer::default()),
            use_system_proxies: true,
            allowed_hosts: None,
        }
    }
}

/// The client that all providers of a process share.
pub struct HttpCore {
    runtime: Arc<ProviderRuntime>,
    /// For this machine.
    direct: Client,
    /// For other machines.
    outward: Client,
    settings: HttpSettings,
    /// The hosts of all endpoints: nothing else is ever sent a request.
    hosts: RwLock<Vec<(String, u16)>>,
    /// Why no certificate can be checked.
    certificate_problem: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpCoreError {
    #[error("the threads for providers could not be started: {0}")]
    Threads(#[from] io::Error),
    #[error("encryption could not be set up: {0}")]
    Encryption(#[from] rustls::Error),
    #[error("the HTTP client could not be set up: {0}")]
    Client(#[from] reqwest::Error),
}

impl HttpCore {
    pub fn new(settings: HttpSettings) -> Result<Arc<HttpCore>, HttpCoreError> {
        HttpCore::on(ProviderRuntime::new()?, settings)
    }

    /// With threads that others use, too.
    pub fn on(runtime: Arc<ProviderRuntime>, settings: HttpSettings) -> Result<Arc<HttpCore>, HttpCoreError> {
        let (config, certificate_problem) = tls::client_config()?;
        let builder = || {
            Client::builder()
                .tls_backend_preconfigured(config.clone())
                // A redirect could carry the key to another host. No provider needs one.
                .redirect(redirect::Policy::none())
                .connect_timeout(CONNECT_DEADLINE)
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .user_agent(concat!("dir2mcp/", env!("CARGO_PKG_VERSION")))
        };
        let outward = if settings.use_system_proxies { builder() } else { builder().no_proxy() };
        Ok(Arc::new(HttpCore {
            runtime,
            direct: builder().no_proxy().build()?,
            outward: outward.build()?,
            settings,
            hosts: RwLock::default(),
            certificate_problem,
        }))
    }

    pub fn runtime(&self) -> &Arc<ProviderRuntime> {
        &self.runtime
    }

    fn client(&self, address: &Address) -> &Client {
        if address.is_loopback() { &self.direct } else { &self.outward }
    }

    fn timer(&self) -> &Arc<dyn HttpTimer> {
        &self.settings.timer
    }

    /// From now on this host may be reached, if the user's own list names it or there is no such list.
    fn admit_host(&self, address: &Address) -> bool {
        let host = address.host();
        let is_listed = |listed: &String| listed.eq_ignore_ascii_case(host);
        if self.settings.allowed_hosts.as_ref().is_some_and(|allowed| !allowed.iter().any(is_listed)) {
            return false;
        }
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        hosts.push((host.to_owned(), address.port()));
        true
    }

    /// The last check before a request leaves.
    fn may_reach(&self, url: &Url) -> bool {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        let port = url.port_or_known_default();
        hosts.iter().any(|(host, known)| Some(host.as_str()) == url.host_str() && Some(*known) == port)
    }
}

impl fmt::Debug for HttpCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCore").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}
