//! Brings a project of the store to what a folder's index holds.
//!
//! Both sides are walked in the order of their paths and compared by facts and digests; only differences are made and sent, one
//! batch after another. A batch is one transaction of the store, so that a publisher that was killed, or cancelled, goes on
//! where it was when it is started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use filestore::publication::{LEASE, ManifestEntry, PublishedChange, Publisher};
use filestore::{
    DeleteRequest, FileBackend, MutationGuard, PathState, ProjectScope, StorePath, WriteMode, WriteRequest,
};
use futures::StreamExt;
use index::DocumentPrint;
use model::{ContentHash, ErrorCode, Failure};

use super::prepare::{Difference, Ready, Unsent, is_same, prepare};
use super::record::FORMAT;
use crate::engine::Engine;
use crate::shared::SharedEngine;
use crate::tenant_files::OpenedStore;

/// Rows compared at once.
const PAGE: usize = 1000;

/// A batch is sent when it has this many documents, or this many bytes.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 4 << 20;

/// Files of the project that are written at once: the store commits them together.
const WRITES: usize = 16;

/// How often a folder that changes while it is published is looked at again.
const ROUNDS: usize = 3;

/// What is told of in the report by path, beyond which it is only counted.
const MOST_NAMED: usize = 1000;

pub struct PublishRequest {
    pub store: OpenedStore,
    pub scope: ProjectScope,
    pub publisher: Publisher,
}

/// What a publisher tells while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishEvent {
    /// The last publisher left without a word: its time is waited for.
    Waiting { holder: String },
    /// So many documents were compared and sent so far.
    Progress { compared: u64, sent: u64, removed: u64, bytes: u64 },
    /// The folder changed meanwhile; it is looked at once more.
    Again { changed: u64 },
}

/// What became of the documents of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishReport {
    /// New or changed, and sent.
    pub published: u64,
    /// Of which only size or time had changed.
    pub touched: u64,
    pub unchanged: u64,
    pub removed: u64,
    /// Bytes of what was sent, as the store keeps them.
    pub bytes: u64,
    /// Files of the project that were written.
    pub files_written: u64,
    /// Documents that are listed with a reason and have no text to publish.
    pub without_text: LeftUnpublished,
    /// Documents that were not published.
    pub not_published: LeftUnpublished,
    /// Documents that are published, but cannot be read as files of the project.
    pub not_files: LeftUnpublished,
}

/// Documents that something was not done with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftUnpublished {
    pub count: u64,
    /// The first of them, with the reason.
    pub named: Vec<(String, String)>,
}

impl LeftUnpublished {
    fn join(&mut self, earlier: LeftUnpublished) {
        self.count += earlier.count;
        self.named.extend(earlier.named);
        self.named.truncate(MOST_NAMED);
    }

    fn add(&mut self, path: &str, why: impl Into<String>) {
        self.count += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push((path.to_owned(), why.into()));
        }
    }
}

impl Engine {
    /// Publishes what the index holds. It is brought up to date by the caller; where the files move on meanwhile, `again` is
    /// asked to bring it up to date once more.
    pub async fn publish(
        &self,
        request: PublishRequest,
        stop: Arc<AtomicBool>,
        on_event: &(dyn Fn(PublishEvent) + Send + Sync),
        again: &(dyn Fn() -> Result<(), Failure> + Send + Sync),
    ) -> Result<PublishReport, Failure> {
        let PublishRequest { store, scope, publisher } = request;
        let run = Run { shared: Arc::clone(&self.shared), store, scope, publisher, stop, on_event };
        run.begin().await?;
        let outcome = {
            let work = run.rounds(again);
            let heartbeat = run.heartbeat();
            tokio::select! {
                outcome = work => outcome,
                failure = heartbeat => Err(failure),
            }
        };
        let is_complete = outcome.is_ok();
        let ended = run.store.publications.end_publication(&run.scope, &run.publisher, is_complete).await;
        let report = outcome?;
        ended?;
        Ok(report)
    }
}

struct Run<'a> {
    shared: Arc<SharedEngine>,
    store: OpenedStore,
    scope: ProjectScope,
    publisher: Publisher,
    stop: Arc<AtomicBool>,
    on_event: &'a (dyn Fn(PublishEvent) + Send + Sync),
}

impl Run<'_> {
    /// Takes the project, waiting for one that was left behind. Somebody who is at work is not waited for.
    async fn begin(&self) -> Result<(), Failure> {
        let mut believed = None;
        let started = Instant::now();
        loop {
            let begun = self.store.publications.begin_publication(&self.scope, &self.publisher, FORMAT).await;
            let refused = match begun {
                Ok(_) => return Ok(()),
                Err(failure) if failure.code == ErrorCode::Conflict => failure,
                Err(failure) => return Err(failure),
            };
            let holder = match self.store.publications.publication(&self.scope).await? {
                Some(head) => head.holder,
                None => None,
            };
            let Some((holder, until)) = holder else { continue };
            match &believed {
                None => (self.on_event)(PublishEvent::Waiting { holder: holder.name.clone() }),
                // It has given a sign of life.
                Some(earlier) if *earlier != (holder.id.clone(), until) => return Err(refused),
                Some(_) => {}
            }
            believed = Some((holder.id, until));
            if started.elapsed() > 2 * LEASE {
                return Err(refused);
            }
            self.check()?;
            tokio::time::sleep(LEASE / 12).await;
        }
    }

    /// Gives signs of life while a batch takes long; ends when the project is lost.
    async fn heartbeat(&self) -> Failure {
        loop {
            tokio::time::sleep(LEASE / 3).await;
            match self.store.publications.renew_publication(&self.scope, &self.publisher).await {
                Err(failure) if failure.code == ErrorCode::Conflict => return failure,
                // A store that is busy may let the next one pass.
                _ => {}
            }
        }
    }

    async fn rounds(
        &self,
        again: &(dyn Fn() -> Result<(), Failure> + Send + Sync),
    ) -> Result<PublishReport, Failure> {
        let mut report = PublishReport::default();
        for round in 1..=ROUNDS {
            let (mut this, moved) = self.round().await?;
            // What an earlier round sent is not unchanged.
            this.unchanged = this.unchanged.saturating_sub(report.published);
            this.not_files.join(report.not_files);
            this.published += report.published;
            this.touched += report.touched;
            this.removed += report.removed;
            this.bytes += report.bytes;
            this.files_written += report.files_written;
            report = this;
            if moved.is_empty() {
                break;
            }
            if round == ROUNDS {
                for path in moved {
                    report.not_published.add(&path, "it changed whenever it was published");
                }
                break;
            }
            (self.on_event)(PublishEvent::Again { changed: moved.len() as u64 });
            tokio::task::block_in_place(again)?;
        }
        Ok(report)
    }

    /// Compares everything once. Returns also the documents that were not what the index says.
    async fn round(&self) -> Result<(PublishReport, Vec<String>), Failure> {
        let mut report = PublishReport::default();
        let (mut moved, mut late) = (Vec::new(), Vec::new());
        let mut here = Pages::new();
        let mut there = Pages::new();
        let mut batch = Vec::new();
        let mut compared = 0;
        loop {
            self.check()?;
            here.fill(|after| self.prints(after)).await?;
            let manifest = |after: String| async move {
                self.store.publications.manifest(&self.scope, &after, PAGE).await
            };
            there.fill(manifest).await?;
            let order = match (here.first(), there.first()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(print), Some(entry)) => print.document.path.as_str().cmp(entry.path.as_str()),
            };
            compared += u64::from(order.is_le());
            match order {
                std::cmp::Ordering::Greater => batch.extend(there.take().map(Difference::Gone)),
                order => {
                    let known = if order.is_eq() { there.take() } else { None };
                    let Some(print) = here.take() else { continue };
                    if let Some(reason) = &print.document.reason {
                        report.without_text.add(&print.document.path, reason.to_string());
                    }
                    match known {
                        Some(known) if is_same(&print, &known) => report.unchanged += 1,
                        known => batch.push(Difference::Changed { print, known }),
                    }
                }
            }
            if batch.len() >= BATCH {
                let part = std::mem::take(&mut batch);
                self.send(part, &mut report, &mut moved, &mut late).await?;
                self.tell(&report, compared);
            }
        }
        self.send(batch, &mut report, &mut moved, &mut late).await?;
        // A file can be where a folder was only once everything below it is gone.
        for (path, target, content) in late {
            match self.write(&target, content).await {
                Ok(written) => report.files_written += u64::from(written),
                Err(why) => report.not_files.add(&path, why.message),
            }
        }
        self.tell(&report, compared);
        Ok((report, moved))
    }

    async fn prints(&self, after: String) -> Result<Vec<DocumentPrint>, Failure> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            // A page of what may be shown, even if all of one page may not be.
            let mut after = after;
            loop {
                let page = shared.index().prints(&after, PAGE)?;
                let Some(last) = page.last() else { return Ok(page) };
                after.clone_from(&last.document.path);
                let shown: Vec<DocumentPrint> =
                    page.into_iter().filter(|print| shared.allows(&print.document.path)).collect();
                if !shown.is_empty() {
                    return Ok(shown);
                }
            }
        })
        .await
    }

    /// Makes the records of some documents and sends them.
    async fn send(
        &self,
        differences: Vec<Difference>,
        report: &mut PublishReport,
        moved: &mut Vec<String>,
        late: &mut Vec<(String, String, Vec<u8>)>,
    ) -> Result<(), Failure> {
        let mut waiting = differences.into_iter().peekable();
        while waiting.peek().is_some() {
            let mut ready = Vec::new();
            let mut bytes = 0;
            while bytes < BATCH_BYTES
                && let Some(difference) = waiting.next()
            {
                self.check()?;
                let shared = Arc::clone(&self.shared);
                match blocking(move || Ok(prepare(&shared, difference))).await? {
                    Ok(each) => {
                        bytes += size(&each.change);
                        ready.push(each);
                    }
                    Err(Unsent::Moved(path)) => moved.push(path),
                    Err(Unsent::Because(path, why)) => report.not_published.add(&path, why),
                }
            }
            self.commit(ready, report, late).await?;
        }
        Ok(())
    }

    /// Writes the files of some documents, then their records: a document counts as published once its record is there.
    async fn commit(
        &self,
        ready: Vec<Ready>,
        report: &mut PublishReport,
        late: &mut Vec<(String, String, Vec<u8>)>,
    ) -> Result<(), Failure> {
        if ready.is_empty() {
            return Ok(());
        }
        let mut changes = Vec::with_capacity(ready.len());
        let mut writes = Vec::new();
        for each in ready {
            let Ready { change, file, stale, no_file } = each;
            for path in stale {
                self.delete(&path).await?;
            }
            if let Some(why) = no_file {
                report.not_files.add(change.path(), why);
            }
            if let Some((target, content)) = file {
                writes.push((change.path().to_owned(), target, content));
            }
            match &change {
                PublishedChange::Put { body: Some(_), .. } => report.published += 1,
                PublishedChange::Put { body: None, .. } => {
                    report.published += 1;
                    report.touched += 1;
                }
                PublishedChange::Remove { .. } => report.removed += 1,
            }
            report.bytes += size(&change) as u64;
            changes.push(change);
        }
        let mut written =
            futures::stream::iter(writes.into_iter().map(|(path, target, content)| async move {
                let done = self.write(&target, content.clone()).await;
                (path, target, content, done)
            }))
            .buffer_unordered(WRITES);
        while let Some((path, target, content, done)) = written.next().await {
            match done {
                Ok(done) => report.files_written += u64::from(done),
                Err(failure) if failure.retryable() => return Err(failure),
                Err(_) => late.push((path, target, content)),
            }
        }
        drop(written);
        self.store.publications.publish(&self.scope, &self.publisher, changes).await?;
        Ok(())
    }

    /// Makes a file of the project what it should be; `false` where it is that already.
    async fn write(&self, target: &str, content: Vec<u8>) -> Result<bool, Failure> {
        let path = StorePath::parse_file(target)?;
        let files: &dyn FileBackend = self.store.files.as_ref();
        if let PathState::File { content_hash, .. } = files.stat(&self.scope, &path).await?
            && content_hash == ContentHash(*blake3::hash(&content).as_bytes())
        {
            return Ok(false);
        }
        let guard = MutationGuard::default();
        let request = WriteRequest { path, content, mode: WriteMode::Truncate, offset: 0, guard };
        files.write(&self.scope, request).await?;
        Ok(true)
    }

    async fn delete(&self, target: &str) -> Result<(), Failure> {
        let path = StorePath::parse_file(target)?;
        let request = DeleteRequest { path, recursive: false, guard: MutationGuard::default() };
        match self.store.files.delete(&self.scope, request).await {
            // Somebody else has removed it, or has made a folder of it.
            Err(failure) if failure.retryable() => Err(failure),
            _ => Ok(()),
        }
    }

    fn tell(&self, report: &PublishReport, compared: u64) {
        let PublishReport { published, removed, bytes, .. } = *report;
        (self.on_event)(PublishEvent::Progress { compared, sent: published, removed, bytes });
    }

    fn check(&self) -> Result<(), Failure> {
        if self.stop.load(Relaxed) {
            let message = "publishing was cancelled; what was sent is kept";
            return Err(
                Failure::new(ErrorCode::Cancelled, message).hint("Publish again to go on where it ended.")
            );
        }
        Ok(())
    }
}

/// One side of the comparison, page by page.
struct Pages<T> {
    page: std::collections::VecDeque<T>,
    after: String,
    is_over: bool,
}

trait AtPath {
    fn path(&self) -> &str;
}

impl AtPath for DocumentPrint {
    fn path(&self) -> &str {
        &self.document.path
    }
}

impl AtPath for ManifestEntry {
    fn path(&self) -> &str {
        &self.path
    }
}

impl<T: AtPath> Pages<T> {
    fn new() -> Pages<T> {
        Pages { page: std::collections::VecDeque::new(), after: String::new(), is_over: false }
    }

    async fn fill<F: Future<Output = Result<Vec<T>, Failure>>>(
        &mut self,
        fetch: impl FnOnce(String) -> F,
    ) -> Result<(), Failure> {
        if !self.page.is_empty() || self.is_over {
            return Ok(());
        }
        self.page = fetch(self.after.clone()).await?.into();
        match self.page.back() {
            Some(last) => self.after = last.path().to_owned(),
            None => self.is_over = true,
        }
        Ok(())
    }

    fn first(&self) -> Option<&T> {
        self.page.front()
    }

    fn take(&mut self) -> Option<T> {
        self.page.pop_front()
    }
}

fn size(change: &PublishedChange) -> usize {
    match change {
        PublishedChange::Put { facts, body, .. } => facts.len() + body.as_ref().map_or(0, Vec::len),
        PublishedChange::Remove { .. } => 0,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::new(ErrorCode::InternalError, "publishing ended abnormally")),
    }
}
