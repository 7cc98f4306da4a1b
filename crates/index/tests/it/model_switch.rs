//! Another embedding model: the vectors of the former one answer until those of the new one are complete.

use std::path::Path;

use index::{Access, Index, Open};
use model::{EmbeddingProvider, IndexKind};

use crate::support::{Buckets, State, apply, bought, by_vector, delete, embed_all, open, put};

fn switched(dir: &Path, embedding: EmbeddingProvider, former: Vec<EmbeddingProvider>) -> Index {
    let open =
        Open { dir: dir.to_owned(), access: Access::Writer, embedding, former, root: "/root".to_owned() };
    let index = Index::open(open).unwrap();
    index.repair(&|_, _| {}).unwrap();
    index
}

fn model(index: &Index, kind: IndexKind) -> String {
    index.snapshot().embedding(kind).model(kind).to_owned()
}

fn found(index: &Index, word: &str) -> Vec<String> {
    let hits = by_vector(&index.snapshot(), word, IndexKind::Text);
    crate::support::paths(&hits).into_iter().map(str::to_owned).collect()
}

#[test]
fn old_vectors_answer_while_new_ones_are_made() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("old")).unwrap();
    apply(&index, vec![put("a.md", "alpha"), put("b.md", "beta"), put("c.rs", "gamma")]);
    embed_all(&index);
    drop(index);
    let index = switched(&state.dir, bought("new"), vec![bought("other"), bought("old")]);
    assert_eq!((model(&index, IndexKind::Text), found(&index, "alpha").len()), ("old".to_owned(), 2));
    assert_eq!(index.pending_count(IndexKind::Text).unwrap(), 2, "all of it is to be made again");
    // What changes meanwhile: gone is gone, and what is new is found by its words.
    apply(&index, vec![delete("b.md"), put("d.md", "delta")]);
    index.publish().unwrap();
    assert_eq!(found(&index, "alpha"), ["a.md"]);
    drop(index);
    // The next process goes on where the last one was killed.
    let index = switched(&state.dir, bought("new"), vec![bought("old")]);
    assert_eq!(
        (model(&index, IndexKind::Text), found(&index, "alpha")),
        ("old".to_owned(), vec!["a.md".into()])
    );
    assert_eq!(embed_all(&index), ["alpha", "delta", "gamma"]);
    assert_eq!(model(&index, IndexKind::Text), "new", "and all at once the new ones answer");
    assert_eq!(model(&index, IndexKind::Code), "new");
    assert_eq!(found(&index, "alpha"), ["a.md", "d.md"]);
    assert_eq!(index.counts().unwrap().embedded, 3);
    drop(index);
    let index = switched(&state.dir, bought("new"), vec![bought("old")]);
    assert_eq!(model(&index, IndexKind::Text), "new");
    assert!(embed_all(&index).is_empty(), "nothing is bought twice");
    let leftovers: Vec<_> = std::fs::read_dir(&state.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("former"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

#[test]
fn without_the_former_embedder_words_answer_alone() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, bought("old")).unwrap();
    apply(&index, vec![put("a.md", "alpha")]);
    embed_all(&index);
    drop(index);
    let index = switched(&state.dir, bought("new"), Vec::new());
    assert_eq!((model(&index, IndexKind::Text), found(&index, "alpha").len()), ("new".to_owned(), 0));
    assert_eq!(embed_all(&index), ["alpha"]);
    assert_eq!(found(&index, "alpha"), ["a.md"]);
}

/// From the built-in table to a provider, and back: the table is asked as long as its vectors answer.
#[test]
fn a_local_embedder_is_a_former_one_too() {
    let state = State::new();
    let index = open(&state.dir, Access::Writer, Buckets::default()).unwrap();
    apply(&index, vec![put("a.md", "alpha"), put("b.md", "beta")]);
    index.publish().unwrap();
    drop(index);
    let index = switched(&state.dir, bought("new"), vec![Buckets::default().into()]);
    assert_eq!((model(&index, IndexKind::Text), found(&index, "alpha").len()), ("buckets-1".to_owned(), 2));
    embed_all(&index);
    assert_eq!(model(&index, IndexKind::Text), "new");
    drop(index);
    let index = switched(&state.dir, Buckets::default().into(), vec![bought("new")]);
    assert_eq!((model(&index, IndexKind::Text), found(&index, "alpha").len()), ("buckets-1".to_owned(), 2));
}
