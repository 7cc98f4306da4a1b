//! Published projects: a folder's documents as records in the shared store ([`publish`]), and a server that answers from them
//! ([`follow`], [`origin`]).
//!
//! What is carried is what `ingest` has put into the index: facts, representations and chunks, and beside them what opening
//! shows. A server keeps a copy of the records and an index made from them in its own state directory, so that it searches,
//! ranks and cites as the server of the folder does, and answers while the store is away.

mod feed;
mod follow;
mod origin;
mod prepare;
mod publish;
mod record;

use std::fmt;
use std::sync::Arc;

use filestore::publication::ProjectCopy;

pub use feed::{PublishedFeed, StoreFeed};
pub use publish::{LeftUnpublished, PublishEvent, PublishReport, PublishRequest};
pub use record::FORMAT as PUBLISHED_FORMAT;

pub(crate) use follow::{catch_up, has_news, refill};
pub(crate) use origin::CopiedProject;

/// A published project to be served instead of a folder.
#[derive(Clone)]
pub struct PublishedProject {
    /// As people are shown it.
    pub name: String,
    pub feed: Arc<dyn PublishedFeed>,
}

impl fmt::Debug for PublishedProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishedProject").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The file of the copy in the state directory.
pub(crate) const COPY_FILE: &str = "project.sqlite";

/// The project that an engine serves.
pub(crate) struct ServedProject {
    pub(crate) project: PublishedProject,
    pub(crate) copy: Arc<ProjectCopy>,
}
