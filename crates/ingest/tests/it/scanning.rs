//! What a scan reads, what it leaves alone, and why a document cannot be searched.

use std::sync::atomic::Ordering::Relaxed;
use std::time::UNIX_EPOCH;

use model::{ErrorCode, IndexMode, Progress};

use crate::support::World;

const TREE: &str = "
    //- src/main.rs
    fn main() {}
    //- notes.md
    # Notes
    //- big.txt
    a line that is long enough to be larger than some limits are
    ";

/// scanned = indexed + skipped + errors, always.
fn sum(progress: &Progress) -> (u64, u64, u64, u64) {
    let Progress { scanned, indexed, skipped, errors, unchanged, .. } = progress;
    assert_eq!(*scanned, indexed + skipped + errors);
    (*indexed, skipped - unchanged, *errors, *unchanged)
}

#[test]
fn d099_what_did_not_change_is_not_read() {
    let world = World::new(TREE);
    assert_eq!(sum(&world.scan()), (3, 0, 0, 0));
    let again = world.scan();
    assert_eq!((sum(&again), again.read), ((0, 0, 0, 3), 0));
    let generation = world.index.generation();
    let full = world.scan_as(IndexMode::Full);
    assert_eq!((full.read, full.indexed), (3, 3), "a full pass reads everything");
    assert_eq!(world.index.generation(), generation, "and finds what was there");
}

#[test]
fn d100_a_changed_file_is_read_and_a_removed_one_goes() {
    let world = World::new(TREE);
    world.scan();
    world.folder.write("notes.md", "# Other notes\n");
    world.folder.remove("big.txt");
    world.folder.write("new.md", "# New\n");
    let changed = world.scan();
    assert_eq!((sum(&changed), changed.read, changed.deleted), ((2, 0, 0, 1), 2, 1));
    assert_eq!(world.documents().into_keys().collect::<Vec<_>>(), ["new.md", "notes.md", "src/main.rs"]);
    world.folder.write("src/main.rs", "fn main() { run() }\n");
    world.folder.remove("new.md");
    let heard = world.update(&["src/main.rs", "new.md"]);
    assert_eq!((heard.read, heard.indexed, heard.deleted), (1, 1, 1));
}

/// It may be written again within the same tick of the clock: its time stamp does not tell.
#[test]
fn a_file_that_was_just_written_is_looked_at_again() {
    let world = World::new("//- a.md\n# A\n");
    let written = std::fs::metadata(world.folder.path().join("a.md")).unwrap().modified().unwrap();
    world.clock.0.store(written.duration_since(UNIX_EPOCH).unwrap().as_secs(), Relaxed);
    world.scan();
    assert_eq!(world.index.known_files().unwrap()["a.md"].inode, 0);
    world.clock.0.fetch_add(5, Relaxed);
    let again = world.scan();
    assert_eq!((again.read, again.unchanged), (1, 1), "it is the same");
    assert_ne!(world.index.known_files().unwrap()["a.md"].inode, 0);
    assert_eq!(world.scan().read, 0);
}

#[test]
fn d102_what_could_not_be_extracted_is_tried_again() {
    let world = World::new("//- notes.md\n# Notes\n");
    world.folder.write("a.pdf", testkit::build::text_pages(&["pelican"]));
    world.folder.write("b.zip", testkit::build::zip(&[testkit::build::file("in.md", "heron")]));
    world.reader.is_broken.store(true, Relaxed);
    assert_eq!(sum(&world.scan()), (1, 0, 2, 0));
    let broken = "EXTRACT_FAILED: the reader is out of order";
    assert_eq!(world.documents()["a.pdf"], broken);
    let mut failed = world.failed.lock().unwrap().clone();
    failed.sort();
    assert_eq!(failed, [format!("a.pdf: {broken}"), format!("b.zip: {broken}")]);
    world.reader.is_broken.store(false, Relaxed);
    let second = world.scan();
    assert_eq!((second.read, second.indexed, second.unchanged), (2, 3, 1));
    assert!(world.documents().values().all(|shown| shown == "ok"), "{:?}", world.documents());
}

#[test]
fn d088_d095_what_is_left_out_has_a_code_and_a_sentence() {
    let mut world = World::new(TREE);
    world.rules.policy.max_file_bytes = 40;
    world.folder.write("data.bin", [0u8, 1, 2, 3]);
    world.folder.write("scan.pdf", testkit::build::pages(&[""]));
    world.folder.link("link", "notes.md");
    world.rules.policy.max_bytes_by_type = [(model::DocType::Pdf, 1 << 20)].into();
    world.scan();
    let documents = world.documents();
    for (path, code, shown) in [
        (
            "big.txt",
            ErrorCode::FileTooLarge,
            "FILE_TOO_LARGE: 61 bytes exceed the limit of 40 (ingest.max_file_mb)",
        ),
        ("data.bin", ErrorCode::BinarySkipped, "BINARY_SKIPPED: the content is binary"),
        (
            "scan.pdf",
            ErrorCode::NoText,
            "NO_TEXT: the pdf file holds no text; a scan needs OCR (ingest.pdf.mode)",
        ),
        (
            "link",
            ErrorCode::SymlinkSkipped,
            "SYMLINK_SKIPPED: a symbolic link is not followed (ingest.follow_symlinks)",
        ),
    ] {
        assert_eq!(documents[path], shown);
        let row = world.index.document(path).unwrap().unwrap();
        assert_eq!(row.document.reason.unwrap().code(), code);
    }
    let again = world.scan();
    assert_eq!((again.read, sum(&again)), (0, (0, 4, 0, 2)), "nothing of it is read again");
}

/// Only settings that decide what is indexed have the files read again.
#[test]
fn other_rules_have_every_file_looked_at() {
    let mut world = World::new(TREE);
    world.scan();
    world.rules.chunking.max_chars = 1000;
    assert_eq!(world.scan().read, 3);
    assert_eq!(world.scan().read, 0);
    world.rules.policy.path_excludes.push("notes.md".to_owned());
    let narrower = world.scan();
    assert_eq!((narrower.read, narrower.deleted), (2, 1));
}
