//! Files of one root: listed from the index or from the disk, and opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use extract::Format;
use ingest::Unshown;
use model::{DocStatus, DocType, ErrorCode, Failure, Filter, RelPath, Span};
use policy::OpenError;
use retrieve::CompiledFilter;

use crate::call::Call;
use crate::engine::Engine;
use crate::place::OpenSelection;
use crate::shared::SharedEngine;
use crate::suggest::nearest_paths;
use crate::view::FileView;

/// A part of a file.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// As the caller wrote it; the engine checks it.
    pub rel_path: String,
    pub selection: OpenSelection,
    pub max_chars: usize,
}

#[derive(Debug, Clone)]
pub struct OpenedFile {
    pub rel_path: String,
    pub doc_type: DocType,
    /// What the content covers; absent for an empty file.
    pub span: Option<Span>,
    pub content: String,
    pub truncated: bool,
    /// The file is no longer what the index holds of it.
    pub changed_since_indexed: bool,
}

/// Lines of a file, within a view.
#[derive(Debug, Clone)]
pub struct LinesRequest {
    /// With either slash, relative to the root or absolute below it.
    pub path: String,
    pub start: u32,
    /// Absent, as many as `max_lines`.
    pub end: Option<u32>,
    /// More than these on demand are refused.
    pub max_lines: u32,
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

#[derive(Debug, Clone)]
pub struct ListRequest {
    pub path_prefix: Option<String>,
    pub glob: Option<String>,
    pub limit: usize,
    pub offset: usize,
}

#[derive(Debug, Clone)]
pub struct FileList {
    pub limit: usize,
    pub offset: usize,
    /// How many files match in all.
    pub total: u64,
    pub files: Vec<ListedFile>,
}

/// A file of the index.
#[derive(Debug, Clone)]
pub struct ListedFile {
    pub rel_path: String,
    pub doc_type: DocType,
    pub size_bytes: u64,
    pub mtime_unix: i64,
    pub status: DocStatus,
    /// Why the file is not searchable, where it is not; or which of its pages are not.
    pub reason: Option<String>,
}

/// Which files on the disk to list.
#[derive(Debug, Clone)]
pub struct DiskListRequest {
    pub glob: Option<String>,
    /// Also those whose path has a part that begins with a dot.
    pub hidden: bool,
    pub limit: usize,
}

/// A file on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPath {
    pub path: String,
    pub size: u64,
    pub mtime_ns: i64,
}

impl Engine {
    pub async fn open_file(&self, call: &Call, request: OpenRequest) -> Result<OpenedFile, Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |stop| {
            let path = shared.located(&request.rel_path)?;
            let with_suggestions = |failure| shared.with_suggestions(failure, path.as_str());
            let whole = shared.whole(&path).map_err(with_suggestions)?;
            stop.check()?;
            let slice = whole.slice(&path, request.selection, request.max_chars).map_err(with_suggestions)?;
            let indexed = shared.index().document(path.as_str())?.and_then(|row| row.content_hash);
            Ok(OpenedFile {
                rel_path: path.as_str().to_owned(),
                doc_type: whole.doc_type,
                span: slice.span,
                content: slice.content,
                truncated: slice.truncated,
                changed_since_indexed: indexed.is_some_and(|hash| hash != whole.content_hash),
            })
        })
        .await
    }

    /// Lines of a file that the view shows.
    pub async fn open_lines(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: LinesRequest,
    ) -> Result<OpenedLines, Failure> {
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        call.blocking(move |stop| {
            let LinesRequest { path, start, end, max_lines } = request;
            let path = shared.resolve(&path)?;
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
            let text = shown_text(&shared, &view, &path)?;
            stop.check()?;
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
        })
        .await
    }

    /// The files that the index holds.
    pub async fn list_files(&self, call: &Call, request: ListRequest) -> Result<FileList, Failure> {
        let shared = Arc::clone(&self.shared);
        call.blocking(move |_| {
            let filter = Filter::of_files(request.path_prefix, request.glob, &[]);
            let filter = CompiledFilter::new(&filter)?;
            // A path may have become forbidden since it was indexed; the current policy decides.
            let admits = |path: &str, doc_type| filter.admits(path, doc_type) && shared.allows(path);
            let (total, rows) =
                shared.index().list(&|row| admits(&row.path, row.doc_type), request.limit, request.offset)?;
            let mut files = Vec::with_capacity(rows.len());
            for row in rows {
                // A PDF may have scanned pages between those with text.
                let pages = match row.status {
                    DocStatus::Ok if row.doc_type == DocType::Pdf => {
                        shared.index().unread_pages(row.doc_id)?
                    }
                    _ => None,
                };
                let of_pages = pages.map(|pages| unread_note(&pages, shared.providers.recognizer.is_some()));
                files.push(ListedFile {
                    doc_type: row.doc_type,
                    size_bytes: row.size,
                    mtime_unix: row.mtime_ns.div_euclid(1_000_000_000),
                    status: row.status,
                    reason: row.reason.as_ref().map(ToString::to_string).or(of_pages),
                    rel_path: row.document.path,
                });
            }
            Ok(FileList { limit: request.limit, offset: request.offset, total, files })
        })
        .await
    }

    /// The files on the disk now that the view lists, by path, and how many there are in all.
    pub async fn list_disk(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: DiskListRequest,
    ) -> Result<(u64, Vec<ListedPath>), Failure> {
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        call.blocking(move |stop| {
            let DiskListRequest { glob, hidden, limit } = request;
            let filter = CompiledFilter::new(&Filter::of_files(None, glob, &[]))?;
            let listed = Mutex::new(Vec::new());
            let sink = |file: ListedPath, path: &RelPath| {
                let shown = (hidden || !path.components().any(|part| part.starts_with('.')))
                    && file.size <= view.max_file_bytes
                    && view.is_listed(path)
                    // A type that no filter asks about.
                    && filter.admits(path.as_str(), DocType::Text);
                if shown {
                    listed.lock().unwrap_or_else(PoisonError::into_inner).push(file);
                }
            };
            let walked = shared.origin.files(&shared.index(), stop.flag(), &sink);
            stop.check()?;
            walked?;
            let mut listed = listed.into_inner().unwrap_or_else(PoisonError::into_inner);
            listed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            let total = listed.len() as u64;
            listed.truncate(limit);
            Ok((total, listed))
        })
        .await
    }
}

impl SharedEngine {
    /// A path as a caller wrote it: with either slash, relative to the root or absolute below it.
    pub(crate) fn resolve(&self, written: &str) -> Result<RelPath, Failure> {
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
            given.strip_prefix(self.guard.root().path()).map_err(|_| outside())?.to_owned()
        } else {
            given.to_owned()
        };
        self.locate(&relative.to_string_lossy()).map_err(|error| policy::path_failure(&error))
    }

    /// A path as a caller of the `dir2mcp` tools wrote it: relative to the root, or absolute below it.
    pub(crate) fn located(&self, written: &str) -> Result<RelPath, Failure> {
        let root = self.guard.root().path();
        let below = Path::new(written).strip_prefix(root).ok().and_then(Path::to_str);
        let written = below.filter(|below| !below.is_empty()).unwrap_or(written);
        self.locate(written).map_err(|error| self.with_suggestions(policy::path_failure(&error), written))
    }

    /// Names the files that may have been meant by a path that does not exist.
    pub(crate) fn with_suggestions(&self, failure: Failure, wanted: &str) -> Failure {
        if failure.code != ErrorCode::FileNotFound || failure.hint.is_some() {
            return failure;
        }
        let snapshot = self.index().snapshot();
        let known = snapshot.paths().filter(|path| self.allows(path));
        match nearest_paths(wanted, known).as_slice() {
            [] => failure.hint(policy::LIST_FILES_HINT),
            near => {
                let near: Vec<String> = near.iter().map(|path| format!("\"{path}\"")).collect();
                failure.hint(format!("Did you mean {}?", near.join(" or ")))
            }
        }
    }
}

/// The text that hits cite: that of the file, or what was extracted from a notebook, a letter or another such document.
pub(crate) fn shown_text(shared: &SharedEngine, view: &FileView, path: &RelPath) -> Result<String, Failure> {
    use Format::{Csv, Html, Md, Tsv, Txt};
    let is_document = Format::from_name(path.file_name())
        .is_some_and(|format| !format.is_archive() && !matches!(format, Html | Csv | Tsv | Md | Txt))
        || matches!(discover::classify(path, &[]), DocType::Image | DocType::Audio);
    let size = shared.facts(path).map_err(refusal)?.size;
    if !is_document || size > view.max_file_bytes {
        return read_shown(shared, view, path);
    }
    shared.whole(path).map(|whole| whole.text)
}

/// A whole text, within what the view shows.
pub(crate) fn read_shown(shared: &SharedEngine, view: &FileView, path: &RelPath) -> Result<String, Failure> {
    match shared.text(path, view.max_file_bytes) {
        Ok(read) => Ok(read.text),
        Err(Unshown::Open(OpenError::TooLarge { size, limit })) => Err(Failure::new(
            ErrorCode::LimitExceeded,
            format!("the file has {size} bytes, more than max_file_bytes ({limit})"),
        )
        .hint(if size <= view.most_file_bytes {
            format!("Set max_file_bytes in repo_mcp.toml to {size} or more, and start the server again.")
        } else {
            format!("Split the file: max_file_bytes cannot be more than {}.", view.most_file_bytes)
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
        _ => return Failure::from(error),
    };
    Failure::from(error).hint(hint)
}

/// What is said of a document that can be searched but for some of its pages. An engine that only looks does not know which
/// recogniser a server has, so the words do not say that there is none.
fn unread_note(pages: &str, is_reader_there: bool) -> String {
    let (noun, verb) = if pages.contains(['-', ',']) { ("pages", "have") } else { ("page", "has") };
    let pages = pages.replace(',', ", ");
    if is_reader_there {
        return format!("{noun} {pages} {verb} no text yet and will be read by OCR");
    }
    format!(
        "{noun} {pages} {verb} no text yet; OCR reads such pages: `dir2mcp extras add ocr`, Tesseract, or ocr.provider (`dir2mcp doctor` \
         says what there is)"
    )
}
