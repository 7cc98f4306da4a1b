//! Who asks.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::TenantId;

/// The party behind an engine call, for audit lines and limits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    pub via: Via,
    /// Whose credential it was; the command line and a parent process have none.
    pub identity: Option<Identity>,
    /// Where an HTTP client is.
    pub address: Option<IpAddr>,
    /// Whose files of the store it sees; `None` sees none.
    pub tenant: Option<TenantId>,
    /// The caller's own key for services that are called in its name; only where the operator configured such services.
    pub provider_key: Option<ProviderKey>,
}

/// A key for a service, on its way from the caller to the request that carries it. It prints as `****`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProviderKey(Arc<str>);

/// The door through which a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// The command line, run by whoever owns the directory.
    Cli,
    /// The parent process on the other end of stdin.
    Stdio,
    Http,
}

/// The label of a credential, never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity(Arc<str>);

impl Caller {
    pub fn cli() -> Caller {
        Caller { via: Via::Cli, identity: None, address: None, tenant: None, provider_key: None }
    }

    pub fn stdio() -> Caller {
        Caller { via: Via::Stdio, identity: None, address: None, tenant: None, provider_key: None }
    }

    pub fn http(identity: Identity, address: IpAddr) -> Caller {
        Caller {
            via: Via::Http,
            identity: Some(identity),
            address: Some(address),
            tenant: None,
            provider_key: None,
        }
    }

    /// The same caller, to whom this tenant's files of the store belong.
    #[must_use]
    pub fn of_tenant(self, tenant: Option<TenantId>) -> Caller {
        Caller { tenant, ..self }
    }

    /// The same caller, with a key for services that are called in its name.
    #[must_use]
    pub fn with_provider_key(self, provider_key: Option<ProviderKey>) -> Caller {
        Caller { provider_key, ..self }
    }

    /// An HTTP client of which the server in front told nothing.
    pub fn unknown() -> Caller {
        Caller { via: Via::Http, identity: None, address: None, tenant: None, provider_key: None }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.via {
            Via::Cli => return f.write_str("cli"),
            Via::Stdio => return f.write_str("stdio"),
            Via::Http => {}
        }
        write!(f, "http:{}@", self.identity.as_ref().map_or("unknown", Identity::as_str))?;
        match self.address {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("unknown"),
        }
    }
}

impl ProviderKey {
    pub fn new(key: impl Into<Arc<str>>) -> ProviderKey {
        ProviderKey(key.into())
    }

    /// The key itself, for the one request that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl Identity {
    pub fn new(label: impl Into<Arc<str>>) -> Identity {
        Identity(label.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_shown_as_audit_lines_show_them() {
        assert_eq!(Caller::cli().to_string(), "cli");
        assert_eq!(Caller::stdio().to_string(), "stdio");
        let address = "127.0.0.1".parse().unwrap();
        assert_eq!(Caller::http(Identity::new("bearer"), address).to_string(), "http:bearer@127.0.0.1");
        assert_eq!(Caller::unknown().to_string(), "http:unknown@unknown");
        let keyed = Caller::unknown().with_provider_key(Some(ProviderKey::new("sk-secret")));
        assert!(!format!("{keyed} {keyed:?}").contains("sk-secret"));
    }
}
