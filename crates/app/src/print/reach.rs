//! Under which hosts another machine reaches a server that listens on every address of this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::config::settings::ServerSettings;

/// The hosts to put into a URL, best first: names that the operator allows, then the addresses of this machine. The
/// host of the configuration itself where that is a name or one address, or where there is no better one.
pub(crate) fn hosts(server: &ServerSettings) -> Vec<String> {
    let listen = &server.listen.host;
    let own = match listen.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => {
            addresses().into_iter().filter(IpAddr::is_ipv4).collect()
        }
        Ok(IpAddr::V6(address)) if address.is_unspecified() => addresses(),
        _ => return vec![listen.clone()],
    };
    let names = server.allowed_hosts.iter().filter(|host| !host.contains(':')).cloned();
    let mut hosts: Vec<String> = names.chain(own.iter().map(IpAddr::to_string)).collect();
    if hosts.is_empty() {
        hosts.push(listen.clone());
    }
    hosts
}

/// The addresses of this machine that others can use: version 4 before version 6, those of a whole network before those
/// of one link.
fn addresses() -> Vec<IpAddr> {
    let mut found = interface_addresses();
    found.retain(|address| !address.is_loopback() && !address.is_unspecified() && !is_link_local_v6(address));
    found.sort_by_key(|address| match address {
        IpAddr::V4(address) => (0, address.is_link_local()),
        IpAddr::V6(_) => (1, false),
    });
    found.dedup();
    found
}

/// Such an address says nothing without the name of an interface.
fn is_link_local_v6(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[allow(unsafe_code)]
fn interface_addresses() -> Vec<IpAddr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the function writes one pointer to where it is told; the list is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: the list ends with a null pointer, and nothing frees it before the end of this function. The kind of an
        // address says of which structure it is the beginning.
        unsafe {
            let entry = &*next;
            next = entry.ifa_next;
            if entry.ifa_addr.is_null() {
                continue;
            }
            match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    found.push(IpAddr::V4(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes())));
                }
                libc::AF_INET6 => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    found.push(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)));
                }
                _ => {}
            }
        }
    }
    // SAFETY: made by `getifaddrs` above, and used no more.
    unsafe { libc::freeifaddrs(list) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_seen_and_never_recommended() {
        assert!(interface_addresses().contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
        assert!(addresses().iter().all(|address| !address.is_loopback() && !address.is_unspecified()));
    }
}
