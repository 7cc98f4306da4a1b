//! An answer without a language model: the few sentences, rows or lines that answer, word for word, each with its citation.
//!
//! Every piece of every hit is a candidate. Its score is that of the piece plus [`PARAGRAPH`] times that of its passage,
//! both stretched to the range from 0 to 1: a sentence alone is too short to judge, and its passage alone says nothing
//! about the sentence. On five articles of SQuAD that puts the right sentence among the first three for 0.898 of the
//! questions, the sentence's own score for 0.882. A reranker is asked about the best [`RERANKED`], and counts as much.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use index::StoredChunk;
use model::{ChunkId, Citation, Hit, IndexKind};

use super::asked::Asked;
use super::pieces::{Kind, Piece, pieces};
use super::{Answer, AnswerSources, NOTHING_ANSWERS, NOTHING_FOUND};
use crate::caption::heading_at;

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
/// Among the labelled questions (`eval/everyday`, `eval/answers`) this parts those that have an answer from those that have
/// none best.
const ANSWERED: f32 = 0.5;

/// A further passage needs this share of what the best one has, and its hit this share of the best score.
const AS_GOOD: f32 = 0.8;
const CLIFF: f32 = 0.6;

/// What the score of a passage counts beside that of a sentence in it.
const PARAGRAPH: f32 = 0.6;
/// Sentences that a reranker is asked about.
const RERANKED: usize = 20;

/// Two pieces with this share of their words in common say the same.
const SAME: f32 = 0.8;

/// Words that point at what the sentence before says.
#[rustfmt::skip]
const POINTING: &[&str] = &[
    "it", "its", "he", "his", "him", "she", "her", "they", "their", "them", "this", "that", "these", "those", "such", "both",
    "there", "then", "so", "otherwise", "er", "sie", "es", "ihr", "ihre", "sein", "seine", "dies", "diese", "dieser",
    "dieses", "dann",
];

/// Answers from what a search found.
pub fn extractive_answer(question: &str, found: &AnswerSources<'_>) -> Answer {
    let AnswerSources { hits, chunks, near, .. } = *found;
    let by_id: HashMap<ChunkId, &StoredChunk> = chunks.iter().map(|chunk| (chunk.id, chunk)).collect();
    let asked = Asked::new(question, chunks, near);
    let mut candidates: Vec<AnswerPassage<'_>> = hits
        .iter()
        .filter_map(|hit| Some((hit, *by_id.get(&hit.chunk_id)?)))
        .flat_map(|(hit, chunk)| passages(&asked, chunk, hit))
        .collect();
    let Some(best) = candidates.iter().map(|passage| passage.answers).reduce(f32::max) else {
        return Answer::nothing(NOTHING_FOUND);
    };
    if best < ANSWERED {
        return Answer::nothing(NOTHING_ANSWERS);
    }
    let top = hits.first().map_or(0.0, |hit| hit.score);
    rank(&mut candidates, found.rerank);
    // Behind the cliff stands what shares a word with the question.
    let floor = (best * AS_GOOD).max(ANSWERED);
    candidates.retain(|passage| passage.answers >= floor);
    let mut chosen: Vec<&AnswerPassage<'_>> = Vec::new();
    for passage in &candidates {
        if chosen.len() == MAX_PASSAGES {
            break;
        }
        let is_weak = passage.hit.score < top * CLIFF && !chosen.is_empty();
        // Rows and lines have most of their words in common with their neighbours.
        let is_neighbour = chosen.iter().any(|known| {
            known.chunk.id == passage.chunk.id
                && passage.kind != Kind::Sentence
                && passage.own_share < known.own_share - f32::EPSILON
        });
        if !is_weak && !is_neighbour && !chosen.iter().any(|known| known.says_the_same(passage)) {
            chosen.push(passage);
        }
    }
    worded(found.label, &in_reading_order(&chosen))
}

/// A piece of a hit that may be quoted.
struct AnswerPassage<'a> {
    hit: &'a Hit,
    chunk: &'a StoredChunk,
    /// What is quoted of the chunk's text.
    bytes: Range<usize>,
    /// The header of the table that the row stands in.
    columns: Option<String>,
    /// The headings above.
    under: String,
    kind: Kind,
    /// How much of what the question asks for stands here, from 0 to 1.
    answers: f32,
    /// How much of it stands in the quotation itself.
    own_share: f32,
    /// The same with what tells one piece of a chunk from another; later, the score by which pieces are ordered.
    score: f32,
}

impl AnswerPassage<'_> {
    fn quote(&self) -> &str {
        &self.chunk.text[self.bytes.clone()]
    }

    fn says_the_same(&self, other: &AnswerPassage<'_>) -> bool {
        let overlap = self.chunk.id == other.chunk.id
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end;
        let (quote, said) = (self.quote().trim(), other.quote().trim());
        overlap || quote.contains(said) || said.contains(quote) || shared_words(quote, said) >= SAME
    }
}

fn shared_words(a: &str, b: &str) -> f32 {
    let words = |text: &str| {
        let mut words = HashSet::new();
        index::tokens::index_tokens(text, &mut |token| {
            words.insert(token.to_owned());
        });
        words
    };
    let (a, b) = (words(a), words(b));
    let common = a.intersection(&b).count() as f32;
    let all = a.union(&b).count() as f32;
    // Rows of one table share most of their words and differ in the one that counts.
    if all < 8.0 { 0.0 } else { common / all }
}

/// The pieces of a chunk that have something of what is asked for: for each place where a quotation may begin, the best one.
fn passages<'a>(asked: &Asked, chunk: &'a StoredChunk, hit: &'a Hit) -> Vec<AnswerPassage<'a>> {
    let pieces = pieces(chunk);
    let nearby = asked.held_by(&chunk.text);
    let in_path = asked.held_by(&chunk.rel_path);
    let mut found: Vec<AnswerPassage<'a>> = Vec::new();
    for (first, piece) in pieces.iter().enumerate() {
        let heading = heading_at(chunk, piece.line);
        let titles: Vec<&str> = heading.titles.iter().map(|(_, title)| title.as_str()).collect();
        let headings =
            asked.held_by(&format!("{} {}", titles.join(" "), heading.columns.as_deref().unwrap_or("")));
        let above: Vec<bool> = headings.iter().zip(&in_path).map(|(above, path)| *above || *path).collect();
        let mut best: Option<(f32, f32, f32, Range<usize>)> = None;
        for bytes in windows(&chunk.text, &pieces, first) {
            let quote = &chunk.text[bytes.clone()];
            let own = asked.held_by(quote);
            if !own.iter().chain(&headings).any(|held| *held) {
                continue;
            }
            let fit = asked.fit(quote, piece.kind, [&own, &above, &nearby]);
            let answers = asked.share(&own, &above, &nearby) * fit;
            // Of two that say as much: the one with more of it in its own words, a declaration, a whole sentence; then
            // the shorter one, then the first.
            let own_share = asked.own_share(&own);
            let defines = chunk.kind == IndexKind::Code && asked.is_defined_in(&chunk.text, bytes.clone());
            let is_scrap = piece.kind == Kind::Sentence
                && quote.chars().count() < SCRAP
                && !quote.ends_with(['.', '?', '!']);
            let score = answers + 0.2 * own_share + if defines { 0.1 } else { 0.0 }
                - if is_scrap { 0.08 } else { 0.0 }
                - if own_share > 0.0 { quote.len() as f32 / 20_000.0 } else { 0.01 + first as f32 / 500.0 };
            if best.as_ref().is_none_or(|(known, ..)| score > *known) {
                best = Some((score, answers, own_share, bytes));
            }
        }
        let Some((score, answers, own_share, bytes)) = best else { continue };
        let bytes = with_what_it_points_at(&chunk.text, &pieces, first, filled(&pieces, first, bytes));
        let quote = &chunk.text[bytes.clone()];
        let under =
            titles.iter().filter(|title| !quote.contains(**title)).copied().collect::<Vec<_>>().join(" > ");
        let columns = heading.columns.clone().filter(|_| piece.kind == Kind::Row);
        let kind = piece.kind;
        found.push(AnswerPassage { hit, chunk, bytes, columns, under, kind, answers, own_share, score });
    }
    found
}

/// Best first: by the piece and its passage, and by a reranker where there is one that answers.
fn rank(candidates: &mut [AnswerPassage<'_>], rerank: Option<&RerankSentences<'_>>) {
    let pieces = stretched(&candidates.iter().map(|passage| passage.score).collect::<Vec<_>>());
    let passages = stretched(&candidates.iter().map(|passage| passage.hit.score).collect::<Vec<_>>());
    for (at, passage) in candidates.iter_mut().enumerate() {
        passage.score = pieces[at] + PARAGRAPH * passages[at];
    }
    // The sort is stable: of two with the same score the one of the better hit, then the earlier one.
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let Some(rerank) = rerank else { return };
    let depth = candidates.len().min(RERANKED);
    let texts: Vec<&str> = candidates[..depth].iter().map(|passage| passage.quote()).collect();
    let Some(scores) = rerank(&texts).filter(|scores| scores.len() == depth) else { return };
    let own = stretched(&candidates[..depth].iter().map(|passage| passage.score).collect::<Vec<_>>());
    let judged = stretched(&scores);
    for (at, passage) in candidates[..depth].iter_mut().enumerate() {
        passage.score = own[at] + judged[at];
    }
    candidates[..depth].sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// How well each sentence answers, by a model; `None` where it cannot say.
pub type RerankSentences<'a> = dyn Fn(&[&str]) -> Option<Vec<f32>> + 'a;

/// The numbers moved to the range from 0 to 1; all 1 where they are equal.
pub(crate) fn stretched(numbers: &[f32]) -> Vec<f32> {
    let least = numbers.iter().copied().fold(f32::INFINITY, f32::min);
    let most = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let width = most - least;
    numbers.iter().map(|number| if width > f32::EPSILON { (number - least) / width } else { 1.0 }).collect()
}

/// Documents by their best piece, the pieces of each as they follow each other in it.
fn in_reading_order<'p, 'a>(chosen: &[&'p AnswerPassage<'a>]) -> Vec<&'p AnswerPassage<'a>> {
    let document = |passage: &AnswerPassage<'_>| {
        chosen.iter().position(|other| other.hit.rel_path == passage.hit.rel_path).unwrap_or_default()
    };
    let mut ordered = chosen.to_vec();
    ordered.sort_by_key(|passage| (document(passage), passage.chunk.ordinal, passage.bytes.start));
    ordered
}

fn worded(label: &str, passages: &[&AnswerPassage<'_>]) -> Answer {
    let mut text = String::from(label);
    let mut citations: Vec<Citation> = Vec::new();
    for passage in passages {
        let citation = passage.hit.citation();
        text.push_str("\n\n");
        for line in passage.columns.iter().map(String::as_str).chain(passage.quote().lines()) {
            text.push_str("> ");
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&citation.to_string());
        if !passage.under.is_empty() {
            text.push(' ');
            text.push_str(&passage.under);
        }
        if !citations.contains(&citation) {
            citations.push(citation);
        }
    }
    Answer { text, citations, answers: true }
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

/// A sentence that begins with "It" or "They" with the one before it, which says who that is.
fn with_what_it_points_at(text: &str, pieces: &[Piece], first: usize, bytes: Range<usize>) -> Range<usize> {
    let Piece { kind, paragraph, .. } = pieces[first];
    let begins = text[bytes.clone()].split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let points = begins.is_some_and(|word| POINTING.contains(&word.to_lowercase().as_str()));
    let before = first.checked_sub(1).map(|before| &pieces[before]);
    match before {
        Some(before)
            if points
                && kind == Kind::Sentence
                && before.kind == kind
                && before.paragraph == paragraph
                && bytes.end - before.bytes.start <= PASSAGE_CHARS =>
        {
            before.bytes.start..bytes.end
        }
        _ => bytes,
    }
}
