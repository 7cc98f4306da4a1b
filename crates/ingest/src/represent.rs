//! Turns one file into what the catalog stores of it: read, hash, scan for secrets, extract, cut.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use discover::{FoundFile, WalkOptions};
use extract::Format;
use extract::archive::Mode;
use index::{DocChange, NewRep};
use model::{ContentHash, DocStatus, DocType, RelPath, RepType, SkipReason, SourceType};
use policy::{Guard, OpenError, OpenFile};

use crate::chunk::{ChunkOptions, chunk_text, chunk_units};
use crate::counters::Counters;
use crate::documents::{DocumentReader, Kind, NoContent, content, unread};
use crate::members::forget;
use crate::outcome::Outcome;
use crate::outlet::Outlet;
use crate::plan::Before;

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
    /// What the walk leaves out is left out in archives, too.
    pub(crate) walk: &'a WalkOptions,
    /// How far archives are looked into, if at all.
    pub(crate) archives: Option<Mode>,
    /// One archive at a time: each is held in memory while its members are read.
    pub(crate) turn: Mutex<()>,
    /// Part of every representation's hash: other cutting rules make another representation.
    pub(crate) fingerprint: &'a str,
    pub(crate) counters: &'a Counters,
}

impl Representer<'_> {
    /// Brings the catalog up to date with one file. Never fails: what went wrong is recorded. With the same content as
    /// before, only the metadata is touched.
    pub(crate) fn represent(&self, found: &FoundFile, before: &Before<'_>, out: &mut Outlet<'_>) {
        let path = found.path.as_str().to_owned();
        let put = Put::of(found);
        let by_name = || discover::classify(&found.path, &[]);
        let change = match self.attempt(found, before, out) {
            // An archive has said all there is to say.
            Ok(None) => return,
            Ok(Some(change)) => change,
            Err(error @ (OpenError::NotFound | OpenError::Denied(_))) => {
                let was_known = before.ledger.known(&path).is_some();
                let outcome = match error {
                    OpenError::Denied(denied) => Outcome::Ignored { rule: denied.rule(), was_known },
                    _ => Outcome::Vanished { was_known },
                };
                out.send_as(DocChange::Delete { path }, outcome);
                return forget(before, &found.path, &HashSet::new(), out);
            }
            Err(OpenError::OutsideRoot) => put.skipped(DocType::BinaryIgnored, SkipReason::Symlink),
            Err(OpenError::NotAFile { kind }) => {
                put.skipped(DocType::BinaryIgnored, SkipReason::Special { kind: kind.to_owned() })
            }
            Err(OpenError::TooLarge { size, limit }) => {
                put.skipped(by_name(), SkipReason::TooLarge { size, limit })
            }
            // Not remembered by its time stamp: the next scan must try again, and its members stay until then.
            Err(OpenError::Changed) => {
                let message = "EXTRACT_FAILED: the file kept changing while it was read".to_owned();
                return out.send(Put { inode: 0, ..put }.failed(by_name(), message));
            }
            // The same: the right to read it may come back without a trace in its size and time stamp.
            Err(OpenError::Io(error)) => Put { inode: 0, ..put }
                .failed(by_name(), format!("EXTRACT_FAILED: the file could not be read: {error}")),
        };
        if let DocChange::Touch { .. } = change {
            let mut statuses = before.ledger.statuses(found.path.as_str());
            let own = statuses.next().map_or(Outcome::Unchanged, Outcome::of_known);
            out.send_as(change, own);
            // An archive that is the same has the same members.
            return statuses.for_each(|status| self.counters.count_known(status));
        }
        out.send(change);
        // It may have been an archive before.
        forget(before, &found.path, &HashSet::new(), out);
    }

    fn attempt(
        &self,
        found: &FoundFile,
        before: &Before<'_>,
        out: &mut Outlet<'_>,
    ) -> Result<Option<DocChange>, OpenError> {
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
            Some(bytes) => Cow::Borrowed(bytes.as_slice()),
            None => Cow::Owned(file.read_head(HEAD_BYTES as u64)?),
        };
        let guess = self.kind(&found.path, &head);
        drop(head);
        let doc_type = guess.doc_type();
        if let Kind::Other(_) = guess {
            return Ok(Some(put.skipped(doc_type, self.unread(&found.path, doc_type))));
        }
        let limit = policy.max_bytes(doc_type);
        if size > limit {
            return Ok(Some(put.skipped(doc_type, SkipReason::TooLarge { size, limit })));
        }
        let _turn = match guess {
            Kind::Archive(_) => {
                out.release();
                Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner))
            }
            _ => None,
        };
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => file.read_all(limit)?,
        };
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let known = before.known(found.path.as_str());
        if known.is_some_and(|known| known.content_hash == Some(content_hash)) {
            return Ok(Some(put.touched()));
        }
        let put = put.hashed(content_hash);
        // What is inside decides, not only its first bytes.
        match self.kind(&found.path, &bytes) {
            Kind::Archive(format) => {
                out.release();
                self.archive(&found.path, put, format, &bytes, before, out);
                Ok(None)
            }
            kind => Ok(Some(self.read(&found.path, put, kind, bytes))),
        }
    }

    fn kind(&self, path: &RelPath, bytes: &[u8]) -> Kind {
        match Kind::of(path, bytes) {
            Kind::Document(Format::Pdf, doc_type) if !self.pdf => Kind::Other(doc_type),
            kind => kind,
        }
    }

    /// Why nothing is read from documents of a type.
    fn unread(&self, path: &RelPath, doc_type: DocType) -> SkipReason {
        if doc_type == DocType::Pdf && !self.pdf {
            let setting = "ingest.pdf.mode".to_owned();
            return SkipReason::SwitchedOff { doc_type: doc_type.to_string(), setting };
        }
        unread(path, doc_type)
    }

    /// The change for a document whose bytes are at hand: a file, or a member of an archive.
    pub(crate) fn read(&self, path: &RelPath, put: Put, kind: Kind, bytes: Vec<u8>) -> DocChange {
        let doc_type = kind.doc_type();
        if let Kind::Other(_) = kind {
            return put.skipped(doc_type, self.unread(path, doc_type));
        }
        let content = match content(self.reader, path, kind, bytes) {
            Ok(content) => content,
            Err(NoContent::Skip(reason)) => return put.skipped(doc_type, reason),
            // Not remembered by its time stamp: the next scan must try again.
            Err(NoContent::Reader(message)) => {
                let put = Put { inode: 0, content_hash: None, ..put };
                return put.failed(doc_type, format!("EXTRACT_FAILED: {message}"));
            }
        };
        let text = content.text.as_str();
        if let Some(secret) = self.guard.policy().scan(path, text.as_bytes()) {
            let reason = SkipReason::Secret { rule: secret.rule.to_string(), line: secret.line };
            return put.skipped(doc_type, reason);
        }
        let chunks = match &content.extraction {
            Some(extraction) => chunk_units(path, extraction, self.chunking),
            None => chunk_text(path, doc_type, text, self.chunking),
        };
        let mut rep_hash = blake3::Hasher::new();
        rep_hash.update(text.as_bytes()).update(self.fingerprint.as_bytes());
        // The same text may stand on other pages than before, or below other headings.
        for chunk in &chunks {
            rep_hash.update(&serde_json::to_vec(&(&chunk.pointer, &chunk.heading)).unwrap_or_default());
        }
        let rep = NewRep {
            rep_type: RepType::RawText,
            rep_hash: ContentHash(*rep_hash.finalize().as_bytes()),
            meta_json: content.meta.to_string(),
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
    Put { path, source: SourceType::File, size, mtime_ns, inode: 0, content_hash: None }
        .skipped(DocType::BinaryIgnored, reason.clone())
}

/// The change that records a file or directory the walk could not look at.
pub(crate) fn unreadable(path: String, message: &str) -> DocChange {
    Put { path, source: SourceType::File, size: 0, mtime_ns: 0, inode: 0, content_hash: None }
        .failed(DocType::BinaryIgnored, format!("EXTRACT_FAILED: {message}"))
}

/// A document's row on its way.
pub(crate) struct Put {
    pub(crate) path: String,
    pub(crate) source: SourceType,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) inode: u64,
    pub(crate) content_hash: Option<ContentHash>,
}

impl Put {
    fn of(found: &FoundFile) -> Put {
        Put {
            path: found.path.as_str().to_owned(),
            source: SourceType::File,
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
            source: SourceType::File,
            size: file.size(),
            mtime_ns: file.mtime_ns(),
            inode: if racy { 0 } else { file.inode() },
            content_hash: None,
        }
    }

    pub(crate) fn touched(self) -> DocChange {
        DocChange::Touch { path: self.path, size: self.size, mtime_ns: self.mtime_ns, inode: self.inode }
    }

    pub(crate) fn hashed(self, hash: ContentHash) -> Put {
        Put { content_hash: Some(hash), ..self }
    }

    /// There, and with nothing of its own to search: an archive.
    pub(crate) fn listed(self, doc_type: DocType) -> DocChange {
        self.into_change(doc_type, DocStatus::Ok, None, None)
    }

    fn indexed(self, doc_type: DocType, rep: NewRep) -> DocChange {
        self.into_change(doc_type, DocStatus::Ok, None, Some(rep))
    }

    /// Left out for a reason. What should have had a text and could not be read is a failure.
    pub(crate) fn skipped(self, doc_type: DocType, reason: SkipReason) -> DocChange {
        let status = if reason.is_failure() { DocStatus::Error } else { DocStatus::Skipped };
        self.into_change(doc_type, status, Some(reason.to_string()), None)
    }

    pub(crate) fn failed(self, doc_type: DocType, error: String) -> DocChange {
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
            source: self.source,
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
