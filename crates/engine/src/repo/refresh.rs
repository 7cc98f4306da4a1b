//! Bringing the index up to date on request, and what that changed since the last request.

use std::path::{Path, PathBuf};
use std::time::Instant;

use model::{Failure, IndexMode};

use super::Repo;
use crate::api::Call;
use crate::engine::blocking;
use crate::seen::Seen;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    pub added: u64,
    pub updated: u64,
    pub removed: u64,
    pub duration_ms: u64,
    pub timestamp: String,
    /// Set where another process keeps the index, which then decides when.
    pub held_by: Option<String>,
}

impl Repo {
    /// Brings the index up to date; with `force`, builds it anew.
    pub async fn refresh(&self, call: &Call, force: bool) -> Result<Refreshed, Failure> {
        let started = Instant::now();
        let mode = if force { IndexMode::Full } else { IndexMode::Incremental };
        self.engine
            .audited(call, async {
                let held_by = self.engine.refresh(call, mode).await?.err();
                let (shared, repo) = (self.shared(), self.clone());
                let (difference, timestamp) = blocking(call, move || {
                    let view = &repo.config.view;
                    let now = Seen::now(&shared.index(), &|row| view.shows_document(row))?;
                    let file = file(&repo.config.data_dir);
                    let difference = now.since(&Seen::read(&file).unwrap_or_default(), force);
                    now.write(&file)?;
                    Ok((difference, now.timestamp))
                })
                .await?;
                Ok(Refreshed {
                    added: difference.added,
                    updated: difference.updated,
                    removed: difference.removed,
                    duration_ms: started.elapsed().as_millis() as u64,
                    timestamp,
                    held_by,
                })
            })
            .await
    }
}

/// When the last refresh was.
pub(super) fn last(data_dir: &Path) -> Option<String> {
    Seen::read(&file(data_dir)).map(|seen| seen.timestamp)
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("refreshed.json")
}
