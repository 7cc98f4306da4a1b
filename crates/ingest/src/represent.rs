//! Turns one file into what the catalog stores of it: read, hash, scan for secrets, extract, cut.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use discover::{FoundFile, WalkOptions};
use extract::Format;
use index::DocChange;
use model::{ContentHash, DocType, Document, RelPath, Representation, SkipReason, WallClock};
use policy::{Guard, OpenError, OpenFile};

use crate::change;
use crate::chunk::{ChunkSource, chunk_text, chunk_units};
use crate::counters::Counters;
use crate::documents::{ContentKind, DocumentText, Extractor, unread};
use crate::extracted;
use crate::members::forget;
use crate::outcome::FileOutcome;
use crate::outlet::Outlet;
use crate::plan::Before;
use crate::rules::IngestRules;

/// Bytes looked at to tell what a file is.
const HEAD_BYTES: usize = 8192;

/// A file written this shortly before it was read may be written again within the same time stamp.
const RACY_NS: i64 = 50_000_000;

pub(crate) struct Representer<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) rules: &'a IngestRules,
    /// What the walk leaves out is left out in archives, too.
    pub(crate) walk: &'a WalkOptions,
    pub(crate) extractor: Extractor<'a>,
    /// One archive at a time: each is held in memory while its members are read.
    pub(crate) turn: Mutex<()>,
    /// Part of every representation's hash: other cutting rules make another representation.
    pub(crate) digest: &'a str,
    pub(crate) counters: &'a Counters,
    pub(crate) clock: &'a dyn WallClock,
}

impl Representer<'_> {
    /// Brings the catalog up to date with one file. Never fails: what went wrong is recorded. With the same content as
    /// before, only the metadata is touched.
    pub(crate) fn represent(&self, found: &FoundFile, before: &Before<'_>, out: &mut Outlet<'_>) {
        let path = found.path.as_str().to_owned();
        let document = change::met(found);
        let by_name = || discover::classify(&found.path, &[]);
        let change = match self.attempt(found, before, out) {
            // An archive has said all there is to say.
            Ok(None) => return,
            Ok(Some(change)) => change,
            Err(error @ (OpenError::NotFound | OpenError::Denied(_))) => {
                let was_known = before.ledger.known(&path).is_some();
                let outcome = match error {
                    OpenError::Denied(denied) => FileOutcome::Ignored { rule: denied.rule(), was_known },
                    _ => FileOutcome::Vanished { was_known },
                };
                out.send_as(DocChange::Delete { path }, outcome);
                return forget(before, &found.path, &HashSet::new(), out);
            }
            Err(OpenError::OutsideRoot | OpenError::LinkLoop) => {
                change::skipped(document, DocType::BinaryIgnored, SkipReason::Symlink)
            }
            Err(OpenError::NotAFile { kind }) => {
                let reason = SkipReason::Special { kind: kind.to_owned() };
                change::skipped(document, DocType::BinaryIgnored, reason)
            }
            Err(OpenError::TooLarge { size, limit }) => {
                change::skipped(document, by_name(), SkipReason::TooLarge { size, limit })
            }
            // Not remembered by its time stamp: the next scan must try again, and its members stay until then.
            Err(OpenError::Changed) => {
                let document = change::to_retry(document);
                return out.send(change::skipped(document, by_name(), SkipReason::KeptChanging));
            }
            // The same: the right to read it may come back without a trace in its size and time stamp.
            Err(OpenError::Io(error)) => {
                let reason = SkipReason::Unreadable { error: error.to_string() };
                change::skipped(change::to_retry(document), by_name(), reason)
            }
        };
        if let DocChange::Touch { .. } = change {
            let mut statuses = before.ledger.statuses(found.path.as_str());
            let own = statuses.next().map_or(FileOutcome::Unchanged, FileOutcome::of_known);
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
        let document = self.opened(found, &file);
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
        if let ContentKind::Other(_) = guess {
            let reason = self.unread(&found.path, doc_type);
            return Ok(Some(change::skipped(document, doc_type, reason)));
        }
        let limit = policy.max_bytes(doc_type);
        if size > limit {
            let reason = SkipReason::TooLarge { size, limit };
            return Ok(Some(change::skipped(document, doc_type, reason)));
        }
        let _turn = match guess {
            ContentKind::Archive(_) => {
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
            return Ok(Some(change::touched(document)));
        }
        // What is inside decides, not only its first bytes.
        match self.kind(&found.path, &bytes) {
            ContentKind::Archive(format) => {
                out.release();
                let document = change::hashed(document, content_hash);
                self.archive(&found.path, document, format, &bytes, before, out);
                Ok(None)
            }
            kind => Ok(Some(self.read(&found.path, document, kind, bytes, content_hash))),
        }
    }

    fn kind(&self, path: &RelPath, bytes: &[u8]) -> ContentKind {
        match ContentKind::of(path, bytes) {
            ContentKind::Document(Format::Pdf, doc_type) if !self.rules.pdf => ContentKind::Other(doc_type),
            kind => kind,
        }
    }

    /// Why nothing is read from documents of a type.
    fn unread(&self, path: &RelPath, doc_type: DocType) -> SkipReason {
        if doc_type == DocType::Pdf && !self.rules.pdf {
            let setting = "ingest.pdf.mode".to_owned();
            return SkipReason::SwitchedOff { doc_type: doc_type.to_string(), setting };
        }
        unread(path, doc_type)
    }

    /// The change for a document whose bytes are at hand: a file, or a member of an archive.
    pub(crate) fn read(
        &self,
        path: &RelPath,
        document: Document,
        kind: ContentKind,
        bytes: Vec<u8>,
        content_hash: ContentHash,
    ) -> DocChange {
        let doc_type = kind.doc_type();
        let document = change::hashed(document, content_hash);
        if let ContentKind::Other(_) = kind {
            return change::skipped(document, doc_type, self.unread(path, doc_type));
        }
        let text = match self.extractor.text(path, kind, bytes, &content_hash) {
            Ok(text) => text,
            Err(reason @ SkipReason::NotTried { .. }) => {
                return change::skipped(change::to_retry(document), doc_type, reason);
            }
            Err(reason) => return change::skipped(document, doc_type, reason),
        };
        if let Some(secret) = self.guard.policy().scan(path, text.text.as_bytes()) {
            let reason = SkipReason::Secret { rule: secret.rule.to_string(), line: secret.line };
            return change::skipped(document, doc_type, reason);
        }
        change::indexed(document, doc_type, vec![self.cut(path, text)])
    }

    /// Makes a text a representation.
    fn cut(&self, path: &RelPath, text: DocumentText) -> Representation {
        let DocumentText { doc_type, rep_type, text, extraction, producer, meta } = text;
        let (source, chunking) = (ChunkSource { path, rep_type }, &self.rules.chunking);
        let chunks = match &extraction {
            Some(extraction) => chunk_units(source, extraction, chunking),
            None => chunk_text(source, doc_type, &text, chunking),
        };
        let mut rep_hash = blake3::Hasher::new();
        rep_hash.update(text.as_bytes()).update(self.digest.as_bytes());
        // The same text may be on other pages than before, or below other headings.
        for chunk in &chunks {
            rep_hash.update(&serde_json::to_vec(&(&chunk.pointer, &chunk.heading)).unwrap_or_default());
        }
        Representation {
            rep_type,
            rep_hash: ContentHash(*rep_hash.finalize().as_bytes()),
            meta_json: meta.to_string(),
            chunks,
            produced: extraction.zip(producer).map(|(all, producer)| extracted::written(all, producer)),
        }
    }

    /// What the open file itself says, which is what was read. A write within the same clock tick would not move
    /// the time stamp, so a freshly written file is remembered without its inode and looked at again.
    fn opened(&self, found: &FoundFile, file: &OpenFile) -> Document {
        let now = i64::try_from(self.clock.since_1970().as_nanos()).unwrap_or(i64::MAX);
        let racy = now.saturating_sub(file.mtime_ns()) < RACY_NS;
        Document {
            size: file.size(),
            mtime_ns: file.mtime_ns(),
            inode: if racy { 0 } else { file.inode() },
            ..change::met(found)
        }
    }

    fn open(&self, found: &FoundFile) -> Result<OpenFile, OpenError> {
        if self.guard.policy().follows_symlinks() {
            self.guard.open(&found.path)
        } else {
            self.guard.open_nofollow(&found.path)
        }
    }
}
