//! Making a session's worker: the tasks and channels by which the MCP library serves it.
//!
//! The library can restore sessions by itself, but it shows a session to other requests before its handshake was
//! replayed, and then their messages kill it. Clients do send their first requests together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionWorker, SessionConfig, create_local_session,
};
use rmcp::transport::{Transport, WorkerTransport};
use rmcp::{RoleServer, ServerHandler, serve_server};

use super::{NAP, OpenSessions, Session, access};

/// The session ended, or its handshake could not be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAwake;

/// Reaches the library's side of a session.
#[derive(Clone)]
pub(crate) struct SessionWorker {
    number: u64,
    handle: LocalSessionHandle,
    /// The library let go of it.
    gone: Arc<AtomicBool>,
}

impl SessionWorker {
    /// Serves a request of this worker's session.
    pub(crate) async fn serve<F: Future>(self, request: F) -> F::Output {
        access::admit(self, request).await
    }

    /// Tells this worker from the session's earlier and later ones.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn handle(&self) -> &LocalSessionHandle {
        &self.handle
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    pub(super) fn stop(self) {
        // Without a runtime everything is being torn down anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = self.handle.close().await;
            });
        }
    }
}

/// The session's worker, made ready first if it sleeps.
pub(super) async fn wake<H>(
    sessions: &Arc<OpenSessions>,
    session: &Arc<Session>,
    server: &H,
) -> Result<SessionWorker, NotAwake>
where
    H: ServerHandler + Clone + Send + Sync + 'static,
{
    if let Some(worker) = session.worker() {
        return Ok(worker);
    }
    // In a task of its own: half a handshake would be left behind if this client went away now.
    let (sessions, session, server) = (sessions.clone(), session.clone(), server.clone());
    tokio::spawn(async move {
        let _one_at_a_time = session.waking.lock().await;
        if let Some(worker) = session.worker() {
            return Ok(worker);
        }
        let worker = start(&sessions, &session, server).await?;
        sessions.woken(&session, worker.clone())?;
        Ok(worker)
    })
    .await
    .unwrap_or(Err(NotAwake))
}

async fn start<H>(
    sessions: &Arc<OpenSessions>,
    session: &Arc<Session>,
    server: H,
) -> Result<SessionWorker, NotAwake>
where
    H: ServerHandler + Send + Sync + 'static,
{
    let (initialize, initialized) = session.handshake.replay().map_err(|_| NotAwake)?;
    let (handle, library_side) = create_local_session(session.tag(), worker_config());
    let worker = SessionWorker { number: sessions.next_worker(), handle, gone: Arc::default() };
    let transport = ObservedTransport {
        inner: WorkerTransport::spawn(library_side),
        _end: WorkerEnd {
            sessions: sessions.clone(),
            session: session.clone(),
            number: worker.number,
            gone: worker.gone.clone(),
        },
    };
    tokio::spawn(async move {
        match serve_server(server, transport).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "a session could not be served"),
        }
    });
    match worker.handle.initialize(initialize).await {
        Ok(ServerJsonRpcMessage::Response(_)) => {}
        _ => {
            worker.stop();
            return Err(NotAwake);
        }
    }
    worker.handle.push_message(initialized, None).await.map_err(|_| NotAwake)?;
    Ok(worker)
}

fn worker_config() -> SessionConfig {
    let mut config = SessionConfig::default();
    // Idleness is ours to judge.
    config.keep_alive = None;
    config.completed_cache_ttl = NAP;
    config
}

/// The library's transport, which tells when the library lets go of it.
struct ObservedTransport {
    inner: WorkerTransport<LocalSessionWorker>,
    _end: WorkerEnd,
}

/// Tells the table that a worker is gone, for whatever reason.
struct WorkerEnd {
    sessions: Arc<OpenSessions>,
    session: Arc<Session>,
    number: u64,
    gone: Arc<AtomicBool>,
}

impl Drop for WorkerEnd {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Release);
        self.sessions.worker_ended(&self.session, self.number);
    }
}

impl Transport<RoleServer> for ObservedTransport {
    type Error = <WorkerTransport<LocalSessionWorker> as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        self.inner.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
