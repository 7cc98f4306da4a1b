//! A caller's key in memory: it prints as `****` and is wiped when it is dropped.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// The key with which a provider is called in the caller's name.
#[derive(Clone)]
pub struct CallerCredential(SecretString);

impl CallerCredential {
    pub fn new(key: impl Into<String>) -> CallerCredential {
        CallerCredential(SecretString::from(key.into()))
    }

    /// The key itself, for the one request that carries it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// For the clients of providers, which take keys in this type.
    pub fn to_secret_string(&self) -> SecretString {
        self.0.clone()
    }
}

impl fmt::Debug for CallerCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Display for CallerCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}
