//! Vectors that are bought after the words were published.

use index::{Access, IndexError, NewVector};
use model::{ChunkId, IndexKind};

use crate::support::{
    State, all_answers, apply, bought, by_vector, embed_all, lexical, open, paths, put, vector,
};

const KINDS: [IndexKind; 2] = [IndexKind::Text, IndexKind::Code];

#[test]
fn a_refused_text_is_recorded_and_still_found() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    apply(&index, vec![put("a.md", "alpha\n\nunembeddable alpha\n\nbeta")]);
    embed_all(&index);
    let row: (String, String) = state
        .sql()
        .query_row("SELECT embedding_status, embedding_error FROM chunks WHERE ordinal = 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(row, ("error".to_owned(), "this text has no meaning".to_owned()));
    let counts = index.counts().unwrap();
    assert_eq!((counts.embedded, counts.embedding_errors), (2, 1));
    assert_eq!(lexical(&index.snapshot(), "unembeddable", None).len(), 1);
    assert_eq!(by_vector(&index.snapshot(), "alpha", IndexKind::Text).len(), 2);
    assert!(embed_all(&index).is_empty(), "it is not tried again");
    drop(index);
    let index = open(&state.dir, Access::Writer, bought("another")).unwrap();
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(index.pending_count(IndexKind::Text).unwrap(), 3, "another model may take it");
}

#[test]
fn words_are_published_before_their_vectors_are_bought() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    let applied = apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.rs", "beta")]);
    assert_eq!(applied.embedded, 0);
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), "beta", None)), ["a.md", "b.rs"]);
    assert!(by_vector(&index.snapshot(), "beta", IndexKind::Text).is_empty());
    assert_eq!(index.counts().unwrap().embedded, 0);
    assert_eq!(KINDS.map(|kind| index.pending_count(kind).unwrap()), [2, 1]);
    let reader = open(&state.dir, Access::Reader, bought("m")).unwrap();
    assert_eq!(embed_all(&index), ["alpha", "beta"]);
    assert_eq!(index.counts().unwrap().embedded, 3);
    assert_eq!(KINDS.map(|kind| index.pending_count(kind).unwrap()), [0, 0]);
    assert_eq!(by_vector(&index.snapshot(), "beta", IndexKind::Text).len(), 2);
    assert_eq!(all_answers(&reader.snapshot()), all_answers(&index.snapshot()), "readers see them too");
    assert!(!index.needs_repair(), "nothing has to be replayed for them");
}

#[test]
fn d101_a_text_is_bought_once_per_model() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.rs", "beta")]);
    assert_eq!(embed_all(&index), ["alpha", "beta"]);
    // The same paragraph elsewhere, moved or in another document.
    apply(&index, vec![put("c.md", "beta\n\nalpha\n\nbeta"), put("a.md", "gamma\n\nalpha\n\nbeta")]);
    assert_eq!(embed_all(&index), ["gamma"]);
    assert_eq!(index.counts().unwrap().embedded, 7);
    let answers = all_answers(&index.snapshot());
    drop(index);
    // Lost vector files are restored from what was bought.
    std::fs::remove_file(state.dir.join("vectors_text.hnsw")).unwrap();
    std::fs::write(state.dir.join("vectors_code.hnsw"), "damaged").unwrap();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(all_answers(&index.snapshot()), answers);
    assert!(embed_all(&index).is_empty());
    // An index that is built again takes over what the old one has.
    let rebuilt = open(&state.dir.join("again"), Access::Writer, bought("m")).unwrap();
    let files = [("a.md", "gamma\n\nalpha\n\nbeta"), ("b.rs", "beta"), ("c.md", "beta\n\nalpha\n\nbeta")];
    apply(&rebuilt, files.iter().map(|(path, text)| put(path, text)).collect());
    assert_eq!(rebuilt.adopt_vectors(&index).unwrap(), 7);
    rebuilt.publish().unwrap();
    assert_eq!(all_answers(&rebuilt.snapshot()), answers);
}

#[test]
fn stored_vectors_survive_a_kill_before_they_are_published() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    apply(&index, vec![put("a.md", "alpha\n\nbeta\n\ngamma")]);
    index.publish().unwrap();
    let pending = index.pending_chunks(IndexKind::Text, ChunkId(0), 2).unwrap();
    let stored: Vec<String> = pending.iter().map(|chunk| chunk.text.clone()).collect();
    let vectors: Vec<NewVector> = pending
        .into_iter()
        .map(|chunk| NewVector { id: chunk.id, text_hash: chunk.text_hash, vector: Ok(vector(&chunk.text)) })
        .collect();
    assert_eq!(index.store_vectors(IndexKind::Text, &vectors).unwrap(), 2);
    assert_eq!(index.counts().unwrap().embedded, 0, "they count when they can be found");
    // The process ends here: what was stored is in the catalog, and nothing of it in the vector file.
    drop(index);
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    assert!(index.needs_repair());
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(by_vector(&index.snapshot(), "alpha", IndexKind::Text).len(), 2);
    let rest = embed_all(&index);
    assert_eq!(rest.len(), 1);
    assert!(!stored.contains(&rest[0]), "{rest:?} was bought twice");
    assert_eq!(by_vector(&index.snapshot(), "alpha", IndexKind::Text).len(), 3);
}

#[test]
fn a_vector_that_comes_too_late_is_kept_but_not_used() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    apply(&index, vec![put("a.md", "alpha\n\nbeta")]);
    let pending = index.pending_chunks(IndexKind::Text, ChunkId(0), 10).unwrap();
    // The file changes while its texts are being embedded.
    apply(&index, vec![put("a.md", "gamma")]);
    let vectors: Vec<NewVector> = pending
        .into_iter()
        .map(|chunk| NewVector { id: chunk.id, text_hash: chunk.text_hash, vector: Ok(vector(&chunk.text)) })
        .collect();
    assert_eq!(index.store_vectors(IndexKind::Text, &vectors).unwrap(), 0);
    index.publish().unwrap();
    assert!(by_vector(&index.snapshot(), "alpha", IndexKind::Text).is_empty());
    apply(&index, vec![put("a.md", "alpha\n\nbeta\n\ngamma")]);
    assert_eq!(embed_all(&index), ["gamma"], "the others were paid for");
    assert_eq!(by_vector(&index.snapshot(), "alpha", IndexKind::Text).len(), 3);
}

#[test]
fn a_retired_index_takes_no_vectors() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("m")).unwrap();
    apply(&index, vec![put("a.md", "alpha")]);
    let chunk = index.pending_chunks(IndexKind::Text, ChunkId(0), 1).unwrap().remove(0);
    index.retire();
    let vector = NewVector { id: chunk.id, text_hash: chunk.text_hash, vector: Ok(vector(&chunk.text)) };
    assert!(matches!(index.store_vectors(IndexKind::Text, &[vector]), Err(IndexError::ReadOnly)));
}
