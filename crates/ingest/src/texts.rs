//! All texts of one document: what its bytes say, what was recognised or transcribed in it, and what a model drew from it.
//!
//! Indexing and opening ask the same function, so that what is opened is what was indexed.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Extraction, Format, Unit};
use model::{
    Capability, ContentHash, DocType, Pointer, RelPath, RepType, SkipReason, Span, Transcript, UnreadParts,
};

use crate::documents::{ContentKind, DocumentText, Extractor, of_extraction, shortfall};
use crate::kept::{Annotation, KeptPage, KeptTexts};
use crate::rules::IngestRules;

/// The texts of one content.
#[derive(Debug)]
pub struct DocumentTexts {
    pub doc_type: DocType,
    /// Of different types: the text layer, and what was recognised or transcribed.
    pub texts: Vec<DocumentText>,
    pub annotation: Option<Annotation>,
    /// What a recogniser or a transcriber has yet to read.
    pub unread: Option<UnreadParts>,
    /// Why there is no text, where nothing is unread either.
    pub reason: Option<SkipReason>,
}

impl DocumentTexts {
    /// All of it as one text, with the places of its parts in the order of the document. The annotation is not among it.
    pub fn joined(self) -> Option<(String, Option<Extraction>)> {
        let mut texts = self.texts.into_iter();
        let first = texts.next()?;
        let Some(mut all) = first.extraction else { return Some((first.text, None)) };
        for more in texts.filter_map(|text| text.extraction) {
            all.units.extend(more.units);
        }
        // Pages of the text layer and recognised ones; the order within a page stays.
        all.units.sort_by_key(|unit| page_of(unit).unwrap_or(0));
        Some((all.joined(), Some(all)))
    }
}

/// What the bytes of a document say by themselves.
#[derive(Debug, Clone)]
pub struct TextLayer {
    doc_type: DocType,
    text: Result<LayerText, SkipReason>,
    unread: Option<UnreadParts>,
}

#[derive(Debug, Clone)]
enum LayerText {
    Plain {
        text: String,
        meta: serde_json::Value,
    },
    /// Units with places, and who extracted them.
    Units(Extraction, String),
}

impl TextLayer {
    /// Reads the bytes. [`SkipReason::NotTried`] is about the reader, not about the bytes: the next attempt may succeed.
    pub fn of(
        extractor: Extractor<'_>,
        rules: &IngestRules,
        path: &RelPath,
        kind: ContentKind,
        bytes: Vec<u8>,
        content_hash: &ContentHash,
    ) -> TextLayer {
        let doc_type = kind.doc_type();
        let unsearchable = |reason, unread| TextLayer { doc_type, text: Err(reason), unread };
        match kind {
            ContentKind::Document(Format::Pdf, _) => {
                let (extraction, producer) =
                    match extractor.extraction(path, Format::Pdf, &bytes, content_hash) {
                        Ok(extracted) => extracted,
                        Err(reason) => return unsearchable(reason, None),
                    };
                let pages = extraction.unread_pages.clone();
                match shortfall(&extraction) {
                    Some(reason) if pages.is_empty() || !matches!(reason, SkipReason::NoText { .. }) => {
                        unsearchable(reason, None)
                    }
                    _ => TextLayer {
                        doc_type,
                        text: Ok(LayerText::Units(extraction, producer)),
                        unread: (!pages.is_empty()).then_some(UnreadParts::Pages(pages)),
                    },
                }
            }
            ContentKind::Other(DocType::Image) => {
                let reason = switched_off(doc_type, "ingest.images.mode");
                if !rules.images {
                    return unsearchable(reason, None);
                }
                match picture_pages(extractor, path, &bytes, content_hash) {
                    Ok(pages) => unsearchable(reason, Some(UnreadParts::Pages(pages))),
                    Err(reason) => unsearchable(reason, None),
                }
            }
            ContentKind::Other(DocType::Audio) => {
                let unread = rules.audio.then_some(UnreadParts::Speech);
                unsearchable(switched_off(doc_type, "ingest.audio.mode"), unread)
            }
            kind => match extractor.text(path, kind, bytes, content_hash) {
                Err(reason) => unsearchable(reason, None),
                Ok(read) => {
                    let text = match (read.extraction, read.producer) {
                        (Some(extraction), Some(producer)) => LayerText::Units(extraction, producer),
                        _ => LayerText::Plain { text: read.text, meta: read.meta },
                    };
                    TextLayer { doc_type, text: Ok(text), unread: None }
                }
            },
        }
    }

    /// What a recogniser or a transcriber could add to it.
    pub fn unread(&self) -> Option<&UnreadParts> {
        self.unread.as_ref()
    }

    /// Joins it with what was recognised, transcribed and annotated. A text that was once made counts also where a setting
    /// says that no more are to be made.
    pub fn with(self, kept: &KeptTexts) -> DocumentTexts {
        let TextLayer { doc_type, text, unread } = self;
        let still_unread = unread.as_ref().and_then(|parts| still_unread(parts, kept));
        let mut texts = Vec::new();
        let mut reason = None;
        match text {
            Ok(LayerText::Plain { text, meta }) => texts.push(DocumentText {
                doc_type,
                rep_type: RepType::RawText,
                text,
                extraction: None,
                producer: None,
                meta,
            }),
            Ok(LayerText::Units(mut layer, producer)) => {
                // Only pages that the text layer does not tell: it is used wherever it is good.
                let wanted = match &unread {
                    Some(UnreadParts::Pages(pages)) => pages.as_slice(),
                    _ => &[],
                };
                let better: BTreeMap<u32, &KeptPage> = wanted
                    .iter()
                    .filter_map(|page| Some((*page, kept.pages.get(page)?)))
                    // The text layer of such a page is a stamp or unreadable; it is better than nothing.
                    .filter(|(page, kept)| has_words(&kept.page.text) || !has_words(&on_page(&layer, *page)))
                    .collect();
                layer.units.retain(|unit| page_of(unit).is_none_or(|page| !better.contains_key(&page)));
                let parts = layer.parts;
                if !layer.units.is_empty() {
                    texts.push(of_extraction(doc_type, layer, producer));
                }
                let (recognized, nothing) = of_pages(doc_type, parts, better.values().copied());
                texts.extend(recognized);
                reason = nothing;
            }
            Err(why) => {
                let (recognized, nothing) = match (doc_type, &kept.transcript) {
                    (DocType::Image, _) => {
                        let last = kept.pages.keys().last().copied().unwrap_or(1);
                        of_pages(doc_type, last, kept.pages.values())
                    }
                    (DocType::Audio, Some(transcript)) => of_transcript(doc_type, transcript),
                    _ => (None, None),
                };
                texts.extend(recognized);
                reason = nothing.or(Some(why));
            }
        }
        let reason = reason.filter(|_| texts.is_empty() && still_unread.is_none());
        DocumentTexts { doc_type, texts, annotation: kept.annotation.clone(), unread: still_unread, reason }
    }
}

/// What is left of unread parts once these texts are kept.
pub(crate) fn still_unread(parts: &UnreadParts, kept: &KeptTexts) -> Option<UnreadParts> {
    match parts {
        UnreadParts::Speech => kept.transcript.is_none().then_some(UnreadParts::Speech),
        UnreadParts::Pages(pages) => {
            let left: Vec<u32> =
                pages.iter().copied().filter(|page| !kept.pages.contains_key(page)).collect();
            (!left.is_empty()).then_some(UnreadParts::Pages(left))
        }
    }
}

/// What was recognised on pages, or why that is nothing.
fn of_pages<'a>(
    doc_type: DocType,
    parts: u32,
    pages: impl Iterator<Item = &'a KeptPage> + Clone,
) -> (Option<DocumentText>, Option<SkipReason>) {
    let Some(last) = pages.clone().last() else { return (None, None) };
    let with_text = || pages.clone().filter(|kept| !kept.page.text.trim().is_empty());
    let unit = |kept: &KeptPage| Unit {
        pointer: Pointer::Page { page: kept.page.page },
        title: None,
        text: kept.page.text.clone(),
    };
    let units: Vec<Unit> = with_text().map(unit).collect();
    if units.is_empty() {
        return (None, Some(nothing_recognized(doc_type, Capability::Ocr, &last.provider)));
    }
    let confidences: Vec<f32> = with_text().filter_map(|kept| kept.page.confidence).collect();
    let confidence = (!confidences.is_empty())
        .then(|| confidences.iter().sum::<f32>() / confidences.len() as f32)
        // Three digits tell enough.
        .map(|mean| (f64::from(mean) * 1000.0).round() / 1000.0);
    let models: BTreeSet<(&str, &str)> =
        pages.clone().map(|kept| (kept.provider.as_str(), kept.model.as_str())).collect();
    let meta = serde_json::json!({
        "provider": last.provider,
        "model": last.model,
        "pages": units.len(),
        "confidence": confidence,
        "mixed": models.len() > 1,
    });
    (Some(recognized(doc_type, RepType::OcrMarkdown, Format::Md, units, parts, meta)), None)
}

/// What was said, or why that is nothing.
fn of_transcript(doc_type: DocType, transcript: &Transcript) -> (Option<DocumentText>, Option<SkipReason>) {
    let units: Vec<Unit> = transcript
        .segments
        .iter()
        .filter(|segment| !segment.text.trim().is_empty())
        .map(|segment| Unit {
            pointer: if transcript.has_times {
                Pointer::Time { start_ms: segment.start_ms, end_ms: segment.end_ms }
            } else {
                Pointer::Document
            },
            title: None,
            text: segment.text.clone(),
        })
        .collect();
    if units.is_empty() {
        return (None, Some(nothing_recognized(doc_type, Capability::Stt, &transcript.provider)));
    }
    let meta = serde_json::json!({
        "provider": transcript.provider,
        "model": transcript.model,
        "timestamps": transcript.has_times,
        "language": transcript.language,
        "duration_ms": transcript.duration_ms,
    });
    let parts = units.len() as u32;
    (Some(recognized(doc_type, RepType::Transcript, Format::Txt, units, parts, meta)), None)
}

fn recognized(
    doc_type: DocType,
    rep_type: RepType,
    format: Format,
    units: Vec<Unit>,
    parts: u32,
    meta: serde_json::Value,
) -> DocumentText {
    let extraction = Extraction {
        format,
        title: None,
        units,
        parts,
        skip: None,
        diagnostics: Vec::new(),
        unread_pages: Vec::new(),
    };
    DocumentText {
        doc_type,
        rep_type,
        text: extraction.joined(),
        extraction: Some(extraction),
        // It is kept by itself.
        producer: None,
        meta,
    }
}

fn nothing_recognized(doc_type: DocType, needs: Capability, provider: &str) -> SkipReason {
    SkipReason::NothingRecognized { doc_type: doc_type.to_string(), needs, provider: provider.to_owned() }
}

fn switched_off(doc_type: DocType, setting: &str) -> SkipReason {
    SkipReason::SwitchedOff { doc_type: doc_type.to_string(), setting: setting.to_owned() }
}

/// The pages of an image file. Only a TIFF has to be looked into for that.
fn picture_pages(
    extractor: Extractor<'_>,
    path: &RelPath,
    bytes: &[u8],
    content_hash: &ContentHash,
) -> Result<Vec<u32>, SkipReason> {
    match extract::sniff(path.file_name(), bytes).filter(|format| format.is_picture()) {
        Some(Format::Tiff) => {
            let (extraction, _) = extractor.extraction(path, Format::Tiff, bytes, content_hash)?;
            match extraction.skip {
                Some(reason) if extraction.unread_pages.is_empty() => Err(reason),
                _ => Ok(extraction.unread_pages),
            }
        }
        Some(_) => Ok(vec![1]),
        None => Err(SkipReason::Unsupported { doc_type: DocType::Image.to_string() }),
    }
}

fn on_page(extraction: &Extraction, page: u32) -> String {
    let units = extraction.units.iter().filter(|unit| page_of(unit) == Some(page));
    units.map(|unit| unit.text.as_str()).collect()
}

fn page_of(unit: &Unit) -> Option<u32> {
    match unit.pointer.span() {
        Some(Span::Page { page }) => Some(page),
        _ => None,
    }
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}
