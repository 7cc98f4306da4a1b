//! A request's hold on a session.

use std::sync::Arc;

use http::HeaderValue;

use super::door::Pass;
use super::{Session, Sessions};

/// A session being used by a request, until the answer is out.
pub(crate) struct Visit {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
}

impl Visit {
    /// The caller has counted it as open.
    pub(super) fn new(sessions: Arc<Sessions>, session: Arc<Session>) -> Visit {
        Visit { sessions, session }
    }

    /// What the library is told instead of the id.
    pub(crate) fn tag(&self) -> HeaderValue {
        HeaderValue::try_from(self.session.tag()).unwrap_or(HeaderValue::from_static("session"))
    }

    /// Deleted or expired since it was admitted.
    pub(crate) fn has_ended(&self) -> bool {
        self.session.state().ended
    }

    /// Lets the library reach this session, and no other, while it serves `request`.
    pub(crate) async fn serve<F: Future>(&self, request: F) -> F::Output {
        Pass::new(self.sessions.clone(), self.session.clone()).while_serving(request).await
    }
}

impl Drop for Visit {
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
pub(crate) struct Entry {
    visit: Visit,
    id: String,
    settled: bool,
}

impl Entry {
    pub(super) fn new(visit: Visit, id: String) -> Entry {
        Entry { visit, id, settled: false }
    }

    /// The handshake succeeded. Gives the id for the client; it is not kept.
    pub(crate) fn settle(mut self) -> HeaderValue {
        self.settled = true;
        HeaderValue::try_from(std::mem::take(&mut self.id)).unwrap_or(HeaderValue::from_static(""))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.settled {
            self.visit.sessions.table().remove(&self.visit.session);
        }
    }
}
