//! Answers to questions: quoted from the passages that a search found, or written by a language model and then compared
//! with them.

mod asked;
mod check;
mod extract;
mod pieces;
mod prompt;
mod sources;
mod wanted;

use index::StoredChunk;
use model::{Citation, Hit};

pub use check::{AnswerChecker, CheckedAnswer, MARK as NOT_IN_SOURCES, without_foreign_links};
pub(crate) use extract::stretched;
pub use extract::{RerankSentences, extractive_answer};
pub use prompt::{ANSWER_TOKENS, answer_request};
pub use sources::{PackedSource, pack};

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// With the citations inline, in the forms of the dir2mcp specification, section 9.3.
    pub text: String,
    /// Those used in the text, in its order.
    pub citations: Vec<Citation>,
    /// False where nothing that was found answers.
    pub answers: bool,
}

impl Answer {
    /// The statement that nothing answers.
    pub fn nothing(text: &str) -> Answer {
        Answer { text: text.to_owned(), citations: Vec::new(), answers: false }
    }
}

/// Says what the answer is, so that quoted lines are not taken for a model's conclusion.
pub const LABEL: &str =
    "Extractive answer (no chat model configured): the passages that match the question best.";

/// Nothing that was found answers the question.
pub const NOTHING_ANSWERS: &str = "Nothing in this folder answers that. Try other words, or search for a name or a phrase that must stand in the text.";

/// Nothing was found at all.
pub const NOTHING_FOUND: &str = "Nothing in this folder answers that: nothing in the indexed files matches the question. \
     Try other words or fewer filters, and check that indexing has finished.";

/// What an extractive answer is made from.
pub struct AnswerSources<'a> {
    /// Best first.
    pub hits: &'a [Hit],
    /// Their whole texts. A hit without its chunk was deleted meanwhile and is passed over.
    pub chunks: &'a [StoredChunk],
    /// The words of the index that are spelled nearly like one that it does not know.
    pub near: &'a dyn Fn(&str) -> Vec<String>,
    /// Judges sentences, where a model for that is configured.
    pub rerank: Option<&'a RerankSentences<'a>>,
    /// The first line: what kind of answer this is, and why.
    pub label: &'a str,
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocType, Heading, IndexKind, Pointer, RepType, Span};

    use super::*;

    type Said<'a> = (&'a str, &'a str, f32);

    pub(super) fn chunk(number: usize, path: &str, text: &str) -> StoredChunk {
        let is_code = path.ends_with(".rs") || path.ends_with(".py");
        StoredChunk {
            id: ChunkId(number as i64 + 1),
            rel_path: path.to_owned(),
            doc_type: DocType::Text,
            rep_type: RepType::RawText,
            ordinal: 0,
            span: Span::Lines { start_line: 1, end_line: 9 },
            pointer: None,
            heading: Heading::default(),
            kind: if is_code { IndexKind::Code } else { IndexKind::Text },
            text_hash: [0; 16],
            text: text.to_owned(),
        }
    }

    fn answer(question: &str, passages: &[Said<'_>]) -> Answer {
        let chunks: Vec<StoredChunk> =
            passages.iter().enumerate().map(|(at, (path, text, _))| chunk(at, path, text)).collect();
        answer_from(question, &chunks, &passages.iter().map(|(_, _, score)| *score).collect::<Vec<_>>())
    }

    fn answer_from(question: &str, chunks: &[StoredChunk], scores: &[f32]) -> Answer {
        let hits = hits_of(chunks, scores);
        let found = AnswerSources { hits: &hits, chunks, near: &|_| Vec::new(), rerank: None, label: LABEL };
        extractive_answer(question, &found)
    }

    pub(super) fn hits_of(chunks: &[StoredChunk], scores: &[f32]) -> Vec<Hit> {
        (chunks.iter().zip(scores))
            .map(|(chunk, score)| Hit {
                chunk_id: chunk.id,
                rel_path: chunk.rel_path.clone(),
                doc_type: chunk.doc_type,
                rep_type: chunk.rep_type,
                score: *score,
                snippet: String::new(),
                span: chunk.span,
                pointer: None,
            })
            .collect()
    }

    #[test]
    fn d112_d113_passages_carry_their_citations() {
        let answer = answer(
            "what is the retry budget?",
            &[
                ("docs/retry.md", "Intro.\n\nThe retry budget is ten calls. It refills each minute.", 1.0),
                ("src/a.rs", "use crate::retry_budget;\n\nfn retry_budget() -> u32 {\n    10\n}", 0.8),
                ("far/off.txt", "budget of the state", 0.1),
            ],
        );
        assert!(answer.text.starts_with("Extractive answer (no chat model configured)"));
        assert!(answer.text.contains("> The retry budget is ten calls."), "{}", answer.text);
        assert!(answer.text.contains("[docs/retry.md:L1-L9]"));
        assert!(answer.text.contains("> fn retry_budget() -> u32 {"));
        assert!(answer.text.contains("[src/a.rs:L1-L9]"));
        assert!(!answer.text.contains("far/off.txt") && !answer.text.contains("use crate"));
        let cited: Vec<&str> = answer.citations.iter().map(|c| c.rel_path.as_str()).collect();
        assert_eq!(cited, ["docs/retry.md", "src/a.rs"]);
    }

    #[test]
    fn what_nothing_answers_is_said() {
        let found = [
            ("a.md", "The working capital is 3 million. It grew by four per cent last year.", 1.0),
            ("b.md", "Capital letters begin a sentence.", 0.9),
        ];
        for question in [
            "What is the capital of Mongolia?",
            "who won the 1998 world cup",
            "how do I bake sourdough bread",
        ] {
            let answer = answer(question, &found);
            assert!(
                answer.text.starts_with("Nothing in this folder answers that"),
                "{question}: {}",
                answer.text
            );
            assert!(answer.citations.is_empty());
        }
        assert!(
            answer("how large is the working capital", &found)
                .text
                .contains("> The working capital is 3 million.")
        );
    }

    #[test]
    fn a_passage_about_the_same_thing_answers_only_what_it_says_of_it() {
        let found = [
            ("history.md", "Since 1999 the company belongs to its employees.", 1.0),
            ("menu.md", "The fish soup stays on the menu.", 0.9),
        ];
        for question in ["How many employees does the company have?", "What is the recipe of the fish soup?"]
        {
            let answer = answer(question, &found);
            assert!(!answer.answers, "{question}: {}", answer.text);
        }
        for (question, wanted) in [
            ("To whom does the company belong?", "> Since 1999 the company belongs to its employees."),
            ("What stays on the menu?", "> The fish soup stays on the menu."),
        ] {
            let answer = answer(question, &found);
            assert!(answer.text.contains(wanted), "{question}: {}", answer.text);
        }
    }

    #[test]
    fn a_row_is_quoted_with_its_header() {
        let mut sheet = chunk(
            0,
            "sales.xlsx",
            "| Gripper | Iberia | 7 | 9 |\n| Gripper | Nordics | 1 | 2 |\n| Feeder | Iberia | 5 | 6 |",
        );
        sheet.pointer = Some(Pointer::Rows { sheet: Some("Revenue".into()), first_row: 2, last_row: 4 });
        sheet.heading.enter(1, "Revenue");
        sheet.heading.set_columns("| Product | Region | Q1 | Q2 |");
        let answer = answer_from("gripper revenue Iberia Q2", &[sheet], &[1.0]);
        assert_eq!(
            answer.text,
            format!(
                "{LABEL}\n\n> | Product | Region | Q1 | Q2 |\n> | Gripper | Iberia | 7 | 9 |\n[sales.xlsx:L1-L9] Revenue"
            )
        );
    }

    #[test]
    fn no_hits_give_one_fixed_sentence() {
        let nothing = Answer::nothing(NOTHING_FOUND);
        assert_eq!(answer("anything", &[]), nothing);
        assert_eq!(answer("anything", &[("a", " \n ", 1.0)]), nothing);
        assert!(NOTHING_FOUND.starts_with("Nothing in this folder answers that"));
    }

    #[test]
    fn at_most_three_and_none_twice() {
        let texts = ["one x", "two x", "three x", "four x", "five x", "six x", "seven x"];
        let passages: Vec<_> = texts.iter().map(|text| (*text, *text, 1.0)).collect();
        assert_eq!(answer("x", &passages).citations.len(), 3);
        let same: Vec<_> = texts.iter().map(|path| (*path, "one x", 1.0)).collect();
        assert_eq!(answer("x", &same).citations.len(), 1);
    }

    #[test]
    fn a_sentence_is_quoted_with_what_it_points_at_and_in_the_order_of_the_document() {
        let text = "The quokka lives on Rottnest Island. It eats the leaves of the tea tree at night.\n\n\
                    Nothing else is said.\n\nThe quokka eats bread from visitors, which is forbidden.";
        let answer = answer("what does the quokka eat", &[("animals.md", text, 1.0)]);
        let (first, second) = (answer.text.find("Rottnest").unwrap(), answer.text.find("visitors").unwrap());
        assert!(first < second, "{}", answer.text);
        assert!(
            answer.text.contains("> The quokka lives on Rottnest Island. It eats the leaves"),
            "{}",
            answer.text
        );
        assert_eq!(answer.citations.len(), 1, "one passage is cited once");
    }

    #[test]
    fn a_reranker_counts_as_much_as_the_words() {
        let chunks = [
            chunk(
                0,
                "a.md",
                "The retry budget is described elsewhere in this budget for the retry of a call.",
            ),
            chunk(1, "b.md", "Ten calls are the retry budget of a client."),
        ];
        let hits = hits_of(&chunks, &[1.0, 0.95]);
        let judge = |texts: &[&str]| -> Option<Vec<f32>> {
            Some(texts.iter().map(|text| if text.contains("Ten calls") { 9.0 } else { -3.0 }).collect())
        };
        let found = AnswerSources {
            hits: &hits,
            chunks: &chunks,
            near: &|_| Vec::new(),
            rerank: Some(&judge),
            label: LABEL,
        };
        let answer = extractive_answer("what is the retry budget", &found);
        assert_eq!(answer.citations[0].rel_path, "b.md", "{}", answer.text);
        let silent = |_: &[&str]| None;
        let found = AnswerSources { rerank: Some(&silent), ..found };
        assert!(extractive_answer("what is the retry budget", &found).answers);
    }
}
