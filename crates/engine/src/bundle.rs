//! Bundles over the repository as it is now, and the last one kept for people to look at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Failure, IndexChoice, RelPath, Stop};
use retrieve::bundle::NamedSymbol;
use retrieve::test_file::is_test_file;
use retrieve::{Bundle, Bundler, Deterministic, Passage, Repository, Source, Task};

use crate::call::Call;
use crate::engine::Engine;
use crate::files::shown_text;
use crate::search::{ResultPage, Retrieval, SearchFilter, SearchRequest, line_hits};
use crate::shared::SharedEngine;
use crate::state;
use crate::symbols::declaring;
use crate::view::FileView;

#[derive(Debug)]
pub struct BundleRequest {
    pub task: Task,
    pub retrieval: Retrieval,
    /// Where the bundle is kept, if it is.
    pub keep: Option<KeepBundle>,
}

/// Keeps a bundle as `last_bundle.json` and `last_bundle.md`.
pub struct KeepBundle {
    pub dir: PathBuf,
    /// Writes a bundle as JSON and as Markdown, as its contract words it.
    pub render: Box<dyn FnOnce(&Bundle) -> (String, String) + Send>,
}

impl fmt::Debug for KeepBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepBundle").field("dir", &self.dir).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct BundleAnswer {
    pub bundle: Bundle,
    /// Every file was indexed when this was asked.
    pub is_complete: bool,
    /// Why the bundle could not be kept, where it could not.
    pub not_kept: Option<String>,
}

impl Engine {
    /// The lines that a task needs.
    pub async fn bundle(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        request: BundleRequest,
    ) -> Result<BundleAnswer, Failure> {
        let is_complete = self.settled(call).await?;
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        call.blocking(move |stop| {
            let BundleRequest { task, retrieval, keep } = request;
            let repository =
                CurrentFiles { shared: &shared, view: &view, retrieval, stop, read: RefCell::default() };
            let bundle = Deterministic.bundle(&task, &repository)?;
            stop.check()?;
            let not_kept = keep.and_then(|keep| {
                let (json, markdown) = (keep.render)(&bundle);
                write_bundle(&keep.dir, &json, &markdown).err().map(|error| error.to_string())
            });
            Ok(BundleAnswer { bundle, is_complete, not_kept })
        })
        .await
    }
}

fn write_bundle(dir: &Path, json: &str, markdown: &str) -> std::io::Result<()> {
    state::prepare_state_dir(dir)?;
    state::write(&dir.join("last_bundle.json"), json, 0o600)?;
    state::write(&dir.join("last_bundle.md"), markdown, 0o600)
}

/// The repository as it is now, under the current policy.
struct CurrentFiles<'a> {
    shared: &'a SharedEngine,
    view: &'a Arc<FileView>,
    retrieval: Retrieval,
    stop: &'a Stop,
    read: RefCell<HashMap<String, Option<Source>>>,
}

impl Repository for CurrentFiles<'_> {
    fn search(&self, text: &str, k: usize) -> Result<Vec<Passage>, Failure> {
        let request = SearchRequest {
            text: text.to_owned(),
            roots: Vec::new(),
            scope: Some(Arc::clone(self.view)),
            retrieval: self.retrieval,
            index: IndexChoice::Both,
            filter: SearchFilter::default(),
            page: ResultPage { offset: 0, limit: k },
        };
        let hits = line_hits(self.shared, self.view, &request, self.stop)?;
        Ok(hits
            .into_iter()
            .map(|hit| Passage { path: hit.path, start_line: hit.start_line, end_line: hit.end_line })
            .collect())
    }

    fn source(&self, path: &str) -> Option<Source> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        // The next search says why the bundle ends.
        if self.stop.is_stopped() {
            return None;
        }
        let source = RelPath::from_walk(path).ok().and_then(|rel_path| {
            let text = shown_text(self.shared, self.view, &rel_path).ok()?;
            let symbols = self.view.structure(path, &text).map(|parsed| parsed.symbols).unwrap_or_default();
            Some(Source { text, symbols })
        });
        self.read.borrow_mut().insert(path.to_owned(), source.clone());
        source
    }

    fn called(&self, path: &str, most: usize) -> Result<Vec<String>, Failure> {
        self.stop.check()?;
        // A file that may be opened need not be in the index: its kind may not be indexed at all.
        if self.source(path).is_some() {
            return Ok(vec![path.to_owned()]);
        }
        let shows = |known: &str| {
            self.shared.allows(known) && RelPath::from_walk(known).is_ok_and(|known| self.view.shows(&known))
        };
        let ends =
            |known: &str| known.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let admit = |row: &index::DocumentRow| {
            row.status == model::DocStatus::Ok && ends(&row.path) && shows(&row.path)
        };
        let (_, rows) = self.shared.index().list(&admit, usize::MAX, 0)?;
        let mut paths: Vec<String> = rows.into_iter().map(|row| row.document.path).collect();
        // The shorter ones are nearer to what was written.
        paths.sort_by_key(|known| (known.len(), known.clone()));
        paths.truncate(most);
        Ok(paths)
    }

    fn declaring(&self, symbol: &NamedSymbol, most: usize) -> Result<Vec<String>, Failure> {
        let mut paths = declaring(self.shared, self.view, &symbol.qualified, self.stop)?;
        // Sources before tests that declare something of the same name.
        paths.sort_by_key(|path| (is_test_file(path), path.clone()));
        paths.truncate(most);
        Ok(paths)
    }
}
