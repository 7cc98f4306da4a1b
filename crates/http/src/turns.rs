//! Whose request is worked on next: a fair queue over clients, and a bound on what each may have under way.
//!
//! A client is a credential at an address. As many requests are worked on at once as there are processors; while several
//! clients ask, one processor is left to the others. A client that has no request under way need not wait for one to
//! finish, so that a client that asks now and then is answered as if the others were not there. What a client has not read
//! yet counts against it: one that asks for megabytes and leaves them unread gets no further answers, and loses its stalled
//! connections once they keep others waiting.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::Identity;
use tokio::sync::{Notify, oneshot};

use crate::unsent::Unsent;

/// Work that takes longer than this is waiting for something more often than not (a scan of the folder, a slow disk);
/// from then on another request may be started beside it.
const SLICE: Duration = Duration::from_millis(100);
/// How often the queue is looked through while a request waits.
const TICK: Duration = Duration::from_millis(20);
/// How long after its last request a client counts as one of several that ask.
const RECENTLY: Duration = Duration::from_secs(1);
/// Every fourth turn of a client goes to its newcomers, even while its proven connections have requests waiting.
const NEWCOMERS: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnLimits {
    /// Requests worked on at once.
    pub(crate) running: usize,
    /// Requests of one client begun and not answered, those that wait for something included.
    pub(crate) begun_per_client: usize,
    /// Bytes of answers that one client has not taken yet, before it has to wait.
    pub(crate) unsent_per_client: usize,
    /// The same for all clients together.
    pub(crate) unsent: usize,
    /// How long a connection may leave an answer unread once it keeps others waiting.
    pub(crate) stall_limit: Duration,
}

impl Default for TurnLimits {
    fn default() -> TurnLimits {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        TurnLimits {
            running: processors,
            begun_per_client: (4 * processors).max(16),
            unsent_per_client: 32 << 20,
            unsent: 256 << 20,
            stall_limit: Duration::from_secs(2),
        }
    }
}

/// Who asks: the holder of a credential, at an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    /// `None` on routes that ask for no credential.
    pub(crate) identity: Option<Identity>,
    pub(crate) address: IpAddr,
}

pub(crate) struct RequestTurns {
    limits: TurnLimits,
    state: Mutex<QueueState>,
    someone_waits: Notify,
    connections: AtomicU64,
}

#[derive(Default)]
struct QueueState {
    /// Turns that count: begun, and not yet longer than a slice.
    running: usize,
    waiting: usize,
    /// The most that were begun or waited at one time.
    peak: usize,
    unsent: usize,
    last_id: u64,
    clients: HashMap<ClientKey, ClientQueue>,
    /// The two clients that asked last, and when.
    recent_clients: Vec<(ClientKey, Instant)>,
    begun: HashMap<u64, StartedTurn>,
}

#[derive(Default)]
struct ClientQueue {
    running: usize,
    begun: usize,
    unsent: usize,
    /// Time spent on this client's requests, counted from the least that the others had when it came.
    served: Duration,
    turns: u64,
    /// Requests of connections that have taken an answer before.
    proven: VecDeque<Waiter>,
    newcomers: VecDeque<Waiter>,
    /// Connections with answers that were not taken yet.
    holders: HashMap<u64, Arc<Unsent>>,
}

struct Waiter(oneshot::Sender<RequestTurn>);

struct StartedTurn {
    client: ClientKey,
    since: Instant,
    /// Shorter than a slice, so far.
    counts: bool,
}

/// The right to be worked on, until it is dropped.
pub(crate) struct RequestTurn {
    turns: Option<Arc<RequestTurns>>,
    id: u64,
}

impl RequestTurns {
    pub(crate) fn new(limits: TurnLimits) -> Arc<RequestTurns> {
        Arc::new(RequestTurns {
            limits,
            state: Mutex::default(),
            someone_waits: Notify::new(),
            connections: AtomicU64::new(0),
        })
    }

    /// Waits for the client's turn.
    pub(crate) async fn take(self: &Arc<Self>, client: &ClientKey, is_proven: bool) -> RequestTurn {
        let receiver = {
            let mut state = self.lock();
            state.note_asking(client);
            let floor = state.clients.values().map(|client| client.served).min().unwrap_or_default();
            let of_client = state
                .clients
                .entry(client.clone())
                .or_insert_with(|| ClientQueue { served: floor, ..ClientQueue::default() });
            let (sender, receiver) = oneshot::channel();
            let queue = if is_proven { &mut of_client.proven } else { &mut of_client.newcomers };
            queue.push_back(Waiter(sender));
            state.waiting += 1;
            state.peak = state.peak.max(state.begun.len() + state.waiting);
            self.dispatch(&mut state);
            if state.waiting > 0 {
                self.someone_waits.notify_one();
            }
            receiver
        };
        // The sender stays in the queue until the turn comes, so it cannot be lost; without a turn nothing is counted.
        receiver.await.unwrap_or(RequestTurn { turns: None, id: 0 })
    }

    /// Gives out turns that become free by time alone; runs as long as the server does.
    pub(crate) async fn run_queue(self: Arc<Self>) {
        loop {
            if self.lock().waiting == 0 {
                self.someone_waits.notified().await;
            }
            tokio::time::sleep(TICK).await;
            let idle = {
                let mut state = self.lock();
                state.stop_counting_long_turns(Instant::now());
                self.dispatch(&mut state);
                state.stalled_connections(&self.limits, Instant::now())
            };
            for connection in idle {
                connection.give_up();
            }
        }
    }

    /// A number that no other connection has.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Requests that are worked on or wait.
    pub(crate) fn load(&self) -> usize {
        let state = self.lock();
        state.begun.len() + state.waiting
    }

    /// The most there were since this was last asked.
    pub(crate) fn take_peak(&self) -> usize {
        std::mem::take(&mut self.lock().peak)
    }

    /// A connection has been given `bytes` to send.
    pub(crate) fn held(&self, client: &ClientKey, holder: &Arc<Unsent>, bytes: usize) {
        let mut state = self.lock();
        state.unsent += bytes;
        let of_client = state.clients.entry(client.clone()).or_default();
        of_client.unsent += bytes;
        of_client.holders.insert(holder.id(), Arc::clone(holder));
    }

    /// Of what it was given, so much is gone; with `is_empty`, it holds nothing more.
    pub(crate) fn released(self: &Arc<Self>, client: &ClientKey, holder: u64, bytes: usize, is_empty: bool) {
        let mut state = self.lock();
        state.unsent = state.unsent.saturating_sub(bytes);
        if let Some(of_client) = state.clients.get_mut(client) {
            of_client.unsent = of_client.unsent.saturating_sub(bytes);
            if is_empty {
                of_client.holders.remove(&holder);
            }
        }
        state.forget_if_idle(client);
        if state.waiting > 0 {
            self.dispatch(&mut state);
        }
    }

    fn end(self: &Arc<Self>, id: u64) {
        let mut state = self.lock();
        let Some(begun) = state.begun.remove(&id) else { return };
        if begun.counts {
            state.running -= 1;
        }
        if let Some(client) = state.clients.get_mut(&begun.client) {
            client.begun -= 1;
            client.served += begun.since.elapsed().min(SLICE);
            if begun.counts {
                client.running -= 1;
            }
        }
        state.forget_if_idle(&begun.client);
        self.dispatch(&mut state);
    }

    /// Gives out turns while there are any to give: first to clients with the least under way, then with the least had.
    fn dispatch(self: &Arc<Self>, state: &mut QueueState) {
        while state.waiting > 0 {
            let next = state
                .clients
                .iter()
                .filter(|(key, client)| client.waits() && self.may_begin(state, key, client))
                .min_by_key(|(_, client)| (client.running, client.served))
                .map(|(key, _)| key.clone());
            let Some(key) = next else { return };
            let Some(client) = state.clients.get_mut(&key) else { return };
            let Some(Waiter(sender)) = client.next() else { return };
            state.waiting -= 1;
            if sender.is_closed() {
                state.forget_if_idle(&key);
                continue;
            }
            client.running += 1;
            client.begun += 1;
            state.running += 1;
            state.last_id += 1;
            let id = state.last_id;
            state.begun.insert(id, StartedTurn { client: key, since: Instant::now(), counts: true });
            if let Err(mut turn) = sender.send(RequestTurn { turns: Some(Arc::clone(self)), id }) {
                // Its drop would take the lock that is held here.
                turn.turns = None;
                state.take_back(id);
            }
        }
    }

    fn may_begin(&self, state: &QueueState, key: &ClientKey, client: &ClientQueue) -> bool {
        let limits = &self.limits;
        let (running, unsent) = (state.running, state.unsent);
        let share =
            if state.others_asked_recently(key) { (limits.running - 1).max(1) } else { limits.running };
        let has_room = match client.running {
            0 => running < 2 * limits.running,
            own => own < share && running < limits.running,
        };
        let has_read = client.unsent == 0
            || (client.unsent < limits.unsent_per_client && unsent < limits.unsent)
            // A connection that takes its answers is not made to wait for those of the same client that do not, within reason.
            || (!client.proven.is_empty() && client.unsent < 2 * limits.unsent_per_client);
        has_room && client.begun < limits.begun_per_client && has_read
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn note_asking(&mut self, client: &ClientKey) {
        self.recent_clients.retain(|(other, _)| other != client);
        self.recent_clients.truncate(1);
        self.recent_clients.insert(0, (client.clone(), Instant::now()));
    }

    fn others_asked_recently(&self, client: &ClientKey) -> bool {
        self.recent_clients.iter().any(|(other, at)| other != client && at.elapsed() < RECENTLY)
    }

    fn stop_counting_long_turns(&mut self, now: Instant) {
        for begun in self.begun.values_mut() {
            if begun.counts && now.saturating_duration_since(begun.since) >= SLICE {
                begun.counts = false;
                self.running -= 1;
                if let Some(client) = self.clients.get_mut(&begun.client) {
                    client.running -= 1;
                }
            }
        }
    }

    /// The connections with answers that are not read while their client, or all clients, have to wait because of them.
    fn stalled_connections(&self, limits: &TurnLimits, now: Instant) -> Vec<Arc<Unsent>> {
        let all_full = self.unsent >= limits.unsent;
        self.clients
            .values()
            .filter(|client| all_full || (client.waits() && client.unsent >= limits.unsent_per_client))
            .flat_map(|client| client.holders.values())
            .filter(|holder| holder.is_stalled(now, limits.stall_limit))
            .cloned()
            .collect()
    }

    fn take_back(&mut self, id: u64) {
        let Some(begun) = self.begun.remove(&id) else { return };
        self.running -= 1;
        if let Some(client) = self.clients.get_mut(&begun.client) {
            client.begun -= 1;
            client.running -= 1;
        }
        self.forget_if_idle(&begun.client);
    }

    fn forget_if_idle(&mut self, key: &ClientKey) {
        if self.clients.get(key).is_some_and(|client| {
            client.begun == 0 && client.unsent == 0 && client.holders.is_empty() && !client.waits()
        }) {
            self.clients.remove(key);
        }
    }
}

impl ClientQueue {
    fn waits(&self) -> bool {
        !self.proven.is_empty() || !self.newcomers.is_empty()
    }

    fn next(&mut self) -> Option<Waiter> {
        self.turns += 1;
        let newcomers_first = self.turns.is_multiple_of(NEWCOMERS);
        let (first, second) = if newcomers_first {
            (&mut self.newcomers, &mut self.proven)
        } else {
            (&mut self.proven, &mut self.newcomers)
        };
        first.pop_front().or_else(|| second.pop_front())
    }
}

impl Drop for RequestTurn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.end(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ClientKey {
        ClientKey { identity: Some(Identity::new("token")), address: name.parse().unwrap() }
    }

    fn turns(running: usize) -> Arc<RequestTurns> {
        RequestTurns::new(TurnLimits {
            running,
            begun_per_client: 16,
            unsent_per_client: 1 << 20,
            unsent: 4 << 20,
            stall_limit: Duration::from_millis(10),
        })
    }

    /// Whether the turn comes at once.
    async fn at_once(turns: &Arc<RequestTurns>, client: &ClientKey, is_proven: bool) -> Option<RequestTurn> {
        tokio::time::timeout(Duration::ZERO, turns.take(client, is_proven)).await.ok()
    }

    #[tokio::test]
    async fn a_client_that_asks_now_and_then_does_not_wait_for_a_greedy_one() {
        let turns = turns(2);
        let (greedy, honest) = (key("127.0.0.2"), key("127.0.0.1"));
        let held =
            [at_once(&turns, &greedy, false).await.unwrap(), at_once(&turns, &greedy, false).await.unwrap()];
        assert!(at_once(&turns, &greedy, false).await.is_none(), "all processors are busy with its requests");
        let turn = at_once(&turns, &honest, false).await;
        assert!(turn.is_some(), "another client is served beside them");
        assert!(at_once(&turns, &honest, false).await.is_none(), "with one request, not with many");
        drop((held, turn));
        assert!(turns.lock().clients.is_empty(), "a client that asks no more is forgotten");
    }

    #[tokio::test]
    async fn turns_alternate_between_clients_however_many_requests_one_has_waiting() {
        let turns = turns(1);
        let (greedy, honest) = (key("127.0.0.2"), key("127.0.0.1"));
        let first = [turns.take(&greedy, false).await, turns.take(&honest, false).await];
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (client, name, count) in [(&greedy, "greedy", 100), (&honest, "honest", 3)] {
            for _ in 0..count {
                let (turns, client, told) = (turns.clone(), client.clone(), told.clone());
                tokio::spawn(async move {
                    let turn = turns.take(&client, false).await;
                    let _ = told.send(name);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    drop(turn);
                });
            }
        }
        while turns.lock().waiting < 103 {
            tokio::task::yield_now().await;
        }
        drop(first);
        let mut begun = Vec::new();
        while begun.iter().filter(|name| **name == "honest").count() < 3 {
            begun.push(order.recv().await.unwrap());
        }
        assert!(begun.len() <= 10, "{begun:?}");
    }

    #[tokio::test]
    async fn what_waits_for_something_lets_others_begin() {
        let turns = turns(1);
        let client = key("127.0.0.1");
        let long = turns.take(&client, false).await;
        assert!(at_once(&turns, &client, false).await.is_none());
        turns.lock().stop_counting_long_turns(Instant::now() + SLICE);
        assert!(at_once(&turns, &client, false).await.is_some());
        drop(long);
        assert_eq!(turns.lock().running, 0);
    }

    #[tokio::test]
    async fn a_client_that_leaves_answers_unread_gets_no_more_and_loses_stalled_connections() {
        let turns = turns(4);
        let (greedy, honest) = (key("127.0.0.2"), key("127.0.0.1"));
        let connection = Unsent::new(turns.clone());
        connection.set_client(&greedy);
        connection.queued(1 << 20);
        assert!(at_once(&turns, &greedy, false).await.is_none());
        assert!(at_once(&turns, &greedy, true).await.is_some(), "its other connections take what they get");
        assert!(at_once(&turns, &honest, false).await.is_some());
        let keeper = tokio::spawn(turns.clone().run_queue());
        let waiting = tokio::spawn({
            let (turns, greedy) = (turns.clone(), greedy.clone());
            async move { drop(turns.take(&greedy, false).await) }
        });
        connection.given_up().await;
        connection.closed();
        waiting.await.unwrap();
        keeper.abort();
        let state = turns.lock();
        assert_eq!((state.unsent, state.clients.len()), (0, 0));
    }

    #[tokio::test]
    async fn a_client_that_goes_away_while_it_waits_leaves_nothing_behind() {
        let turns = turns(1);
        let client = key("127.0.0.1");
        let turn = turns.take(&client, false).await;
        for _ in 0..10 {
            assert!(at_once(&turns, &client, false).await.is_none());
        }
        drop(turn);
        let state = turns.lock();
        assert_eq!((state.waiting, state.running, state.begun.len(), state.clients.len()), (0, 0, 0, 0));
    }
}
