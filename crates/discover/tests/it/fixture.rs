//! A directory made of one text, and what the walk says about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex};

use discover::{FoundEntry, WalkError, WalkOptions, walk};
use model::RelPath;
use policy::{Guard, Policy, PolicyConfig, Root};

pub(crate) const OPTIONS: WalkOptions = WalkOptions { gitignore: true, threads: 3 };

/// Shared by all trees of a test, because the secret rules take a while to compile.
static POLICY: LazyLock<Arc<Policy>> = LazyLock::new(|| policy(false));
static FOLLOWING: LazyLock<Arc<Policy>> = LazyLock::new(|| policy(true));

fn policy(follow_symlinks: bool) -> Arc<Policy> {
    let config = PolicyConfig { follow_symlinks, ..PolicyConfig::default() };
    Arc::new(Policy::new(config).unwrap())
}

pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) guard: Guard,
}

impl Fixture {
    /// `//- path` starts a file, `//- path -> target` makes a link, `//- path/` a directory.
    pub(crate) fn new(text: &str) -> Fixture {
        Self::with(text, false)
    }

    pub(crate) fn following_links(text: &str) -> Fixture {
        Self::with(text, true)
    }

    fn with(text: &str, follow_symlinks: bool) -> Fixture {
        // In memory where there is such a place: some tests make thousands of files.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let policy = if follow_symlinks { &FOLLOWING } else { &POLICY };
        let guard = Guard::new(Arc::new(Root::open(dir.path()).unwrap()), Arc::clone(policy));
        let fixture = Fixture { dir, guard };
        for part in text.split("//- ").skip(1) {
            let (name, content) = part.split_once('\n').unwrap_or((part, ""));
            fixture.make(name.trim(), content);
        }
        fixture
    }

    fn make(&self, name: &str, content: &str) {
        if let Some((link, target)) = name.split_once(" -> ") {
            self.parent(link);
            std::os::unix::fs::symlink(target, self.path(link)).unwrap();
        } else if let Some(dir) = name.strip_suffix('/') {
            std::fs::create_dir_all(self.path(dir)).unwrap();
        } else {
            self.write(name, content);
        }
    }

    pub(crate) fn path(&self, rel: &str) -> PathBuf {
        self.dir.path().join(rel)
    }

    pub(crate) fn parent(&self, rel: &str) {
        std::fs::create_dir_all(self.path(rel).parent().unwrap()).unwrap();
    }

    pub(crate) fn write(&self, rel: &str, content: &str) {
        self.parent(rel);
        std::fs::write(self.path(rel), content).unwrap();
    }

    pub(crate) fn walk(&self) -> Result<Vec<FoundEntry>, WalkError> {
        self.walk_with(&OPTIONS)
    }

    pub(crate) fn walk_with(&self, options: &WalkOptions) -> Result<Vec<FoundEntry>, WalkError> {
        let found = Mutex::new(Vec::new());
        walk(&self.guard, options, &AtomicBool::new(false), &|one| found.lock().unwrap().push(one))?;
        Ok(found.into_inner().unwrap())
    }

    /// The paths of the files found, and what is said about the others.
    pub(crate) fn listed(&self) -> (BTreeSet<String>, BTreeMap<String, String>) {
        let mut files = BTreeSet::new();
        let mut others = BTreeMap::new();
        for found in self.walk().unwrap() {
            let fresh = match found {
                FoundEntry::File(file) => files.insert(file.path.to_string()),
                FoundEntry::Skipped { display, reason, .. } => {
                    others.insert(display, reason.code().as_str().into()).is_none()
                }
                FoundEntry::Failed { display, message } => others.insert(display, message).is_none(),
                FoundEntry::Ignored { .. } | FoundEntry::RulesUnread { .. } => continue,
            };
            assert!(fresh, "everything is said once");
        }
        (files, others)
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.listed().0.into_iter().collect()
    }
}

pub(crate) fn rel(text: &str) -> RelPath {
    RelPath::from_walk(text).unwrap()
}

/// Every file and link below a directory, by the plainest of means.
pub(crate) fn everything_below(dir: &Path) -> BTreeSet<String> {
    fn visit(root: &Path, dir: &Path, all: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                visit(root, &entry.path(), all);
            } else {
                all.insert(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut all = BTreeSet::new();
    visit(dir, dir, &mut all);
    all
}
