//! The listener: opens the socket, takes connections, and lets running calls finish when the server stops.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp::Direct;
use rmcp::ServerHandler;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{HttpConfig, Timeouts, check_path};
use crate::connection::{Exchange, Patient};
use crate::edge::{Edge, Ends, Mount};
use crate::errors::HttpError;
use crate::host::Hosts;
use crate::seats::Seats;
use crate::tls;
use crate::turns::Turns;
use crate::unsent::Unsent;

/// Request line and headers together. The longest honest ones carry a token and a few MCP headers.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// How long to wait when the system has no more file descriptors to give.
const OUT_OF_FILES: Duration = Duration::from_millis(100);

/// A socket that listens but does not answer yet.
pub struct Bound {
    config: HttpConfig,
    listener: TcpListener,
    address: SocketAddr,
    listen_host: String,
    tls: Option<TlsAcceptor>,
}

/// Connections that may wait to be accepted: a burst of a thousand clients must not run into the retries of TCP, which
/// take a second. The system may allow fewer (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// Bytes of an answer that the system takes before the client has read any. Enough to keep a fast connection busy.
const SEND_BUFFER: u32 = 512 * 1024;

/// The addresses that `host:port` stands for. A process that gives up access to the rest of the system asks before that:
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
    let bound = Bound { config, listener, address, listen_host, tls };
    if bound.is_exposed() && matches!(bound.config.auth, crate::Auth::None) && !bound.config.allow_insecure {
        return Err(HttpError::config(
            "auth",
            format!("{} can be reached by others, so a token is needed", bound.config.listen),
        ));
    }
    bound.hosts()?;
    Ok(bound)
}

/// Listens on the first of the addresses that can be had.
fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let listened = (|| {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // A port that a server of ours has just left is free again.
            socket.set_reuseaddr(true)?;
            // What the system buffers of an answer that nobody reads costs memory as much as what we do.
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

impl Bound {
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where a client on this machine reaches the MCP endpoint.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = match (self.listen_host.parse::<IpAddr>(), self.address.ip()) {
            (Err(_), _) => self.listen_host.clone(),
            (Ok(_), IpAddr::V4(ip)) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
            (Ok(_), IpAddr::V6(ip)) if ip.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
            (Ok(_), IpAddr::V4(ip)) => ip.to_string(),
            (Ok(_), IpAddr::V6(ip)) => format!("[{ip}]"),
        };
        format!("{scheme}://{host}:{}{}", self.address.port(), self.config.mcp_path)
    }

    /// Whether anybody but this machine can connect.
    pub fn is_exposed(&self) -> bool {
        self.config.public || !self.address.ip().to_canonical().is_loopback()
    }

    /// Serves one MCP server at the configured path until `cancel` fires, then lets running calls finish.
    pub async fn serve<H>(self, server: H, cancel: CancellationToken) -> Result<(), HttpError>
    where
        H: ServerHandler + Direct + Clone + Send + Sync + 'static,
    {
        let path = self.config.mcp_path.clone();
        self.serve_mounts(vec![Mount { path, variant: None, server, headers: Vec::new() }], cancel).await
    }

    /// Serves several MCP servers, each at its own path.
    pub async fn serve_mounts<H>(
        self,
        mounts: Vec<Mount<H>>,
        cancel: CancellationToken,
    ) -> Result<(), HttpError>
    where
        H: ServerHandler + Direct + Clone + Send + Sync + 'static,
    {
        for (n, Mount { path, variant, .. }) in mounts.iter().enumerate() {
            check_path(path)?;
            if mounts[..n].iter().any(|other| other.path == *path && other.variant == *variant) {
                return Err(HttpError::config("mcp_path", format!("{path} is mounted twice")));
            }
        }
        let ends = Ends { stopping: CancellationToken::new(), stopped: CancellationToken::new() };
        let edge = Arc::new(Edge::new(&self.config, self.hosts()?, self.is_exposed(), mounts, &ends)?);
        let sweeper = tokio::spawn(sweep(edge.clone(), self.config.after_burst, ends.stopped.clone()));
        let queue = tokio::spawn(ends.stopped.clone().run_until_cancelled_owned(edge.turns().clone().keep()));
        let connections = TaskTracker::new();
        let tidier = tokio::spawn(tidy(
            edge.turns().clone(),
            connections.clone(),
            self.config.after_burst,
            ends.stopped.clone(),
        ));
        self.accept(&edge, &ends, &connections, &cancel).await;

        ends.stopping.cancel();
        connections.close();
        let patience = self.config.shutdown_grace;
        // New connections are refused from here on.
        drop(self.listener);
        if tokio::time::timeout(patience, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "stopping with connections still open");
        }
        ends.stopped.cancel();
        edge.sessions().close_all();
        connections.wait().await;
        let _ = tokio::join!(sweeper, queue, tidier);
        Ok(())
    }

    async fn accept<H>(
        &self,
        edge: &Arc<Edge<H>>,
        ends: &Ends,
        connections: &TaskTracker,
        cancel: &CancellationToken,
    ) where
        H: ServerHandler + Direct + Clone + Send + Sync + 'static,
    {
        let seats = Seats::new(self.config.max_connections);
        loop {
            let accepted = tokio::select! {
                () = cancel.cancelled() => return,
                accepted = async {
                    let permit = seats.free().await;
                    (permit, self.listener.accept().await)
                } => accepted,
            };
            let (permit, (stream, peer)) = match accepted {
                (Some(permit), Ok(connection)) => (permit, connection),
                // The seats last as long as this loop.
                (None, Ok(_)) => return,
                (_, Err(error)) => {
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(OUT_OF_FILES).await;
                    continue;
                }
            };
            let Some(seat) = seats.take(permit, peer.ip(), edge.is_proxy(peer.ip())) else {
                tracing::debug!(peer = %peer.ip(), "a connection was refused: this address has its share of them");
                continue;
            };
            let connection = Connection {
                edge: edge.clone(),
                ends: ends.clone(),
                timeouts: self.config.timeouts,
                peer: peer.ip(),
            };
            let tls = self.tls.clone();
            connections.spawn(async move {
                let _seat = seat;
                connection.run(stream, tls).await;
            });
        }
    }

    fn hosts(&self) -> Result<Hosts, HttpError> {
        Hosts::new(&self.listen_host, self.address.ip(), self.is_exposed(), &self.config.allowed_hosts)
    }
}

struct Connection<H> {
    edge: Arc<Edge<H>>,
    ends: Ends,
    timeouts: Timeouts,
    peer: IpAddr,
}

impl<H> Connection<H>
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // Answers are written whole; waiting to fill packets would only delay them.
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.speak(stream).await };
        let handshake = tokio::time::timeout(self.timeouts.head, tls.accept(stream));
        tokio::select! {
            () = self.ends.stopped.cancelled() => {}
            result = handshake => match result {
                Ok(Ok(stream)) => self.speak(stream).await,
                Ok(Err(error)) => tracing::debug!(%error, peer = %self.peer, "TLS handshake failed"),
                Err(_) => tracing::debug!(peer = %self.peer, "TLS handshake took too long"),
            }
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) {
        let open = Open(Unsent::new(self.edge.turns().clone()));
        let unsent = &open.0;
        let stream = Patient::new(stream, self.timeouts.head, self.timeouts.write, unsent.clone());
        let phase = stream.phase();
        let service = service_fn(|request| {
            let exchange = Exchange::begin(&phase);
            async move {
                let response = self.edge.handle(self.peer, unsent, request).await;
                Ok::<_, Infallible>(response.map(|reply| reply.during(exchange, unsent)))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.timeouts.idle)
            .max_header_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            result = connection.as_mut() => return report(result),
            () = unsent.given_up() => {
                return tracing::info!(peer = %self.peer, "a connection was closed: its client does not read its answers");
            }
            () = self.ends.stopping.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            result = connection.as_mut() => report(result),
            () = self.ends.stopped.cancelled() => {}
        }
    }
}

/// A connection that is open; whatever ends it, what it still had to send is no longer held.
struct Open(Arc<Unsent>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.closed();
    }
}

fn report(result: hyper::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended early");
    }
}

/// So many sessions that end at once were a burst.
const BURST: usize = 256;

async fn sweep<H>(edge: Arc<Edge<H>>, after_burst: fn(), stopped: CancellationToken)
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    let interval = edge.sessions().sweep_interval();
    while stopped.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
        if edge.sessions().sweep() >= BURST {
            after_burst();
        }
    }
}

/// So many connections and requests at once were a burst.
const MANY: usize = 64;
/// How often to look whether a burst is over.
const LOOK: Duration = Duration::from_secs(1);

/// Tidies up when a burst of connections or requests is over: what served it is not needed again soon.
async fn tidy(turns: Arc<Turns>, connections: TaskTracker, after_burst: fn(), stopped: CancellationToken) {
    let mut peak = 0;
    while stopped.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        let busy = connections.len() + turns.load();
        peak = peak.max(busy).max(turns.take_peak());
        if peak >= MANY && busy <= peak / 4 {
            peak = busy;
            // Walking the whole heap takes a while, and others are waiting for this thread.
            let _ = tokio::task::spawn_blocking(after_burst).await;
        }
    }
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
