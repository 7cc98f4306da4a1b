//! The live counters of the running job, read by the progress line, `corpus.json` and `dir2mcp.stats`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use index::{Applied, Counts};
use model::{Capability, DocStatus, IgnoreRule, Ignored, IndexMode, Progress};

use crate::outcome::FileOutcome;

#[derive(Debug)]
pub struct Counters {
    job: Mutex<(String, IndexMode)>,
    running: AtomicBool,
    scanned: AtomicU64,
    indexed: AtomicU64,
    skipped: AtomicU64,
    deleted: AtomicU64,
    errors: AtomicU64,
    unchanged: AtomicU64,
    /// Files handed on to be read, and those of them that were.
    pub(crate) to_read: AtomicU64,
    pub(crate) read: AtomicU64,
    /// The whole folder has been walked: `to_read` does not grow any more.
    pub(crate) walked: AtomicBool,
    /// Files and folders by the rule that left them out.
    ignored: Mutex<BTreeMap<IgnoreRule, (u64, u64)>>,
    notes: Mutex<Vec<String>>,
    /// Why some passages have no vector yet.
    embedding_note: Mutex<Option<String>>,
    /// Why some documents are still unread: pages, then recordings.
    reading_notes: Mutex<[Option<String>; 2]>,
    searchable: AtomicU64,
    not_searchable: AtomicU64,
    representations: AtomicU64,
    chunks: AtomicU64,
    embedded: AtomicU64,
    recognized_pages: AtomicU64,
    transcripts: AtomicU64,
    unread: AtomicU64,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            job: Mutex::new(("job_0".to_owned(), IndexMode::Incremental)),
            running: AtomicBool::new(false),
            scanned: AtomicU64::new(0),
            indexed: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            to_read: AtomicU64::new(0),
            read: AtomicU64::new(0),
            walked: AtomicBool::new(false),
            searchable: AtomicU64::new(0),
            not_searchable: AtomicU64::new(0),
            ignored: Mutex::default(),
            notes: Mutex::default(),
            embedding_note: Mutex::default(),
            reading_notes: Mutex::default(),
            representations: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
            embedded: AtomicU64::new(0),
            recognized_pages: AtomicU64::new(0),
            transcripts: AtomicU64::new(0),
            unread: AtomicU64::new(0),
        }
    }
}

impl Counters {
    pub fn progress(&self) -> Progress {
        let (job_id, mode) = lock(&self.job).clone();
        Progress {
            job_id,
            running: self.running.load(Relaxed),
            mode,
            scanned: self.scanned.load(Relaxed),
            indexed: self.indexed.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            deleted: self.deleted.load(Relaxed),
            representations: self.representations.load(Relaxed),
            chunks_total: self.chunks.load(Relaxed),
            embedded_ok: self.embedded.load(Relaxed),
            errors: self.errors.load(Relaxed),
            unchanged: self.unchanged.load(Relaxed),
            searchable: self.searchable.load(Relaxed),
            not_searchable: self.not_searchable.load(Relaxed),
            recognized_pages: self.recognized_pages.load(Relaxed),
            transcripts: self.transcripts.load(Relaxed),
            unread: self.unread.load(Relaxed),
            read: self.read.load(Relaxed),
            to_read: self.walked.load(Relaxed).then(|| self.to_read.load(Relaxed)),
            ignored: self.ignored(),
            notes: self.all_notes(),
        }
    }

    pub fn is_running(&self) -> bool {
        self.running.load(Relaxed)
    }

    /// Says that a job is due before its first file is seen, so that no caller is told "complete" too early.
    pub fn start(&self, job_id: String, mode: IndexMode) {
        *lock(&self.job) = (job_id, mode);
        let of_the_job = [
            &self.scanned,
            &self.indexed,
            &self.skipped,
            &self.deleted,
            &self.errors,
            &self.unchanged,
            &self.to_read,
            &self.read,
        ];
        of_the_job.iter().for_each(|counter| counter.store(0, Relaxed));
        self.walked.store(false, Relaxed);
        lock(&self.ignored).clear();
        self.running.store(true, Relaxed);
    }

    /// Counts documents that came as they are, from an index elsewhere, as a scan of them all would.
    pub fn set_documents(&self, counts: &Counts) {
        let of = |status| counts.by_status.get(&status).copied().unwrap_or(0);
        self.scanned.store(counts.documents, Relaxed);
        self.indexed.store(of(DocStatus::Ok), Relaxed);
        self.skipped.store(of(DocStatus::Skipped), Relaxed);
        self.errors.store(of(DocStatus::Error), Relaxed);
        self.walked.store(true, Relaxed);
        self.set_totals(counts);
    }

    /// Goes on with the last job's counts: a change that the watcher heard of is part of it.
    pub fn resume(&self) {
        self.running.store(true, Relaxed);
    }

    /// Counts a failure that is no file's.
    pub fn fail(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    pub fn finish(&self) {
        self.running.store(false, Relaxed);
    }

    /// Counts an entry that was found. What becomes of it is counted by [`Counters::settle`].
    pub(crate) fn count_scanned(&self) {
        self.scanned.fetch_add(1, Relaxed);
    }

    /// Counts an entry whose row stays as it was.
    pub(crate) fn count_known(&self, status: DocStatus) {
        self.count_scanned();
        self.settle(&FileOutcome::of_known(status));
    }

    /// Counts what became of one entry.
    pub(crate) fn settle(&self, outcome: &FileOutcome) {
        self.move_by(outcome, 1);
    }

    fn move_by(&self, outcome: &FileOutcome, by: i64) {
        let step = |counter: &AtomicU64, by: i64| {
            // Wraps for a step back, which undoes a step forward that was made before.
            counter.fetch_add(by as u64, Relaxed);
        };
        match outcome {
            FileOutcome::Indexed => step(&self.indexed, by),
            FileOutcome::Unchanged => {
                step(&self.skipped, by);
                step(&self.unchanged, by);
            }
            FileOutcome::Skipped => step(&self.skipped, by),
            FileOutcome::Failed => step(&self.errors, by),
            FileOutcome::Deleted => step(&self.deleted, by),
            FileOutcome::Vanished { was_known } => {
                step(&self.scanned, -by);
                step(&self.deleted, i64::from(*was_known) * by);
            }
            FileOutcome::Ignored { rule, was_known } => {
                step(&self.scanned, -by);
                step(&self.deleted, i64::from(*was_known) * by);
                self.ignore(rule, false);
            }
            FileOutcome::Withdrawn(before) => {
                step(&self.scanned, -by);
                self.move_by(before, -by);
            }
            FileOutcome::Corrected { before, now } => {
                self.move_by(before, -by);
                self.move_by(now, by);
            }
        }
    }

    /// Counts an entry that a rule left out before anything else was known of it.
    pub(crate) fn ignore(&self, rule: &IgnoreRule, is_dir: bool) {
        let mut ignored = lock(&self.ignored);
        let count = match ignored.get_mut(rule) {
            Some(count) => count,
            None => ignored.entry(rule.clone()).or_default(),
        };
        if is_dir {
            count.1 += 1;
        } else {
            count.0 += 1;
        }
    }

    /// By rule, those first that left out most.
    pub(crate) fn ignored(&self) -> Vec<Ignored> {
        let by_rule = lock(&self.ignored);
        let one = |(rule, count): (&IgnoreRule, &(u64, u64))| Ignored {
            rule: rule.clone(),
            files: count.0,
            folders: count.1,
        };
        let mut ignored: Vec<Ignored> = by_rule.iter().map(one).collect();
        ignored.sort_by_key(|ignored| std::cmp::Reverse(ignored.files + ignored.folders));
        ignored
    }

    /// Takes over what the owner of the files should know; whether that is news.
    pub(crate) fn set_notes(&self, notes: Vec<String>) -> bool {
        let mut last = lock(&self.notes);
        let is_news = *last != notes;
        *last = notes;
        is_news
    }

    /// Takes over why some passages have no vector yet, if so; whether that is news.
    pub fn set_embedding_note(&self, note: Option<String>) -> bool {
        let mut last = lock(&self.embedding_note);
        let is_news = *last != note;
        *last = note;
        is_news
    }

    /// Takes over why some documents are still unread, if so; whether that is news.
    pub fn set_reading_note(&self, capability: Capability, note: Option<String>) -> bool {
        let mut notes = lock(&self.reading_notes);
        let last = &mut notes[usize::from(capability == Capability::Stt)];
        let is_news = *last != note;
        *last = note;
        is_news
    }

    /// So many more pages or recordings were read.
    pub fn add_read(&self, capability: Capability, parts: u64) {
        match capability {
            Capability::Stt => &self.transcripts,
            _ => &self.recognized_pages,
        }
        .fetch_add(parts, Relaxed);
    }

    fn all_notes(&self) -> Vec<String> {
        let reading = lock(&self.reading_notes).clone();
        let embedding = lock(&self.embedding_note).clone();
        let scan = lock(&self.notes).clone();
        scan.into_iter().chain(embedding).chain(reading.into_iter().flatten()).collect()
    }

    /// So many more chunks have a vector.
    pub fn add_embedded(&self, chunks: u64) {
        self.embedded.fetch_add(chunks, Relaxed);
    }

    /// Moves the totals by one batch. A replaced representation counts as a new one until the next
    /// [`Counters::set_totals`]; counting everything for each batch would cost more than the batch.
    pub(crate) fn add(&self, applied: &Applied) {
        self.representations.fetch_add(applied.reps, Relaxed);
        for (counter, added) in [(&self.chunks, applied.chunks_added), (&self.embedded, applied.embedded)] {
            let moved = |total: u64| Some((total + added).saturating_sub(applied.chunks_removed));
            // The closure never declines.
            let _ = counter.fetch_update(Relaxed, Relaxed, moved);
        }
    }

    /// Takes over what the catalog holds: the totals are those of the index, not of the job.
    pub fn set_totals(&self, counts: &Counts) {
        self.representations.store(counts.representations, Relaxed);
        self.chunks.store(counts.chunks, Relaxed);
        self.embedded.store(counts.embedded, Relaxed);
        self.recognized_pages.store(counts.recognized_pages, Relaxed);
        self.transcripts.store(counts.transcripts, Relaxed);
        self.unread.store(counts.unread, Relaxed);
        let searchable = counts.by_status.get(&DocStatus::Ok).copied().unwrap_or(0);
        self.searchable.store(searchable, Relaxed);
        self.not_searchable.store(counts.documents.saturating_sub(searchable), Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
