//! Sessions of the protocol revisions that have a handshake: whose they are, when they end, what an idle one costs.
//!
//! The MCP library keeps three tasks and half a dozen channels per session, some tens of kilobytes. Most sessions are
//! idle most of the time, and many are abandoned. So a session here is a small record, and what the library needs to
//! serve it, the *worker*, comes and goes: an idle session *sleeps*, keeping only what its client said in the
//! handshake, and the library replays the handshake when the client comes back.
//!
//! The library never sees the id that the client holds, only a short digest of it, which may appear in logs. And it
//! reaches a session only through the [`Visit`] of the request being served: what the edge did not admit is not there.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use http::HeaderValue;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, InitializeRequestParams, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionWorker, SessionConfig, SessionError, create_local_session,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore,
    SessionStoreError,
};
use rmcp::transport::{Transport, WorkerTransport};

use crate::clock::Clock;

/// Once the table is full, a session nobody used after its handshake may be dropped after this long…
const UNUSED_IDLE: Duration = Duration::from_secs(2);
/// …and one that was used, after this long.
const USED_IDLE: Duration = Duration::from_secs(5 * 60);
/// How long after its last request a session falls asleep. The library keeps finished answers for resuming as long.
const NAP: Duration = Duration::from_secs(60);
/// How many ended sessions are remembered, so that their clients can be told why.
const REMEMBERED: usize = 1024;
/// What a sleeping session may keep of the handshake.
const MAX_HANDSHAKE: usize = 2048;
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
    state: Mutex<State>,
}

struct State {
    seen: Instant,
    /// Something was asked after the handshake.
    used: bool,
    /// Requests being answered.
    open: u32,
    worker: Option<Worker>,
    handshake: Option<Box<[u8]>>,
    ended: bool,
}

struct Worker {
    number: u64,
    handle: LocalSessionHandle,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits, clock: Arc<dyn Clock>) -> Arc<Sessions> {
        Arc::new(Sessions { limits, clock, table: Mutex::default(), workers: AtomicU64::default() })
    }

    /// Makes room for a session that is about to be negotiated.
    pub(crate) fn enter(self: &Arc<Self>, owner: &Arc<str>, mount: usize) -> Result<Entry, Full> {
        let id = new_id();
        let now = self.clock.now();
        let session = Arc::new(Session {
            key: key_of(id.as_bytes()),
            owner: owner.clone(),
            mount,
            born: now,
            state: Mutex::new(State {
                seen: now,
                used: false,
                open: 1,
                worker: None,
                handshake: None,
                ended: false,
            }),
        });
        let mut table = self.table();
        if table.sessions.len() >= self.limits.max_sessions {
            self.make_room(&mut table, now)?;
        }
        table.sessions.insert(session.key, session.clone());
        drop(table);
        let visit = Visit { sessions: self.clone(), session };
        Ok(Entry { visit: Some(visit), id })
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
        Ok(Visit { sessions: self.clone(), session })
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

    /// Ends what has expired and puts to sleep what is idle.
    pub(crate) fn sweep(&self) {
        let now = self.clock.now();
        let mut table = self.table();
        let expired: Vec<_> = table
            .sessions
            .values()
            .filter_map(|session| Some((session.clone(), self.expiry(session, now)?)))
            .collect();
        for (session, expiry) in expired {
            table.expire(&session, expiry);
        }
        table.awake.retain(|_, session| {
            let mut state = session.state();
            let tired = state.open == 0
                && state.handshake.is_some()
                && now.saturating_duration_since(state.seen) >= NAP;
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

    /// Gives the session what the library needs to serve it.
    fn wake(self: &Arc<Self>, session: &Arc<Session>) -> Option<SessionTransport> {
        let mut table = self.table();
        if session.state().ended {
            return None;
        }
        if table.awake.len() >= self.limits.max_awake {
            self.send_to_sleep(&mut table);
        }
        let number = self.workers.fetch_add(1, Ordering::Relaxed);
        let (handle, worker) = create_local_session(session.tag(), worker_config());
        session.state().worker = Some(Worker { number, handle });
        table.awake.insert(session.key, session.clone());
        drop(table);
        let end = WorkerEnd { sessions: self.clone(), session: session.clone(), number };
        Some(SessionTransport { inner: WorkerTransport::spawn(worker), _end: end })
    }

    /// Puts the longest idle eighth of the awake sessions to sleep; those that kept too little to wake up again end.
    fn send_to_sleep(&self, table: &mut Table) {
        let mut idle: Vec<_> = table
            .awake
            .values()
            .filter_map(|session| {
                let state = session.state();
                (state.open == 0).then(|| (state.used, state.seen, session.clone()))
            })
            .collect();
        idle.sort_unstable_by_key(|(used, seen, _)| (*used, *seen));
        for (_, _, session) in idle.iter().take((self.limits.max_awake / 8).max(1)) {
            table.awake.remove(&session.key);
            let mut state = session.state();
            state.stop_worker();
            if state.handshake.is_none() {
                drop(state);
                table.remove(session);
            }
        }
    }

    fn worker_ended(&self, session: &Arc<Session>, number: u64) {
        let mut table = self.table();
        let mut state = session.state();
        if state.worker.as_ref().is_none_or(|worker| worker.number != number) {
            return;
        }
        state.worker = None;
        let lost = state.handshake.is_none();
        drop(state);
        table.awake.remove(&session.key);
        if lost {
            table.remove(session);
        }
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
        // Without a runtime everything is being torn down anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = worker.handle.close().await;
            });
        }
    }
}

/// Recently ended sessions, oldest first.
#[derive(Default)]
struct Ended {
    order: VecDeque<Key>,
    reasons: HashMap<Key, (Arc<str>, Expiry)>,
}

impl Ended {
    fn remember(&mut self, key: Key, owner: Arc<str>, expiry: Expiry) {
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.reasons.remove(&oldest);
        }
        self.order.push_back(key);
        self.reasons.insert(key, (owner, expiry));
    }

    fn reason(&self, key: &Key, asked_by: &Arc<str>) -> Option<Expiry> {
        self.reasons.get(key).filter(|(owner, _)| owner == asked_by).map(|(_, expiry)| *expiry)
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

fn worker_config() -> SessionConfig {
    let mut config = SessionConfig::default();
    // Idleness is ours to judge.
    config.keep_alive = None;
    config.completed_cache_ttl = NAP;
    config
}

/// What to keep of a handshake so that it can be replayed; nothing if it is unreasonably long.
fn remembered(params: &InitializeRequestParams) -> Option<Box<[u8]>> {
    let mut params = params.clone();
    params.meta = None;
    params.client_info.icons = None;
    let bytes = serde_json::to_vec(&params).ok()?;
    (bytes.len() <= MAX_HANDSHAKE).then(|| bytes.into_boxed_slice())
}

/// A session being used by a request, until the answer is out.
pub(crate) struct Visit {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
}

impl Visit {
    /// What the library is told instead of the id.
    pub(crate) fn tag(&self) -> HeaderValue {
        HeaderValue::try_from(self.session.tag()).unwrap_or(HeaderValue::from_static("session"))
    }

    pub(crate) fn has_ended(&self) -> bool {
        let state = self.session.state();
        state.ended || state.worker.is_none()
    }

    /// Lets the library reach this session, and no other, while it serves `request`.
    pub(crate) async fn serve<F: Future>(&self, request: F) -> F::Output {
        let pass = Pass { sessions: self.sessions.clone(), session: self.session.clone() };
        PASS.scope(pass, request).await
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

/// A new session, which exists only once its handshake succeeded.
pub(crate) struct Entry {
    visit: Option<Visit>,
    id: String,
}

impl Entry {
    pub(crate) async fn serve<F: Future>(&self, request: F) -> Option<F::Output> {
        match &self.visit {
            Some(visit) => Some(visit.serve(request).await),
            None => None,
        }
    }

    /// The id to give to the client, if the handshake succeeded.
    pub(crate) fn settle(mut self) -> Option<(HeaderValue, Visit)> {
        let id = HeaderValue::try_from(&self.id).ok()?;
        let visit = self.visit.take_if(|visit| !visit.session.state().ended)?;
        Some((id, visit))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(visit) = self.visit.take() {
            visit.sessions.table().remove(&visit.session);
        }
    }
}

tokio::task_local! {
    static PASS: Pass;
}

/// The session that the request being served may use.
#[derive(Clone)]
struct Pass {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
}

impl Pass {
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

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), DoorError> {
        let pass = Pass::current().ok_or(DoorError::NoSession)?;
        Ok((pass.session.tag().into(), pass.wake()?))
    }

    async fn initialize_session(
        &self,
        _: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, DoorError> {
        let (worker, _) = Pass::worker()?;
        let answer = worker.initialize(message).await?;
        if matches!(answer, ServerJsonRpcMessage::Error(_))
            && let Some(pass) = Pass::current()
        {
            pass.sessions.table().remove(&pass.session);
        }
        Ok(answer)
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
        let handshake = Pass::current().and_then(|pass| pass.session.state().handshake.clone());
        let Some(handshake) = handshake else { return Ok(None) };
        Ok(Some(SessionState::new(serde_json::from_slice(&handshake)?)))
    }

    async fn store(&self, _: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        if let Some(pass) = Pass::current() {
            pass.session.state().handshake = remembered(&state.initialize_params);
        }
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

struct WorkerEnd {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
    number: u64,
}

impl Drop for WorkerEnd {
    fn drop(&mut self) {
        self.sessions.worker_ended(&self.session, self.number);
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
