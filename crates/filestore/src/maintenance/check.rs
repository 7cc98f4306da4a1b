//! `store check`: whether files, chunks, vectors, jobs, versions and sums agree with each other.
//!
//! Files and chunks are read side by side in the order of their keys, so that memory holds a page of each, and of what waits
//! only the keys, however large the store is.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::{Failure, TenantId};

use super::StoreSnapshot;
use super::plan::RepairAction;
use super::report::{CheckReport, ProblemKind};
use super::rows::{ChunkRow, FileKey, FileRow, JobRow};
use crate::entry::StoreTime;
use crate::path::StorePath;
use crate::project::ProjectName;

/// Pages are small, as a row holds a whole file.
const FILES_AT_ONCE: usize = 64;
const ROWS_AT_ONCE: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    pub now: StoreTime,
    /// A job that could have been taken up longer ago than this is stuck.
    pub stuck_after_micros: i64,
    /// Whether files are indexed at all (`files.search.enabled`).
    pub expects_chunks: bool,
    /// Whether every chunk is to have a vector.
    pub expects_vectors: bool,
}

pub fn check_store(snapshot: &mut dyn StoreSnapshot, options: &CheckOptions) -> Result<CheckReport, Failure> {
    let mut check = Check {
        options,
        report: CheckReport::default(),
        repairs: BTreeSet::new(),
        waiting: HashSet::new(),
        sums: BTreeMap::new(),
        paths: ProjectPaths::default(),
    };
    check.jobs(snapshot)?;
    check.files_and_chunks(snapshot)?;
    check.projects(snapshot)?;
    check.versions(snapshot)?;
    check.orphans(snapshot)?;
    check.report.rows.deleted_files = snapshot.deleted_files()?;
    check.report.repairs = check.repairs.into_iter().collect();
    Ok(check.report)
}

struct Check<'a> {
    options: &'a CheckOptions,
    report: CheckReport,
    repairs: BTreeSet<RepairAction>,
    /// Files that a job waits for.
    waiting: HashSet<FileKey>,
    /// Files and bytes by tenant and project.
    sums: BTreeMap<(String, String), (i64, i64)>,
    paths: ProjectPaths,
}

/// The paths of the project that is being read.
#[derive(Default)]
struct ProjectPaths {
    project: Option<(String, String)>,
    paths: HashSet<String>,
}

impl Check<'_> {
    fn jobs(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let page = snapshot.jobs(after, ROWS_AT_ONCE)?;
            let is_last = page.len() < ROWS_AT_ONCE;
            after = page.last().map(|job| job.id);
            for job in page {
                self.job(job);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn job(&mut self, job: JobRow) {
        self.report.rows.open_jobs += 1;
        let shown = || format!("job {} of {}", job.id, job.key.shown());
        let overdue = self.options.now.0.saturating_sub(self.options.stuck_after_micros);
        let known_operation = matches!(job.operation.as_str(), "UPSERT" | "DELETE");
        match (job.status.as_str(), job.leased_until) {
            ("pending", _) | ("processing", _) if !known_operation => {
                self.report.found(ProblemKind::JobUnknown, 1, shown);
                return;
            }
            ("failed", _) => {
                self.report.found(ProblemKind::JobFailed, 1, shown);
                self.repairs.insert(RepairAction::RequeueJob { job: job.id });
            }
            ("pending", _) if job.available_at < overdue => {
                // A worker may take it any moment; there is nothing to mend in the row.
                self.report.found(ProblemKind::JobStuck, 1, shown);
            }
            ("processing", until) if until.is_none_or(|until| until < overdue) => {
                self.report.found(ProblemKind::JobStuck, 1, shown);
                self.repairs.insert(RepairAction::RequeueJob { job: job.id });
            }
            ("pending" | "processing", _) => {}
            _ => {
                self.report.found(ProblemKind::JobUnknown, 1, shown);
                return;
            }
        }
        // A job that is given back will do the file, too.
        self.waiting.insert(job.key);
    }

    /// Walks through both tables at once: each file with the chunks of the same key.
    fn files_and_chunks(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        let mut chunks = ChunkReader::default();
        let mut after: Option<FileKey> = None;
        loop {
            let page = snapshot.files(after.as_ref(), FILES_AT_ONCE)?;
            let is_last = page.len() < FILES_AT_ONCE;
            after = page.last().map(|file| file.key.clone());
            for file in page {
                while let Some(key) = chunks.peek(snapshot)?.filter(|key| **key < file.key).cloned() {
                    let lost = chunks.take(snapshot, &key)?;
                    self.chunks_of_no_file(&key, &lost);
                }
                let own = chunks.take(snapshot, &file.key)?;
                self.file(&file, &own);
            }
            if is_last {
                break;
            }
        }
        while let Some(key) = chunks.peek(snapshot)?.cloned() {
            let lost = chunks.take(snapshot, &key)?;
            self.chunks_of_no_file(&key, &lost);
        }
        Ok(())
    }

    fn chunks_of_no_file(&mut self, key: &FileKey, chunks: &[ChunkRow]) {
        self.count_chunks(chunks);
        // The deletion's job waits: until then searches leave them out.
        if !self.waiting.contains(key) {
            self.report.found(ProblemKind::ChunkOfNoFile, chunks.len() as u64, || key.shown());
            self.repairs.insert(RepairAction::DeleteChunks(key.clone()));
        }
    }

    fn count_chunks(&mut self, chunks: &[ChunkRow]) {
        self.report.rows.chunks += chunks.len() as u64;
        self.report.rows.vectors += chunks.iter().filter(|chunk| chunk.has_vector).count() as u64;
    }

    fn file(&mut self, file: &FileRow, chunks: &[ChunkRow]) {
        let (key, size) = (&file.key, file.content.len() as i64);
        self.report.rows.files += 1;
        self.report.rows.bytes += size as u64;
        let sum = self.sums.entry((key.tenant.clone(), key.project.clone())).or_default();
        *sum = (sum.0 + 1, sum.1 + size);

        let is_named_well = TenantId::from_hex(&key.tenant).is_some()
            && ProjectName::parse(&key.project).is_ok()
            && StorePath::parse_file(&key.path).is_ok();
        self.report.found(ProblemKind::BadName, u64::from(!is_named_well), || key.shown());
        let is_below_file = self.paths.has_parent_of(key);
        self.report.found(ProblemKind::FileAboveFile, u64::from(is_below_file), || key.shown());

        let hash = blake3::hash(&file.content);
        let measured = [
            (ProblemKind::SizeDiffers, file.size != size),
            (ProblemKind::HashMissing, file.content_hash.is_none()),
            (
                ProblemKind::HashDiffers,
                file.content_hash.as_ref().is_some_and(|kept| kept != hash.as_bytes()),
            ),
        ];
        for (kind, _) in measured.iter().filter(|(_, is_wrong)| *is_wrong) {
            self.report.found(*kind, 1, || key.shown());
            self.repairs.insert(RepairAction::Remeasure { file: file.id });
        }
        self.chunks(file, chunks);
    }

    fn chunks(&mut self, file: &FileRow, chunks: &[ChunkRow]) {
        self.count_chunks(chunks);
        let problems = self.chunk_problems(file, chunks);
        if problems.is_empty() {
            return;
        }
        if self.waiting.contains(&file.key) {
            self.report.rows.files_to_be_indexed += 1;
            return;
        }
        for (kind, example) in problems {
            self.report.found(kind, 1, || example);
        }
        self.repairs.insert(RepairAction::Reindex(file.key.clone()));
    }

    fn chunk_problems(&self, file: &FileRow, chunks: &[ChunkRow]) -> Vec<(ProblemKind, String)> {
        let mut problems = Vec::new();
        let is_blank = file.content.iter().all(u8::is_ascii_whitespace);
        if self.options.expects_chunks && chunks.is_empty() && !is_blank {
            problems.push((ProblemKind::FileNotIndexed, file.key.shown()));
        }
        for chunk in chunks {
            let mut found = |kind| {
                problems.push((kind, format!("{} [{}, {})", file.key.shown(), chunk.start, chunk.end)));
            };
            // The digest is that of the file's bytes, of which the text may show less.
            match slice(&file.content, chunk.start, chunk.end) {
                None => found(ProblemKind::ChunkRangeOutside),
                Some(bytes) if !is_text_of(&chunk.text, bytes) => found(ProblemKind::ChunkTextDiffers),
                Some(bytes) if blake3::hash(bytes).to_hex().as_str() != chunk.content_hash => {
                    found(ProblemKind::ChunkHashDiffers);
                }
                Some(_) => {}
            }
            if !chunk.has_words {
                found(ProblemKind::ChunkWithoutWords);
            }
            if self.options.expects_vectors && !chunk.has_vector {
                found(ProblemKind::ChunkWithoutVector);
            }
        }
        problems
    }

    fn projects(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        let mut sums = std::mem::take(&mut self.sums);
        let mut after: Option<(String, String)> = None;
        loop {
            let last = after.as_ref().map(|(tenant, project)| (tenant.as_str(), project.as_str()));
            let page = snapshot.projects(last, ROWS_AT_ONCE)?;
            let is_last = page.len() < ROWS_AT_ONCE;
            after = page.last().map(|row| (row.tenant.clone(), row.project.clone()));
            for row in page {
                self.report.rows.projects += 1;
                let key = (row.tenant, row.project);
                let counted = sums.remove(&key).unwrap_or_default();
                if counted != (row.files, row.bytes) {
                    self.project_differs(key);
                }
            }
            if is_last {
                break;
            }
        }
        // Files of projects that have no row.
        for key in sums.into_keys() {
            self.project_differs(key);
        }
        Ok(())
    }

    fn project_differs(&mut self, (tenant, project): (String, String)) {
        let shown = || format!("{} {project}", tenant.get(..12).unwrap_or(&tenant));
        self.report.found(ProblemKind::ProjectSumDiffers, 1, shown);
        self.repairs.insert(RepairAction::RecountProject { tenant, project });
    }

    fn versions(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let page = snapshot.versions(after, FILES_AT_ONCE)?;
            for version in &page {
                self.report.rows.versions += 1;
                if version.size != version.content.len() as i64 {
                    let shown = || format!("version {} of {}", version.id, version.key.shown());
                    self.report.found(ProblemKind::VersionSizeDiffers, 1, shown);
                    self.repairs.insert(RepairAction::RemeasureVersion { version: version.id });
                }
            }
            if page.len() < FILES_AT_ONCE {
                return Ok(());
            }
            after = page.last().map(|version| version.id);
        }
    }

    fn orphans(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<(), Failure> {
        let orphans = snapshot.orphans()?;
        for (kind, count, repair) in [
            (ProblemKind::OrphanVector, orphans.vectors, RepairAction::DeleteOrphanVectors),
            (ProblemKind::OrphanWords, orphans.words, RepairAction::DeleteOrphanWords),
            (ProblemKind::OrphanLease, orphans.leases, RepairAction::DeleteOrphanLeases),
        ] {
            if count > 0 {
                self.report.found(kind, count, || format!("{count} rows"));
                self.repairs.insert(repair);
            }
        }
        Ok(())
    }
}

impl ProjectPaths {
    /// Whether a directory above is a file. Files come in the order of their paths, parents before children.
    fn has_parent_of(&mut self, key: &FileKey) -> bool {
        let project = (key.tenant.clone(), key.project.clone());
        if self.project.as_ref() != Some(&project) {
            *self = ProjectPaths { project: Some(project), paths: HashSet::new() };
        }
        let above = key.path.match_indices('/').skip(1).any(|(at, _)| self.paths.contains(&key.path[..at]));
        self.paths.insert(key.path.clone());
        above
    }
}

/// The chunks in order, a page at a time.
#[derive(Default)]
struct ChunkReader {
    page: std::collections::VecDeque<ChunkRow>,
    last: Option<(FileKey, i64)>,
    is_at_end: bool,
}

impl ChunkReader {
    fn peek(&mut self, snapshot: &mut dyn StoreSnapshot) -> Result<Option<&FileKey>, Failure> {
        if self.page.is_empty() && !self.is_at_end {
            let after = self.last.as_ref().map(|(key, index)| (key, *index));
            self.page = snapshot.chunks(after, ROWS_AT_ONCE)?.into();
            self.is_at_end = self.page.len() < ROWS_AT_ONCE;
            self.last = self.page.back().map(|chunk| (chunk.key.clone(), chunk.index));
        }
        Ok(self.page.front().map(|chunk| &chunk.key))
    }

    /// All chunks of the key, if they are next.
    fn take(&mut self, snapshot: &mut dyn StoreSnapshot, key: &FileKey) -> Result<Vec<ChunkRow>, Failure> {
        let mut taken = Vec::new();
        while self.peek(snapshot)? == Some(key) {
            taken.extend(self.page.pop_front());
        }
        Ok(taken)
    }
}

fn slice(content: &[u8], start: i64, end: i64) -> Option<&[u8]> {
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    if start < end { content.get(start..end) } else { None }
}

/// Whether a text column can say these bytes and does. Where it cannot, because they are cut characters or hold NUL, the
/// replacement stands in it.
fn is_text_of(text: &str, bytes: &[u8]) -> bool {
    text.as_bytes() == bytes || String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}") == text
}
