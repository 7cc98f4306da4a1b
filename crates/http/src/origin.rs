//! The Origin header: which web pages may talk to this server.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue};

use crate::error::HttpError;
use crate::host::{Authority, Host};

/// The origins of web pages that may talk to this server.
pub struct Origins {
    allowed: Vec<AllowedOrigin>,
    /// How this server's own pages were fetched.
    own_scheme: Scheme,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedOrigin {
    scheme: Scheme,
    host: Host,
    /// `None` admits every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

/// The request comes from a page that is not allowed, or its origin cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct OriginRefused;

impl Origins {
    /// Under TLS a page of this machine is one that was fetched by HTTPS: then an allowed loopback origin is allowed with
    /// that scheme, too.
    pub fn new(entries: &[String], tls: bool) -> Result<Origins, HttpError> {
        let mut allowed: Vec<AllowedOrigin> = entries
            .iter()
            .map(|entry| {
                let text = entry.trim().trim_end_matches('/');
                let text = text.strip_suffix(":*").unwrap_or(text);
                let (scheme, Authority { host, port }) = parse(text).ok_or_else(|| {
                    HttpError::config(
                        "allowed_origins",
                        format!("{entry:?} is not of the form http://host or https://host:port"),
                    )
                })?;
                Ok(AllowedOrigin { scheme, host, port })
            })
            .collect::<Result<_, HttpError>>()?;
        if tls {
            let secure: Vec<AllowedOrigin> = allowed
                .iter()
                .filter(|origin| origin.scheme == Scheme::Http && origin.host.is_loopback())
                .map(|origin| AllowedOrigin { scheme: Scheme::Https, ..origin.clone() })
                .collect();
            allowed.extend(secure);
        }
        Ok(Origins { allowed, own_scheme: if tls { Scheme::Https } else { Scheme::Http } })
    }

    /// The allowed origin of a request from a web page that has to be told so, nothing for a request from elsewhere or from a page of
    /// this server. The Host has been checked: it names this server.
    pub fn admit(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, OriginRefused> {
        let mut values = headers.get_all(ORIGIN).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(OriginRefused);
        }
        let (scheme, asked) = value.to_str().ok().and_then(parse).ok_or(OriginRefused)?;
        let port = asked.port.unwrap_or(scheme.default_port());
        let is_allowed = self.allowed.iter().any(|allowed| {
            allowed.scheme == scheme
                && allowed.host == asked.host
                && allowed.port.is_none_or(|allowed| allowed == port)
        });
        match is_allowed {
            true => Ok(Some(value.clone())),
            false if self.is_own(scheme, &asked, headers) => Ok(None),
            false => Err(OriginRefused),
        }
    }

    /// Whether a page came from the very address that it now asks.
    fn is_own(&self, scheme: Scheme, asked: &Authority, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(Authority::parse);
        let port = |authority: &Authority| authority.port.unwrap_or(scheme.default_port());
        scheme == self.own_scheme
            && host.is_some_and(|host| host.host == asked.host && port(&host) == port(asked))
    }
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

fn parse(text: &str) -> Option<(Scheme, Authority)> {
    let (scheme, authority) = text.split_once("://")?;
    let scheme = if scheme.eq_ignore_ascii_case("http") {
        Scheme::Http
    } else if scheme.eq_ignore_ascii_case("https") {
        Scheme::Https
    } else {
        return None;
    };
    Some((scheme, Authority::parse(authority)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(origins: &Origins, value: &[u8]) -> bool {
        let headers = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_bytes(value).unwrap())]);
        origins.admit(&headers).is_ok()
    }

    #[test]
    fn d124_entry_without_port_admits_any_port() {
        let origins = Origins::new(
            &["http://localhost".into(), "http://[::1]".into(), "https://a.example:*".into()],
            false,
        )
        .unwrap();
        for good in ["http://localhost", "http://localhost:5173", "http://[::1]:8080", "https://a.example:9"]
        {
            assert!(admits(&origins, good.as_bytes()), "{good}");
        }
        assert!(!admits(&origins, b"https://localhost"));
        assert_eq!(origins.admit(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn d124_under_tls_a_page_of_this_machine_comes_by_https() {
        let entries = ["http://localhost".into(), "http://127.0.0.1:8080".into(), "http://a.example".into()];
        let origins = Origins::new(&entries, true).unwrap();
        for good in
            ["https://localhost", "https://localhost:8443", "https://127.0.0.1:8080", "http://localhost"]
        {
            assert!(admits(&origins, good.as_bytes()), "{good}");
        }
        for bad in ["https://a.example", "https://127.0.0.1:8081", "https://localhost.evil.com"] {
            assert!(!admits(&origins, bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn m8_origin_table() {
        let origins =
            Origins::new(&["http://localhost:8080".into(), "https://a.example:443".into()], false).unwrap();
        assert!(admits(&origins, b"http://localhost:8080"));
        assert!(admits(&origins, b"https://a.example"));
        let bad: [&[u8]; 18] = [
            b"",
            b"null",
            b"http://localhost",
            b"http://localhost:8081",
            b"https://localhost:8080",
            b"http://localhost.evil.com",
            b"http://localhost.evil.com:8080",
            b"http://evil.com#http://localhost:8080",
            b"http://localhost:8080@evil.com",
            b"http://localhost:8080/",
            b"http://localhost:8080 http://evil.com",
            b"http://localhost.:8080",
            b"file://",
            b"file://localhost:8080",
            b"//localhost:8080",
            b"localhost:8080",
            b"http://localhost\xff:8080",
            b"chrome-extension://localhost",
        ];
        for origin in bad {
            assert!(!admits(&origins, origin), "{}", origin.escape_ascii());
        }
        let two = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static("http://localhost:8080"))]);
        let mut two = two;
        two.append(ORIGIN, HeaderValue::from_static("http://localhost:8080"));
        assert_eq!(origins.admit(&two), Err(OriginRefused));
    }

    #[test]
    fn pages_of_this_server_are_admitted_without_being_named() {
        let admit = |tls: bool, host: &'static str, origin: &'static str| {
            let origins = Origins::new(&[], tls).unwrap();
            let headers = HeaderMap::from_iter([
                (HOST, HeaderValue::from_static(host)),
                (ORIGIN, HeaderValue::from_static(origin)),
            ]);
            origins.admit(&headers)
        };
        for (tls, host, origin) in [
            (false, "myhost:8087", "http://myhost:8087"),
            (false, "MYHOST", "http://myhost"),
            (false, "myhost:80", "http://myhost"),
            (true, "localhost:8443", "https://localhost:8443"),
            (true, "search.example.com", "https://search.example.com:443"),
            (false, "[::1]:8087", "http://[::1]:8087"),
        ] {
            assert_eq!(admit(tls, host, origin), Ok(None), "{host} {origin}");
        }
        for (tls, host, origin) in [
            (false, "myhost:8087", "https://myhost:8087"),
            (true, "myhost:8087", "http://myhost:8087"),
            (false, "myhost:8087", "http://myhost:8088"),
            (false, "myhost:8087", "http://myhost"),
            (false, "myhost:8087", "http://evil.example:8087"),
            (false, "myhost:8087", "http://myhost.evil.example:8087"),
            (false, "myhost:8087", "null"),
        ] {
            assert_eq!(admit(tls, host, origin), Err(OriginRefused), "{host} {origin}");
        }
    }

    #[test]
    fn bad_entries_are_named() {
        for bad in ["*", "null", "localhost", "ftp://x", "http://", "http://a/b"] {
            let error = Origins::new(&[bad.into()], false).err().unwrap().to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
    }
}
