//! What happens while somebody looks: progress, calls, changed files, as a stream of events. Each client has a bounded queue; one that
//! does not keep up is told that it missed something, and is not waited for.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dir2mcp_http::{Endless, Refusal};
use engine::{EndedCall, EngineEvent, FileChange, FileChangeKind};
use futures::stream::unfold;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use model::{ErrorCode, Identity, Progress, TenantId};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::ConsoleParts;
use crate::answer::spell_out;
use crate::source::Asker;

/// Events that are kept for clients that come back, and for those that are slow.
const KEPT: usize = 256;

/// Streams at a time, and those of one caller: a browser opens no more than six connections anyway.
const MAX_STREAMS: usize = 64;
const MAX_STREAMS_OF_ONE: usize = 8;

/// A sign of life, for whatever lies between.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// Progress is told at most so often.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// The figures of the last ten minutes: so many steps of so many seconds.
const STEPS: usize = 120;
const STEP: Duration = Duration::from_secs(5);

/// Calls that are remembered one by one.
const RECENT_CALLS: usize = 100;

/// The calls whose times are remembered, over all tools.
const TIMED_CALLS: usize = 10_000;

/// Upper ends of the ranges of call times, in milliseconds.
pub(crate) const RANGES_MS: [u64; 9] = [1, 5, 10, 25, 50, 100, 500, 1000, 5000];

/// All that happens in the process, for those who watch.
pub struct LiveEvents {
    /// Different after every start.
    instance: String,
    version: &'static str,
    started: Instant,
    sender: broadcast::Sender<LiveEvent>,
    state: Mutex<LiveState>,
}

#[derive(Default)]
struct LiveState {
    /// The number of the last event.
    last: u64,
    kept: VecDeque<LiveEvent>,
    progress: Option<Progress>,
    progress_told: Option<Instant>,
    /// Files that were read, by the step they were read in.
    rate: VecDeque<(u64, u64)>,
    recent: VecDeque<Value>,
    timed: VecDeque<TimedCall>,
    streams: Vec<(u64, Option<Identity>)>,
    streams_opened: u64,
}

#[derive(Clone)]
struct LiveEvent {
    number: u64,
    name: &'static str,
    data: Arc<str>,
    audience: Audience,
}

/// Who may see an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Whoever has the server's own credential.
    Operators,
    /// Those to whom the files belong.
    Tenant(TenantId),
    /// Both: a call that somebody made for its files.
    OperatorsAnd(TenantId),
}

struct TimedCall {
    at: Instant,
    tool: &'static str,
    is_ok: bool,
    took: Duration,
}

/// The calls of one tool in the last ten minutes.
pub(crate) struct ToolTimes {
    pub(crate) tool: &'static str,
    pub(crate) errors: usize,
    /// In milliseconds, ascending.
    pub(crate) times: Vec<f64>,
}

impl LiveEvents {
    pub fn new(version: &'static str) -> Arc<LiveEvents> {
        let mut random = [0u8; 8];
        // Without random numbers the time has to do: it only tells two starts apart.
        if getrandom::fill(&mut random).is_err() {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            random = (since.map_or(0, |since| since.as_nanos() as u64)).to_le_bytes();
        }
        Arc::new(LiveEvents {
            instance: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            version,
            started: Instant::now(),
            sender: broadcast::channel(KEPT).0,
            state: Mutex::default(),
        })
    }

    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// What the background work tells.
    pub fn engine_event(&self, event: &EngineEvent) {
        match event {
            EngineEvent::Progress(progress) | EngineEvent::Settled(progress) => self.progress(progress),
            EngineEvent::FileError { path, message } => {
                let data = json!({ "source": "dir", "path": path, "message": message });
                self.tell("file_error", data, Audience::Operators);
            }
            EngineEvent::Warning(message) => {
                self.tell("warning", json!({ "message": message }), Audience::Operators);
            }
            EngineEvent::BecameWriter => {
                let message = "this server now keeps the index up to date";
                self.tell("warning", json!({ "message": message }), Audience::Operators);
            }
            EngineEvent::Fatal { message, .. } => {
                self.tell("warning", json!({ "message": message }), Audience::Operators);
            }
        }
    }

    /// A call that has ended.
    pub fn call_ended(&self, call: &EndedCall) {
        // What the page itself asks for is not worth a line.
        if call.tool == "console" {
            return;
        }
        let is_ok = call.outcome == "ok";
        let data = json!({
            "at": call.at,
            "tool": call.tool,
            "ok": is_ok,
            "error_code": (!is_ok).then_some(call.outcome),
            "duration_ms": (call.took.as_secs_f64() * 1e4).round() / 10.0,
            "caller": call.caller,
        });
        {
            let mut state = self.state();
            push(&mut state.recent, data.clone(), RECENT_CALLS);
            let timed = TimedCall { at: Instant::now(), tool: call.tool, is_ok, took: call.took };
            push(&mut state.timed, timed, TIMED_CALLS);
        }
        let audience = call.tenant.map_or(Audience::Operators, Audience::OperatorsAnd);
        self.tell("call", data, audience);
    }

    /// A file of the store that was changed.
    pub fn file_changed(&self, change: &FileChange) {
        let (operation, to) = match &change.kind {
            FileChangeKind::Written => ("write", None),
            FileChangeKind::Deleted => ("delete", None),
            FileChangeKind::Renamed { to } => ("rename", Some(to)),
            FileChangeKind::Restored => ("restore", None),
        };
        let data = json!({
            "project": change.project,
            "path": change.path,
            "operation": operation,
            "to": to,
            "content_hash": change.content_hash.map(|hash| hash.to_hex()),
            "caller": change.caller,
        });
        self.tell("file_changed", data, Audience::Tenant(change.tenant));
    }

    fn progress(&self, progress: &Progress) {
        let (now, step) = (Instant::now(), self.step());
        let is_due = {
            let mut state = self.state();
            let before = state.progress.as_ref();
            let same_job = before.is_some_and(|before| before.job_id == progress.job_id);
            let read_before = before.filter(|_| same_job).map_or(0, |before| before.read);
            let read = progress.read.saturating_sub(read_before);
            if read > 0 {
                match state.rate.back_mut() {
                    Some((last, files)) if *last == step => *files += read,
                    _ => push(&mut state.rate, (step, read), STEPS),
                }
            }
            let ended = state.progress.as_ref().is_none_or(|before| before.running != progress.running);
            let waited = state.progress_told.is_none_or(|told| now.duration_since(told) >= PROGRESS_EVERY);
            state.progress = Some(progress.clone());
            let is_due = ended || waited;
            if is_due {
                state.progress_told = Some(now);
            }
            is_due
        };
        if is_due {
            self.tell("progress", self.progress_json(progress), Audience::Operators);
        }
    }

    /// How far indexing is, with its speed over the last steps.
    pub(crate) fn progress_json(&self, progress: &Progress) -> Value {
        let step = self.step();
        let per_second = {
            let state = self.state();
            let recent = state.rate.iter().filter(|(at, _)| at + 2 > step);
            let files: u64 = recent.map(|(_, files)| files).sum();
            let seconds = self.started.elapsed().as_secs_f64().min(2.0 * STEP.as_secs_f64()).max(0.1);
            files as f64 / seconds
        };
        let left = progress.to_read.map(|all| all.saturating_sub(progress.read));
        let eta = left
            .filter(|left| *left > 0 && progress.running && per_second > 0.0)
            .map(|left| left as f64 / per_second);
        json!({
            "running": progress.running,
            "mode": progress.mode.as_str(),
            "scanned": progress.scanned,
            "indexed": progress.indexed,
            "skipped": progress.skipped,
            "deleted": progress.deleted,
            "errors": progress.errors,
            "searchable": progress.searchable,
            "not_searchable": progress.not_searchable,
            "unread": progress.unread,
            "read": progress.read,
            "to_read": progress.to_read,
            "chunks": progress.chunks_total,
            "embedded": progress.embedded_ok,
            "files_per_s": (per_second * 10.0).round() / 10.0,
            "eta_s": eta.map(f64::ceil),
        })
    }

    /// Files read in each step of the last ten minutes, the oldest first.
    pub(crate) fn indexing_rate(&self) -> Value {
        let now = self.step();
        let state = self.state();
        let files: Vec<u64> = (0..STEPS as u64)
            .rev()
            .map(|ago| {
                let step = now.checked_sub(ago);
                state.rate.iter().find(|(at, _)| Some(*at) == step).map_or(0, |(_, files)| *files)
            })
            .collect();
        json!({ "step_s": STEP.as_secs(), "files": files })
    }

    /// The last calls, the newest first.
    pub(crate) fn recent_calls(&self) -> Vec<Value> {
        self.state().recent.iter().rev().cloned().collect()
    }

    /// The calls of the last ten minutes by tool.
    pub(crate) fn tool_times(&self) -> Vec<ToolTimes> {
        let mut state = self.state();
        let horizon = STEP * STEPS as u32;
        while state.timed.front().is_some_and(|call| call.at.elapsed() > horizon) {
            state.timed.pop_front();
        }
        let mut tools: Vec<ToolTimes> = Vec::new();
        for call in &state.timed {
            let millis = call.took.as_secs_f64() * 1000.0;
            match tools.iter_mut().find(|known| known.tool == call.tool) {
                Some(known) => {
                    known.times.push(millis);
                    known.errors += usize::from(!call.is_ok);
                }
                None => tools.push(ToolTimes {
                    tool: call.tool,
                    errors: usize::from(!call.is_ok),
                    times: vec![millis],
                }),
            }
        }
        drop(state);
        for tool in &mut tools {
            tool.times.sort_by(f64::total_cmp);
        }
        tools.sort_by_key(|tool| tool.tool);
        tools
    }

    pub(crate) fn streams(&self) -> usize {
        self.state().streams.len()
    }

    fn step(&self) -> u64 {
        self.started.elapsed().as_secs() / STEP.as_secs()
    }

    fn tell(&self, name: &'static str, mut data: Value, audience: Audience) {
        spell_out(&mut data);
        let mut state = self.state();
        state.last += 1;
        let event = LiveEvent { number: state.last, name, data: data.to_string().into(), audience };
        push(&mut state.kept, event.clone(), KEPT);
        // Under the lock, so that the order of the numbers is that of the stream. Nobody may be listening.
        let _ = self.sender.send(event);
    }

    /// A place among the streams; `None` where there are too many.
    fn enter(self: &Arc<Self>, caller: Option<Identity>) -> Option<StreamPlace> {
        let mut state = self.state();
        let of_one = state.streams.iter().filter(|(_, other)| *other == caller).count();
        if state.streams.len() >= MAX_STREAMS || of_one >= MAX_STREAMS_OF_ONE {
            return None;
        }
        state.streams_opened += 1;
        let number = state.streams_opened;
        state.streams.push((number, caller));
        Some(StreamPlace { live: Arc::clone(self), number })
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(item);
}

/// A stream that is open.
struct StreamPlace {
    live: Arc<LiveEvents>,
    number: u64,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.live.state().streams.retain(|(number, _)| *number != self.number);
    }
}

impl Audience {
    fn holds(self, asker: &Asker) -> bool {
        let owns = |tenant| asker.caller.tenant == Some(tenant);
        match self {
            Audience::Operators => !asker.is_guest,
            Audience::Tenant(tenant) => owns(tenant),
            Audience::OperatorsAnd(tenant) => !asker.is_guest || owns(tenant),
        }
    }
}

pub(crate) async fn serve(State(state): State<Arc<ConsoleParts>>, request: Parts) -> Response {
    let asker = Asker::of(&request.extensions);
    let live = &state.live;
    let Some(place) = live.enter(asker.caller.identity.clone()) else {
        let message = "too many streams of events are open; close another page first";
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimitExceeded, message);
        return refusal.retry_after(5).into_response();
    };
    let since = request.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let since = since.and_then(|id| id.strip_prefix(live.instance())?.strip_prefix('-')?.parse::<u64>().ok());
    // Subscribed before the kept ones are looked at, and under the lock that numbers them: none is missed or sent twice.
    let (receiver, first) = {
        let kept = live.state();
        (live.sender.subscribe(), opening(live, &kept, since, &asker))
    };
    let first = first.replace(PROGRESS_HERE, &progress_now(&state, &asker).to_string());
    let watching = Watching { receiver, asker, live: Arc::clone(live), _place: place };
    let stream = unfold((Some(first), watching), |(first, mut watching)| async move {
        let text = match first {
            Some(first) => first,
            None => watching.next().await?,
        };
        Some((Ok::<Bytes, Infallible>(text.into()), (None, watching)))
    });
    let mut response = Response::new(Body::from_stream(stream));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Some proxies hold streams back otherwise.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(Endless);
    response
}

/// Stands for the progress in the first event until no lock is held any more.
const PROGRESS_HERE: &str = "\"\u{1}progress\"";

/// The first event, and those that a client missed.
fn opening(live: &LiveEvents, state: &LiveState, since: Option<u64>, asker: &Asker) -> String {
    let oldest = state.kept.front().map_or(state.last + 1, |event| event.number);
    let resumed = since.is_some_and(|since| since + 1 >= oldest && since <= state.last);
    let hello = format!(
        "{{\"instance\":\"{}\",\"version\":\"{}\",\"resumed\":{resumed},\"progress\":{PROGRESS_HERE}}}",
        live.instance, live.version
    );
    let first = since.filter(|_| resumed).unwrap_or(state.last);
    let mut text = format!("id: {}-{first}\nevent: hello\ndata: {hello}\n\n", live.instance);
    if since.is_some() && !resumed {
        text.push_str("event: gap\ndata: {}\n\n");
    }
    if let Some(since) = since.filter(|_| resumed) {
        let missed = state.kept.iter().filter(|event| event.number > since && event.audience.holds(asker));
        missed.for_each(|event| text.push_str(&event.text(&live.instance)));
    }
    text
}

fn progress_now(state: &ConsoleParts, asker: &Asker) -> Value {
    let engines = state.workspace.engines();
    match engines.first().filter(|_| !asker.is_guest) {
        None => Value::Null,
        Some(first) => {
            let all = engines[1..].iter().fold(first.progress(), |sum, one| sum.with(&one.progress()));
            state.live.progress_json(&all)
        }
    }
}

struct Watching {
    receiver: broadcast::Receiver<LiveEvent>,
    asker: Asker,
    live: Arc<LiveEvents>,
    _place: StreamPlace,
}

impl Watching {
    /// The next event or sign of life.
    async fn next(&mut self) -> Option<String> {
        let deadline = tokio::time::Instant::now() + COMMENT_EVERY;
        loop {
            match tokio::time::timeout_at(deadline, self.receiver.recv()).await {
                Err(_) => return Some(":\n\n".to_owned()),
                Ok(Ok(event)) if event.audience.holds(&self.asker) => {
                    return Some(event.text(self.live.instance()));
                }
                Ok(Ok(_)) => {}
                Ok(Err(RecvError::Lagged(_))) => return Some("event: gap\ndata: {}\n\n".to_owned()),
                Ok(Err(RecvError::Closed)) => return None,
            }
        }
    }
}

impl LiveEvent {
    /// On one line: JSON holds no line ends.
    fn text(&self, instance: &str) -> String {
        format!("id: {instance}-{}\nevent: {}\ndata: {}\n\n", self.number, self.name, self.data)
    }
}

#[cfg(test)]
mod tests {
    use model::Caller;

    use super::*;

    fn operator() -> Asker {
        Asker { caller: Caller::unknown(), is_guest: false }
    }

    fn guest(tenant: TenantId) -> Asker {
        Asker { caller: Caller::unknown().of_tenant(Some(tenant)), is_guest: true }
    }

    fn ended(tool: &'static str, tenant: Option<TenantId>) -> EndedCall {
        let took = Duration::from_millis(4);
        EndedCall { at: "t".into(), tool, outcome: "ok", took, caller: "a\u{202e}".into(), tenant }
    }

    fn names(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix("event: ")).collect()
    }

    #[test]
    fn who_comes_back_gets_what_was_missed() {
        let live = LiveEvents::new("1");
        for _ in 0..3 {
            live.call_ended(&ended("dir2mcp.search", None));
        }
        let state = live.state();
        assert_eq!(names(&opening(&live, &state, None, &operator())), ["hello"]);
        assert_eq!(names(&opening(&live, &state, Some(1), &operator())), ["hello", "call", "call"]);
        assert_eq!(names(&opening(&live, &state, Some(3), &operator())), ["hello"]);
        assert_eq!(
            names(&opening(&live, &state, Some(9), &operator())),
            ["hello", "gap"],
            "of another start"
        );
    }

    #[test]
    fn too_old_a_place_is_a_gap() {
        let live = LiveEvents::new("1");
        for _ in 0..KEPT + 2 {
            live.call_ended(&ended("dir2mcp.search", None));
        }
        let state = live.state();
        assert_eq!(names(&opening(&live, &state, Some(1), &operator())), ["hello", "gap"]);
        assert_eq!(names(&opening(&live, &state, Some(2), &operator())).len(), KEPT + 1);
    }

    #[test]
    fn guests_see_their_own_only() {
        let live = LiveEvents::new("1");
        let (own, other) = (TenantId::from_digest([1; 32]), TenantId::from_digest([2; 32]));
        live.call_ended(&ended("dir2mcp.search", None));
        live.call_ended(&ended("file_read", Some(own)));
        live.call_ended(&ended("file_read", Some(other)));
        live.file_changed(&FileChange {
            tenant: own,
            project: "p".into(),
            path: "/a".into(),
            kind: FileChangeKind::Written,
            content_hash: None,
            caller: "x".into(),
        });
        let state = live.state();
        assert_eq!(names(&opening(&live, &state, Some(0), &guest(own))), ["hello", "call", "file_changed"]);
        assert_eq!(names(&opening(&live, &state, Some(0), &operator())), ["hello", "call", "call", "call"]);
    }

    #[test]
    fn events_are_lines_without_hidden_characters() {
        let live = LiveEvents::new("1");
        live.engine_event(&EngineEvent::FileError { path: "a\nb\u{202e}".into(), message: "m".into() });
        let state = live.state();
        let text = state.kept[0].text("i");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("\"a\\nb\\\\u{202e}\""), "{text}");
    }

    #[test]
    fn a_caller_has_so_many_streams() {
        let live = LiveEvents::new("1");
        let caller = || Some(Identity::new("a"));
        let places: Vec<StreamPlace> =
            (0..MAX_STREAMS_OF_ONE).map(|_| live.enter(caller()).unwrap()).collect();
        assert!(live.enter(caller()).is_none());
        assert!(live.enter(Some(Identity::new("b"))).is_some());
        drop(places);
        assert!(live.enter(caller()).is_some());
    }

    #[test]
    fn figures_of_ten_minutes() {
        let live = LiveEvents::new("1");
        live.call_ended(&ended("dir2mcp.search", None));
        live.call_ended(&EndedCall { outcome: "FORBIDDEN", ..ended("dir2mcp.search", None) });
        live.call_ended(&ended("console", None));
        let tools = live.tool_times();
        assert_eq!((tools.len(), tools[0].times.len(), tools[0].errors), (1, 2, 1));
        let progress = |read| Progress { running: true, job_id: "j".into(), read, ..Progress::nothing() };
        live.progress(&progress(3));
        live.progress(&progress(5));
        let rate = live.indexing_rate();
        let files = rate["files"].as_array().unwrap();
        assert_eq!((files.len(), files[STEPS - 1].as_u64()), (STEPS, Some(5)));
        assert_eq!(live.recent_calls().len(), 2);
    }
}
