//! Whose address a request comes from, behind trusted proxies too.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::HeaderMap;

/// A range of addresses: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an address nor a network such as 10.0.0.0/8")]
pub struct BadNetwork(pub String);

impl Network {
    /// `None` when the prefix is longer than the address.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Network> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= bits).then_some(Network { address, prefix })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let differing = 32 - u32::from(self.prefix);
                (u64::from(ours.to_bits()) >> differing) == (u64::from(theirs.to_bits()) >> differing)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let differing = 128 - u32::from(self.prefix);
                ours.to_bits().checked_shr(differing) == theirs.to_bits().checked_shr(differing)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Network, BadNetwork> {
        let bad = || BadNetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| bad())?,
            None => widest,
        };
        if prefix > widest {
            return Err(bad());
        }
        Ok(Network { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The client's address: the peer's, unless the peer is a trusted proxy; then the right-most forwarded address that
/// is not itself a trusted proxy, because everything to the left of it may be invented by the client.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address| trusted.iter().any(|network| network.contains(address));
    let mut nearest = peer.to_canonical();
    if !is_trusted(nearest) {
        return nearest;
    }
    for value in headers.get_all("x-forwarded-for").iter().rev() {
        let Ok(value) = value.to_str() else { return nearest };
        for entry in value.rsplit(',') {
            let Some(address) = forwarded(entry.trim()) else { return nearest };
            nearest = address;
            if !is_trusted(nearest) {
                return nearest;
            }
        }
    }
    nearest
}

/// Some proxies add the port.
fn forwarded(entry: &str) -> Option<IpAddr> {
    let bracketed = entry.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let address = match bracketed {
        Some(inner) => inner.parse().ok(),
        None => entry
            .parse()
            .ok()
            .or_else(|| entry.parse::<std::net::SocketAddr>().ok().map(|address| address.ip())),
    };
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn resolve(peer: &str, forwarded: &[&'static str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        let trusted: Vec<Network> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn case_9_forwarded_addresses() {
        let local = ["127.0.0.1/32", "::1/128"];
        assert_eq!(resolve("203.0.113.5", &["10.1.1.1"], &local), "203.0.113.5");
        assert_eq!(resolve("127.0.0.1", &["198.51.100.1"], &local), "198.51.100.1");
        assert_eq!(resolve("127.0.0.1", &["1.1.1.1, 198.51.100.1"], &local), "198.51.100.1");
        assert_eq!(resolve("127.0.0.1", &["1.1.1.1", "198.51.100.1"], &local), "198.51.100.1");
        assert_eq!(resolve("127.0.0.1", &["198.51.100.1, 127.0.0.1"], &local), "198.51.100.1");
        assert_eq!(
            resolve("127.0.0.1", &["198.51.100.1, 10.9.9.9"], &["127.0.0.1", "10.0.0.0/8"]),
            "198.51.100.1"
        );
        assert_eq!(resolve("::ffff:127.0.0.1", &["[2001:db8::1]:443"], &local), "2001:db8::1");
        assert_eq!(resolve("127.0.0.1", &["198.51.100.1:5000"], &local), "198.51.100.1");
        assert_eq!(resolve("127.0.0.1", &["198.51.100.1, nonsense"], &local), "127.0.0.1");
        assert_eq!(resolve("127.0.0.1", &[""], &local), "127.0.0.1");
        assert_eq!(resolve("127.0.0.1", &["198.51.100.1"], &[]), "127.0.0.1");
    }

    #[test]
    fn networks() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("0.0.0.0/0", "8.8.8.8") && contains("::/0", "2001:db8::1"));
        assert!(contains("10.0.0.0/8", "10.255.1.2") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("2001:db8::/32", "2001:db8:1::9") && !contains("2001:db8::/32", "2001:db9::"));
        assert!(!contains("0.0.0.0/0", "::1"));
        for bad in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
