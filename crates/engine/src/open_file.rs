//! The text of a file, or of a member of an archive, through the guarded door: path, policy, content, in that order.

use std::sync::Arc;

use extract::Extraction;
use index::Index;
use ingest::{Archive, ContentKind, DocumentReader, Extractor, unread};
use model::{ContentHash, DocType, ErrorCode, Failure, RelPath};
use policy::{Guard, OpenError};

use crate::ArchiveMode;

/// Bytes looked at to tell how much of a file may be read.
const HEAD_BYTES: u64 = 8192;

/// The whole text of a file or member, before a slice is cut from it.
pub(crate) struct Whole {
    pub(crate) doc_type: DocType,
    pub(crate) text: String,
    pub(crate) content_hash: ContentHash,
    /// Where the text was extracted: its parts with their places.
    pub(crate) extraction: Option<Extraction>,
}

/// How the texts of documents are got.
pub(crate) struct Door<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) reader: &'a dyn DocumentReader,
    /// How far archives are looked into, if at all.
    pub(crate) archives: Option<ArchiveMode>,
    /// What was extracted when a document was indexed is opened from here.
    pub(crate) index: Arc<Index>,
}

impl Door<'_> {
    /// The text of a file or of a member of an archive, unless the policy holds it back.
    pub(crate) fn whole(&self, path: &RelPath) -> Result<Whole, Failure> {
        let bytes = match self.guard.open(path) {
            Ok(mut file) => {
                let guess = ContentKind::of(path, &file.read_head(HEAD_BYTES)?);
                if let ContentKind::Other(doc_type) = guess {
                    return Err(unread(path, doc_type).failure(path.as_str()));
                }
                file.read_all(self.guard.policy().max_bytes(guess.doc_type()))?
            }
            Err(OpenError::NotFound) => match self.member(path)? {
                Some(bytes) => bytes,
                None => return Err(OpenError::NotFound.into()),
            },
            Err(error) => return Err(error.into()),
        };
        let kind = ContentKind::of(path, &bytes);
        let doc_type = kind.doc_type();
        let (size, limit) = (bytes.len() as u64, self.guard.policy().max_bytes(doc_type));
        if size > limit {
            return Err(OpenError::TooLarge { size, limit }.into());
        }
        match kind {
            ContentKind::Archive(_) => {
                return Err(unsupported(path, doc_type, "is opened member by member: add the path of one"));
            }
            ContentKind::Other(_) => return Err(unread(path, doc_type).failure(path.as_str())),
            ContentKind::Text(_) | ContentKind::Document(..) => {}
        }
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let extractor = Extractor { reader: self.reader, kept: Some(&self.index) };
        let content = extractor
            .text(path, kind, bytes, &content_hash)
            .map_err(|reason| reason.failure(path.as_str()))?;
        if let Some(secret) = self.guard.policy().scan(path, content.text.as_bytes()) {
            return Err(secret.failure(path));
        }
        Ok(Whole { doc_type, text: content.text, content_hash, extraction: content.extraction })
    }

    /// The bytes of `archive.zip/inner/path`, if some file above the path is an archive that holds it. The policy has been
    /// asked about the whole path.
    fn member(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Failure> {
        let Some(mode) = self.archives else { return Ok(None) };
        for (slash, _) in path.as_str().match_indices('/') {
            let above =
                RelPath::from_walk(&path.as_str()[..slash]).map_err(|error| policy::path_failure(&error))?;
            let mut file = match self.guard.open(&above) {
                Ok(file) => file,
                Err(OpenError::NotAFile { .. }) => continue,
                Err(OpenError::NotFound) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let ContentKind::Archive(_) = ContentKind::of(&above, &file.read_head(HEAD_BYTES)?) else {
                return Ok(None);
            };
            let bytes = file.read_all(self.guard.policy().max_bytes(DocType::Archive))?;
            let ContentKind::Archive(format) = ContentKind::of(&above, &bytes) else { return Ok(None) };
            let max_member_bytes = self.guard.policy().max_member_bytes();
            let archive = Archive { format, name: above.file_name(), bytes: &bytes, mode, max_member_bytes };
            let inner = &path.as_str()[slash + 1..];
            return self
                .reader
                .member(&archive, inner)
                .map_err(|message| Failure::new(ErrorCode::ExtractFailed, format!("{path}: {message}")));
        }
        Ok(None)
    }
}

/// The document has no such view.
pub(crate) fn unsupported(path: &RelPath, doc_type: DocType, why: &str) -> Failure {
    Failure::new(ErrorCode::DocTypeUnsupported, format!("{path} ({doc_type}) {why}"))
}
