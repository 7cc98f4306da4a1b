//! Compares what a model wrote with what it was given, sentence by sentence, while it writes.
//!
//! - A citation that names no retrieved span is removed; one that names a place inside a retrieved span becomes that span.
//! - A sentence with a number or a name that none of the sources it cites holds is marked with [`MARK`]; so is one whose
//!   citations had to be removed because their sources share no word with it while others do.
//! - A sentence without a citation gets that of a source that holds nearly all its words.
//! - Images become their caption, and an address that no source holds is removed: a document could have planted it.
//!
//! A sentence is *supported* where it has a citation and no mark. An answer without any such sentence is not shown.

mod cited;
mod claims;

use std::fmt::Write as _;

use model::Citation;

use super::pieces::sentence_ends;
use super::prompt::says_no_answer;
use super::sources::PackedSource;
use cited::{FoundCitation, citations};
use claims::{HeldFacts, telling_words, unheld};

/// What stands behind a sentence whose numbers or names the cited sources do not hold.
pub const MARK: &str = "(not in the sources)";

/// What takes the place of an address that no source holds.
const REMOVED_LINK: &str = "(link removed)";

/// A sentence without citation gets one where a source holds this share of its telling words, and it has so many.
const HELD_SHARE: f32 = 0.75;
const TELLING: usize = 3;

/// What a model wrote, checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckedAnswer {
    /// With citations in the specified forms.
    pub text: String,
    /// Those in the text, in its order, none twice.
    pub citations: Vec<Citation>,
    /// Sentences with a citation and no mark.
    pub supported: usize,
    /// Sentences with [`MARK`].
    pub marked: usize,
    /// Citations that named nothing that was retrieved.
    pub removed: usize,
    /// The model says that the sources do not answer.
    pub says_nothing_answers: bool,
}

/// Takes an answer piece by piece and gives out checked sentences.
#[derive(Debug)]
pub struct AnswerChecker {
    sources: Vec<SourceFacts>,
    asked: HeldFacts,
    /// What came and is not checked yet.
    pending: String,
    raw: String,
    in_code: bool,
    /// A line of the code block that is under way stands in no source.
    is_code_unheld: bool,
    checked: CheckedAnswer,
}

/// A source, and what it holds.
#[derive(Debug, Clone)]
struct SourceFacts {
    citation: Citation,
    shown_path: String,
    text: String,
    held: HeldFacts,
}

impl AnswerChecker {
    pub fn new(question: &str, sources: &[PackedSource]) -> AnswerChecker {
        let facts = |source: &PackedSource| {
            let mut held = HeldFacts::of(&source.text);
            held.add(&source.above);
            held.add(&source.shown_path);
            SourceFacts {
                citation: source.citation.clone(),
                shown_path: source.shown_path.clone(),
                text: source.text.clone(),
                held,
            }
        };
        AnswerChecker {
            sources: sources.iter().map(facts).collect(),
            asked: HeldFacts::of(question),
            pending: String::new(),
            raw: String::new(),
            in_code: false,
            is_code_unheld: false,
            checked: CheckedAnswer::default(),
        }
    }

    /// Takes the next piece; gives the sentences that are complete with it, checked.
    pub fn push(&mut self, piece: &str) -> String {
        self.raw.push_str(piece);
        self.pending.extend(piece.chars().map(|c| match c {
            '【' => '[',
            '】' => ']',
            other => other,
        }));
        let mut ends = segment_ends(&self.pending);
        // More of the last one may come: a citation, or the rest of an abbreviation.
        ends.pop();
        self.take(&ends)
    }

    /// The end of the answer: its last sentence, checked, and the whole.
    pub fn finish(mut self) -> (String, CheckedAnswer) {
        let ends = segment_ends(&self.pending);
        let mut last = self.take(&ends);
        if self.in_code && self.is_code_unheld {
            last.push_str(&self.mark_of_code());
        }
        self.checked.says_nothing_answers = says_no_answer(&self.raw);
        (last, self.checked)
    }

    fn take(&mut self, ends: &[usize]) -> String {
        let Some(whole) = ends.last() else { return String::new() };
        let rest = self.pending.split_off(*whole);
        let segments = std::mem::replace(&mut self.pending, rest);
        let mut given = String::new();
        let mut start = 0;
        for end in ends {
            given.push_str(&self.check(&segments[start..*end]));
            start = *end;
        }
        given
    }

    /// One sentence or line, with the white space behind it.
    fn check(&mut self, segment: &str) -> String {
        let bare = segment.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        if is_fence || self.in_code {
            return self.check_code(segment, is_fence);
        }
        let texts: Vec<&str> = self.sources.iter().map(|source| source.text.as_str()).collect();
        let without_links = without_foreign_links(segment, &texts);
        let found = citations(&without_links, &self.sources);
        let said = without(&without_links, &found);
        let claim = claim_of(&said);
        let mut cited: Vec<usize> = Vec::new();
        for citation in &found {
            cited.extend(
                citation.sources.iter().filter(|source| !cited.contains(source)).copied().collect::<Vec<_>>(),
            );
            self.checked.removed += usize::from(citation.sources.is_empty());
        }
        let words = telling_words(claim);
        let strangers: Vec<usize> =
            cited.iter().copied().filter(|source| self.is_elsewhere(&words, *source)).collect();
        self.checked.removed += strangers.len();
        cited.retain(|source| !strangers.contains(source));
        let is_title = claim.is_empty() || bare.starts_with('#') || bare.ends_with(':');
        let had_citations = !found.is_empty();
        if cited.is_empty() && !had_citations && !is_title {
            cited.extend(self.holder_of(&words));
        }
        let mut held: Vec<&HeldFacts> = if cited.is_empty() {
            self.sources.iter().map(|source| &source.held).collect()
        } else {
            cited.iter().map(|source| &self.sources[*source].held).collect()
        };
        held.push(&self.asked);
        let missing = if bare.starts_with('#') { Vec::new() } else { unheld(claim, &held) };
        let is_marked = !missing.is_empty() || (!strangers.is_empty() && cited.is_empty());
        if !claim.is_empty() {
            self.checked.supported += usize::from(!cited.is_empty() && !is_marked);
            self.checked.marked += usize::from(is_marked);
        }
        let written = self.rewritten(&without_links, &found, &cited, is_marked);
        self.checked.text.push_str(&written);
        written
    }

    /// The segment with its citations in the specified form, those that are left; a citation that was found for it and the
    /// mark at its end.
    fn rewritten(
        &mut self,
        segment: &str,
        found: &[FoundCitation],
        cited: &[usize],
        is_marked: bool,
    ) -> String {
        let body = segment.trim_end();
        let space = &segment[body.len()..];
        let mut written = String::new();
        let mut at = 0;
        let mut last: Vec<usize> = Vec::new();
        for citation in found {
            let between = &segment[at..citation.bytes.start];
            written.push_str(between);
            at = citation.bytes.end;
            if !between.trim().is_empty() {
                last.clear();
            }
            let kept: Vec<usize> = citation
                .sources
                .iter()
                .copied()
                .filter(|source| cited.contains(source) && !last.contains(source))
                .collect();
            if kept.is_empty() {
                let trimmed = written.trim_end_matches(' ').len();
                written.truncate(trimmed);
            }
            for source in kept {
                if written.ends_with(|c: char| c.is_alphanumeric()) {
                    written.push(' ');
                }
                written.push_str(&self.cite(source));
                last.push(source);
            }
        }
        written.push_str(body.get(at..).unwrap_or_default());
        if found.is_empty() {
            for source in cited {
                let citation = self.cite(*source);
                written.push(' ');
                written.push_str(&citation);
            }
        }
        if is_marked {
            let _ = write!(written, " {MARK}");
        }
        written.push_str(space);
        written
    }

    fn cite(&mut self, source: usize) -> String {
        let facts = &self.sources[source];
        if !self.checked.citations.contains(&facts.citation) {
            self.checked.citations.push(facts.citation.clone());
        }
        facts.citation.to_string()
    }

    /// Whether none of the words is in this source, although others hold most of them.
    fn is_elsewhere(&self, words: &[String], source: usize) -> bool {
        let share = |held: &HeldFacts| {
            words.iter().filter(|word| held.has_token(word)).count() as f32 / words.len().max(1) as f32
        };
        words.len() >= 2
            && share(&self.sources[source].held) == 0.0
            && self.sources.iter().any(|other| share(&other.held) >= 0.5)
    }

    /// The source that holds nearly all of these words.
    fn holder_of(&self, words: &[String]) -> Option<usize> {
        if words.len() < TELLING {
            return None;
        }
        let share = |source: &SourceFacts| {
            words.iter().filter(|word| source.held.has_token(word)).count() as f32 / words.len() as f32
        };
        let best = self.sources.iter().map(share).enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        (best.1 >= HELD_SHARE).then_some(best.0)
    }

    /// Code is shown as it is. A block with a line that no source holds is marked behind its end.
    fn check_code(&mut self, segment: &str, is_fence: bool) -> String {
        let line = segment.trim();
        let mut written = segment.to_owned();
        if is_fence {
            let closes = self.in_code;
            self.in_code = !self.in_code;
            if closes && std::mem::take(&mut self.is_code_unheld) {
                if !written.ends_with('\n') {
                    written.push('\n');
                }
                written.push_str(&format!("{MARK}\n"));
                self.checked.marked += 1;
            }
        } else if !line.is_empty() && !self.sources.iter().any(|source| source.text.contains(line)) {
            self.is_code_unheld = true;
        }
        self.checked.text.push_str(&written);
        written
    }

    fn mark_of_code(&mut self) -> String {
        let mark = format!("\n{MARK}");
        self.checked.text.push_str(&mark);
        self.checked.marked += 1;
        mark
    }
}

/// A text without images, and without addresses that none of these texts holds.
pub fn without_foreign_links(text: &str, held: &[&str]) -> String {
    let mut written = text.replace("![", "[");
    for scheme in ["http://", "https://", "ftp://", "file://", "data:", "javascript:", "mailto:", "www."] {
        let mut from = 0;
        while let Some(at) = find_ascii(&written, scheme, from) {
            let end = written[at..]
                .find(|c: char| c.is_whitespace() || matches!(c, ')' | ']' | '>' | '"' | '\'' | '`' | '<'))
                .map_or(written.len(), |offset| at + offset);
            let address = written[at..end].trim_end_matches(['.', ',', ';', '!', '?', ':']);
            let end = at + address.len();
            // `data:` and `javascript:` in a sentence are words with a colon.
            let is_word = address.len() <= scheme.len() || scheme == "data:" && !address.contains(',');
            if is_word || held.iter().any(|text| text.contains(address)) {
                from = end.max(at + scheme.len());
            } else {
                // `[text](address)` keeps its text.
                let is_target = written[..at].ends_with("](") && written[end..].starts_with(')');
                let replaced = if is_target { at - 1..end + 1 } else { at..end };
                from = replaced.start + REMOVED_LINK.len();
                written.replace_range(replaced, REMOVED_LINK);
            }
        }
    }
    written
}

fn find_ascii(text: &str, pattern: &str, from: usize) -> Option<usize> {
    let (bytes, pattern) = (text.as_bytes(), pattern.as_bytes());
    (from..bytes.len().saturating_sub(pattern.len() - 1))
        .find(|at| bytes[*at..*at + pattern.len()].eq_ignore_ascii_case(pattern))
}

/// Where sentences and lines end, each with its citations and the white space behind it.
fn segment_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n');
        for end in sentence_ends(body).into_iter().filter_map(|end| behind_citations(body, end)) {
            let end = start + end;
            if ends.last().is_none_or(|last| *last < end) {
                ends.push(end);
            }
        }
        start += line.len();
        if line.ends_with('\n') {
            match ends.last_mut() {
                Some(last) if text[*last..start].trim().is_empty() => *last = start,
                _ => ends.push(start),
            }
        }
    }
    if ends.last().copied().unwrap_or(0) < text.len() {
        ends.push(text.len());
    }
    ends
}

/// The end of what belongs to a sentence: brackets and white space behind it. `None` where a bracket is not closed yet.
fn behind_citations(line: &str, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        let rest = line[at..].trim_start();
        let Some(inside) = rest.strip_prefix('[') else { break };
        at = line.len() - rest.len() + 1 + inside.find(']')? + 1;
        // The full stop may stand behind the citation.
        at += line[at..].bytes().take_while(|byte| matches!(byte, b'.' | b')')).count();
    }
    Some(line.len() - line[at..].trim_start().len())
}

/// The text without its citations.
fn without(text: &str, found: &[FoundCitation]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for citation in found {
        left.push_str(&text[at..citation.bytes.start]);
        at = citation.bytes.end;
    }
    left.push_str(&text[at..]);
    left
}

/// What a line says, without the number or sign of a list and the signs of layout.
fn claim_of(said: &str) -> &str {
    let said = said.trim().trim_start_matches(['#', '>', '-', '*', '+', '|', ' ']);
    let digits = said.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = (1..=2).contains(&digits)
        && said[digits..].starts_with(['.', ')'])
        && said[digits + 1..].starts_with(' ');
    let said = if is_item { said[digits + 1..].trim_start() } else { said };
    if said.chars().any(char::is_alphanumeric) { said } else { "" }
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, Span};

    use super::*;

    pub(super) fn facts(path: &str, span: Span, text: &str) -> SourceFacts {
        SourceFacts {
            citation: Citation { chunk_id: ChunkId(1), rel_path: path.to_owned(), span },
            shown_path: path.to_owned(),
            text: text.to_owned(),
            held: HeldFacts::of(text),
        }
    }

    fn sources() -> Vec<PackedSource> {
        let source = |number: usize, path: &str, text: &str| PackedSource {
            number,
            citation: Citation {
                chunk_id: ChunkId(number as i64),
                rel_path: path.to_owned(),
                span: Span::Lines { start_line: 1, end_line: 9 },
            },
            shown_path: path.to_owned(),
            above: String::new(),
            text: text.to_owned(),
        };
        vec![
            source(1, "leave.md", "Everyone has 28 days of annual leave. Five days may be carried over."),
            source(
                2,
                "owners.md",
                "Pieter Maas owns the Benelux target. See https://intranet.example/targets for more.",
            ),
        ]
    }

    fn checked(answer: &str) -> CheckedAnswer {
        let mut checker = AnswerChecker::new("How many days of leave?", &sources());
        let mut streamed = String::new();
        for piece in answer.split_inclusive(' ') {
            streamed.push_str(&checker.push(piece));
        }
        let (last, checked) = checker.finish();
        streamed.push_str(&last);
        assert_eq!(streamed, checked.text, "what is streamed is what is answered");
        checked
    }

    #[test]
    fn d112_d113_citations_become_those_of_retrieved_spans() {
        let answer = checked("Everyone has 28 days [1]. Five days may be carried over. [leave.md:L3-L4]");
        assert_eq!(
            answer.text,
            "Everyone has 28 days [leave.md:L1-L9]. Five days may be carried over. [leave.md:L1-L9]"
        );
        assert_eq!((answer.supported, answer.marked, answer.removed), (2, 0, 0));
        assert_eq!(answer.citations.len(), 1);
    }

    #[test]
    fn a_citation_of_nothing_that_was_retrieved_is_removed() {
        let answer = checked("Everyone has 28 days [7] [other.md:L1-L2][1].");
        assert_eq!(answer.text, "Everyone has 28 days [leave.md:L1-L9].");
        assert_eq!((answer.supported, answer.removed), (1, 2));
        let answer = checked("Everyone has 28 days [leave.md:L8-L12].");
        assert_eq!(answer.text, "Everyone has 28 days.");
        assert_eq!((answer.supported, answer.citations.len()), (0, 0));
    }

    #[test]
    fn numbers_and_names_that_no_cited_source_holds_mark_the_sentence() {
        let answer = checked(
            "Everyone has 30 days [1]. Solveig Dahl owns the target [2].\nEveryone has 28 days [1].\n",
        );
        assert_eq!(
            answer.text,
            "Everyone has 30 days [leave.md:L1-L9]. (not in the sources) Solveig Dahl owns the target \
             [owners.md:L1-L9]. (not in the sources)\nEveryone has 28 days [leave.md:L1-L9].\n"
        );
        assert_eq!((answer.supported, answer.marked), (1, 2));
    }

    #[test]
    fn a_citation_of_another_source_than_the_one_that_says_so_is_removed() {
        let answer = checked("Annual leave carried over [2].");
        assert_eq!(answer.text, "Annual leave carried over. (not in the sources)");
        assert_eq!((answer.supported, answer.marked, answer.removed), (0, 1, 1));
    }

    #[test]
    fn a_sentence_that_a_source_holds_gets_its_citation() {
        let answer = checked("Five days may be carried over from annual leave.");
        assert_eq!(answer.text, "Five days may be carried over from annual leave. [leave.md:L1-L9]");
        assert_eq!(answer.supported, 1);
        assert_eq!(checked("Ask somebody else about that kind of thing.").supported, 0);
    }

    #[test]
    fn links_that_no_source_holds_and_images_are_removed() {
        let answer = checked(
            "![x](https://evil.example/?q=28) See https://intranet.example/targets for more [2]. www.evil.example",
        );
        assert!(!answer.text.contains("evil") && !answer.text.contains("!["), "{}", answer.text);
        assert!(answer.text.contains("https://intranet.example/targets"), "{}", answer.text);
    }

    #[test]
    fn code_keeps_its_brackets_and_unknown_code_is_marked() {
        let answer = checked("Use this:\n```\nx[1] = 5\n```\n");
        assert_eq!(answer.text, "Use this:\n```\nx[1] = 5\n```\n(not in the sources)\n");
    }

    #[test]
    fn lists_and_titles_are_no_claims_of_their_own() {
        let answer = checked("# Leave Of Absence\n\n1. 28 days [1]\n2. Five days carried over [1]\n");
        assert_eq!((answer.supported, answer.marked), (2, 0), "{}", answer.text);
    }

    #[test]
    fn a_model_that_finds_no_answer_says_so() {
        assert!(checked("NO ANSWER IN THE SOURCES").says_nothing_answers);
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_checked(answer in "([a-zA-Z0-9 .,:`\\[\\]()#*|!\n-]|http://|é|【|】){0,120}", cut in 1usize..7) {
            let mut checker = AnswerChecker::new("q", &sources());
            let letters: Vec<char> = answer.chars().collect();
            let mut streamed = String::new();
            for piece in letters.chunks(cut) {
                streamed.push_str(&checker.push(&piece.iter().collect::<String>()));
            }
            let (last, checked) = checker.finish();
            streamed.push_str(&last);
            proptest::prop_assert_eq!(&streamed, &checked.text);
            for citation in &checked.citations {
                proptest::prop_assert!(sources().iter().any(|source| source.citation == *citation));
            }
        }
    }
}
