//! Providers that run on this machine: the built-in table, programs that are installed here, and models from extras.

mod background;
mod espeak;
mod models;
mod mp3;
mod picture;
mod program;
mod recognizer;
mod sys;
mod table;
mod tesseract;

use model::{ProviderError, ProviderErrorKind, RecognizeInput, RecognizeLimits};

pub use espeak::Espeak;
pub use models::{ModelChild, ModelPrograms, PassageModel, PictureModel, SpeechModel};
pub use program::find_program;
pub use recognizer::LocalRecognizer;
pub use table::TableEmbedder;
pub use tesseract::{Tesseract, TesseractConfig};

/// Bytes of a picture as a file.
const MAX_PICTURE_BYTES: usize = 128 << 20;

/// How many processes of one kind run at the same time: half of the machine, since people work on it.
fn processes_at_once() -> usize {
    (std::thread::available_parallelism().map_or(1, usize::from) / 2).clamp(1, 4)
}

/// What recognisers of this machine take: one picture at a time, of a format that they decode themselves.
fn one_picture(requests: usize) -> RecognizeLimits {
    RecognizeLimits {
        takes_pdf: false,
        picture_types: &["image/png", "image/jpeg"],
        bytes: MAX_PICTURE_BYTES,
        pages: 1,
        requests,
    }
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
