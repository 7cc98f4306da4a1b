//! The child's side: it reads the model's files, gives up what it could harm with, and answers requests.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use rten::ThreadPool;

use super::files::{self, ModelKind};
use super::messages::{ModelAnswer, ModelRequest, receive, send};
use super::pictures::PictureReader;
use super::rerank::PassageScorer;
use super::whisper::SpeechReader;

/// A model child, from its command line to its end: [`ModelChild::open`], then the caller takes away the right to open
/// files, then [`ModelChild::start_threads`], then the caller takes away the rest, then [`ModelChild::serve`].
pub struct ModelChild {
    kind: ModelKind,
    files: Vec<Vec<u8>>,
    threads: usize,
    pool: Option<Arc<ThreadPool>>,
    loaded: Option<Result<LoadedModel, String>>,
}

impl ModelChild {
    /// Reads the files that the command line names: a kind of model, a folder and a number of threads.
    pub fn open(arguments: &[OsString]) -> io::Result<ModelChild> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "expected: KIND FOLDER THREADS");
        let [kind, folder, threads] = arguments else { return Err(wrong()) };
        let kind = kind.to_str().and_then(ModelKind::parse).ok_or_else(wrong)?;
        let threads = threads.to_str().and_then(|threads| threads.parse().ok()).ok_or_else(wrong)?;
        let files = files::read(kind, &PathBuf::from(folder))?;
        Ok(ModelChild { kind, files, threads, pool: None, loaded: None })
    }

    /// Starts the threads that compute and loads the model, which takes threads of its own; none is started later. The
    /// model's files are pinned, so they may be parsed before the last rights are gone.
    pub fn start_threads(&mut self) {
        self.pool = Some(Arc::new(ThreadPool::with_num_threads(self.threads.clamp(1, 64))));
        self.loaded = Some(self.load());
    }

    /// Answers requests until there are no more. `missing` is what of the confinement the kernel could not do.
    pub fn serve(mut self, from: &mut impl Read, to: &mut impl Write, missing: &str) -> io::Result<()> {
        if self.loaded.is_none() {
            self.start_threads();
        }
        if !missing.is_empty() {
            send(to, &ModelAnswer::Unconfined { missing: missing.to_owned() })?;
        }
        let loaded = self.loaded.take().unwrap_or_else(|| Err("the model was not loaded".to_owned()));
        while let Some((request, body)) = receive::<ModelRequest>(from)? {
            let answer = match &loaded {
                Err(reason) => ModelAnswer::Broken { reason: reason.clone() },
                Ok(model) => model.answer(request, body, to)?,
            };
            send(to, &answer)?;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<LoadedModel, String> {
        let pool = self.pool.clone();
        let mut files = std::mem::take(&mut self.files).into_iter();
        let mut next = || files.next().unwrap_or_default();
        Ok(match self.kind {
            ModelKind::Pictures => LoadedModel::Pictures(PictureReader::load(next(), next(), pool)?.into()),
            ModelKind::Speech => {
                LoadedModel::Speech(SpeechReader::load(next(), next(), &next(), &next(), pool)?.into())
            }
            ModelKind::Passages => LoadedModel::Passages(PassageScorer::load(next(), &next(), pool)?.into()),
        })
    }
}

enum LoadedModel {
    Pictures(Box<PictureReader>),
    Speech(Box<SpeechReader>),
    Passages(Box<PassageScorer>),
}

impl LoadedModel {
    /// An error is about the pipes; whatever else happens is an answer.
    fn answer(&self, request: ModelRequest, body: Vec<u8>, to: &mut impl Write) -> io::Result<ModelAnswer> {
        let mut unsent = Ok(());
        let answer = match (self, request) {
            (LoadedModel::Pictures(reader), ModelRequest::Recognize) => {
                reader.read(&body).map(ModelAnswer::Page)
            }
            (LoadedModel::Speech(reader), ModelRequest::Transcribe { language }) => {
                let samples: Vec<f32> =
                    body.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                drop(body);
                let mut progress = |done| {
                    if unsent.is_ok() {
                        unsent = send(to, &ModelAnswer::Progress(done));
                    }
                };
                reader.transcribe(&samples, language.as_deref(), &mut progress).map(ModelAnswer::Transcript)
            }
            (LoadedModel::Passages(scorer), ModelRequest::Rerank { question, passages }) => {
                scorer.scores(&question, &passages).map(ModelAnswer::Scores)
            }
            _ => Err("this model does something else".to_owned()),
        };
        unsent?;
        Ok(answer.unwrap_or_else(|reason| ModelAnswer::Refused { reason }))
    }
}
