//! Several openers of one state directory: a writer and readers, in threads and as other processes would be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use index::{Index, LexicalQuery};
use model::IndexKind;

use crate::support::{By, State, all_answers, apply, by_vector, delete, lexical, paths, put, terms};

#[test]
fn a_reader_sees_what_the_writer_publishes() {
    let state = State::new();
    let writer = state.writer();
    let reader = state.reader();
    assert!(lexical(&reader.snapshot(), "alpha", None).is_empty());
    for round in 0..5 {
        apply(
            &writer,
            vec![put(&format!("{round}.md"), "alpha beta"), put("a.rs", &format!("alpha {round}"))],
        );
        writer.publish().unwrap();
        assert_eq!(all_answers(&reader.snapshot()), all_answers(&writer.snapshot()), "round {round}");
        assert_eq!(reader.generation(), writer.generation());
        assert_eq!(reader.snapshot().generation(), writer.snapshot().generation());
    }
    apply(&writer, vec![delete("0.md")]);
    // Not published, but gone: it is not shown.
    let snapshot = reader.snapshot();
    let hits = snapshot.lexical(&LexicalQuery { terms: &terms("beta"), kind: None, admit: None, limit: 9 });
    let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
    assert_eq!(snapshot.chunks(&ids).unwrap().len(), 4);
    writer.publish().unwrap();
    assert_eq!(paths(&lexical(&reader.snapshot(), "beta", None)).len(), 4);
    assert_eq!(by_vector(&reader.snapshot(), "beta", IndexKind::Text).len(), 4);
    assert_eq!(reader.known_files().unwrap().len(), 5);
    // Nothing happened: the same snapshot.
    assert!(Arc::ptr_eq(&reader.snapshot(), &reader.snapshot()));
}

#[test]
fn a_reader_outlives_a_rebuild() {
    let state = State::new();
    let writer = state.writer();
    apply(&writer, (0..20).map(|n| put(&format!("{n}.md"), "alpha beta")).collect());
    writer.publish().unwrap();
    let answers = all_answers(&writer.snapshot());
    let reader = state.reader();
    assert_eq!(all_answers(&reader.snapshot()), answers);
    drop(writer);
    std::fs::remove_dir_all(state.dir.join("lexical")).unwrap();
    std::fs::remove_file(state.dir.join("vectors_text.hnsw")).unwrap();
    // What was open still answers; a newcomer finds what there is.
    reader.snapshot();
    let newcomer = state.reader();
    assert!(lexical(&newcomer.snapshot(), "alpha", None).is_empty());
    let writer = state.writer();
    writer.repair(&|_, _| {}).unwrap();
    assert_eq!(all_answers(&reader.snapshot()), answers);
    assert_eq!(all_answers(&newcomer.snapshot()), answers);
}

#[test]
fn a_second_writer_is_refused_by_the_lexical_index() {
    let state = State::new();
    let first = state.writer();
    apply(&first, vec![put("a.md", "alpha")]);
    first.publish().unwrap();
    // The caller's own lock should have prevented this; nothing is lost if it did not.
    let second = state.writer();
    apply(&second, vec![put("b.md", "beta")]);
    assert!(matches!(second.publish(), Err(index::IndexError::Busy { .. })));
    drop(first);
    second.publish().unwrap();
    assert_eq!(lexical(&second.snapshot(), "alpha beta", None).len(), 2);
}

#[test]
fn searches_go_on_while_the_index_is_written() {
    let state = State::new();
    let writer = state.writer();
    apply(&writer, vec![put("fixed.md", "constant")]);
    writer.publish().unwrap();
    let reader = state.reader();
    let stop = AtomicBool::new(false);
    let search = |index: &Index| {
        let mut searches = 0;
        while !stop.load(Ordering::Relaxed) {
            let snapshot = index.snapshot();
            assert_eq!(paths_of(&snapshot, "constant"), ["fixed.md"]);
            assert!(
                !snapshot
                    .vector(IndexKind::Text, &crate::support::vector("constant"), 3, &[], None)
                    .is_empty()
            );
            snapshot.lexical(&LexicalQuery {
                terms: &terms("alpha beta"),
                kind: None,
                admit: Some(&By(|_: &str, _: model::DocType| true)),
                limit: 5,
            });
            index.counts().unwrap();
            searches += 1;
        }
        assert!(searches > 0);
    };
    std::thread::scope(|scope| {
        let searchers = [
            scope.spawn(|| search(&writer)),
            scope.spawn(|| search(&reader)),
            scope.spawn(|| search(&reader)),
        ];
        for round in 0..60 {
            apply(&writer, vec![put(&format!("{}.md", round % 7), &format!("alpha {round}\n\nbeta"))]);
            if round % 9 == 0 {
                apply(&writer, vec![delete(&format!("{}.md", (round + 3) % 7))]);
            }
            writer.publish().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        for searcher in searchers {
            searcher.join().unwrap();
        }
    });
    assert_eq!(all_answers(&reader.snapshot()), all_answers(&writer.snapshot()));
}

/// Paths of the hits that are still there.
fn paths_of(snapshot: &index::Snapshot, query: &str) -> Vec<String> {
    let hits = snapshot.lexical(&LexicalQuery { terms: &terms(query), kind: None, admit: None, limit: 10 });
    let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
    snapshot.chunks(&ids).unwrap().into_iter().map(|chunk| chunk.rel_path).collect()
}

#[test]
fn a_repair_in_the_background_does_not_stop_searches() {
    let state = State::new();
    let writer = state.writer();
    apply(&writer, (0..200).map(|n| put(&format!("{n}.md"), &format!("alpha {n}\n\nbeta"))).collect());
    writer.publish().unwrap();
    let answers = all_answers(&writer.snapshot());
    drop(writer);
    std::fs::write(state.dir.join("vectors_text.hnsw"), "damaged").unwrap();
    let writer = state.writer();
    let searched = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The repair reports progress from its own thread; a search runs right in the middle of it.
        scope.spawn(|| {
            writer
                .repair(&|_, _| {
                    assert_eq!(lexical(&writer.snapshot(), "alpha", None).len(), 200);
                    searched.store(true, Ordering::Relaxed);
                })
                .unwrap();
        });
    });
    assert!(searched.into_inner());
    assert_eq!(all_answers(&writer.snapshot()), answers);
}

#[test]
fn an_index_may_be_used_from_any_thread() {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
    shared::<index::Snapshot>();
}
