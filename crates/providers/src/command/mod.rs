//! A provider that is a program of the user's: it turns a file into text, or texts into vectors.
//!
//! A picture or a recording is given as a file, whose name takes the place of `{file}` in the arguments, or on standard input
//! where no argument says so. The text comes on standard output. Texts to embed go in as lines of JSON, and a vector comes
//! out for each line.

mod process;
mod texts;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{
    EmbedLimits, Embedder, IndexKind, ProviderError, ProviderErrorKind, ProviderFuture, Purpose,
    RecognizeInput, RecognizeLimits, RecognizedPage, TextRecognizer, TranscribeInput, TranscribeLimits,
    Transcriber, Transcript,
};

use crate::probe::{ProviderProbe, ProviderRemedy};
use crate::reach::ProviderReach;
use crate::runtime::ProviderRuntime;
use crate::wire::sound::{sample_duration_ms, sound_file};

/// In an argument: the file that holds what is to be read.
pub const FILE: &str = "{file}";

const PROVIDER: &str = "command";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfig {
    /// An absolute path.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// A name for what it computes; the user changes it when the program's results change.
    pub model: String,
    /// For one run.
    pub timeout: Duration,
    /// `PATH` for the program, which gets no other variable.
    pub search_path: Option<OsString>,
    /// An existing folder for the files that it is given.
    pub work_folder: PathBuf,
    /// Runs at the same time.
    pub runs: usize,
}

/// Makes ports of a program. Cheap to clone.
#[derive(Clone)]
pub struct CommandConnector {
    config: Arc<CommandConfig>,
    runtime: Arc<ProviderRuntime>,
    turns: Arc<tokio::sync::Semaphore>,
}

impl CommandConnector {
    pub fn new(config: CommandConfig, runtime: Arc<ProviderRuntime>) -> CommandConnector {
        let turns = Arc::new(tokio::sync::Semaphore::new(config.runs.max(1)));
        CommandConnector { config: Arc::new(config), runtime, turns }
    }

    pub fn recognizer(&self) -> Arc<dyn TextRecognizer> {
        Arc::new(self.clone())
    }

    pub fn transcriber(&self) -> Arc<dyn Transcriber> {
        Arc::new(self.clone())
    }

    pub fn embedder(&self, dimensions: usize) -> Arc<dyn Embedder> {
        Arc::new(CommandEmbedder { command: self.clone(), dimensions })
    }

    pub fn reach(&self) -> ProviderReach {
        ProviderReach::program(PROVIDER, &self.config.program, &self.config.work_folder)
    }

    /// Whether the program is there. It is not run: what it does with no input is not known.
    pub fn probe(&self) -> ProviderProbe {
        let failure = process::why_not_executable(&self.config.program)
            .map(|reason| error(ProviderErrorKind::Unreachable { reason }));
        ProviderProbe {
            provider: PROVIDER.to_owned(),
            place: self.config.program.display().to_string(),
            remedies: failure.iter().map(|_| ProviderRemedy::CheckProgram).collect(),
            failure,
        }
    }

    /// Runs the program on a file with this ending.
    async fn read_file(&self, bytes: Bytes, ending: &str) -> Result<String, ProviderError> {
        let output = self.run(bytes, Some(ending)).await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    async fn run(&self, input: Bytes, ending: Option<&str>) -> Result<Vec<u8>, ProviderError> {
        let (config, turns) = (Arc::clone(&self.config), Arc::clone(&self.turns));
        let ending = ending.map(str::to_owned);
        let work = async move {
            let _turn = turns.acquire_owned().await.expect("never closed");
            process::run(&config, input, ending.as_deref()).await
        };
        let ending = || ProviderErrorKind::Unreachable { reason: "the program is ending".to_owned() };
        self.runtime.run(work).await.unwrap_or_else(|| Err(ending())).map_err(error)
    }
}

impl TextRecognizer for CommandConnector {
    fn provider(&self) -> &str {
        PROVIDER
    }

    fn model(&self) -> &str {
        &self.config.model
    }

    fn limits(&self) -> RecognizeLimits {
        RecognizeLimits {
            takes_pdf: false,
            picture_types: &["image/png", "image/jpeg"],
            bytes: 64 << 20,
            pages: 1,
            requests: self.config.runs.max(1),
        }
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        Box::pin(async move {
            let RecognizeInput::Picture { bytes, media_type } = input else {
                let reason = "it reads pictures, not PDF files".to_owned();
                return Err(error(ProviderErrorKind::Refused { reason }));
            };
            let ending = if media_type == "image/jpeg" { "jpg" } else { "png" };
            let text = self.read_file(Bytes::copy_from_slice(bytes), ending).await?;
            Ok(vec![RecognizedPage { page: 1, text: text.trim().to_owned(), ..RecognizedPage::default() }])
        })
    }
}

impl Transcriber for CommandConnector {
    fn provider(&self) -> &str {
        PROVIDER
    }

    fn model(&self) -> &str {
        &self.config.model
    }

    fn limits(&self) -> TranscribeLimits {
        // Samples become a WAV file, which every program reads.
        TranscribeLimits { takes_files: false, bytes: u64::MAX, requests: self.config.runs.max(1) }
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        Box::pin(async move {
            let known_ms = sample_duration_ms(input.audio);
            let (bytes, name, _) = sound_file(input.audio);
            let ending = name.rsplit_once('.').map_or("bin", |(_, ending)| ending);
            let output = self.read_file(bytes, ending).await?;
            Ok(texts::transcript(&output, PROVIDER, &self.config.model, input.timestamps, known_ms))
        })
    }
}

struct CommandEmbedder {
    command: CommandConnector,
    dimensions: usize,
}

impl Embedder for CommandEmbedder {
    fn provider(&self) -> &str {
        PROVIDER
    }

    fn model(&self, _kind: IndexKind) -> &str {
        &self.command.config.model
    }

    fn dimensions(&self, _kind: IndexKind) -> usize {
        self.dimensions
    }

    fn limits(&self) -> EmbedLimits {
        EmbedLimits { texts: 256, bytes: 1 << 20, requests: self.command.config.runs.max(1) }
    }

    fn embed<'a>(
        &'a self,
        kind: IndexKind,
        purpose: Purpose,
        texts: &'a [&'a str],
    ) -> ProviderFuture<'a, Vec<Vec<f32>>> {
        Box::pin(async move {
            let output = self.command.run(texts::lines(kind, purpose, texts), None).await?;
            texts::vectors(&output).map_err(|reason| error(ProviderErrorKind::BadAnswer { reason }))
        })
    }
}

fn error(kind: ProviderErrorKind) -> ProviderError {
    ProviderError::new(PROVIDER, kind)
}
