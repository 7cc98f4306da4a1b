//! A request's hold on a session.

use std::sync::Arc;

use http::HeaderValue;
use rmcp::ServerHandler;

use super::wake::{self, NotAwake, SessionWorker};
use super::{OpenSessions, Session};

/// A session being used by a request, until the answer is out.
pub(crate) struct SessionVisit {
    sessions: Arc<OpenSessions>,
    session: Arc<Session>,
}

impl SessionVisit {
    /// The caller has counted it as open.
    pub(super) fn new(sessions: Arc<OpenSessions>, session: Arc<Session>) -> SessionVisit {
        SessionVisit { sessions, session }
    }

    /// What the library is told instead of the id.
    pub(crate) fn tag(&self) -> HeaderValue {
        HeaderValue::try_from(self.session.tag()).unwrap_or(HeaderValue::from_static("session"))
    }

    /// Deleted or expired since it was admitted.
    pub(crate) fn has_ended(&self) -> bool {
        self.session.state().ended
    }

    /// What the library needs to serve the session; it stays at least as long as this visit, unless the session ends.
    pub(crate) async fn wake<H>(&self, server: &H) -> Result<SessionWorker, NotAwake>
    where
        H: ServerHandler + Clone + Send + Sync + 'static,
    {
        wake::wake(&self.sessions, &self.session, server).await
    }
}

impl Drop for SessionVisit {
    fn drop(&mut self) {
        let now = self.sessions.clock.now();
        let mut state = self.session.state();
        state.open -= 1;
        state.seen = now;
        if state.ended && state.open == 0 {
            state.stop_worker();
        }
    }
}

/// A new session, which exists only if its handshake succeeds.
pub(crate) struct NewSession {
    visit: SessionVisit,
    id: String,
    settled: bool,
}

impl NewSession {
    pub(super) fn new(visit: SessionVisit, id: String) -> NewSession {
        NewSession { visit, id, settled: false }
    }

    /// The handshake succeeded. Gives the id for the client; it is not kept.
    pub(crate) fn settle(mut self) -> HeaderValue {
        self.settled = true;
        HeaderValue::try_from(std::mem::take(&mut self.id)).unwrap_or(HeaderValue::from_static(""))
    }
}

impl Drop for NewSession {
    fn drop(&mut self) {
        if !self.settled {
            self.visit.sessions.table().remove(&self.visit.session);
        }
    }
}
