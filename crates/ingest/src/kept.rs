//! What was recognised, transcribed or annotated of a document, as the index keeps it by the hash of the content.

use std::collections::BTreeMap;

use index::{BoughtKind, BoughtPart, Index, IndexError};
use model::{Capability, ContentHash, RecognizedPage, TextRecognizer, Transcriber, Transcript};
use serde::{Deserialize, Serialize};

/// The part number of what is made of a whole document.
const WHOLE: u32 = 0;

/// All that is kept of one content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptTexts {
    /// By page number.
    pub pages: BTreeMap<u32, KeptPage>,
    pub transcript: Option<Transcript>,
    pub annotation: Option<Annotation>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptPage {
    pub provider: String,
    pub model: String,
    pub page: RecognizedPage,
}

/// Data that a model drew from a document, and the lines by which it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    pub json: serde_json::Value,
    /// `key: value` lines.
    pub text: String,
    /// The lines can be searched.
    pub is_indexed: bool,
    pub provider: String,
    pub model: String,
}

impl KeptTexts {
    /// What is kept of a content. What cannot be read any more counts as not there.
    pub fn of(index: &Index, content_hash: &ContentHash) -> Result<KeptTexts, IndexError> {
        let read = |kind| index.bought_parts(content_hash, kind);
        let pages = read(BoughtKind::Read(Capability::Ocr))?
            .into_iter()
            .filter_map(|kept| Some((kept.part, serde_json::from_str(&kept.text).ok()?)));
        Ok(KeptTexts {
            pages: pages.collect(),
            transcript: last(read(BoughtKind::Read(Capability::Stt))?),
            annotation: last(read(BoughtKind::Annotation)?),
        })
    }
}

/// Keeps recognised pages for good.
pub(crate) fn keep_pages(
    index: &Index,
    path: &str,
    content_hash: &ContentHash,
    pages: &[KeptPage],
) -> Result<(), IndexError> {
    let part = |kept: &KeptPage| BoughtPart {
        producer: producer(&kept.provider, &kept.model),
        part: kept.page.page,
        text: written(kept),
    };
    let parts: Vec<BoughtPart> = pages.iter().map(part).collect();
    index.keep_parts(path, content_hash, BoughtKind::Read(Capability::Ocr), &parts)
}

/// Keeps a transcript for good.
pub(crate) fn keep_transcript(
    index: &Index,
    path: &str,
    content_hash: &ContentHash,
    transcript: &Transcript,
) -> Result<(), IndexError> {
    let part = BoughtPart {
        producer: producer(&transcript.provider, &transcript.model),
        part: WHOLE,
        text: written(transcript),
    };
    index.keep_parts(path, content_hash, BoughtKind::Read(Capability::Stt), &[part])
}

/// Keeps an annotation until the content changes; the last one counts.
pub(crate) fn keep_annotation(
    index: &Index,
    path: &str,
    content_hash: &ContentHash,
    annotation: &Annotation,
) -> Result<(), IndexError> {
    // One producer for all: a newer annotation takes the place of the last one.
    let part = BoughtPart { producer: String::new(), part: WHOLE, text: written(annotation) };
    index.keep_parts(path, content_hash, BoughtKind::Annotation, &[part])
}

/// Who recognises, as it is kept beside the text.
pub(crate) fn recognizer_name(recognizer: &dyn TextRecognizer) -> String {
    producer(recognizer.provider(), recognizer.model())
}

/// Who transcribes, as it is kept beside the text.
pub(crate) fn transcriber_name(transcriber: &dyn Transcriber) -> String {
    producer(transcriber.provider(), transcriber.model())
}

fn producer(provider: &str, model: &str) -> String {
    format!("{provider}/{model}")
}

fn last<T: for<'de> Deserialize<'de>>(parts: Vec<BoughtPart>) -> Option<T> {
    parts.into_iter().filter_map(|part| serde_json::from_str(&part.text).ok()).next_back()
}

/// Writing plain values into memory does not fail.
fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
