//! The bytes of a document: a file, or a member of an archive, through the guarded door.

use extract::archive::Mode as ArchiveMode;
use model::{DocType, ErrorCode, Failure, RelPath};
use policy::{Guard, OpenError};

use crate::documents::{Archive, ContentKind, DocumentReader, unread};

/// Bytes looked at to tell how much of a file may be read.
const HEAD_BYTES: u64 = 8192;

/// Where documents are read from.
#[derive(Clone, Copy)]
pub struct DocumentSource<'a> {
    pub guard: &'a Guard,
    pub reader: &'a dyn DocumentReader,
    /// How far archives are looked into, if at all.
    pub archives: Option<ArchiveMode>,
}

impl DocumentSource<'_> {
    /// What a file or a member of an archive is, and its bytes, within the policy and its limits.
    pub fn read(self, path: &RelPath) -> Result<(ContentKind, Vec<u8>), Failure> {
        let policy = self.guard.policy();
        let bytes = match self.guard.open(path) {
            Ok(mut file) => {
                let guess = ContentKind::of(path, &file.read_head(HEAD_BYTES)?);
                if let Some(why) = unreadable(path, guess) {
                    return Err(why);
                }
                file.read_all(policy.max_bytes(guess.doc_type()))?
            }
            Err(OpenError::NotFound) => match self.member(path)? {
                Some(bytes) => bytes,
                None => return Err(OpenError::NotFound.into()),
            },
            Err(error) => return Err(error.into()),
        };
        let kind = ContentKind::of(path, &bytes);
        let (size, limit) = (bytes.len() as u64, policy.max_bytes(kind.doc_type()));
        if size > limit {
            return Err(OpenError::TooLarge { size, limit }.into());
        }
        match unreadable(path, kind) {
            Some(why) => Err(why),
            None => Ok((kind, bytes)),
        }
    }

    /// The bytes of `archive.zip/inner/path`, if some file above the path is an archive that holds it. The policy has been
    /// asked about the whole path.
    fn member(self, path: &RelPath) -> Result<Option<Vec<u8>>, Failure> {
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

/// Why nothing can be read from content of a kind. Pictures and recordings have a text once somebody has read them.
fn unreadable(path: &RelPath, kind: ContentKind) -> Option<Failure> {
    match kind {
        ContentKind::Archive(_) => Some(Failure::new(
            ErrorCode::DocTypeUnsupported,
            format!("{path} ({}) is opened member by member: add the path of one", DocType::Archive),
        )),
        ContentKind::Other(DocType::Image | DocType::Audio) => None,
        ContentKind::Other(doc_type) => Some(unread(path, doc_type).failure(path.as_str())),
        ContentKind::Text(_) | ContentKind::Document(..) => None,
    }
}
