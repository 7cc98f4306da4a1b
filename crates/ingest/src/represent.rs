//! Turns one file into what the catalog stores of it: read, hash, scan for secrets, extract, cut.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use discover::{FoundFile, WalkOptions};
use extract::Format;
use index::{DocChange, Index};
use model::{
    Capability, Chunk, ContentHash, DocType, Document, RelPath, RepType, Representation, SkipReason, Span,
    UnreadParts, WallClock,
};
use policy::{Guard, OpenError, OpenFile};

use crate::change;
use crate::chunk::{ChunkSource, chunk_text, chunk_transcript, chunk_units};
use crate::counters::Counters;
use crate::documents::{ContentKind, DocumentText, Extractor, unread};
use crate::extracted;
use crate::kept::{Annotation, KeptTexts};
use crate::members::forget;
use crate::outcome::FileOutcome;
use crate::outlet::Outlet;
use crate::plan::Before;
use crate::rules::IngestRules;
use crate::texts::{DocumentTexts, TextLayer};

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
    /// Keeps what was recognised, transcribed or annotated.
    pub(crate) kept: &'a Index,
    /// Who is there to read pictures and recordings.
    pub(crate) capabilities: &'a [Capability],
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
        if let ContentKind::Other(_) = guess
            && !is_media(doc_type)
        {
            let reason = self.unread(&found.path, doc_type);
            return Ok(Some(change::skipped(document, doc_type, reason)));
        }
        if let Some(change) = self.unopened_media(&document, doc_type) {
            return Ok(Some(change));
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
        if let ContentKind::Other(_) = kind
            && !is_media(doc_type)
        {
            return change::skipped(document, doc_type, self.unread(path, doc_type));
        }
        let layer = TextLayer::of(self.extractor, self.rules, path, kind, bytes, &content_hash);
        self.with_kept(path, document, layer, &content_hash)
    }

    /// The change for a document whose text layer is known, with all that was recognised, transcribed or annotated so far.
    pub(crate) fn with_kept(
        &self,
        path: &RelPath,
        document: Document,
        layer: TextLayer,
        content_hash: &ContentHash,
    ) -> DocChange {
        let kept = KeptTexts::of(self.kept, content_hash).unwrap_or_else(|error| {
            // It stays where it is, and is used when it can be read.
            tracing::warn!(%error, path = path.as_str(), "what was kept of a document could not be read");
            KeptTexts::default()
        });
        self.indexed(path, document, layer.with(&kept))
    }

    fn indexed(&self, path: &RelPath, document: Document, all: DocumentTexts) -> DocChange {
        let DocumentTexts { doc_type, texts, annotation, unread, reason } = all;
        let document = Document { unread, ..document };
        let annotated = annotation.as_ref().map(|annotation| annotation.text.as_str());
        for text in texts.iter().map(|text| text.text.as_str()).chain(annotated) {
            if let Some(secret) = self.guard.policy().scan(path, text.as_bytes()) {
                let reason = SkipReason::Secret { rule: secret.rule.to_string(), line: secret.line };
                return change::skipped(Document { unread: None, ..document }, doc_type, reason);
            }
        }
        match reason.or_else(|| self.lacking(&document, doc_type).filter(|_| texts.is_empty())) {
            Some(reason @ SkipReason::NotTried { .. }) => {
                change::skipped(change::to_retry(document), doc_type, reason)
            }
            Some(reason) => change::skipped(document, doc_type, reason),
            None => {
                let lines = texts.iter().map(|text| text.text.lines().count() as u32 + 1).sum();
                let mut representations: Vec<Representation> =
                    texts.into_iter().map(|text| self.cut(path, text)).collect();
                if let Some(annotation) = annotation {
                    representations.extend(self.annotated(path, &annotation, lines));
                }
                number(&mut representations);
                change::indexed(document, doc_type, representations)
            }
        }
    }

    /// The change for a picture or a recording that is not worth reading: nobody is there to recognise it, and nothing is kept
    /// that could be of its content. It is read once somebody is there ([`index::Index::retell_unread`]).
    fn unopened_media(&self, document: &Document, doc_type: DocType) -> Option<DocChange> {
        let (unread, is_on, setting) = match doc_type {
            DocType::Image => (UnreadParts::Pages(vec![1]), self.rules.images, "ingest.images.mode"),
            DocType::Audio => (UnreadParts::Speech, self.rules.audio, "ingest.audio.mode"),
            _ => return None,
        };
        let needs = unread.capability();
        if self.kept.has_bought_parts() || (is_on && self.capabilities.contains(&needs)) {
            return None;
        }
        let document = document.clone();
        Some(if is_on {
            let document = Document { unread: Some(unread), ..document };
            change::skipped(document, doc_type, lacking(doc_type, needs, false))
        } else {
            let reason =
                SkipReason::SwitchedOff { doc_type: doc_type.to_string(), setting: setting.to_owned() };
            change::skipped(document, doc_type, reason)
        })
    }

    /// Why a document without a text has none yet.
    fn lacking(&self, document: &Document, doc_type: DocType) -> Option<SkipReason> {
        let needs = document.unread.as_ref()?.capability();
        Some(lacking(doc_type, needs, self.capabilities.contains(&needs)))
    }

    /// Makes a text a representation.
    fn cut(&self, path: &RelPath, text: DocumentText) -> Representation {
        let DocumentText { doc_type, rep_type, text, extraction, producer, meta } = text;
        let (source, chunking) = (ChunkSource { path, rep_type }, &self.rules.chunking);
        let chunks = match &extraction {
            Some(extraction) if rep_type == RepType::Transcript => {
                chunk_transcript(source, extraction, chunking)
            }
            Some(extraction) => chunk_units(source, extraction, chunking),
            None => chunk_text(source, doc_type, &text, chunking),
        };
        Representation {
            rep_type,
            rep_hash: self.rep_hash(&text, &chunks),
            meta_json: meta.to_string(),
            chunks,
            produced: extraction.zip(producer).map(|(all, producer)| extracted::written(all, producer)),
        }
    }

    /// What a model drew from the document: the data, which is only kept, and the lines by which it is found. They are cited
    /// as lines behind those of the document itself, where opening shows them.
    fn annotated(&self, path: &RelPath, annotation: &Annotation, lines: u32) -> Vec<Representation> {
        let Annotation { json, text, is_indexed, provider, model } = annotation;
        let meta = serde_json::json!({ "provider": provider, "model": model, "annotation": json });
        let data = Representation {
            rep_type: RepType::AnnotationJson,
            rep_hash: ContentHash(*blake3::hash(json.to_string().as_bytes()).as_bytes()),
            meta_json: meta.to_string(),
            chunks: Vec::new(),
            produced: None,
        };
        if !is_indexed {
            return vec![data];
        }
        let source = ChunkSource { path, rep_type: RepType::AnnotationText };
        let mut chunks = chunk_text(source, DocType::Text, text, &self.rules.chunking);
        for chunk in &mut chunks {
            chunk.span = annotation_span(chunk.span, lines);
        }
        let found = Representation {
            rep_type: RepType::AnnotationText,
            rep_hash: self.rep_hash(&format!("{lines}\n{text}"), &chunks),
            meta_json: serde_json::json!({ "provider": provider, "model": model }).to_string(),
            chunks,
            produced: None,
        };
        vec![data, found]
    }

    fn rep_hash(&self, text: &str, chunks: &[Chunk]) -> ContentHash {
        let mut rep_hash = blake3::Hasher::new();
        rep_hash.update(text.as_bytes()).update(self.digest.as_bytes());
        // The same text may be on other pages than before, or below other headings.
        for chunk in chunks {
            rep_hash.update(&serde_json::to_vec(&(&chunk.pointer, &chunk.heading)).unwrap_or_default());
        }
        ContentHash(*rep_hash.finalize().as_bytes())
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

/// Files whose text somebody has to read.
pub(crate) fn is_media(doc_type: DocType) -> bool {
    matches!(doc_type, DocType::Image | DocType::Audio)
}

/// Why a document without a text has none yet.
pub fn lacking(doc_type: DocType, needs: Capability, is_there: bool) -> SkipReason {
    let doc_type = doc_type.to_string();
    if is_there { SkipReason::Waiting { doc_type, needs } } else { SkipReason::NoReader { doc_type, needs } }
}

/// Where the lines of an annotation are: `lines` is the line behind the document's last.
fn annotation_span(span: Span, lines: u32) -> Span {
    match span {
        Span::Lines { start_line, end_line } => {
            Span::Lines { start_line: lines + start_line, end_line: lines + end_line }
        }
        other => other,
    }
}

/// Ordinals go on from one representation to the next.
fn number(representations: &mut [Representation]) {
    let all = representations.iter_mut().flat_map(|rep| &mut rep.chunks);
    all.zip(0..).for_each(|(chunk, ordinal)| chunk.ordinal = ordinal);
}
