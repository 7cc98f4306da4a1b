//! What the repository tools show and keep.

use std::path::PathBuf;
use std::sync::Arc;

use contracts::repo::{RESPONSE_LIMITS, RepoLimits};
use engine::{FileView, ViewError};

use super::{SettingsCheck, Surroundings};
use crate::config::keys::Key;

/// What the repository tools show and keep.
#[derive(Debug, Clone)]
pub(crate) struct RepoSettings {
    pub data_dir: PathBuf,
    pub limits: RepoLimits,
    pub view: Arc<FileView>,
    pub semantic: bool,
    /// What the folder itself says about them could be read.
    pub is_sound: bool,
    /// What they show is indexed apart from what other tools index in the same state directory.
    pub is_apart: bool,
}

impl SettingsCheck<'_> {
    pub(super) fn repo(&mut self, surroundings: &Surroundings) -> RepoSettings {
        let values = self.values;
        let limits = RepoLimits {
            max_file_bytes: values.int(Key::RepoMaxFileBytes),
            max_open_lines: values.int(Key::RepoMaxOpenLines) as u32,
            max_total_bytes_per_response: values.int(Key::RepoMaxTotalBytes),
            max_search_hits: values.int(Key::RepoMaxSearchHits) as u32,
            max_references: values.int(Key::RepoMaxReferences) as u32,
            max_bundle_files: values.int(Key::RepoMaxBundleFiles) as u32,
        };
        let view = |extensions: &[String], globs: &[String]| {
            let python = values.bool(Key::RepoPythonEnabled);
            let file_bytes = (limits.max_file_bytes, RESPONSE_LIMITS[0].2);
            FileView::new(extensions.to_vec(), globs.to_vec(), file_bytes, python)
        };
        let (extensions, globs) =
            (values.list(Key::RepoIncludeExtensions), values.list(Key::RepoExcludeGlobs));
        let view = view(extensions, globs).unwrap_or_else(|error| {
            let key = match error {
                ViewError::Extension(_) => Key::RepoIncludeExtensions,
                ViewError::Glob(_) => Key::RepoExcludeGlobs,
            };
            self.problem(key, error.to_string());
            view(&[], &[]).expect("nothing is always a view")
        });
        let data_dir = match values.text(Key::RepoDataDir) {
            "" => surroundings.state_dir.clone(),
            given => given.into(),
        };
        if data_dir == surroundings.root {
            self.problem(Key::RepoDataDir, "the data directory cannot be the root directory itself");
        }
        RepoSettings {
            data_dir,
            limits,
            view: Arc::new(view),
            semantic: values.bool(Key::RepoSemanticEnabled),
            is_sound: surroundings.repo_sound,
            is_apart: surroundings.repo_apart,
        }
    }
}
