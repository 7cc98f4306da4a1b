//! Which files of the root the repository tools show: by extension, by globs, by size.

use std::collections::HashSet;

use index::DocumentRow;
use model::filetype::{self, Mark};
use model::filter::{Admit, DocumentFacts, Verdict};
use model::{DocStatus, RelPath, SourceType};
use policy::Excludes;

/// What every repository has and nobody means by its code.
const EXCLUDED: &[&str] = &[
    "**/.git/**",
    "**/.hg/**",
    "**/.svn/**",
    "**/__pycache__/**",
    "**/.venv/**",
    "**/venv/**",
    "**/.tox/**",
    "**/.nox/**",
    "**/.mypy_cache/**",
    "**/.pytest_cache/**",
    "**/.ruff_cache/**",
    "**/.eggs/**",
    "**/*.egg-info/**",
    "**/node_modules/**",
    "**/bower_components/**",
    "**/.next/**",
    "**/.nuxt/**",
    "**/.gradle/**",
    "**/target/**",
    "**/build/**",
    "**/dist/**",
    "**/out/**",
    "**/bin/Debug/**",
    "**/bin/Release/**",
    "**/obj/**",
    "**/coverage/**",
    "**/htmlcov/**",
    "**/.idea/**",
    "**/.vscode/**",
    "**/*.min.js",
    "**/*.min.css",
];

pub fn default_exclude_globs() -> Vec<String> {
    EXCLUDED.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The specified ones, then those of every language that has outlines, each with its dot.
pub fn default_include_extensions() -> Vec<String> {
    let mut extensions: Vec<String> =
        filetype::marked(Mark::RepoDefault).iter().map(|extension| format!(".{extension}")).collect();
    for extension in ingest::extensions() {
        let dotted = format!(".{extension}");
        if !filetype::is_marked(extension, Mark::RepoOnRequest) && !extensions.contains(&dotted) {
            extensions.push(dotted);
        }
    }
    extensions
}

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("{0:?} is no extension: write .py or py")]
    Extension(String),
    #[error(transparent)]
    Glob(#[from] policy::PolicyError),
}

#[derive(Debug)]
pub struct RepoView {
    extensions: HashSet<String>,
    excludes: Excludes,
    pub include_extensions: Vec<String>,
    pub exclude_globs: Vec<String>,
    pub max_file_bytes: u64,
    pub python: bool,
}

impl Admit for RepoView {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        RelPath::from_walk(facts.path).is_ok_and(|path| self.shows(&path)).into()
    }
}

impl RepoView {
    pub fn new(
        include_extensions: Vec<String>,
        exclude_globs: Vec<String>,
        max_file_bytes: u64,
        python: bool,
    ) -> Result<RepoView, ViewError> {
        let mut extensions = HashSet::new();
        for written in &include_extensions {
            let bare = written.trim().trim_start_matches('.').to_lowercase();
            if bare.is_empty() || bare.contains(['/', '\\', '*']) {
                return Err(ViewError::Extension(written.clone()));
            }
            extensions.insert(bare);
        }
        let excludes = Excludes::new(&exclude_globs)?;
        Ok(RepoView { extensions, excludes, include_extensions, exclude_globs, max_file_bytes, python })
    }

    /// Whether the path may be searched and outlined.
    pub(super) fn shows(&self, path: &RelPath) -> bool {
        let extension = path.extension().map(|extension| extension.to_lowercase());
        extension.is_some_and(|extension| self.extensions.contains(&extension)) && self.is_listed(path)
    }

    /// Whether the path may be listed, whatever its extension.
    pub(super) fn is_listed(&self, path: &RelPath) -> bool {
        self.excludes.check(path, false).is_ok()
    }

    pub(super) fn shows_document(&self, row: &DocumentRow) -> bool {
        row.status == DocStatus::Ok
            && row.source == SourceType::File
            && row.size <= self.max_file_bytes
            && RelPath::from_walk(&row.path).is_ok_and(|path| self.shows(&path))
    }

    /// The languages that have outlines here.
    pub(super) fn adapters(&self) -> Vec<&'static str> {
        ingest::languages().into_iter().filter(|name| self.python || *name != "python").collect()
    }

    /// The structure of a file's text, as far as its language is switched on.
    pub(super) fn structure(&self, path: &str, text: &str) -> Option<ingest::Parsed> {
        ingest::structure(path, text).filter(|parsed| self.python || parsed.language.name() != "python")
    }
}
