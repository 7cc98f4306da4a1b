//! The two ways to bring the index up to date: a scan of the whole root, and an update of named paths.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use discover::{Examined, Examiner, FoundEntry, FoundFile, WalkError, WalkOptions};
use index::{DocChange, DocumentRow, Index, IndexError, KnownDocument};
use model::{Capability, DocStatus, ErrorCode, Failure, IndexMode, RelPath, SkipReason, WallClock};
use policy::Guard;

use crate::budget::BytesBudget;
use crate::change::unopened;
use crate::commit::{Committer, Weighed};
use crate::counters::Counters;
use crate::documents::{DocumentReader, Extractor};
use crate::left_out::LeftOut;
use crate::outcome::FileOutcome;
use crate::outlet::Outlet;
use crate::plan::{Before, ScanLedger, is_unchanged};
use crate::represent::Representer;
use crate::rules::IngestRules;

/// Bytes read but not yet committed: a batch that is being written, and the next one. Cut into chunks they take about a
/// third more memory.
const IN_FLIGHT_BYTES: u64 = 32 << 20;

/// The setting that remembers under which rules the catalog was filled.
const RULES_SETTING: &str = "ingest_rules";

/// Whether a pass over all files has ended at least once, in this process or an earlier one: it leaves its rules behind.
pub fn has_finished(index: &Index) -> Result<bool, IndexError> {
    Ok(index.setting(RULES_SETTING)?.is_some())
}

/// Notes that an index holds all there is, under rules that are not those of a scan: those of `origin`.
pub fn set_finished(index: &Index, origin: &str) -> Result<(), IndexError> {
    if index.setting(RULES_SETTING)?.as_deref() == Some(origin) {
        return Ok(());
    }
    index.set_setting(RULES_SETTING, origin)
}

#[derive(Debug, Clone)]
pub struct IngestOptions {
    pub rules: IngestRules,
    /// Extracts the text of documents.
    pub reader: Arc<dyn DocumentReader>,
    /// Files are read and cut by this many threads.
    pub threads: usize,
    /// Tells how young a file is.
    pub clock: Arc<dyn WallClock>,
    /// Which providers are there to read pictures and recordings: a file that waits for one is told apart from one that
    /// nothing here can read.
    pub capabilities: Vec<Capability>,
}

impl IngestOptions {
    pub(crate) fn walk(&self) -> WalkOptions {
        WalkOptions { gitignore: self.rules.gitignore, threads: self.threads }
    }
}

/// What a job tells while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IngestEvent {
    /// The counters moved.
    Progress,
    /// One document failed; the job goes on.
    FileError { path: String, message: String },
    /// Something that the owner of the files should know.
    Warning(String),
}

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error(transparent)]
    Walk(#[from] WalkError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("the system grants no thread to index with: {0}")]
    Thread(#[from] std::io::Error),
    #[error("indexing was stopped")]
    Cancelled,
    /// The store of a published project, or this process's copy of it.
    #[error("{0}")]
    Store(Failure),
}

impl IngestError {
    pub fn code(&self) -> ErrorCode {
        match self {
            IngestError::Index(error) => error.code(),
            IngestError::Walk(WalkError::RootUnreadable { .. } | WalkError::RootVanished { .. }) => {
                ErrorCode::RootInaccessible
            }
            IngestError::Thread(_) => ErrorCode::IngestFailed,
            IngestError::Store(failure) => failure.code,
            IngestError::Walk(WalkError::Cancelled) | IngestError::Cancelled => ErrorCode::Cancelled,
        }
    }
}

/// For the caller who asked for the scan. The message says what to do.
impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Failure {
        Failure::new(error.code(), error.to_string()).because(error)
    }
}

pub struct Ingest {
    guard: Guard,
    index: Arc<Index>,
    options: IngestOptions,
    counters: Arc<Counters>,
    on_event: Box<dyn Fn(IngestEvent) + Send + Sync>,
}

impl Ingest {
    pub fn new(
        guard: Guard,
        index: Arc<Index>,
        options: IngestOptions,
        counters: Arc<Counters>,
        on_event: Box<dyn Fn(IngestEvent) + Send + Sync>,
    ) -> Ingest {
        Ingest { guard, index, options, counters, on_event }
    }

    /// Walks the root and brings every difference into the index. The caller has called [`Counters::start`].
    pub fn scan(&self, mode: IndexMode, cancel: &AtomicBool) -> Result<(), IngestError> {
        let rules = self.options.rules.digest();
        let mut same_rules = self.index.setting(RULES_SETTING)?.as_deref() == Some(&rules);
        if !same_rules && self.index.counts()?.documents == 0 {
            // Whatever is stored from now on is stored by these rules, also if this pass does not reach its end.
            self.index.set_setting(RULES_SETTING, &rules)?;
            same_rules = true;
        }
        let trust = mode == IndexMode::Incremental && same_rules;
        let ledger = ScanLedger::new(self.index.known_files()?);
        self.counters.set_totals(&self.index.counts()?);
        let unreadable_below = Mutex::new(BTreeSet::new());
        let left_out_by_rule = LeftOut::default();
        self.pipeline(
            cancel,
            |work, changes| {
                // Sending fails once the committer has failed; its error becomes the scan's.
                let sink = |found| match found {
                    FoundEntry::File(file) => {
                        self.compare(&ledger, file, trust, work);
                    }
                    FoundEntry::Skipped { display, reason, size, mtime_ns } => {
                        let known = ledger.mark_seen(&display);
                        let same = known.is_some_and(|known| {
                            known.status == DocStatus::Skipped && is_unchanged(known, size, mtime_ns, 0)
                        });
                        if same {
                            self.counters.count_known(DocStatus::Skipped);
                        } else {
                            self.counters.count_scanned();
                            send(changes, unopened(display, size, mtime_ns, reason));
                        }
                    }
                    FoundEntry::Ignored { display, rule, is_dir } => {
                        self.counters.ignore(&rule, is_dir);
                        left_out_by_rule.note(display, rule, is_dir);
                    }
                    FoundEntry::RulesUnread { display, message } => {
                        (self.on_event)(IngestEvent::Warning(format!("{display}: {message}")));
                    }
                    FoundEntry::Failed { display, message } => {
                        ledger.mark_seen(&display);
                        self.counters.count_scanned();
                        let reason = SkipReason::NotTried { detail: message };
                        send(changes, unopened(display.clone(), 0, 0, reason));
                        unreadable_below.lock().unwrap_or_else(PoisonError::into_inner).insert(display);
                    }
                };
                discover::walk(&self.guard, &self.options.walk(), cancel, &sink)?;
                self.counters.walked.store(true, Relaxed);
                (self.on_event)(IngestEvent::Progress);
                // A scan that stopped early has not seen everything: what it missed is not gone.
                if !cancel.load(Relaxed) {
                    let unreadable_below = unreadable_below.lock().unwrap_or_else(PoisonError::into_inner);
                    for path in ledger.vanished(&unreadable_below) {
                        if !send(changes, DocChange::Delete { path: path.to_owned() }) {
                            break;
                        }
                    }
                }
                Ok(())
            },
            &Before { ledger: &ledger, trust },
            // Whoever asks for everything to be read again wants to have it extracted again.
            (mode == IndexMode::Incremental).then_some(&*self.index),
        )?;
        if !same_rules {
            self.index.set_setting(RULES_SETTING, &rules)?;
        }
        self.counters.set_totals(&self.index.counts()?);
        let notes = left_out_by_rule.notes(&self.guard, self.counters.progress().scanned);
        if self.counters.set_notes(notes.clone()) {
            for note in notes {
                (self.on_event)(IngestEvent::Warning(note));
            }
        }
        (self.on_event)(IngestEvent::Progress);
        Ok(())
    }

    /// Looks at the named paths alone: what a watcher heard of.
    pub fn update(&self, paths: &BTreeSet<RelPath>, cancel: &AtomicBool) -> Result<(), IngestError> {
        let walk = self.options.walk();
        let mut examiner = Examiner::new(&self.guard, &walk);
        let examined: Vec<_> = paths.iter().map(|path| (path.as_str(), examiner.examine(path))).collect();
        let ledger = self.ledger_of(&examined)?;
        self.pipeline(
            cancel,
            |work, changes| {
                for (path, examined) in examined {
                    if cancel.load(Relaxed) {
                        break;
                    }
                    match examined {
                        Examined::File(file) => {
                            self.compare(&ledger, file, true, work);
                        }
                        Examined::Skipped { reason, size, mtime_ns } => {
                            self.counters.count_scanned();
                            send(changes, unopened(path.to_owned(), size, mtime_ns, reason));
                            for gone in ledger.at_or_below(path).filter(|known| *known != path) {
                                send(changes, DocChange::Delete { path: gone.to_owned() });
                            }
                        }
                        Examined::Ignored { .. } | Examined::Gone => {
                            for gone in ledger.at_or_below(path) {
                                send(changes, DocChange::Delete { path: gone.to_owned() });
                            }
                        }
                        // Its files are reported by themselves; a file that it replaced is gone.
                        Examined::Directory if ledger.known(path).is_some() => {
                            for gone in ledger.at_or_below(path) {
                                send(changes, DocChange::Delete { path: gone.to_owned() });
                            }
                        }
                        Examined::Directory => {}
                        Examined::Failed { message } => {
                            tracing::warn!(path, message, "a changed path cannot be looked at");
                        }
                    }
                }
                Ok(())
            },
            &Before { ledger: &ledger, trust: true },
            Some(&self.index),
        )?;
        (self.on_event)(IngestEvent::Progress);
        Ok(())
    }

    /// What the catalog knows of these paths and of what is below them: a directory that is gone, or an archive's members.
    fn ledger_of(&self, examined: &[(&str, Examined)]) -> Result<ScanLedger, IngestError> {
        let mut known = Vec::new();
        for (path, examined) in examined {
            let row = self.index.document(path)?;
            // A directory that was one before has nothing that its files do not say themselves.
            if row.is_some() || !matches!(examined, Examined::Directory) {
                known.extend(self.index.known_below(path)?);
            }
            known.extend(row.map(known_of));
        }
        Ok(ScanLedger::new(known))
    }

    /// Counts a file and sends it on if it may have changed; `false` once the readers are gone.
    fn compare(&self, ledger: &ScanLedger, file: FoundFile, trust: bool, work: &Sender<FoundFile>) -> bool {
        let known = ledger.mark_file_seen(file.path.as_str());
        let same = known.filter(|known| is_unchanged(known, file.size, file.mtime_ns, file.inode));
        match same.filter(|_| trust) {
            // A file that may no longer be read keeps its size and time stamp, but not its place in the index.
            Some(known) if known.status != DocStatus::Ok || self.guard.root().may_read(&file.path) => {
                // With the members that it has if it is an archive.
                ledger.statuses(file.path.as_str()).for_each(|status| self.counters.count_known(status));
                true
            }
            _ => {
                self.counters.count_scanned();
                self.counters.to_read.fetch_add(1, Relaxed);
                work.send(file).is_ok()
            }
        }
    }

    /// Runs `produce` beside the representing threads and the committer, and waits for all of them. `kept` holds the texts
    /// that were extracted before.
    fn pipeline(
        &self,
        cancel: &AtomicBool,
        produce: impl FnOnce(&Sender<FoundFile>, &Sender<Weighed>) -> Result<(), IngestError>,
        before: &Before<'_>,
        kept: Option<&Index>,
    ) -> Result<(), IngestError> {
        let budget = BytesBudget::new(IN_FLIGHT_BYTES);
        let (work_in, work_out) = bounded::<FoundFile>(1024);
        let (changes_in, changes_out) = bounded::<Weighed>(256);
        let (walk, digest) = (self.options.walk(), self.options.rules.digest());
        let representer = Representer {
            guard: &self.guard,
            rules: &self.options.rules,
            walk: &walk,
            extractor: Extractor { reader: self.options.reader.as_ref(), kept },
            kept: &self.index,
            capabilities: &self.options.capabilities,
            turn: Mutex::default(),
            digest: &digest,
            counters: &self.counters,
            clock: self.options.clock.as_ref(),
        };
        let (produced, committed) = std::thread::scope(|scope| -> Result<_, IngestError> {
            let committer = thread("commit").spawn_scoped(scope, || {
                let changes_out = changes_out;
                Committer {
                    index: &self.index,
                    counters: &self.counters,
                    budget: &budget,
                    on_event: &self.on_event,
                }
                .run(&changes_out)
            })?;
            let mut readers = 0;
            for _ in 0..self.options.threads.max(1) {
                let (work, changes) = (work_out.clone(), changes_in.clone());
                let (representer, budget) = (&representer, &budget);
                let counters = &self.counters;
                let read =
                    move || represent_all(representer, budget, before, cancel, counters, &work, &changes);
                match thread("read").spawn_scoped(scope, read) {
                    Ok(_) => readers += 1,
                    // Fewer of them are slower, and no reason to stop.
                    Err(error) if readers == 0 => return Err(error.into()),
                    Err(error) => {
                        tracing::warn!(%error, readers, "fewer threads read than were asked for");
                        break;
                    }
                }
            }
            drop(work_out);
            let produced = produce(&work_in, &changes_in);
            drop((work_in, changes_in));
            Ok((produced, committer.join()))
        })?;
        match committed {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        // A walk that was told to stop says so as an error of its own.
        if cancel.load(Relaxed) { Err(IngestError::Cancelled) } else { produced }
    }
}

fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

/// Whether the catalog holds the files as they are now, by their sizes and time stamps.
pub fn is_current(guard: &Guard, index: &Index, walk: &WalkOptions) -> Result<bool, IngestError> {
    let ledger = ScanLedger::new(index.known_files()?);
    let differs = AtomicBool::new(false);
    let sink = |found| {
        let is_known = match found {
            FoundEntry::File(file) => ledger.mark_file_seen(file.path.as_str()).is_some_and(|known| {
                // Whatever its inode: that of a young file is not kept.
                is_unchanged(known, file.size, file.mtime_ns, known.inode)
            }),
            FoundEntry::Skipped { display, .. } => ledger.mark_seen(&display).is_some(),
            FoundEntry::Failed { .. } | FoundEntry::Ignored { .. } | FoundEntry::RulesUnread { .. } => true,
        };
        if !is_known {
            differs.store(true, Relaxed);
        }
    };
    match discover::walk(guard, walk, &differs, &sink) {
        Ok(()) => Ok(!differs.load(Relaxed) && ledger.vanished(&BTreeSet::new()).next().is_none()),
        // The walk is stopped at the first difference.
        Err(WalkError::Cancelled) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn represent_all(
    representer: &Representer<'_>,
    budget: &BytesBudget,
    before: &Before<'_>,
    cancel: &AtomicBool,
    counters: &Counters,
    work: &Receiver<FoundFile>,
    changes: &Sender<Weighed>,
) {
    for file in work {
        let mut out = Outlet::new(budget, changes, cancel);
        if cancel.load(Relaxed) || !out.take(file.size) {
            return;
        }
        representer.represent(&file, before, &mut out);
        counters.read.fetch_add(1, Relaxed);
    }
}

fn known_of(row: DocumentRow) -> (String, KnownDocument) {
    let known = KnownDocument {
        doc_id: row.doc_id,
        size: row.size,
        mtime_ns: row.mtime_ns,
        inode: row.inode,
        content_hash: row.content_hash,
        status: row.status,
    };
    (row.document.path, known)
}

fn send(changes: &Sender<Weighed>, change: DocChange) -> bool {
    let outcome = FileOutcome::of_change(&change);
    changes.send(Weighed { change, outcome, bytes: 0 }).is_ok()
}
