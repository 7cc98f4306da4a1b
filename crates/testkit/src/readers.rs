//! A recogniser and a transcriber whose providers behave as a test says: they answer, hang, wait, refuse, or answer nonsense.
//!
//! They read what [`picture`] and [`recording`] write: files whose text follows a real signature.

use std::collections::{BTreeMap, VecDeque};
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use model::{
    Audio, ProviderError, ProviderErrorKind, ProviderFuture, RecognizeInput, RecognizeLimits, RecognizedLine,
    RecognizedPage, TextRecognizer, TranscribeInput, TranscribeLimits, Transcriber, Transcript,
    TranscriptSegment,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const WAV: &[u8] = b"RIFF\0\0\0\0WAVEfmt ";

/// What a provider does about the next request.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadStep {
    Answer,
    /// Never answers.
    Hang,
    /// Answers when the gate is opened.
    WaitAtGate,
    Fail(ProviderErrorKind),
    /// Answers with a page or a segment too few.
    OneTooFew,
}

/// A file that begins as a PNG and in which [`ScriptedRecognizer`] sees this text.
pub fn picture(text: &str) -> Vec<u8> {
    [PNG, text.as_bytes()].concat()
}

/// A file that begins as a WAV and in which [`ScriptedTranscriber`] hears these segments: start, end, text.
pub fn recording(segments: &[(u64, u64, &str)]) -> Vec<u8> {
    let lines = segments.iter().map(|(start, end, text)| format!("{start} {end} {text}\n"));
    [WAV, lines.collect::<String>().as_bytes()].concat()
}

/// A recogniser that follows a script, and answers every request after its end.
pub struct ScriptedRecognizer {
    model: String,
    limits: RecognizeLimits,
    /// What is on the pages of PDF files.
    pages: BTreeMap<u32, String>,
    script: Script<Vec<u32>>,
}

impl ScriptedRecognizer {
    pub const PROVIDER: &'static str = "scripted";

    /// Takes PNG files as they are, and PDF files, two pages at a time.
    pub fn new(model: &str) -> ScriptedRecognizer {
        ScriptedRecognizer {
            model: model.to_owned(),
            limits: RecognizeLimits {
                takes_pdf: true,
                picture_types: &["image/png"],
                bytes: 1 << 20,
                pages: 2,
                requests: 2,
            },
            pages: BTreeMap::new(),
            script: Script::default(),
        }
    }

    #[must_use]
    pub fn with_limits(self, limits: RecognizeLimits) -> ScriptedRecognizer {
        ScriptedRecognizer { limits, ..self }
    }

    /// What it reads on a page of any PDF; without it the page says its number.
    #[must_use]
    pub fn with_page(mut self, page: u32, text: &str) -> ScriptedRecognizer {
        self.pages.insert(page, text.to_owned());
        self
    }

    /// Does these things about the next requests, in this order.
    #[must_use]
    pub fn then(self, steps: impl IntoIterator<Item = ReadStep>) -> ScriptedRecognizer {
        self.script.lock().steps.extend(steps);
        self
    }

    /// Does this about all requests after the script.
    pub fn always(&self, step: ReadStep) {
        self.script.lock().always = Some(step);
    }

    /// Refuses pictures in which this word is.
    #[must_use]
    pub fn refusing(self, word: &str) -> ScriptedRecognizer {
        self.script.lock().refused_word = Some(word.to_owned());
        self
    }

    pub fn open_gate(&self) {
        self.script.open_gate();
    }

    /// The pages of every request so far; a picture is page 1.
    pub fn requests(&self) -> Vec<Vec<u32>> {
        self.script.lock().requests.clone()
    }

    pub fn shared(self) -> Arc<ScriptedRecognizer> {
        Arc::new(self)
    }

    fn page(&self, page: u32, text: String) -> RecognizedPage {
        let line = RecognizedLine { text: text.clone(), area: [0, 0, 100, 20], confidence: Some(0.9) };
        RecognizedPage { page, text, width: 100, height: 50, confidence: Some(0.9), lines: vec![line] }
    }
}

impl TextRecognizer for ScriptedRecognizer {
    fn provider(&self) -> &str {
        ScriptedRecognizer::PROVIDER
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> RecognizeLimits {
        self.limits
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        Box::pin(async move {
            let mut pages = match input {
                RecognizeInput::Picture { bytes, .. } => {
                    vec![self.page(1, text_after(bytes, PNG))]
                }
                RecognizeInput::Pdf { pages, .. } => {
                    let on = |page: &u32| {
                        let text = self.pages.get(page).cloned();
                        self.page(*page, text.unwrap_or_else(|| format!("This is page {page}.")))
                    };
                    pages.iter().map(on).collect()
                }
            };
            let numbers = pages.iter().map(|page| page.page).collect();
            let seen: String = pages.iter().map(|page| page.text.as_str()).collect();
            if self.script.step(numbers, &seen).await? {
                pages.pop();
            }
            Ok(pages)
        })
    }
}

/// A transcriber that follows a script, and answers every request after its end.
pub struct ScriptedTranscriber {
    model: String,
    failing_for: Option<String>,
    script: Script<String>,
}

impl ScriptedTranscriber {
    pub const PROVIDER: &'static str = "scripted";

    /// Takes files as they are.
    pub fn new(model: &str) -> ScriptedTranscriber {
        ScriptedTranscriber { model: model.to_owned(), failing_for: None, script: Script::default() }
    }

    #[must_use]
    pub fn then(self, steps: impl IntoIterator<Item = ReadStep>) -> ScriptedTranscriber {
        self.script.lock().steps.extend(steps);
        self
    }

    pub fn always(&self, step: ReadStep) {
        self.script.lock().always = Some(step);
    }

    /// Never answers about files of this name, and says so.
    #[must_use]
    pub fn failing_for(self, name: &str) -> ScriptedTranscriber {
        ScriptedTranscriber { failing_for: Some(name.to_owned()), ..self }
    }

    pub fn open_gate(&self) {
        self.script.open_gate();
    }

    /// The names of the files of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.script.lock().requests.clone()
    }

    pub fn shared(self) -> Arc<ScriptedTranscriber> {
        Arc::new(self)
    }
}

impl Transcriber for ScriptedTranscriber {
    fn provider(&self) -> &str {
        ScriptedTranscriber::PROVIDER
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> TranscribeLimits {
        TranscribeLimits { takes_files: true, bytes: 1 << 20, requests: 1 }
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        Box::pin(async move {
            let Audio::File { bytes, name, .. } = input.audio else {
                let reason = "no file".to_owned();
                return Err(ProviderError::new(self.provider(), ProviderErrorKind::Refused { reason }));
            };
            if self.failing_for.as_deref() == Some(name) {
                let reason = "the line is dead".to_owned();
                return Err(ProviderError::new(self.provider(), ProviderErrorKind::Unreachable { reason }));
            }
            let said = text_after(bytes, WAV);
            let mut segments: Vec<TranscriptSegment> = said.lines().filter_map(segment).collect();
            if self.script.step(name.to_owned(), &said).await? {
                segments.pop();
            }
            let duration_ms = segments.last().map_or(0, |last| last.end_ms);
            if let Some(told) = input.on_progress {
                told(duration_ms);
            }
            if !input.timestamps {
                let text = segments.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" ");
                segments = vec![TranscriptSegment { text, ..TranscriptSegment::default() }];
            }
            Ok(Transcript {
                provider: self.provider().to_owned(),
                model: self.model.clone(),
                language: Some(input.language.unwrap_or("en").to_owned()),
                duration_ms,
                has_times: input.timestamps,
                segments,
            })
        })
    }
}

fn segment(line: &str) -> Option<TranscriptSegment> {
    let mut words = line.splitn(3, ' ');
    Some(TranscriptSegment {
        start_ms: words.next()?.parse().ok()?,
        end_ms: words.next()?.parse().ok()?,
        text: words.next()?.to_owned(),
        speaker: None,
    })
}

fn text_after(bytes: &[u8], signature: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_prefix(signature).unwrap_or_default()).into_owned()
}

/// What a provider does about its requests, and what it was asked for.
struct Script<R>(Mutex<ScriptState<R>>);

struct ScriptState<R> {
    steps: VecDeque<ReadStep>,
    always: Option<ReadStep>,
    refused_word: Option<String>,
    requests: Vec<R>,
    gate_is_open: bool,
    at_gate: Vec<Waker>,
}

impl<R> Default for Script<R> {
    fn default() -> Script<R> {
        Script(Mutex::new(ScriptState {
            steps: VecDeque::new(),
            always: None,
            refused_word: None,
            requests: Vec::new(),
            gate_is_open: false,
            at_gate: Vec::new(),
        }))
    }
}

impl<R> Script<R> {
    fn lock(&self) -> MutexGuard<'_, ScriptState<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_gate(&self) {
        let mut state = self.lock();
        state.gate_is_open = true;
        state.at_gate.drain(..).for_each(Waker::wake);
    }

    /// Does what the script says about a request; whether the answer is to lack something.
    async fn step(&self, request: R, seen: &str) -> Result<bool, ProviderError> {
        let step = {
            let mut state = self.lock();
            state.requests.push(request);
            let refused = state.refused_word.clone().filter(|word| seen.contains(word.as_str()));
            match (state.steps.pop_front(), refused) {
                (Some(step), _) => step,
                (None, Some(word)) => {
                    ReadStep::Fail(ProviderErrorKind::Refused { reason: format!("{word} is not allowed") })
                }
                (None, None) => state.always.clone().unwrap_or(ReadStep::Answer),
            }
        };
        match step {
            ReadStep::Answer => Ok(false),
            ReadStep::OneTooFew => Ok(true),
            ReadStep::Hang => future::pending().await,
            ReadStep::Fail(kind) => Err(ProviderError::new("scripted", kind)),
            ReadStep::WaitAtGate => {
                future::poll_fn(|context| {
                    let mut state = self.lock();
                    if state.gate_is_open {
                        return Poll::Ready(());
                    }
                    state.at_gate.push(context.waker().clone());
                    Poll::Pending
                })
                .await;
                Ok(false)
            }
        }
    }
}
