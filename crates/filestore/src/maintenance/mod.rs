//! Looking after a store: checking that its tables agree, mending what is derived, copying it, bringing a copy back.
//!
//! The checks and the copies know no SQL. A backend shows its rows through [`StoreSnapshot`], all from one moment, and takes
//! repairs and copied rows through [`StoreMaintenance`].

mod check;
mod dump;
mod plan;
mod report;
mod rows;

use model::Failure;

pub use check::{CheckOptions, check_store};
pub use dump::{DumpCounts, DumpRows, DumpWriter, check_dump};
pub use plan::RepairAction;
pub use report::{CheckReport, FoundProblems, ProblemKind, RowCounts};
pub use rows::{ChunkRow, FileKey, FileRow, JobRow, LoadedRow, OrphanCounts, ProjectRow, VersionRow};

/// The rows of a store at one moment, in order, page by page. A page shorter than its limit is the last.
///
/// Keys are compared byte by byte. A snapshot is read by one reader, on a thread that may wait.
pub trait StoreSnapshot {
    /// Active files by key; deleted ones are only counted.
    fn files(&mut self, after: Option<&FileKey>, limit: usize) -> Result<Vec<FileRow>, Failure>;

    /// Chunks by key and position, with what hangs on them.
    fn chunks(&mut self, after: Option<(&FileKey, i64)>, limit: usize) -> Result<Vec<ChunkRow>, Failure>;

    /// Jobs that are not done, by id.
    fn jobs(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<JobRow>, Failure>;

    /// Former contents by id.
    fn versions(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<VersionRow>, Failure>;

    /// The sums that are kept per project, by tenant and name.
    fn projects(&mut self, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<ProjectRow>, Failure>;

    /// Vectors and words that belong to no chunk, and leases that belong to no job.
    fn orphans(&mut self) -> Result<OrphanCounts, Failure>;

    fn deleted_files(&mut self) -> Result<u64, Failure>;

    /// All keys that were given out.
    fn keys(&mut self) -> Result<Vec<crate::record::KeyRecord>, Failure>;
}

/// What mends a store and fills an empty one.
pub trait StoreMaintenance {
    /// Makes one repair, in a transaction of its own. How many rows changed.
    fn repair(&mut self, action: &RepairAction) -> Result<u64, Failure>;

    /// Takes the rows of a copy into an empty store, all or none. Files get an index job each, as what is derived is not copied.
    fn load(&mut self, rows: &mut dyn Iterator<Item = Result<LoadedRow, Failure>>) -> Result<(), Failure>;

    /// Whether nothing is stored: a copy is only brought back into an empty store.
    fn is_empty(&mut self) -> Result<bool, Failure>;
}
