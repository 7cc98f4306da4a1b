//! What an envelope is sealed for: one job on one file of one tenant.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::path::StorePath;
use crate::project::ProjectScope;

/// A job as its credential knows it. Only the digest of it is stored, so that neither the name of an envelope nor its contents
/// tell whose job it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EnvelopeSubject([u8; 32]);

impl EnvelopeSubject {
    /// `job` is the reference that the job keeps; the same text must be given when the credential is left and when it is fetched.
    pub fn new(scope: &ProjectScope, path: &StorePath, job: &str) -> EnvelopeSubject {
        let mut digest = Sha256::new();
        digest.update(b"dir2mcp credential subject 1");
        // Lengths in front, so that no two lists of fields run together to the same bytes.
        for field in [
            scope.tenant.digest().as_slice(),
            scope.project.as_str().as_bytes(),
            path.as_str().as_bytes(),
            job.as_bytes(),
        ] {
            digest.update((field.len() as u64).to_be_bytes());
            digest.update(field);
        }
        EnvelopeSubject(digest.finalize().into())
    }

    /// The data that the seal covers besides the key.
    pub(super) fn aad(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn to_hex(&self) -> String {
        model::ContentHash(self.0).to_hex()
    }
}

impl fmt::Debug for EnvelopeSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvelopeSubject({})", &self.to_hex()[..12])
    }
}
