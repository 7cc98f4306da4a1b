//! A folder with an index beside it, a clock that is set by hand, and a reader that counts what it extracts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use extract::archive::{Entry, Walked};
use extract::audio::RecordingInfo;
use extract::picture::PagePicture;
use extract::{Extraction, Format};
use index::{Access, Index, Open};
use ingest::{Archive, Counters, DocumentReader, InProcess, Ingest, IngestEvent, IngestOptions, IngestRules};
use model::{IndexMode, Progress, RelPath, SkipReason, WallClock};
use policy::{Guard, Policy, Root};
use providers::local::TableEmbedder;
use testkit::Folder;

pub(crate) struct World {
    pub(crate) folder: Folder,
    pub(crate) index: Arc<Index>,
    pub(crate) reader: Arc<CountingReader>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) rules: IngestRules,
    /// `path: message` of every document that failed.
    pub(crate) failed: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn new(fixture: &str) -> World {
        let folder = Folder::from(fixture);
        let index = Index::open(Open {
            dir: folder.outside().join("state"),
            access: Access::Writer,
            embedding: TableEmbedder.into(),
            root: folder.path().display().to_string(),
        });
        World {
            folder,
            index: Arc::new(index.unwrap()),
            reader: Arc::default(),
            // Later than every file that a test writes.
            clock: Arc::new(HandClock(AtomicU64::new(10_000_000_000))),
            rules: IngestRules::default(),
            failed: Arc::default(),
        }
    }

    /// Looks at the whole folder, as at every start of a server.
    pub(crate) fn scan(&self) -> Progress {
        self.scan_as(IndexMode::Incremental)
    }

    pub(crate) fn scan_as(&self, mode: IndexMode) -> Progress {
        self.run(mode, |ingest| ingest.scan(mode, &AtomicBool::new(false)).unwrap())
    }

    /// Looks at these paths alone, as after a watcher's report.
    pub(crate) fn update(&self, paths: &[&str]) -> Progress {
        let paths = paths.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        self.run(IndexMode::Incremental, |ingest| ingest.update(&paths, &AtomicBool::new(false)).unwrap())
    }

    fn run(&self, mode: IndexMode, work: impl FnOnce(&Ingest)) -> Progress {
        let counters = Arc::new(Counters::default());
        let options = IngestOptions {
            rules: self.rules.clone(),
            reader: Arc::clone(&self.reader) as Arc<dyn DocumentReader>,
            threads: 2,
            clock: Arc::clone(&self.clock) as Arc<dyn WallClock>,
        };
        let failed = Arc::clone(&self.failed);
        let on_event = Box::new(move |event| {
            if let IngestEvent::FileError { path, message } = event {
                failed.lock().unwrap().push(format!("{path}: {message}"));
            }
        });
        let ingest =
            Ingest::new(self.guard(), Arc::clone(&self.index), options, Arc::clone(&counters), on_event);
        counters.start("job".to_owned(), mode);
        work(&ingest);
        counters.finish();
        counters.progress()
    }

    pub(crate) fn guard(&self) -> Guard {
        let root = Root::open(self.folder.path()).unwrap();
        Guard::new(Arc::new(root), Arc::new(Policy::new(self.rules.policy.clone()).unwrap()))
    }

    /// Every document with its reason, or `ok`.
    pub(crate) fn documents(&self) -> BTreeMap<String, String> {
        let (_, rows) = self.index.list(&|_| true, 1000, 0).unwrap();
        let shown = |row: index::DocumentRow| {
            let reason = row.reason.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
            (row.document.path, reason)
        };
        rows.into_iter().map(shown).collect()
    }

    /// How many documents were extracted since the last question.
    pub(crate) fn extracted(&self) -> u64 {
        self.reader.read.swap(0, Ordering::Relaxed)
    }
}

/// Seconds since 1970.
#[derive(Debug)]
pub(crate) struct HandClock(pub(crate) AtomicU64);

impl WallClock for HandClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// Reads in this process; it can be told to be out of order.
#[derive(Debug, Default)]
pub(crate) struct CountingReader {
    inner: InProcess,
    read: AtomicU64,
    pub(crate) is_broken: AtomicBool,
}

impl CountingReader {
    fn check(&self) -> Result<(), String> {
        match self.is_broken.load(Ordering::Relaxed) {
            true => Err("the reader is out of order".to_owned()),
            false => Ok(()),
        }
    }
}

impl DocumentReader for CountingReader {
    fn read(&self, format: Format, name: &str, bytes: &[u8]) -> Result<Extraction, String> {
        self.check()?;
        self.read.fetch_add(1, Ordering::Relaxed);
        self.inner.read(format, name, bytes)
    }

    fn members(
        &self,
        archive: &Archive<'_>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Walked, String> {
        self.check()?;
        self.inner.members(archive, visit)
    }

    fn member(&self, archive: &Archive<'_>, path: &str) -> Result<Option<Vec<u8>>, String> {
        self.check()?;
        self.inner.member(archive, path)
    }

    fn page_pictures(
        &self,
        format: Format,
        bytes: &[u8],
        pages: &[u32],
        visit: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    ) {
        self.inner.page_pictures(format, bytes, pages, visit);
    }

    fn recording(&self, format: Format, name: &str, bytes: &[u8]) -> Result<RecordingInfo, SkipReason> {
        self.inner.recording(format, name, bytes)
    }

    fn samples(
        &self,
        format: Format,
        name: &str,
        bytes: &[u8],
        visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason> {
        self.inner.samples(format, name, bytes, visit)
    }
}
