//! How far the index is, and waiting for it: a small folder is indexed in a moment, and an answer about all of it is worth
//! that moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Failure, Progress};

use crate::call::Call;
use crate::corpus::ModelNames;
use crate::engine::Engine;
use crate::refresh;
use crate::view::FileView;

/// How long a call waits for the index to be complete before it answers from what there is, and says so.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_SMALL: Duration = Duration::from_secs(5);
/// So many files are a small folder.
const SMALL: u64 = 500;
/// How often a call that waits looks how many files there are by now, and whether another process has finished.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is served, how far it is indexed, and by which models.
#[derive(Debug, Clone)]
pub struct Stats {
    pub root: String,
    pub state_dir: String,
    pub indexing: Progress,
    pub models: ModelNames,
}

/// How far the index of the files of a view is.
#[derive(Debug, Clone)]
pub struct IndexStatus {
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

impl Engine {
    pub async fn stats(&self, _: &Call) -> Result<Stats, Failure> {
        Ok(Stats {
            root: self.served(),
            state_dir: self.state_dir().display().to_string(),
            indexing: self.progress(),
            models: self.shared.config.models.clone(),
        })
    }

    /// The status of what a view shows; the last refresh is the one that `data_dir` remembers.
    pub async fn status(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        data_dir: PathBuf,
    ) -> Result<IndexStatus, Failure> {
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        let (root, is_built) = (self.served(), self.is_built());
        call.blocking(move |_| {
            let progress = shared.progress();
            let (files, _) = shared.index().list(&|row| view.shows_document(row), 0, 0)?;
            Ok(IndexStatus {
                root,
                data_dir: data_dir.display().to_string(),
                is_built,
                is_running: progress.running,
                last_refresh: refresh::last(&data_dir),
                files,
                adapters: view.adapters(),
            })
        })
        .await
    }

    /// Waits for a running pass, within reason. `false` when it still runs.
    pub(crate) async fn settled(&self, call: &Call) -> Result<bool, Failure> {
        let mut running = self.shared.running();
        let started = Instant::now();
        loop {
            let progress = self.current_progress(call).await?;
            if !progress.running {
                return Ok(true);
            }
            let waited = started.elapsed();
            let patience = if progress.scanned <= SMALL { PATIENCE_SMALL } else { PATIENCE };
            if waited >= patience {
                return Ok(false);
            }
            // The end of a job of this process wakes this at once; the rest is looked at now and then.
            let pause = if waited < PATIENCE { PATIENCE - waited } else { LOOK_EVERY };
            tokio::select! {
                biased;
                failure = call.ended() => return Err(failure),
                _ = running.wait_for(|running| !running), if self.shared.is_writer() => {}
                () = tokio::time::sleep(if self.shared.is_writer() { pause } else { LOOK_EVERY }) => {}
            }
        }
    }

    /// What another process says of its progress is in a file, which no async thread may read.
    async fn current_progress(&self, call: &Call) -> Result<Progress, Failure> {
        if self.shared.is_writer() {
            return Ok(self.progress());
        }
        let shared = Arc::clone(&self.shared);
        call.blocking(move |_| Ok(shared.progress())).await
    }
}
