//! Turns one file into what the catalog stores of it: read, hash, scan for secrets, extract, cut.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use discover::FoundFile;
use extract::{Extracted, Format};
use index::{DocChange, Known, NewRep};
use model::{Chunk, ContentHash, DocStatus, DocType, RepType, SkipReason, SourceType};
use policy::{Guard, OpenError, OpenFile};

use crate::chunk::{ChunkOptions, chunk_text, chunk_units};
use crate::documents::{DocumentReader, document, shortfall};

/// Bytes looked at to tell what a file is.
const HEAD_BYTES: usize = 8192;

/// A file written this shortly before it was read may be written again within the same time stamp.
const RACY_NS: i64 = 50_000_000;

pub(crate) struct Representer<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) chunking: &'a ChunkOptions,
    pub(crate) reader: &'a dyn DocumentReader,
    /// Text of PDF files is wanted.
    pub(crate) pdf: bool,
    /// Part of every representation's hash: other cutting rules make another representation.
    pub(crate) fingerprint: &'a str,
}

impl Representer<'_> {
    /// The change that brings the catalog up to date with one file. Never fails: what went wrong is recorded.
    /// With `known` given and the same content, only the metadata is touched.
    pub(crate) fn represent(&self, found: &FoundFile, known: Option<&Known>) -> DocChange {
        let error = match self.attempt(found, known) {
            Ok(change) => return change,
            Err(error) => error,
        };
        let path = found.path.as_str().to_owned();
        let put = Put::of(found);
        match error {
            OpenError::NotFound | OpenError::Denied(_) => DocChange::Delete { path },
            OpenError::OutsideRoot => put.skipped(DocType::BinaryIgnored, SkipReason::Symlink),
            OpenError::NotAFile { kind } => {
                put.skipped(DocType::BinaryIgnored, SkipReason::Special { kind: kind.to_owned() })
            }
            OpenError::TooLarge { size, limit } => {
                put.skipped(discover::classify(&found.path, &[]), SkipReason::TooLarge { size, limit })
            }
            // Not remembered by its time stamp: the next scan must try again.
            OpenError::Changed => Put { inode: 0, ..put }.failed(
                discover::classify(&found.path, &[]),
                "EXTRACT_FAILED: the file kept changing while it was read".to_owned(),
            ),
            OpenError::Io(error) => put.failed(
                discover::classify(&found.path, &[]),
                format!("EXTRACT_FAILED: the file could not be read: {error}"),
            ),
        }
    }

    fn attempt(&self, found: &FoundFile, known: Option<&Known>) -> Result<DocChange, OpenError> {
        let policy = self.guard.policy();
        let mut file = self.open(found)?;
        let put = Put::of_open(found, &file);
        let size = file.size();
        let by_name = discover::classify(&found.path, &[]);
        // Most files are what their name says: those are read once, and the others only as far as it takes to tell.
        let bytes = if by_name.is_textual() && size <= policy.max_bytes(by_name) {
            Some(file.read_all(policy.max_bytes(by_name))?)
        } else {
            None
        };
        let head = match &bytes {
            Some(bytes) => Cow::Borrowed(&bytes[..bytes.len().min(HEAD_BYTES)]),
            None => Cow::Owned(file.read_head(HEAD_BYTES as u64)?),
        };
        let document =
            document(found.path.file_name(), &head).filter(|(format, _)| self.pdf || *format != Format::Pdf);
        let doc_type = match document {
            Some((_, doc_type)) => doc_type,
            None => discover::classify(&found.path, &head),
        };
        drop(head);
        if document.is_none() && !doc_type.is_textual() {
            return Ok(put.skipped(doc_type, unsupported(doc_type)));
        }
        let limit = policy.max_bytes(doc_type);
        if size > limit {
            return Ok(put.skipped(doc_type, SkipReason::TooLarge { size, limit }));
        }
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => file.read_all(limit)?,
        };
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        if known.is_some_and(|known| known.content_hash == Some(content_hash)) {
            return Ok(put.touched());
        }
        let put = put.hashed(content_hash);
        Ok(match document {
            Some((format, _)) => self.document(found, put, format, doc_type, &bytes),
            None => match extract::raw_text(bytes) {
                Extracted::Skip(reason) => put.skipped(doc_type, reason),
                Extracted::Text(text) => {
                    let meta = serde_json::json!({ "encoding": text.encoding, "lossy": text.lossy });
                    self.indexed(put, doc_type, &text.text, &meta, || {
                        chunk_text(&found.path, doc_type, &text.text, self.chunking)
                    })
                }
            },
        })
    }

    /// The change for a document whose text has to be dug out.
    fn document(
        &self,
        found: &FoundFile,
        put: Put,
        format: Format,
        doc_type: DocType,
        bytes: &[u8],
    ) -> DocChange {
        // What is inside decides, not only its first bytes.
        let format = extract::sniff(found.path.file_name(), bytes).unwrap_or(format);
        let extraction = match self.reader.read(format, found.path.file_name(), bytes) {
            Ok(extraction) => extraction,
            // Not remembered by its time stamp: the next scan must try again.
            Err(message) => {
                let put = Put { inode: 0, content_hash: None, ..put };
                return put.failed(doc_type, format!("EXTRACT_FAILED: {message}"));
            }
        };
        if let Some(reason) = shortfall(&extraction) {
            return put.skipped(doc_type, reason);
        }
        let left_out: Vec<String> = extraction.diagnostics.iter().take(20).map(ToString::to_string).collect();
        let meta = serde_json::json!({
            "format": extraction.format.as_str(),
            "title": extraction.title,
            "parts": extraction.parts,
            "diagnostics": left_out,
        });
        let (text, _) = extraction.joined();
        self.indexed(put, doc_type, &text, &meta, || chunk_units(&found.path, &extraction, self.chunking))
    }

    /// The change for a file whose text is known, unless a secret in it holds it back.
    fn indexed(
        &self,
        put: Put,
        doc_type: DocType,
        text: &str,
        meta: &serde_json::Value,
        chunks: impl FnOnce() -> Vec<Chunk>,
    ) -> DocChange {
        if let Some(secret) = self.guard.policy().scan(text.as_bytes()) {
            return put.skipped(doc_type, SkipReason::Secret { rule: secret.rule.to_string() });
        }
        let chunks = chunks();
        let mut rep_hash = blake3::Hasher::new();
        rep_hash.update(text.as_bytes()).update(self.fingerprint.as_bytes());
        // The same text may stand on other pages than before.
        for pointer in chunks.iter().filter_map(|chunk| chunk.pointer.as_ref()) {
            rep_hash.update(&serde_json::to_vec(pointer).unwrap_or_default());
        }
        let rep = NewRep {
            rep_type: RepType::RawText,
            rep_hash: ContentHash(*rep_hash.finalize().as_bytes()),
            meta_json: meta.to_string(),
            chunks,
        };
        put.indexed(doc_type, rep)
    }

    fn open(&self, found: &FoundFile) -> Result<OpenFile, OpenError> {
        if self.guard.policy().follows_symlinks() {
            self.guard.open(&found.path)
        } else {
            self.guard.open_nofollow(&found.path)
        }
    }
}

/// The change that records a file the walk itself left out.
pub(crate) fn left_out(path: String, size: u64, mtime_ns: i64, reason: &SkipReason) -> DocChange {
    Put { path, size, mtime_ns, inode: 0, content_hash: None }.skipped(DocType::BinaryIgnored, reason.clone())
}

/// The change that records a file or directory the walk could not look at.
pub(crate) fn unreadable(path: String, message: &str) -> DocChange {
    Put { path, size: 0, mtime_ns: 0, inode: 0, content_hash: None }
        .failed(DocType::BinaryIgnored, format!("EXTRACT_FAILED: {message}"))
}

fn unsupported(doc_type: DocType) -> SkipReason {
    match doc_type {
        DocType::BinaryIgnored => SkipReason::Binary,
        other => SkipReason::Unsupported { doc_type: other.as_str().to_owned() },
    }
}

struct Put {
    path: String,
    size: u64,
    mtime_ns: i64,
    inode: u64,
    content_hash: Option<ContentHash>,
}

impl Put {
    fn of(found: &FoundFile) -> Put {
        Put {
            path: found.path.as_str().to_owned(),
            size: found.size,
            mtime_ns: found.mtime_ns,
            inode: found.inode,
            content_hash: None,
        }
    }

    /// What the open file itself says, which is what was read. A write within the same clock tick would not move
    /// the time stamp, so a freshly written file is remembered without its inode and looked at again.
    fn of_open(found: &FoundFile, file: &OpenFile) -> Put {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos() as i64);
        let racy = now.saturating_sub(file.mtime_ns()) < RACY_NS;
        Put {
            path: found.path.as_str().to_owned(),
            size: file.size(),
            mtime_ns: file.mtime_ns(),
            inode: if racy { 0 } else { file.inode() },
            content_hash: None,
        }
    }

    fn touched(self) -> DocChange {
        DocChange::Touch { path: self.path, size: self.size, mtime_ns: self.mtime_ns, inode: self.inode }
    }

    fn hashed(self, hash: ContentHash) -> Put {
        Put { content_hash: Some(hash), ..self }
    }

    fn indexed(self, doc_type: DocType, rep: NewRep) -> DocChange {
        self.into_change(doc_type, DocStatus::Ok, None, Some(rep))
    }

    fn skipped(self, doc_type: DocType, reason: SkipReason) -> DocChange {
        self.into_change(doc_type, DocStatus::Skipped, Some(reason.to_string()), None)
    }

    fn failed(self, doc_type: DocType, error: String) -> DocChange {
        self.into_change(doc_type, DocStatus::Error, Some(error), None)
    }

    fn into_change(
        self,
        doc_type: DocType,
        status: DocStatus,
        error: Option<String>,
        rep: Option<NewRep>,
    ) -> DocChange {
        DocChange::Put {
            path: self.path,
            source: SourceType::File,
            doc_type,
            size: self.size,
            mtime_ns: self.mtime_ns,
            inode: self.inode,
            content_hash: self.content_hash,
            status,
            error,
            rep,
        }
    }
}
