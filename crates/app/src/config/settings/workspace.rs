//! The folders beside the root directory, and what the smart tools may show of them all.

use std::path::{Component, PathBuf};

use contracts::smart::MinuteLimits;

use super::SettingsCheck;
use crate::config::combine::Values;
use crate::config::files;
use crate::config::keys::Key;

#[derive(Debug, Clone)]
pub(crate) struct WorkspaceSettings {
    /// As the operator wrote them, absolute.
    pub roots: Vec<PathBuf>,
    /// The smart tools are to be served alone by a client that named no folder: the current one is wherever that client
    /// happens to be.
    pub is_missing: bool,
    /// Whether their `.gitignore` files are obeyed: in shared folders they are not, unless `ingest.gitignore` is set.
    pub gitignore: bool,
    /// The smart tools are all that is served: the root directory is a shared folder, too.
    pub is_alone: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct SmartSettings {
    pub preview_bytes: usize,
    pub audit_queries: bool,
    pub limits: MinuteLimits,
}

impl SettingsCheck<'_> {
    pub(super) fn workspace(&mut self, is_missing: bool) -> WorkspaceSettings {
        let values = self.values;
        let mut roots: Vec<PathBuf> = Vec::new();
        for written in values.list(Key::WorkspaceRoots) {
            let path: PathBuf = PathBuf::from(written).components().collect();
            // A caller's `..` is taken away before its path is compared, so a root must not hold any.
            let path = match path.components().any(|part| part == Component::ParentDir) {
                true => files::resolved(&path),
                false => path,
            };
            if !path.is_absolute() {
                self.problem(Key::WorkspaceRoots, format!("{written:?} is not a folder"));
            } else if !roots.contains(&path) {
                roots.push(path);
            }
        }
        let gitignore = values.is_explicit(Key::IngestGitignore) && values.bool(Key::IngestGitignore);
        let is_alone = matches!(values.list(Key::ServerTools), [only] if only.eq_ignore_ascii_case("smart"));
        WorkspaceSettings { roots, is_missing, gitignore, is_alone }
    }
}

pub(super) fn smart(values: &Values) -> SmartSettings {
    let limit = |key| u32::try_from(values.int(key)).unwrap_or(u32::MAX);
    SmartSettings {
        preview_bytes: values.int(Key::SmartPreviewBytes) as usize,
        audit_queries: values.bool(Key::SmartAuditQueries),
        limits: MinuteLimits {
            search_files: limit(Key::SmartSearchFiles),
            open_file: limit(Key::SmartOpenFile),
            summarize_results: limit(Key::SmartSummarizeResults),
            stdio: values.bool(Key::SmartLimitStdio),
        },
    }
}
