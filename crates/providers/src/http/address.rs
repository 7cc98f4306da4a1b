//! Where a provider is: its base URL, checked.

use std::net::IpAddr;

use reqwest::Url;

/// Why a base URL cannot be used. The texts name no part of the URL that may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("is not a URL such as https://host/v1")]
    NotAUrl,
    #[error("begins with {0}, where only https and http are possible")]
    Scheme(String),
    #[error("holds a user name or password; give the key in its own setting")]
    HasCredentials,
    #[error("has a query or a fragment, which a base URL cannot have")]
    HasQuery,
}

/// A base URL without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(Url);

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Address, AddressError> {
        let mut url = Url::parse(text.trim()).map_err(|_| AddressError::NotAUrl)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::NotAUrl);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::HasCredentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(AddressError::HasQuery);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Address(url))
    }

    /// The same address with `version` as its last part: people give base URLs with and without it.
    pub(crate) fn with_version(mut self, version: &str) -> Address {
        let path = self.0.path().trim_end_matches('/').to_owned();
        if !path.ends_with(&format!("/{version}")) {
            self.0.set_path(&format!("{path}/{version}"));
        }
        self
    }

    /// The same address without `version` at its end.
    pub(crate) fn without_version(mut self, version: &str) -> Address {
        let path = self.0.path().trim_end_matches('/').to_owned();
        if let Some(shorter) = path.strip_suffix(&format!("/{version}")) {
            self.0.set_path(shorter);
        }
        self
    }

    /// Whether there is nothing behind the host.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self.0.path(), "" | "/")
    }

    /// The URL of a path below it. Parts are separated by slashes and encoded one by one.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(path.split('/'));
        }
        url
    }

    /// As it stands in a URL: an IPv6 address has brackets.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is this machine, by name or number.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        let is_name = host.eq_ignore_ascii_case("localhost") || host.ends_with(".localhost");
        is_name || host.parse().is_ok_and(|number: IpAddr| number.is_loopback())
    }

    pub(crate) fn is_same_origin(&self, url: &Url) -> bool {
        self.0.scheme() == url.scheme()
            && self.0.host_str() == url.host_str()
            && self.0.port_or_known_default() == url.port_or_known_default()
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn versions_may_be_given_or_left_out() {
        for text in ["https://api.example", "https://api.example/", "https://api.example/v1/"] {
            let url = address(text).without_version("v1").join("v1/models");
            assert_eq!(url.as_str(), "https://api.example/v1/models");
            assert_eq!(
                address(text).with_version("v1").join("models").as_str(),
                "https://api.example/v1/models"
            );
        }
        let behind_a_prefix = address("http://127.0.0.1:8080/openai/v1");
        assert_eq!(behind_a_prefix.join("embeddings").as_str(), "http://127.0.0.1:8080/openai/v1/embeddings");
        assert!(!behind_a_prefix.is_bare() && address("http://localhost:1").is_bare());
    }

    #[test]
    fn a_part_of_a_path_cannot_lead_elsewhere() {
        let base = address("https://api.example/v1");
        assert_eq!(base.join("voices/a?b#c d").as_str(), "https://api.example/v1/voices/a%3Fb%23c%20d");
    }

    #[test]
    fn loopback_by_name_and_number() {
        for text in ["http://localhost:1", "http://127.0.0.9", "http://[::1]:9/v1", "http://x.localhost"] {
            assert!(address(text).is_loopback(), "{text}");
        }
        for text in ["https://api.mistral.ai", "http://localhost.example", "http://192.168.1.2"] {
            assert!(!address(text).is_loopback(), "{text}");
        }
    }

    #[test]
    fn what_is_no_base_url() {
        for (text, error) in [
            ("api.example/v1", AddressError::NotAUrl),
            ("", AddressError::NotAUrl),
            ("file:///etc/passwd", AddressError::Scheme("file".into())),
            ("https://someone:fixture@host", AddressError::HasCredentials),
            ("https://host/v1?key=fixture", AddressError::HasQuery),
        ] {
            assert_eq!(Address::parse(text), Err(error), "{text}");
        }
    }
}
