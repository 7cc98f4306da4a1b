//! The port behind which chunks are found and read.

use model::{ContentHash, TenantId};

use super::words::{WordQuery, WordStatistics};
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::path::StorePath;
use crate::project::ProjectName;

/// Where is searched: in one project of a tenant or in all of them, below a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchScope {
    pub tenant: TenantId,
    /// `None`: all projects of the tenant.
    pub project: Option<ProjectName>,
    /// What the paths begin with, byte by byte; it need not end at a `/`.
    pub path_prefix: String,
}

impl SearchScope {
    /// The range `[first, end)` of the paths that begin with the prefix, in byte order; no end for the empty prefix.
    pub fn path_range(&self) -> (String, Option<String>) {
        let mut end = self.path_prefix.clone().into_bytes();
        // Paths are ASCII, and so is their next byte.
        let next = end.pop().map(|last| {
            end.push(last + 1);
            String::from_utf8_lossy(&end).into_owned()
        });
        (self.path_prefix.clone(), next)
    }
}

/// A chunk of an active file whose index is up to date.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChunk {
    pub id: i64,
    pub project: ProjectName,
    pub path: StorePath,
    pub index: u32,
    pub start: u64,
    pub end: u64,
    pub text: String,
    pub content_hash: ContentHash,
    pub file_size: u64,
    /// Of the asked model, if it has one.
    pub vector: Option<Vec<f32>>,
}

/// An active file that the index does not hold as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnindexedFile {
    pub project: ProjectName,
    pub path: StorePath,
    pub content: Vec<u8>,
}

/// Finds chunks. Every method sees the tenant's own rows alone; none gives a chunk of a file that was deleted or has changed
/// since it was indexed.
pub trait SearchBackend: Send + Sync + 'static {
    /// Of the whole projects, whatever the prefix.
    fn word_statistics<'a>(
        &'a self,
        scope: &'a SearchScope,
        tokens: &'a [String],
    ) -> BackendFuture<'a, WordStatistics>;

    /// The chunks with the best scores; among equals by project, path and position.
    fn by_words<'a>(
        &'a self,
        scope: &'a SearchScope,
        query: &'a WordQuery,
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>>;

    /// The chunks nearest to a vector.
    fn by_vector<'a>(
        &'a self,
        scope: &'a SearchScope,
        model: &'a str,
        vector: &'a [f32],
        limit: usize,
    ) -> BackendFuture<'a, Vec<i64>>;

    /// The chunks with these ids, as far as they may be shown.
    fn chunks<'a>(
        &'a self,
        scope: &'a SearchScope,
        ids: &'a [i64],
        model: &'a str,
    ) -> BackendFuture<'a, Vec<FoundChunk>>;

    /// Files that were changed and not indexed yet, the newest change first: so many of them, and so many bytes in all.
    fn unindexed<'a>(
        &'a self,
        scope: &'a SearchScope,
        files: usize,
        bytes: u64,
    ) -> BackendFuture<'a, Vec<UnindexedFile>>;

    /// Notes that these chunks were returned to a caller.
    fn mark_served<'a>(&'a self, tenant: TenantId, ids: &'a [i64], at: StoreTime) -> BackendFuture<'a, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f103_a_prefix_is_a_byte_range() {
        let scope = |prefix: &str| SearchScope {
            tenant: TenantId::from_digest([0; 32]),
            project: None,
            path_prefix: prefix.to_owned(),
        };
        assert_eq!(scope("/do").path_range(), ("/do".to_owned(), Some("/dp".to_owned())));
        assert_eq!(scope("").path_range(), (String::new(), None));
        assert_eq!(scope("/a_b").path_range().1.as_deref(), Some("/a_c"));
    }
}
