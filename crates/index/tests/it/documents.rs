//! What a batch does to documents, representations and chunks.

use std::path::PathBuf;

use index::{Access, Batch, DocChange, IndexError};
use model::{ChunkId, DocStatus, EmbeddingProvider, IndexKind, Pointer, Span};

use crate::support::{
    Buckets, State, all_answers, apply, by_vector, delete, hash, lexical, open, paths, put, put_as,
    put_chunks, representation, unread,
};

fn chunk_rows(state: &State) -> Vec<(i64, i64, bool, i64)> {
    let sql = state.sql();
    let mut statement = sql
        .prepare("SELECT chunk_id, ordinal, deleted, generation FROM chunks ORDER BY generation, ordinal")
        .unwrap();
    let rows =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn d099_d100_an_unchanged_document_changes_nothing() {
    let state = State::new();
    let index = state.writer();
    let first = apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    assert_eq!((first.generation.0, first.reps, first.chunks_added, first.chunks_removed), (1, 1, 2, 0));
    assert_eq!(first.embedded, 2);
    let before = chunk_rows(&state);
    let again = apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    assert_eq!((again.generation.0, again.reps, again.chunks_added, again.chunks_removed), (1, 0, 0, 0));
    assert_eq!(chunk_rows(&state), before);
    // The same representation, though the chunks claim otherwise: it is not looked at.
    let mut hollow = put("a.md", "alpha\n\nbeta");
    representation(&mut hollow).chunks.clear();
    if let DocChange::Put { document, .. } = &mut hollow {
        document.content_hash = Some(hash("other bytes, same text"));
    }
    let hollow = apply(&index, vec![hollow]);
    assert_eq!((hollow.generation.0, hollow.chunks_removed), (2, 0));
    assert_eq!(chunk_rows(&state), before);
}

#[test]
fn a_change_is_the_difference_of_two_sets() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta\n\ngamma")]);
    let before = chunk_rows(&state);
    let changed = apply(&index, vec![put("a.md", "alpha\n\nBETA\n\ngamma")]);
    assert_eq!((changed.chunks_added, changed.chunks_removed, changed.generation.0), (1, 1, 2));
    let after = chunk_rows(&state);
    assert_eq!(after[0], before[0], "kept rows are untouched");
    assert_eq!(after[1], before[2]);
    assert_eq!(after.iter().filter(|row| row.2).count(), 1, "the vanished one is a tombstone: {after:?}");
    assert!(after.iter().filter(|row| row.2).all(|row| row.3 == 2));
}

#[test]
fn d079_tombstones_and_their_return() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.md", "alpha")]);
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    let gone = apply(&index, vec![delete("a.md")]);
    assert_eq!(gone.chunks_removed, 2);
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), "alpha", None)), ["b.md"]);
    assert_eq!(paths(&by_vector(&index.snapshot(), "alpha", IndexKind::Text)), ["b.md"]);
    let dead = |table: &str| -> i64 {
        state
            .sql()
            .query_row(&format!("SELECT count(*) FROM {table} WHERE deleted = 1"), [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!((dead("documents"), dead("representations"), dead("chunks")), (1, 1, 2));
    assert_eq!(index.document("a.md").unwrap(), None);
    let vectors = std::fs::metadata(state.dir.join("vectors_text.hnsw")).unwrap().len();

    let back = apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    assert_eq!((back.chunks_added, back.chunks_removed), (2, 0));
    index.publish().unwrap();
    assert_eq!((dead("documents"), dead("representations"), dead("chunks")), (0, 0, 0));
    assert_eq!(all_answers(&index.snapshot()), answers);
    assert_eq!(index.counts().unwrap().chunks, 3);
    let rows: i64 = state.sql().query_row("SELECT count(*) FROM chunks", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 3, "rows came back to life, none was added");
    assert_eq!(
        std::fs::metadata(state.dir.join("vectors_text.hnsw")).unwrap().len(),
        vectors,
        "so did vectors"
    );
}

#[test]
fn removing_and_bringing_back_between_two_publications() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.md", "beta")]);
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    apply(&index, vec![delete("a.md")]);
    apply(&index, vec![put("a.md", "gamma")]);
    apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    apply(&index, vec![put("c.md", "alpha")]);
    apply(&index, vec![delete("c.md")]);
    index.publish().unwrap();
    assert_eq!(all_answers(&index.snapshot()), answers);
    drop(index);
    assert_eq!(all_answers(&state.writer().snapshot()), answers);
}

#[test]
fn an_empty_index_forgets_nothing_it_never_knew() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    apply(&index, vec![delete("a.md")]);
    index.publish().unwrap();
    assert!(lexical(&index.snapshot(), "alpha", None).is_empty());
    apply(&index, vec![put("a.md", "alpha")]);
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), "alpha", None)), ["a.md"]);
}

#[test]
fn without_a_representation_the_old_one_goes() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    let applied = apply(&index, vec![unread("a.md")]);
    assert_eq!(applied.chunks_removed, 1);
    index.publish().unwrap();
    assert!(lexical(&index.snapshot(), "alpha", None).is_empty());
    let row = index.document("a.md").unwrap().unwrap();
    let reason = row.reason.as_ref().map(ToString::to_string);
    assert_eq!((row.status, reason.as_deref()), (DocStatus::Error, Some("EXTRACT_FAILED: unreadable")));
}

#[test]
fn a_touch_moves_only_metadata() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    let touched = apply(
        &index,
        vec![DocChange::Touch { path: "a.md".to_owned(), size: 9, mtime_ns: -1, inode: u64::MAX }],
    );
    assert_eq!(touched.generation.0, 1);
    let row = index.document("a.md").unwrap().unwrap();
    assert_eq!((row.size, row.mtime_ns, row.inode, row.generation.0), (9, -1, u64::MAX, 1));
    let known = index.known_files().unwrap();
    assert_eq!((known["a.md"].mtime_ns, known["a.md"].content_hash), (-1, Some(hash("alpha"))));
    assert_eq!(known.len(), 1);
}

#[test]
fn listings_are_by_path_in_pages() {
    let state = State::new();
    let index = state.writer();
    apply(&index, ["b/z.md", "a.rs", "b/a.md", "é.md", "B.md", "c.md"].map(|path| put(path, "alpha")).into());
    apply(&index, vec![delete("c.md")]);
    let (total, page) = index.list(&|_| true, 10, 0).unwrap();
    let names: Vec<&str> = page.iter().map(|row| row.path.as_str()).collect();
    assert_eq!((total, names), (5, vec!["B.md", "a.rs", "b/a.md", "b/z.md", "é.md"]));
    let (total, page) = index.list(&|row| row.path.ends_with(".md"), 2, 1).unwrap();
    let names: Vec<&str> = page.iter().map(|row| row.path.as_str()).collect();
    assert_eq!((total, names), (4, vec!["b/a.md", "b/z.md"]));
}

#[test]
fn chunks_come_back_as_they_went_in() {
    let state = State::new();
    let index = state.writer();
    let long = "line of some length, 行\n".repeat(5000);
    apply(&index, vec![put("a.rs", &format!("first\n\n{long}"))]);
    index.publish().unwrap();
    let snapshot = index.snapshot();
    let hits = snapshot.lexical(&index::LexicalQuery {
        terms: &crate::support::terms("length"),
        kind: None,
        admit: None,
        limit: 5,
    });
    let chunks = snapshot.chunks(&[hits[0].chunk, ChunkId(12345), hits[0].chunk]).unwrap();
    assert_eq!(chunks.len(), 2, "unknown ones are left out");
    assert_eq!(chunks[0].text, long);
    assert_eq!(
        (chunks[0].ordinal, chunks[0].rel_path.as_str(), chunks[0].kind),
        (1, "a.rs", IndexKind::Code)
    );
    assert_eq!(chunks[0].span, Span::Lines { start_line: 3, end_line: 5002 });
    assert_eq!(snapshot.live_chunks(IndexKind::Code), 2);
    assert_eq!(snapshot.live_chunks(IndexKind::Text), 0);
}

#[test]
fn d075_the_place_within_a_document_comes_back() {
    let state = State::new();
    let index = state.writer();
    let placed = |pointer: Option<Pointer>| {
        let mut change = put("a.xlsx", "pelican");
        let rep = representation(&mut change);
        rep.rep_hash = hash(&format!("{pointer:?}"));
        rep.chunks[0].id = ChunkId(7 + i64::from(pointer.is_none()));
        rep.chunks[0].pointer = pointer;
        change
    };
    let rows = Pointer::Rows { sheet: Some("Q2 'net'".into()), first_row: 1, last_row: 40 };
    let extra = || -> Vec<Option<String>> {
        let sql = state.sql();
        let mut statement = sql.prepare("SELECT extra_json FROM spans ORDER BY chunk_id").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for (pointer, id) in [(Some(rows.clone()), 7), (None, 8), (Some(rows), 7)] {
        apply(&index, vec![placed(pointer.clone())]);
        index.publish().unwrap();
        let chunks = index.snapshot().chunks(&[ChunkId(id)]).unwrap();
        assert_eq!(chunks[0].pointer, pointer);
    }
    assert_eq!(extra().iter().filter(|extra| extra.is_none()).count(), 1, "nothing to say is nothing stored");
}

#[test]
fn a_batch_is_all_or_nothing() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    state
        .beside()
        .execute_batch("CREATE TRIGGER refuse BEFORE INSERT ON documents WHEN new.rel_path = 'bad.md' BEGIN SELECT raise(ABORT, 'no'); END")
        .unwrap();
    let batch = Batch { changes: vec![put("b.md", "beta"), delete("a.md"), put("bad.md", "gamma")] };
    assert!(index.apply(&batch).is_err());
    assert_eq!(index.generation().0, 1);
    assert_eq!(index.known_files().unwrap().into_keys().collect::<Vec<_>>(), ["a.md"]);
    state.beside().execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(index.apply(&batch).unwrap().generation.0, 2);
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), "beta gamma alpha", None)).len(), 2);
}

#[test]
fn equal_ids_of_different_chunks_are_told_apart() {
    let state = State::new();
    let index = state.writer();
    let same_id = |path: &str, text: &str| {
        let mut chunks = representation(&mut put(path, text)).chunks.clone();
        chunks.iter_mut().for_each(|chunk| chunk.id = ChunkId(ChunkId::MAX));
        put_chunks(path, text, IndexKind::Text, chunks)
    };
    apply(&index, vec![same_id("a.md", "alpha\n\nbeta"), same_id("b.md", "gamma")]);
    index.publish().unwrap();
    for (word, path) in [("alpha", "a.md"), ("beta", "a.md"), ("gamma", "b.md")] {
        assert_eq!(paths(&lexical(&index.snapshot(), word, None)), [path]);
    }
    // The same again: the same rows are found, nothing is added.
    let again = apply(&index, vec![same_id("b.md", "gamma\n\ndelta")]);
    assert_eq!((again.chunks_added, again.chunks_removed), (1, 0));
    let replaced = apply(&index, vec![same_id("b.md", "epsilon\n\ndelta")]);
    assert_eq!((replaced.chunks_added, replaced.chunks_removed), (0, 0), "the row has another text now");
    index.publish().unwrap();
    assert!(lexical(&index.snapshot(), "gamma", None).is_empty());
    assert_eq!(paths(&lexical(&index.snapshot(), "epsilon", None)), ["b.md"]);
    let answers = all_answers(&index.snapshot());
    drop(index);
    assert_eq!(all_answers(&state.writer().snapshot()), answers);
}

#[test]
fn a_document_that_turns_from_prose_to_code_moves_to_the_other_index() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put_as("a", "alpha\n\nbeta", IndexKind::Text), put("b.md", "alpha")]);
    index.publish().unwrap();
    apply(&index, vec![put_as("a", "alpha\n\nbeta", IndexKind::Code)]);
    index.publish().unwrap();
    let check = |index: &index::Index| {
        let snapshot = index.snapshot();
        assert_eq!(paths(&by_vector(&snapshot, "alpha", IndexKind::Text)), ["b.md"]);
        assert_eq!(paths(&by_vector(&snapshot, "alpha", IndexKind::Code)), ["a", "a"]);
        assert_eq!(paths(&lexical(&snapshot, "alpha", Some(IndexKind::Code))), ["a"]);
        assert_eq!(paths(&lexical(&snapshot, "alpha", Some(IndexKind::Text))), ["b.md"]);
    };
    check(&index);
    drop(index);
    check(&state.writer());
    check(&state.reader());
}

#[test]
fn a_reader_does_not_write() {
    let state = State::new();
    drop(state.writer());
    let reader = state.reader();
    assert!(matches!(reader.apply(&Batch::default()), Err(IndexError::ReadOnly)));
    assert!(matches!(reader.publish(), Err(IndexError::ReadOnly)));
    assert!(matches!(reader.set_setting("x", "y"), Err(IndexError::ReadOnly)));
    assert_eq!(reader.access(), Access::Reader);
}

#[test]
fn another_model_makes_other_vectors() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    drop(index);
    let other = EmbeddingProvider::from(Buckets { name: Some("buckets-2".to_owned()) });
    // A reader with another model sees no vectors rather than wrong ones.
    let reader = open(&state.dir, Access::Reader, other.clone()).unwrap();
    assert!(by_vector(&reader.snapshot(), "alpha", IndexKind::Text).is_empty());
    let index = open(&state.dir, Access::Writer, other).unwrap();
    assert!(index.needs_repair());
    let report = index.repair(&|_, _| {}).unwrap();
    assert!(matches!(report.text_vectors, index::Repaired::Rebuilt { chunks: 2, .. }), "{report:?}");
    assert_eq!(report.lexical, index::Repaired::Nothing);
    assert!(!index.needs_repair());
    assert_eq!(all_answers(&index.snapshot()), answers);
    assert_eq!(index.setting("embed_text_model").unwrap().as_deref(), Some("buckets-2"));
    assert_eq!(all_answers(&reader.snapshot()), answers, "and the reader sees them now");
}

#[test]
fn compaction_removes_tombstones_for_good() {
    let state = State::new();
    let index = state.writer();
    let text = |round: usize, n: usize| format!("alpha {n}\n\nbeta {round} {n}\n\ngamma {round}");
    for round in 0..5 {
        apply(&index, (0..150).map(|n| put(&format!("{n}.md"), &text(round, n))).collect());
    }
    apply(&index, (100..150).map(|n| delete(&format!("{n}.md"))).collect());
    index.publish().unwrap();
    let answers = all_answers(&index.snapshot());
    let before = index.counts().unwrap();
    assert!(before.deleted_chunks >= 1000, "{before:?}");
    let reader = state.reader();
    assert_eq!(all_answers(&reader.snapshot()), answers);
    let compacted = index.compact().unwrap();
    assert_eq!(compacted.chunks, before.deleted_chunks);
    let after = index.counts().unwrap();
    assert_eq!((after.deleted, after.deleted_chunks, after.chunks), (0, 0, before.chunks));
    assert_eq!(all_answers(&index.snapshot()), answers);
    assert_eq!(all_answers(&reader.snapshot()), answers);
    assert_eq!(index.compact().unwrap().chunks, 0);
    let broken: i64 =
        state.sql().query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(broken, 0);
    drop((index, reader));
    let index = state.writer();
    assert!(!index.needs_repair());
    assert_eq!(all_answers(&index.snapshot()), answers);
    // A file from before the compaction cannot be brought along any more.
    apply(&index, vec![put("100.md", "alpha")]);
    index.publish().unwrap();
}

#[test]
fn deleted_text_is_gone_after_a_compaction() {
    let state = State::new();
    let index = state.writer();
    // Not compressible to nothing, and not in any index as a word of its own.
    let text = |n: usize| format!("{}quarterdeckmutiny{n}", "x".repeat(40 + n));
    apply(&index, (0..20).map(|n| put(&format!("{n}.md"), &text(n))).collect());
    index.outline_by("1").unwrap();
    let missing = index.unoutlined(model::DocId(0), 100).unwrap();
    let outlined = missing.iter().map(|row| (row.doc_id, row.content_hash, model::Outline::default()));
    index.put_outlines(&outlined.collect::<Vec<_>>()).unwrap();
    index.publish().unwrap();
    apply(&index, vec![delete("7.md")]);
    index.publish().unwrap();
    assert_eq!(index.compact().unwrap().chunks, 1, "one is enough in a small index");
    let found = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(18).any(|window| window == b"quarterdeckmutiny7")
    };
    for name in ["meta.sqlite", "meta.sqlite-wal"] {
        assert!(!found(state.dir.join(name)), "{name}");
    }
    drop(index);
    assert!(!found(state.catalog()));
}
