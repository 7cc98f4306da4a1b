//! A provider as the core sees it: an address, a key, and what its requests share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{Capability, ProviderError, ProviderErrorKind, Usage, UsageMeter};
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use super::HttpCore;
use super::address::Address;
use super::call::{HttpCall, StreamItem};
use super::error_body::one_line;
use super::exchange;
use super::lane::Lane;

/// Events that wait for a slow reader.
const EVENTS_AHEAD: usize = 64;

/// What is not allowed by the configuration is not allowed for as long as the process lives; what waits for it stays.
const WHILE_BLOCKED: Duration = Duration::from_secs(3600);

/// How a provider wants the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// A header of its own that holds nothing but the key.
    Named(&'static str),
}

pub(crate) struct EndpointSettings {
    /// Its name in the configuration and in errors.
    pub(crate) provider: String,
    pub(crate) address: Address,
    pub(crate) key: Option<SecretString>,
    pub(crate) key_header: KeyHeader,
    /// Requests under way at the same time.
    pub(crate) requests: usize,
    pub(crate) meter: Option<Arc<dyn UsageMeter>>,
}

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct ProviderEndpoint {
    pub(super) core: Arc<HttpCore>,
    pub(super) shared: Arc<EndpointShared>,
}

pub(super) struct EndpointShared {
    pub(super) provider: String,
    pub(super) address: Address,
    pub(super) key: Option<SecretString>,
    pub(super) key_header: Option<(HeaderName, HeaderValue)>,
    pub(super) lane: Arc<Lane>,
    /// Why no request is ever sent.
    pub(super) blocked: Option<ProviderErrorKind>,
    meter: Option<Arc<dyn UsageMeter>>,
}

impl ProviderEndpoint {
    pub(crate) fn new(core: Arc<HttpCore>, settings: EndpointSettings) -> ProviderEndpoint {
        let EndpointSettings { provider, address, key, key_header, requests, meter } = settings;
        let key = key.filter(|key| !key.expose_secret().trim().is_empty());
        let mut blocked = None;
        if !core.admit_host(&address) {
            let reason = format!("{} is not among the hosts that may be reached", address.host());
            blocked = Some(ProviderErrorKind::Paused { after: WHILE_BLOCKED, reason });
        }
        let key_header = key.as_ref().and_then(|key| match key_header.encode(key) {
            Some(header) => Some(header),
            None => {
                // A line break or the like: no request can carry it.
                blocked = Some(ProviderErrorKind::Auth);
                None
            }
        });
        // What has no key costs nothing.
        let meter = meter.filter(|_| key.is_some());
        let lane = Lane::new(requests);
        let shared = EndpointShared { provider, address, key, key_header, lane, blocked, meter };
        ProviderEndpoint { core, shared: Arc::new(shared) }
    }

    pub(crate) fn provider(&self) -> &str {
        &self.shared.provider
    }

    pub(crate) fn address(&self) -> &Address {
        &self.shared.address
    }

    pub(crate) fn sends_key_in_the_clear(&self) -> bool {
        let address = &self.shared.address;
        self.shared.key.is_some() && !address.is_https() && !address.is_loopback()
    }

    /// Asks the meter whether the provider may be used for one call.
    pub(crate) fn admit(&self, capability: Capability) -> Result<MeteredCall, ProviderError> {
        self.admit_pages(capability, 0)
    }

    /// The same for a call that so many pages are paid for.
    pub(crate) fn admit_pages(
        &self,
        capability: Capability,
        pages: usize,
    ) -> Result<MeteredCall, ProviderError> {
        let wanted = Usage { calls: 1, pages: pages as u64, ..Usage::default() };
        if let Some(meter) = &self.shared.meter {
            meter.reserve(&self.shared.provider, capability, wanted)?;
        }
        Ok(MeteredCall { shared: Arc::clone(&self.shared), capability, wanted })
    }

    /// Pages that the user's limits leave for today.
    pub(crate) fn pages_left(&self) -> Option<u64> {
        self.shared.meter.as_ref().and_then(|meter| meter.pages_left())
    }

    /// An error of this provider, without its key.
    pub(crate) fn error(&self, kind: ProviderErrorKind) -> ProviderError {
        ProviderError::new(&self.shared.provider, self.shared.cleaned(kind))
    }

    pub(crate) fn bad_answer(&self, reason: impl Into<String>) -> ProviderError {
        self.error(ProviderErrorKind::BadAnswer { reason: reason.into() })
    }

    /// Sends the request and reads the whole answer.
    pub(crate) async fn bytes(&self, call: HttpCall) -> Result<Bytes, ProviderError> {
        let (core, shared) = (Arc::clone(&self.core), Arc::clone(&self.shared));
        let deadline = call.deadline;
        let work = async move {
            let exchange = exchange::whole(&core, &shared, &call);
            tokio::time::timeout(deadline, exchange).await.unwrap_or_else(|_| Err(too_late(deadline)))
        };
        let result = self.core.runtime.run(work).await;
        result.unwrap_or_else(|| Err(shutting_down())).map_err(|kind| self.error(kind))
    }

    /// Sends a text of so many characters to be read aloud, and reads the sound.
    pub(crate) async fn spoken(
        &self,
        call: HttpCall,
        metered: MeteredCall,
        model: &str,
        characters: usize,
    ) -> Result<Bytes, ProviderError> {
        let sound = self.bytes(call).await?;
        if sound.is_empty() {
            return Err(self.bad_answer("there is no sound in it"));
        }
        let used = Usage { characters: characters as u64, ..Usage::default() };
        metered.record(model, used);
        Ok(sound)
    }

    /// Sends the request and reads the answer as JSON of a certain shape.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: HttpCall) -> Result<T, ProviderError> {
        let answer = self.bytes(call).await?;
        self.parse(&answer)
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, ProviderError> {
        serde_json::from_slice(answer).map_err(|error| self.bad_answer(one_line(&error.to_string())))
    }

    /// Sends the request and gives the parts of the answer to `on_item` as they arrive, until it says `true` (no more is
    /// needed). Returns whether it did.
    pub(crate) async fn stream(
        &self,
        call: HttpCall,
        on_item: &mut (dyn FnMut(StreamItem) -> Result<bool, ProviderErrorKind> + Send),
    ) -> Result<bool, ProviderError> {
        let (core, shared) = (Arc::clone(&self.core), Arc::clone(&self.shared));
        let (sender, mut receiver) = tokio::sync::mpsc::channel(EVENTS_AHEAD);
        let deadline = call.deadline;
        let work = async move {
            let exchange = exchange::streamed(&core, &shared, &call, sender);
            tokio::time::timeout(deadline, exchange).await.unwrap_or_else(|_| Err(too_late(deadline)))
        };
        // The reader runs where the connection lives; the callback runs here, in the caller's own future.
        let running = self.core.runtime.run(work);
        while let Some(item) = receiver.recv().await {
            if on_item(item).map_err(|kind| self.error(kind))? {
                return Ok(true);
            }
        }
        let result = running.await.unwrap_or_else(|| Err(shutting_down()));
        result.map_err(|kind| self.error(kind))?;
        Ok(false)
    }
}

/// Permission for one call that may cost something. What was set aside for it is free again when it ends.
pub(crate) struct MeteredCall {
    shared: Arc<EndpointShared>,
    capability: Capability,
    wanted: Usage,
}

impl MeteredCall {
    /// Writes down what the answered call used.
    pub(crate) fn record(self, model: &str, used: Usage) {
        if let Some(meter) = &self.shared.meter {
            meter.record(&self.shared.provider, model, self.capability, Usage { calls: 1, ..used });
        }
    }
}

impl Drop for MeteredCall {
    fn drop(&mut self) {
        if let Some(meter) = &self.shared.meter {
            meter.release(self.wanted);
        }
    }
}

impl EndpointShared {
    /// Without the key, should a provider have repeated it.
    pub(super) fn cleaned(&self, kind: ProviderErrorKind) -> ProviderErrorKind {
        let Some(key) = &self.key else { return kind };
        let clean = |text: String| text.replace(key.expose_secret().trim(), "****");
        match kind {
            ProviderErrorKind::Refused { reason } => ProviderErrorKind::Refused { reason: clean(reason) },
            ProviderErrorKind::Unreachable { reason } => {
                ProviderErrorKind::Unreachable { reason: clean(reason) }
            }
            ProviderErrorKind::BadAnswer { reason } => ProviderErrorKind::BadAnswer { reason: clean(reason) },
            ProviderErrorKind::Paused { after, reason } => {
                ProviderErrorKind::Paused { after, reason: clean(reason) }
            }
            other @ (ProviderErrorKind::Auth | ProviderErrorKind::RateLimited { .. }) => other,
        }
    }
}

impl KeyHeader {
    fn encode(self, key: &SecretString) -> Option<(HeaderName, HeaderValue)> {
        let key = key.expose_secret().trim();
        let (name, value) = match self {
            KeyHeader::Bearer => {
                (reqwest::header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")))
            }
            KeyHeader::Named(name) => (HeaderName::from_static(name), HeaderValue::from_str(key)),
        };
        let mut value = value.ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }
}

impl fmt::Debug for ProviderEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderEndpoint")
            .field("provider", &self.shared.provider)
            .field("address", &self.shared.address.as_str())
            .finish_non_exhaustive()
    }
}

fn too_late(deadline: Duration) -> ProviderErrorKind {
    ProviderErrorKind::Unreachable { reason: format!("none within {} s", deadline.as_secs_f32()) }
}

fn shutting_down() -> ProviderErrorKind {
    ProviderErrorKind::Unreachable { reason: "the program is ending".to_owned() }
}
