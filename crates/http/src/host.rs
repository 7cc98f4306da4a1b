//! The Host header: a name that is not ours means a browser was tricked into talking to us (DNS rebinding).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::HOST;
use http::{HeaderMap, Uri};

use crate::error::HttpError;

/// The names and addresses this server answers to.
pub struct Hosts {
    admitted: Vec<Authority>,
    /// A literal address cannot be rebound, so a server that others reach by address may take any.
    any_address: bool,
}

/// `host[:port]`; an admitted one without a port admits every port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: Host,
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// In lower case.
    Name(String),
    Address(IpAddr),
}

impl Host {
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        }
    }
}

impl Hosts {
    /// `bound` is the address of the listener, `listen_host` the host it was asked for by.
    pub fn new(listen_host: &str, bound: IpAddr, public: bool, extra: &[String]) -> Result<Hosts, HttpError> {
        let any_port = |host| Authority { host, port: None };
        let mut admitted = vec![
            any_port(Host::Name("localhost".into())),
            any_port(Host::Address(Ipv4Addr::LOCALHOST.into())),
            any_port(Host::Address(Ipv6Addr::LOCALHOST.into())),
        ];
        if let Some(Authority { host: Host::Name(name), .. }) = Authority::parse(listen_host) {
            admitted.push(any_port(Host::Name(name)));
        }
        if !bound.is_unspecified() {
            admitted.push(any_port(Host::Address(bound.to_canonical())));
        }
        for entry in extra {
            admitted.push(Authority::parse(entry).ok_or_else(|| {
                HttpError::config("allowed_hosts", format!("{entry:?} is not of the form host or host:port"))
            })?);
        }
        Ok(Hosts { admitted, any_address: public || bound.is_unspecified() })
    }

    /// Exactly one Host, ours; an absolute request target must say the same.
    pub fn admit(&self, target: &Uri, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Ok(host) = value.to_str() else { return false };
        if let Some(authority) = target.authority()
            && !authority.as_str().eq_ignore_ascii_case(host)
        {
            return false;
        }
        Authority::parse(host).is_some_and(|authority| self.admits(&authority))
    }

    fn admits(&self, asked: &Authority) -> bool {
        let listed = self
            .admitted
            .iter()
            .any(|ours| ours.host == asked.host && (ours.port.is_none() || ours.port == asked.port));
        listed
            || (self.any_address && matches!(asked.host, Host::Address(address) if !address.is_unspecified()))
    }
}

impl Authority {
    /// Strict: no user, no trailing dot, no abbreviated or octal address, nothing but a host and a port.
    pub(crate) fn parse(text: &str) -> Option<Authority> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            let address: Ipv6Addr = address.parse().ok()?;
            let port = match rest {
                "" => None,
                _ => Some(parse_port(rest.strip_prefix(':')?)?),
            };
            return Some(Authority { host: Host::Address(IpAddr::V6(address).to_canonical()), port });
        }
        let (host, port) = match text.split_once(':') {
            None => (text, None),
            Some((host, port)) => (host, Some(parse_port(port)?)),
        };
        let host = match host.parse::<Ipv4Addr>() {
            Ok(address) => Host::Address(address.into()),
            Err(_) if is_name(host) => Host::Name(host.to_ascii_lowercase()),
            Err(_) => return None,
        };
        Some(Authority { host, port })
    }
}

fn parse_port(text: &str) -> Option<u16> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A last label of digits only would be read as an address by some.
fn is_name(host: &str) -> bool {
    let mut last = "";
    for label in host.split('.') {
        if label.is_empty()
            || !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        {
            return false;
        }
        last = label;
    }
    !last.bytes().all(|byte| byte.is_ascii_digit()) && !last.starts_with("0x")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn admit(hosts: &Hosts, values: &[&[u8]], target: &str) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HOST, HeaderValue::from_bytes(value).unwrap());
        }
        hosts.admit(&target.parse().unwrap(), &headers)
    }

    #[test]
    fn m7_host_table() {
        let hosts = Hosts::new("127.0.0.1", Ipv4Addr::LOCALHOST.into(), false, &[]).unwrap();
        let good: [&[u8]; 8] = [
            b"127.0.0.1:8080",
            b"127.0.0.1",
            b"localhost",
            b"localhost:1",
            b"LOCALHOST:8080",
            b"[::1]:8080",
            b"[::1]",
            b"[0:0:0:0:0:0:0:1]:8080",
        ];
        for host in good {
            assert!(admit(&hosts, &[host], "/mcp"), "{}", host.escape_ascii());
        }
        let bad: [&[u8]; 27] = [
            b"",
            b"evil.example",
            b"evil:8080",
            b"127.0.0.1.nip.io",
            b"localhost.evil.com",
            b"localhost.",
            b"localhost.:8080",
            b"evil@localhost",
            b"localhost@evil",
            b"localhost:8080@evil",
            b"localhost:",
            b"localhost:0x50",
            b"localhost:99999",
            b"localhost:80:80",
            b"localhost/",
            b" localhost",
            b"127.0.0.1, evil",
            b"127.1",
            b"0177.0.0.1",
            b"0x7f.0.0.1",
            b"2130706433",
            b"0.0.0.0:8080",
            b"127.0.0.2:8080",
            b"[::]:8080",
            b"[::1",
            b"[fe80::1%25lo]",
            b"loc\xc3\xa4lhost",
        ];
        for host in bad {
            assert!(!admit(&hosts, &[host], "/mcp"), "{}", host.escape_ascii());
        }
        assert!(!admit(&hosts, &[], "/mcp"));
        assert!(!admit(&hosts, &[b"localhost", b"localhost"], "/mcp"));
        assert!(!admit(&hosts, &[b"localhost", b"evil.example"], "/mcp"));
        assert!(admit(&hosts, &[b"localhost:1"], "http://localhost:1/mcp"));
        assert!(!admit(&hosts, &[b"localhost:1"], "http://evil.example/mcp"));
        assert!(!admit(&hosts, &[b"evil.example"], "http://localhost/mcp"));
    }

    #[test]
    fn m22_public_servers_take_addresses_and_named_hosts_only() {
        let extra = ["mcp.example.com".to_owned(), "other.example:8443".to_owned()];
        let hosts = Hosts::new("0.0.0.0", Ipv4Addr::UNSPECIFIED.into(), true, &extra).unwrap();
        for host in ["203.0.113.7:80", "[2001:db8::1]", "MCP.example.com:9", "other.example:8443"] {
            assert!(admit(&hosts, &[host.as_bytes()], "/mcp"), "{host}");
        }
        for host in ["example.com", "0.0.0.0", "[::]:1", "other.example", "other.example:1"] {
            assert!(!admit(&hosts, &[host.as_bytes()], "/mcp"), "{host}");
        }
        assert!(Hosts::new("", Ipv4Addr::LOCALHOST.into(), true, &["http://x".into()]).is_err());
    }
}
