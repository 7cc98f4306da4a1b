//! What reading a single document takes: getting its bytes, keeping what was made of them, and putting it into the index.

use std::sync::{Arc, Mutex};

use index::{Batch, DocChange, Index, IndexError};
use model::{ContentHash, DocType, Failure, RelPath, Transcript};
use policy::Guard;

use crate::counters::Counters;
use crate::documents::{ContentKind, Extractor};
use crate::kept::{self, Annotation, KeptPage, KeptTexts};
use crate::represent::Representer;
use crate::scan::IngestOptions;
use crate::source::DocumentSource;
use crate::texts::{DocumentTexts, TextLayer};

use super::turns::Turns;

/// Reads single documents outside of a scan.
#[derive(Clone)]
pub struct DocumentDesk {
    pub guard: Guard,
    pub index: Arc<Index>,
    pub options: IngestOptions,
    pub counters: Arc<Counters>,
    pub turns: Arc<Turns>,
}

/// A document with its bytes.
#[derive(Debug)]
pub struct LoadedDocument {
    pub path: RelPath,
    pub kind: ContentKind,
    pub bytes: Vec<u8>,
    pub content_hash: ContentHash,
}

impl LoadedDocument {
    pub fn doc_type(&self) -> DocType {
        self.kind.doc_type()
    }
}

impl DocumentDesk {
    /// Reads a document through the guarded door.
    pub fn load(&self, path: &RelPath) -> Result<LoadedDocument, Failure> {
        let source = DocumentSource {
            guard: &self.guard,
            reader: self.options.reader.as_ref(),
            archives: self.options.rules.archives,
        };
        let (kind, bytes) = source.read(path)?;
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        Ok(LoadedDocument { path: path.clone(), kind, bytes, content_hash })
    }

    /// What is kept of a content.
    pub fn kept(&self, content_hash: &ContentHash) -> Result<KeptTexts, IndexError> {
        KeptTexts::of(&self.index, content_hash)
    }

    /// All texts of a document as they are known now.
    pub fn texts(&self, document: &LoadedDocument) -> Result<DocumentTexts, IndexError> {
        Ok(self.layer(document).with(&self.kept(&document.content_hash)?))
    }

    /// Keeps a transcript and makes it searchable. Returns whether it can be searched now: not where the file was never
    /// indexed or has changed since; the next scan takes it up.
    pub fn put_transcript(
        &self,
        document: &LoadedDocument,
        transcript: &Transcript,
    ) -> Result<bool, IndexError> {
        kept::keep_transcript(&self.index, document.path.as_str(), &document.content_hash, transcript)?;
        self.put_and_publish(document)
    }

    /// Keeps an annotation, and makes it searchable where that is wanted.
    pub fn put_annotation(
        &self,
        document: &LoadedDocument,
        annotation: &Annotation,
    ) -> Result<bool, IndexError> {
        kept::keep_annotation(&self.index, document.path.as_str(), &document.content_hash, annotation)?;
        self.put_and_publish(document)
    }

    fn put_and_publish(&self, document: &LoadedDocument) -> Result<bool, IndexError> {
        let is_put = self.put(&document.path, &document.content_hash, self.layer(document))?;
        self.index.publish()?;
        Ok(is_put)
    }

    pub(super) fn keep_pages(&self, document: &LoadedDocument, pages: &[KeptPage]) -> Result<(), IndexError> {
        kept::keep_pages(&self.index, document.path.as_str(), &document.content_hash, pages)
    }

    pub(super) fn keep_transcript(
        &self,
        document: &LoadedDocument,
        transcript: &Transcript,
    ) -> Result<(), IndexError> {
        kept::keep_transcript(&self.index, document.path.as_str(), &document.content_hash, transcript)
    }

    /// What the bytes say by themselves.
    pub(super) fn layer(&self, document: &LoadedDocument) -> TextLayer {
        let LoadedDocument { path, kind, bytes, content_hash } = document;
        // Nothing is read from the bytes of recordings.
        let bytes = if let ContentKind::Other(DocType::Audio) = kind { Vec::new() } else { bytes.clone() };
        TextLayer::of(self.extractor(), &self.options.rules, path, *kind, bytes, content_hash)
    }

    /// Puts a document again, with all that is kept of it by now, unless it has another content by now. Searches see it
    /// after the next publication.
    pub(super) fn put(
        &self,
        path: &RelPath,
        content_hash: &ContentHash,
        layer: TextLayer,
    ) -> Result<bool, IndexError> {
        let Some(row) = self.index.document(path.as_str())? else { return Ok(false) };
        if row.content_hash != Some(*content_hash) {
            return Ok(false);
        }
        let (walk, digest) = (self.options.walk(), self.options.rules.digest());
        let representer = Representer {
            guard: &self.guard,
            rules: &self.options.rules,
            walk: &walk,
            extractor: self.extractor(),
            kept: &self.index,
            capabilities: &self.options.capabilities,
            turn: Mutex::default(),
            digest: &digest,
            counters: &self.counters,
            clock: self.options.clock.as_ref(),
        };
        let change = representer.with_kept(path, row.document, layer, content_hash);
        let is_searchable = matches!(&change, DocChange::Put { document, .. } if document.reason.is_none());
        let applied = self.index.apply(&Batch { changes: vec![change] })?;
        self.counters.add(&applied);
        Ok(is_searchable)
    }

    fn extractor(&self) -> Extractor<'_> {
        Extractor { reader: self.options.reader.as_ref(), kept: Some(&self.index) }
    }
}
