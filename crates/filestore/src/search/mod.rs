//! `file_search`: hybrid search over the chunks of one tenant's files.

mod backend;
mod ranking;
mod service;
mod words;

pub use backend::{FoundChunk, SearchBackend, SearchScope, UnindexedFile};
pub(crate) use service::cosine;
pub use service::{FileSearch, SearchHit, SearchHits, SearchSettings, StoreSearchRequest};
pub use words::{WeightedToken, WordQuery, WordStatistics};
