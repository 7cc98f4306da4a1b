//! Texts that recognisers and transcribers made, kept permanently, and the documents that still wait for one.
//!
//! The index itself makes no such text. A worker takes [`Index::unread_documents`], keeps what it got by [`Index::keep_parts`], and
//! puts the document again with the representations that are made of it.

use model::{Capability, ContentHash, DocId, DocType, SkipReason};

use crate::catalog::{BoughtKind, BoughtPart, DocumentRow};
use crate::error::IndexError;
use crate::index::Index;

impl Index {
    /// What is kept of a content, each part as it was made last, in the order of the parts.
    pub fn bought_parts(
        &self,
        content_hash: &ContentHash,
        kind: BoughtKind,
    ) -> Result<Vec<BoughtPart>, IndexError> {
        self.catalog.bought_parts(content_hash, kind)
    }

    /// Whether any text is kept at all.
    pub fn has_bought_parts(&self) -> bool {
        self.catalog.has_bought_parts()
    }

    /// Keeps parts of a content; `path` is a document that has it. When this returns they survive a power cut.
    pub fn keep_parts(
        &self,
        path: &str,
        content_hash: &ContentHash,
        kind: BoughtKind,
        parts: &[BoughtPart],
    ) -> Result<(), IndexError> {
        // Held while the catalog is written: an index that is built again has taken over everything before this one is
        // retired.
        if self.derived()?.is_retired() {
            return Err(IndexError::ReadOnly);
        }
        self.catalog.keep_parts(path, content_hash, kind, parts)
    }

    /// Takes over what another index has kept after a part of its own, 0 at first: an index that is built again must not pay
    /// for it twice. What cannot be read there is lost, and what was read for one of `forget` is left there. Returns the last
    /// part, after which the next call goes on.
    pub fn adopt_parts(&self, other: &Index, after: i64, forget: &[Capability]) -> Result<i64, IndexError> {
        other.catalog.bought_parts_after(after, |path, content_hash, kind, part| match kind {
            BoughtKind::Read(capability) if forget.contains(&capability) => Ok(()),
            kind => self.catalog.keep_parts(path, &content_hash, kind, &[part]),
        })
    }

    /// Live documents with parts that a producer of `capability` can read, those with the least work first, without those that
    /// this producer has refused.
    pub fn unread_documents(
        &self,
        capability: Capability,
        producer: &str,
        limit: usize,
    ) -> Result<Vec<DocumentRow>, IndexError> {
        self.catalog.unread_documents(capability, producer, limit)
    }

    /// How many documents have unread parts of a kind, and how many pages or recordings these are.
    pub fn unread_count(&self, capability: Capability) -> Result<(u64, u64), IndexError> {
        self.catalog.unread_count(capability)
    }

    /// The pages of a document that nobody has read, as ranges: `2,4-6`.
    pub fn unread_pages(&self, document: DocId) -> Result<Option<String>, IndexError> {
        self.catalog.unread_pages(document)
    }

    /// Notes that a producer will not read a document, with the reason that it has now. Nothing happens where the document
    /// has another content by now, and the answer is `false`.
    pub fn refuse_unread(
        &self,
        path: &str,
        content_hash: &ContentHash,
        producer: &str,
        why: &SkipReason,
    ) -> Result<bool, IndexError> {
        self.catalog.refuse_unread(path, content_hash, producer, why)
    }

    /// Gives documents that cannot be searched because of unread parts the reason that is true now. It is asked for by type,
    /// by what is missing, and by who has refused the document; none leaves the reason as it is. A document that was not even
    /// read, since nothing could have been done with it, is read by the next scan once it waits.
    pub fn retell_unread(
        &self,
        reason_now: &dyn Fn(DocType, Capability, Option<&str>) -> Option<SkipReason>,
    ) -> Result<u64, IndexError> {
        self.catalog.retell_unread(&|(doc_type, needs), refused_by| reason_now(doc_type, needs, refused_by))
    }
}
