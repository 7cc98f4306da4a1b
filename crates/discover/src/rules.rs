//! The ignore files in force in one directory: its own and those of the directories above, up to the root.

use std::sync::Arc;

use model::IgnoreRule;

use crate::gitignore::{Decision, IgnoreFile, IgnoreVerdict};

/// A chain of ignore files, the nearest first. Directories without ignore files share their parent's.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    /// Where a path stops being about the directories above this one: the length of the directory's path
    /// with its `/`.
    base: usize,
    gitignore: Option<IgnoreFile>,
    ignore: Option<IgnoreFile>,
    /// The directory is a repository of its own, to which `.gitignore` files further up do not apply.
    repository: bool,
    /// Some link of the chain has an `.ignore` file.
    any_ignore: bool,
}

impl Rules {
    /// The rules inside `directory`, given those outside.
    pub(crate) fn inside(
        above: &Arc<Rules>,
        directory: &[u8],
        gitignore: Option<IgnoreFile>,
        ignore: Option<IgnoreFile>,
        repository: bool,
    ) -> Arc<Rules> {
        let gitignore = gitignore.filter(|file| !file.is_empty());
        let ignore = ignore.filter(|file| !file.is_empty());
        if gitignore.is_none() && ignore.is_none() && !repository {
            return Arc::clone(above);
        }
        Arc::new(Rules {
            base: if directory.is_empty() { 0 } else { directory.len() + 1 },
            any_ignore: above.any_ignore || ignore.is_some(),
            above: Some(Arc::clone(above)),
            gitignore,
            ignore,
            repository,
        })
    }

    /// Whether a path (from the root, directly inside this directory) is left out. As with ripgrep, what any
    /// `.ignore` file says outranks every `.gitignore`; among files of one name the nearest outranks.
    pub(crate) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        self.decide(path, is_dir).is_some_and(|decision| decision.verdict == IgnoreVerdict::Ignore)
    }

    /// The rule that leaves a path out, if one does.
    pub(crate) fn rule_against(&self, path: &[u8], is_dir: bool) -> Option<IgnoreRule> {
        let decision = self.decide(path, is_dir)?;
        (decision.verdict == IgnoreVerdict::Ignore).then(|| decision.rule())
    }

    fn decide(&self, path: &[u8], is_dir: bool) -> Option<Decision<'_>> {
        let name = path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..]);
        if self.any_ignore {
            for rules in self.chain() {
                if let Some(file) = &rules.ignore
                    && let Some(decision) = file.decide(&path[rules.base..], name, is_dir)
                {
                    return Some(decision);
                }
            }
        }
        for rules in self.chain() {
            if let Some(file) = &rules.gitignore
                && let Some(decision) = file.decide(&path[rules.base..], name, is_dir)
            {
                return Some(decision);
            }
            if rules.repository {
                break;
            }
        }
        None
    }

    fn chain(&self) -> impl Iterator<Item = &Rules> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }
}

impl Drop for Rules {
    /// Unwinds a long chain without recursion: a hostile tree may hold an ignore file per level.
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(mut rules) = above.and_then(Arc::into_inner) {
            above = rules.above.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Rules;
    use crate::gitignore::IgnoreFile;

    fn file(text: &str) -> Option<IgnoreFile> {
        Some(IgnoreFile::parse(".gitignore", text.as_bytes()))
    }

    #[test]
    fn the_nearest_file_wins_and_ignore_outranks_gitignore() {
        let none = Arc::new(Rules::default());
        let root = Rules::inside(&none, b"", file("*.log\n/out\n"), None, false);
        let nested = Rules::inside(&root, b"a/b", file("!keep.log\n"), None, false);
        assert!(root.ignores(b"x.log", false) && root.ignores(b"out", true));
        assert!(nested.ignores(b"a/b/x.log", false));
        assert!(!nested.ignores(b"a/b/keep.log", false));
        assert!(!nested.ignores(b"a/b/out", true));

        let quiet = Rules::inside(&root, b"a", None, file("!x.log\n"), false);
        let loud = Rules::inside(&quiet, b"a/c", file("x.log\n"), None, false);
        assert!(!loud.ignores(b"a/c/x.log", false), "any .ignore outranks every .gitignore");
    }

    #[test]
    fn a_nested_repository_starts_afresh() {
        let none = Arc::new(Rules::default());
        let root = Rules::inside(&none, b"", file("*.log\n"), file("*.tmp\n"), true);
        let nested = Rules::inside(&root, b"sub", None, None, true);
        assert!(!nested.ignores(b"sub/x.log", false));
        assert!(nested.ignores(b"sub/x.tmp", false), ".ignore is not git's and goes on applying");
    }

    #[test]
    fn directories_without_files_share_their_parents_rules() {
        let root = Rules::inside(&Arc::new(Rules::default()), b"", file("x\n"), None, false);
        assert!(Arc::ptr_eq(&root, &Rules::inside(&root, b"a", file("# only a comment\n"), None, false)));
    }
}
