//! Reads text aloud with the `espeak-ng` program of the machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use model::{ProviderError, ProviderErrorKind, ProviderFuture, Speaker, SpeechFormat};

use super::background::in_background;
use super::mp3;
use super::program::{self, Done, Run, RunFailure};
use crate::wav;

const NAME: &str = "espeak-ng";

const TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 1 << 30;

/// Three hours of speech.
const MAX_SOUND_BYTES: u64 = 512 << 20;

/// A speaker that runs one process per text.
#[derive(Debug, Clone)]
pub struct Espeak {
    program: PathBuf,
    voice: Option<String>,
    model: String,
}

impl Espeak {
    /// Asks the program, given by its absolute path, for its version. `voice` is one that `espeak-ng --voices` lists.
    pub fn new(path: PathBuf, voice: Option<String>) -> Result<Espeak, ProviderError> {
        let done = program::ask(&path, "--version", &[]);
        let done = done.map_err(|failure| unreachable(failure.to_string()))?;
        let said = String::from_utf8_lossy(&done.output);
        // "eSpeak NG text-to-speech: 1.51  Data at: /usr/lib/x86_64-linux-gnu/espeak-ng-data"
        let version = said.split_once(':').and_then(|(_, rest)| rest.split_whitespace().next());
        let version =
            version.ok_or_else(|| unreachable("the configured program names no version".to_owned()))?;
        Ok(Espeak { program: path, voice, model: format!("espeak-ng-{version}") })
    }
}

impl Speaker for Espeak {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn speak<'a>(
        &'a self,
        text: &'a str,
        voice: Option<&'a str>,
        format: SpeechFormat,
    ) -> ProviderFuture<'a, Vec<u8>> {
        let mut arguments: Vec<OsString> = vec!["--stdin".into(), "--stdout".into(), "-b".into(), "1".into()];
        if let Some(voice) = voice.or(self.voice.as_deref()) {
            // A name that begins with a dash would be read as an option.
            arguments.push(format!("-v{voice}").into());
        }
        let run = command(&self.program, arguments);
        Box::pin(async move {
            let gone = |error: std::io::Error| unreachable(error.to_string());
            let text = text.to_owned().into_bytes();
            let spoken = in_background(async move {
                let done = run.on(text).await?;
                tokio::task::spawn_blocking(move || finished(done, format))
                    .await
                    .map_err(std::io::Error::other)?
            });
            spoken.map_err(gone)?.await.map_err(gone)?.map_err(|failure| match failure {
                SpeakFailure::Run(failure @ (RunFailure::NotStarted { .. } | RunFailure::TooLong(_))) => {
                    unreachable(failure.to_string())
                }
                failure => refused(failure.to_string()),
            })
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum SpeakFailure {
    #[error("{0}")]
    Run(#[from] RunFailure),
    #[error("{0}")]
    Said(String),
}

impl From<std::io::Error> for SpeakFailure {
    fn from(error: std::io::Error) -> SpeakFailure {
        SpeakFailure::Run(error.into())
    }
}

fn finished(done: Done, format: SpeechFormat) -> Result<Vec<u8>, SpeakFailure> {
    let said = |reason: &str| SpeakFailure::Said(reason.to_owned());
    if !done.is_success {
        return Err(said(done.complaint.lines().last().unwrap_or("it ended without a word")));
    }
    let sound = wav::read(&done.output).ok_or_else(|| said("it gave no sound"))?;
    match format {
        SpeechFormat::Wav => Ok(sound.to_file()),
        SpeechFormat::Mp3 => mp3::encode(&sound).map_err(SpeakFailure::Said),
    }
}

fn command(program: &std::path::Path, arguments: Vec<OsString>) -> Run {
    Run {
        program: program.to_owned(),
        arguments,
        environment: Vec::new(),
        time: TIME,
        memory: MEMORY,
        max_output: MAX_SOUND_BYTES,
    }
}

fn unreachable(reason: String) -> ProviderError {
    ProviderError::new(NAME, ProviderErrorKind::Unreachable { reason })
}

fn refused(reason: String) -> ProviderError {
    ProviderError::new(NAME, ProviderErrorKind::Refused { reason })
}
