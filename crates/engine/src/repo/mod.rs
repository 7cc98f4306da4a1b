//! A code repository as its interrogators see it: a view on the files of the root, its outlines, bundles and an audit
//! log. No provider, no vector and no network, unless the operator asked for meanings as well.

mod bundle;
mod files;
mod refresh;
mod search;
mod symbols;
mod view;
mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ErrorCode, Failure};

use crate::api::Call;
use crate::audit::AuditLog;
use crate::engine::{Engine, Shared, blocking};

pub use bundle::BundleRequest;
pub use files::{ListedPath, OpenedLines};
pub use refresh::Refreshed;
pub use search::{RepoHit, RepoHits, Retrieval};
pub use symbols::{DefinitionFound, Definitions, FileStructure, ReferenceFound, References};
pub use view::{RepoView, ViewError, default_exclude_globs, default_include_extensions};

/// How long a call waits for the index to be complete before it answers from what there is, and says so: a small folder is
/// done in a moment, and an answer about all of it is worth that moment.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_SMALL: Duration = Duration::from_secs(5);
/// So many files are a small folder.
const SMALL: u64 = 500;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What the operator decided.
#[derive(Debug, Clone)]
pub struct RepoConfig {
    /// Where the audit log, the last bundle and the last refresh are kept.
    pub data_dir: PathBuf,
    pub view: Arc<RepoView>,
    /// Search by meaning may be asked for.
    pub semantic: bool,
    /// How texts without structure are cut, for the record.
    pub chunk_lines: usize,
    pub chunk_overlap: usize,
}

/// The repository behind an engine. Cheap to clone.
#[derive(Clone)]
pub struct Repo {
    engine: Arc<Engine>,
    config: RepoConfig,
    log: Arc<AuditLog>,
}

/// How far the index is.
#[derive(Debug, Clone)]
pub struct RepoStatus {
    pub root: String,
    pub data_dir: String,
    /// Every file was looked at once, now or before the last restart: what was found then can be searched.
    pub is_built: bool,
    /// A pass over the files is under way.
    pub is_running: bool,
    /// When the index last caught up with the files on request: RFC 3339.
    pub last_refresh: Option<String>,
    pub files: u64,
    /// The languages that have outlines.
    pub adapters: Vec<&'static str>,
}

impl Repo {
    pub fn new(engine: &Arc<Engine>, config: RepoConfig) -> Repo {
        let redactor = Arc::clone(engine.shared.guard.policy().redactor());
        let log = Arc::new(AuditLog::new(Some(&config.data_dir), redactor));
        Repo { engine: Arc::clone(engine), config, log }
    }

    pub fn root(&self) -> &Path {
        self.engine.root()
    }

    pub fn config(&self) -> &RepoConfig {
        &self.config
    }

    /// What was called. The clones of a repository share it.
    pub fn log(&self) -> &Arc<AuditLog> {
        &self.log
    }

    pub async fn status(&self, call: &Call) -> Result<RepoStatus, Failure> {
        let shared = self.shared();
        let repo = self.clone();
        self.engine
            .audited(
                call,
                blocking(call, move || {
                    let progress = shared.progress();
                    let index = shared.index();
                    let view = &repo.config.view;
                    let (files, _) = index.list(&|row| view.shows_document(row), 0, 0)?;
                    let last = refresh::last(&repo.config.data_dir);
                    Ok(RepoStatus {
                        root: repo.root().display().to_string(),
                        data_dir: repo.config.data_dir.display().to_string(),
                        is_built: repo.engine.is_built(),
                        is_running: progress.running,
                        last_refresh: last,
                        files,
                        adapters: view.adapters(),
                    })
                }),
            )
            .await
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.engine.shared)
    }

    /// Waits for a running pass, within reason. `false` when it still runs.
    async fn settled(&self, call: &Call) -> Result<bool, Failure> {
        let shared = self.shared();
        let started = Instant::now();
        loop {
            let progress = shared.progress();
            if !progress.running {
                return Ok(true);
            }
            let patience = if progress.scanned <= SMALL { PATIENCE_SMALL } else { PATIENCE };
            if started.elapsed() >= patience {
                return Ok(false);
            }
            tokio::select! {
                () = call.cancel.cancelled() => {
                    return Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled"));
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}
