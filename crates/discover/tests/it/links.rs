//! Symbolic links, followed and not.

use discover::{Examined, examine};

use crate::fixture::{Fixture, OPTIONS, rel};

const TREE: &str = "
//- real/one.txt
//- real/two.txt
//- real/back -> ..
//- real/node_modules/x.js
//- file -> real/one.txt
//- dir -> real
//- other/again -> ../dir
//- loop/self -> .
//- loop/up -> ../loop
//- chain -> dir
//- out -> /etc
//- passwd -> /etc/passwd
//- up -> ../..
//- dangling -> nowhere
//- secret -> .git/config
//- excluded -> real/node_modules
//- .git/config
//- proc -> /proc/self/environ
";

#[test]
fn d085_links_are_not_followed_by_default() {
    let fixture = Fixture::new(TREE);
    let (files, others) = fixture.listed();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["real/one.txt", "real/two.txt"]);
    assert_eq!(others.len(), 14);
    assert!(others.values().all(|code| code == "SYMLINK_SKIPPED"), "{others:?}");
    assert_eq!(examine(&fixture.guard, &OPTIONS, &rel("dir/one.txt")), Examined::Ignored { rule: None });
}

#[test]
fn d085_links_are_followed_below_the_root_only() {
    let fixture = Fixture::following_links(TREE);
    let (files, others) = fixture.listed();
    let wanted = [
        "chain/one.txt",
        "chain/two.txt",
        "dir/one.txt",
        "dir/two.txt",
        "file",
        "other/again/one.txt",
        "other/again/two.txt",
        "real/one.txt",
        "real/two.txt",
    ];
    assert_eq!(files.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
    let left: Vec<_> = others.keys().map(String::as_str).collect();
    let wanted = [
        "chain/back",
        "dangling",
        "dir/back",
        "excluded",
        "loop/self",
        "loop/up",
        "other/again/back",
        "out",
        "passwd",
        "proc",
        "real/back",
        "secret",
        "up",
    ];
    assert_eq!(left, wanted);
    for path in files {
        assert!(matches!(examine(&fixture.guard, &OPTIONS, &rel(&path)), Examined::File(_)), "{path}");
        fixture.guard.open(&rel(&path)).unwrap();
    }
    for path in left {
        assert!(matches!(examine(&fixture.guard, &OPTIONS, &rel(path)), Examined::Skipped { .. }), "{path}");
    }
}

#[test]
fn d085_many_links_to_each_other_end() {
    let mut text = String::new();
    for from in 0..12 {
        text.push_str(&format!("//- d{from}/f.txt\n"));
        for to in 0..12 {
            text.push_str(&format!("//- d{from}/l{to} -> ../d{to}\n"));
        }
    }
    let fixture = Fixture::following_links(&text);
    // Each file by its own path and by one link from each other directory.
    assert_eq!(fixture.files().len(), 12 * 12);
}
