//! An answer without a language model: the sentences, rows or lines that answer best, word for word, each with its
//! citation; or the plain statement that nothing does.

mod pieces;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use index::StoredChunk;
use index::definitions::{Family, definition_at};
use model::{ChunkId, Citation, Hit, IndexKind};

use crate::caption::heading_at;
use crate::fuse::name_around;
use crate::matcher::Matcher;
use crate::operators::Operators;
use crate::parse::{Parsed, Vocabulary};
use crate::rarity::rarity;
use pieces::{Kind, Piece, pieces};

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// With the citations inline, in the forms of the dir2mcp specification, section 9.3.
    pub text: String,
    /// Those used in the text, in its order.
    pub citations: Vec<Citation>,
}

/// Says what the answer is, so that quoted lines are not taken for a model's conclusion.
pub const LABEL: &str =
    "Extractive answer (no chat model configured): the passages that match the question best.";

/// Nothing that was found answers the question.
pub const NOTHING_ANSWERS: &str = "Nothing in this folder answers that. Try other words, or search for a name or a phrase that must stand in the text.";

/// Nothing was found at all.
pub const NOTHING_FOUND: &str = "Nothing in this folder answers that: nothing in the indexed files matches the question. \
     Try other words or fewer filters, and check that indexing has finished.";

/// Passages of an answer: more than this is a list of hits, which is there anyway.
const MAX_PASSAGES: usize = 3;
/// Characters of one passage.
const PASSAGE_CHARS: usize = 400;
/// Characters up to which a short quotation is filled with what follows it.
const READABLE: usize = 260;
/// A shorter piece without the mark of a sentence is a greeting or a label.
const SCRAP: usize = 48;
/// Lines of code or data around the best one.
const LINES: usize = 6;

/// The question counts as answered where a passage has so much of what it asks for, weighed by how telling each word is.
/// Among the labelled everyday questions (`eval/everyday`) this parts those that have an answer from those that have none
/// best.
const ANSWERED: f32 = 0.5;
/// What finding a word counts that is only spelled nearly like the one that was asked for; less where that is a name:
/// Mongolian letters say nothing about Mongolia.
const GUESSED: f32 = 0.75;
const GUESSED_NAME: f32 = 0.4;

/// A further passage needs this share of what the best one has, and its hit this share of the best score.
const AS_GOOD: f32 = 0.85;
const CLIFF: f32 = 0.6;

/// What a word counts that stands in the headings above a piece or in its path, and elsewhere in its chunk.
const IN_HEADING: f32 = 0.9;
const NEARBY: f32 = 0.5;

/// What a name or a number of the question counts, compared with another word, and what a word that only asks counts.
const NAMED: f32 = 1.6;
const ASKING: f32 = 0.25;

/// Words of questions that a text which answers need not hold.
const ASKING_WORDS: &[&str] = &[
    "already",
    "answer",
    "anymore",
    "big",
    "called",
    "describe",
    "details",
    "else",
    "ever",
    "exactly",
    "explain",
    "find",
    "get",
    "give",
    "happen",
    "happens",
    "know",
    "large",
    "let",
    "list",
    "look",
    "long",
    "many",
    "may",
    "mean",
    "means",
    "mention",
    "might",
    "mentioned",
    "much",
    "must",
    "name",
    "need",
    "now",
    "often",
    "please",
    "say",
    "says",
    "shall",
    "show",
    "still",
    "tell",
    "use",
    "used",
    "uses",
    "using",
    "want",
    "work",
    "works",
];

/// What an answer is made from.
pub struct AnswerSources<'a> {
    /// Best first.
    pub hits: &'a [Hit],
    /// Their whole texts. A hit without its chunk was deleted meanwhile and is passed over.
    pub chunks: &'a [StoredChunk],
    /// The words of the index that are spelled nearly like one that it does not know.
    pub near: &'a dyn Fn(&str) -> Vec<String>,
}

/// Answers from what a search found.
pub fn extractive_answer(question: &str, found: &AnswerSources<'_>) -> Answer {
    let AnswerSources { hits, chunks, near } = *found;
    let by_id: HashMap<ChunkId, &StoredChunk> = chunks.iter().map(|chunk| (chunk.id, chunk)).collect();
    let asked = Asked::new(question, chunks, near);
    let passages: Vec<AnswerPassage<'_>> =
        hits.iter().filter_map(|hit| asked.best_of(by_id.get(&hit.chunk_id)?, hit)).collect();
    let Some(best) = passages.iter().map(|passage| passage.answers).reduce(f32::max) else {
        return Answer { text: NOTHING_FOUND.to_owned(), citations: Vec::new() };
    };
    if best < ANSWERED {
        return Answer { text: NOTHING_ANSWERS.to_owned(), citations: Vec::new() };
    }

    let mut text = String::from(LABEL);
    let mut citations: Vec<Citation> = Vec::new();
    let mut shown: Vec<&str> = Vec::new();
    let top = hits.first().map_or(0.0, |hit| hit.score);
    for passage in &passages {
        // Behind the cliff stands what shares a word with the question.
        if citations.len() == MAX_PASSAGES || passage.hit.score < top * CLIFF && !citations.is_empty() {
            break;
        }
        let citation = passage.hit.citation();
        let quote = passage.quote.trim();
        let said = shown.iter().any(|said| said.contains(quote) || quote.contains(said));
        if passage.answers < (best * AS_GOOD).max(ANSWERED) || said || citations.contains(&citation) {
            continue;
        }
        text.push_str("\n\n");
        for line in passage.columns.iter().map(String::as_str).chain(passage.quote.lines()) {
            text.push_str("> ");
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&citation.to_string());
        if !passage.under.is_empty() {
            text.push(' ');
            text.push_str(&passage.under);
        }
        citations.push(citation);
        shown.push(quote);
    }
    Answer { text, citations }
}

/// The best piece of one hit.
struct AnswerPassage<'a> {
    hit: &'a Hit,
    quote: &'a str,
    /// The header of the table that the row stands in.
    columns: Option<String>,
    /// The headings above.
    under: String,
    /// How much of what the question asks for stands here, from 0 to 1.
    answers: f32,
}

/// What a question asks for.
struct Asked {
    matcher: Matcher,
    /// One for each term of the matcher; they add up to 1.
    shares: Vec<f32>,
    /// What finding the term counts: less where only a word spelled nearly so was found.
    certain: Vec<f32>,
}

impl Asked {
    fn new(question: &str, chunks: &[StoredChunk], near: &dyn Fn(&str) -> Vec<String>) -> Asked {
        let operators = Operators::read(question);
        let held = held_by_all(chunks);
        let knows = |token: &str| held.contains_key(token);
        let parsed = Parsed::with_forms(&operators.text, &Vocabulary { knows: &knows, near });
        let terms = parsed.content_terms();
        let exact = Parsed::with_forms(&operators.text, &Vocabulary { knows: &knows, near: &|_| Vec::new() });
        let is_guessed = |token: &str| {
            let known = exact.terms.iter().find(|term| term.token == token);
            !knows(token) && known.is_none_or(|term| term.variants.is_empty())
        };
        let named = names(&operators.text);
        let certain = terms
            .iter()
            .map(|term| match (is_guessed(&term.token), named.contains(&term.token)) {
                (true, true) => GUESSED_NAME,
                (true, false) => GUESSED,
                (false, _) => 1.0,
            })
            .collect();
        let total = chunks.len() as f32;
        let mut shares: Vec<f32> = terms
            .iter()
            .map(|term| {
                let forms = term.variants.iter().chain([&term.token]);
                let holders = forms.filter_map(|form| held.get(form)).copied().max().unwrap_or(0) as f32;
                // What no hit holds is what the question is about and the folder is not: it weighs most.
                let telling = rarity(total, holders).clamp(0.2, 2.0);
                let asking = ASKING_WORDS.contains(&term.token.as_str());
                let factor = match (asking, named.contains(&term.token)) {
                    (true, _) => ASKING,
                    (false, true) => NAMED,
                    (false, false) => 1.0,
                };
                term.weight * telling * factor
            })
            .collect();
        let sum: f32 = shares.iter().sum();
        if sum > 0.0 {
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        Asked { matcher: Matcher::of_terms(terms), shares, certain }
    }

    fn held_by(&self, text: &str) -> Vec<bool> {
        let mut held = vec![false; self.shares.len()];
        self.matcher.find(text).iter().for_each(|found| held[found.term] = true);
        held
    }

    /// The piece of a chunk that has the most of what is asked for, with what stands around it where it fits.
    fn best_of<'a>(&self, chunk: &'a StoredChunk, hit: &'a Hit) -> Option<AnswerPassage<'a>> {
        let pieces = pieces(chunk);
        let nearby = self.held_by(&chunk.text);
        let in_path = self.held_by(&chunk.rel_path);
        let weigh = |own: &[bool], above: &[bool]| {
            (0..self.shares.len()).fold(0.0, |sum, term| {
                let counts = match (own[term], above[term] || in_path[term], nearby[term]) {
                    (true, ..) => 1.0,
                    (_, true, _) => IN_HEADING,
                    (_, _, true) => NEARBY,
                    _ => 0.0,
                };
                sum + self.shares[term] * self.certain[term] * counts
            })
        };
        let mut best: Option<(f32, AnswerPassage<'a>)> = None;
        for (first, piece) in pieces.iter().enumerate() {
            let heading = heading_at(chunk, piece.line);
            let titles: Vec<&str> = heading.titles.iter().map(|(_, title)| title.as_str()).collect();
            let above =
                self.held_by(&format!("{} {}", titles.join(" "), heading.columns.as_deref().unwrap_or("")));
            for bytes in windows(&chunk.text, &pieces, first) {
                let quote = &chunk.text[bytes.clone()];
                let own = self.held_by(quote);
                if !own.iter().chain(&above).any(|held| *held) {
                    continue;
                }
                let answers = weigh(&own, &above);
                // Of two that say as much: the one with more of it in its own words, a declaration, a whole sentence; then
                // the shorter one, then the first.
                let own_share: f32 =
                    self.shares.iter().zip(&own).filter(|(_, held)| **held).map(|(share, _)| share).sum();
                let defines = chunk.kind == IndexKind::Code && self.is_defined_in(&chunk.text, bytes.clone());
                let is_scrap = piece.kind == Kind::Sentence
                    && quote.chars().count() < SCRAP
                    && !quote.ends_with(['.', '?', '!']);
                let rank = answers + 0.2 * own_share + if defines { 0.1 } else { 0.0 }
                    - if is_scrap { 0.08 } else { 0.0 }
                    - if own_share > 0.0 {
                        quote.len() as f32 / 20_000.0
                    } else {
                        0.01 + first as f32 / 500.0
                    };
                if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                    let shown = filled(&pieces, first, bytes);
                    let quote = &chunk.text[shown];
                    let under = titles
                        .iter()
                        .filter(|title| !quote.contains(**title))
                        .copied()
                        .collect::<Vec<_>>()
                        .join(" > ");
                    let columns = heading.columns.clone().filter(|_| piece.kind == Kind::Row);
                    best = Some((rank, AnswerPassage { hit, quote, columns, under, answers }));
                }
            }
        }
        best.map(|(_, passage)| passage)
    }

    /// Whether a name of the question is declared in the first line of a stretch of code.
    fn is_defined_in(&self, text: &str, bytes: Range<usize>) -> bool {
        let line = text[bytes.clone()].lines().next().unwrap_or_default();
        let places = self.matcher.find(line);
        places.iter().any(|place| {
            let (start, end) = name_around(text, bytes.start + place.start, bytes.start + place.end);
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            definition_at(text, line, Family::Other)
                .is_some_and(|found| (found.start, found.end) == (start, end))
        })
    }
}

/// How many of the chunks hold each token, in their text, their path or the headings above them.
fn held_by_all(chunks: &[StoredChunk]) -> HashMap<String, usize> {
    let mut held: HashMap<String, usize> = HashMap::new();
    for chunk in chunks {
        let mut own: HashSet<String> = HashSet::new();
        let mut note = |token: &str| {
            own.insert(token.to_owned());
        };
        index::tokens::index_tokens(&chunk.text, &mut note);
        index::tokens::index_tokens(&chunk.rel_path, &mut note);
        index::tokens::index_tokens(&chunk.heading.words_beside(IndexKind::Text, ""), &mut note);
        own.into_iter().for_each(|token| *held.entry(token).or_default() += 1);
    }
    held
}

/// The stretches of text that begin with a piece and may be quoted: a sentence and the next one of its paragraph, a row,
/// or a few lines.
fn windows(text: &str, pieces: &[Piece], first: usize) -> Vec<Range<usize>> {
    let Piece { kind, bytes, paragraph, .. } = &pieces[first];
    let most = match kind {
        Kind::Sentence => 2,
        Kind::Row => 1,
        Kind::Line => LINES,
    };
    let own = bytes.start..text.floor_char_boundary(bytes.end.min(bytes.start + 2 * PASSAGE_CHARS));
    let together = pieces[first + 1..]
        .iter()
        .take(most - 1)
        .take_while(|next| next.kind == *kind && next.paragraph == *paragraph)
        .map(|next| own.start..next.bytes.end)
        .take_while(|bytes| bytes.len() <= PASSAGE_CHARS);
    // Code is quoted with the lines below it, the longest stretch there is room for.
    let together: Vec<_> =
        if *kind == Kind::Line { together.last().into_iter().collect() } else { together.collect() };
    std::iter::once(own.clone()).chain(together).collect()
}

/// A short quotation with the sentences that follow it in its paragraph, as far as they make it readable.
fn filled(pieces: &[Piece], first: usize, bytes: Range<usize>) -> Range<usize> {
    let Piece { kind, paragraph, .. } = pieces[first];
    if kind != Kind::Sentence {
        return bytes;
    }
    let following = pieces[first + 1..]
        .iter()
        .take_while(|next| next.kind == kind && next.paragraph == paragraph)
        .map(|next| next.bytes.end)
        .filter(|end| *end > bytes.end)
        .take_while(|end| end - bytes.start <= READABLE);
    bytes.start..following.last().unwrap_or(bytes.end)
}

/// The tokens of the question that are names or numbers: spelled with a capital within a sentence, or with digits.
fn names(question: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut begins = true;
    for word in question.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name =
            bare.chars().any(char::is_uppercase) && !begins || bare.chars().any(|c| c.is_ascii_digit());
        if is_name {
            index::tokens::index_tokens(bare, &mut |token| {
                found.insert(token.to_owned());
            });
        }
        begins = word.ends_with(['.', '?', '!', ':']);
    }
    found
}

#[cfg(test)]
mod tests {
    use model::{DocType, Heading, Pointer, RepType, Span};

    use super::*;

    type Said<'a> = (&'a str, &'a str, f32);

    fn chunk(number: usize, path: &str, text: &str) -> StoredChunk {
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
        let hits: Vec<Hit> = (chunks.iter().zip(scores))
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
            .collect();
        extractive_answer(question, &AnswerSources { hits: &hits, chunks, near: &|_| Vec::new() })
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
        let nothing = Answer { text: NOTHING_FOUND.into(), citations: vec![] };
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
}
