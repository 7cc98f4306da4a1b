//! How a catalog comes to be, what becomes of one that cannot be read, and how a new index takes the place of the old one.

use index::{Access, IndexError};

use crate::support::{Buckets, State, all_answers, apply, hash, lexical, open, paths, put};

/// The database of another program, under the name of the catalog.
#[test]
fn d032_another_programs_database_is_refused_and_left_alone() {
    let state = State::new();
    std::fs::create_dir_all(&state.dir).unwrap();
    state.beside().execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    let before = std::fs::read(state.catalog()).unwrap();
    for access in [Access::Writer, Access::Reader] {
        match state.try_open(access) {
            Err(IndexError::Foreign { .. }) => {}
            other => panic!("{:?}", other.err()),
        }
    }
    assert!(std::fs::read(state.catalog()).unwrap() == before);
}

#[test]
fn a_catalog_that_cannot_be_read_makes_room_for_a_new_one() {
    let damages: [(&str, fn(&mut Vec<u8>)); 8] = [
        ("no database", |bytes| bytes[..64].fill(b'x')),
        ("a text file", |bytes| *bytes = b"hello, this is not a database".repeat(100)),
        ("a damaged schema", |bytes| bytes[100..4000].fill(0xA5)),
        ("another id", |bytes| bytes[68..72].copy_from_slice(&[0, 0, 0, 9])),
        ("zeros", |bytes| bytes[..4096].fill(0)),
        ("cut", |bytes| bytes.truncate(5000)),
        ("one page", |bytes| bytes.truncate(16384)),
        ("no room for checksums", |bytes| bytes[20] = 0),
    ];
    for (what, damage) in damages {
        let state = State::new();
        let index = state.writer();
        for n in 0..50 {
            apply(&index, vec![put(&format!("{n}.md"), "alpha beta")]);
        }
        index.publish().unwrap();
        drop(index);
        state.damage(damage);
        let index = state.writer();
        assert!(index.replaced().is_some(), "{what}");
        assert_eq!(index.counts().unwrap().documents, 0, "{what}");
        index.repair(&|_, _| {}).unwrap();
        apply(&index, vec![put("a.md", "alpha")]);
        index.publish().unwrap();
        index.compact().unwrap();
        assert_eq!(paths(&lexical(&index.snapshot(), "alpha", None)), ["a.md"], "{what}");
        drop(index);
        assert_eq!(state.writer().replaced(), None, "{what}: once is enough");
        assert!(!state.dir.join("meta.sqlite.damaged").exists(), "{what}");
    }
}

/// A page in the middle: whatever stands there is missing and the damage is known, and everything else is still found.
#[test]
fn damage_deep_in_the_catalog_costs_what_stood_there() {
    let state = State::new();
    let index = state.writer();
    let text = |n: usize| {
        format!("alpha {n} {}", hash(&n.to_string()).0.map(|byte| format!("{byte:02x}")).concat().repeat(12))
    };
    for n in 0..200 {
        apply(&index, vec![put(&format!("{n}.md"), &text(n))]);
    }
    index.publish().unwrap();
    index.check().unwrap();
    index.verify().unwrap();
    drop(index);
    let pages = std::fs::metadata(state.catalog()).unwrap().len() as usize / 16384;
    let mut shortened = 0;
    for page in 1..pages {
        let copy = State::new();
        crate::damage::copy(&state.dir, &copy.dir);
        copy.damage(|bytes| bytes[page * 16384 + 9000..][..32].fill(0x5A));
        let index = copy.writer();
        if index.replaced().is_some() {
            continue;
        }
        let snapshot = index.snapshot();
        let query = crate::support::terms("alpha");
        let hits =
            snapshot.lexical(&index::LexicalQuery { terms: &query, kind: None, admit: None, limit: 1000 });
        let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
        let chunks = snapshot.chunks(&ids).unwrap();
        assert!(chunks.len() == 200 || index.damage().is_some(), "page {page}: {} chunks", chunks.len());
        assert!(chunks.iter().all(|chunk| {
            let number = chunk.rel_path.trim_end_matches(".md").parse().unwrap();
            chunk.text == text(number)
        }));
        shortened += usize::from((1..200).contains(&chunks.len()));
        assert!(index.verify().is_err(), "page {page}");
        assert!(index.damage().is_some());
    }
    assert!(shortened > 0, "{shortened} of {pages}");
}

/// A kill while the catalog is created leaves its temporary name, in whatever state.
#[test]
fn a_catalog_is_there_whole_or_not_at_all() {
    let state = State::new();
    std::fs::create_dir_all(&state.dir).unwrap();
    for name in ["meta.sqlite.new", "meta.sqlite.new-journal", "meta.sqlite-wal", "meta.sqlite-shm"] {
        std::fs::write(state.dir.join(name), "half of something").unwrap();
    }
    // An older version made the file first and filled it then.
    std::fs::write(state.catalog(), "").unwrap();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    index.publish().unwrap();
    assert_eq!(index.replaced(), None);
    assert!(!state.dir.join("meta.sqlite.new").exists());
    drop(index);
    assert_eq!(state.writer().counts().unwrap().documents, 1);
}

/// A whole new index takes the place of the old one, at once or, after a crash, when the index is opened next.
#[test]
fn a_rebuilt_index_takes_the_place_of_the_old_one() {
    for crash in [None, Some("before"), Some("after the catalog")] {
        let state = State::new();
        let old = state.writer();
        apply(&old, vec![put("a.md", "alpha")]);
        old.publish().unwrap();
        let reader = state.reader();
        let before = old.snapshot();
        let dir = index::rebuild_dir(&state.dir).unwrap();
        let new = open(&dir, Access::Writer, Buckets::default()).unwrap();
        apply(&new, vec![put("b.md", "alpha beta"), put("c.rs", "alpha gamma")]);
        new.publish().unwrap();
        let wanted = all_answers(&new.snapshot());
        drop(new);
        old.retire();
        match crash {
            None => index::install_rebuilt(&state.dir).unwrap(),
            Some(when) => {
                std::fs::rename(&dir, state.dir.join("rebuilt")).unwrap();
                if when != "before" {
                    let _ = std::fs::remove_file(state.dir.join("meta.sqlite-wal"));
                    let _ = std::fs::remove_file(state.dir.join("meta.sqlite-shm"));
                    std::fs::rename(state.dir.join("rebuilt/meta.sqlite"), state.catalog()).unwrap();
                }
            }
        }
        assert_eq!(paths(&lexical(&before, "alpha", None)), ["a.md"], "who reads the old one still can");
        assert_eq!(reader.is_superseded(), crash != Some("before"));
        drop((old, before));
        let index = state.writer();
        assert!(!index.needs_repair(), "{crash:?}");
        assert_eq!(all_answers(&index.snapshot()), wanted, "{crash:?}");
        apply(&index, vec![put("d.md", "delta")]);
        index.publish().unwrap();
        drop(reader);
        let answers = all_answers(&index.snapshot());
        assert_eq!(all_answers(&state.reader().snapshot()), answers);
        drop(index);
        assert_eq!(all_answers(&state.writer().snapshot()), answers);
        assert!(!state.dir.join("rebuilt").exists() && !state.dir.join("rebuild").exists());
    }
}
