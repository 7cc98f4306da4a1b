use model::{DocType, ErrorCode, Filter, IndexChoice, IndexUsed, Query, Span};

use crate::corpus::Corpus;

const REPOSITORY: &str = "\
//- README.md
# Courier
A small message broker. I love python, but this is Go.
Let us go to the store and buy inline code for java.
//- docs/retries.md
# Retries
How a message is sent again after a failure: wait, then try again, up to the limit.
//- src/broker.go
package broker

func main() {}

// Deliver sends a message and keeps the retry budget.
func Deliver(message Message) error {
    return retryBudget.Spend(message)
}
//- src/retry_budget.go
package broker

type RetryBudget struct { limit int }

func (b *RetryBudget) Spend(m Message) error {
    return nil
}
//- src/broker_test.go
package broker

func TestDeliver(t *testing.T) {
    retryBudget := RetryBudget{}
    retryBudget.Spend(Message{})
}
";

fn query(text: &str, filter: Filter) -> Query {
    Query { text: text.into(), k: 10, index: IndexChoice::Auto, filter }
}

#[test]
fn d109_case_13_index_used_tells_the_truth() {
    let corpus = Corpus::new(REPOSITORY);
    for text in ["func main() {}", "use import and ([])", "```\nfunc Deliver\n```", ".go file `Deliver`"] {
        assert_eq!(corpus.search(text).index_used, IndexUsed::Code, "{text}");
    }
    for text in ["I love python", "go to the store", "some `inline code`", "fix bug in java { }"] {
        let answer = corpus.search(text);
        assert_eq!(answer.index_used, IndexUsed::Text, "{text}");
        assert!(answer.hits.iter().all(|hit| hit.doc_type != DocType::Code));
    }
}

#[test]
fn d109_a_plain_question_still_finds_the_code() {
    let corpus = Corpus::new(REPOSITORY);
    let answer = corpus.search("where is the retry budget spent");
    assert_eq!(answer.index_used, IndexUsed::Both);
    assert_eq!(answer.hits[0].rel_path, "src/retry_budget.go");
}

#[test]
fn d109_without_a_hit_in_the_chosen_index_the_other_answers() {
    let only_code = Corpus::new("//- a.rs\nfn widget() {}\n");
    let answer = only_code.search("widget");
    assert_eq!((answer.index_used, answer.hits.len()), (IndexUsed::Both, 1));

    let only_text = Corpus::new("//- notes.md\nRemember: func main() starts it.\n");
    let answer = only_text.search("func main() {}");
    assert_eq!((answer.index_used, answer.hits.len()), (IndexUsed::Both, 1));

    // An explicit choice is never widened.
    let answer = only_code.search_in("widget", IndexChoice::Text);
    assert_eq!((answer.index_used, answer.hits.len()), (IndexUsed::Text, 0));

    let answer = Corpus::new("").search("anything");
    assert_eq!((answer.index_used, answer.hits.len()), (IndexUsed::Text, 0));
}

#[test]
fn d110_case_14_both() {
    let corpus = Corpus::new(REPOSITORY);
    let answer = corpus.search_in("message", IndexChoice::Both);
    assert_eq!(answer.index_used, IndexUsed::Both);
    let mut ids: Vec<_> = answer.hits.iter().map(|hit| hit.chunk_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), answer.hits.len());
    assert!(answer.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    assert!(answer.hits.is_sorted_by(|a, b| a.score >= b.score));
    let kinds: std::collections::HashSet<_> =
        answer.hits.iter().map(|h| h.doc_type == DocType::Code).collect();
    assert_eq!(kinds.len(), 2);
}

#[test]
fn d111_the_span_is_the_chunks_and_the_snippet_shows_the_match() {
    let corpus = Corpus::new("//- a.md\nfirst part\n---\nsecond part\nhas the needle\nin it\n");
    let answer = corpus.search("needle");
    assert_eq!(answer.hits[0].span, Span::Lines { start_line: 3, end_line: 5 });
    assert!(answer.hits[0].snippet.contains("has the needle"));
    assert_eq!(answer.breakdowns.len(), answer.hits.len());
}

#[test]
fn a_definition_comes_before_its_uses_and_its_tests() {
    let corpus = Corpus::new(REPOSITORY);
    let paths = corpus.paths("RetryBudget");
    assert_eq!(paths[0], "src/retry_budget.go");
    let place = |path: &str| paths.iter().position(|found| found == path);
    assert!(place("src/broker.go") < place("src/broker_test.go"), "{paths:?}");
    assert_eq!(corpus.paths("retry budget test")[0], "src/broker_test.go");
}

#[test]
fn other_forms_of_a_word_are_found() {
    let corpus = Corpus::new(REPOSITORY);
    assert_eq!(corpus.paths("failures")[0], "docs/retries.md");
    assert_eq!(corpus.paths("brokers")[0], "src/broker.go", "named after it");
    assert!(corpus.paths("brokers").contains(&"README.md".to_owned()));
    assert!(corpus.paths("retries").contains(&"src/retry_budget.go".to_owned()));
}

#[test]
fn the_query_itself_narrows_the_search() {
    let corpus = Corpus::new(REPOSITORY);
    let all = corpus.paths("retry budget message");
    assert!(all.iter().any(|path| path.ends_with(".md")) && all.iter().any(|path| path.ends_with(".go")));
    assert!(corpus.paths("retry budget message ext:md").iter().all(|path| path.ends_with(".md")));
    assert!(corpus.paths("retry budget message lang:go").iter().all(|path| path.ends_with(".go")));
    assert_eq!(corpus.paths("message path:docs"), ["docs/retries.md"]);
    let without = corpus.paths("retry budget message -spend");
    assert!(!without.contains(&"src/retry_budget.go".to_owned()), "{without:?}");
    assert!(without.contains(&"docs/retries.md".to_owned()), "{without:?}");
}

#[test]
fn a_misspelt_name_is_found_when_nothing_is_called_so() {
    let corpus = Corpus::new(REPOSITORY);
    assert_eq!(corpus.paths("RetryBugdet")[0], "src/retry_budget.go");
    assert_eq!(corpus.paths("delivre")[0], "src/broker.go");
}

#[test]
fn text_in_any_script_is_found_and_shown() {
    let corpus =
        Corpus::new("//- ja.md\n全文検索の実装\n//- ru.md\nПоиск по каталогу\n//- fr.md\nUn café crème\n");
    for (text, path) in [("検索", "ja.md"), ("ПОИСК", "ru.md"), ("cafe creme", "fr.md")] {
        let answer = corpus.search(text);
        assert_eq!(answer.hits[0].rel_path, path, "{text}");
        assert!(answer.hits[0].score > 0.9, "{text}: {}", answer.hits[0].score);
    }
}

#[test]
fn filters_restrict_and_route() {
    let corpus = Corpus::new(REPOSITORY);
    let paths = |filter: Filter| -> Vec<String> {
        corpus.query(&query("message", filter)).hits.into_iter().map(|hit| hit.rel_path).collect()
    };
    let docs = paths(Filter::of_files(Some("docs\\".into()), None, &[]));
    assert_eq!(docs, ["docs/retries.md"]);
    let go = paths(Filter::of_files(None, Some("*.go".into()), &[]));
    assert!(go.iter().all(|path| path.ends_with(".go")) && go.len() == 3, "{go:?}");
    let typed = Filter::of_files(None, None, &[DocType::Code]);
    assert_eq!(corpus.query(&query("message", typed)).index_used, IndexUsed::Code);
    let bad = Filter::of_files(None, Some("[".into()), &[]);
    assert_eq!(corpus.try_query(&query("x", bad)).unwrap_err().code, ErrorCode::InvalidField);
    let out = Filter::of_files(Some("../".into()), None, &[]);
    assert_eq!(corpus.try_query(&query("x", out)).unwrap_err().code, ErrorCode::PathOutsideRoot);
}

#[test]
fn a_path_that_is_no_longer_allowed_is_no_hit() {
    let corpus = Corpus::new(REPOSITORY);
    let asked = query("message", Filter::default());
    assert!(corpus.query(&asked).hits.iter().any(|hit| hit.rel_path.starts_with("docs/")));
    let answer = corpus.query_where(&asked, &|path| !path.starts_with("docs/")).unwrap();
    assert!(!answer.hits.is_empty() && answer.hits.iter().all(|hit| !hit.rel_path.starts_with("docs/")));
}

#[test]
fn any_query_is_answered() {
    let corpus = Corpus::new(REPOSITORY);
    for text in ["", " ", "???", "the", "\0", "\u{202e}", "🦀", "\"", "((((", "a\u{301}"] {
        let answer = corpus.search_in(text, IndexChoice::Both);
        assert!(answer.hits.iter().all(|hit| hit.score.is_finite() && !hit.snippet.is_empty()), "{text:?}");
    }
    let huge = "message broker ".repeat(70_000);
    let answer = corpus.search(&huge);
    assert!(answer.query_truncated);
    assert!(!answer.hits.is_empty());
}

#[test]
fn the_same_question_has_the_same_answer() {
    let corpus = Corpus::new(REPOSITORY);
    for text in ["message", "retry budget", "func Deliver(message)"] {
        assert_eq!(corpus.search(text).hits, corpus.search(text).hits);
    }
}

#[test]
fn d113_the_extractive_answer_cites_what_it_quotes() {
    let corpus = Corpus::new(REPOSITORY);
    let question = "how is a message sent again after a failure?";
    let answer = corpus.search(question);
    let ids: Vec<_> = answer.hits.iter().map(|hit| hit.chunk_id).collect();
    let chunks = corpus.index().snapshot().chunks(&ids).unwrap();
    let extracted = retrieve::extractive_answer(
        question,
        &retrieve::AnswerSources {
            hits: &answer.hits,
            chunks: &chunks,
            near: &|_| Vec::new(),
            rerank: None,
            label: retrieve::answer::LABEL,
        },
    );
    assert!(extracted.text.contains("How a message is sent again after a failure"), "{}", extracted.text);
    assert!(extracted.text.contains("[docs/retries.md:L1-L2]"), "{}", extracted.text);
    for citation in &extracted.citations {
        assert!(extracted.text.contains(&citation.to_string()));
    }
}

#[test]
fn what_only_the_best_passages_have_in_common_with_it_is_no_hit() {
    let corpus = Corpus::new(
        "//- answer.txt
lantern ledger ledger lantern lantern lantern
//- far.md
lantern saddle pepper orchid walnut thimble gravel
",
    );
    assert_eq!(corpus.paths("ledger violin glacier"), ["answer.txt"]);
}
