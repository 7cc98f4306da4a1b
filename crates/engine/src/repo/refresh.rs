//! Bringing the index up to date on request, and what that changed since the last request.
//!
//! The index follows the files by itself. What a refresh counts is the difference to the files that the last refresh saw,
//! which is why that list is kept: a file is added, updated (its content or its time stamp moved) or removed once,
//! however often the index was brought up to date in between.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use index::Index;
use model::{ErrorCode, Failure, IndexMode};
use serde::{Deserialize, Serialize};

use super::Repo;
use super::view::RepoView;
use crate::api::Call;
use crate::engine::blocking;
use crate::state;

const FILE: &str = "refreshed.json";
const VERSION: u32 = 1;

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

/// What the last refresh saw.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Seen {
    version: u32,
    timestamp: String,
    /// Size, time stamp in nanoseconds, the first half of the content's hash.
    files: BTreeMap<String, (u64, i64, String)>,
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
                let (added, updated, removed, timestamp) = blocking(call, move || {
                    let now = Seen {
                        version: VERSION,
                        timestamp: now(),
                        files: files(&shared.index(), &repo.config.view)?,
                    };
                    let before = read(&repo.config.data_dir).unwrap_or_default();
                    let (added, updated, removed) = compare(&before, &now, force);
                    write(&repo.config.data_dir, &now)?;
                    Ok((added, updated, removed, now.timestamp))
                })
                .await?;
                let duration_ms = started.elapsed().as_millis() as u64;
                Ok(Refreshed { added, updated, removed, duration_ms, timestamp, held_by })
            })
            .await
    }
}

/// When the last refresh was.
pub(super) fn last(data_dir: &Path) -> Option<String> {
    read(data_dir).map(|seen| seen.timestamp)
}

pub(super) fn now() -> String {
    let now = jiff::Timestamp::now();
    format!("{:.3}", now)
}

fn files(index: &Index, view: &RepoView) -> Result<BTreeMap<String, (u64, i64, String)>, Failure> {
    let (_, rows) = index.list(&|row| view.shows_document(row), usize::MAX, 0)?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let hash =
                row.content_hash.map(|hash| hash.0[..16].iter().map(|byte| format!("{byte:02x}")).collect());
            (row.path, (row.size, row.mtime_ns, hash.unwrap_or_default()))
        })
        .collect())
}

fn compare(before: &Seen, now: &Seen, force: bool) -> (u64, u64, u64) {
    let (mut added, mut updated) = (0, 0);
    for (path, state) in &now.files {
        match before.files.get(path) {
            None => added += 1,
            Some(known) if force || known != state => updated += 1,
            Some(_) => {}
        }
    }
    let removed = before.files.keys().filter(|path| !now.files.contains_key(*path)).count() as u64;
    (added, updated, removed)
}

#[allow(clippy::disallowed_methods, reason = "a file of our own")]
fn read(data_dir: &Path) -> Option<Seen> {
    let text = std::fs::read_to_string(data_dir.join(FILE)).ok()?;
    // An unknown or damaged one is as good as none: everything then counts as added.
    serde_json::from_str(&text).ok().filter(|seen: &Seen| seen.version == VERSION)
}

fn write(data_dir: &Path, seen: &Seen) -> Result<(), Failure> {
    let text = serde_json::to_string(seen).unwrap_or_default();
    state::prepare_state_dir(data_dir)
        .and_then(|()| state::write(&data_dir.join(FILE), &text, 0o600))
        .map_err(|error| {
            Failure::new(
                ErrorCode::ExtractFailed,
                format!(
                    "the index is up to date, but {} cannot be written: {error}",
                    data_dir.join(FILE).display()
                ),
            )
        })
}
