//! Answers to questions: by the chat model where there is one, and from the passages themselves otherwise.
//!
//! What a model writes is compared with the passages sentence by sentence, while it writes ([`retrieve::AnswerChecker`]);
//! callers that follow get checked sentences. Where the model fails, or writes nothing that the passages support, the
//! answer is extractive and its first line says why.

use std::sync::{Arc, Mutex, PoisonError};

use index::{Snapshot, StoredChunk};
use model::{ChatModel, Citation, Failure, Hit, ProviderError};
use retrieve::answer::{LABEL, NOTHING_ANSWERS};
use retrieve::{Answer, AnswerChecker, AnswerSources, PackedSource, answer_request, extractive_answer, pack};

use crate::call::Call;
use crate::engine::Engine;
use crate::model_text::{cleaned, converse, failure_of, new_fence};
use crate::search::{SearchRequest, note};
use crate::shared::SharedEngine;

/// How questions are answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSettings {
    /// Answer at all; otherwise only hits are returned.
    pub generate: bool,
    /// What the operator tells the model first.
    pub system_prompt: String,
    /// Characters of passages that the model gets.
    pub max_context_chars: usize,
}

impl Default for AnswerSettings {
    fn default() -> AnswerSettings {
        AnswerSettings { generate: true, system_prompt: String::new(), max_context_chars: 20_000 }
    }
}

/// Gets the sentences of an answer while it is written.
pub type TextSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A question.
#[derive(Clone)]
pub struct AskRequest {
    pub search: SearchRequest,
    /// False: the hits alone.
    pub answer: bool,
    /// Where to tell of the answer while it is written.
    pub on_text: Option<TextSink>,
}

/// An answer made of passages.
#[derive(Debug, Clone)]
pub struct AskAnswer {
    pub question: String,
    /// Absent when the caller asked for hits only, or generation is switched off.
    pub answer: Option<String>,
    pub citations: Vec<Citation>,
    pub hits: Vec<Hit>,
    pub indexing_complete: bool,
    /// What the caller should know besides.
    pub note: Option<String>,
}

/// What a search found, with the whole passages.
struct Retrieved {
    snapshot: Arc<Snapshot>,
    hits: Vec<Hit>,
    chunks: Vec<StoredChunk>,
    note: Option<String>,
}

impl Engine {
    /// Answers a question from the best passages.
    pub async fn ask(&self, call: &Call, request: AskRequest) -> Result<AskAnswer, Failure> {
        let AskRequest { search, answer, on_text } = request;
        let question = search.text.clone();
        let wanted = answer && self.shared.config.answers.generate;
        let found = Arc::new(self.shared.retrieved(call, search, wanted).await?);
        let (answer, citations) = if wanted {
            let answer = self.shared.answered(call, &question, &found, on_text.as_ref()).await?;
            (Some(answer.text), answer.citations)
        } else {
            (None, found.hits.iter().map(Hit::citation).collect())
        };
        Ok(AskAnswer {
            question,
            answer,
            citations,
            hits: found.hits.clone(),
            indexing_complete: !self.progress().running,
            note: found.note.clone(),
        })
    }
}

impl SharedEngine {
    async fn retrieved(
        self: &Arc<Self>,
        call: &Call,
        request: SearchRequest,
        with_passages: bool,
    ) -> Result<Retrieved, Failure> {
        let shared = Arc::clone(self);
        call.blocking(move |stop| {
            let snapshot = shared.index().snapshot();
            let found = shared.passages(&snapshot, &request, stop)?;
            stop.check()?;
            let note = note(&found);
            let ids: Vec<_> = found.hits.iter().map(|hit| hit.chunk_id).collect();
            let chunks = if with_passages { snapshot.chunks(&ids)? } else { Vec::new() };
            Ok(Retrieved { snapshot, hits: found.hits, chunks, note })
        })
        .await
    }

    async fn answered(
        self: &Arc<Self>,
        call: &Call,
        question: &str,
        found: &Arc<Retrieved>,
        on_text: Option<&TextSink>,
    ) -> Result<Answer, Failure> {
        let label = match &self.providers.chat {
            Some(chat) if !found.hits.is_empty() => {
                match self.written(call, chat.as_ref(), question, found, on_text).await? {
                    Ok(answer) => return Ok(answer),
                    Err(label) => label,
                }
            }
            _ => LABEL.to_owned(),
        };
        let (shared, found, question) = (Arc::clone(self), Arc::clone(found), question.to_owned());
        call.blocking(move |_| Ok(shared.extracted(&question, &found, &label))).await
    }

    /// The answer that a model writes, checked; or the first line of the extractive answer in its place.
    async fn written(
        self: &Arc<Self>,
        call: &Call,
        chat: &dyn ChatModel,
        question: &str,
        found: &Arc<Retrieved>,
        on_text: Option<&TextSink>,
    ) -> Result<Result<Answer, String>, Failure> {
        let fence = new_fence()?;
        let (request, sources) = {
            let (shared, found, question) = (Arc::clone(self), Arc::clone(found), question.to_owned());
            call.blocking(move |_| {
                let clean = |text: &str| cleaned(shared.guard.policy().redactor(), text);
                let settings = &shared.config.answers;
                let sources = pack(&found.hits, &found.chunks, settings.max_context_chars, &fence, &clean);
                let request = answer_request(&settings.system_prompt, &clean(&question), &sources, &fence);
                Ok((request, sources))
            })
            .await?
        };
        if sources.is_empty() {
            return Ok(Err(LABEL.to_owned()));
        }
        let checking = Checking::new(question, &sources, on_text);
        let heard = |piece: &str| checking.hear(piece);
        let answer = match converse(call, chat, &request, Some(&heard)).await? {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(failed_label(&error))),
        };
        let checked = checking.finish(&answer.text, question, &sources);
        if checked.says_nothing_answers {
            return Ok(Ok(Answer::nothing(NOTHING_ANSWERS)));
        }
        if checked.supported == 0 {
            let model = chat.model();
            return Ok(Err(format!(
                "Extractive answer (no sentence of the answer that {model} wrote is supported by the passages, so it is not \
                 shown): the passages that match the question best."
            )));
        }
        let mut text = checked.text.trim().to_owned();
        if answer.is_cut {
            text.push_str("\n\n(The answer ends here because the model was allowed no more tokens.)");
        }
        Ok(Ok(Answer { text, citations: checked.citations, answers: true }))
    }

    fn extracted(&self, question: &str, found: &Retrieved, label: &str) -> Answer {
        let judge = self.reranking.as_ref().map(|reranking| {
            move |sentences: &[&str]| {
                let sentences: Vec<String> = sentences.iter().map(|&sentence| sentence.to_owned()).collect();
                reranking.scores(question, &sentences).ok()
            }
        });
        let sources = AnswerSources {
            hits: &found.hits,
            chunks: &found.chunks,
            near: &|token| found.snapshot.near(token),
            rerank: judge.as_ref().map(|judge| judge as &retrieve::answer::RerankSentences<'_>),
            label,
        };
        extractive_answer(question, &sources)
    }
}

fn failed_label(error: &ProviderError) -> String {
    let remedy = failure_of(error).hint.unwrap_or_default();
    format!(
        "Extractive answer (the chat model failed: {error}. {remedy}): the passages that match the question best."
    )
}

/// An answer that is being written, checked as it comes.
struct Checking<'a> {
    checker: Mutex<(AnswerChecker, String)>,
    on_text: Option<&'a TextSink>,
}

impl<'a> Checking<'a> {
    fn new(question: &str, sources: &[PackedSource], on_text: Option<&'a TextSink>) -> Checking<'a> {
        let checker = AnswerChecker::new(question, sources);
        Checking { checker: Mutex::new((checker, String::new())), on_text }
    }

    fn hear(&self, piece: &str) {
        let ready = {
            let mut inner = self.checker.lock().unwrap_or_else(PoisonError::into_inner);
            inner.1.push_str(piece);
            inner.0.push(piece)
        };
        self.tell(&ready);
    }

    fn tell(&self, sentences: &str) {
        if let Some(sink) = self.on_text
            && !sentences.is_empty()
        {
            sink(sentences);
        }
    }

    /// The whole answer. A provider that gave no pieces, or other ones than its answer has, is taken by its answer.
    fn finish(self, text: &str, question: &str, sources: &[PackedSource]) -> retrieve::CheckedAnswer {
        let (checker, heard) = self.checker.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (last, checked) = if heard == text {
            checker.finish()
        } else {
            let mut checker = AnswerChecker::new(question, sources);
            let begun = checker.push(text);
            let (last, checked) = checker.finish();
            (if heard.is_empty() { begun + &last } else { String::new() }, checked)
        };
        if let Some(sink) = self.on_text
            && !last.is_empty()
        {
            sink(&last);
        }
        checked
    }
}
