//! Members of archives as documents of their own.

use model::SourceType;
use testkit::build::{file, paragraphs, zip};

use crate::support::World;

#[test]
fn members_are_documents() {
    let world = World::new("//- notes.md\n# Notes\n");
    let letter = paragraphs(&["The heron stands in the reeds."]);
    world
        .folder
        .write("a.zip", zip(&[file("in/read.md", "pelican"), file("in/letter.docx", letter.clone())]));
    let first = world.scan();
    assert_eq!((first.scanned, first.indexed), (4, 4), "the archive and its members count");
    let paths: Vec<String> = world.documents().into_keys().collect();
    assert_eq!(paths, ["a.zip", "a.zip/in/letter.docx", "a.zip/in/read.md", "notes.md"]);
    let member = world.index.document("a.zip/in/read.md").unwrap().unwrap();
    assert_eq!(member.source, SourceType::ArchiveMember);
    assert_eq!(world.extracted(), 1);
    let again = world.scan();
    assert_eq!((again.read, again.unchanged), (0, 4));

    // One member changed, one is new, one stays, in an archive that is another file now.
    world.folder.write("a.zip", zip(&[file("in/letter.docx", letter), file("in/new.md", "ibis")]));
    let changed = world.scan();
    assert_eq!((changed.read, changed.indexed, changed.deleted), (1, 2, 1));
    assert_eq!(world.extracted(), 0, "a member with the same content is not extracted again");
    assert!(!world.documents().contains_key("a.zip/in/read.md"));

    world.folder.remove("a.zip");
    assert_eq!(world.scan().deleted, 3);
    assert_eq!(world.documents().into_keys().collect::<Vec<_>>(), ["notes.md"]);
}

#[test]
fn what_is_left_out_of_an_archive_says_why() {
    let mut world = World::new("//- .gitignore\n*.log\n");
    world.rules.policy.path_excludes.push("**/private/**".to_owned());
    let members = [
        file("../escape.md", "out"),
        file("private/key.md", "no"),
        file("run.log", "noise"),
        file("data.bin", [0u8, 1, 2, 3]),
        file("read.md", "pelican"),
    ];
    world.folder.write("a.zip", zip(&members));
    let progress = world.scan();
    let documents = world.documents();
    assert_eq!(documents["a.zip/data.bin"], "BINARY_SKIPPED: the content is binary");
    assert_eq!(documents["a.zip/read.md"], "ok");
    let ignored: Vec<String> =
        progress.ignored.iter().map(|ignored| format!("{} {}", ignored.files, ignored.rule)).collect();
    assert_eq!(documents.len(), 4, "{documents:?}");
    for rule in ["1 unsafe names", "1 security.path_excludes", "1 .gitignore line 1"] {
        assert!(ignored.iter().any(|ignored| ignored.starts_with(rule)), "{rule}: {ignored:?}");
    }
}
