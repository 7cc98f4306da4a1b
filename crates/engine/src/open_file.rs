//! The text of a file, or of a member of an archive, through the guarded door: path, policy, content, in that order.

use std::sync::Arc;

use extract::Extraction;
use index::Index;
use ingest::{
    ContentKind, DocumentReader, DocumentSource, Extractor, IngestRules, KeptTexts, TextLayer, lacking,
};
use model::{ContentHash, DocType, ErrorCode, Failure, RelPath, RepType};
use policy::Guard;

/// The whole text of a file or member, before a slice is cut from it.
pub(crate) struct Whole {
    pub(crate) doc_type: DocType,
    /// What the text is, or most of it where it is of two kinds.
    pub(crate) rep_type: RepType,
    pub(crate) text: String,
    pub(crate) content_hash: ContentHash,
    /// Where the text was extracted, recognised or transcribed: its parts with their places.
    pub(crate) extraction: Option<Extraction>,
    /// The lines by which an annotation of the document is found; empty without one.
    pub(crate) annotation: String,
}

/// How the texts of documents are got.
pub(crate) struct Door<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) reader: &'a dyn DocumentReader,
    pub(crate) rules: &'a IngestRules,
    /// What was made of a document when it was indexed is opened from here.
    pub(crate) index: Arc<Index>,
}

impl Door<'_> {
    /// The text of a file or of a member of an archive, unless the policy holds it back.
    pub(crate) fn whole(&self, path: &RelPath) -> Result<Whole, Failure> {
        let (kind, bytes) = self.bytes(path)?;
        self.text_of(path, kind, bytes)
    }

    /// The bytes of a file or of a member, within the policy and its limits; nobody has looked into them for secrets yet.
    pub(crate) fn bytes(&self, path: &RelPath) -> Result<(ContentKind, Vec<u8>), Failure> {
        let source = DocumentSource { guard: self.guard, reader: self.reader, archives: self.rules.archives };
        source.read(path)
    }

    /// The text of bytes that were read from this path.
    pub(crate) fn text_of(
        &self,
        path: &RelPath,
        kind: ContentKind,
        bytes: Vec<u8>,
    ) -> Result<Whole, Failure> {
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let extractor = Extractor { reader: self.reader, kept: Some(&self.index) };
        let layer = TextLayer::of(extractor, self.rules, path, kind, bytes, &content_hash);
        let texts = layer.with(&KeptTexts::of(&self.index, &content_hash)?);
        let doc_type = texts.doc_type;
        let Some(first) = texts.texts.first() else {
            return Err(self.without_text(
                path,
                &content_hash,
                texts.reason,
                texts.unread.map(|parts| lacking(doc_type, parts.capability(), false)),
            ));
        };
        let rep_type = first.rep_type;
        let annotation = texts.annotation.as_ref().filter(|annotation| annotation.is_indexed);
        let annotation = annotation.map(|annotation| annotation.text.clone()).unwrap_or_default();
        let Some((text, extraction)) = texts.joined() else {
            return Err(Failure::new(ErrorCode::DocTypeUnsupported, format!("{path} has no text")));
        };
        for text in [&text, &annotation] {
            if let Some(secret) = self.guard.policy().scan(path, text.as_bytes()) {
                return Err(secret.failure(path));
            }
        }
        Ok(Whole { doc_type, rep_type, text, content_hash, extraction, annotation })
    }

    /// Why a document has no text: what the index says of it, which knows who was asked, or what its bytes say.
    fn without_text(
        &self,
        path: &RelPath,
        content_hash: &ContentHash,
        reason: Option<model::SkipReason>,
        unread: Option<model::SkipReason>,
    ) -> Failure {
        let known = match self.index.document(path.as_str()) {
            Ok(Some(row)) if row.content_hash == Some(*content_hash) => row.document.reason,
            _ => None,
        };
        match reason.or(known).or(unread) {
            Some(reason) => reason.failure(path.as_str()),
            None => Failure::new(ErrorCode::DocTypeUnsupported, format!("{path} has no text")),
        }
    }
}

/// The document has no such view.
pub(crate) fn unsupported(path: &RelPath, doc_type: DocType, why: &str) -> Failure {
    Failure::new(ErrorCode::DocTypeUnsupported, format!("{path} ({doc_type}) {why}"))
}
