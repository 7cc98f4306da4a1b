//! What is found, in which order, with which score; and that it does not depend on history.

use index::{Bm25, LexicalQuery, QueryTerm};
use model::filter::Admit;
use model::{DocType, IndexKind};
use proptest::prelude::*;

use crate::support::{
    By, State, WORDS, all_answers, apply, by_vector, delete, lexical, paths, put, put_as, representation,
    terms, vector,
};

#[test]
fn bm25_is_what_the_formula_says() {
    let state = State::new();
    let index = state.writer();
    // Lengths 4, 2 and 3; "alpha" in two of three chunks.
    apply(
        &index,
        vec![put("x/1", "alpha alpha beta gamma"), put("x/2", "alpha delta"), put("x/3", "beta gamma delta")],
    );
    index.publish().unwrap();
    let snapshot = index.snapshot();
    let hits = snapshot.lexical(&LexicalQuery { terms: &terms("alpha"), kind: None, admit: None, limit: 10 });
    let idf = (1.0f64 + (3.0 - 2.0 + 0.5) / (2.0 + 0.5)).ln();
    let score = |tf: f64, length: f64| idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / 3.0));
    assert_eq!(hits.len(), 2);
    let wanted = [score(2.0, 4.0), score(1.0, 2.0)];
    for (hit, wanted) in hits.iter().zip(wanted) {
        assert!((f64::from(hit.score) - wanted).abs() < 1e-6, "{} {wanted}", hit.score);
    }
    // Twice the weight, twice the score; and a term in the path counts.
    let double = [QueryTerm::new("alpha", 2.0)];
    let twice = snapshot.lexical(&LexicalQuery { terms: &double, kind: None, admit: None, limit: 10 });
    assert!((twice[0].score - 2.0 * hits[0].score).abs() < 1e-5);
    let by_path = snapshot.lexical(&LexicalQuery { terms: &terms("3"), kind: None, admit: None, limit: 10 });
    assert_eq!(by_path.len(), 1);
    let bm25 = Bm25 { path_weight: 0.0, ..Bm25::default() };
    let query = LexicalQuery { terms: &terms("3"), kind: None, admit: None, limit: 10 };
    assert!(snapshot.lexical_with(&query, &bm25).is_empty());
    let ignored = [QueryTerm::new("alpha", 0.0)];
    assert!(
        snapshot.lexical(&LexicalQuery { terms: &ignored, kind: None, admit: None, limit: 10 }).is_empty()
    );
}

#[test]
fn statistics_are_those_of_the_kind_and_of_the_living() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha beta"), put("b.md", "alpha gamma delta")]);
    index.publish().unwrap();
    let alone = lexical(&index.snapshot(), "alpha beta", Some(IndexKind::Text));
    apply(&index, (0..40).map(|n| put(&format!("{n}.rs"), "alpha alpha beta filler")).collect());
    apply(&index, (0..40).map(|n| put(&format!("{n}.txt"), "beta beta alpha filler")).collect());
    index.publish().unwrap();
    assert_ne!(lexical(&index.snapshot(), "alpha beta", Some(IndexKind::Text)), alone);
    apply(&index, (0..40).map(|n| delete(&format!("{n}.txt"))).collect());
    index.publish().unwrap();
    assert_eq!(lexical(&index.snapshot(), "alpha beta", Some(IndexKind::Text)), alone);
}

#[test]
fn what_is_looked_up_for_the_best_alone_changes_no_answer() {
    let state = State::new();
    let index = state.writer();
    // One word in every chunk, one in most, two in a few: enough postings that the common ones are not all read.
    let text = |n: usize| {
        let often = if n.is_multiple_of(5) { "" } else { "beta " };
        let seldom = if n.is_multiple_of(97) { "gamma " } else { "" };
        let rare = if n.is_multiple_of(301) { "delta " } else { "" };
        format!("{}{often}{seldom}{rare}{}", "alpha ".repeat(1 + n % 4), "filler ".repeat(n % 7))
    };
    apply(&index, (0..3_000).map(|n| put(&format!("part{}/{n}.md", n % 9), &text(n))).collect());
    index.publish().unwrap();
    let snapshot = index.snapshot();
    let with_forms =
        QueryTerm { forms: vec!["beta".into()], form_weight: 0.4, ..QueryTerm::new("alpha", 1.0) };
    let plain: Vec<QueryTerm> = terms("alpha beta gamma delta");
    for terms in [plain, vec![QueryTerm::new("delta", 1.0), with_forms, QueryTerm::new("gamma", 0.5)]] {
        let ask = |limit, admit: Option<&dyn Admit>| {
            snapshot.lexical(&LexicalQuery { terms: &terms, kind: Some(IndexKind::Text), admit, limit })
        };
        let some = By(|path: &str, _: DocType| path.starts_with("part1/") || path.starts_with("part4/"));
        let all = ask(10_000, None);
        assert_eq!(all.len(), 3_000);
        let filtered = ask(10_000, Some(&some));
        for limit in [1, 5, 10, 30, 60] {
            assert_eq!(ask(limit, None), all[..limit]);
            assert_eq!(ask(limit, Some(&some)), filtered[..limit.min(filtered.len())]);
        }
    }
}

#[test]
fn ties_are_broken_by_path_then_position() {
    let state = State::new();
    let index = state.writer();
    let same = "alpha\n\nalpha\n\nalpha";
    for path in ["c.md", "a.md", "b/é.md", "b/z.md", "B.md"] {
        apply(&index, vec![put(path, same)]);
        index.publish().unwrap();
    }
    let wanted: Vec<(&str, u32)> = ["B.md", "a.md", "b/z.md", "b/é.md", "c.md"]
        .into_iter()
        .flat_map(|path| (0..3).map(move |ordinal| (path, ordinal)))
        .collect();
    let order = |answer: Vec<(String, u32)>| -> Vec<(String, u32)> {
        answer
            .into_iter()
            .map(|(name, _)| {
                let (path, rest) = name.split_once('#').unwrap();
                (path.to_owned(), rest.split(' ').next().unwrap().parse().unwrap())
            })
            .collect()
    };
    let wanted: Vec<(String, u32)> =
        wanted.into_iter().map(|(path, ordinal)| (path.to_owned(), ordinal)).collect();
    assert_eq!(order(lexical(&index.snapshot(), "alpha", None)), wanted);
    assert_eq!(order(by_vector(&index.snapshot(), "alpha", IndexKind::Text)), wanted);
    // A limit cuts the same order.
    let snapshot = index.snapshot();
    let first = snapshot.lexical(&LexicalQuery { terms: &terms("alpha"), kind: None, admit: None, limit: 7 });
    let all = snapshot.lexical(&LexicalQuery { terms: &terms("alpha"), kind: None, admit: None, limit: 100 });
    assert_eq!(first, all[..7]);
    let first = snapshot.vector(IndexKind::Text, &vector("alpha"), 7, &[], None);
    let all = snapshot.vector(IndexKind::Text, &vector("alpha"), 100, &[], None);
    let also: Vec<_> = [all.len() - 1, 0].map(|at| all[at].chunk).into();
    let with_last = snapshot.vector(IndexKind::Text, &vector("alpha"), 7, &also, None);
    assert_eq!(with_last[..7], first[..], "what is asked for besides comes after the best");
    assert_eq!(with_last[7..], all[all.len() - 1..], "once");
    assert_eq!(first, all[..7]);
    assert!(snapshot.vector(IndexKind::Text, &vector("alpha"), 0, &[], None).is_empty());
}

#[test]
fn a_chunk_that_only_moves_within_its_document_is_found_at_its_new_place() {
    let state = State::new();
    let index = state.writer();
    let three = representation(&mut put("a.md", "alpha\n\nbeta\n\nalpha beta")).chunks.clone();
    apply(
        &index,
        vec![
            crate::support::put_chunks("a.md", "three", IndexKind::Text, three.clone()),
            put("b.md", "beta"),
        ],
    );
    index.publish().unwrap();
    let mut two = three[1..].to_vec();
    two.iter_mut().for_each(|chunk| chunk.ordinal -= 1);
    let change = crate::support::put_chunks("a.md", "two", IndexKind::Text, two);
    let applied = apply(&index, vec![change.clone()]);
    assert_eq!((applied.chunks_added, applied.chunks_removed), (0, 1));
    index.publish().unwrap();
    let fresh = State::new();
    let once = fresh.writer();
    apply(&once, vec![change, put("b.md", "beta")]);
    once.publish().unwrap();
    assert_eq!(all_answers(&index.snapshot()), all_answers(&once.snapshot()));
    drop(index);
    assert_eq!(all_answers(&state.writer().snapshot()), all_answers(&once.snapshot()));
}

#[test]
fn filters_restrict_hits_but_not_scores() {
    let state = State::new();
    let index = state.writer();
    apply(
        &index,
        vec![put("src/a.rs", "alpha beta"), put("src/b.md", "alpha"), put("doc/a.md", "alpha gamma")],
    );
    index.publish().unwrap();
    let snapshot = index.snapshot();
    let all = lexical(&snapshot, "alpha", None);
    let in_src = |path: &str, _: DocType| path.starts_with("src/");
    let asked = std::cell::Cell::new(0);
    let counted = |path: &str, doc_type: DocType| {
        asked.set(asked.get() + 1);
        in_src(path, doc_type)
    };
    let hits = snapshot.lexical(&LexicalQuery {
        terms: &terms("alpha beta a"),
        kind: None,
        admit: Some(&By(counted)),
        limit: 10,
    });
    assert_eq!(hits.len(), 2);
    assert_eq!(asked.get(), 3, "once per document");
    let hits = snapshot.lexical(&LexicalQuery {
        terms: &terms("alpha"),
        kind: None,
        admit: Some(&By(in_src)),
        limit: 10,
    });
    let scores: Vec<u32> = hits.iter().map(|hit| hit.score.to_bits()).collect();
    let wanted: Vec<u32> =
        all.iter().filter(|(name, _)| name.starts_with("src/")).map(|(_, bits)| *bits).collect();
    assert_eq!(scores, wanted);
    let markdown = |_: &str, doc_type: DocType| doc_type == DocType::Md;
    let hits = snapshot.vector(IndexKind::Text, &vector("alpha"), 10, &[], Some(&By(markdown)));
    assert_eq!(hits.len(), 2);
    assert!(
        snapshot
            .vector(IndexKind::Text, &vector("alpha"), 10, &[], Some(&By(|_: &str, _: DocType| false)))
            .is_empty()
    );
    assert!(
        snapshot.vector(IndexKind::Text, &[0.5; 3], 10, &[], None).is_empty(),
        "another number of dimensions"
    );
    assert!(snapshot.vector(IndexKind::Text, &[0.0; 24], 10, &[], None).is_empty());
}

#[test]
fn text_in_any_script_is_found() {
    let state = State::new();
    let index = state.writer();
    apply(
        &index,
        vec![
            put("ja.md", "全文検索エンジンの設計"),
            put("zh.md", "数据库索引损坏时自动修复"),
            put("ko.md", "한국어 형태소 분석"),
            put("th.md", "ภาษาไทยไม่มีช่องว่าง"),
            put("ru.md", "Полнотекстовый поиск"),
            put("fr.md", "Le café crème déjà servi"),
        ],
    );
    index.publish().unwrap();
    for (query, path) in [
        ("検索", "ja.md"),
        ("エンジン", "ja.md"),
        ("自动修复", "zh.md"),
        ("형태소", "ko.md"),
        ("ไทย", "th.md"),
        ("ПОИСК", "ru.md"),
        ("cafe DEJA", "fr.md"),
        ("Crème", "fr.md"),
    ] {
        assert_eq!(paths(&lexical(&index.snapshot(), query, None)), [path], "{query}");
    }
}

#[test]
fn a_token_without_end_does_no_harm() {
    let state = State::new();
    let index = state.writer();
    let monster = "x".repeat(5 << 20);
    let wide = "ж".repeat(1 << 20);
    apply(
        &index,
        vec![put("a.md", &monster), put("b.md", &format!("alpha {wide} beta")), put("c.md", "alpha")],
    );
    index.publish().unwrap();
    assert_eq!(paths(&lexical(&index.snapshot(), &monster, None)), ["a.md"]);
    assert_eq!(paths(&lexical(&index.snapshot(), "beta", None)), ["b.md"]);
    assert_eq!(lexical(&index.snapshot(), "alpha", None).len(), 2);
}

#[test]
fn empty_questions_and_empty_chunks() {
    let state = State::new();
    let index = state.writer();
    let snapshot = index.snapshot();
    assert!(lexical(&snapshot, "alpha", None).is_empty());
    assert!(by_vector(&snapshot, "alpha", IndexKind::Text).is_empty());
    apply(&index, vec![put("a.md", "\t"), put("b.md", "..."), put("c.md", "alpha")]);
    index.publish().unwrap();
    let snapshot = index.snapshot();
    assert!(lexical(&snapshot, "", None).is_empty());
    assert_eq!(paths(&lexical(&snapshot, "alpha", None)), ["c.md"]);
    assert_eq!(snapshot.live_chunks(IndexKind::Text), 3);
}

#[test]
fn a_snapshot_does_not_change() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha"), put("b.md", "alpha beta")]);
    index.publish().unwrap();
    let old = index.snapshot();
    let hits = old.lexical(&LexicalQuery { terms: &terms("alpha"), kind: None, admit: None, limit: 9 });
    apply(&index, vec![delete("a.md"), put("c.md", "alpha")]);
    index.publish().unwrap();
    assert_eq!(
        old.lexical(&LexicalQuery { terms: &terms("alpha"), kind: None, admit: None, limit: 9 }),
        hits
    );
    assert!(index.snapshot().id() > old.id());
    assert_eq!((old.generation().0, index.snapshot().generation().0), (1, 2));
    let ids: Vec<_> = hits.iter().map(|hit| hit.chunk).collect();
    assert_eq!(old.chunks(&ids).unwrap().len(), 1, "but what is gone is not shown");
}

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Put {
        path: usize,
        words: Vec<usize>,
        code: bool,
    },
    Delete {
        path: usize,
    },
    Publish,
    Reopen,
    /// The process dies: nothing is published, nothing closed in order.
    Crash,
}

fn path(number: usize) -> String {
    ["src/main.rs", "src/alpha.rs", "doc/beta.md", "notes/検索.md", "a", "z/deep/er/config.md"][number]
        .to_owned()
}

fn text(words: &[usize]) -> String {
    let mut text = String::new();
    for (position, word) in words.iter().enumerate() {
        text.push_str(WORDS[*word]);
        text.push_str(if position % 3 == 2 { "\n\n" } else { " " });
    }
    text
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6usize, prop::collection::vec(0..WORDS.len(), 0..14), any::<bool>())
            .prop_map(|(path, words, code)| Step::Put { path, words, code }),
        2 => (0..6usize).prop_map(|path| Step::Delete { path }),
        3 => Just(Step::Publish),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

#[test]
fn a_chunk_that_comes_back_as_another_kind_is_of_that_kind() {
    let put = |words: &[usize], code| Step::Put { path: 1, words: words.to_vec(), code };
    check_history(&[put(&[0, 0, 0, 0, 0, 0, 5], true), put(&[], false), put(&[0; 7], false), Step::Reopen]);
}

fn check_history(steps: &[Step]) {
    let state = State::new();
    let mut index = state.writer();
    let mut now: std::collections::BTreeMap<usize, (String, IndexKind)> = Default::default();
    for step in steps {
        match step {
            Step::Put { path: number, words, code } => {
                let kind = if *code { IndexKind::Code } else { IndexKind::Text };
                apply(&index, vec![put_as(&path(*number), &text(words), kind)]);
                now.insert(*number, (text(words), kind));
            }
            Step::Delete { path: number } => {
                apply(&index, vec![delete(&path(*number))]);
                now.remove(number);
            }
            Step::Publish => index.publish().unwrap(),
            Step::Reopen => {
                drop(index);
                index = state.writer();
            }
            Step::Crash => {
                drop(index);
                // Whatever was not committed by the derived indices never reached their files anyway.
                index = state.writer();
                index.repair(&|_, _| {}).unwrap();
            }
        }
    }
    index.publish().unwrap();
    let fresh = State::new();
    let once = fresh.writer();
    apply(&once, now.iter().map(|(number, (text, kind))| put_as(&path(*number), text, *kind)).collect());
    once.publish().unwrap();
    let wanted = all_answers(&once.snapshot());
    assert_eq!(all_answers(&index.snapshot()), wanted);
    // The same after a restart, and to another process.
    assert_eq!(all_answers(&state.reader().snapshot()), wanted);
    drop(index);
    let index = state.writer();
    assert!(!index.needs_repair());
    assert_eq!(all_answers(&index.snapshot()), wanted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn answers_do_not_depend_on_history(steps in prop::collection::vec(step(), 1..40)) {
        check_history(&steps);
    }
}

#[test]
fn d078_a_vector_is_labelled_with_its_chunk() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.md", "gamma")]);
    index.publish().unwrap();
    let snapshot = index.snapshot();
    for word in ["alpha", "beta", "gamma"] {
        let nearest = snapshot.vector(IndexKind::Text, &vector(word), 1, &[], None);
        let chunks = snapshot.chunks(&[nearest[0].chunk]).unwrap();
        assert_eq!((chunks[0].id, chunks[0].text.trim()), (nearest[0].chunk, word));
    }
}

#[test]
fn words_of_deleted_texts_are_not_known() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "lighthouse keeper"), put("b.md", "lighthouse")]);
    index.publish().unwrap();
    assert!(index.snapshot().knows("keeper"));
    assert_eq!(index.snapshot().near("kepeer"), ["keeper"]);
    assert_eq!(index.snapshot().holders(IndexKind::Text, "lighthouse"), 2);
    apply(&index, vec![delete("a.md")]);
    index.publish().unwrap();
    assert!(!index.snapshot().knows("keeper"));
    assert!(index.snapshot().near("kepeer").is_empty());
    assert_eq!(index.snapshot().near("lihgthouse"), ["lighthouse"]);
    assert_eq!(index.snapshot().holders(IndexKind::Text, "lighthouse"), 1);
}

#[test]
fn answers_do_not_depend_on_a_long_history() {
    // Enough single publications for segments to be merged and vectors to be rewritten; and closing right after
    // a publication, while a merge is under way, leaves segments for the next opening to merge.
    let steps: Vec<Step> = (0..400usize)
        .flat_map(|n| {
            let words = (0..(n * 7) % 13).map(|word| (word * 5 + n) % WORDS.len()).collect();
            let change = if n % 11 == 3 {
                Step::Delete { path: n % 6 }
            } else {
                Step::Put { path: (n * 5) % 6, words, code: n % 3 == 0 }
            };
            [Some(change), Some(Step::Publish), (n % 4 == 3).then_some(Step::Reopen)]
        })
        .flatten()
        .collect();
    check_history(&steps);
}
