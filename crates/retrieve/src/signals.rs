//! What the text and the path of one chunk say about a query: which of its words they hold, what they define, what they quote.

use index::StoredChunk;
use index::definitions::{Family, Strength, definition_at};
use model::IndexKind;

use crate::breakdown::Breakdown;
use crate::candidates::Candidate;
use crate::fuse::{TermWeights, name_around};
use crate::matcher::WordMatch;
use crate::named::Why;
use crate::parse::Parsed;
use crate::prescore::{InPath, covered};

/// Everything that the chunk's own text and path say, and whether it holds what is quoted.
pub(crate) fn signals(parsed: &Parsed, terms: &TermWeights<'_>, candidate: &Candidate) -> (Breakdown, bool) {
    let Candidate { chunk, places, .. } = candidate;
    let in_path = InPath::find(&chunk.rel_path, terms.matcher());
    // A row of a table is about its columns and its sheet, too.
    let beside = terms.matcher().find(&chunk.heading.words_beside(chunk.kind, &chunk.text));
    let all =
        places.iter().chain(&in_path.stem).chain(&in_path.folders).chain(&beside).map(|found| found.term);
    let defined = Defined::by(parsed, terms, candidate);
    let (file_stem, folders) = in_path.shares(terms.shares());
    let coverage = terms.share_of(all);
    let content = parsed.content_terms();
    let weight_of = |word: &str| {
        let term = content.iter().position(|term| term.token == word);
        term.map_or(0.0, |term| terms.shares()[term])
    };
    let occurrence = parsed.verbatim.occurrence_in(&chunk.text, coverage, &weight_of);
    let parts = Breakdown {
        coverage,
        definition: defined.asked,
        defines_identifier: defined.identifier,
        defines_words: defined.words,
        title: title(chunk, places, terms),
        file_stem,
        folders,
        verbatim: occurrence.share,
        ..Breakdown::default()
    };
    (parts, occurrence.has_quoted)
}

/// What a chunk defines, as far as the query is about it.
#[derive(Debug, Default)]
struct Defined {
    /// A name that the query asks for, from 0 to 1.
    asked: f32,
    /// A name that the query mentions, from 0 to 1.
    identifier: f32,
    /// How much of the query's words the best name is made of, from 0 to 1.
    words: f32,
}

impl Defined {
    fn by(parsed: &Parsed, terms: &TermWeights<'_>, candidate: &Candidate) -> Defined {
        let Candidate { chunk, places, prescore, .. } = candidate;
        let text = &chunk.text;
        let mut places: Vec<WordMatch> = places.clone();
        places.sort_unstable_by_key(|f| (f.start, f.end));
        let family = Family::of(&chunk.rel_path);
        let mut defined = Defined::default();
        let mut next = 0;
        let mut looked_at = 0;
        while next < places.len() && looked_at < MAX_NAMES {
            let (start, end) = name_around(text, places[next].start, places[next].end);
            let first = next;
            while next < places.len() && places[next].start < end {
                next += 1;
            }
            looked_at += 1;
            let name = &text[start..end];
            let (strength, is_member) = if chunk.kind == IndexKind::Text {
                (if is_heading(text, start) { HEADING } else { 0.0 }, false)
            } else {
                let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
                let found = definition_at(text, line, family).filter(|found| found.start == start);
                found.map_or((0.0, false), |found| (strength(found.strength), found.is_member))
            };
            if strength == 0.0 {
                continue;
            }
            let name = name.trim_matches('$');
            let spelled = |wanted: &str| {
                let wanted = wanted.trim_matches('$');
                if wanted == name {
                    1.0
                } else if !wanted.eq_ignore_ascii_case(name) {
                    0.0
                } else {
                    OTHER_CASE
                }
            };
            for (at, named) in parsed.names.iter().enumerate() {
                let spelled = spelled(&named.name);
                match named.why {
                    Why::Asked if chunk.kind == IndexKind::Code => {
                        // A member belongs to what its document defines, too.
                        let belongs = if is_member && prescore.names < 2 { ALONE } else { 1.0 };
                        let order = if at == 0 { 1.0 } else { SECOND };
                        defined.asked = defined.asked.max(spelled * strength * belongs * order);
                    }
                    Why::Guessed if spelled < 1.0 => {}
                    _ => defined.identifier = defined.identifier.max(spelled * strength),
                }
            }
            let inside: Vec<WordMatch> = places[first..next]
                .iter()
                .map(|f| WordMatch { term: f.term, start: f.start - start, end: f.end.min(end) - start })
                .collect();
            let share = terms.share_of(inside.iter().map(|f| f.term));
            let covered = covered(&text[start..end], &inside);
            defined.words = defined.words.max(share * covered * covered * strength);
        }
        defined
    }
}

/// A heading of prose is not a definition, but next to it.
const HEADING: f32 = 1.0;
/// `session` asks for `Session` too, where there is nothing better.
const OTHER_CASE: f32 = 0.7;
/// In "send Session" the first name is meant, and the second is where it belongs.
const SECOND: f32 = 0.6;
/// A member of something that the query does not speak of.
const ALONE: f32 = 0.9;

fn strength(strength: Strength) -> f32 {
    match strength {
        Strength::Whole => 1.0,
        Strength::Value => 0.7,
        Strength::Declared => 0.3,
    }
}

/// Names looked at per chunk; a chunk that mentions the query's words more often is a list.
const MAX_NAMES: usize = 300;

/// A Markdown heading is the definition of prose.
fn is_heading(text: &str, at: usize) -> bool {
    let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[line_start..at].trim_start();
    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

/// How much of the query occurs in the title of a document in prose: its first paragraph, where that is short.
fn title(chunk: &StoredChunk, places: &[WordMatch], terms: &TermWeights<'_>) -> f32 {
    if chunk.kind != IndexKind::Text || chunk.ordinal > 0 {
        return 0.0;
    }
    let end = chunk.text.find("\n\n").filter(|end| *end <= MAX_TITLE).unwrap_or(0);
    terms.share_of(places.iter().filter(|place| place.end <= end).map(|place| place.term))
}

/// A longer first paragraph, in bytes, is text like the rest.
const MAX_TITLE: usize = 300;
