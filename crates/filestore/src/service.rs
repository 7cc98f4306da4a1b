//! The file store as tools and routes call it: raw arguments are checked here, once for all backends.

use std::sync::Arc;

use model::{ContentHash, ErrorCode, Failure, TenantId};

use crate::backend::{FileBackend, RecordBackend};
use crate::entry::{FileListing, FileVersion, PathState, ProjectSummary, StoreTime, VersionContent};
use crate::limits::StoreLimits;
use crate::mutation::{
    DeleteRequest, MutationGuard, RenameRequest, RestoreRequest, WriteMode, WriteOutcome, WriteRequest,
};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};

/// Checks what callers send, and passes it to a backend.
#[derive(Clone)]
pub struct FileStore {
    files: Arc<dyn FileBackend>,
    records: Arc<dyn RecordBackend>,
    limits: StoreLimits,
}

/// A part of a file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadText {
    pub content: String,
    /// The range cut a character, or the file is not all UTF-8: U+FFFD stands for what could not be shown.
    pub is_lossy: bool,
    /// Of the part that was read: offsets are bytes, whatever the text shows.
    pub bytes: u64,
    /// Of the whole file.
    pub size: u64,
    pub updated_at: StoreTime,
    pub content_hash: ContentHash,
}

/// The arguments of `file_write` as they come; what is absent has its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawWriteArguments<'a> {
    pub project: &'a str,
    pub path: &'a str,
    pub content: String,
    pub content_encoding: Option<&'a str>,
    pub offset: i64,
    pub mode: Option<&'a str>,
}

impl FileStore {
    pub fn new(
        files: Arc<dyn FileBackend>,
        records: Arc<dyn RecordBackend>,
        limits: StoreLimits,
    ) -> FileStore {
        FileStore { files, records, limits }
    }

    pub fn files(&self) -> &Arc<dyn FileBackend> {
        &self.files
    }

    pub fn records(&self) -> &Arc<dyn RecordBackend> {
        &self.records
    }

    pub fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    pub async fn stat(&self, tenant: TenantId, project: &str, path: &str) -> Result<PathState, Failure> {
        let scope = scope(tenant, project)?;
        self.files.stat(&scope, &StorePath::parse(path)?).await
    }

    /// `length` bytes from `offset` on, or all of them for −1.
    pub async fn read(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        offset: i64,
        length: i64,
    ) -> Result<ReadText, Failure> {
        let (scope, path) = (scope(tenant, project)?, StorePath::parse_file(path)?);
        let offset = u64::try_from(offset).map_err(|_| invalid_offset("offset must not be negative"))?;
        let length = match length {
            -1 => None,
            length => Some(
                u64::try_from(length)
                    .map_err(|_| invalid_offset("length must be -1, for all, or not negative"))?,
            ),
        };
        let slice = self.files.read(&scope, &path, offset, length).await?;
        let bytes = slice.bytes.len() as u64;
        let (content, is_lossy) = match String::from_utf8(slice.bytes) {
            Ok(content) => (content, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        Ok(ReadText {
            content,
            is_lossy,
            bytes,
            size: slice.size,
            updated_at: slice.updated_at,
            content_hash: slice.content_hash,
        })
    }

    pub async fn write(
        &self,
        tenant: TenantId,
        arguments: RawWriteArguments<'_>,
        guard: MutationGuard,
    ) -> Result<WriteOutcome, Failure> {
        let scope = scope(tenant, arguments.project)?;
        let path = StorePath::parse_file(arguments.path)?;
        if let Some(encoding) = arguments.content_encoding
            && !encoding.eq_ignore_ascii_case("utf-8")
        {
            return Err(Failure::new(ErrorCode::InvalidQuery, "content_encoding must be utf-8")
                .hint("Encode binary content as text, for example in base64."));
        }
        let mode = arguments.mode.map_or(Ok(WriteMode::Append), WriteMode::parse)?;
        let content = arguments.content.into_bytes();
        self.files.write(&scope, WriteRequest { path, content, mode, offset: arguments.offset, guard }).await
    }

    /// How many files were deleted.
    pub async fn delete(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        recursive: bool,
        guard: MutationGuard,
    ) -> Result<u64, Failure> {
        let scope = scope(tenant, project)?;
        let path = StorePath::parse(path)?;
        self.files.delete(&scope, DeleteRequest { path, recursive, guard }).await
    }

    /// How many files were moved.
    pub async fn rename(
        &self,
        tenant: TenantId,
        project: &str,
        from: &str,
        to: &str,
        overwrite: bool,
        guard: MutationGuard,
    ) -> Result<u64, Failure> {
        let scope = scope(tenant, project)?;
        let (from, to) = (StorePath::parse(from)?, StorePath::parse(to)?);
        self.files.rename(&scope, RenameRequest { from, to, overwrite, guard }).await
    }

    /// Entries below `path`, which may be `/` here. A limit that is absent or not positive is the default one.
    pub async fn list(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        depth: i64,
        limit: Option<i64>,
    ) -> Result<FileListing, Failure> {
        let scope = scope(tenant, project)?;
        let path = if path == "/" { StorePath::root() } else { StorePath::parse(path)? };
        let depth = usize::try_from(depth).map_err(|_| invalid_offset("depth must not be negative"))?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
        let limit = limit.unwrap_or(self.limits.list_limit_default).min(self.limits.list_limit_max);
        self.files.list(&scope, &path, depth, limit).await
    }

    pub async fn projects(&self, tenant: TenantId) -> Result<Vec<ProjectSummary>, Failure> {
        self.files.projects(tenant).await
    }

    /// Former contents of a file, newest first.
    pub async fn versions(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
    ) -> Result<Vec<FileVersion>, Failure> {
        let scope = scope(tenant, project)?;
        self.files.versions(&scope, &StorePath::parse_file(path)?).await
    }

    pub async fn version_content(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        version: i64,
    ) -> Result<VersionContent, Failure> {
        let scope = scope(tenant, project)?;
        self.files.version_content(&scope, &StorePath::parse_file(path)?, version).await
    }

    pub async fn restore(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        version: i64,
        guard: MutationGuard,
    ) -> Result<WriteOutcome, Failure> {
        let scope = scope(tenant, project)?;
        let path = StorePath::parse_file(path)?;
        self.files.restore(&scope, RestoreRequest { path, version, guard }).await
    }
}

fn scope(tenant: TenantId, project: &str) -> Result<ProjectScope, Failure> {
    Ok(ProjectScope::new(tenant, ProjectName::parse(project)?))
}

fn invalid_offset(message: &str) -> Failure {
    Failure::new(ErrorCode::InvalidOffset, message)
}
