//! Embedders for tests: one that sees no meaning, and one whose provider behaves as a test says: it answers, is slow, is
//! busy, refuses, or answers nonsense.

use std::collections::VecDeque;
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use model::{
    EmbedLimits, Embedder, IndexKind, LocalEmbedder, ProviderError, ProviderErrorKind, ProviderFuture,
    Purpose,
};

/// Sees no meaning in any text, so that words alone decide what is found.
#[derive(Debug)]
pub struct NoMeaning;

impl LocalEmbedder for NoMeaning {
    fn model(&self, _: IndexKind) -> &str {
        "none"
    }

    fn dimensions(&self, _: IndexKind) -> usize {
        8
    }

    fn embed(&self, _: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        vec![vec![0.0; 8]; texts.len()]
    }
}

/// What the provider does about the next request.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Answer,
    /// Never answers.
    Hang,
    /// Answers when [`ScriptedEmbedder::open_gate`] is called.
    WaitAtGate,
    Fail(ProviderErrorKind),
    /// Answers with vectors of this length.
    Dimensions(usize),
    /// Answers with one vector too few.
    OneTooFew,
}

/// A remote embedder that follows a script, and answers every request after its end. Its vectors count letters, so that
/// texts with the same letters are near to each other.
pub struct ScriptedEmbedder {
    model: String,
    limits: EmbedLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    always: Option<Step>,
    refused_word: Option<String>,
    requests: Vec<Request>,
    gate_is_open: bool,
    at_gate: Vec<Waker>,
    under_way: usize,
    most_under_way: usize,
}

/// A request as the provider saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub kind: IndexKind,
    pub is_question: bool,
    pub texts: Vec<String>,
}

impl ScriptedEmbedder {
    pub const DIMENSIONS: usize = 26;
    pub const PROVIDER: &'static str = "scripted";

    pub fn new(model: &str) -> ScriptedEmbedder {
        let limits = EmbedLimits { texts: 4, bytes: 64 << 10, requests: 2 };
        ScriptedEmbedder { model: model.to_owned(), limits, state: Mutex::default() }
    }

    #[must_use]
    pub fn with_limits(self, limits: EmbedLimits) -> ScriptedEmbedder {
        ScriptedEmbedder { limits, ..self }
    }

    /// Does these things about the next requests, in this order.
    #[must_use]
    pub fn then(self, steps: impl IntoIterator<Item = Step>) -> ScriptedEmbedder {
        self.lock().script.extend(steps);
        self
    }

    /// Does this about all requests after the script.
    pub fn always(&self, step: Step) {
        self.lock().always = Some(step);
    }

    /// Refuses requests with a text that holds this word.
    #[must_use]
    pub fn refusing(self, word: &str) -> ScriptedEmbedder {
        self.lock().refused_word = Some(word.to_owned());
        self
    }

    /// Lets everything that waits at the gate, now or later, be answered.
    pub fn open_gate(&self) {
        let mut state = self.lock();
        state.gate_is_open = true;
        state.at_gate.drain(..).for_each(Waker::wake);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// Every text of every request so far, sorted.
    pub fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            self.lock().requests.iter().flat_map(|request| request.texts.clone()).collect();
        texts.sort();
        texts
    }

    /// The most requests that were under way at the same time.
    pub fn most_under_way(&self) -> usize {
        self.lock().most_under_way
    }

    /// As the worker and the engine take it.
    pub fn shared(self) -> Arc<ScriptedEmbedder> {
        Arc::new(self)
    }

    /// The vector of a text.
    pub fn vector(text: &str) -> Vec<f32> {
        let mut letters = vec![0f32; ScriptedEmbedder::DIMENSIONS];
        for byte in text.bytes().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase) {
            letters[usize::from(byte - b'a')] += 1.0;
        }
        let length = letters.iter().map(|x| x * x).sum::<f32>().sqrt();
        letters.iter_mut().for_each(|x| *x /= length.max(f32::MIN_POSITIVE));
        letters
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_step(&self, texts: &[&str]) -> Step {
        let mut state = self.lock();
        if let Some(step) = state.script.pop_front() {
            return step;
        }
        match &state.refused_word {
            Some(word) if texts.iter().any(|text| text.contains(word)) => {
                Step::Fail(ProviderErrorKind::Refused { reason: format!("{word} is not allowed") })
            }
            _ => state.always.clone().unwrap_or(Step::Answer),
        }
    }

    async fn pass_gate(&self) {
        future::poll_fn(|context| {
            let mut state = self.lock();
            if state.gate_is_open {
                return Poll::Ready(());
            }
            state.at_gate.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Embedder for ScriptedEmbedder {
    fn provider(&self) -> &str {
        ScriptedEmbedder::PROVIDER
    }

    fn model(&self, _kind: IndexKind) -> &str {
        &self.model
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        ScriptedEmbedder::DIMENSIONS
    }

    fn limits(&self) -> EmbedLimits {
        self.limits
    }

    fn embed<'a>(
        &'a self,
        kind: IndexKind,
        purpose: Purpose,
        texts: &'a [&'a str],
    ) -> ProviderFuture<'a, Vec<Vec<f32>>> {
        Box::pin(async move {
            let step = self.next_step(texts);
            let _under_way = UnderWay::new(self, kind, purpose, texts);
            // Lets other requests begin, as a network would.
            let mut has_yielded = false;
            future::poll_fn(|context| {
                if std::mem::replace(&mut has_yielded, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            let mut vectors: Vec<Vec<f32>> =
                texts.iter().map(|text| ScriptedEmbedder::vector(text)).collect();
            match step {
                Step::Answer => {}
                Step::Hang => future::pending().await,
                Step::WaitAtGate => self.pass_gate().await,
                Step::Fail(kind) => return Err(ProviderError::new(ScriptedEmbedder::PROVIDER, kind)),
                Step::Dimensions(dimensions) => {
                    vectors.iter_mut().for_each(|vector| vector.resize(dimensions, 0.0));
                }
                Step::OneTooFew => drop(vectors.pop()),
            }
            Ok(vectors)
        })
    }
}

/// A request that has begun and not ended; a caller that loses patience ends it too.
struct UnderWay<'a>(&'a ScriptedEmbedder);

impl<'a> UnderWay<'a> {
    fn new(embedder: &'a ScriptedEmbedder, kind: IndexKind, purpose: Purpose, texts: &[&str]) -> Self {
        let mut state = embedder.lock();
        state.requests.push(Request {
            kind,
            is_question: purpose == Purpose::Question,
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        });
        state.under_way += 1;
        state.most_under_way = state.most_under_way.max(state.under_way);
        UnderWay(embedder)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
    }
}

/// Too many requests; come again after so many seconds.
pub fn rate_limited(seconds: u64) -> Step {
    Step::Fail(ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(seconds)) })
}
