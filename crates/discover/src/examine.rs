//! One path, decided as the walk would decide it.

use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;

use model::{IgnoreRule, RelPath, SkipReason};
use policy::Guard;
use rustix::fs::FileType;

use crate::tree::{Inside, Judged, NoEntry, Tree, Wanted};
use crate::walk::{FoundEntry, FoundFile, WalkOptions};

/// What is to be said about a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Examined {
    File(FoundFile),
    Skipped {
        reason: SkipReason,
        size: u64,
        mtime_ns: i64,
    },
    /// A rule leaves it out, or a directory that holds it. Without a rule, it stands below something that the walk
    /// lists and does not enter.
    Ignored {
        rule: Option<IgnoreRule>,
    },
    /// Nothing is there.
    Gone,
    /// A directory that the walk would enter.
    Directory,
    /// It cannot be told; what is known of the path should be kept.
    Failed {
        message: String,
    },
}

/// Examines one path. For several at once an [`Examiner`] reads each ignore file only once.
pub fn examine(guard: &Guard, options: &WalkOptions, path: &RelPath) -> Examined {
    Examiner::new(guard, options).examine(path)
}

/// Examines paths and remembers the directories above them; for one batch, because it does not look twice.
pub struct Examiner<'g> {
    tree: Tree<'g>,
    directories: HashMap<Vec<u8>, Result<Rc<Inside>, Examined>>,
}

impl<'g> Examiner<'g> {
    pub fn new(guard: &'g Guard, options: &WalkOptions) -> Examiner<'g> {
        Examiner { tree: Tree::new(guard, options.gitignore), directories: HashMap::new() }
    }

    pub fn examine(&mut self, path: &RelPath) -> Examined {
        let answer = self.look(path.as_str().as_bytes());
        // A root that vanished takes every path with it, which says nothing about the files.
        if answer == Examined::Gone
            && let Err(error) = self.tree.still_there()
        {
            return Examined::Failed { message: error.to_string() };
        }
        answer
    }

    /// The rule of the ignore files that hold where a file lies that leaves out a path within it, as if it were a
    /// directory: a member of an archive.
    pub fn rule_within(&mut self, file: &RelPath, inner: &RelPath) -> Option<IgnoreRule> {
        let file = file.as_str().as_bytes();
        let slash = file.iter().rposition(|byte| *byte == b'/');
        // A folder that cannot be looked at any more has no rules; its archive was read before.
        let dir = self.directory(slash.map_or(b"", |slash| &file[..slash])).ok()?;
        let path = crate::tree::join(file, inner.as_str().as_bytes());
        let mut ends = (file.len() + 1..path.len()).filter(|at| path[*at] == b'/');
        ends.find_map(|end| dir.rules.rule_against(&path[..end], true))
            .or_else(|| dir.rules.rule_against(&path, false))
    }

    fn look(&mut self, path: &[u8]) -> Examined {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let dir = match self.directory(slash.map_or(b"", |slash| &path[..slash])) {
            Ok(dir) => dir,
            Err(answer) => return answer,
        };
        match self.judge(&dir, path) {
            Judged::Enter(_) => Examined::Directory,
            Judged::Ignored { rule, .. } => Examined::Ignored { rule: Some(rule) },
            Judged::Gone | Judged::Unwanted => Examined::Gone,
            Judged::FoundEntry(FoundEntry::File(file)) => Examined::File(file),
            Judged::FoundEntry(FoundEntry::Skipped { reason, size, mtime_ns, .. }) => {
                Examined::Skipped { reason, size, mtime_ns }
            }
            Judged::FoundEntry(
                FoundEntry::Failed { message, .. } | FoundEntry::RulesUnread { message, .. },
            ) => Examined::Failed { message },
            Judged::FoundEntry(FoundEntry::Ignored { rule, .. }) => Examined::Ignored { rule: Some(rule) },
        }
    }

    /// The directory if the walk would enter it, else what that means for whatever is in it.
    fn directory(&mut self, path: &[u8]) -> Result<Rc<Inside>, Examined> {
        if let Some(known) = self.directories.get(path) {
            return known.clone();
        }
        // The nearest known directory above, and then down again: a path may be too deep to recurse.
        let mut ends: Vec<usize> = vec![path.len()];
        let mut above = None;
        for slash in (0..path.len()).rev().filter(|at| path[*at] == b'/') {
            if let Some(known) = self.directories.get(&path[..slash]) {
                above = Some(known.clone()?);
                break;
            }
            ends.push(slash);
        }
        let mut dir = match above {
            Some(dir) => dir,
            None => match self.directories.get(b"".as_slice()) {
                Some(root) => root.clone()?,
                None => {
                    let root = match self.tree.top() {
                        Ok(top) => self.enter(Judged::Enter(top)),
                        Err(error) => Err(Examined::Failed { message: error.to_string() }),
                    };
                    self.directories.insert(Vec::new(), root.clone());
                    root?
                }
            },
        };
        for end in ends.into_iter().rev().filter(|end| *end > 0) {
            let entered = self.enter(self.judge(&dir, &path[..end]));
            self.directories.insert(path[..end].to_owned(), entered.clone());
            dir = entered?;
        }
        Ok(dir)
    }

    fn judge(&self, dir: &Inside, path: &[u8]) -> Judged {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let Ok(name) = CString::new(name) else { return Judged::Gone };
        let open = match self.tree.enter(&dir.place) {
            Ok(open) => open,
            Err(NoEntry::Gone) => return Judged::Gone,
            Err(NoEntry::FoundEntry(found)) => return Judged::FoundEntry(found),
        };
        self.tree.judge(&open, dir, path, &name, FileType::Unknown, Wanted::Everything)
    }

    fn enter(&self, judged: Judged) -> Result<Rc<Inside>, Examined> {
        let place = match judged {
            Judged::Enter(place) => place,
            Judged::Gone | Judged::Unwanted | Judged::FoundEntry(FoundEntry::File(_)) => {
                return Err(Examined::Gone);
            }
            Judged::Ignored { rule, .. } | Judged::FoundEntry(FoundEntry::Ignored { rule, .. }) => {
                return Err(Examined::Ignored { rule: Some(rule) });
            }
            Judged::FoundEntry(FoundEntry::Skipped { .. }) => return Err(Examined::Ignored { rule: None }),
            Judged::FoundEntry(
                FoundEntry::Failed { message, .. } | FoundEntry::RulesUnread { message, .. },
            ) => {
                return Err(Examined::Failed { message });
            }
        };
        match self.tree.enter(&place) {
            // Rules that cannot be read are the walk's to report.
            Ok(dir) => Ok(Rc::new(self.tree.inside(place, &dir, self.tree.rule_files(&dir), &mut |_| {}))),
            Err(NoEntry::Gone) => Err(Examined::Gone),
            Err(NoEntry::FoundEntry(FoundEntry::Failed { message, .. })) => Err(Examined::Failed { message }),
            Err(NoEntry::FoundEntry(_)) => Err(Examined::Ignored { rule: None }),
        }
    }
}
