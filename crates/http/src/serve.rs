//! Serving: takes connections, speaks HTTP on them, and lets running calls finish when the server stops.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Timeouts;
use crate::connection_slots::ConnectionSlots;
use crate::error::HttpError;
use crate::listen::Bound;
use crate::site::{HttpSite, ServedSite};
use crate::tide::Tide;
use crate::timed_stream::{Exchange, TimedStream};
use crate::turns::RequestTurns;
use crate::unsent::Unsent;

/// Request line and headers together. The longest honest ones carry a token and a few headers of the protocol inside.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// How long to wait when the system has no more file descriptors to give.
const OUT_OF_FILES: Duration = Duration::from_millis(100);
/// How often to look whether a burst is over.
const LOOK: Duration = Duration::from_secs(1);

/// The two moments of the end of a server.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// It was told to stop: nothing new is begun, what runs may finish.
    pub stopping: CancellationToken,
    /// It is out of patience: whatever still runs is dropped.
    pub stopped: CancellationToken,
}

impl Bound {
    /// Serves the site until `cancel` fires, then lets running calls finish.
    pub async fn serve(self, site: HttpSite, cancel: CancellationToken) -> Result<(), HttpError> {
        let shutdown = self.shutdown.clone();
        let (site, background) =
            ServedSite::new(site, &self.config, self.hosts()?, self.is_exposed(), &shutdown)?;
        let site = Arc::new(site);
        let background: Vec<_> = background.into_iter().map(tokio::spawn).collect();
        let queue = tokio::spawn(
            shutdown.stopped.clone().run_until_cancelled_owned(site.turns().clone().run_queue()),
        );
        let connections = TaskTracker::new();
        let tidier = tokio::spawn(tidy(
            site.turns().clone(),
            connections.clone(),
            Arc::clone(&self.config.after_burst),
            shutdown.stopped.clone(),
        ));
        self.accept(&site, &connections, &cancel).await;

        shutdown.stopping.cancel();
        connections.close();
        let patience = self.config.shutdown_grace;
        // New connections are refused from here on.
        drop(self.listener);
        if tokio::time::timeout(patience, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "stopping with connections still open");
        }
        shutdown.stopped.cancel();
        connections.wait().await;
        let _ = tokio::join!(queue, tidier, join_all(background));
        Ok(())
    }

    async fn accept(&self, site: &Arc<ServedSite>, connections: &TaskTracker, cancel: &CancellationToken) {
        let slots = ConnectionSlots::new(self.config.max_connections);
        loop {
            let accepted = tokio::select! {
                () = cancel.cancelled() => return,
                accepted = async {
                    let permit = slots.free().await;
                    (permit, self.listener.accept().await)
                } => accepted,
            };
            let (permit, (stream, peer)) = match accepted {
                (Some(permit), Ok(connection)) => (permit, connection),
                // The slots last as long as this loop.
                (None, Ok(_)) => return,
                (_, Err(error)) => {
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(OUT_OF_FILES).await;
                    continue;
                }
            };
            let Some(slot) = slots.take(permit, peer.ip(), site.is_proxy(peer.ip())) else {
                tracing::debug!(peer = %peer.ip(), "a connection was refused: this address has its share of them");
                continue;
            };
            let connection = ServedConnection {
                site: site.clone(),
                shutdown: self.shutdown.clone(),
                timeouts: self.config.timeouts,
                peer: peer.ip(),
            };
            let tls = self.tls.clone();
            connections.spawn(async move {
                let _slot = slot;
                connection.run(stream, tls).await;
            });
        }
    }
}

struct ServedConnection {
    site: Arc<ServedSite>,
    shutdown: Shutdown,
    timeouts: Timeouts,
    peer: IpAddr,
}

impl ServedConnection {
    async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // Answers are written whole; waiting to fill packets would only delay them.
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.speak(stream).await };
        let handshake = tokio::time::timeout(self.timeouts.head, tls.accept(stream));
        tokio::select! {
            () = self.shutdown.stopped.cancelled() => {}
            result = handshake => match result {
                Ok(Ok(stream)) => self.speak(stream).await,
                Ok(Err(error)) => tracing::debug!(%error, peer = %self.peer, "TLS handshake failed"),
                Err(_) => tracing::debug!(peer = %self.peer, "TLS handshake took too long"),
            }
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) {
        let open = OpenConnection(Unsent::new(self.site.turns().clone()));
        let unsent = &open.0;
        let stream = TimedStream::new(stream, self.timeouts.head, self.timeouts.write, unsent.clone());
        let phase = stream.phase();
        let service = service_fn(|request| {
            let exchange = Exchange::begin(&phase);
            async move {
                let response = self.site.handle(self.peer, unsent, request).await;
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
            () = self.shutdown.stopping.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            result = connection.as_mut() => report(result),
            () = self.shutdown.stopped.cancelled() => {}
        }
    }
}

/// A connection that is open; whatever ends it, what it still had to send is no longer held.
struct OpenConnection(Arc<Unsent>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.closed();
    }
}

fn report(result: hyper::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended early");
    }
}

/// Tidies up while a burst of connections or requests ebbs, and once more when it is over: what served it is not needed
/// again soon.
async fn tidy(
    turns: Arc<RequestTurns>,
    connections: TaskTracker,
    after_burst: Arc<dyn Fn() + Send + Sync>,
    stopped: CancellationToken,
) {
    let mut tide = Tide::default();
    while stopped.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        if tide.is_time_to_tidy(connections.len(), turns.load(), turns.take_peak()) {
            // Walking the whole heap takes a while, and others are waiting for this thread.
            let _ = tokio::task::spawn_blocking({
                let after_burst = Arc::clone(&after_burst);
                move || after_burst()
            })
            .await;
        }
    }
}
