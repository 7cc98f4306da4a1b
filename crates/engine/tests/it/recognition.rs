//! Pictures, scans and recordings through the engine: read in the background or on demand, found, cited and opened.

use std::sync::Arc;

use engine::{
    Call, Engine, ListRequest, NewAnnotation, OpenRequest, OpenSelection, OpenedFile, TranscribeReport,
    TranscribeRequest,
};
use model::{DocStatus, ErrorCode, Failure, Hit, IndexMode, ProviderErrorKind, Providers, RepType, Span};
use testkit::build::{drawn_page, drawn_pages, pages};
use testkit::{Folder, NoMeaning, ReadStep, ScriptedRecognizer, ScriptedTranscriber, picture, recording};

use crate::world::{config, index, quiet, search};

/// A photo, a scan of three pages, and a recording of a minute.
fn folder() -> Folder {
    let folder = Folder::from("//- notes.md\n# Notes about herons\n");
    folder.write("photo.png", picture("A pelican on the pier"));
    folder.write("scan.pdf", drawn_pages(3));
    let segments: Vec<(u64, u64, String)> = (0..12)
        .map(|n| (n * 5000, n * 5000 + 4800, format!("Sentence {n} about the {}.", bird(n))))
        .collect();
    let segments: Vec<(u64, u64, &str)> =
        segments.iter().map(|(a, b, text)| (*a, *b, text.as_str())).collect();
    folder.write("talk.wav", recording(&segments));
    folder
}

fn bird(number: u64) -> &'static str {
    let birds = ["ibis", "puffin", "osprey", "avocet", "dunlin", "turnstone", "sanderling", "whimbrel"];
    birds.get(number as usize).copied().unwrap_or("gull")
}

struct Readers {
    recognizer: Arc<ScriptedRecognizer>,
    transcriber: Arc<ScriptedTranscriber>,
}

impl Readers {
    fn new() -> Readers {
        Readers {
            recognizer: ScriptedRecognizer::new("m").with_page(2, "A cormorant dries its wings").shared(),
            transcriber: ScriptedTranscriber::new("w").shared(),
        }
    }

    fn open(&self, folder: &Folder) -> Engine {
        let providers = Providers {
            recognizer: Some(Arc::clone(&self.recognizer) as _),
            transcriber: Some(Arc::clone(&self.transcriber) as _),
            ..Providers::only(NoMeaning.into())
        };
        Engine::open(config(folder.path(), &folder.state()), providers).unwrap()
    }
}

async fn open(engine: &Engine, path: &str, selection: OpenSelection) -> Result<OpenedFile, Failure> {
    let request = OpenRequest { rel_path: path.to_owned(), selection, max_chars: 20_000 };
    engine.open_file(&Call::cli("test"), request).await
}

async fn transcribe(engine: &Engine, again: bool) -> Result<TranscribeReport, Failure> {
    let request = TranscribeRequest {
        path: "talk.wav".to_owned(),
        language: None,
        timestamps: true,
        again,
        progress: None,
    };
    engine.transcribe(&Call::cli("test"), request).await
}

async fn hits(engine: &Engine, text: &str) -> Vec<Hit> {
    search(engine, text).await.unwrap().hits.to_vec()
}

fn selection(span: Span) -> OpenSelection {
    match span {
        Span::Lines { start_line, end_line } => OpenSelection::Lines { start: start_line, end: end_line },
        Span::Page { page } => OpenSelection::Page(page),
        Span::Time { start_ms, end_ms } => OpenSelection::Time { start_ms, end_ms },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d094_d095_d152_what_is_cited_is_what_is_opened() {
    let folder = folder();
    let readers = Readers::new();
    let engine = Arc::new(readers.open(&folder));
    let indexing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || index(&indexing)).await.unwrap();
    let (mut pages, mut times) = (0, 0);
    for word in ["pelican", "cormorant", "ibis", "dunlin", "whimbrel", "herons"] {
        let found = hits(&engine, word).await;
        assert!(!found.is_empty(), "{word}");
        for hit in found.iter().filter(|hit| hit.snippet.to_lowercase().contains(word)) {
            let opened = open(&engine, &hit.rel_path, selection(hit.span)).await.unwrap();
            assert_eq!(opened.span, Some(hit.span), "{word}");
            assert!(opened.content.to_lowercase().contains(word), "{word}: {}", opened.content);
            pages += u32::from(matches!(hit.span, Span::Page { .. }));
            times += u32::from(matches!(hit.span, Span::Time { .. }));
        }
    }
    assert!(pages >= 2 && times >= 3, "{pages} pages, {times} times");
    let start = open(&engine, "talk.wav", OpenSelection::Start).await.unwrap();
    assert!(start.content.starts_with("Sentence 0 about the ibis."), "{}", start.content);
    let second = open(&engine, "scan.pdf", OpenSelection::Page(2)).await.unwrap();
    assert_eq!(second.content, "A cormorant dries its wings");
    let beyond = open(&engine, "scan.pdf", OpenSelection::Page(4)).await.unwrap_err();
    assert_eq!(beyond.code, ErrorCode::InvalidRange);
    let progress = engine.progress();
    assert_eq!((progress.recognized_pages, progress.transcripts, progress.unread), (4, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_background_reads_what_a_scan_has_found() {
    let folder = folder();
    let readers = Readers::new();
    let engine = readers.open(&folder);
    let (sender, receiver) = std::sync::mpsc::channel();
    engine.start(
        IndexMode::Incremental,
        Arc::new(move |event| {
            if let engine::EngineEvent::Progress(progress) = event {
                let _ = sender.send((progress.transcripts, progress.unread));
            }
        }),
    );
    let mut last = (0, u64::MAX);
    while last != (1, 0) {
        last = receiver.recv_timeout(testkit::DEADLINE).unwrap();
    }
    assert_eq!(readers.transcriber.requests(), ["talk.wav"]);
    assert!(!hits(&engine, "dunlin").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn d159_d160_a_recording_is_transcribed_on_demand_once() {
    let folder = folder();
    let readers = Readers::new();
    readers.transcriber.always(ReadStep::Fail(ProviderErrorKind::Paused {
        after: std::time::Duration::from_secs(600),
        reason: "the day's limit is used up".to_owned(),
    }));
    let engine = Arc::new(readers.open(&folder));
    let indexing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || index(&indexing)).await.unwrap();
    let failure = transcribe(&engine, false).await.unwrap_err();
    assert_eq!((failure.code, failure.hint.is_some()), (ErrorCode::TranscribeFailed, true));
    let pending = open(&engine, "talk.wav", OpenSelection::Start).await.unwrap_err();
    assert_eq!((pending.code, pending.retryable()), (ErrorCode::TextPending, true));
    readers.transcriber.always(ReadStep::Answer);
    let asked = readers.transcriber.requests().len();
    let (first, second) = tokio::join!(transcribe(&engine, false), transcribe(&engine, false));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.transcribed != second.transcribed, "two who ask pay once");
    assert!(first.indexed && second.indexed);
    assert_eq!(first.transcript, second.transcript);
    assert_eq!(first.transcript.segments.len(), 12);
    assert_eq!(hits(&engine, "avocet").await[0].rep_type, RepType::Transcript);
    assert_eq!(readers.transcriber.requests().len(), asked + 1);
    assert!(transcribe(&engine, true).await.unwrap().transcribed, "unless it is asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn d096_a_transcript_without_times_is_cited_by_lines() {
    let folder = folder();
    let engine = Readers::new().open(&folder);
    engine.announce(IndexMode::Incremental);
    let request = TranscribeRequest {
        path: "talk.wav".to_owned(),
        language: Some("de".to_owned()),
        timestamps: false,
        again: false,
        progress: None,
    };
    let report = engine.transcribe(&Call::cli("test"), request).await.unwrap();
    assert_eq!((report.transcript.has_times, report.indexed), (false, false), "the file was never indexed");
    let engine = Arc::new(engine);
    let indexing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || index(&indexing)).await.unwrap();
    let found = hits(&engine, "dunlin").await;
    assert!(matches!(found[0].span, Span::Lines { .. }), "{:?}", found[0].span);
    let failure =
        open(&engine, "talk.wav", OpenSelection::Time { start_ms: 0, end_ms: 1 }).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::DocTypeUnsupported);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_transcriber_the_call_says_what_to_do() {
    let folder = folder();
    let engine = crate::world::open(folder.path(), &folder.state());
    let failure = transcribe(&engine, false).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::TranscribeFailed);
    assert!(failure.hint.unwrap().contains("extras add speech"));
    let request = TranscribeRequest {
        path: "notes.md".to_owned(),
        language: None,
        timestamps: true,
        again: false,
        progress: None,
    };
    let failure = engine.transcribe(&Call::cli("test"), request).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::DocTypeUnsupported);
}

/// Which provider is there decides what a file that waits says, also when it comes or goes between two starts.
#[tokio::test(flavor = "multi_thread")]
async fn the_reason_follows_the_providers() {
    let folder = folder();
    let reason = |engine: &Engine| {
        let corpus = engine.corpus().unwrap();
        corpus.indexing.unread
    };
    let engine = crate::world::open(folder.path(), &folder.state());
    tokio::task::spawn_blocking(move || {
        index(&engine);
        assert_eq!(reason(&engine), 3);
        engine
    })
    .await
    .unwrap();
    let readers = Readers::new();
    readers.recognizer.always(ReadStep::Fail(ProviderErrorKind::Auth));
    let engine = readers.open(&folder);
    let engine = tokio::task::spawn_blocking(move || {
        index(&engine);
        engine
    })
    .await
    .unwrap();
    let failure = open(&engine, "photo.png", OpenSelection::Start).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::TextPending);
    assert!(engine.progress().notes.iter().any(|note| note.contains("the key was not accepted")));
    drop(engine);
    let engine = crate::world::open(folder.path(), &folder.state());
    let engine = tokio::task::spawn_blocking(move || {
        index(&engine);
        engine
    })
    .await
    .unwrap();
    let failure = open(&engine, "photo.png", OpenSelection::Start).await.unwrap_err();
    assert!(failure.message.contains("extras add ocr"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d097_an_annotation_is_kept_until_the_content_changes() {
    let folder = folder();
    let engine = Arc::new(crate::world::open(folder.path(), &folder.state()));
    let indexing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || index(&indexing)).await.unwrap();
    let annotation = NewAnnotation {
        path: "notes.md".to_owned(),
        json: serde_json::json!({ "species": "spoonbill" }),
        text: "species: spoonbill\nplace: marsh\n".to_owned(),
        index_it: true,
        provider: "scripted".to_owned(),
        model: "m".to_owned(),
    };
    let stored = engine.store_annotation(&Call::cli("test"), annotation).await.unwrap();
    assert!(stored.is_indexed);
    let found = hits(&engine, "spoonbill").await;
    assert_eq!((found.len(), found[0].rep_type), (1, RepType::AnnotationText));
    let opened = open(&engine, "notes.md", selection(found[0].span)).await.unwrap();
    assert_eq!(
        (opened.content.as_str(), opened.span),
        ("species: spoonbill\nplace: marsh", Some(found[0].span))
    );
    let whole = open(&engine, "notes.md", OpenSelection::Start).await.unwrap();
    assert_eq!(whole.content, "# Notes about herons");
    // It survives that everything is built again, and goes with the content.
    let rebuilding = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || rebuilding.index_now(IndexMode::Full, quiet()).unwrap())
        .await
        .unwrap();
    assert_eq!(hits(&engine, "spoonbill").await.len(), 1);
    folder.write("notes.md", "# Notes about grebes\n");
    let indexing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || index(&indexing)).await.unwrap();
    assert!(hits(&engine, "spoonbill").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_built_again_buys_nothing_again() {
    let folder = folder();
    let readers = Readers::new();
    let engine = readers.open(&folder);
    let engine = tokio::task::spawn_blocking(move || {
        index(&engine);
        engine
    })
    .await
    .unwrap();
    let asked = (readers.recognizer.requests().len(), readers.transcriber.requests().len());
    assert_eq!(asked, (3, 1));
    let engine = tokio::task::spawn_blocking(move || {
        engine.index_now(IndexMode::Full, quiet()).unwrap();
        engine
    })
    .await
    .unwrap();
    assert!(!hits(&engine, "cormorant").await.is_empty());
    assert!(!hits(&engine, "dunlin").await.is_empty());
    assert_eq!((readers.recognizer.requests().len(), readers.transcriber.requests().len()), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_text_of_a_document_by_its_places() {
    let folder = folder();
    let engine = Readers::new().open(&folder);
    let engine = tokio::task::spawn_blocking(move || {
        index(&engine);
        engine
    })
    .await
    .unwrap();
    let call = Call::cli("test");
    let scan = engine.document_text(&call, "scan.pdf").await.unwrap();
    assert_eq!((scan.rep_type, scan.parts.len()), (RepType::OcrMarkdown, 3));
    assert_eq!(scan.parts[1].span, Span::Page { page: 2 });
    let talk = engine.document_text(&call, "talk.wav").await.unwrap();
    assert_eq!(talk.parts[1].span, Span::Time { start_ms: 5000, end_ms: 9800 });
    let notes = engine.document_text(&call, "notes.md").await.unwrap();
    assert_eq!(notes.text(), "# Notes about herons\n");
    let gone = engine.document_text(&call, "note.md").await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::FileNotFound);
}

#[tokio::test]
async fn a_pdf_that_is_read_but_for_some_pages_says_which() {
    let folder = Folder::empty();
    let (text, drawn) = ("BT /F 12 Tf 72 720 Td (The minutes of the harbour board) Tj ET", drawn_page());
    folder.write("minutes.pdf", pages(&[text, &drawn, text, &drawn, &drawn]));
    let reason = |engine: Engine| async move {
        index(&engine);
        let request = ListRequest { path_prefix: None, glob: None, limit: 10, offset: 0 };
        let listed = engine.list_files(&Call::cli("test"), request).await.unwrap();
        assert_eq!(listed.files[0].status, DocStatus::Ok);
        listed.files[0].reason.clone()
    };
    let alone =
        Engine::open(config(folder.path(), &folder.state()), Providers::only(NoMeaning.into())).unwrap();
    let told = reason(alone).await.unwrap();
    assert!(
        told.starts_with("pages 2, 4-5 have no text yet; OCR reads such pages: `dir2mcp extras add ocr`"),
        "{told}"
    );
    assert_eq!(reason(Readers::new().open(&folder)).await, None, "they were read meanwhile");
}
