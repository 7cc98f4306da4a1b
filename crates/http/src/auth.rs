//! Who sent a request: bearer tokens, compared in constant time and never kept or printed in the clear.

use std::fmt;
use std::future::ready;

use futures::future::BoxFuture;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use model::{Identity, ProviderKey, TenantId};
use subtle::ConstantTimeEq;

use crate::error::HttpError;

/// Tells by the headers of a request who sent it. It may ask elsewhere, such as a store of keys.
pub trait Authenticate: Send + Sync {
    /// `None` for a request that does not prove who sent it.
    fn authenticate<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Option<Authenticated>>;

    /// Whether requests without any credential are let in.
    fn admits_anyone(&self) -> bool {
        false
    }
}

/// Who a credential belongs to, and how far it lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    pub identity: Identity,
    /// Whose files of the store it opens.
    pub tenant: Option<TenantId>,
    /// It opens nothing but the routes that are made for guests.
    pub is_guest: bool,
    /// What the caller sent for services that are called in its name.
    pub provider_key: Option<ProviderKey>,
}

/// In the extensions of a request whose credential opens nothing but the routes that are made for guests.
#[derive(Debug, Clone, Copy)]
pub struct Guest;

impl From<Identity> for Authenticated {
    fn from(identity: Identity) -> Authenticated {
        Authenticated { identity, tenant: None, is_guest: false, provider_key: None }
    }
}

/// Everybody is the same anonymous caller.
pub struct Anonymous(Identity);

/// A fixed list of tokens. Holds digests only, so that comparing takes the same time for every guess, whatever its
/// length.
pub struct BearerTokens {
    known: Vec<([u8; 32], Identity)>,
}

/// A token and the name its bearer goes by in sessions, audit lines and logs.
#[derive(Debug, Clone)]
pub struct Credential {
    pub identity: Identity,
    pub token: SecretToken,
}

/// A secret that prints as `****`.
#[derive(Clone)]
pub struct SecretToken(String);

impl Default for Anonymous {
    fn default() -> Anonymous {
        Anonymous(Identity::new("anonymous"))
    }
}

impl Authenticate for Anonymous {
    fn authenticate<'a>(&'a self, _: &'a HeaderMap) -> BoxFuture<'a, Option<Authenticated>> {
        Box::pin(ready(Some(self.0.clone().into())))
    }

    fn admits_anyone(&self) -> bool {
        true
    }
}

impl BearerTokens {
    pub fn new(credentials: &[Credential]) -> Result<BearerTokens, HttpError> {
        if credentials.is_empty() {
            return Err(HttpError::config("auth", "no token is configured"));
        }
        for Credential { identity, token } in credentials {
            if token.0.is_empty() || !token.0.bytes().all(|byte| byte.is_ascii_graphic()) {
                let identity = identity.as_str();
                return Err(HttpError::config(
                    "auth",
                    format!("the token of {identity:?} must be one line of visible ASCII characters"),
                ));
            }
        }
        let known = credentials
            .iter()
            .map(|credential| (digest(credential.token.0.as_bytes()), credential.identity.clone()))
            .collect();
        Ok(BearerTokens { known })
    }

    /// The usual case: one token.
    pub fn one(token: SecretToken) -> Result<BearerTokens, HttpError> {
        BearerTokens::new(&[Credential { identity: Identity::new("bearer"), token }])
    }

    fn identify(&self, headers: &HeaderMap) -> Option<Identity> {
        let presented = digest(presented_token(headers)?);
        let mut found = None;
        for (known, identity) in &self.known {
            if bool::from(known.ct_eq(&presented)) {
                found = Some(identity);
            }
        }
        found.cloned()
    }
}

impl Authenticate for BearerTokens {
    fn authenticate<'a>(&'a self, headers: &'a HeaderMap) -> BoxFuture<'a, Option<Authenticated>> {
        Box::pin(ready(self.identify(headers).map(Authenticated::from)))
    }
}

impl SecretToken {
    pub fn new(token: impl Into<String>) -> SecretToken {
        SecretToken(token.into())
    }
}

impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Display for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    *blake3::hash(token).as_bytes()
}

/// The header in which a caller hands over its own key for services that are called in its name.
pub const PROVIDER_KEY: HeaderName = HeaderName::from_static("x-provider-key");

/// The longest key that is taken.
const PROVIDER_KEY_BYTES: usize = 4096;

/// The caller's own key for such services.
pub fn presented_provider_key(headers: &HeaderMap) -> Option<ProviderKey> {
    let mut values = headers.get_all(PROVIDER_KEY).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let key = value.to_str().ok()?.trim();
    (!key.is_empty() && key.len() <= PROVIDER_KEY_BYTES).then(|| ProviderKey::new(key))
}

/// The bearer token of a request, for those who look it up elsewhere.
pub fn presented_token(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    // Two credentials count as none: a proxy in front may have read the other one, and seen another caller.
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    bearer_token(value.as_bytes())
}

fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Bearer ") {
        return None;
    }
    let token = token.trim_ascii();
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn credential(identity: &str, token: &str) -> Credential {
        Credential { identity: Identity::new(identity), token: SecretToken::new(token) }
    }

    fn ask(values: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        let tokens = BearerTokens::new(&[credential("one", "alpha"), credential("two", "beta")]).unwrap();
        tokens.identify(&headers).map(|identity| identity.to_string())
    }

    #[test]
    fn d125_bearer_forms() {
        assert_eq!(ask(&[b"Bearer alpha"]).as_deref(), Some("one"));
        assert_eq!(ask(&[b"bEARER   beta "]).as_deref(), Some("two"));
        let refused: [&[&[u8]]; 10] = [
            &[],
            &[b""],
            &[b"Bearer"],
            &[b"Bearer "],
            &[b"Bearer alph"],
            &[b"Bearer alphaa"],
            &[b"Bearer ALPHA"],
            &[b"Basic alpha"],
            &[b"Bearer alpha", b"Bearer alpha"],
            &[b"Bearer \xff\xfe"],
        ];
        for values in refused {
            assert_eq!(ask(values), None, "{values:?}");
        }
    }

    #[test]
    fn a_token_prints_as_stars() {
        let credential = credential("one", "alpha");
        assert!(!format!("{credential:?} {}", credential.token).contains("alpha"));
    }

    #[test]
    fn unusable_tokens_are_refused() {
        for bad in ["", "a b", "a\n", "ü"] {
            assert!(BearerTokens::one(SecretToken::new(bad)).is_err(), "{bad:?}");
        }
        assert!(BearerTokens::new(&[]).is_err());
    }
}
