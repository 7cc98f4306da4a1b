//! The port behind which text in pictures is read.

use serde::{Deserialize, Serialize};

use super::ProviderFuture;

/// Reads the text in pictures and in scanned pages.
pub trait TextRecognizer: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    /// A name that changes whenever the text would: the engine, its version, its language.
    fn model(&self) -> &str;

    fn limits(&self) -> RecognizeLimits;

    /// The text of each page asked for, in order. A page without text is a page with an empty text.
    fn recognize<'a>(&'a self, input: RecognizeInput<'a>) -> ProviderFuture<'a, Vec<RecognizedPage>>;
}

/// What a recogniser gets.
#[derive(Debug, Clone, Copy)]
pub enum RecognizeInput<'a> {
    /// One picture, in a format that [`RecognizeLimits::picture_types`] names.
    Picture { bytes: &'a [u8], media_type: &'a str },
    /// Pages of a PDF, counted from 1; only where [`RecognizeLimits::takes_pdf`].
    Pdf { bytes: &'a [u8], pages: &'a [u32] },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecognizeLimits {
    /// It reads pages out of a PDF itself; otherwise it gets a picture of each page.
    pub takes_pdf: bool,
    /// Media types that it decodes itself. `image/png` is always among them.
    pub picture_types: &'static [&'static str],
    /// Bytes of one request.
    pub bytes: usize,
    /// Pages of one request.
    pub pages: usize,
    /// Requests under way at the same time.
    pub requests: usize,
}

/// The text of one page or picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecognizedPage {
    /// From 1; a picture is page 1.
    pub page: u32,
    /// Markdown where the recogniser knows of headings and tables, else lines.
    pub text: String,
    /// Size of the picture in pixels, which the boxes refer to.
    pub width: u32,
    pub height: u32,
    /// From 0 to 1, where the recogniser says so.
    pub confidence: Option<f32>,
    /// Where the lines stand, where the recogniser says so.
    pub lines: Vec<RecognizedLine>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecognizedLine {
    pub text: String,
    /// Left, top, width and height in pixels.
    pub area: [u32; 4],
    pub confidence: Option<f32>,
}
