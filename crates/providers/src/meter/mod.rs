//! What was paid for: calls, pages, minutes and tokens per day, provider and model, kept in a file; and the user's limits.

mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{Capability, ProviderError, ProviderErrorKind, Usage, UsageMeter, WallClock};
use serde::{Deserialize, Serialize};

use file::LedgerFile;

const DAY: u64 = 24 * 3600;

/// What one model was used for on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostEntry {
    /// In UTC, as `2026-11-18`.
    pub day: String,
    pub provider: String,
    pub model: String,
    pub capability: Capability,
    #[serde(flatten)]
    pub used: Usage,
}

/// A limit of the user's, and the setting that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendLimit {
    pub most: u64,
    /// For the message that says why providers pause.
    pub setting: &'static str,
}

/// What all providers together may use on one day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpendLimits {
    pub calls: Option<SpendLimit>,
    /// Pages of OCR.
    pub pages: Option<SpendLimit>,
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    /// Written by a later version of the program.
    #[error("{}: its format {found} is newer than this program", path.display())]
    Newer { path: PathBuf, found: u64 },
}

/// Counts what providers are paid for. Several processes may keep the same file: each sees what the others used.
#[derive(Debug)]
pub struct CostLedger {
    state: Mutex<LedgerState>,
    clock: Arc<dyn WallClock>,
    limits: SpendLimits,
}

#[derive(Debug)]
struct LedgerState {
    file: LedgerFile,
    /// What could not be written, so that limits hold on a full disk, too.
    unwritten: BTreeMap<CostKey, Usage>,
    /// What is set aside for the requests under way.
    reserved: Usage,
}

/// Day, provider, model and capability.
type CostKey = (String, String, String, Capability);

impl CostLedger {
    /// Opens the file, or creates it.
    pub fn open(
        path: &Path,
        limits: SpendLimits,
        clock: Arc<dyn WallClock>,
    ) -> Result<CostLedger, LedgerError> {
        let file = LedgerFile::open(path)?;
        let state = LedgerState { file, unwritten: BTreeMap::new(), reserved: Usage::default() };
        Ok(CostLedger { state: Mutex::new(state), clock, limits })
    }

    /// What is in a file, without changing it. A file that does not exist yet is empty.
    pub fn read(path: &Path) -> Result<Vec<CostEntry>, LedgerError> {
        Ok(LedgerFile::read(path)?.into_iter().map(entry).collect())
    }

    /// Everything since the file was begun, the oldest day first.
    pub fn entries(&self) -> Vec<CostEntry> {
        self.lock().totals().into_iter().map(entry).collect()
    }

    /// What was used today by all providers together.
    pub fn today(&self) -> Usage {
        self.lock().used_on(&self.day())
    }

    pub fn limits(&self) -> SpendLimits {
        self.limits
    }

    fn day(&self) -> String {
        let days = self.clock.since_1970().as_secs() / DAY;
        day_name(days)
    }

    fn until_midnight(&self) -> Duration {
        let since_1970 = self.clock.since_1970();
        Duration::from_secs(DAY - since_1970.as_secs() % DAY)
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageMeter for CostLedger {
    fn reserve(&self, provider: &str, capability: Capability, wanted: Usage) -> Result<(), ProviderError> {
        if self.limits == SpendLimits::default() {
            return Ok(());
        }
        // Looked at and set aside under one lock: two requests cannot have the same last page.
        let mut state = self.lock();
        let mut sum = state.used_on(&self.day());
        add(&mut sum, &state.reserved);
        add(&mut sum, &wanted);
        let exceeded = |limit: Option<SpendLimit>, sum: u64, what: &str| {
            let SpendLimit { most, setting } = limit.filter(|limit| sum > limit.most)?;
            Some(format!("the limit of {most} {what} a day ({setting}) is used up"))
        };
        let reason = exceeded(self.limits.calls, sum.calls, "calls").or_else(|| {
            let pages = self.limits.pages.filter(|_| capability == Capability::Ocr);
            exceeded(pages, sum.pages, "pages")
        });
        match reason {
            Some(reason) => {
                let after = self.until_midnight();
                Err(ProviderError::new(provider, ProviderErrorKind::Paused { after, reason }))
            }
            None => {
                add(&mut state.reserved, &wanted);
                Ok(())
            }
        }
    }

    fn release(&self, wanted: Usage) {
        if self.limits == SpendLimits::default() {
            return;
        }
        let reserved = &mut self.lock().reserved;
        reserved.calls = reserved.calls.saturating_sub(wanted.calls);
        reserved.pages = reserved.pages.saturating_sub(wanted.pages);
    }

    fn pages_left(&self) -> Option<u64> {
        let limit = self.limits.pages?;
        let mut state = self.lock();
        let used = state.used_on(&self.day()).pages.saturating_add(state.reserved.pages);
        Some(limit.most.saturating_sub(used))
    }

    fn record(&self, provider: &str, model: &str, capability: Capability, used: Usage) {
        let key = (self.day(), provider.to_owned(), model.to_owned(), capability);
        let mut state = self.lock();
        if let Err(error) = state.file.append(&entry((key.clone(), used))) {
            tracing::warn!(%error, "what a provider used could not be written down");
            add(state.unwritten.entry(key).or_default(), &used);
        }
    }
}

impl LedgerState {
    /// What was used on a day by all providers together.
    fn used_on(&mut self, day: &str) -> Usage {
        let mut sum = Usage::default();
        for ((of, ..), used) in self.totals() {
            if of == day {
                add(&mut sum, &used);
            }
        }
        sum
    }

    fn totals(&mut self) -> BTreeMap<CostKey, Usage> {
        if let Err(error) = self.file.refresh() {
            tracing::warn!(%error, "what other processes used could not be read");
        }
        let mut totals = self.file.totals().clone();
        for (key, used) in &self.unwritten {
            add(totals.entry(key.clone()).or_default(), used);
        }
        totals
    }
}

fn entry(((day, provider, model, capability), used): (CostKey, Usage)) -> CostEntry {
    CostEntry { day, provider, model, capability, used }
}

fn add(sum: &mut Usage, used: &Usage) {
    sum.calls = sum.calls.saturating_add(used.calls);
    sum.pages = sum.pages.saturating_add(used.pages);
    sum.audio_ms = sum.audio_ms.saturating_add(used.audio_ms);
    sum.tokens_in = sum.tokens_in.saturating_add(used.tokens_in);
    sum.tokens_out = sum.tokens_out.saturating_add(used.tokens_out);
    sum.characters = sum.characters.saturating_add(used.characters);
}

/// The date so many days after 1970-01-01.
fn day_name(days: u64) -> String {
    let since_1970 = jiff::SignedDuration::from_secs(days.saturating_mul(DAY) as i64);
    let moment = jiff::Timestamp::UNIX_EPOCH.saturating_add(since_1970).unwrap_or(jiff::Timestamp::MAX);
    moment.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, name) in [(0, "1970-01-01"), (19_782, "2024-02-29"), (20_410, "2025-11-18")] {
            assert_eq!(day_name(days), name);
        }
    }
}
