//! Where the MCP library meets sessions: it asks for workers and streams, and finds only the session of the
//! request being served.

use std::fmt::Write as _;

use futures::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionWorker, SessionError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::wake::SessionWorker;

tokio::task_local! {
    static WORKER: SessionWorker;
}

/// Lets the library reach this worker, and no other, while it serves `request`.
pub(super) async fn admit<F: Future>(worker: SessionWorker, request: F) -> F::Output {
    WORKER.scope(worker, request).await
}

/// What the library calls to reach sessions. It holds no table: all it can reach is the worker of the request being served.
pub(crate) struct SessionAccess;

impl SessionAccess {
    fn worker() -> Result<SessionWorker, SessionAccessError> {
        WORKER.try_with(SessionWorker::clone).map_err(|_| SessionAccessError::NoSession)
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionAccessError {
    #[error("there is no session here")]
    NoSession,
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl SessionManager for SessionAccess {
    type Error = SessionAccessError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    /// Handshakes are answered outside of a session, and a session is woken before the library hears of it.
    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionAccessError> {
        Err(SessionAccessError::NoSession)
    }

    async fn initialize_session(
        &self,
        _: &SessionId,
        _: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionAccessError> {
        Err(SessionAccessError::NoSession)
    }

    async fn has_session(&self, _: &SessionId) -> Result<bool, SessionAccessError> {
        Ok(SessionAccess::worker().is_ok())
    }

    async fn close_session(&self, _: &SessionId) -> Result<(), SessionAccessError> {
        Ok(())
    }

    async fn create_stream(
        &self,
        _: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionAccessError> {
        let worker = SessionAccess::worker()?;
        let channel = worker.handle().establish_request_wise_channel().await?;
        worker.handle().push_message(message, channel.http_request_id).await?;
        Ok(events(channel.inner, worker.number()))
    }

    async fn accept_message(
        &self,
        _: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionAccessError> {
        Ok(SessionAccess::worker()?.handle().push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        _: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionAccessError> {
        let worker = SessionAccess::worker()?;
        let channel = worker.handle().establish_common_channel().await?;
        Ok(events(channel.inner, worker.number()))
    }

    async fn resume(
        &self,
        _: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionAccessError> {
        let worker = SessionAccess::worker()?;
        let after = after_event(&last_event_id, worker.number()).ok_or(SessionError::InvalidEventId)?;
        let channel = worker.handle().resume(after.parse().map_err(SessionError::from)?).await?;
        Ok(events(channel.inner, worker.number()))
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
