//! From candidates to ranked hits: the two rankings added, the cheap signals applied, the indices merged.
//!
//! Everything here is a function of its arguments, in a fixed order: the same candidates give the same
//! scores, bit for bit.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use index::StoredChunk;
use model::IndexKind;

use crate::breakdown::Breakdown;
use crate::candidates::Candidate;
use crate::copies::Texts;
use crate::definition::is_definition;
use crate::matcher::{Found, Matcher};
use crate::parse::Parsed;
use crate::place::Place;
use crate::standing::{InPath, Standing, covered, share_of};
use crate::weights::{self, Weights};

/// A chunk with its final score and how it came about.
#[derive(Debug, Clone)]
pub struct Scored {
    pub chunk: StoredChunk,
    /// Where the query's words stand in its text.
    pub places: Vec<Found>,
    /// From 0 to 1.
    pub score: f32,
    pub breakdown: Breakdown,
}

/// The ranked candidates of one index.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// Best first; the best has score 1.
    pub scored: Vec<Scored>,
    /// How well the index answers: the share of the query's weight that its best candidates cover.
    pub strength: f32,
}

/// What the query's words weigh, over the candidates of all indices at once, so that the indices can be
/// compared.
#[derive(Debug, Clone)]
pub struct TermWeights<'a> {
    matcher: &'a Matcher,
    /// One per term of the matcher; they add up to 1.
    shares: Vec<f32>,
}

impl<'a> TermWeights<'a> {
    /// Terms that few candidates hold tell candidates apart, so they weigh more. Stop words count only in
    /// a query that has nothing else.
    pub fn new<'c>(
        parsed: &Parsed,
        matcher: &'a Matcher,
        candidates: impl Iterator<Item = &'c Candidate>,
    ) -> TermWeights<'a> {
        let terms = parsed.content_terms();
        let mut holders = vec![0u32; terms.len()];
        let mut total = 0u32;
        let mut seen = vec![false; terms.len()];
        for candidate in candidates {
            total += 1;
            seen.fill(false);
            for place in &candidate.places {
                seen[place.term] = true;
            }
            for (count, seen) in holders.iter_mut().zip(&seen) {
                *count += u32::from(*seen);
            }
        }
        let raw: Vec<f32> = terms
            .iter()
            .zip(&holders)
            .map(|(term, holders)| {
                // What nobody holds tells nobody apart.
                if *holders == 0 {
                    return 0.0;
                }
                let (n, df) = (total as f32, *holders as f32);
                term.weight * (1.0 + (n - df + 0.5) / (df + 0.5)).ln().max(0.1)
            })
            .collect();
        let sum: f32 = raw.iter().sum();
        let shares = if sum > 0.0 { raw.iter().map(|weight| weight / sum).collect() } else { raw };
        TermWeights { matcher, shares }
    }

    /// The share of each term of the matcher.
    pub(crate) fn shares(&self) -> &[f32] {
        &self.shares
    }

    fn share_of(&self, found: impl Iterator<Item = usize>) -> f32 {
        share_of(&self.shares, found)
    }
}

/// The words of the query that stand in a candidate's text, sorted.
pub(crate) fn words_at(parsed: &Parsed, places: &[Found]) -> Vec<String> {
    let terms = parsed.content_terms();
    let mut words: Vec<String> = places.iter().map(|place| terms[place.term].token.clone()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Ranks the candidates of one index, which come by path and position.
pub fn rank(
    parsed: &Parsed,
    terms: &TermWeights<'_>,
    candidates: Vec<Candidate>,
    prefix: &str,
    weights: &Weights,
) -> Ranking {
    let parts: Vec<Breakdown> = candidates
        .iter()
        .map(|candidate| {
            let mut part = signals(parsed, terms, candidate);
            let Standing { lexical, vector, cosine, called, coherence, .. } = candidate.standing;
            (part.lexical, part.vector, part.cosine) = (lexical, vector, cosine);
            (part.called, part.coherence) = (called, coherence);
            let StoredChunk { rel_path, text, .. } = &candidate.chunk;
            part.place = Place::of_chunk(rel_path, text).factor(parsed, prefix, weights)
                * candidate.standing.beside_others(weights);
            part.repetition = 1.0;
            part
        })
        .collect();

    let strength = strength(&candidates, &parts, weights);
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .zip(parts)
        .map(|(candidate, breakdown)| {
            let sum = candidate.standing.base
                + weights.coverage * breakdown.coverage
                + weights.defines_identifier * breakdown.defines_identifier
                + weights.defines_words * breakdown.defines_words
                + weights.title * breakdown.title
                + weights.file_stem * breakdown.file_stem
                + weights.folders * breakdown.folders
                + weights.called * breakdown.called
                + weights.coherence * breakdown.coherence
                + weights.phrase * breakdown.phrase;
            let Candidate { chunk, places, .. } = candidate;
            Scored { chunk, places, score: sum * breakdown.place, breakdown }
        })
        .collect();
    scored.sort_by(by_rank);
    repetition(&mut scored, weights);
    scored.sort_by(by_rank);
    normalise(&mut scored);
    Ranking { scored, strength }
}

/// Merges the indices: each is normalised by itself (its best hit is 1, a chunk that matches nothing would
/// be 0), then weighed by how well it answers, so that the best of a poor index does not stand beside the
/// best of a good one. No chunk appears twice; the better score stays.
pub fn merge(rankings: Vec<(IndexKind, Ranking)>, k: usize) -> Vec<Scored> {
    let mut merged: Vec<Scored> = Vec::new();
    for (_, mut ranking) in rankings {
        for scored in &mut ranking.scored {
            scored.score *= ranking.strength;
        }
        merged.append(&mut ranking.scored);
    }
    merged.sort_by(by_rank);
    let mut seen = HashSet::new();
    merged.retain(|scored| seen.insert(scored.chunk.id));
    merged.truncate(k);
    merged
}

/// Score, then path, then position: a total order, so that equal scores never depend on who came first.
fn by_rank(a: &Scored, b: &Scored) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.chunk.rel_path.cmp(&b.chunk.rel_path))
        .then_with(|| a.chunk.ordinal.cmp(&b.chunk.ordinal))
        .then_with(|| a.chunk.id.cmp(&b.chunk.id))
}

/// The mean coverage of the few best-covering candidates. Candidates found by vector alone count by their
/// cosine: they answer, but without a word in common.
fn strength(candidates: &[Candidate], parts: &[Breakdown], weights: &Weights) -> f32 {
    let mut answers: Vec<f32> = candidates
        .iter()
        .zip(parts)
        .map(|(candidate, part)| {
            let by_meaning = if candidate.standing.by_words { 0.0 } else { candidate.standing.cosine };
            part.coverage.max(by_meaning * weights.vector_floor).clamp(WEAKEST, 1.0)
        })
        .collect();
    answers.sort_by(|a, b| b.total_cmp(a));
    answers.truncate(weights::WIDEN_SAMPLE);
    if answers.is_empty() {
        0.0
    } else {
        answers.iter().fold(0.0, |sum, each| sum + each) / answers.len() as f32
    }
}

/// What was found at all is worth more than nothing, even where the words could not be seen in the text.
const WEAKEST: f32 = 0.01;

/// Everything that the chunk's own text and path say.
fn signals(parsed: &Parsed, terms: &TermWeights<'_>, candidate: &Candidate) -> Breakdown {
    let Candidate { chunk, places, .. } = candidate;
    let in_path = InPath::find(&chunk.rel_path, terms.matcher);
    // A row of a table is about its columns and its sheet, too.
    let beside = terms.matcher.find(&chunk.heading.words_beside(chunk.kind, &chunk.text));
    let all =
        places.iter().chain(&in_path.stem).chain(&in_path.folders).chain(&beside).map(|found| found.term);
    let (defines_identifier, defines_words) = definitions(parsed, terms, chunk, places);
    let (file_stem, folders) = in_path.shares(terms.shares());
    Breakdown {
        coverage: terms.share_of(all),
        defines_identifier,
        defines_words,
        title: title(chunk, places, terms),
        file_stem,
        folders,
        phrase: phrases(parsed, &chunk.text),
        ..Breakdown::default()
    }
}

/// Whether the chunk defines a name that the query spells (0, or 1), and how much of the query's words the
/// best name it defines is made of (0 to 1).
fn definitions(parsed: &Parsed, terms: &TermWeights<'_>, chunk: &StoredChunk, found: &[Found]) -> (f32, f32) {
    let text = &chunk.text;
    let mut places: Vec<Found> = found.to_vec();
    places.sort_unstable_by_key(|f| (f.start, f.end));
    let (mut identifier, mut words) = (0.0_f32, 0.0_f32);
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
        let heading = chunk.kind == IndexKind::Text;
        let is_defined = if heading { is_heading(text, start) } else { is_definition(text, start, end) };
        if !is_defined {
            continue;
        }
        if let Some(spelled) = parsed.identifiers.iter().find(|i| i.eq_ignore_ascii_case(name)) {
            identifier = identifier.max(if spelled == name { 1.0 } else { 0.7 });
        }
        let inside: Vec<Found> = places[first..next]
            .iter()
            .map(|f| Found { term: f.term, start: f.start - start, end: f.end.min(end) - start })
            .collect();
        let share = terms.share_of(inside.iter().map(|f| f.term));
        let covered = covered(name, &inside);
        words = words.max(share * covered * covered);
    }
    (identifier, words)
}

/// Names looked at per chunk; a chunk that mentions the query's words more often is a list.
const MAX_NAMES: usize = 300;

pub(crate) fn name_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let before = text[..start].char_indices().rev().take_while(|(_, c)| is_name(*c)).last();
    let after = text[end..].find(|c| !is_name(c)).map_or(text.len(), |at| end + at);
    (before.map_or(start, |(at, _)| at), after)
}

/// A Markdown heading is the definition of prose.
fn is_heading(text: &str, at: usize) -> bool {
    let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[line_start..at].trim_start();
    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

/// How much of the query stands in the title of a document in prose: its first paragraph, where that is short.
fn title(chunk: &StoredChunk, places: &[Found], terms: &TermWeights<'_>) -> f32 {
    if chunk.kind != IndexKind::Text || chunk.ordinal > 0 {
        return 0.0;
    }
    let end = chunk.text.find("\n\n").filter(|end| *end <= MAX_TITLE).unwrap_or(0);
    terms.share_of(places.iter().filter(|place| place.end <= end).map(|place| place.term))
}

/// A longer first paragraph, in bytes, is text like the rest.
const MAX_TITLE: usize = 300;

/// The share of the quoted phrases that stand in the text, whatever their case.
fn phrases(parsed: &Parsed, text: &str) -> f32 {
    if parsed.phrases.is_empty() {
        return 0.0;
    }
    let text = text.to_lowercase();
    let present = parsed.phrases.iter().filter(|phrase| text.contains(&phrase.to_lowercase())).count();
    present as f32 / parsed.phrases.len() as f32
}

/// Lowers every further chunk of a file, and copies of a text already listed.
fn repetition(scored: &mut [Scored], weights: &Weights) {
    let mut of_file: HashMap<String, i32> = HashMap::new();
    let mut texts = Texts::default();
    for each in scored.iter_mut() {
        let factor = if texts.has_nearly(&each.chunk) {
            weights.copy
        } else {
            let earlier = of_file.entry(each.chunk.rel_path.clone()).or_insert(0);
            *earlier += 1;
            weights.saturation.powi(*earlier - 1)
        };
        each.breakdown.repetition = factor;
        each.score *= factor;
    }
}

fn normalise(scored: &mut [Scored]) {
    let best = scored.first().map_or(0.0, |first| first.score);
    for each in scored {
        each.score = if best > 0.0 { (each.score / best).clamp(0.0, 1.0) } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocType, RepType, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::standing::{Lead, stand};

    /// A chunk with its scores.
    #[derive(Debug, Clone)]
    struct Met {
        chunk: StoredChunk,
        lexical: Option<f32>,
        cosine: Option<f32>,
    }

    fn candidate(id: i64, path: &str, text: &str, lexical: f32) -> Met {
        let mut text_hash = [0u8; 16];
        for (at, byte) in text.bytes().enumerate() {
            text_hash[at % 16] = text_hash[at % 16].wrapping_mul(31).wrapping_add(byte);
        }
        let chunk = StoredChunk {
            id: ChunkId(id),
            rel_path: path.into(),
            doc_type: DocType::Code,
            rep_type: RepType::RawText,
            ordinal: id as u32,
            span: Span::Lines { start_line: 1, end_line: 2 },
            pointer: None,
            heading: model::Heading::default(),
            kind: IndexKind::Code,
            text_hash,
            text: text.into(),
        };
        Met { chunk, lexical: Some(lexical), cosine: None }
    }

    fn read(parsed: &Parsed, matcher: &Matcher, met: &[Met]) -> Vec<Candidate> {
        let leads = met.iter().map(|met| Lead {
            id: met.chunk.id,
            path: &met.chunk.rel_path,
            ordinal: met.chunk.ordinal,
            lexical: met.lexical,
            cosine: met.cosine,
            called: 0.0,
        });
        let weights = Weights::default();
        let standings = stand(leads.collect(), weights.vector_share_code, parsed, &weights);
        let read = standings.into_iter().map(|(lead, standing)| {
            let chunk = met.iter().find(|met| met.chunk.id == lead.id).unwrap().chunk.clone();
            Candidate { places: matcher.find(&chunk.text), chunk, standing }
        });
        read.collect()
    }

    fn ranked(query: &str, met: Vec<Met>) -> Ranking {
        let parsed = Parsed::new(query);
        let matcher = Matcher::of_terms(parsed.content_terms());
        let candidates = read(&parsed, &matcher, &met);
        let terms = TermWeights::new(&parsed, &matcher, candidates.iter());
        rank(&parsed, &terms, candidates, "", &Weights::default())
    }

    fn order(query: &str, candidates: Vec<Met>) -> Vec<String> {
        ranked(query, candidates).scored.into_iter().map(|scored| scored.chunk.rel_path).collect()
    }

    #[test]
    fn a_definition_beats_its_uses() {
        let uses = "retry_budget(); retry_budget(); retry_budget();";
        let candidates =
            vec![candidate(1, "a.rs", uses, 9.0), candidate(2, "b.rs", "fn retry_budget() {}", 5.0)];
        assert_eq!(order("retry_budget", candidates.clone()), ["b.rs", "a.rs"]);
        assert_eq!(order("where is the retry budget", candidates), ["b.rs", "a.rs"]);
    }

    #[test]
    fn a_file_named_after_the_query_rises() {
        let candidates = vec![
            candidate(1, "src/misc.py", "connection pool", 6.0),
            candidate(2, "src/connection_pool.py", "connection pool", 5.0),
        ];
        assert_eq!(order("connection pool", candidates)[0], "src/connection_pool.py");
    }

    #[test]
    fn tests_sink_unless_asked_for() {
        let candidates = vec![
            candidate(1, "tests/test_session.py", "session close again", 6.0),
            candidate(2, "src/client.py", "session close", 5.0),
        ];
        assert_eq!(order("session close", candidates.clone())[0], "src/client.py");
        assert_eq!(order("session close tests", candidates)[0], "tests/test_session.py");
    }

    #[test]
    fn one_file_does_not_flood() {
        let mut candidates: Vec<_> =
            (0..5).map(|i| candidate(i, "big.rs", &format!("word {i}"), 10.0 - i as f32 * 0.1)).collect();
        candidates.push(candidate(9, "small.rs", "word other", 8.0));
        assert_eq!(order("word", candidates)[1], "small.rs");
    }

    #[test]
    fn a_copy_comes_last_and_is_not_lost() {
        let candidates = vec![
            candidate(1, "a/same.py", "needle here", 9.0),
            candidate(2, "b/same.py", "needle here", 9.0),
            candidate(3, "c/other.py", "needle elsewhere", 3.0),
        ];
        assert_eq!(order("needle", candidates), ["a/same.py", "c/other.py", "b/same.py"]);
    }

    #[test]
    fn a_copy_with_one_line_changed_goes_below_what_is_new() {
        let lines = |name: &str| -> String {
            (0..19)
                .map(|n| format!("let value_{n} = compute({n});\n"))
                .chain([format!("let needle = {name};")])
                .collect()
        };
        let candidates = vec![
            candidate(1, "a/one.rs", &lines("first"), 9.0),
            candidate(2, "b/two.rs", &lines("second"), 8.0),
            candidate(3, "c/other.rs", "needle of another kind", 3.0),
        ];
        assert_eq!(order("needle", candidates), ["a/one.rs", "c/other.rs", "b/two.rs"]);
    }

    #[test]
    fn a_quoted_phrase_decides() {
        let candidates = vec![
            candidate(1, "a.md", "words exact, then exact and words", 9.0),
            candidate(2, "b.md", "the Exact Words stand here", 5.0),
        ];
        assert_eq!(order("\"exact words\"", candidates)[0], "b.md");
    }

    #[test]
    fn prose_with_the_words_in_its_title_comes_first() {
        let prose = |id: i64, path: &str, text: &str| {
            let mut met = candidate(id, path, text, 5.0);
            (met.chunk.kind, met.chunk.ordinal) = (IndexKind::Text, 0);
            met
        };
        let mentions = "wings\n\nin a slipstream there is lift";
        let titled = "lift in a slipstream\n\nof wings";
        let long = format!("lift in a slipstream {}\n\nof wings", "and so on ".repeat(40));
        let order = order(
            "slipstream lift",
            vec![prose(1, "a", mentions), prose(2, "b", &long), prose(3, "c", titled)],
        );
        assert_eq!(order, ["c", "a", "b"]);
    }

    #[test]
    fn d110_case_14_both_indices_without_duplicates() {
        let shared = candidate(1, "a.rs", "alpha beta", 3.0);
        let text = ranked("alpha beta", vec![shared.clone(), candidate(2, "b.md", "alpha", 1.0)]);
        let code = ranked("alpha beta", vec![candidate(3, "c.rs", "beta alpha", 7.0), shared]);
        let merged = merge(vec![(IndexKind::Text, text), (IndexKind::Code, code)], 10);
        let ids: HashSet<_> = merged.iter().map(|scored| scored.chunk.id).collect();
        assert_eq!(ids.len(), merged.len());
        assert_eq!(merged.len(), 3);
        assert!(merged.iter().all(|scored| (0.0..=1.0).contains(&scored.score)));
    }

    #[test]
    fn the_best_of_a_poor_index_stays_below() {
        let parsed = Parsed::new("alpha beta gamma delta");
        let good = vec![candidate(1, "good.rs", "alpha beta gamma delta", 2.0)];
        let poor = vec![candidate(2, "poor.md", "alpha", 90.0)];
        let matcher = Matcher::of_terms(parsed.content_terms());
        let (good, poor) = (read(&parsed, &matcher, &good), read(&parsed, &matcher, &poor));
        let terms = TermWeights::new(&parsed, &matcher, good.iter().chain(&poor));
        let rankings = vec![
            (IndexKind::Text, rank(&parsed, &terms, poor, "", &Weights::default())),
            (IndexKind::Code, rank(&parsed, &terms, good, "", &Weights::default())),
        ];
        assert_eq!(merge(rankings, 2)[0].chunk.rel_path, "good.rs");
    }

    fn any_candidates() -> impl Strategy<Value = Vec<Met>> {
        let one = (
            prop::sample::select(vec!["a.rs", "src/alpha.py", "tests/t.py", "b/beta.md", "x"]),
            "(alpha|beta|fn|gamma|\\n| |\\PC){0,20}",
            prop::option::of(0.0f32..50.0),
            prop::option::of(-1.0f32..1.0),
        );
        prop::collection::vec(one, 0..20).prop_map(|list| {
            let made = list.into_iter().enumerate().map(|(at, (path, text, lexical, cosine))| Met {
                lexical,
                cosine,
                ..candidate(at as i64 + 1, path, &text, 0.0)
            });
            made.collect()
        })
    }

    proptest! {
        #[test]
        fn scores_are_finite_ordered_and_independent_of_arrival(
            query in "(alpha|beta|gamma|fn alpha|\"alpha beta\"|\\PC{0,5}| )",
            candidates in any_candidates(),
            k in 0usize..12,
        ) {
            let mut reversed = candidates.clone();
            reversed.reverse();
            let scores = |candidates: Vec<Met>| {
                let ranking = ranked(&query, candidates);
                prop_assert!((0.0..=1.0).contains(&ranking.strength));
                let merged = merge(vec![(IndexKind::Code, ranking)], k);
                Ok(merged.iter().map(|s| (s.chunk.id, s.score.to_bits())).collect::<Vec<_>>())
            };
            let forward = scores(candidates.clone())?;
            prop_assert!(forward.len() <= k);
            for pair in forward.windows(2) {
                prop_assert!(f32::from_bits(pair[0].1) >= f32::from_bits(pair[1].1));
            }
            for (_, bits) in &forward {
                let score = f32::from_bits(*bits);
                prop_assert!((0.0..=1.0).contains(&score) && score.is_sign_positive());
            }
            let ids: HashSet<_> = forward.iter().map(|(id, _)| *id).collect();
            prop_assert_eq!(ids.len(), forward.len());
            let backward = scores(reversed)?;
            prop_assert_eq!(
                forward.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                backward.iter().map(|(id, _)| *id).collect::<Vec<_>>()
            );
        }

        #[test]
        fn merging_keeps_every_chunk_once(left in any_candidates(), right in any_candidates()) {
            let all: HashSet<ChunkId> = left.iter().chain(&right).map(|c| c.chunk.id).collect();
            let keep = |c: &mut Vec<Met>| c.retain(|c| c.lexical.is_some());
            let (mut left, mut right) = (left, right);
            keep(&mut left);
            keep(&mut right);
            let kept: HashSet<ChunkId> = left.iter().chain(&right).map(|c| c.chunk.id).collect();
            let merged = merge(vec![(IndexKind::Text, ranked("alpha", left)), (IndexKind::Code, ranked("alpha", right))], 100);
            let ids: HashSet<ChunkId> = merged.iter().map(|s| s.chunk.id).collect();
            prop_assert_eq!(ids.len(), merged.len());
            prop_assert_eq!(&ids, &kept);
            prop_assert!(ids.is_subset(&all));
        }
    }
}
