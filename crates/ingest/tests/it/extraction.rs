//! A document is extracted once: what was extracted is found again by its content, and gives the same text.

use ingest::{ContentKind, Extractor};
use model::{ContentHash, IndexMode, RelPath};
use testkit::build::{epub, paragraphs, rows, slides, text_pages};

use crate::support::World;

/// A document of every family of formats.
fn documents() -> Vec<(&'static str, Vec<u8>)> {
    let long: Vec<String> =
        (0..80).map(|n| format!("Line {n} of the heron's report, größer als sonst.")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let page = format!(
        "<!DOCTYPE html><html><head><title>T</title></head><body><h1>Heron</h1><p>{}</p></body></html>",
        "The keeper of the lighthouse writes a line each night. ".repeat(60)
    );
    vec![
        ("a.pdf", text_pages(&long)),
        ("a.docx", paragraphs(&long)),
        ("a.pptx", slides(&long[..9], "notes of the first")),
        ("a.xlsx", rows(&long)),
        ("a.epub", epub(&["<h1>One</h1><p>pelican</p>", "<h1>Two</h1><p>ibis</p>"])),
        ("a.html", page.into_bytes()),
        ("a.eml", b"From: a@b.c\r\nSubject: Heron\r\n\r\nThe body of the letter.\r\n".to_vec()),
        (
            "a.srt",
            b"1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n00:01:00,000 --> 00:01:01,000\nsecond\n".to_vec(),
        ),
        (
            "a.ipynb",
            br#"{"cells":[{"cell_type":"code","source":["print(1)"],"outputs":[]}],"nbformat":4}"#.to_vec(),
        ),
    ]
}

fn hash(bytes: &[u8]) -> ContentHash {
    ContentHash(*blake3::hash(bytes).as_bytes())
}

#[test]
fn what_was_kept_is_what_would_be_extracted() {
    let world = World::new("//- notes.md\n# Notes\n");
    for (name, bytes) in documents() {
        world.folder.write(name, bytes);
    }
    assert_eq!(world.scan().indexed, 10);
    assert_eq!(world.extracted(), 9);
    for (name, bytes) in documents() {
        let path = RelPath::parse(name).unwrap();
        let kind = ContentKind::of(&path, &bytes);
        let text = |kept| {
            let extractor = Extractor { reader: &*world.reader, kept };
            extractor.text(&path, kind, bytes.clone(), &hash(&bytes)).unwrap()
        };
        let kept = text(Some(&*world.index));
        assert_eq!(world.extracted(), 0, "{name}");
        let anew = text(None);
        assert_eq!(world.extracted(), 1, "{name}");
        assert_eq!((kept.doc_type, kept.rep_type), (anew.doc_type, anew.rep_type), "{name}");
        assert_eq!(kept.text, anew.text, "{name}");
        assert_eq!(kept.extraction, anew.extraction, "{name}");
        assert!(kept.extraction.is_some_and(|all| !all.units.is_empty()), "{name}");
    }
}

#[test]
fn a_moved_or_copied_document_is_not_extracted_again() {
    let world = World::new("");
    world.folder.write("a.docx", paragraphs(&["The heron stands in the reeds."]));
    world.scan();
    assert_eq!(world.extracted(), 1);
    world.folder.rename("a.docx", "moved/b.docx");
    world.folder.write("copy.docx", paragraphs(&["The heron stands in the reeds."]));
    assert_eq!((world.scan().indexed, world.extracted()), (2, 0));
    // A name that claims another format is told of by the extraction.
    world.folder.rename("copy.docx", "copy.pdf");
    assert_eq!((world.scan().indexed, world.extracted()), (1, 1));
}

#[test]
fn another_content_is_extracted_anew() {
    let world = World::new("");
    world.folder.write("a.docx", paragraphs(&["The heron stands in the reeds."]));
    world.scan();
    world.folder.write("a.docx", paragraphs(&["The ibis stands in the reeds."]));
    world.extracted();
    assert_eq!((world.scan().indexed, world.extracted()), (1, 1));
    let path = RelPath::parse("a.docx").unwrap();
    let bytes = paragraphs(&["The ibis stands in the reeds."]);
    let extractor = Extractor { reader: &*world.reader, kept: Some(&*world.index) };
    let text = extractor.text(&path, ContentKind::of(&path, &bytes), bytes.clone(), &hash(&bytes)).unwrap();
    assert!(text.text.contains("ibis"), "{}", text.text);
    assert_eq!(world.extracted(), 0);
}

#[test]
fn other_rules_of_cutting_do_not_extract_again() {
    let mut world = World::new("");
    for (name, bytes) in documents() {
        world.folder.write(name, bytes);
    }
    world.scan();
    world.extracted();
    world.rules.chunking.max_chars = 500;
    world.rules.chunking.overlap_chars = 50;
    assert_eq!((world.scan().read, world.extracted()), (9, 0));
    // Its chunks are others now, and it is still put together from them.
    world.rules.chunking.max_chars = 700;
    assert_eq!((world.scan().read, world.extracted()), (9, 0));
    world.scan_as(IndexMode::Full);
    assert_eq!(world.extracted(), 9, "who asks for everything to be read again gets that");
}

/// A secret in a document that was kept is found by rules that came later.
#[test]
fn the_policy_is_asked_about_what_was_kept() {
    let mut world = World::new("");
    world.folder.write("a.docx", paragraphs(&["The password of the heron is reeds-and-water."]));
    world.scan();
    assert_eq!(world.documents()["a.docx"], "ok");
    world.extracted();
    world.rules.policy.secret_patterns = policy::SecretPatterns::Custom(vec!["reeds-and-water".to_owned()]);
    world.scan();
    assert_eq!(world.extracted(), 0);
    assert!(world.documents()["a.docx"].starts_with("FORBIDDEN: line 1 matches"), "{:?}", world.documents());
}
