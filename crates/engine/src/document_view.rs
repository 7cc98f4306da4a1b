//! A document as a person reads it: all of its text with the parts it has, what the index says of it, and its bytes.

use std::sync::Arc;

use model::{ContentHash, DocStatus, DocType, ErrorCode, Failure, Pointer, RelPath, RepType, SkipReason};

use crate::call::Call;
use crate::engine::Engine;
use crate::shared::SharedEngine;
use crate::symbols::FileStructure;

/// What there is to see at a path.
#[derive(Debug, Clone)]
pub struct DocumentView {
    pub rel_path: String,
    pub doc_type: DocType,
    pub size: u64,
    /// Of the bytes as they are now; none for what was not read, such as an archive.
    pub content_hash: Option<ContentHash>,
    /// What the index holds; none where it knows no such document.
    pub indexed: Option<(DocStatus, Option<SkipReason>)>,
    /// The document is no longer what the index holds of it.
    pub changed_since_indexed: bool,
    /// The text, or why there is none.
    pub text: Result<ViewedText, Failure>,
}

/// The text of a document.
#[derive(Debug, Clone)]
pub struct ViewedText {
    pub rep_type: RepType,
    pub title: Option<String>,
    pub text: String,
    /// The parts of a document whose text was extracted, in order; none for a plain text.
    pub units: Vec<ViewedUnit>,
    /// How many pages, slides or sheets there are, the empty ones included.
    pub parts: u32,
}

/// A part of a document with a place of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewedUnit {
    pub pointer: Pointer,
    pub title: Option<String>,
    /// Tables and links in Markdown.
    pub text: String,
    /// Lines of the whole text, from 1.
    pub first_line: u32,
    pub last_line: u32,
}

/// The bytes of a document.
#[derive(Debug, Clone)]
pub struct RawDocument {
    pub rel_path: String,
    pub bytes: Vec<u8>,
    pub content_hash: ContentHash,
}

impl Engine {
    /// All there is to see of a document, within the policy. `path` is as the caller wrote it. A document without text is no
    /// failure; one that may not be shown is.
    pub async fn view_document(&self, call: &Call, path: &str) -> Result<DocumentView, Failure> {
        let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
        call.blocking(move |stop| {
            let path = shared.located(&path)?;
            let row = shared.index().document(path.as_str())?;
            let indexed = row.as_ref().map(|row| (row.status, row.reason.clone()));
            if let Some(row) = row.as_ref().filter(|row| row.doc_type == DocType::Archive) {
                let text =
                    Err(Failure::new(ErrorCode::DocTypeUnsupported, "an archive is opened member by member"));
                return Ok(DocumentView {
                    rel_path: path.as_str().to_owned(),
                    doc_type: DocType::Archive,
                    size: row.size,
                    content_hash: row.content_hash,
                    indexed,
                    changed_since_indexed: false,
                    text,
                });
            }
            let Some(door) = shared.door() else {
                return published(&shared, &path, row.map(|row| (row.doc_type, row.size)), indexed);
            };
            let (doc_type, size, content_hash, text) = match door.bytes(&path) {
                Err(failure) if may_be_told(&failure) && row.is_some() => {
                    let row = row.as_ref().map(|row| (row.doc_type, row.size, row.content_hash));
                    let (doc_type, size, hash) = row.unwrap_or((DocType::BinaryIgnored, 0, None));
                    (doc_type, size, hash, Err(failure))
                }
                Err(failure) => return Err(shared.with_suggestions(failure, path.as_str())),
                Ok((kind, bytes)) => {
                    stop.check()?;
                    let size = bytes.len() as u64;
                    let hash = ContentHash(*blake3::hash(&bytes).as_bytes());
                    match door.text_of(&path, kind, bytes) {
                        Ok(whole) => (whole.doc_type, size, Some(hash), Ok(viewed(whole))),
                        Err(failure) if may_be_told(&failure) => {
                            (kind.doc_type(), size, Some(hash), Err(failure))
                        }
                        Err(failure) => return Err(failure),
                    }
                }
            };
            stop.check()?;
            let held = row.as_ref().and_then(|row| row.content_hash);
            Ok(DocumentView {
                rel_path: path.as_str().to_owned(),
                doc_type,
                size,
                content_hash,
                indexed,
                changed_since_indexed: held.is_some() && content_hash.is_some() && held != content_hash,
                text,
            })
        })
        .await
    }

    /// The bytes of a document whose text may be shown, at most so many.
    pub async fn raw_document(&self, call: &Call, path: &str, most: u64) -> Result<RawDocument, Failure> {
        let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
        call.blocking(move |stop| {
            let path = shared.located(&path)?;
            let Some(door) = shared.door() else {
                let message = "only the text of this document was published, not its bytes";
                return Err(Failure::new(ErrorCode::DocTypeUnsupported, message)
                    .hint("Open it on the machine that it was published from."));
            };
            let (kind, bytes) =
                door.bytes(&path).map_err(|failure| shared.with_suggestions(failure, path.as_str()))?;
            if bytes.len() as u64 > most {
                let message = format!("{path} has {} bytes; at most {most} are given out", bytes.len());
                return Err(Failure::new(ErrorCode::FileTooLarge, message));
            }
            stop.check()?;
            // What is hidden in the text of a document must not leave by its bytes.
            match door.text_of(&path, kind, bytes.clone()) {
                Err(failure) if !may_be_told(&failure) => return Err(failure),
                _ => {}
            }
            if let Some(secret) = shared.guard.policy().scan(&path, &bytes) {
                return Err(secret.failure(&path));
            }
            stop.check()?;
            let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
            Ok(RawDocument { rel_path: path.as_str().to_owned(), bytes, content_hash })
        })
        .await
    }
}

/// A document of a published project, whose text is the one that was indexed.
fn published(
    shared: &SharedEngine,
    path: &RelPath,
    row: Option<(DocType, u64)>,
    indexed: Option<(DocStatus, Option<SkipReason>)>,
) -> Result<DocumentView, Failure> {
    let (doc_type, size) = row.unwrap_or((DocType::BinaryIgnored, 0));
    let (doc_type, content_hash, text) = match shared.whole(path) {
        Ok(whole) => (whole.doc_type, Some(whole.content_hash), Ok(viewed(whole))),
        Err(failure) if may_be_told(&failure) && row.is_some() => (doc_type, None, Err(failure)),
        Err(failure) => return Err(shared.with_suggestions(failure, path.as_str())),
    };
    Ok(DocumentView {
        rel_path: path.as_str().to_owned(),
        doc_type,
        size,
        content_hash,
        indexed,
        changed_since_indexed: false,
        text,
    })
}

/// Failures that only say that there is no text, as opposed to those that keep it from the caller.
fn may_be_told(failure: &Failure) -> bool {
    use ErrorCode::{
        BinarySkipped, ContentRefused, DocTypeUnsupported, Encrypted, ExtractFailed, FileTooLarge, NoText,
        OcrFailed, TextPending, TranscribeFailed,
    };
    matches!(
        failure.code,
        BinarySkipped
            | ContentRefused
            | DocTypeUnsupported
            | Encrypted
            | ExtractFailed
            | FileTooLarge
            | NoText
            | OcrFailed
            | TextPending
            | TranscribeFailed
    )
}

fn viewed(whole: crate::open_file::Whole) -> ViewedText {
    let (title, parts, units) = match whole.extraction {
        None => (None, 0, Vec::new()),
        Some(all) => {
            let places = all.unit_lines();
            let unit = |(unit, (first_line, last_line)): (extract::Unit, (u32, u32))| ViewedUnit {
                pointer: unit.pointer,
                title: unit.title,
                text: unit.text,
                first_line,
                last_line,
            };
            (all.title, all.parts, all.units.into_iter().zip(places).map(unit).collect())
        }
    };
    ViewedText { rep_type: whole.rep_type, title, text: whole.text, units, parts }
}

impl SharedEngine {
    /// Whether something of the index lies below this path, which is then a folder or an archive.
    pub(crate) fn holds_below(&self, path: &str) -> Result<bool, Failure> {
        Ok(path.is_empty() || !self.index().known_below(path)?.is_empty())
    }
}

/// What a text declares, by its language; `None` where that is not known.
pub fn outline_of(path: &str, text: &str) -> Option<FileStructure> {
    let parsed = ingest::structure(path, text)?;
    Some(FileStructure {
        path: path.to_owned(),
        language: Some(parsed.language.name()),
        symbols: parsed.symbols,
        shortfall: parsed.shortfall.map(|shortfall| shortfall.to_string()),
    })
}
