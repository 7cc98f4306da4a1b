//! Servers on loopback that stand in for the services of providers: they answer as the real ones do, count what was asked of
//! them, and misbehave when a test wants it.
//!
//! They are faithful enough for the providers' own client packages, which `cargo xtask clients` drives against them.

mod cohere;
mod content;
mod elevenlabs;
mod fault;
mod message;
mod mistral;
mod openai;
mod server;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

pub use fault::Fault;
pub use message::{SeenField, SeenRequest};

use crate::DEADLINE;
use server::Listening;

/// Whose service a stand-in plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Mistral,
    ElevenLabs,
    OpenAi,
    Cohere,
}

/// What was asked of a stand-in so far. Requests that failed on demand count as requests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub requests: usize,
    pub embed_calls: usize,
    /// Texts that were embedded.
    pub inputs: usize,
    pub ocr_calls: usize,
    pub pages: usize,
    pub stt_calls: usize,
    pub audio_ms: u64,
    pub chat_calls: usize,
    pub rerank_calls: usize,
    pub tts_calls: usize,
    /// Requests whose client went away before the answer.
    pub abandoned: usize,
}

/// A page or picture as the OCR of a stand-in sees it.
#[derive(Debug, Clone, Copy)]
pub struct SeenPage<'a> {
    /// Of the picture, or of the whole PDF.
    pub bytes: &'a [u8],
    pub media_type: &'a str,
    /// From 1.
    pub page: u32,
}

/// Something said in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub start_ms: u64,
    pub end_ms: u64,
    pub text: String,
}

/// A server that plays a provider's service until it is dropped.
pub struct StandIn {
    shared: Arc<Shared>,
    listening: Mutex<Option<Listening>>,
    address: SocketAddr,
}

pub(crate) struct Shared {
    service: Service,
    key: Option<String>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    counts: Counts,
    requests: Vec<SeenRequest>,
    script: VecDeque<Fault>,
    always: Option<Fault>,
    gate_is_open: bool,
    most_inputs: usize,
    chat_script: VecDeque<String>,
    chat: Arc<dyn Fn(&Value) -> String + Send + Sync>,
    pages: Arc<dyn Fn(SeenPage<'_>) -> Option<String> + Send + Sync>,
    speech: Arc<dyn Fn(&[u8]) -> Option<Vec<Said>> + Send + Sync>,
}

/// What a service answers.
pub(crate) enum Reply {
    Json(u16, Value),
    Bytes(&'static str, Vec<u8>),
    /// The data of server-sent events.
    Events(Vec<String>),
}

impl StandIn {
    pub fn mistral() -> StandIn {
        StandIn::start(Service::Mistral, Some("fixture-key-of-mistral"))
    }

    pub fn elevenlabs() -> StandIn {
        StandIn::start(Service::ElevenLabs, Some("fixture-key-of-elevenlabs"))
    }

    pub fn openai() -> StandIn {
        StandIn::start(Service::OpenAi, Some("fixture-key-of-openai"))
    }

    /// Like Ollama and llama.cpp: without a key.
    pub fn local_openai() -> StandIn {
        StandIn::start(Service::OpenAi, None)
    }

    pub fn cohere() -> StandIn {
        StandIn::start(Service::Cohere, Some("fixture-key-of-cohere"))
    }

    fn start(service: Service, key: Option<&str>) -> StandIn {
        let state = State {
            counts: Counts::default(),
            requests: Vec::new(),
            script: VecDeque::new(),
            always: None,
            gate_is_open: false,
            most_inputs: 256,
            chat_script: VecDeque::new(),
            chat: Arc::new(|_| "The stand-in has nothing to say.".to_owned()),
            pages: Arc::new(|_| None),
            speech: Arc::new(|_| None),
        };
        let key = key.map(str::to_owned);
        let shared = Arc::new(Shared { service, key, state: Mutex::new(state), changed: Condvar::new() });
        let listening = Listening::start(&shared, SocketAddr::from(([127, 0, 0, 1], 0)));
        let address = listening.address;
        StandIn { shared, listening: Mutex::new(Some(listening)), address }
    }

    /// The base URL, as the provider's own client packages want it.
    pub fn url(&self) -> String {
        match self.shared.service {
            Service::OpenAi => format!("http://{}/v1", self.address),
            Service::Mistral | Service::ElevenLabs | Service::Cohere => format!("http://{}", self.address),
        }
    }

    /// The only key that is accepted; empty where none is needed.
    pub fn key(&self) -> &str {
        self.shared.key.as_deref().unwrap_or_default()
    }

    /// Does these things about the next requests, in this order.
    pub fn then(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.lock().script.extend(faults);
    }

    /// Does this about all requests after those of [`StandIn::then`]; nothing is good behaviour.
    pub fn always(&self, fault: Option<Fault>) {
        self.shared.lock().always = fault;
    }

    /// Lets what waits at the gate, now or later, be answered.
    pub fn open_gate(&self) {
        self.shared.lock().gate_is_open = true;
        self.shared.changed.notify_all();
    }

    /// Lets later requests wait at the gate again.
    pub fn close_gate(&self) {
        self.shared.lock().gate_is_open = false;
    }

    /// Refuses to embed more texts at once.
    pub fn refuse_more_inputs_than(&self, most: usize) {
        self.shared.lock().most_inputs = most;
    }

    /// What its chat model says next, in this order.
    pub fn say(&self, answers: impl IntoIterator<Item = impl Into<String>>) {
        self.shared.lock().chat_script.extend(answers.into_iter().map(Into::into));
    }

    /// What its chat model says to a request when there is nothing of [`StandIn::say`] left.
    pub fn answer_chat(&self, answer: impl Fn(&Value) -> String + Send + Sync + 'static) {
        self.shared.lock().chat = Arc::new(answer);
    }

    /// What its OCR reads. Where the function has no text, one is made up.
    pub fn read_pages(&self, read: impl Fn(SeenPage<'_>) -> Option<String> + Send + Sync + 'static) {
        self.shared.lock().pages = Arc::new(read);
    }

    /// What it hears in a recording. Where the function has nothing, something is made up.
    pub fn hear(&self, hear: impl Fn(&[u8]) -> Option<Vec<Said>> + Send + Sync + 'static) {
        self.shared.lock().speech = Arc::new(hear);
    }

    pub fn counts(&self) -> Counts {
        self.shared.lock().counts
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.shared.lock().requests.clone()
    }

    pub fn last_request(&self) -> SeenRequest {
        self.shared.lock().requests.last().cloned().expect("there was a request")
    }

    /// Waits until the counts are as wanted.
    pub fn wait_until(&self, is_wanted: impl Fn(&Counts) -> bool) -> Counts {
        let waiting = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), DEADLINE, |state| !is_wanted(&state.counts));
        let (state, waited) = waiting.unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "not in time: {:?}", state.counts);
        state.counts
    }

    /// Stops listening and ends all connections, as a server that died.
    pub fn go_away(&self) {
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Listens again at the same address.
    pub fn come_back(&self) {
        let listening = Listening::start(&self.shared, self.address);
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request, and says how it is to be treated.
    fn begin(&self, request: &SeenRequest) -> Option<Fault> {
        let mut state = self.lock();
        state.counts.requests += 1;
        state.requests.push(request.clone());
        self.changed.notify_all();
        state.script.pop_front().or_else(|| state.always.clone())
    }

    fn count(&self, note: impl FnOnce(&mut Counts)) {
        note(&mut self.lock().counts);
        self.changed.notify_all();
    }

    fn wait_at_gate(&self) {
        let waiting = self.changed.wait_timeout_while(self.lock(), DEADLINE, |state| !state.gate_is_open);
        drop(waiting);
    }

    /// The answer of the service, without any fault but those that belong to the content.
    fn answer(&self, request: &SeenRequest, fault: Option<&Fault>) -> Reply {
        match self.service {
            Service::Mistral => mistral::answer(self, request, fault),
            Service::ElevenLabs => elevenlabs::answer(self, request),
            Service::OpenAi => openai::answer(self, request, fault),
            Service::Cohere => cohere::answer(self, request, fault),
        }
    }

    /// An error as this service writes it.
    fn error(&self, status: u16, message: &str) -> Reply {
        let body = match self.service {
            Service::Mistral => mistral::error(status, message),
            Service::ElevenLabs => elevenlabs::error(status, message),
            Service::OpenAi => openai::error(status, message),
            Service::Cohere => cohere::error(message),
        };
        Reply::Json(status, body)
    }

    fn chat_answer(&self, request: &Value) -> String {
        let (scripted, answer) = {
            let mut state = self.lock();
            (state.chat_script.pop_front(), Arc::clone(&state.chat))
        };
        scripted.unwrap_or_else(|| answer(request))
    }

    fn page_text(&self, page: SeenPage<'_>) -> String {
        let read = Arc::clone(&self.lock().pages);
        read(page)
            .unwrap_or_else(|| format!("{} Page {}.", content::invented("Picture", page.bytes), page.page))
    }

    fn said(&self, bytes: &[u8]) -> Vec<Said> {
        let hear = Arc::clone(&self.lock().speech);
        hear(bytes).unwrap_or_else(|| {
            let text = content::invented("Recording", bytes);
            vec![Said { start_ms: 0, end_ms: content::duration_ms(bytes), text }]
        })
    }
}
