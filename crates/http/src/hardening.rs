//! Headers that keep an answer from being cached, sniffed or embedded where it should not be.

use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What a route adds to every answer. The default forbids caching and sniffing.
#[derive(Debug, Clone)]
pub struct Hardening {
    cache_control: HeaderValue,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Default for Hardening {
    fn default() -> Hardening {
        Hardening {
            cache_control: NO_STORE,
            headers: vec![(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))],
        }
    }
}

impl Hardening {
    /// How long answers may be kept, where they do not say so themselves. Refusals are never kept.
    #[must_use]
    pub fn cache_control(self, value: &'static str) -> Hardening {
        Hardening { cache_control: HeaderValue::from_static(value), ..self }
    }

    /// A header of every answer, such as a content security policy. The name is in small letters.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Hardening {
        self.headers.push((HeaderName::from_static(name), HeaderValue::from_static(value)));
        self
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap, is_refusal: bool) {
        let cache_control = if is_refusal { NO_STORE } else { self.cache_control.clone() };
        headers.entry(CACHE_CONTROL).or_insert(cache_control);
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
    }
}
