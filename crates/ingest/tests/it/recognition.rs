//! Pictures, scanned pages and recordings are read in the background: once, durably, and whatever the provider does.

use std::time::Duration;

use model::{Capability, IndexMode, ProviderErrorKind, RecognizeLimits, RepType, Span};
use testkit::build::{drawn_page, drawn_pages, pages};
use testkit::{ReadStep, ScriptedRecognizer, ScriptedTranscriber, picture, recording};

use crate::support::World;

/// A note, a picture, a scan of five pages and a recording.
fn world() -> World {
    let mut world = World::new("//- notes.md\n# Notes about herons\n");
    world.folder.write("photo.png", picture("A pelican on the pier"));
    world.folder.write("scan.pdf", drawn_pages(5));
    world.folder.write("talk.wav", recording(&[(0, 4000, "The ibis"), (4000, 9000, "has flown")]));
    world.capabilities = vec![Capability::Ocr, Capability::Stt];
    world
}

fn unreachable() -> ReadStep {
    ReadStep::Fail(ProviderErrorKind::Unreachable { reason: "the line is dead".to_owned() })
}

fn page(page: u32) -> Span {
    Span::Page { page }
}

#[tokio::test]
async fn d094_pictures_and_scanned_pages_are_found_by_page() {
    let world = world();
    world.scan();
    let before = world.documents();
    assert_eq!(before["photo.png"], "TEXT_PENDING: the image file is waiting for its text to be recognised");
    assert_eq!(before["scan.pdf"], "TEXT_PENDING: the pdf file is waiting for its text to be recognised");
    assert_eq!(world.found("herons").len(), 1, "words do not wait");
    let recognizer = ScriptedRecognizer::new("m").with_page(4, "The puffin nests here").shared();
    let report = world.recognize(&recognizer).await;
    assert_eq!((report.documents, report.parts, report.stopped), (2, 6, None));
    assert_eq!(recognizer.requests(), [vec![1], vec![1, 2], vec![3, 4], vec![5]], "the smallest first");
    assert_eq!(world.found("pelican"), [("photo.png".to_owned(), RepType::OcrMarkdown, page(1))]);
    assert_eq!(world.found("puffin"), [("scan.pdf".to_owned(), RepType::OcrMarkdown, page(4))]);
    assert_eq!(world.documents()["scan.pdf"], "ok");
    assert_eq!(world.recognize(&recognizer).await.parts, 0, "there is nothing left");
    let counts = world.index.counts().unwrap();
    assert_eq!((counts.recognized_pages, counts.unread), (6, 1));
}

#[tokio::test]
async fn d072_d094_the_representation_says_who_read_it() {
    let world = world();
    world.scan();
    world.recognize(&ScriptedRecognizer::new("m").shared()).await;
    world.transcribe(&ScriptedTranscriber::new("w").shared()).await;
    let meta = world.meta("photo.png", RepType::OcrMarkdown);
    assert_eq!((&meta["provider"], &meta["model"]), (&"scripted".into(), &"m".into()));
    assert_eq!(meta["confidence"], 0.9);
    let meta = world.meta("talk.wav", RepType::Transcript);
    assert_eq!(
        (&meta["model"], &meta["timestamps"], &meta["language"]),
        (&"w".into(), &true.into(), &"en".into())
    );
    assert_eq!(meta["duration_ms"], 9000);
    let kept = world.desk().kept(&world.hash("photo.png")).unwrap();
    assert_eq!(kept.pages[&1].page.lines[0].area, [0, 0, 100, 20], "and where the lines are");
}

#[tokio::test]
async fn d095_a_recording_is_found_by_time() {
    let world = world();
    world.scan();
    assert_eq!(world.documents()["talk.wav"], "TEXT_PENDING: the audio file is waiting to be transcribed");
    let transcriber = ScriptedTranscriber::new("m").shared();
    let report = world.transcribe(&transcriber).await;
    assert_eq!((report.documents, report.parts), (1, 1));
    let time = Span::Time { start_ms: 0, end_ms: 9000 };
    assert_eq!(world.found("ibis"), [("talk.wav".to_owned(), RepType::Transcript, time)]);
    assert_eq!(world.index.counts().unwrap().transcripts, 1);
}

#[tokio::test]
async fn d094_the_text_layer_is_used_where_it_is_good() {
    let mut world = world();
    let layer = "BT /F 12 Tf 72 720 Td (This page has a text layer about the kingfisher) Tj ET";
    world.folder.write("mixed.pdf", pages(&[layer, &drawn_page(), layer]));
    world.scan();
    assert_eq!(world.documents()["mixed.pdf"], "ok", "it is searchable by what it says itself");
    let recognizer = ScriptedRecognizer::new("m").with_page(2, "An osprey in between").shared();
    world.recognize(&recognizer).await;
    assert!(recognizer.requests().contains(&vec![2]), "and only the other page is read");
    let osprey: Vec<_> = world.found("osprey").into_iter().filter(|hit| hit.0 == "mixed.pdf").collect();
    assert_eq!(osprey, [("mixed.pdf".to_owned(), RepType::OcrMarkdown, page(2))]);
    let layers: Vec<_> = world.found("kingfisher").into_iter().map(|(_, rep, span)| (rep, span)).collect();
    assert_eq!(layers, [(RepType::RawText, page(1)), (RepType::RawText, page(3))]);
    // Another reading of the whole folder changes nothing, and buys nothing.
    world.rules.chunking.max_chars += 1;
    world.scan();
    assert!(world.found("osprey").contains(&osprey[0]));
    assert_eq!(world.recognize(&recognizer).await.parts, 0);
}

#[tokio::test]
async fn what_was_read_before_a_kill_is_not_read_again() {
    let mut world = world();
    world.scan();
    // Two batches of the scan are kept; the process is killed while the third is under way.
    let steps = [ReadStep::Answer, ReadStep::Answer, ReadStep::Answer, ReadStep::Hang];
    let recognizer = ScriptedRecognizer::new("m").then(steps).shared();
    let killed = tokio::time::timeout(Duration::from_secs(5), async {
        let run = world.recognize(&recognizer);
        let until_it_hangs = async {
            while recognizer.requests().len() < 4 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = run => false, () = until_it_hangs => true }
    });
    assert!(killed.await.unwrap());
    world.restart();
    world.scan();
    let again = ScriptedRecognizer::new("m").shared();
    assert_eq!(world.recognize(&again).await.parts, 1);
    assert_eq!(again.requests(), [vec![5]], "one batch is repeated at most");
}

#[tokio::test]
async fn a_copy_and_a_renamed_file_are_not_read_again() {
    let mut world = world();
    world.scan();
    let (recognizer, transcriber) =
        (ScriptedRecognizer::new("m").shared(), ScriptedTranscriber::new("m").shared());
    world.recognize(&recognizer).await;
    world.transcribe(&transcriber).await;
    let asked = recognizer.requests().len();
    world.folder.write("copies/photo.png", picture("A pelican on the pier"));
    world.folder.rename("talk.wav", "speech.wav");
    world.scan();
    world.index.compact().unwrap();
    let documents = world.documents();
    assert_eq!((documents["copies/photo.png"].as_str(), documents["speech.wav"].as_str()), ("ok", "ok"));
    assert_eq!(world.found("pelican").len(), 2);
    assert_eq!(world.found("ibis")[0].0, "speech.wav");
    world.recognize(&recognizer).await;
    world.transcribe(&transcriber).await;
    assert_eq!((recognizer.requests().len(), transcriber.requests().len()), (asked, 1));
    // Read again from scratch, and by a process that finds only what is stored.
    world.scan_as(IndexMode::Full);
    world.restart();
    world.scan_as(IndexMode::Full);
    assert_eq!(world.found("pelican").len(), 2);
    assert_eq!(world.recognize(&recognizer).await.parts, 0);
}

/// Two documents with one content wait at the same time: the second one takes what the first one got.
#[tokio::test]
async fn the_same_picture_twice_is_read_once() {
    let world = world();
    world.folder.write("copy.png", picture("A pelican on the pier"));
    world.scan();
    let recognizer = ScriptedRecognizer::new("m").shared();
    assert_eq!(world.recognize(&recognizer).await.documents, 3);
    assert_eq!(recognizer.requests().iter().filter(|pages| **pages == [1]).count(), 1);
    assert_eq!(world.found("pelican").len(), 2);
}

#[tokio::test]
async fn what_was_made_goes_with_the_last_document_that_has_the_content() {
    let world = world();
    world.scan();
    world.recognize(&ScriptedRecognizer::new("m").shared()).await;
    let hash = world.hash("photo.png");
    assert_eq!(world.desk().kept(&hash).unwrap().pages.len(), 1);
    world.folder.remove("photo.png");
    world.scan();
    world.index.compact().unwrap();
    assert_eq!(world.desk().kept(&hash).unwrap().pages.len(), 0);
}

#[tokio::test]
async fn d102_a_refused_document_says_why_and_the_others_go_on() {
    let world = world();
    world.folder.write("bad.png", picture("unspeakable"));
    world.scan();
    let recognizer = ScriptedRecognizer::new("m").refusing("unspeakable").shared();
    let report = world.recognize(&recognizer).await;
    assert_eq!((report.documents, report.refused, report.stopped), (2, 1, None));
    let reason = "OCR_FAILED: scripted could not recognise it: unspeakable is not allowed; it is tried again with \
                  another ocr.provider or model";
    assert_eq!(world.documents()["bad.png"], reason);
    assert_eq!(*world.failed.lock().unwrap(), [format!("bad.png: {reason}")]);
    let asked = recognizer.requests().len();
    world.scan();
    world.recognize(&recognizer).await;
    assert_eq!(recognizer.requests().len(), asked, "it is not asked again");
    // Another model may read it.
    let other = ScriptedRecognizer::new("another").shared();
    assert_eq!(world.recognize(&other).await.documents, 1);
    assert_eq!(world.documents()["bad.png"], "ok");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_away_for_a_minute_loses_nothing() {
    let world = world();
    world.scan();
    let recognizer = ScriptedRecognizer::new("m").shared();
    recognizer.always(unreachable());
    let report = world.recognize(&recognizer).await;
    assert!(matches!(report.stopped.unwrap().kind, ProviderErrorKind::Unreachable { .. }));
    assert_eq!(world.index.counts().unwrap().unread, 3);
    assert_eq!(world.documents()["photo.png"].split(':').next(), Some("TEXT_PENDING"));
    recognizer.always(ReadStep::Answer);
    assert_eq!(world.recognize(&recognizer).await.documents, 2);
}

#[tokio::test(start_paused = true)]
async fn told_waits_are_waited_and_a_wrong_key_ends_the_run() {
    let world = world();
    world.scan();
    let limited = ReadStep::Fail(ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(7)) });
    let recognizer = ScriptedRecognizer::new("m").then([limited.clone(), limited]).shared();
    let started = tokio::time::Instant::now();
    assert_eq!(world.recognize(&recognizer).await.stopped, None);
    assert_eq!(started.elapsed().as_secs(), 14);
    let transcriber = ScriptedTranscriber::new("m").then([ReadStep::Fail(ProviderErrorKind::Auth)]).shared();
    let report = world.transcribe(&transcriber).await;
    assert_eq!(report.stopped.unwrap().kind, ProviderErrorKind::Auth);
    assert_eq!(transcriber.requests().len(), 1, "and it is not asked again");
    let paused = ProviderErrorKind::Paused { after: Duration::from_secs(9), reason: "spent".to_owned() };
    let transcriber = ScriptedTranscriber::new("m").then([ReadStep::Fail(paused.clone())]).shared();
    assert_eq!(world.transcribe(&transcriber).await.stopped.unwrap().kind, paused);
    assert_eq!(world.transcribe(&transcriber).await.documents, 1);
}

/// A document for which no answer ever comes does not keep the others waiting, and is given up in the end.
#[tokio::test(start_paused = true)]
async fn one_hopeless_document_does_not_hold_up_the_others() {
    let mut world = World::new("//- notes.md\n# Notes\n");
    world.capabilities = vec![Capability::Stt];
    world.folder.write("bad.wav", recording(&[(0, 9, "x")]));
    let transcriber = ScriptedTranscriber::new("m").failing_for("bad.wav").shared();
    let mut rounds = 0;
    while !world.documents().get("bad.wav").is_some_and(|shown| shown.starts_with("TRANSCRIBE_FAILED")) {
        assert!(rounds < 6, "{:?}", world.documents());
        // It is the smallest, and yet the others are read.
        world
            .folder
            .write(&format!("{rounds}.wav"), recording(&[(0, 1000, &format!("speech number {rounds}"))]));
        world.scan();
        world.transcribe(&transcriber).await;
        rounds += 1;
    }
    assert!((2..=4).contains(&rounds), "{rounds}");
    assert_eq!(world.documents().values().filter(|shown| *shown == "ok").count(), rounds + 1);
}

#[tokio::test]
async fn an_answer_that_lacks_pages_is_asked_for_once_more() {
    let world = world();
    world.scan();
    let steps =
        [ReadStep::Answer, ReadStep::OneTooFew, ReadStep::Answer, ReadStep::OneTooFew, ReadStep::OneTooFew];
    let recognizer = ScriptedRecognizer::new("m").then(steps).shared();
    let report = world.recognize(&recognizer).await;
    assert_eq!((report.parts, report.refused, report.stopped), (6, 0, None), "page by page in the end");
}

#[test]
fn without_a_provider_every_file_says_which_extra_would_read_it() {
    let mut world = world();
    world.capabilities = Vec::new();
    world.scan();
    let documents = world.documents();
    for (path, extra) in
        [("photo.png", "extras add ocr"), ("scan.pdf", "extras add ocr"), ("talk.wav", "extras add speech")]
    {
        assert!(documents[path].contains(extra), "{path}: {}", documents[path]);
    }
}

#[tokio::test]
async fn modes_that_are_off_read_nothing_and_keep_what_was_read() {
    let mut world = world();
    world.rules.images = false;
    world.rules.audio = false;
    world.scan();
    let documents = world.documents();
    assert_eq!(
        documents["photo.png"],
        "DOC_TYPE_UNSUPPORTED: image files are left out by ingest.images.mode"
    );
    assert_eq!(documents["talk.wav"], "DOC_TYPE_UNSUPPORTED: audio files are left out by ingest.audio.mode");
    let transcriber = ScriptedTranscriber::new("m").shared();
    assert_eq!(world.transcribe(&transcriber).await.parts, 0);
    world.rules.audio = true;
    world.scan();
    assert_eq!(world.transcribe(&transcriber).await.parts, 1);
    world.rules.audio = false;
    world.scan();
    assert_eq!(world.documents()["talk.wav"], "ok");
}

#[tokio::test]
async fn a_secret_in_a_scan_is_held_back_as_in_a_text() {
    let world = world();
    // A made-up key, put together here so that no scanner of this repository stumbles over it.
    let key = format!("The key is {}{}", "AKIA", "Z7Q2M4X8V1B6N3KC");
    world.folder.write("letter.png", picture(&key));
    world.scan();
    world.recognize(&ScriptedRecognizer::new("m").shared()).await;
    let shown = &world.documents()["letter.png"];
    assert!(shown.starts_with("FORBIDDEN: line 1 matches the secret rule"), "{shown}");
    assert!(world.found("key").is_empty());
    assert_eq!(world.index.counts().unwrap().unread, 1, "it is not read again");
}

#[tokio::test]
async fn a_picture_without_text_says_so() {
    let world = world();
    world.folder.write("empty.png", picture(""));
    world.folder.write("silence.wav", recording(&[]));
    world.scan();
    world.recognize(&ScriptedRecognizer::new("m").shared()).await;
    world.transcribe(&ScriptedTranscriber::new("m").shared()).await;
    let documents = world.documents();
    assert_eq!(documents["empty.png"], "NO_TEXT: scripted found no text in the image file");
    assert_eq!(documents["silence.wav"], "NO_TEXT: scripted found no speech in the audio file");
}

#[tokio::test]
async fn members_of_archives_are_read_too() {
    let world = world();
    let members = [testkit::build::file("in/photo.png", picture("A cormorant in a box"))];
    world.folder.write("box.zip", testkit::build::zip(&members));
    world.scan();
    world.recognize(&ScriptedRecognizer::new("m").shared()).await;
    assert_eq!(
        world.found("cormorant"),
        [("box.zip/in/photo.png".to_owned(), RepType::OcrMarkdown, page(1))]
    );
}

/// A recogniser that takes nothing but pictures gets one of each page.
#[tokio::test]
async fn pages_are_drawn_for_a_recogniser_that_takes_pictures_only() {
    let world = world();
    world.scan();
    let limits = RecognizeLimits {
        takes_pdf: false,
        picture_types: &["image/png"],
        bytes: 1 << 24,
        pages: 1,
        requests: 2,
    };
    let recognizer = ScriptedRecognizer::new("m").with_limits(limits).shared();
    let report = world.recognize(&recognizer).await;
    assert_eq!((report.parts, report.refused, report.stopped), (6, 0, None));
    assert_eq!(recognizer.requests().len(), 6);
}
