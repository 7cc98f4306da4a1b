//! Headers that decide who is let in: Host, Origin, X-Forwarded-For and Authorization.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use dir2mcp_http::{Authenticate, BearerTokens, Hosts, Network, Origins, SecretToken, client_address};
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

const TOKEN: &str = "alpha";

/// Every line of the input is one value of the header.
pub(crate) fn check(variant: usize, bytes: &[u8]) {
    let name = [HOST, ORIGIN, HeaderName::from_static("x-forwarded-for"), AUTHORIZATION][variant].clone();
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(name.clone(), value);
        }
    }
    let values: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    match variant {
        0 => host(&headers, &values),
        1 => origin(&headers, &values),
        2 => forwarded(&headers, &values),
        _ => bearer(&headers, &values),
    }
}

fn host(headers: &HeaderMap, values: &[&[u8]]) {
    let hosts = Hosts::new("localhost", Ipv4Addr::LOCALHOST.into(), false, &["a.example:8443".into()]);
    if hosts.expect("a sound list").admit(&Uri::from_static("/mcp"), headers) {
        let [value] = values else { panic!("{} Host headers are admitted", values.len()) };
        let value = std::str::from_utf8(value).expect("an admitted Host is text").to_ascii_lowercase();
        let ours = ["localhost", "127.0.0.1", "[", "a.example:8443"];
        assert!(ours.iter().any(|name| value.starts_with(name)), "{value}");
        assert!(!value.contains(['@', '/', ' ', ',', '#', '%']), "{value}");
    }
}

fn origin(headers: &HeaderMap, values: &[&[u8]]) {
    let origins = Origins::new(&["http://localhost".into(), "https://a.example:443".into()], false);
    if let Ok(Some(_)) = origins.expect("a sound list").admit(headers) {
        let [value] = values else { panic!("{} origins are admitted", values.len()) };
        let value = std::str::from_utf8(value).expect("an admitted origin is text").to_ascii_lowercase();
        let rest = value.strip_prefix("http://localhost").or(value.strip_prefix("https://a.example"));
        let port = rest.unwrap_or_else(|| panic!("{value}"));
        let digits = port.strip_prefix(':').map_or(port.is_empty(), |port| port.parse::<u16>().is_ok());
        assert!(digits, "{value}");
    }
}

fn forwarded(headers: &HeaderMap, values: &[&[u8]]) {
    let proxies: [Network; 2] = ["10.0.0.0/8", "::1"].map(|network| network.parse().expect("a network"));
    let stranger: IpAddr = [203, 0, 113, 5].into();
    assert_eq!(client_address(stranger, headers, &proxies), stranger, "a stranger is believed");
    let proxy: IpAddr = [10, 0, 0, 1].into();
    let client = client_address(proxy, headers, &proxies);
    let entries =
        values.iter().filter_map(|value| std::str::from_utf8(value).ok()).flat_map(|value| value.split(','));
    let mut named = entries.filter_map(|entry| {
        let entry = entry.trim();
        let bracketed = entry.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(entry);
        let with_port = || entry.parse::<SocketAddr>().ok().map(|address| address.ip());
        bracketed.parse::<IpAddr>().ok().or_else(with_port)
    });
    assert!(
        client == proxy || named.any(|named| named.to_canonical() == client),
        "{client} comes from nowhere"
    );
}

fn bearer(headers: &HeaderMap, values: &[&[u8]]) {
    let tokens = BearerTokens::one(SecretToken::new(TOKEN)).expect("a usable token");
    let mut asked = tokens.authenticate(headers);
    let Poll::Ready(identity) = asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a list of tokens waits for nothing");
    };
    if identity.is_some() {
        let [value] = values else { panic!("{} credentials are admitted", values.len()) };
        assert!(value.trim_ascii_end().ends_with(TOKEN.as_bytes()), "{}", value.escape_ascii());
        assert!(value[..7].eq_ignore_ascii_case(b"Bearer "), "{}", value.escape_ascii());
    }
}
