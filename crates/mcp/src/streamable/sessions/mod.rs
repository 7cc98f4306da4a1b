//! Sessions of the protocol revisions that have a handshake: whose they are, when they end, what an idle one costs.
//!
//! The MCP library keeps three tasks and half a dozen channels per session, about a hundred kilobytes. Most sessions
//! are idle most of the time, and many are abandoned. So a session here is a small record that keeps what its client
//! said in the handshake, and what the library needs to serve it, the *worker*, comes and goes: a new or idle session
//! *sleeps*, and the handshake is replayed to a new worker when the client asks for something.
//!
//! The library never sees the id that the client holds, only a short digest of it, which may appear in logs. And it
//! reaches a session only through the [`SessionVisit`] of the request being served.

mod access;
mod ended;
mod handshake;
mod room;
mod visit;
mod wake;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use model::{Identity, MonotonicClock};

pub(crate) use access::SessionAccess;
use ended::Ended;
pub(crate) use handshake::{BadHandshake, Handshake};
pub(crate) use visit::{NewSession, SessionVisit};
pub(crate) use wake::NotAwake;
use wake::SessionWorker;

/// How long after its last request a session falls asleep. The library keeps finished answers for resuming as long.
const NAP: Duration = Duration::from_secs(60);
/// Longer than any id we gave out.
const MAX_ID: usize = 64;

/// A digest of the id: enough to find the session by, of no use to anybody who reads it.
type Key = [u8; 16];

#[derive(Debug, Clone)]
pub(crate) struct SessionLimits {
    pub(crate) inactivity: Duration,
    pub(crate) max_lifetime: Option<Duration>,
    pub(crate) max_sessions: usize,
    pub(crate) max_awake: usize,
}

/// The sessions of a server, for its operator.
#[derive(Debug, Clone)]
pub struct SessionsSeen {
    pub open: usize,
    pub awake: usize,
    pub max: usize,
    pub newest: Vec<SessionSeen>,
}

/// One session, without its id.
#[derive(Debug, Clone)]
pub struct SessionSeen {
    /// What the client calls itself; its own words.
    pub client: String,
    pub owner: String,
    pub age: Duration,
    pub idle: Duration,
}

/// Why a session ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    Inactivity,
    MaxLifetime,
}

impl Expiry {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Expiry::Inactivity => "inactivity",
            Expiry::MaxLifetime => "max-lifetime",
        }
    }
}

/// There is no such session for this caller; if there was, why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone(pub(crate) Option<Expiry>);

/// No session can be dropped to make room for another, for this many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableFull {
    pub(crate) retry_after: u64,
}

pub(crate) struct OpenSessions {
    limits: SessionLimits,
    clock: Arc<dyn MonotonicClock>,
    table: Mutex<SessionTable>,
    workers: AtomicU64,
}

#[derive(Default)]
struct SessionTable {
    sessions: HashMap<Key, Arc<Session>>,
    awake: HashMap<Key, Arc<Session>>,
    ended: Ended,
    /// Until then no session can be dropped, so looking again is useless.
    full_until: Option<Instant>,
}

struct Session {
    key: Key,
    owner: Identity,
    /// Which endpoint it belongs to.
    endpoint: usize,
    born: Instant,
    handshake: Handshake,
    state: Mutex<SessionState>,
    /// Held while a worker is made ready, so that requests that come together make one.
    waking: tokio::sync::Mutex<()>,
}

struct SessionState {
    seen: Instant,
    /// Something was asked after the handshake.
    used: bool,
    /// Requests being answered.
    open: u32,
    worker: Option<SessionWorker>,
    ended: bool,
}

impl OpenSessions {
    pub(crate) fn new(limits: SessionLimits, clock: Arc<dyn MonotonicClock>) -> Arc<OpenSessions> {
        Arc::new(OpenSessions { limits, clock, table: Mutex::default(), workers: AtomicU64::default() })
    }

    /// Makes room for a session that is about to be negotiated.
    pub(crate) fn enter(
        self: &Arc<Self>,
        owner: &Identity,
        endpoint: usize,
        handshake: Handshake,
    ) -> Result<NewSession, TableFull> {
        let id = new_id();
        let now = self.clock.now();
        let session = Arc::new(Session {
            key: key_of(id.as_bytes()),
            owner: owner.clone(),
            endpoint,
            born: now,
            handshake,
            state: Mutex::new(SessionState { seen: now, used: false, open: 1, worker: None, ended: false }),
            waking: tokio::sync::Mutex::default(),
        });
        let mut table = self.table();
        if table.sessions.len() >= self.limits.max_sessions {
            self.make_room(&mut table, now)?;
        }
        table.sessions.insert(session.key, session.clone());
        drop(table);
        Ok(NewSession::new(SessionVisit::new(self.clone(), session), id))
    }

    /// The session behind `id`, if it is alive and this caller's.
    pub(crate) fn visit(
        self: &Arc<Self>,
        id: &HeaderValue,
        owner: &Identity,
        endpoint: usize,
        counts_as_use: bool,
    ) -> Result<SessionVisit, Gone> {
        let now = self.clock.now();
        let mut table = self.table();
        let session = self.find(&mut table, id, owner, endpoint, now)?;
        let mut state = session.state();
        state.open += 1;
        state.seen = now;
        state.used |= counts_as_use;
        drop(state);
        Ok(SessionVisit::new(self.clone(), session))
    }

    /// Ends a session because its client says so.
    pub(crate) fn close(&self, id: &HeaderValue, owner: &Identity, endpoint: usize) -> Result<(), Gone> {
        let now = self.clock.now();
        let mut table = self.table();
        let session = self.find(&mut table, id, owner, endpoint, now)?;
        table.remove(&session);
        session.state().stop_worker();
        tracing::debug!(session = session.tag(), reason = "deleted", "session ended");
        Ok(())
    }

    /// Ends what has expired and puts to sleep what is idle. Returns how many ended.
    pub(crate) fn sweep(&self) -> usize {
        let now = self.clock.now();
        let mut table = self.table();
        let expired: Vec<_> = table
            .sessions
            .values()
            .filter_map(|session| Some((session.clone(), self.expiry(session, now)?)))
            .collect();
        let ended = expired.len();
        for (session, expiry) in expired {
            table.expire(&session, expiry);
        }
        table.awake.retain(|_, session| {
            let mut state = session.state();
            let tired = state.open == 0 && now.saturating_duration_since(state.seen) >= NAP;
            if tired {
                state.stop_worker();
            }
            !tired
        });
        // A flood must not be remembered by the size of the tables.
        let SessionTable { sessions, awake, .. } = &mut *table;
        for map in [sessions, awake] {
            if map.len() < map.capacity() / 4 {
                map.shrink_to_fit();
            }
        }
        ended
    }

    /// How often to [`sweep`](Self::sweep): expiry is noticed within half the shorter timeout, and naps do not wait
    /// for hours because sessions last a day.
    pub(crate) fn sweep_interval(&self) -> Duration {
        let shorter = self.limits.max_lifetime.unwrap_or(Duration::MAX).min(self.limits.inactivity);
        (shorter / 2).clamp(Duration::from_millis(10), NAP / 2)
    }

    pub(crate) fn seen(&self, most: usize) -> SessionsSeen {
        let now = self.clock.now();
        let table = self.table();
        let mut sessions: Vec<Arc<Session>> = table.sessions.values().cloned().collect();
        let (open, awake) = (sessions.len(), table.awake.len());
        drop(table);
        sessions.sort_by_key(|session| std::cmp::Reverse(session.born));
        let newest = sessions.iter().take(most).map(|session| SessionSeen {
            client: session.handshake.client(),
            owner: session.owner.as_str().to_owned(),
            age: now.saturating_duration_since(session.born),
            idle: now.saturating_duration_since(session.state().seen),
        });
        SessionsSeen { open, awake, max: self.limits.max_sessions, newest: newest.collect() }
    }

    /// Ends everything, when the server stops.
    pub(crate) fn close_all(&self) {
        let mut table = self.table();
        table.awake.clear();
        for (_, session) in table.sessions.drain() {
            session.end();
            session.state().stop_worker();
        }
    }

    fn find(
        &self,
        table: &mut SessionTable,
        id: &HeaderValue,
        owner: &Identity,
        endpoint: usize,
        now: Instant,
    ) -> Result<Arc<Session>, Gone> {
        if id.len() > MAX_ID {
            return Err(Gone(None));
        }
        let key = key_of(id.as_bytes());
        let Some(session) = table.sessions.get(&key).cloned() else {
            return Err(Gone(table.ended.reason(&key, owner)));
        };
        // To anybody else the session does not exist.
        if session.owner != *owner || session.endpoint != endpoint {
            return Err(Gone(None));
        }
        if let Some(expiry) = self.expiry(&session, now) {
            table.expire(&session, expiry);
            return Err(Gone(Some(expiry)));
        }
        Ok(session)
    }

    fn expiry(&self, session: &Session, now: Instant) -> Option<Expiry> {
        let state = session.state();
        let idle_end = (state.open == 0).then(|| state.seen.checked_add(self.limits.inactivity)).flatten();
        let life_end = self.limits.max_lifetime.and_then(|lifetime| session.born.checked_add(lifetime));
        [(idle_end, Expiry::Inactivity), (life_end, Expiry::MaxLifetime)]
            .into_iter()
            .filter_map(|(end, expiry)| Some((end?, expiry)))
            .filter(|(end, _)| *end <= now)
            .min_by_key(|(end, _)| *end)
            .map(|(_, expiry)| expiry)
    }

    /// The session has a worker now, unless it ended meanwhile.
    fn woken(&self, session: &Arc<Session>, worker: SessionWorker) -> Result<(), NotAwake> {
        let mut table = self.table();
        if table.awake.len() >= self.limits.max_awake {
            self.send_to_sleep(&mut table);
        }
        let mut state = session.state();
        state.worker = Some(worker);
        if state.ended {
            state.stop_worker();
            return Err(NotAwake);
        }
        table.awake.insert(session.key, session.clone());
        Ok(())
    }

    /// A worker is gone; a later one may serve the session by now.
    fn worker_ended(&self, session: &Arc<Session>, number: u64) {
        let mut table = self.table();
        let mut state = session.state();
        if state.worker.as_ref().is_some_and(|worker| worker.number() == number) {
            state.worker = None;
            table.awake.remove(&session.key);
        }
    }

    fn next_worker(&self) -> u64 {
        self.workers.fetch_add(1, Ordering::Relaxed)
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn remove(&mut self, session: &Session) {
        self.sessions.remove(&session.key);
        self.awake.remove(&session.key);
        self.full_until = None;
        session.end();
    }

    fn expire(&mut self, session: &Session, expiry: Expiry) {
        self.remove(session);
        self.ended.remember(session.key, session.owner.clone(), expiry);
        let mut state = session.state();
        // A call that is still running may finish; the end of its visit stops the worker.
        if state.open == 0 {
            state.stop_worker();
        }
        tracing::info!(session = session.tag(), reason = expiry.as_str(), "session ended");
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker, if the session is awake.
    fn worker(&self) -> Option<SessionWorker> {
        self.state().worker.clone().filter(|worker| !worker.is_gone())
    }

    fn end(&self) {
        self.state().ended = true;
    }

    /// What may be said of this session in logs, and to the library.
    fn tag(&self) -> String {
        self.key[..8].iter().fold(String::with_capacity(16), |mut tag, byte| {
            let _ = write!(tag, "{byte:02x}");
            tag
        })
    }
}

impl SessionState {
    fn stop_worker(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        worker.stop();
    }
}

/// `sess_` and 128 random bits.
fn new_id() -> String {
    let mut random = [0; 16];
    // Without randomness there is no safe way to go on.
    getrandom::fill(&mut random).expect("the operating system gives random bytes");
    random.iter().fold(String::from("sess_"), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

fn key_of(id: &[u8]) -> Key {
    let mut key = Key::default();
    key.copy_from_slice(&blake3::hash(id).as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests;
