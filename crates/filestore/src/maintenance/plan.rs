//! Repairs: each mends rows that follow from others. Contents of files are never touched.

use super::rows::FileKey;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepairAction {
    /// Writes the job that makes the chunks of a file again.
    Reindex(FileKey),
    /// Removes the chunks of a file that is not there, with their vectors and words.
    DeleteChunks(FileKey),
    /// Sets size and digest of a file to those of its content.
    Remeasure {
        file: i64,
    },
    /// Sets size of a former content to that of its bytes.
    RemeasureVersion {
        version: i64,
    },
    /// Adds up the files of a project again.
    RecountProject {
        tenant: String,
        project: String,
    },
    /// Gives a job that nobody works on, or that was given up, back to the workers.
    RequeueJob {
        job: i64,
    },
    DeleteOrphanVectors,
    DeleteOrphanWords,
    DeleteOrphanLeases,
}
