//! Reads pictures with what this machine has: Tesseract first, since it is quick, and the model of the extra where Tesseract
//! is not installed or its reading is doubtful.

use model::{ProviderError, ProviderFuture, RecognizeInput, RecognizeLimits, RecognizedPage, TextRecognizer};

use super::background::in_background;
use super::{PictureModel, Tesseract};

const NAME: &str = "local";

/// Tesseract, and the model for what it cannot read.
#[derive(Debug, Clone)]
pub struct LocalRecognizer {
    tesseract: Tesseract,
    pictures: PictureModel,
    model: String,
}

impl LocalRecognizer {
    pub fn new(tesseract: Tesseract, pictures: PictureModel) -> LocalRecognizer {
        let model = format!("{}, {}", tesseract.model(), pictures.model());
        LocalRecognizer { tesseract, pictures, model }
    }

    async fn read(&self, bytes: Vec<u8>) -> Result<RecognizedPage, ProviderError> {
        let quick = self.tesseract.read(bytes.clone()).await;
        if let Ok((page, false)) = quick {
            return Ok(page);
        }
        match (quick, self.pictures.read(bytes).await) {
            (Ok((quick, _)), Ok(careful)) => {
                Ok(if worth(&careful) > worth(&quick) { careful } else { quick })
            }
            // A doubtful reading is better than none.
            (Ok((quick, _)), Err(error)) => {
                tracing::warn!(%error, "a doubtful page could not be read a second time");
                Ok(quick)
            }
            (Err(_), careful) => careful,
        }
    }
}

impl TextRecognizer for LocalRecognizer {
    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> RecognizeLimits {
        self.tesseract.limits()
    }

    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>> {
        Box::pin(async move {
            let bytes = super::picture_bytes(NAME, input)?.to_vec();
            let both = self.clone();
            let gone = |error: std::io::Error| {
                let reason = error.to_string();
                ProviderError::new(NAME, model::ProviderErrorKind::Unreachable { reason })
            };
            let reading = in_background(async move { both.read(bytes).await });
            Ok(vec![reading.map_err(gone)?.await.map_err(gone)??])
        })
    }
}

/// How much was read, and how surely.
fn worth(page: &RecognizedPage) -> f32 {
    let letters = page.text.chars().filter(|c| c.is_alphanumeric()).count() as f32;
    letters * (page.confidence.unwrap_or(0.0) - 0.3).max(0.0)
}
