//! What a check found: how much of everything there is, and what does not agree.

use std::collections::BTreeMap;

use super::plan::RepairAction;

/// Examples of each problem that are kept.
const EXAMPLES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    BadName,
    FileAboveFile,
    SizeDiffers,
    HashMissing,
    HashDiffers,
    ProjectSumDiffers,
    FileNotIndexed,
    ChunkRangeOutside,
    ChunkTextDiffers,
    ChunkHashDiffers,
    ChunkWithoutWords,
    ChunkWithoutVector,
    ChunkOfNoFile,
    OrphanVector,
    OrphanWords,
    OrphanLease,
    JobUnknown,
    JobStuck,
    JobFailed,
    VersionSizeDiffers,
}

impl ProblemKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::BadName => "name that the store does not accept",
            ProblemKind::FileAboveFile => "file with another one as its parent",
            ProblemKind::SizeDiffers => "file whose size is not that of its content",
            ProblemKind::HashMissing => "file without a digest",
            ProblemKind::HashDiffers => "file whose digest is not that of its content",
            ProblemKind::ProjectSumDiffers => "project whose sums are not those of its files",
            ProblemKind::FileNotIndexed => "file without chunks that no job waits for",
            ProblemKind::ChunkRangeOutside => "chunk outside its file",
            ProblemKind::ChunkTextDiffers => "chunk whose text is not what its file has there",
            ProblemKind::ChunkHashDiffers => "chunk whose digest is not that of its text",
            ProblemKind::ChunkWithoutWords => "chunk without words",
            ProblemKind::ChunkWithoutVector => "chunk without a vector",
            ProblemKind::ChunkOfNoFile => "chunk of a file that is not there",
            ProblemKind::OrphanVector => "vector of no chunk",
            ProblemKind::OrphanWords => "words of no chunk",
            ProblemKind::OrphanLease => "lease of no job",
            ProblemKind::JobUnknown => "job of an unknown kind or state",
            ProblemKind::JobStuck => "job that nobody works on",
            ProblemKind::JobFailed => "job that was given up",
            ProblemKind::VersionSizeDiffers => "version whose size is not that of its content",
        }
    }
}

/// How often one thing is wrong, and where first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundProblems {
    pub count: u64,
    pub examples: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCounts {
    pub files: u64,
    pub deleted_files: u64,
    pub bytes: u64,
    pub chunks: u64,
    pub vectors: u64,
    pub open_jobs: u64,
    pub versions: u64,
    pub projects: u64,
    /// Files whose chunks are behind and whose job waits: no problem, the index is on its way.
    pub files_to_be_indexed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    pub rows: RowCounts,
    pub problems: BTreeMap<ProblemKind, FoundProblems>,
    /// What mends the problems of derived rows, each action once.
    pub repairs: Vec<RepairAction>,
}

impl CheckReport {
    /// Adds what was found elsewhere. Repairs belong to the place where they were found and are left out.
    pub fn add(&mut self, other: &CheckReport) {
        let (sum, rows) = (&mut self.rows, &other.rows);
        sum.files += rows.files;
        sum.deleted_files += rows.deleted_files;
        sum.bytes += rows.bytes;
        sum.chunks += rows.chunks;
        sum.vectors += rows.vectors;
        sum.open_jobs += rows.open_jobs;
        sum.versions += rows.versions;
        sum.projects += rows.projects;
        sum.files_to_be_indexed += rows.files_to_be_indexed;
        for (kind, found) in &other.problems {
            let known = self.problems.entry(*kind).or_default();
            known.count += found.count;
            known.examples.extend(found.examples.iter().cloned());
            known.examples.truncate(EXAMPLES);
        }
    }

    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn found(&mut self, kind: ProblemKind, count: u64, example: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        let found = self.problems.entry(kind).or_default();
        found.count += count;
        if found.examples.len() < EXAMPLES {
            found.examples.push(example());
        }
    }
}
