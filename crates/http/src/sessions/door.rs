//! Where the MCP library meets sessions: it asks for workers and streams, and finds only what the edge admitted.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionWorker, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore,
    SessionStoreError,
};
use rmcp::transport::{Transport, WorkerTransport};

use super::{NAP, Session, Sessions};

tokio::task_local! {
    static PASS: Pass;
}

/// The session that the request being served may use.
#[derive(Clone)]
pub(super) struct Pass {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
}

impl Pass {
    pub(super) fn new(sessions: Arc<Sessions>, session: Arc<Session>) -> Pass {
        Pass { sessions, session }
    }

    /// Lets the library reach this session, and no other, while it serves `request`.
    pub(super) async fn while_serving<F: Future>(self, request: F) -> F::Output {
        PASS.scope(self, request).await
    }

    fn current() -> Option<Pass> {
        PASS.try_with(Pass::clone).ok()
    }

    fn wake(&self) -> Result<SessionTransport, DoorError> {
        self.sessions.wake(&self.session).ok_or(DoorError::NoSession)
    }

    fn worker() -> Result<(LocalSessionHandle, u64), DoorError> {
        PASS.try_with(|pass| {
            pass.session.state().worker.as_ref().map(|worker| (worker.handle.clone(), worker.number))
        })
        .ok()
        .flatten()
        .ok_or(DoorError::NoSession)
    }
}

/// What the library calls to reach sessions. It holds none: everything goes through the current [`Pass`].
pub(crate) struct Door;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    #[error("there is no session here")]
    NoSession,
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl SessionManager for Door {
    type Error = DoorError;
    type Transport = SessionTransport;

    /// Handshakes are answered outside of a session; one begins when it is first used, by being restored.
    async fn create_session(&self) -> Result<(SessionId, SessionTransport), DoorError> {
        Err(DoorError::NoSession)
    }

    async fn initialize_session(
        &self,
        _: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, DoorError> {
        let (worker, _) = Pass::worker()?;
        Ok(worker.initialize(message).await?)
    }

    async fn has_session(&self, _: &SessionId) -> Result<bool, DoorError> {
        Ok(Pass::worker().is_ok())
    }

    /// Called when a worker has ended, which [`WorkerEnd`] knows better: a later worker may serve the session by now.
    async fn close_session(&self, _: &SessionId) -> Result<(), DoorError> {
        Ok(())
    }

    async fn create_stream(
        &self,
        _: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, DoorError> {
        let (worker, number) = Pass::worker()?;
        let channel = worker.establish_request_wise_channel().await?;
        worker.push_message(message, channel.http_request_id).await?;
        Ok(events(channel.inner, number))
    }

    async fn accept_message(&self, _: &SessionId, message: ClientJsonRpcMessage) -> Result<(), DoorError> {
        let (worker, _) = Pass::worker()?;
        Ok(worker.push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        _: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, DoorError> {
        let (worker, number) = Pass::worker()?;
        let channel = worker.establish_common_channel().await?;
        Ok(events(channel.inner, number))
    }

    async fn resume(
        &self,
        _: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, DoorError> {
        let (worker, number) = Pass::worker()?;
        let after = after_event(&last_event_id, number).ok_or(SessionError::InvalidEventId)?;
        let channel = worker.resume(after.parse().map_err(SessionError::from)?).await?;
        Ok(events(channel.inner, number))
    }

    async fn restore_session(&self, _: SessionId) -> Result<RestoreOutcome<SessionTransport>, DoorError> {
        let pass = Pass::current().ok_or(DoorError::NoSession)?;
        Ok(RestoreOutcome::Restored(pass.wake()?))
    }
}

#[async_trait::async_trait]
impl SessionStore for Door {
    async fn load(&self, _: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(pass) = Pass::current() else { return Ok(None) };
        Ok(Some(SessionState::new(pass.session.handshake.params()?)))
    }

    async fn store(&self, _: &str, _: &SessionState) -> Result<(), SessionStoreError> {
        Ok(())
    }

    async fn delete(&self, _: &str) -> Result<(), SessionStoreError> {
        Ok(())
    }
}

/// Event ids of one worker mean nothing to the next, so they carry its number.
fn events(
    mut channel: tokio::sync::mpsc::Receiver<ServerSseMessage>,
    worker: u64,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    futures::stream::poll_fn(move |context| channel.poll_recv(context)).map(move |mut event| {
        if let Some(id) = &mut event.event_id {
            let _ = write!(id, "@{worker}");
        }
        event
    })
}

/// The library's id of the event to go on with, after the one the client saw last.
///
/// The library begins with the event it is given instead of the one after it. On the stream of one request that is
/// one too early; on the common stream event 0 is also the one that opens the stream, so there it stays.
fn after_event(last: &str, worker: u64) -> Option<String> {
    let Some((id, number)) = last.split_once('@') else {
        return (!last.contains('/')).then(|| last.to_owned());
    };
    if number.parse() != Ok(worker) {
        return None;
    }
    match id.split_once('/') {
        None => Some(id.to_owned()),
        Some((index, request)) => Some(format!("{}/{request}", index.parse::<usize>().ok()?.checked_add(1)?)),
    }
}

/// The library's transport, which tells when the library lets go of it.
pub(crate) struct SessionTransport {
    inner: WorkerTransport<LocalSessionWorker>,
    _end: WorkerEnd,
}

/// Tells the table that a worker is gone, whoever ended it.
pub(super) struct WorkerEnd {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
    number: u64,
}

impl WorkerEnd {
    pub(super) fn new(sessions: Arc<Sessions>, session: Arc<Session>, number: u64) -> WorkerEnd {
        WorkerEnd { sessions, session, number }
    }
}

impl Drop for WorkerEnd {
    fn drop(&mut self) {
        self.sessions.worker_ended(&self.session, self.number);
    }
}

impl SessionTransport {
    pub(super) fn new(inner: WorkerTransport<LocalSessionWorker>, end: WorkerEnd) -> SessionTransport {
        SessionTransport { inner, _end: end }
    }
}

impl Transport<RoleServer> for SessionTransport {
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

pub(super) fn worker_config() -> SessionConfig {
    let mut config = SessionConfig::default();
    // Idleness is ours to judge.
    config.keep_alive = None;
    config.completed_cache_ttl = NAP;
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resuming_goes_on_after_the_event_seen_last() {
        assert_eq!(after_event("4/2@7", 7).as_deref(), Some("5/2"));
        assert_eq!(after_event("3@7", 7).as_deref(), Some("3"));
        assert_eq!(after_event("0", 7).as_deref(), Some("0"));
        for bad in ["4/2@6", "4/2", "x/2@7", "4/2@", "18446744073709551615/2@7"] {
            assert_eq!(after_event(bad, 7), None, "{bad}");
        }
    }
}
