//! A service that is called over HTTP, and the user's account with it.

use std::sync::Arc;

use model::UsageMeter;
use secrecy::SecretString;

use crate::http::{Address, AddressError, EndpointSettings, HttpCore, KeyHeader, ProviderEndpoint};

/// What is the user's own of a service.
#[derive(Clone, Default)]
pub struct ServiceAccount {
    /// A server on this machine often needs none.
    pub key: Option<SecretString>,
    /// Another address than the service's own.
    pub base_url: Option<String>,
    pub meter: Option<Arc<dyn UsageMeter>>,
}

/// What all accounts with a service have in common.
pub(crate) struct ServiceFacts {
    /// Its name in the configuration and in errors.
    pub(crate) name: &'static str,
    pub(crate) base_url: &'static str,
    /// The address that requests are made to, by the one that the user wrote.
    pub(crate) address: fn(Address) -> Address,
    pub(crate) key_header: KeyHeader,
    /// Requests under way at the same time.
    pub(crate) requests: usize,
}

impl ServiceAccount {
    pub(crate) fn endpoint(
        self,
        service: &ServiceFacts,
        core: Arc<HttpCore>,
    ) -> Result<ProviderEndpoint, AddressError> {
        let written = Address::parse(self.base_url.as_deref().unwrap_or(service.base_url))?;
        let settings = EndpointSettings {
            provider: service.name.to_owned(),
            address: (service.address)(written),
            key: self.key,
            key_header: service.key_header,
            requests: service.requests,
            meter: self.meter,
        };
        Ok(ProviderEndpoint::new(core, settings))
    }
}
