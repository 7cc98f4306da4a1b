//! Published projects: the records of a folder's documents, kept beside a project's files so that any server can answer from
//! them without the folder.
//!
//! A record is two things: the *facts* of a document (its type, its size, why it cannot be searched), which are small and
//! compared as they are, and its *body* (its texts, cut as they were indexed), which is known by a digest and sent only where
//! that changed. What is in them is the publisher's business; the store keeps them and says in which order they changed.
//!
//! Every change has a revision. Whoever follows a project asks for what changed after the place it has reached
//! ([`PublicationCursor`]), so that a server that was away catches up with the difference alone. What was removed stays as a
//! row without content for a while; behind [`PublicationHead::floor`] even that is forgotten, and a follower starts over.

mod copy;

use model::{ContentHash, Failure, TenantId};

use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::project::{ProjectName, ProjectScope};

pub use copy::{CopiedChange, CopiedDocument, CopyPosition, ProjectCopy};

/// How long a publisher holds a project without a sign of life. It renews that while it works, so that a publisher that was
/// killed keeps the next one waiting for seconds only.
pub const LEASE: std::time::Duration = std::time::Duration::from_secs(6);

/// How long removed documents are remembered, for servers that were away.
pub const TOMBSTONE_AGE: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);

/// The largest body that is taken: one row of one transaction.
pub const MAX_BODY_BYTES: usize = 256 << 20;

/// How far the publication of a project is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationHead {
    /// Another one says that this is another publication under an old name: revisions start anew.
    pub epoch: String,
    /// The version of the records' format.
    pub format: u32,
    /// That of the last change.
    pub revision: u64,
    /// Removals up to this revision are forgotten.
    pub floor: u64,
    /// The last publisher came to its end: what is there is the whole folder.
    pub is_complete: bool,
    pub finished_at: Option<StoreTime>,
    /// Who publishes at the moment, and until when that is believed without a further sign.
    pub holder: Option<(Publisher, StoreTime)>,
}

/// Who publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publisher {
    /// Of this run alone.
    pub id: String,
    /// For people: who and where.
    pub name: String,
}

/// What a publisher compares with its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    pub path: String,
    pub facts: String,
    pub body_digest: ContentHash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishedChange {
    Put {
        path: String,
        facts: String,
        body_digest: ContentHash,
        /// None where the body that is there is the one that is meant.
        body: Option<Vec<u8>>,
    },
    Remove {
        path: String,
    },
}

impl PublishedChange {
    pub fn path(&self) -> &str {
        match self {
            PublishedChange::Put { path, .. } | PublishedChange::Remove { path } => path,
        }
    }
}

/// The place up to which the changes of a project are known: all of the revisions before it, and of its own revision the paths
/// up to its path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublicationCursor {
    pub revision: u64,
    pub path: String,
}

/// A document as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedRow {
    pub path: String,
    pub revision: u64,
    /// Facts and digest of the body; none where the document was removed.
    pub content: Option<(String, ContentHash)>,
}

/// A body with the digest that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedBody {
    pub path: String,
    pub body_digest: ContentHash,
    pub body: Vec<u8>,
}

/// Keeps published projects. Changes of one project are made by one publisher at a time.
pub trait PublicationBackend: Send + Sync + 'static {
    /// The tenant's published projects, by name.
    fn published(&self, tenant: TenantId) -> BackendFuture<'_, Vec<(ProjectName, PublicationHead)>>;

    /// `None` where nothing was ever published under this name.
    fn publication<'a>(&'a self, scope: &'a ProjectScope) -> BackendFuture<'a, Option<PublicationHead>>;

    /// Begins to publish. Fails with CONFLICT while another publisher gives signs of life ([`LEASE`]), and with
    /// INDEX_VERSION_MISMATCH where the records are of a newer format.
    fn begin_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        format: u32,
    ) -> BackendFuture<'a, PublicationHead>;

    /// A sign of life. Fails with CONFLICT where another publisher has taken over.
    fn renew_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
    ) -> BackendFuture<'a, ()>;

    /// What is published, in the byte order of the paths.
    fn manifest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a str,
        limit: usize,
    ) -> BackendFuture<'a, Vec<ManifestEntry>>;

    /// Makes changes, all or none, under the next revision, which is returned; also a sign of life.
    fn publish<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        changes: Vec<PublishedChange>,
    ) -> BackendFuture<'a, u64>;

    /// Lets the project go. `is_complete` says that it is now what the folder is.
    fn end_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        is_complete: bool,
    ) -> BackendFuture<'a, ()>;

    /// What changed after a place, oldest first.
    fn published_changes<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a PublicationCursor,
        limit: usize,
    ) -> BackendFuture<'a, Vec<PublishedRow>>;

    /// The bodies of documents, as they are now; those that were removed are missing.
    fn published_bodies<'a>(
        &'a self,
        scope: &'a ProjectScope,
        paths: Vec<String>,
    ) -> BackendFuture<'a, Vec<PublishedBody>>;
}

/// Why a publisher has to wait.
pub(crate) fn held_by(scope: &ProjectScope, name: &str) -> Failure {
    Failure::new(
        model::ErrorCode::Conflict,
        format!("the project {} is being published by {name}", scope.project),
    )
    .hint("Wait until that is done, then publish again.")
}

/// Why a publisher cannot go on.
pub(crate) fn lost(scope: &ProjectScope) -> Failure {
    Failure::new(
        model::ErrorCode::Conflict,
        format!("another publisher has taken over the project {}", scope.project),
    )
    .hint("Publish again once that is done: what was sent is kept.")
}

pub(crate) fn newer(scope: &ProjectScope, found: u32, known: u32) -> Failure {
    Failure::new(
        model::ErrorCode::IndexVersionMismatch,
        format!("the project {} was published in format {found}; this program knows {known}", scope.project),
    )
    .hint("Use the newer version of dir2mcp that published it.")
}

/// A name for one life of a publication.
pub(crate) fn new_epoch() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness the time has to do: it only tells two publications of one name apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        bytes = now.as_nanos().to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn lease_micros() -> i64 {
    LEASE.as_micros() as i64
}

pub(crate) fn tombstone_micros() -> i64 {
    TOMBSTONE_AGE.as_micros() as i64
}
