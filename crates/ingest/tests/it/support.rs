//! A folder with an index beside it, a clock that is set by hand, and a reader that counts what it extracts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use extract::archive::{Entry, Walked};
use extract::audio::RecordingInfo;
use extract::picture::PagePicture;
use extract::{Extraction, Format};
use index::{Access, Index, LexicalQuery, Open, QueryTerm};
use ingest::{
    Archive, Counters, DocumentDesk, DocumentReader, InProcess, Ingest, IngestEvent, IngestOptions,
    IngestRules, ReadEvent, ReadReport, Turns,
};
use model::{
    Capability, ContentHash, IndexMode, Progress, RelPath, RepType, SkipReason, Span, TextRecognizer,
    Transcriber, WallClock,
};
use policy::{Guard, Policy, Root};
use providers::local::TableEmbedder;
use testkit::{Folder, ScriptedRecognizer, ScriptedTranscriber};

pub(crate) struct World {
    pub(crate) folder: Folder,
    pub(crate) index: Arc<Index>,
    pub(crate) reader: Arc<CountingReader>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) rules: IngestRules,
    pub(crate) capabilities: Vec<Capability>,
    turns: Arc<Turns>,
    /// `path: message` of every document that failed.
    pub(crate) failed: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn new(fixture: &str) -> World {
        let folder = Folder::from(fixture);
        let root = folder.path().display().to_string();
        let index = Index::open(open(folder.outside().join("state"), &root));
        World {
            folder,
            index: Arc::new(index.unwrap()),
            reader: Arc::default(),
            // Later than every file that a test writes.
            clock: Arc::new(HandClock(AtomicU64::new(10_000_000_000))),
            rules: IngestRules::default(),
            capabilities: Vec::new(),
            turns: Arc::default(),
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
        let failed = Arc::clone(&self.failed);
        let on_event = Box::new(move |event| {
            if let IngestEvent::FileError { path, message } = event {
                failed.lock().unwrap().push(format!("{path}: {message}"));
            }
        });
        let ingest = Ingest::new(
            self.guard(),
            Arc::clone(&self.index),
            self.options(),
            Arc::clone(&counters),
            on_event,
        );
        counters.start("job".to_owned(), mode);
        work(&ingest);
        counters.finish();
        counters.progress()
    }

    fn options(&self) -> IngestOptions {
        IngestOptions {
            rules: self.rules.clone(),
            reader: Arc::clone(&self.reader) as Arc<dyn DocumentReader>,
            threads: 2,
            clock: Arc::clone(&self.clock) as Arc<dyn WallClock>,
            capabilities: self.capabilities.clone(),
        }
    }

    pub(crate) fn desk(&self) -> Arc<DocumentDesk> {
        Arc::new(DocumentDesk {
            guard: self.guard(),
            index: Arc::clone(&self.index),
            options: self.options(),
            counters: Arc::default(),
            turns: Arc::clone(&self.turns),
        })
    }

    /// Has pictures and pages read, as the background worker does.
    pub(crate) async fn recognize(&self, recognizer: &Arc<ScriptedRecognizer>) -> ReadReport {
        let recognizer: Arc<dyn TextRecognizer> = Arc::clone(recognizer) as _;
        ingest::recognize_pending(&self.desk(), &recognizer, &|event| self.note(event)).await.unwrap()
    }

    pub(crate) async fn transcribe(&self, transcriber: &Arc<ScriptedTranscriber>) -> ReadReport {
        let transcriber: Arc<dyn Transcriber> = Arc::clone(transcriber) as _;
        ingest::transcribe_pending(&self.desk(), &transcriber, &|event| self.note(event)).await.unwrap()
    }

    fn note(&self, event: ReadEvent) {
        if let ReadEvent::Refused { path, message } = event {
            self.failed.lock().unwrap().push(format!("{path}: {message}"));
        }
    }

    pub(crate) fn hash(&self, path: &str) -> ContentHash {
        self.index.document(path).unwrap().unwrap().content_hash.unwrap()
    }

    /// What is known of the text of a document, by the type of its representation.
    pub(crate) fn meta(&self, path: &str, rep_type: RepType) -> serde_json::Value {
        let meta = self.index.representation_meta(path, rep_type).unwrap();
        serde_json::from_str(&meta.unwrap()).unwrap()
    }

    /// The index as the next process finds it.
    pub(crate) fn restart(&mut self) {
        let dir = self.folder.outside().join("state");
        let root = self.folder.path().display().to_string();
        // The old one is closed first.
        let aside = Index::open(open(self.folder.outside().join("aside"), &root)).unwrap();
        self.index = Arc::new(aside);
        self.index = Arc::new(Index::open(open(dir, &root)).unwrap());
        self.index.repair(&|_, _| {}).unwrap();
        self.turns = Arc::default();
    }

    /// Where a word is found: path, type of the representation, and place.
    pub(crate) fn found(&self, word: &str) -> Vec<(String, RepType, Span)> {
        let snapshot = self.index.snapshot();
        let terms = [QueryTerm::new(word.to_owned(), 1.0)];
        let query = LexicalQuery { terms: &terms, kind: None, admit: None, limit: 100 };
        let ids: Vec<_> = snapshot.lexical(&query).into_iter().map(|hit| hit.chunk).collect();
        let chunks = snapshot.chunks(&ids).unwrap();
        let mut found: Vec<_> =
            chunks.into_iter().map(|chunk| (chunk.rel_path, chunk.rep_type, chunk.span)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
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

fn open(dir: PathBuf, root: &str) -> Open {
    Open {
        dir,
        access: Access::Writer,
        embedding: TableEmbedder.into(),
        former: Vec::new(),
        root: root.to_owned(),
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
