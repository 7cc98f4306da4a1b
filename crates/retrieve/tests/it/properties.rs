//! What holds for every corpus and every query.

use std::collections::HashSet;
use std::fmt::Write as _;

use model::{DocType, Filter, IndexChoice, Query};
use proptest::prelude::*;

use crate::corpus::{Corpus, nearness};

const WORDS: &[&str] = &["lantern", "harbour", "ledger", "violin", "glacier", "saddle", "pepper", "orchid"];
const ENDINGS: &[&str] = &["md", "txt", "rs", "py"];
/// Tokens in a file; equal for all, so that one more file leaves the mean length as it is.
const LENGTH: usize = 24;

/// A file of `LENGTH` words: some of `WORDS`, the rest words that stand nowhere else.
fn file(number: usize, words: &[usize]) -> String {
    let ending = ENDINGS[number % ENDINGS.len()];
    let mut text = format!("//- part{}/f{number}.{ending}\n", number % 3);
    for at in 0..LENGTH {
        let _ = match words.get(at) {
            Some(word) => write!(text, "{} ", WORDS[*word]),
            None => write!(text, "{} ", filler(number * LENGTH + at)),
        };
    }
    text.push('\n');
    text
}

/// A word of letters only, so that it is one token.
fn filler(mut number: usize) -> String {
    let mut word = String::from("qx");
    for _ in 0..5 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    word
}

fn any_files() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..LENGTH), 1..14)
}

fn corpus_of(files: &[Vec<usize>]) -> String {
    files.iter().enumerate().map(|(number, words)| file(number, words)).collect()
}

fn ask(corpus: &Corpus, text: &str, k: usize, filter: Filter) -> Vec<String> {
    let query = Query { text: text.into(), k, index: IndexChoice::Both, filter };
    corpus.query(&query).hits.into_iter().map(|hit| hit.rel_path).collect()
}

proptest! {
    // Each case builds an index on the disk.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Statistics count chunks, and the mean length stays: nothing explains another order.
    #[test]
    fn an_unrelated_file_changes_no_order(files in any_files(), word in 0..WORDS.len()) {
        let text = corpus_of(&files);
        let before = ask(&Corpus::new(&text), WORDS[word], 50, Filter::default());
        let unrelated = file(files.len(), &[]);
        // The embedder of these tests hashes words, and different ones may fall together.
        prop_assume!(nearness(WORDS[word], unrelated.lines().last().unwrap_or_default()) < 0.3);
        let after = ask(&Corpus::new(&format!("{text}{unrelated}")), WORDS[word], 50, Filter::default());
        let others: Vec<_> = after.into_iter().filter(|path| before.contains(path)).collect();
        prop_assert_eq!(before, others);
    }

    #[test]
    fn a_filter_loses_no_hit(
        files in any_files(),
        words in prop::collection::vec(0..WORDS.len(), 1..4),
        prefix in prop::option::of(0..3usize),
        ending in prop::option::of(0..ENDINGS.len()),
        code in prop::option::of(any::<bool>()),
    ) {
        let corpus = Corpus::new(&corpus_of(&files));
        let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
        let prefix = prefix.map(|number| format!("part{number}/"));
        let ending = ending.map(|at| ENDINGS[at]);
        let types = code.map(|code| if code { vec![DocType::Code] } else { vec![DocType::Md, DocType::Text] });
        let admits = |path: &String| {
            let of_type = code.is_none_or(|code| code == (path.ends_with(".rs") || path.ends_with(".py")));
            prefix.as_ref().is_none_or(|prefix| path.starts_with(prefix.as_str()))
                && ending.is_none_or(|ending| path.ends_with(&format!(".{ending}")))
                && of_type
        };
        let wanted: HashSet<String> =
            ask(&corpus, &text, 10, Filter::default()).into_iter().filter(admits).collect();
        let filter = Filter::of_files(prefix.clone(), ending.map(|ending| format!("**/*.{ending}")), &types.unwrap_or_default());
        let found = ask(&corpus, &text, 50, filter);
        prop_assert!(found.iter().all(admits), "{found:?}");
        let found: HashSet<String> = found.into_iter().collect();
        prop_assert!(wanted.is_subset(&found), "{wanted:?} in {found:?}");
    }

    /// Any text at all is a query: it has an answer, within bounds, and the same one twice.
    #[test]
    fn any_text_is_a_query(text in "(\\PC|[\\x00-\\x1f]|\\p{Han}|\\p{Arabic}|\\p{Emoji}|[\"'():*-]|(ext|path|lang):|lantern| ){0,60}") {
        let corpus = Corpus::new(&corpus_of(&[vec![0, 1, 2], vec![1, 1], vec![]]));
        let query = Query { text, k: 10, index: IndexChoice::Auto, filter: Filter::default() };
        let answer = corpus.query(&query);
        prop_assert!(answer.hits.len() <= 10);
        prop_assert!(answer.hits.iter().all(|hit| hit.score.is_finite() && hit.snippet.len() < 4_000));
        prop_assert_eq!(answer.hits, corpus.query(&query).hits);
    }
}

#[test]
fn a_megabyte_is_a_query() {
    let corpus = Corpus::new(&corpus_of(&[vec![0, 1, 2], vec![1, 1], vec![]]));
    let megabyte = 1 << 20;
    for piece in
        ["lantern ", "x", "🦀", "\u{1}", "\"", "漢字", "-", "ext:", "a.b/", "lanternHarbour", "\u{301}", "("]
    {
        let query = Query {
            text: piece.repeat(megabyte / piece.len()),
            k: 10,
            index: IndexChoice::Auto,
            filter: Filter::default(),
        };
        let answer = corpus.query(&query);
        assert!(answer.hits.len() <= 3, "{piece:?}");
    }
}
