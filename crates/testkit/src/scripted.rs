//! Models behind the ports that do as a test says, and remember what they were asked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{
    ChatAnswer, ChatModel, ChatRequest, ProviderError, ProviderErrorKind, ProviderFuture, Reranker, Speaker,
    SpeechFormat,
};

/// What a chat model does about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatStep {
    /// Answers, in pieces of some letters.
    Say(String),
    /// Answers, and was allowed no more tokens.
    SayCut(String),
    Fail(ProviderErrorKind),
    /// Says this, then fails: a stream that ends in the middle.
    SayThenFail(String, ProviderErrorKind),
    /// Never answers.
    Hang,
}

type Answering = Box<dyn Fn(&ChatRequest) -> ChatStep + Send + Sync>;

/// A chat model that answers by a rule, or by a script and then by its rule.
pub struct ScriptedChat {
    script: Mutex<VecDeque<ChatStep>>,
    rule: Answering,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedChat {
    pub const PROVIDER: &'static str = "mistral";
    pub const MODEL: &'static str = "scripted-chat";

    /// Answers every request by this rule.
    pub fn by(rule: impl Fn(&ChatRequest) -> ChatStep + Send + Sync + 'static) -> ScriptedChat {
        ScriptedChat { script: Mutex::default(), rule: Box::new(rule), requests: Mutex::default() }
    }

    /// Says the same to everybody.
    pub fn saying(text: &str) -> ScriptedChat {
        let text = text.to_owned();
        ScriptedChat::by(move |_| ChatStep::Say(text.clone()))
    }

    /// Does these things about the next requests, in this order.
    #[must_use]
    pub fn then(self, steps: impl IntoIterator<Item = ChatStep>) -> ScriptedChat {
        lock(&self.script).extend(steps);
        self
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.requests).clone()
    }
}

impl ChatModel for ScriptedChat {
    fn provider(&self) -> &str {
        ScriptedChat::PROVIDER
    }

    fn model(&self) -> &str {
        ScriptedChat::MODEL
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
        on_text: Option<&'a (dyn Fn(&str) + Send + Sync)>,
    ) -> ProviderFuture<'a, ChatAnswer> {
        lock(&self.requests).push(request.clone());
        let step = lock(&self.script).pop_front().unwrap_or_else(|| (self.rule)(request));
        let say = move |text: &str| {
            let Some(sink) = on_text else { return };
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(7).for_each(|piece| sink(&piece.iter().collect::<String>()));
        };
        let answer = |text: String, is_cut: bool| {
            let tokens_out = text.split_whitespace().count() as u64;
            let asked = request.messages.iter().map(|message| message.text.split_whitespace().count() as u64);
            ChatAnswer { tokens_in: asked.sum(), tokens_out, text, is_cut }
        };
        Box::pin(async move {
            match step {
                ChatStep::Say(text) => {
                    say(&text);
                    Ok(answer(text, false))
                }
                ChatStep::SayCut(text) => {
                    say(&text);
                    Ok(answer(text, true))
                }
                ChatStep::Fail(kind) => Err(ProviderError::new(ScriptedChat::PROVIDER, kind)),
                ChatStep::SayThenFail(text, kind) => {
                    say(&text);
                    Err(ProviderError::new(ScriptedChat::PROVIDER, kind))
                }
                ChatStep::Hang => std::future::pending().await,
            }
        })
    }
}

/// A reranker that likes passages with a certain word, or fails.
pub struct ScriptedReranker {
    likes: String,
    fails: bool,
    requests: Mutex<Vec<(String, Vec<String>)>>,
}

impl ScriptedReranker {
    pub const PROVIDER: &'static str = "cohere";

    pub fn liking(word: &str) -> ScriptedReranker {
        ScriptedReranker { likes: word.to_owned(), fails: false, requests: Mutex::default() }
    }

    pub fn failing() -> ScriptedReranker {
        ScriptedReranker { likes: String::new(), fails: true, requests: Mutex::default() }
    }

    /// The questions and passages that it was asked about.
    pub fn requests(&self) -> Vec<(String, Vec<String>)> {
        lock(&self.requests).clone()
    }
}

impl Reranker for ScriptedReranker {
    fn provider(&self) -> &str {
        ScriptedReranker::PROVIDER
    }

    fn model(&self) -> &str {
        "scripted-rerank"
    }

    fn scores<'a>(&'a self, question: &'a str, passages: &'a [&'a str]) -> ProviderFuture<'a, Vec<f32>> {
        let texts = passages.iter().map(|&text| text.to_owned()).collect();
        lock(&self.requests).push((question.to_owned(), texts));
        Box::pin(async move {
            if self.fails {
                let kind = ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(3)) };
                return Err(ProviderError::new(ScriptedReranker::PROVIDER, kind));
            }
            Ok(passages.iter().map(|text| if text.contains(&self.likes) { 9.0 } else { -1.0 }).collect())
        })
    }
}

/// A speaker whose recordings are the text itself.
#[derive(Default)]
pub struct ScriptedSpeaker {
    pub fails: bool,
}

impl Speaker for ScriptedSpeaker {
    fn provider(&self) -> &str {
        "elevenlabs"
    }

    fn model(&self) -> &str {
        "scripted-voice"
    }

    fn speak<'a>(
        &'a self,
        text: &'a str,
        voice: Option<&'a str>,
        format: SpeechFormat,
    ) -> ProviderFuture<'a, Vec<u8>> {
        Box::pin(async move {
            if self.fails {
                return Err(ProviderError::new(self.provider(), ProviderErrorKind::Auth));
            }
            Ok(format!("{} {}: {text}", format.media_type(), voice.unwrap_or("default")).into_bytes())
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
