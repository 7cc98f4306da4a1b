//! Which files of a root a caller is shown: by extension, by globs, by size.

use std::collections::HashSet;

use index::DocumentRow;
use model::filter::{Admit, DocumentFacts, Verdict};
use model::{DocStatus, RelPath, SourceType};
use policy::Excludes;

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("{0:?} is no extension: write .py or py")]
    Extension(String),
    #[error(transparent)]
    Glob(#[from] policy::PolicyError),
}

/// What a caller may search, list and open below a root.
#[derive(Debug)]
pub struct FileView {
    extensions: HashSet<String>,
    excludes: Excludes,
    pub include_extensions: Vec<String>,
    pub exclude_globs: Vec<String>,
    pub max_file_bytes: u64,
    /// The most that `max_file_bytes` can be set to.
    pub most_file_bytes: u64,
    pub python: bool,
}

impl Admit for FileView {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        RelPath::from_walk(facts.path).is_ok_and(|path| self.shows(&path)).into()
    }
}

impl FileView {
    pub fn new(
        include_extensions: Vec<String>,
        exclude_globs: Vec<String>,
        (max_file_bytes, most_file_bytes): (u64, u64),
        python: bool,
    ) -> Result<FileView, ViewError> {
        let mut extensions = HashSet::new();
        for written in &include_extensions {
            let bare = written.trim().trim_start_matches('.').to_lowercase();
            if bare.is_empty() || bare.contains(['/', '\\', '*']) {
                return Err(ViewError::Extension(written.clone()));
            }
            extensions.insert(bare);
        }
        let excludes = Excludes::new(&exclude_globs)?;
        Ok(FileView {
            extensions,
            excludes,
            include_extensions,
            exclude_globs,
            max_file_bytes,
            most_file_bytes,
            python,
        })
    }

    /// Whether the path may be searched and outlined.
    pub(crate) fn shows(&self, path: &RelPath) -> bool {
        let extension = path.extension().map(|extension| extension.to_lowercase());
        extension.is_some_and(|extension| self.extensions.contains(&extension)) && self.is_listed(path)
    }

    /// Whether the path may be listed, whatever its extension.
    pub(crate) fn is_listed(&self, path: &RelPath) -> bool {
        self.excludes.check(path, false).is_ok()
    }

    pub(crate) fn shows_document(&self, row: &DocumentRow) -> bool {
        row.status == DocStatus::Ok
            && row.source == SourceType::File
            && row.size <= self.max_file_bytes
            && RelPath::from_walk(&row.path).is_ok_and(|path| self.shows(&path))
    }

    /// The languages that have outlines here.
    pub(crate) fn adapters(&self) -> Vec<&'static str> {
        ingest::languages().into_iter().filter(|name| self.python || *name != "python").collect()
    }

    /// The structure of a file's text, as far as its language is switched on.
    pub(crate) fn structure(&self, path: &str, text: &str) -> Option<lang::ParsedSource> {
        ingest::structure(path, text).filter(|parsed| self.python || parsed.language.name() != "python")
    }
}

/// The extensions of the languages that have outlines, without dots.
pub fn outlined_extensions() -> impl Iterator<Item = &'static str> {
    ingest::extensions()
}
