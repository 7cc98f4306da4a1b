//! Bundles over the repository as it is now, and the last one kept for people to look at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use model::{Failure, Filter, IndexChoice, Query, RelPath};
use retrieve::bundle::NamedSymbol;
use retrieve::test_file::is_test_file;
use retrieve::{Bundle, Bundler, Deterministic, Passage, Repository, Source, Task};

use super::files::shown;
use super::search::find;
use super::symbols::declaring;
use super::view::RepoView;
use super::{Repo, Retrieval};
use crate::api::Call;
use crate::engine::{Shared, blocking};
use crate::state;

#[derive(Debug, Clone)]
pub struct BundleRequest {
    pub task: Task,
    pub retrieval: Retrieval,
}

impl Repo {
    /// The lines that a task needs; `true` beside it when every file was indexed.
    pub async fn bundle(&self, call: &Call, request: BundleRequest) -> Result<(Bundle, bool), Failure> {
        self.engine
            .audited(call, async {
                self.permitted(request.retrieval)?;
                let is_complete = self.settled(call).await?;
                let (shared, view) = (self.shared(), Arc::clone(&self.config.view));
                let bundle = blocking(call, move || {
                    let repository = Now {
                        shared: &shared,
                        view: &view,
                        retrieval: request.retrieval,
                        read: RefCell::default(),
                    };
                    Deterministic.bundle(&request.task, &repository)
                })
                .await?;
                Ok((bundle, is_complete))
            })
            .await
    }

    /// Puts `last_bundle.json` and `last_bundle.md` into the data directory.
    pub async fn keep_bundle(&self, call: &Call, json: String, markdown: String) -> Result<(), String> {
        let dir = self.config.data_dir.clone();
        let kept =
            blocking(call, move || Ok(keep(&dir, &json, &markdown).map_err(|error| error.to_string()))).await;
        kept.unwrap_or_else(|failure| Err(failure.message))
    }
}

fn keep(dir: &Path, json: &str, markdown: &str) -> std::io::Result<()> {
    state::prepare_state_dir(dir)?;
    state::write(&dir.join("last_bundle.json"), json, 0o600)?;
    state::write(&dir.join("last_bundle.md"), markdown, 0o600)
}

/// The repository as it is now, under the current policy.
struct Now<'a> {
    shared: &'a Shared,
    view: &'a Arc<RepoView>,
    retrieval: Retrieval,
    read: RefCell<HashMap<String, Option<Source>>>,
}

impl Repository for Now<'_> {
    fn search(&self, text: &str, k: usize) -> Result<Vec<Passage>, Failure> {
        let query = Query { text: text.to_owned(), k, index: IndexChoice::Both, filter: Filter::default() };
        let hits = find(self.shared, self.view, &query, self.retrieval)?;
        Ok(hits
            .into_iter()
            .map(|hit| Passage { path: hit.path, start_line: hit.start_line, end_line: hit.end_line })
            .collect())
    }

    fn source(&self, path: &str) -> Option<Source> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let source = RelPath::from_walk(path).ok().and_then(|rel_path| {
            let text = shown(self.shared, self.view, &rel_path).ok()?;
            let symbols = self.view.structure(path, &text).map(|parsed| parsed.symbols).unwrap_or_default();
            Some(Source { text, symbols })
        });
        self.read.borrow_mut().insert(path.to_owned(), source.clone());
        source
    }

    fn called(&self, path: &str, most: usize) -> Result<Vec<String>, Failure> {
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
        let mut paths = declaring(self.shared, self.view, &symbol.qualified)?;
        // Sources before tests that declare something of the same name.
        paths.sort_by_key(|path| (is_test_file(path), path.clone()));
        paths.truncate(most);
        Ok(paths)
    }
}
