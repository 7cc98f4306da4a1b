//! What the server keeps about one request while a service works on it: its turn, and what became of its body.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::refusal::Refusal;
use crate::turns::{ClientKey, RequestTurn, RequestTurns};
use crate::unsent::Unsent;

pub(crate) struct BodyAdmission {
    turns: Arc<RequestTurns>,
    connection: Arc<Unsent>,
    client: ClientKey,
    outcome: Mutex<AdmissionOutcome>,
}

#[derive(Default)]
struct AdmissionOutcome {
    turn: Option<RequestTurn>,
    refusal: Option<Refusal>,
}

impl BodyAdmission {
    pub(crate) fn new(
        turns: &Arc<RequestTurns>,
        connection: &Arc<Unsent>,
        client: ClientKey,
    ) -> Arc<BodyAdmission> {
        Arc::new(BodyAdmission {
            turns: Arc::clone(turns),
            connection: Arc::clone(connection),
            client,
            outcome: Mutex::default(),
        })
    }

    /// Waits for the client's turn, which lasts until it is taken away with [`take_turn`](Self::take_turn).
    pub(crate) async fn wait_for_turn(&self) {
        self.connection.set_client(&self.client);
        let turn = self.turns.take(&self.client, self.connection.begin_request()).await;
        self.outcome().turn = Some(turn);
    }

    pub(crate) fn take_turn(&self) -> Option<RequestTurn> {
        self.outcome().turn.take()
    }

    /// The body cannot be read; the client is told why, whatever the service makes of it.
    pub(crate) fn refuse_body(&self, refusal: Refusal) {
        self.outcome().refusal = Some(refusal);
    }

    pub(crate) fn take_refusal(&self) -> Option<Refusal> {
        self.outcome().refusal.take()
    }

    fn outcome(&self) -> MutexGuard<'_, AdmissionOutcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
