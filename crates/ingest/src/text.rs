//! The text of one file, as it is indexed and as it is shown: read through the guarded door, decoded, and held back if it
//! holds a secret.

use extract::Extracted;
use model::{ContentHash, Failure, RelPath};
use policy::{Guard, OpenError, OpenFile};

/// A text and the hash of the bytes it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    pub text: String,
    pub content_hash: ContentHash,
}

/// Why there is no text to show.
#[derive(Debug, thiserror::Error)]
pub enum Unshown {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the file is not text")]
    NotText,
    #[error(transparent)]
    Secret(Failure),
}

pub fn read_text(
    guard: &Guard,
    path: &RelPath,
    file: &mut OpenFile,
    max_bytes: u64,
) -> Result<FileText, Unshown> {
    let bytes = file.read_all(max_bytes)?;
    let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
    let Extracted::Text(text) = extract::raw_text(bytes) else { return Err(Unshown::NotText) };
    match guard.policy().scan(path, text.text.as_bytes()) {
        Some(secret) => Err(Unshown::Secret(secret.failure(path))),
        None => Ok(FileText { text: text.text, content_hash }),
    }
}
