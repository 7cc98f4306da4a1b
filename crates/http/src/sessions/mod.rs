//! Sessions of the protocol revisions that have a handshake: whose they are, when they end, what an idle one costs.
//!
//! The MCP library keeps three tasks and half a dozen channels per session, about a hundred kilobytes. Most sessions
//! are idle most of the time, and many are abandoned. So a session here is a small record that keeps what its client
//! said in the handshake, and what the library needs to serve it, the *worker*, comes and goes: a new or idle session
//! *sleeps*, and the handshake is replayed to a new worker when the client asks for something.
//!
//! The library never sees the id that the client holds, only a short digest of it, which may appear in logs. And it
//! reaches a session only through the [`Visit`] of the request being served: what the edge did not admit is not there.

mod door;
mod ended;
mod handshake;
mod visit;
mod wake;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Clock;
use http::HeaderValue;

pub(crate) use door::Door;
use ended::Ended;
pub(crate) use handshake::{BadHandshake, Handshake};
pub(crate) use visit::{Entry, Visit};
pub(crate) use wake::NotAwake;
use wake::Worker;

/// Once the table is full, a session nobody used after its handshake may be dropped after this long…
const UNUSED_IDLE: Duration = Duration::from_secs(2);
/// …and one that was used, after this long.
const USED_IDLE: Duration = Duration::from_secs(5 * 60);
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
pub(crate) struct Full {
    pub(crate) retry_after: u64,
}

pub(crate) struct Sessions {
    limits: SessionLimits,
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
    workers: AtomicU64,
}

#[derive(Default)]
struct Table {
    sessions: HashMap<Key, Arc<Session>>,
    awake: HashMap<Key, Arc<Session>>,
    ended: Ended,
    /// Until then no session can be dropped, so nobody need look again.
    full_until: Option<Instant>,
}

struct Session {
    key: Key,
    owner: Arc<str>,
    /// Which endpoint it belongs to.
    mount: usize,
    born: Instant,
    handshake: Handshake,
    state: Mutex<State>,
    /// Held while a worker is made ready, so that requests that come together make one.
    waking: tokio::sync::Mutex<()>,
}

struct State {
    seen: Instant,
    /// Something was asked after the handshake.
    used: bool,
    /// Requests being answered.
    open: u32,
    worker: Option<Worker>,
    ended: bool,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits, clock: Arc<dyn Clock>) -> Arc<Sessions> {
        Arc::new(Sessions { limits, clock, table: Mutex::default(), workers: AtomicU64::default() })
    }

    /// Makes room for a session that is about to be negotiated.
    pub(crate) fn enter(
        self: &Arc<Self>,
        owner: &Arc<str>,
        mount: usize,
        handshake: Handshake,
    ) -> Result<Entry, Full> {
        let id = new_id();
        let now = self.clock.now();
        let session = Arc::new(Session {
            key: key_of(id.as_bytes()),
            owner: owner.clone(),
            mount,
            born: now,
            handshake,
            state: Mutex::new(State { seen: now, used: false, open: 1, worker: None, ended: false }),
            waking: tokio::sync::Mutex::default(),
        });
        let mut table = self.table();
        if table.sessions.len() >= self.limits.max_sessions {
            self.make_room(&mut table, now)?;
        }
        table.sessions.insert(session.key, session.clone());
        drop(table);
        Ok(Entry::new(Visit::new(self.clone(), session), id))
    }

    /// The session behind `id`, if it is alive and this caller's.
    pub(crate) fn visit(
        self: &Arc<Self>,
        id: &HeaderValue,
        owner: &Arc<str>,
        mount: usize,
        counts_as_use: bool,
    ) -> Result<Visit, Gone> {
        let now = self.clock.now();
        let mut table = self.table();
        let session = self.find(&mut table, id, owner, mount, now)?;
        let mut state = session.state();
        state.open += 1;
        state.seen = now;
        state.used |= counts_as_use;
        drop(state);
        Ok(Visit::new(self.clone(), session))
    }

    /// Ends a session because its client says so.
    pub(crate) fn close(&self, id: &HeaderValue, owner: &Arc<str>, mount: usize) -> Result<(), Gone> {
        let now = self.clock.now();
        let mut table = self.table();
        let session = self.find(&mut table, id, owner, mount, now)?;
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
        let Table { sessions, awake, .. } = &mut *table;
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
        table: &mut Table,
        id: &HeaderValue,
        owner: &Arc<str>,
        mount: usize,
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
        if session.owner != *owner || session.mount != mount {
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

    /// Drops the longest unused sessions, those nobody ever used first. Many at once, so that a flood of handshakes
    /// does not pay for a search each time.
    fn make_room(&self, table: &mut Table, now: Instant) -> Result<(), Full> {
        let retry = |until: Instant| Full {
            retry_after: until.saturating_duration_since(now).as_secs().saturating_add(1).min(60),
        };
        if let Some(until) = table.full_until.filter(|until| now < *until) {
            return Err(retry(until));
        }
        table.full_until = None;
        let mut soonest = now + USED_IDLE;
        let mut droppable = Vec::new();
        for session in table.sessions.values() {
            let state = session.state();
            if state.open > 0 {
                continue;
            }
            let at = state.seen + if state.used { USED_IDLE } else { UNUSED_IDLE };
            if at <= now {
                droppable.push((state.used, state.seen, session.clone()));
            } else {
                soonest = soonest.min(at);
            }
        }
        if droppable.is_empty() {
            // Not for long: sessions that are in use now may be left alone in a moment.
            let until = soonest.min(now + Duration::from_secs(1));
            table.full_until = Some(until);
            return Err(retry(until));
        }
        let count = (self.limits.max_sessions / 16).clamp(1, droppable.len());
        droppable.sort_unstable_by_key(|(used, seen, _)| (*used, *seen));
        for (_, _, session) in &droppable[..count] {
            table.remove(session);
            session.state().stop_worker();
        }
        tracing::info!(count, reason = "capacity", "idle sessions ended");
        Ok(())
    }

    /// The session has a worker now, unless it ended meanwhile.
    fn woken(&self, session: &Arc<Session>, worker: Worker) -> Result<(), NotAwake> {
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

    /// Puts the longest idle eighth of the awake sessions to sleep.
    fn send_to_sleep(&self, table: &mut Table) {
        let mut idle: Vec<_> = table
            .awake
            .values()
            .filter_map(|session| {
                let state = session.state();
                (state.open == 0).then(|| (state.seen, session.clone()))
            })
            .collect();
        idle.sort_unstable_by_key(|(seen, _)| *seen);
        for (_, session) in idle.iter().take((self.limits.max_awake / 8).max(1)) {
            table.awake.remove(&session.key);
            session.state().stop_worker();
        }
    }

    /// A worker is gone, whoever ended it; a later one may serve the session by now.
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

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
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
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker, if the session is awake.
    fn worker(&self) -> Option<Worker> {
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

impl State {
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
mod tests {
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::BodyExt;
    use rmcp::ServerHandler;
    use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

    use super::*;
    use crate::clock::SystemClock;

    #[derive(Clone)]
    struct Nothing;

    impl ServerHandler for Nothing {}

    struct Hand(Mutex<Instant>);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    struct Fixture {
        sessions: Arc<Sessions>,
        clock: Arc<Hand>,
        service: StreamableHttpService<Nothing, Door>,
        owner: Arc<str>,
    }

    impl Fixture {
        fn new(max_sessions: usize, max_awake: usize) -> Fixture {
            let limits = SessionLimits {
                inactivity: Duration::from_secs(3600),
                max_lifetime: None,
                max_sessions,
                max_awake,
            };
            let clock = Arc::new(Hand(Mutex::new(Instant::now())));
            let config = StreamableHttpServerConfig::default();
            Fixture {
                sessions: Sessions::new(limits, clock.clone()),
                clock,
                service: StreamableHttpService::new(|| Ok(Nothing), Arc::new(Door), config),
                owner: "somebody".into(),
            }
        }

        fn advance(&self, seconds: u64) {
            *self.clock.0.lock().unwrap() += Duration::from_secs(seconds);
        }

        fn open(&self) -> Result<HeaderValue, Full> {
            let params = serde_json::json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            });
            let handshake = Handshake::new(Some(&params)).unwrap();
            Ok(self.sessions.enter(&self.owner, 0, handshake)?.settle())
        }

        async fn ping(&self, id: &HeaderValue) -> Result<u16, Gone> {
            let visit = self.sessions.visit(id, &self.owner, 0, true)?;
            let body = serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
            let awake = visit.wake(&Nothing).await.unwrap();
            let response = awake.serve(self.service.handle(request(body, Some(visit.tag())))).await;
            let status = response.status().as_u16();
            finish(response).await;
            Ok(status)
        }

        fn counts(&self) -> (usize, usize) {
            let table = self.sessions.table();
            (table.sessions.len(), table.awake.len())
        }
    }

    fn request(
        body: serde_json::Value,
        session: Option<HeaderValue>,
    ) -> Request<http_body_util::Full<Bytes>> {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        request.body(http_body_util::Full::new(Bytes::from(body.to_string()))).unwrap()
    }

    async fn finish<B: http_body::Body<Error: std::fmt::Debug>>(response: Response<B>) {
        response.into_body().collect().await.unwrap();
    }

    /// The library's tasks end on their own time.
    async fn until_tasks_are_at_most(count: usize) {
        let metrics = tokio::runtime::Handle::current().metrics();
        while metrics.num_alive_tasks() > count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn m20_d120_abandoned_sessions_leave_nothing_behind() {
        let fixture = Fixture::new(10_000, 8);
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for n in 0..3000 {
            let id = fixture.open().unwrap();
            if n % 2 == 0 {
                assert_eq!(fixture.ping(&id).await, Ok(200));
            }
        }
        let (sessions, awake) = fixture.counts();
        assert!(sessions == 3000 && awake <= 8, "{sessions} sessions, {awake} awake");
        until_tasks_are_at_most(tasks + 8 * 4).await;
        fixture.advance(3600);
        fixture.sessions.sweep();
        assert_eq!(fixture.counts(), (0, 0));
        until_tasks_are_at_most(tasks).await;
        let table = fixture.sessions.table();
        assert!(table.sessions.capacity() < 100 && table.ended.len() <= ended::REMEMBERED);
        assert_eq!(Arc::strong_count(&fixture.sessions), 1);
    }

    #[tokio::test]
    async fn sessions_sleep_until_used_and_when_idle() {
        let fixture = Fixture::new(100, 100);
        let id = fixture.open().unwrap();
        assert_eq!(fixture.counts(), (1, 0));
        assert_eq!(fixture.ping(&id).await, Ok(200));
        assert_eq!(fixture.counts(), (1, 1));
        fixture.advance(59);
        fixture.sessions.sweep();
        assert_eq!(fixture.counts(), (1, 1));
        fixture.advance(1);
        fixture.sessions.sweep();
        assert_eq!(fixture.counts(), (1, 0));
        assert_eq!(fixture.ping(&id).await, Ok(200));
        assert_eq!(fixture.counts(), (1, 1));
    }

    #[tokio::test]
    async fn a_worker_that_dies_is_replaced() {
        let fixture = Fixture::new(100, 100);
        let id = fixture.open().unwrap();
        assert_eq!(fixture.ping(&id).await, Ok(200));
        let worker = {
            let table = fixture.sessions.table();
            let session = table.sessions.values().next().unwrap();
            session.state().worker.clone().unwrap()
        };
        worker.stop();
        while fixture.counts().1 > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(fixture.ping(&id).await, Ok(200));
    }

    #[tokio::test]
    async fn the_least_used_make_room() {
        let fixture = Fixture::new(4, 4);
        let used = fixture.open().unwrap();
        fixture.ping(&used).await.unwrap();
        let mut unused = Vec::new();
        for _ in 0..3 {
            fixture.advance(1);
            unused.push(fixture.open().unwrap());
        }
        fixture.advance(1);
        let kept = fixture.open().unwrap();
        assert_eq!(fixture.ping(&unused[0]).await, Err(Gone(None)), "the oldest of the unused went");
        for id in [&used, &unused[1], &unused[2], &kept] {
            assert_eq!(fixture.ping(id).await, Ok(200));
        }
        // All are in use now; there is room again only after five minutes.
        assert_eq!(fixture.open().err(), Some(Full { retry_after: 2 }));
        fixture.advance(299);
        assert!(fixture.open().is_err());
        fixture.advance(1);
        assert!(fixture.open().is_ok());
    }

    #[test]
    fn m12_ids_are_long_and_do_not_repeat() {
        let ids: std::collections::HashSet<String> = (0..10_000).map(|_| new_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 37));
    }

    #[test]
    fn d121_sweeping_notices_expiry_within_half_the_shorter_timeout() {
        let interval = |inactivity, max_lifetime| {
            let limits = SessionLimits { inactivity, max_lifetime, max_sessions: 1, max_awake: 1 };
            Sessions::new(limits, Arc::new(SystemClock)).sweep_interval()
        };
        assert_eq!(interval(Duration::from_secs(20), None), Duration::from_secs(10));
        assert_eq!(interval(Duration::from_secs(20), Some(Duration::from_secs(8))), Duration::from_secs(4));
        assert_eq!(interval(Duration::from_secs(86_400), None), NAP / 2);
    }
}
