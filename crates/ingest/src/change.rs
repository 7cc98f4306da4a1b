//! The change that brings one document into the catalog, by what became of the document.

use discover::FoundFile;
use index::DocChange;
use model::{ContentHash, DocType, Document, Representation, SkipReason, SourceType};

/// A file as the walk met it, of which nothing is known yet but its metadata.
pub(crate) fn met(found: &FoundFile) -> Document {
    Document {
        path: found.path.as_str().to_owned(),
        source: SourceType::File,
        doc_type: DocType::BinaryIgnored,
        size: found.size,
        mtime_ns: found.mtime_ns,
        inode: found.inode,
        content_hash: None,
        reason: None,
        unread: None,
    }
}

/// An entry that has a row and was not opened.
pub(crate) fn unopened(path: String, size: u64, mtime_ns: i64, reason: SkipReason) -> DocChange {
    let document = Document {
        path,
        source: SourceType::File,
        doc_type: DocType::BinaryIgnored,
        size,
        mtime_ns,
        inode: 0,
        content_hash: None,
        reason: None,
        unread: None,
    };
    skipped(document, DocType::BinaryIgnored, reason)
}

/// The same document, to be looked at again by the next scan whatever its time stamp says.
pub(crate) fn to_retry(document: Document) -> Document {
    Document { inode: 0, content_hash: None, ..document }
}

pub(crate) fn hashed(document: Document, hash: ContentHash) -> Document {
    Document { content_hash: Some(hash), ..document }
}

/// Only its metadata moved.
pub(crate) fn touched(document: Document) -> DocChange {
    let Document { path, size, mtime_ns, inode, .. } = document;
    DocChange::Touch { path, size, mtime_ns, inode }
}

/// It is there, and has no text of its own: an archive.
pub(crate) fn listed(document: Document, doc_type: DocType) -> DocChange {
    indexed(document, doc_type, Vec::new())
}

/// It can be searched by these texts.
pub(crate) fn indexed(
    document: Document,
    doc_type: DocType,
    representations: Vec<Representation>,
) -> DocChange {
    DocChange::Put { document: Document { doc_type, reason: None, ..document }, representations }
}

/// It cannot be searched, for a reason.
pub(crate) fn skipped(document: Document, doc_type: DocType, reason: SkipReason) -> DocChange {
    let document = Document { doc_type, reason: Some(reason), ..document };
    DocChange::Put { document, representations: Vec::new() }
}
