//! The listening socket: which address it is, whom it can be reached by, and what it is called.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

use crate::config::HttpConfig;
use crate::error::HttpError;
use crate::host::Hosts;
use crate::serve::Shutdown;
use crate::tls;

/// Connections that may wait to be accepted: a burst of a thousand clients must not run into the retries of TCP, which
/// take a second. The system may allow fewer (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// Bytes of an answer that the system takes before the client has read any. Enough to keep a fast connection busy.
const SEND_BUFFER: u32 = 512 * 1024;

/// A socket that listens but does not answer yet.
pub struct Bound {
    pub(crate) config: HttpConfig,
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) shutdown: Shutdown,
    address: SocketAddr,
    listen_host: String,
}

/// The addresses that `host:port` resolves to. A process that gives up access to the rest of the system asks before that:
/// looking up a name reads the system's own files.
pub fn resolve(listen: &str) -> Result<Vec<SocketAddr>, HttpError> {
    split_listen(listen)?;
    let found = listen.to_socket_addrs().map(Vec::from_iter);
    match found {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err(cannot_listen(listen, io::ErrorKind::AddrNotAvailable.into())),
        Err(error) => Err(HttpError::Bind {
            address: listen.to_owned(),
            hint: "this name has no address here; give an address such as 127.0.0.1",
            source: error,
        }),
    }
}

/// Opens the listening socket and reads the TLS files.
pub async fn bind(config: HttpConfig) -> Result<Bound, HttpError> {
    config.check()?;
    let listen_host = split_listen(&config.listen)?;
    let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
    let addresses =
        if config.addresses.is_empty() { resolve(&config.listen)? } else { config.addresses.clone() };
    let failed = |source: io::Error| cannot_listen(&config.listen, source);
    let listener = listen(&addresses).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let bound = Bound { config, listener, address, listen_host, tls, shutdown: Shutdown::default() };
    if bound.is_exposed() && bound.config.auth.admits_anyone() && !bound.config.allow_insecure {
        return Err(HttpError::config(
            "auth",
            format!("{} can be reached by others, so a token is needed", bound.config.listen),
        ));
    }
    bound.hosts()?;
    Ok(bound)
}

impl Bound {
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where a client on this machine reaches the path.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = match (self.listen_host.parse::<IpAddr>(), self.address.ip()) {
            (Err(_), _) => self.listen_host.clone(),
            (Ok(_), IpAddr::V4(ip)) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
            (Ok(_), IpAddr::V6(ip)) if ip.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
            (Ok(_), IpAddr::V4(ip)) => ip.to_string(),
            (Ok(_), IpAddr::V6(ip)) => format!("[{ip}]"),
        };
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    /// Whether anybody but this machine can connect.
    pub fn is_exposed(&self) -> bool {
        self.config.public || !self.address.ip().to_canonical().is_loopback()
    }

    /// The two moments of the end of this server, for services that have to know.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    pub(crate) fn hosts(&self) -> Result<Hosts, HttpError> {
        Hosts::new(&self.listen_host, self.address.ip(), self.is_exposed(), &self.config.allowed_hosts)
    }
}

/// Listens on the first of the addresses that can be had.
fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let listened = (|| {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // A port that a server of ours has just left is free again.
            socket.set_reuseaddr(true)?;
            // Unread answers in the system's buffers cost as much memory as those in ours.
            socket.set_send_buffer_size(SEND_BUFFER)?;
            socket.bind(*address)?;
            socket.listen(BACKLOG)
        })();
        match listened {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn cannot_listen(listen: &str, source: io::Error) -> HttpError {
    let hint = match source.kind() {
        io::ErrorKind::AddrInUse => "choose another port, or port 0 for a free one",
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher one",
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
        _ => "check the address",
    };
    HttpError::Bind { address: listen.to_owned(), hint, source }
}

/// The host of `host:port`, without brackets.
fn split_listen(listen: &str) -> Result<String, HttpError> {
    let malformed = || HttpError::config("listen", format!("{listen:?} is not of the form host:port"));
    let (host, port) = listen.rsplit_once(':').ok_or_else(malformed)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() || port.parse::<u16>().is_err() {
        return Err(malformed());
    }
    Ok(host.to_owned())
}
