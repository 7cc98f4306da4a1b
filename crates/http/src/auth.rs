//! Who may come in: bearer tokens, compared in constant time and never kept or printed in the clear.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use crate::errors::HttpError;

#[derive(Debug, Clone)]
pub enum Auth {
    /// Everybody is the same anonymous caller.
    None,
    Bearer(Vec<Credential>),
}

/// A token and the name its bearer goes by in sessions, audit lines and logs.
#[derive(Debug, Clone)]
pub struct Credential {
    pub identity: String,
    pub token: SecretToken,
}

/// A secret that prints as `****`.
#[derive(Clone)]
pub struct SecretToken(String);

impl Auth {
    /// The usual case: one token.
    pub fn bearer(token: SecretToken) -> Auth {
        Auth::Bearer(vec![Credential { identity: "bearer".into(), token }])
    }

    pub(crate) fn check(&self) -> Result<(), HttpError> {
        let Auth::Bearer(credentials) = self else { return Ok(()) };
        if credentials.is_empty() {
            return Err(HttpError::config("auth", "no token is configured"));
        }
        for Credential { identity, token } in credentials {
            if token.0.is_empty() || !token.0.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(HttpError::config(
                    "auth",
                    format!("the token of {identity:?} must be one line of visible ASCII characters"),
                ));
            }
        }
        Ok(())
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

/// Decides who sent a request. Holds digests only, so that comparing takes the same time for every guess, whatever
/// its length.
pub(crate) struct Gate {
    /// Empty when nobody needs a credential.
    known: Vec<([u8; 32], Arc<str>)>,
    anonymous: Arc<str>,
}

impl Gate {
    pub(crate) fn new(auth: &Auth) -> Gate {
        let known = match auth {
            Auth::None => Vec::new(),
            Auth::Bearer(credentials) => credentials
                .iter()
                .map(|credential| {
                    (digest(credential.token.0.as_bytes()), credential.identity.as_str().into())
                })
                .collect(),
        };
        Gate { known, anonymous: "anonymous".into() }
    }

    pub(crate) fn identify(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        if self.known.is_empty() {
            return Some(self.anonymous.clone());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        // Two credentials are no credential: whoever reads the other one would see another caller.
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let presented = digest(bearer_token(value.as_bytes())?);
        let mut found = None;
        for (known, identity) in &self.known {
            if bool::from(known.ct_eq(&presented)) {
                found = Some(identity);
            }
        }
        found.cloned()
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    *blake3::hash(token).as_bytes()
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

    fn gate() -> Gate {
        Gate::new(&Auth::Bearer(vec![
            Credential { identity: "one".into(), token: SecretToken::new("alpha") },
            Credential { identity: "two".into(), token: SecretToken::new("beta") },
        ]))
    }

    fn ask(values: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        gate().identify(&headers).map(|identity| identity.to_string())
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
        let auth = Auth::bearer(SecretToken::new("alpha"));
        assert!(!format!("{auth:?} {}", SecretToken::new("alpha")).contains("alpha"));
    }

    #[test]
    fn unusable_tokens_are_refused() {
        for bad in ["", "a b", "a\n", "ü"] {
            assert!(Auth::bearer(SecretToken::new(bad)).check().is_err(), "{bad:?}");
        }
        assert!(Auth::Bearer(Vec::new()).check().is_err());
    }
}
