//! Identifiers as types, so that a chunk can never be asked for by a document's number.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A row of `documents`.
    DocId(i64)
);
id!(
    /// A row of `chunks`, and the label of its vector.
    ///
    /// Derived from what the chunk is (path, representation, span, text), so an index built at once and
    /// one built by a hundred edits name the same chunk alike. 53 bits: exact in every JSON reader.
    ChunkId(i64)
);
id!(
    /// Counts the committed changes of an index; the derived indices record the one they hold.
    Generation(u64)
);

impl ChunkId {
    /// The largest id: 2^53 - 1, the last integer that JavaScript holds exactly.
    pub const MAX: i64 = (1 << 53) - 1;

    /// The id for a digest of the chunk's identity.
    pub fn from_digest(digest: &[u8; 32]) -> ChunkId {
        let mut first = [0u8; 8];
        first.copy_from_slice(&digest[..8]);
        // Zero stays free: it is easily mistaken for "none".
        ChunkId((u64::from_le_bytes(first) as i64 & Self::MAX).max(1))
    }
}
