//! Providers that run on this machine: the built-in table, programs that are installed here, and models from extras.

mod background;
mod espeak;
mod models;
mod picture;
mod program;
mod recognizer;
mod sys;
mod table;
mod tesseract;
mod wav;

use std::path::PathBuf;

use model::{ProviderError, ProviderErrorKind, RecognizeInput};

pub use espeak::Espeak;
pub use models::{ModelChild, ModelPrograms, PassageModel, PictureModel, SpeechModel};
pub use program::find_program;
pub use recognizer::LocalRecognizer;
pub use table::TableEmbedder;
pub use tesseract::{Tesseract, TesseractConfig};

/// What a confined server has to let a provider's program do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramReach {
    /// Files and directories to run programs and load libraries from.
    pub run: Vec<PathBuf>,
    /// Files and directories to read.
    pub read: Vec<PathBuf>,
}

/// Where programs of a distribution load their libraries from.
const LIBRARIES: &[&str] =
    &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];

/// How many processes of one kind run at the same time: half of the machine, since people work on it.
fn processes_at_once() -> usize {
    (std::thread::available_parallelism().map_or(1, usize::from) / 2).clamp(1, 4)
}

/// The picture that a recogniser of this machine is asked to read: none of them takes a PDF.
fn picture_bytes<'a>(provider: &str, input: RecognizeInput<'a>) -> Result<&'a [u8], ProviderError> {
    match input {
        RecognizeInput::Picture { bytes, .. } => Ok(bytes),
        RecognizeInput::Pdf { .. } => Err(ProviderError::new(
            provider,
            ProviderErrorKind::Refused { reason: "it reads pictures, not PDF files".to_owned() },
        )),
    }
}
