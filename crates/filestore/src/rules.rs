//! What an operation does to a project, decided from facts alone: the same for every backend, and without I/O.

use model::{ErrorCode, Failure};

use crate::limits::StoreLimits;
use crate::mutation::{DeleteRequest, RenameRequest, WriteMode, WriteRequest};
use crate::path::StorePath;

/// What a write needs to know of its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFacts<'a> {
    /// The present content of the file, if there is one.
    pub current: Option<&'a [u8]>,
    pub has_descendants: bool,
    /// A directory above the path that is a file.
    pub parent_file: Option<StorePath>,
    /// Of all active files of the project, this one included.
    pub project_bytes: u64,
}

/// What can be said of a write before its project is looked at.
pub fn check_write(limits: &StoreLimits, request: &WriteRequest) -> Result<(), Failure> {
    if request.path.is_root() {
        return Err(invalid_path("path must name a file, not the project root"));
    }
    if request.content.len() as u64 > limits.max_payload_bytes {
        return Err(too_large("the content", limits.max_payload_bytes));
    }
    if request.offset < 0 {
        return Err(invalid_offset("offset must not be negative"));
    }
    if request.mode == WriteMode::Truncate && request.offset != 0 {
        return Err(invalid_offset("TRUNCATE takes no offset"));
    }
    Ok(())
}

/// The new content of the file.
pub fn plan_write(
    limits: &StoreLimits,
    request: &WriteRequest,
    facts: &WriteFacts,
) -> Result<Vec<u8>, Failure> {
    check_write(limits, request)?;
    if facts.has_descendants {
        return Err(is_directory(&request.path));
    }
    if let Some(parent) = &facts.parent_file {
        return Err(not_directory(parent));
    }
    let current = facts.current.unwrap_or_default();
    let content = match request.mode {
        WriteMode::Truncate => request.content.clone(),
        WriteMode::Append => [current, &request.content].concat(),
        WriteMode::Overwrite => {
            let at = usize::try_from(request.offset).ok().filter(|at| *at <= current.len());
            let Some(at) = at else {
                let size = current.len();
                return Err(invalid_offset(format!(
                    "offset lies behind the end of the file, which has {size} bytes"
                )));
            };
            let behind = current.get(at + request.content.len()..).unwrap_or_default();
            [&current[..at], &request.content, behind].concat()
        }
    };
    if content.len() as u64 > limits.max_file_bytes {
        return Err(too_large("the file", limits.max_file_bytes));
    }
    check_quota(limits, facts.project_bytes, current.len() as u64, content.len() as u64)?;
    Ok(content)
}

/// Whether the project has room for a file that grows from `before` to `after` bytes.
pub fn check_quota(limits: &StoreLimits, project_bytes: u64, before: u64, after: u64) -> Result<(), Failure> {
    let total = project_bytes.saturating_sub(before).saturating_add(after);
    // A project that is over its limit already, because the limit was lowered, may still shrink.
    if total > limits.max_project_bytes && after > before {
        let limit = limits.max_project_bytes;
        return Err(Failure::new(
            ErrorCode::QuotaExceeded,
            format!("the project would exceed its limit of {limit} bytes"),
        )
        .hint("Delete or shorten files of the project."));
    }
    Ok(())
}

/// What is at the path of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeleteFacts {
    pub is_file: bool,
    pub has_descendants: bool,
}

/// What a deletion takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePlan {
    TheFile,
    /// All files below the path; for the root, all of the project.
    Descendants,
}

/// What can be said of a deletion before its project is looked at.
pub fn check_delete(limits: &StoreLimits, request: &DeleteRequest) -> Result<(), Failure> {
    if !request.path.is_root() {
        return Ok(());
    }
    if !limits.allow_root_wipe {
        return Err(Failure::new(ErrorCode::PermissionDenied, "a project's root cannot be deleted")
            .hint("Delete its files one by one, or have the operator set files.allow_root_wipe."));
    }
    if !request.recursive {
        return Err(invalid_path("the root can only be deleted recursively"));
    }
    Ok(())
}

pub fn plan_delete(
    limits: &StoreLimits,
    request: &DeleteRequest,
    facts: DeleteFacts,
) -> Result<DeletePlan, Failure> {
    check_delete(limits, request)?;
    match facts {
        DeleteFacts { is_file: true, .. } => Ok(DeletePlan::TheFile),
        _ if request.path.is_root() => Ok(DeletePlan::Descendants),
        DeleteFacts { has_descendants: true, .. } if request.recursive => Ok(DeletePlan::Descendants),
        DeleteFacts { has_descendants: true, .. } => {
            Err(Failure::new(ErrorCode::NotEmpty, format!("{} is a directory with files", request.path))
                .hint("Set recursive to delete all of them."))
        }
        _ => Err(not_found(&request.path)),
    }
}

/// What a move needs to know of its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameFacts {
    pub source_is_file: bool,
    /// Of a directory: all files below it.
    pub source_files: Vec<StorePath>,
    pub destination_is_file: bool,
    pub destination_has_descendants: bool,
    /// A directory above the destination that is a file.
    pub destination_parent_file: Option<StorePath>,
}

/// Which files go where, and which one is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenamePlan {
    pub moves: Vec<(StorePath, StorePath)>,
    pub replaced: Option<StorePath>,
}

/// What can be said of a move before its project is looked at. `true`: there is nothing to do.
pub fn check_rename(request: &RenameRequest) -> Result<bool, Failure> {
    if request.from.is_root() || request.to.is_root() {
        return Err(invalid_path("the project root can be neither moved nor replaced"));
    }
    Ok(request.from == request.to)
}

pub fn plan_rename(request: &RenameRequest, facts: &RenameFacts) -> Result<RenamePlan, Failure> {
    if check_rename(request)? {
        return Ok(RenamePlan::default());
    }
    let (from, to) = (&request.from, &request.to);
    if !facts.source_is_file && facts.source_files.is_empty() {
        return Err(not_found(from));
    }
    if !facts.source_is_file && to.is_below(from) {
        return Err(invalid_path("a directory cannot be moved into itself"));
    }
    if let Some(parent) = &facts.destination_parent_file {
        return Err(not_directory(parent));
    }
    let replaces = facts.source_is_file && facts.destination_is_file && request.overwrite;
    if facts.destination_has_descendants || (facts.destination_is_file && !replaces) {
        return Err(Failure::new(ErrorCode::AlreadyExists, format!("{to} exists already")));
    }
    let sources =
        if facts.source_is_file { std::slice::from_ref(from) } else { facts.source_files.as_slice() };
    let moves = sources.iter().map(|source| Ok((source.clone(), source.moved(from, to)?)));
    Ok(RenamePlan { moves: moves.collect::<Result<_, Failure>>()?, replaced: replaces.then(|| to.clone()) })
}

pub fn not_found(path: &StorePath) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("there is nothing at {path}"))
        .hint("file_list shows what is there.")
}

pub fn is_directory(path: &StorePath) -> Failure {
    Failure::new(ErrorCode::IsDirectory, format!("{path} is a directory"))
}

fn not_directory(parent: &StorePath) -> Failure {
    Failure::new(ErrorCode::NotDirectory, format!("{parent} is a file, so nothing can be below it"))
}

fn invalid_path(message: &str) -> Failure {
    Failure::new(ErrorCode::InvalidPath, message)
}

fn invalid_offset(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidOffset, message)
}

fn too_large(what: &str, limit: u64) -> Failure {
    Failure::new(ErrorCode::PayloadTooLarge, format!("{what} would exceed its limit of {limit} bytes"))
        .hint("Write less at once, or split the file.")
}
