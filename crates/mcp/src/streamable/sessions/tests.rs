//! Sessions sleep, are woken, make room and leave nothing behind.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::*;
use model::SystemMonotonicClock;

#[derive(Clone)]
struct Nothing;

impl ServerHandler for Nothing {}

struct Hand(Mutex<Instant>);

impl MonotonicClock for Hand {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

struct Fixture {
    sessions: Arc<OpenSessions>,
    clock: Arc<Hand>,
    service: StreamableHttpService<Nothing, SessionAccess>,
    owner: Identity,
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
            sessions: OpenSessions::new(limits, clock.clone()),
            clock,
            service: StreamableHttpService::new(|| Ok(Nothing), Arc::new(SessionAccess), config),
            owner: Identity::new("somebody"),
        }
    }

    fn advance(&self, seconds: u64) {
        *self.clock.0.lock().unwrap() += Duration::from_secs(seconds);
    }

    fn open(&self) -> Result<HeaderValue, TableFull> {
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

fn request(body: serde_json::Value, session: Option<HeaderValue>) -> Request<http_body_util::Full<Bytes>> {
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
    assert_eq!(fixture.open().err(), Some(TableFull { retry_after: 2 }));
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
        OpenSessions::new(limits, Arc::new(SystemMonotonicClock)).sweep_interval()
    };
    assert_eq!(interval(Duration::from_secs(20), None), Duration::from_secs(10));
    assert_eq!(interval(Duration::from_secs(20), Some(Duration::from_secs(8))), Duration::from_secs(4));
    assert_eq!(interval(Duration::from_secs(86_400), None), NAP / 2);
}
