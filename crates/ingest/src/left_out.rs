//! Tells the owner of the files when one line of an ignore file leaves out nearly everything: a search that finds nothing
//! then has a cause that the user cannot see.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use model::IgnoreRule;
use policy::Guard;

/// A line that leaves out this part of all entries is worth a word…
const NEARLY_ALL: (u64, u64) = (4, 5);
/// …unless the tree is tiny.
const FEW: u64 = 10;
/// Folders remembered for each rule, and files counted below them: enough to name a figure, bounded by what it may cost.
const MOST_FOLDERS: usize = 10_000;
const MOST_FILES: u64 = 200_000;

/// What the lines of ignore files left out in one walk.
#[derive(Default)]
pub(crate) struct LeftOut(Mutex<BTreeMap<IgnoreRule, LeftOutEntries>>);

#[derive(Default)]
struct LeftOutEntries {
    files: u64,
    folders: u64,
    paths: Vec<String>,
}

impl LeftOut {
    pub(crate) fn note(&self, path: String, rule: IgnoreRule, is_dir: bool) {
        if !matches!(rule, IgnoreRule::IgnoreFile { .. }) {
            return;
        }
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = rules.entry(rule).or_default();
        if !is_dir {
            entries.files += 1;
            return;
        }
        entries.folders += 1;
        if entries.paths.len() < MOST_FOLDERS {
            entries.paths.push(path);
        }
    }

    /// A sentence for each line that left out nearly all of what the walk met, besides the entries that were `scanned`.
    pub(crate) fn notes(self, guard: &Guard, scanned: u64) -> Vec<String> {
        let rules = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let of_files: u64 = rules.values().map(|entries| entries.files + entries.folders).sum();
        let all = scanned + of_files;
        rules
            .iter()
            .filter(|(rule, entries)| {
                let share = entries.files + entries.folders;
                let nearly_all = share * NEARLY_ALL.1 >= all * NEARLY_ALL.0 && all >= FEW;
                (nearly_all && !is_of_a_cache(rule)) || scanned == 0
            })
            .map(|(rule, entries)| {
                let (below, is_more) = discover::count_files(guard, &entries.paths, MOST_FILES);
                let is_more = is_more || entries.folders > entries.paths.len() as u64;
                let files = entries.files + below;
                let at_least = if is_more { "at least " } else { "" };
                let include = match rule {
                    IgnoreRule::IgnoreFile { file, .. } if file.ends_with(".gitignore") => {
                        "set ingest.gitignore: false, or list what you want with a leading ! in a file named \
                         .ignore, which outranks .gitignore"
                    }
                    _ => "change that line",
                };
                format!(
                    "{at_least}{files} of {} files are left out by {rule}. To include them: {include}.",
                    files + scanned
                )
            })
            .collect()
    }
}

/// Tools put an ignore file that leaves out everything beside it into their hidden folders of caches: everyone knows.
fn is_of_a_cache(rule: &IgnoreRule) -> bool {
    let IgnoreRule::IgnoreFile { file, .. } = rule else { return false };
    file.rsplit_once('/').is_some_and(|(folder, _)| folder.split('/').any(|part| part.starts_with('.')))
}
