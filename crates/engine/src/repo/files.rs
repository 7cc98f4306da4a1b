//! Files of the repository: listed as they are on disk, opened by lines.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;

use discover::{Found, walk};
use ingest::{Format, Unshown, read_text};
use model::{DocType, ErrorCode, Failure, Filter, RelPath};
use policy::{Guard, OpenError};
use retrieve::CompiledFilter;

use super::Repo;
use super::view::RepoView;
use crate::api::Call;
use crate::engine::{Shared, blocking};

/// The most that `max_file_bytes` can be set to (repo specification, section 7.3).
const HARDEST_FILE_LIMIT: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPath {
    pub path: String,
    pub size: u64,
    pub mtime_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedLines {
    pub path: String,
    /// Line numbers from 1, with the text of each line.
    pub lines: Vec<(u32, String)>,
    pub total_lines: u32,
    /// The file goes on, but the caller did not say how far.
    pub is_truncated: bool,
}

impl Repo {
    /// The files on disk now, by path, and how many there are in all.
    pub async fn list_files(
        &self,
        call: &Call,
        glob: Option<String>,
        hidden: bool,
        limit: usize,
    ) -> Result<(u64, Vec<ListedPath>), Failure> {
        let (shared, repo) = (self.shared(), self.clone());
        let work = blocking(call, move || {
            let filter = CompiledFilter::new(&Filter { file_glob: glob, ..Filter::default() })?;
            let view = &repo.config.view;
            let listed = Mutex::new(Vec::new());
            let sink = |found: Found| {
                let Found::File(file) = found else { return };
                let path = file.path.as_str();
                let shown = (hidden || !file.path.components().any(|part| part.starts_with('.')))
                    && file.size <= view.max_file_bytes
                    && view.is_listed(&file.path)
                    // A type that no filter asks about.
                    && filter.admits(path, DocType::Text);
                if shown {
                    let row = ListedPath { path: path.to_owned(), size: file.size, mtime_ns: file.mtime_ns };
                    listed.lock().unwrap_or_else(PoisonError::into_inner).push(row);
                }
            };
            walk(&shared.guard, &shared.walk_options(), &AtomicBool::new(false), &sink)
                .map_err(|error| Failure::new(ErrorCode::ExtractFailed, error.to_string()))?;
            let mut listed = listed.into_inner().unwrap_or_else(PoisonError::into_inner);
            listed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            let total = listed.len() as u64;
            listed.truncate(limit);
            Ok((total, listed))
        });
        self.engine.audited(call, work).await
    }

    /// Lines of a file. Without an `end`, as many as `max_lines`; more than that on demand are refused.
    pub async fn open_file(
        &self,
        call: &Call,
        path: String,
        start: u32,
        end: Option<u32>,
        max_lines: u32,
    ) -> Result<OpenedLines, Failure> {
        let (shared, repo) = (self.shared(), self.clone());
        let work = blocking(call, move || {
            let path = repo.resolve(&path)?;
            if let Some(end) = end {
                if end < start {
                    return Err(Failure::new(ErrorCode::InvalidField, "end_line is before start_line"));
                }
                if end - start >= max_lines {
                    return Err(Failure::new(
                        ErrorCode::LimitExceeded,
                        format!("{} lines exceed max_open_lines ({max_lines})", end - start + 1),
                    )
                    .hint(format!("Ask for at most {max_lines} lines at a time.")));
                }
            }
            let text = shown(&shared, &repo.config.view, &path)?;
            let body = text.strip_suffix('\n').unwrap_or(&text);
            let total_lines = if text.is_empty() { 0 } else { body.matches('\n').count() as u32 + 1 };
            let wanted = end.map_or(max_lines, |end| end - start + 1) as usize;
            let lines: Vec<(u32, String)> = (1..)
                .zip(body.split('\n'))
                .take(total_lines as usize)
                .skip(start as usize - 1)
                .take(wanted)
                .map(|(number, line)| (number, line.to_owned()))
                .collect();
            let last = lines.last().map_or(start, |(number, _)| *number);
            let is_truncated = end.is_none() && !lines.is_empty() && last < total_lines;
            Ok(OpenedLines { path: path.as_str().to_owned(), lines, total_lines, is_truncated })
        });
        self.engine.audited(call, work).await
    }

    /// A path as a caller wrote it: with either slash, relative to the root or absolute below it.
    pub(super) fn resolve(&self, written: &str) -> Result<RelPath, Failure> {
        if written.trim().is_empty() {
            return Err(Failure::new(ErrorCode::Forbidden, "the path is empty")
                .hint("Name a file of the repository."));
        }
        let slashed = if written.starts_with('\\') { written.replace('\\', "/") } else { written.to_owned() };
        let given = Path::new(&slashed);
        let relative: PathBuf = if given.is_absolute() {
            // By its spelling alone: whether the file is there is for the policy to find out.
            let outside =
                || Failure::new(ErrorCode::PathOutsideRoot, "the path leads outside the repository");
            given.strip_prefix(self.root()).map_err(|_| outside())?.to_owned()
        } else {
            given.to_owned()
        };
        let guard = &self.engine.shared.guard;
        guard.locate(&relative.to_string_lossy()).map_err(|error| policy::path_failure(&error))
    }
}

/// The text that hits cite: that of the file, or what was extracted from a notebook, a letter or another such document.
pub(super) fn shown(shared: &Shared, view: &RepoView, path: &RelPath) -> Result<String, Failure> {
    use Format::{Csv, Html, Md, Tsv, Txt};
    let is_document = Format::from_name(path.file_name())
        .is_some_and(|format| !format.is_archive() && !matches!(format, Html | Csv | Tsv | Md | Txt));
    let size = shared.guard.open(path).map_err(refusal)?.size();
    if !is_document || size > view.max_file_bytes {
        return read(&shared.guard, view, path);
    }
    shared.door().whole(path).map(|whole| whole.text)
}

/// A whole text, within what the view shows.
pub(super) fn read(guard: &Guard, view: &RepoView, path: &RelPath) -> Result<String, Failure> {
    let mut file = guard.open(path).map_err(refusal)?;
    match read_text(guard, path, &mut file, view.max_file_bytes) {
        Ok(read) => Ok(read.text),
        Err(Unshown::Open(OpenError::TooLarge { size, limit })) => Err(Failure::new(
            ErrorCode::LimitExceeded,
            format!("the file has {size} bytes, more than max_file_bytes ({limit})"),
        )
        .hint(if size <= HARDEST_FILE_LIMIT {
            format!("Set max_file_bytes in repo_mcp.toml to {size} or more, and start the server again.")
        } else {
            format!("Split the file: max_file_bytes cannot be more than {HARDEST_FILE_LIMIT}.")
        })),
        Err(Unshown::Open(error)) => Err(refusal(error)),
        Err(Unshown::NotText) => Err(Failure::new(ErrorCode::BinarySkipped, "the file is not text")
            .hint("Only text files can be opened.")),
        Err(Unshown::Secret(failure)) => Err(failure),
    }
}

/// The policy's own words, with what to do about them.
fn refusal(error: OpenError) -> Failure {
    let hint = match &error {
        OpenError::Denied(denied) => denied.hint(),
        OpenError::OutsideRoot => "Use a path below the repository's root.",
        OpenError::NotAFile { .. } => "Use list_files to see the files there are.",
        _ => return Failure::from(error),
    };
    Failure::from(error).hint(hint)
}
