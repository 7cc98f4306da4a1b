//! The embedded index of one state directory.
//!
//! ```text
//! meta.sqlite            the catalog: the truth
//! lexical/               derived from it: Tantivy segments
//! vectors_text.hnsw      derived from it: vectors of prose
//! vectors_code.hnsw      derived from it: vectors of code
//! ```
//!
//! A batch of changes is one transaction of the catalog and gets the next generation number. The derived indices
//! follow when [`Index::publish`] is called, and each records the generation it holds: after a crash, or when one
//! of their files is missing or damaged, they are brought up to date from the catalog ([`Index::repair`]).
//! Every page of the catalog has a checksum. Where one does not match ([`Index::damage`]), the index is built again from
//! the files, beside the old one ([`rebuild_dir`]), and put in its place ([`install_rebuilt`]).
//! Searches run on a [`Snapshot`].
//!
//! The vector files are called `.hnsw` because the specification calls them so; they hold the vectors themselves, which are
//! compared exactly, and no graph.

mod batch;
mod catalog;
pub mod definitions;
mod derive;
mod documents;
mod embed;
mod error;
mod facts;
mod faults;
mod feed;
mod follow;
mod ids;
mod index;
mod lexical;
mod outlines;
mod publish;
mod rank;
mod rebuild;
mod recognize;
mod snapshot;
pub mod tokens;
mod vector;

pub use batch::{Applied, Batch, DocChange, KnownDocument};
pub use catalog::{
    BoughtKind, BoughtPart, Counts, DocumentPrint, DocumentRow, NewVector, PendingChunk, RepresentationPrint,
    StoredChunk, Unoutlined,
};
pub use derive::{Compacted, RepairReport, Repaired};
pub use error::IndexError;
pub use faults::survive_cut_files;
pub use index::{Access, Index, Open};
pub use lexical::{Bm25, LexicalQuery, QueryTerm};
pub use rebuild::{install_rebuilt, rebuild_dir};
pub use snapshot::{Holder, Snapshot};
