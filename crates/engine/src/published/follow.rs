//! Brings a server's copy and index of a published project to what is published now: only what changed is fetched, one page
//! after another, and a kill in between costs the page.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use filestore::publication::{
    CopiedChange, CopiedDocument, CopyPosition, ProjectCopy, PublicationCursor, PublicationHead, PublishedRow,
};
use index::{Batch, DocChange, Index};
use ingest::IngestError;
use model::{ContentHash, ErrorCode, Failure};

use super::record::{self, FORMAT, Facts};
use super::{PublishedProject, ServedProject};
use crate::shared::SharedEngine;
use crate::worker::{EngineEvent, EventSink};

/// Documents of one page, and bodies that are fetched at once.
const PAGE: usize = 256;
const BODIES: usize = 32;

/// What was applied becomes searchable at this pace while more is on its way.
const PUBLISH_EVERY: Duration = Duration::from_secs(2);

/// The setting of the index that says which records it was made from. Where it is not the position of the copy, one of them
/// was written without the other.
const POSITION_SETTING: &str = "published_position";

/// What stands for the rules of a scan.
const ORIGIN: &str = "published";

/// Whether there is something to fetch.
pub(crate) fn has_news(project: &PublishedProject, copy: &ProjectCopy) -> Result<bool, Failure> {
    let head = head(project)?;
    let position = copy.position()?;
    Ok(position
        .is_none_or(|position| position.epoch != head.epoch || position.cursor.revision < head.revision))
}

/// Fetches and indexes what changed. The caller holds the writer's lock.
pub(crate) fn catch_up(
    shared: &SharedEngine,
    served: &ServedProject,
    index: &Arc<Index>,
    on_event: &EventSink,
    stopping: &AtomicBool,
) -> Result<(), IngestError> {
    let copy = &served.copy;
    let known = copy.position().map_err(IngestError::Store)?;
    let written = index.setting(POSITION_SETTING)?;
    if known.as_ref().map(written_position) != written {
        refill_from(shared, copy, index, on_event, stopping)?;
        index.publish()?;
    }
    let head = head(&served.project).map_err(IngestError::Store)?;
    if head.format > FORMAT {
        let message = format!(
            "the project {} was published in format {}; this program knows {FORMAT}",
            served.project.name, head.format
        );
        return Err(IngestError::Store(
            Failure::new(ErrorCode::IndexVersionMismatch, message)
                .hint("Use the newer version of dir2mcp that published it."),
        ));
    }
    let mut follower = Follower { shared, served, index, stopping, on_event, published: Instant::now() };
    follower.run(known, &head)?;
    index.publish()?;
    ingest::set_finished(index, ORIGIN)?;
    shared.counters.set_documents(&index.counts()?);
    Ok(())
}

/// Fills an empty index from the copy.
pub(crate) fn refill(
    shared: &SharedEngine,
    served: &ServedProject,
    index: &Arc<Index>,
    on_event: &EventSink,
    stopping: &AtomicBool,
) -> Result<(), IngestError> {
    refill_from(shared, &served.copy, index, on_event, stopping)?;
    ingest::set_finished(index, ORIGIN)?;
    index.publish()?;
    Ok(())
}

/// Puts every record of the copy into the index, and deletes what is no record. What is there already stays as it is.
fn refill_from(
    shared: &SharedEngine,
    copy: &ProjectCopy,
    index: &Arc<Index>,
    on_event: &EventSink,
    stopping: &AtomicBool,
) -> Result<(), IngestError> {
    let store = IngestError::Store;
    let mut gone: BTreeSet<String> = index.known_files()?.into_keys().collect();
    let mut after = String::new();
    let mut told = Instant::now();
    loop {
        let page = copy.documents(&after, BODIES).map_err(store)?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.path);
        let mut batch = Batch::default();
        for document in page {
            gone.remove(&document.path);
            match put(&document.path, &document.facts, &document.body) {
                Ok(change) => batch.changes.push(change),
                Err(failure) => {
                    // The copy is damaged: all of it is compared with the store again, and this body fetched.
                    tracing::warn!(%failure, "a copied record is fetched again");
                    copy.start_over().map_err(store)?;
                    let CopiedDocument { path, facts, .. } = document;
                    let (body_digest, body) = (ContentHash([0; 32]), Vec::new());
                    let empty = CopiedChange::Put(CopiedDocument { path, facts, body_digest, body });
                    let nowhere = CopyPosition { epoch: String::new(), cursor: PublicationCursor::default() };
                    copy.apply(&[empty], &nowhere).map_err(store)?;
                }
            }
        }
        index.apply(&batch)?;
        if told.elapsed() >= PUBLISH_EVERY {
            tell(shared, index, on_event)?;
            told = Instant::now();
        }
        check(stopping)?;
    }
    let deletions = gone.into_iter().map(|path| DocChange::Delete { path }).collect();
    index.apply(&Batch { changes: deletions })?;
    let position = copy.position().map_err(store)?.as_ref().map(written_position).unwrap_or_default();
    index.set_setting(POSITION_SETTING, &position)?;
    Ok(())
}

struct Follower<'a> {
    shared: &'a SharedEngine,
    served: &'a ServedProject,
    index: &'a Arc<Index>,
    stopping: &'a AtomicBool,
    on_event: &'a EventSink,
    /// When searches last got to see more.
    published: Instant,
}

impl Follower<'_> {
    fn run(&mut self, known: Option<CopyPosition>, head: &PublicationHead) -> Result<(), IngestError> {
        let known = known.filter(|known| {
            known.epoch == head.epoch && (known.cursor.revision >= head.floor || known.cursor.revision == 0)
        });
        // What was removed long ago is no longer told: then all that is there is asked for, and the rest is gone.
        let is_fresh = known.is_none();
        let mut cursor = known.map(|known| known.cursor).unwrap_or_default();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        loop {
            let page = self.served.project.feed.changes(&cursor, PAGE).map_err(IngestError::Store)?;
            let Some(last) = page.last() else { break };
            cursor = PublicationCursor { revision: last.revision, path: last.path.clone() };
            if is_fresh {
                seen.extend(page.iter().filter(|row| row.content.is_some()).map(|row| row.path.clone()));
            }
            for (number, part) in page.chunks(BODIES).enumerate() {
                let is_last = (number + 1) * BODIES >= page.len();
                // Until all was seen once, a kill has to begin anew: what is gone could not be told.
                let position = (is_last && !is_fresh).then(|| position(head, &cursor));
                self.take(part, position)?;
                check(self.stopping)?;
            }
        }
        if is_fresh {
            let gone = self.served.copy.paths().map_err(IngestError::Store)?;
            let gone: Vec<PublishedRow> = gone
                .into_iter()
                .filter(|path| !seen.contains(path))
                .map(|path| PublishedRow { path, revision: 0, content: None })
                .collect();
            self.take(&gone, Some(position(head, &cursor)))?;
        }
        Ok(())
    }

    /// Takes over some documents, first into the index, then into the copy.
    fn take(&mut self, rows: &[PublishedRow], position: Option<CopyPosition>) -> Result<(), IngestError> {
        let store = IngestError::Store;
        let copy = &self.served.copy;
        let mut missing = Vec::new();
        for row in rows {
            if let Some((_, digest)) = &row.content
                && copy.body_digest(&row.path).map_err(store)? != Some(*digest)
            {
                missing.push(row.path.clone());
            }
        }
        let mut bodies: HashMap<String, (ContentHash, Vec<u8>)> = HashMap::new();
        if !missing.is_empty() {
            let fetched = self.served.project.feed.bodies(missing.clone()).map_err(store)?;
            bodies.extend(fetched.into_iter().map(|each| (each.path, (each.body_digest, each.body))));
        }
        let (mut batch, mut changes) = (Batch::default(), Vec::new());
        for row in rows {
            let path = &row.path;
            let Some((facts, digest)) = &row.content else {
                batch.changes.push(DocChange::Delete { path: path.clone() });
                changes.push(CopiedChange::Remove { path: path.clone() });
                continue;
            };
            if !missing.contains(path) {
                let document = Facts::read(path, facts).map_err(store)?.document(path);
                let (size, mtime_ns) = (document.size, document.mtime_ns);
                batch.changes.push(DocChange::Touch { path: path.clone(), size, mtime_ns, inode: 0 });
                changes.push(CopiedChange::Facts { path: path.clone(), facts: facts.clone() });
                continue;
            }
            // One that was published again meanwhile comes again, behind this place.
            let Some((_, body)) = bodies.remove(path).filter(|(found, _)| found == digest) else { continue };
            batch.changes.push(put(path, facts, &body).map_err(store)?);
            changes.push(CopiedChange::Put(CopiedDocument {
                path: path.clone(),
                facts: facts.clone(),
                body_digest: *digest,
                body,
            }));
        }
        self.index.apply(&batch)?;
        match position {
            Some(position) => {
                copy.apply(&changes, &position).map_err(store)?;
                self.index.set_setting(POSITION_SETTING, &written_position(&position))?;
            }
            None => {
                let known = copy.position().map_err(store)?;
                let stays = known.unwrap_or_else(|| CopyPosition {
                    epoch: String::new(),
                    cursor: PublicationCursor::default(),
                });
                copy.apply(&changes, &stays).map_err(store)?;
            }
        }
        if self.published.elapsed() >= PUBLISH_EVERY {
            self.index.publish()?;
            tell(self.shared, self.index, self.on_event)?;
            self.published = Instant::now();
        }
        Ok(())
    }
}

/// Counting a large index takes a while, so this is not done for every page.
fn tell(shared: &SharedEngine, index: &Index, on_event: &EventSink) -> Result<(), IngestError> {
    shared.counters.set_documents(&index.counts()?);
    (on_event)(EngineEvent::Progress(shared.progress()));
    Ok(())
}

fn put(path: &str, facts: &str, body: &[u8]) -> Result<DocChange, Failure> {
    let document = Facts::read(path, facts)?.document(path);
    Ok(DocChange::Put { document, representations: record::representations(path, body)? })
}

fn head(project: &PublishedProject) -> Result<PublicationHead, Failure> {
    project.feed.head()?.ok_or_else(|| {
        Failure::new(ErrorCode::NotFound, format!("nothing is published as the project {}", project.name))
            .hint("Publish a folder with `dir2mcp publish --project NAME`.")
    })
}

fn position(head: &PublicationHead, cursor: &PublicationCursor) -> CopyPosition {
    CopyPosition { epoch: head.epoch.clone(), cursor: cursor.clone() }
}

fn written_position(position: &CopyPosition) -> String {
    format!("{} {} {}", position.epoch, position.cursor.revision, position.cursor.path)
}

fn check(stopping: &AtomicBool) -> Result<(), IngestError> {
    if stopping.load(Relaxed) { Err(IngestError::Cancelled) } else { Ok(()) }
}
