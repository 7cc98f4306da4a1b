//! What one connection was given to send and its client has not taken yet, and how the client asks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::turns::{ClientKey, RequestTurns};

/// Smaller pieces are not worth counting: what the HTTP library keeps of them is bounded.
const COUNTED: usize = 32 * 1024;

pub(crate) struct Unsent {
    id: u64,
    turns: Arc<RequestTurns>,
    /// Who asked last on this connection.
    client: Mutex<Option<ClientKey>>,
    bytes: AtomicUsize,
    /// When the client last took a fair piece of an answer.
    moved: Mutex<Instant>,
    gives_up: CancellationToken,
    /// Bytes arrived since the last request began: a client that waits for its answers sends after it has read.
    arrived: AtomicBool,
    answers: AtomicU64,
}

impl Unsent {
    pub(crate) fn new(turns: Arc<RequestTurns>) -> Arc<Unsent> {
        Arc::new(Unsent {
            id: turns.next_connection(),
            turns,
            client: Mutex::default(),
            bytes: AtomicUsize::new(0),
            moved: Mutex::new(Instant::now()),
            gives_up: CancellationToken::new(),
            arrived: AtomicBool::new(false),
            answers: AtomicU64::new(0),
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A request begins. `true` if this client has taken an answer here before, and waited for it.
    pub(crate) fn begin_request(&self) -> bool {
        let asked_after_reading = self.arrived.swap(false, Ordering::Relaxed);
        let answered = self.answers.fetch_add(1, Ordering::Relaxed) > 0;
        asked_after_reading && answered && self.bytes.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn note_arrival(&self) {
        self.arrived.store(true, Ordering::Relaxed);
    }

    /// The client whose answers are sent from now on. Behind a proxy several clients share a connection: what it still
    /// holds then counts for the one that makes it hold more.
    pub(crate) fn set_client(self: &Arc<Self>, client: &ClientKey) {
        let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref() == Some(client) {
            return;
        }
        let held = self.bytes.load(Ordering::Relaxed);
        if let Some(before) = current.as_ref().filter(|_| held > 0) {
            self.turns.released(before, self.id, held, true);
            self.turns.held(client, self, held);
        }
        *current = Some(client.clone());
    }

    pub(crate) fn queued(self: &Arc<Self>, bytes: usize) {
        if bytes < COUNTED {
            return;
        }
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = client.as_ref() {
            if self.bytes.fetch_add(bytes, Ordering::Relaxed) == 0 {
                self.note_progress();
            }
            self.turns.held(client, self, bytes);
        }
    }

    /// The system took this many bytes to send.
    pub(crate) fn sent(&self, bytes: usize) {
        let held = self.bytes.load(Ordering::Relaxed);
        if held > 0 {
            self.release(bytes.min(held));
        }
    }

    /// The client took a fair piece: the time it may leave the answer alone begins again.
    pub(crate) fn note_progress(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn is_stalled(&self, now: Instant, limit: Duration) -> bool {
        let moved = *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(moved) >= limit
    }

    /// Ends the connection.
    pub(crate) fn give_up(&self) {
        self.gives_up.cancel();
    }

    pub(crate) async fn given_up(&self) {
        self.gives_up.cancelled().await;
    }

    /// The connection has ended: what it still held is gone.
    pub(crate) fn closed(&self) {
        self.release(self.bytes.load(Ordering::Relaxed));
    }

    fn release(&self, bytes: usize) {
        let left = self.bytes.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(client) = client {
            self.turns.released(&client, self.id, bytes, left == 0);
        }
    }
}
