//! An answer without a language model: the best passages, word for word, each with its citation.

use std::collections::{HashMap, HashSet};

use index::StoredChunk;
use model::{ChunkId, Citation, Hit};

use crate::matcher::Matcher;
use crate::operators::Operators;
use crate::parse::{Parsed, Vocabulary};
use crate::snippet::cut_out;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// With the citations inline, in the forms of the dir2mcp specification, section 9.3.
    pub text: String,
    /// Those used in the text, in its order.
    pub citations: Vec<Citation>,
}

/// Says what the answer is, so that nobody takes quoted lines for a model's conclusion.
pub const LABEL: &str =
    "Extractive answer (no chat model configured): the passages that match the question best.";

pub const NOTHING_FOUND: &str = "Nothing in the indexed files matches this question. Try other words or fewer \
     filters, and check that indexing has finished.";

const MAX_PASSAGES: usize = 5;
const PASSAGE_CHARS: usize = 400;

/// A passage this much weaker than the best is not part of the answer.
const WEAKEST: f32 = 0.25;

/// Answers from the hits, best first, whose whole texts are among the chunks. A hit without its chunk was
/// deleted meanwhile and is passed over.
pub fn extractive_answer(question: &str, hits: &[Hit], chunks: &[StoredChunk]) -> Answer {
    let texts: HashMap<ChunkId, &str> = chunks.iter().map(|chunk| (chunk.id, chunk.text.as_str())).collect();
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let operators = Operators::read(question);
    let mut words: HashSet<String> = HashSet::new();
    for chunk in chunks {
        index::tokens::index_tokens(&chunk.text, &mut |token| {
            words.insert(token.to_owned());
        });
    }
    let vocabulary = Vocabulary { knows: &|token| words.contains(token), near: &|_| Vec::new() };
    let parsed = Parsed::with_forms(&operators.text, &vocabulary);
    let content = parsed.content_terms();
    let matcher = Matcher::of_terms(content.iter().copied());
    let weights: Vec<f32> = content.iter().map(|term| term.weight).collect();

    let mut text = String::from(LABEL);
    let mut citations: Vec<Citation> = Vec::new();
    let mut shown: Vec<String> = Vec::new();
    for hit in hits {
        if citations.len() == MAX_PASSAGES || hit.score < best * WEAKEST {
            break;
        }
        let Some(chunk) = texts.get(&hit.chunk_id) else { continue };
        let piece = sentences(cut_out(chunk, &matcher.find(chunk), &weights, PASSAGE_CHARS).text);
        let citation = hit.citation();
        if piece.trim().is_empty() || shown.contains(&piece) || citations.contains(&citation) {
            continue;
        }
        text.push_str("\n\n");
        for line in piece.lines() {
            text.push_str("> ");
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&citation.to_string());
        citations.push(citation);
        shown.push(piece);
    }
    if citations.is_empty() {
        return Answer { text: NOTHING_FOUND.to_owned(), citations };
    }
    Answer { text, citations }
}

/// Prose that was cut in the middle of a sentence ends with the last whole one, if that is most of it.
fn sentences(piece: String) -> String {
    let is_prose = !piece.contains(['{', '}', ';', '=']) && piece.contains(". ");
    if !is_prose || piece.ends_with(['.', '!', '?', ':', '"', ')']) {
        return piece;
    }
    match piece.rfind(". ") {
        Some(at) if at * 2 > piece.len() => piece[..=at].to_owned(),
        _ => piece,
    }
}

#[cfg(test)]
mod tests {
    use model::{DocType, IndexKind, RepType, Span};

    use super::*;

    fn answer(question: &str, passages: &[(&str, &str, f32)]) -> Answer {
        let span = Span::Lines { start_line: 1, end_line: 9 };
        let (doc_type, rep_type) = (DocType::Text, RepType::RawText);
        let (mut hits, mut chunks) = (Vec::new(), Vec::new());
        for (at, (path, text, score)) in passages.iter().enumerate() {
            let (chunk_id, rel_path) = (ChunkId(at as i64 + 1), (*path).to_owned());
            let (snippet, text) = (String::new(), (*text).to_owned());
            hits.push(Hit {
                chunk_id,
                rel_path: rel_path.clone(),
                doc_type,
                rep_type,
                score: *score,
                snippet,
                span,
                pointer: None,
            });
            chunks.push(StoredChunk {
                id: chunk_id,
                rel_path,
                doc_type,
                rep_type,
                ordinal: 0,
                span,
                pointer: None,
                kind: IndexKind::Text,
                text_hash: [0; 16],
                text,
            });
        }
        extractive_answer(question, &hits, &chunks)
    }

    #[test]
    fn d112_d113_passages_carry_their_citations() {
        let answer = answer(
            "what is the retry budget?",
            &[
                ("docs/retry.md", "Intro.\n\nThe retry budget is ten calls. It refills each minute.", 1.0),
                ("src/a.rs", "fn retry_budget() -> u32 {\n    10\n}", 0.8),
                ("far/off.txt", "budget of the state", 0.1),
            ],
        );
        assert!(answer.text.starts_with("Extractive answer (no chat model configured)"));
        assert!(answer.text.contains("retry budget is ten calls"));
        assert!(answer.text.contains("[docs/retry.md:L1-L9]"));
        assert!(answer.text.contains("[src/a.rs:L1-L9]"));
        assert!(!answer.text.contains("far/off.txt"));
        let cited: Vec<&str> = answer.citations.iter().map(|c| c.rel_path.as_str()).collect();
        assert_eq!(cited, ["docs/retry.md", "src/a.rs"]);
    }

    #[test]
    fn no_hits_give_one_fixed_sentence() {
        let nothing = Answer { text: NOTHING_FOUND.into(), citations: vec![] };
        assert_eq!(answer("anything", &[]), nothing);
        assert_eq!(answer("anything", &[("a", " \n ", 1.0)]), nothing);
    }

    #[test]
    fn at_most_five_and_none_twice() {
        let texts = ["one x", "two x", "three x", "four x", "five x", "six x", "seven x"];
        let passages: Vec<_> = texts.iter().map(|text| (*text, *text, 1.0)).collect();
        assert_eq!(answer("x", &passages).citations.len(), 5);
        let same: Vec<_> = texts.iter().map(|path| (*path, "one x", 1.0)).collect();
        assert_eq!(answer("x", &same).citations.len(), 1);
    }
}
