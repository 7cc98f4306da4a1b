//! From candidates to ranked hits: the two rankings added, the cheap signals applied, repetitions lowered.
//!
//! Everything here is a function of its arguments, in a fixed order: the same candidates give the same
//! scores, bit for bit.

use std::cmp::Ordering;
use std::collections::HashSet;

use index::StoredChunk;
use model::IndexKind;

use crate::breakdown::Breakdown;
use crate::candidates::Candidate;
use crate::copies::lower_repetitions;
use crate::matcher::{Matcher, WordMatch};
use crate::parse::{Parsed, temper};
use crate::place::Place;
use crate::prescore::{PreScore, share_of};
use crate::rarity::rarity;
use crate::signals::signals;
use crate::weights::Weights;

/// A chunk with its final score and how it came about.
#[derive(Debug, Clone)]
pub struct Scored {
    pub chunk: StoredChunk,
    /// Where the query's words occur in its text.
    pub places: Vec<WordMatch>,
    /// From 0 to 1.
    pub score: f32,
    pub breakdown: Breakdown,
    /// It holds every quoted phrase of the query.
    pub has_quoted: bool,
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
        let mut raw: Vec<f32> = terms
            .iter()
            .zip(&holders)
            .map(|(term, holders)| {
                // A word that no candidate holds does not tell them apart.
                if *holders == 0 {
                    return 0.0;
                }
                let (n, df) = (total as f32, *holders as f32);
                term.weight * rarity(n, df).max(0.1)
            })
            .collect();
        temper(terms.iter().copied(), &mut raw);
        let sum: f32 = raw.iter().sum();
        let shares = if sum > 0.0 { raw.iter().map(|weight| weight / sum).collect() } else { raw };
        TermWeights { matcher, shares }
    }

    /// The share of each term of the matcher.
    pub(crate) fn shares(&self) -> &[f32] {
        &self.shares
    }

    pub(crate) fn matcher(&self) -> &Matcher {
        self.matcher
    }

    pub(crate) fn share_of(&self, found: impl Iterator<Item = usize>) -> f32 {
        share_of(&self.shares, found)
    }
}

/// The words of the query that occur in a candidate's text, sorted.
pub(crate) fn words_at(parsed: &Parsed, places: &[WordMatch]) -> Vec<String> {
    let terms = parsed.content_terms();
    let mut words: Vec<String> = places.iter().map(|place| terms[place.term].token.clone()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Ranks the candidates of all indices, which come by path and position within each. `factor` says what a kind counts. The
/// best first; it has score 1.
pub fn rank(
    parsed: &Parsed,
    terms: &TermWeights<'_>,
    candidates: Vec<Candidate>,
    factor: &dyn Fn(IndexKind) -> f32,
    prefix: &str,
    weights: &Weights,
) -> Vec<Scored> {
    let mut seen = HashSet::new();
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .filter(|candidate| seen.insert(candidate.chunk.id))
        .filter_map(|candidate| {
            let (mut part, has_quoted) = signals(parsed, terms, &candidate);
            if candidate.is_only_sought && part.definition == 0.0 && part.verbatim == 0.0 {
                return None;
            }
            let PreScore { base, lexical, vector, cosine, path_similarity, coherence, .. } =
                candidate.prescore;
            (part.lexical, part.vector, part.cosine) = (lexical, vector, cosine);
            (part.path_similarity, part.coherence) = (path_similarity, coherence);
            let StoredChunk { rel_path, text, kind, .. } = &candidate.chunk;
            part.place = Place::of_chunk(rel_path, text).factor(parsed, prefix, weights)
                * candidate.prescore.beside_others(weights);
            part.kind = factor(*kind);
            part.repetition = 1.0;
            let sum = base
                + weights.coverage * part.coverage
                + weights.defines_identifier * part.defines_identifier
                + weights.defines_words * part.defines_words
                + weights.title * part.title
                + weights.file_stem * part.file_stem
                + weights.folders * part.folders
                + weights.called * part.path_similarity
                + weights.coherence * part.coherence;
            // What is asked for by name or word for word comes first, wherever it lies; among several, the place decides.
            let lies = 1.0 - weights.place_of_first * (1.0 - part.place);
            let first = (weights.definition * part.definition + weights.verbatim * part.verbatim) * lies;
            let Candidate { chunk, places, .. } = candidate;
            let score = sum * part.place * part.kind + first;
            Some(Scored { chunk, places, score, breakdown: part, has_quoted })
        })
        .collect();
    scored.sort_by(by_rank);
    lower_repetitions(&mut scored, weights);
    scored.sort_by(by_rank);
    normalise(&mut scored);
    scored
}

/// Score, then path, then position: a total order, so that equal scores never depend on who came first.
fn by_rank(a: &Scored, b: &Scored) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.chunk.rel_path.cmp(&b.chunk.rel_path))
        .then_with(|| a.chunk.ordinal.cmp(&b.chunk.ordinal))
        .then_with(|| a.chunk.id.cmp(&b.chunk.id))
}

/// The whole name that a place in a text is part of.
pub(crate) fn name_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let before = text[..start].char_indices().rev().take_while(|(_, c)| is_name(*c)).last();
    let after = text[end..].find(|c| !is_name(c)).map_or(text.len(), |at| end + at);
    (before.map_or(start, |(at, _)| at), after)
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
    use crate::prescore::{Lead, Scale, prescore};

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
            lexical: met.lexical,
            cosine: met.cosine,
            ..Lead::new(met.chunk.id, &met.chunk.rel_path, met.chunk.ordinal)
        });
        let weights = Weights::default();
        let scale =
            Scale { lexical: 1.0, cosine: met.iter().filter_map(|met| met.cosine).fold(0.0, f32::max) };
        let prescores = prescore(leads.collect(), weights.vector_share_code, scale, parsed, &weights);
        let read = prescores.into_iter().map(|(lead, prescore)| {
            let chunk = met.iter().find(|met| met.chunk.id == lead.id).unwrap().chunk.clone();
            Candidate { places: matcher.find(&chunk.text), chunk, prescore, is_only_sought: false }
        });
        read.collect()
    }

    fn ranked(query: &str, met: Vec<Met>) -> Vec<Scored> {
        let parsed = Parsed::new(query);
        let matcher = Matcher::of_terms(parsed.content_terms());
        let candidates = read(&parsed, &matcher, &met);
        let terms = TermWeights::new(&parsed, &matcher, candidates.iter());
        rank(&parsed, &terms, candidates, &|_| 1.0, "", &Weights::default())
    }

    fn order(query: &str, candidates: Vec<Met>) -> Vec<String> {
        ranked(query, candidates).into_iter().map(|scored| scored.chunk.rel_path).collect()
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
        let met = vec![
            shared.clone(),
            candidate(2, "b.md", "alpha", 1.0),
            candidate(3, "c.rs", "beta alpha", 7.0),
            shared,
        ];
        let ranked = ranked("alpha beta", met);
        let ids: HashSet<_> = ranked.iter().map(|scored| scored.chunk.id).collect();
        assert_eq!((ids.len(), ranked.len()), (3, 3));
        assert!(ranked.iter().all(|scored| (0.0..=1.0).contains(&scored.score)));
    }

    #[test]
    fn a_definition_comes_first_wherever_it_lies() {
        let uses = "Serializer Serializer Serializer for Serializer";
        let candidates = vec![
            candidate(1, "src/serializer.rs", uses, 9.0),
            candidate(
                2,
                "src/ser/mod.rs",
                "//! docs\n//! docs\n//! docs\npub trait Serializer: Sized {",
                2.0,
            ),
            candidate(3, "src/test_serializer.rs", "let serializer: Serializer = x;", 8.0),
            candidate(4, "src/other.h", "struct Serializer;", 8.0),
        ];
        assert_eq!(order("Serializer", candidates.clone())[0], "src/ser/mod.rs");
        assert_eq!(order("where is Serializer defined", candidates)[0], "src/ser/mod.rs");
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
                let mut ranked = ranked(&query, candidates);
                ranked.truncate(k);
                ranked.iter().map(|s| (s.chunk.id, s.score.to_bits())).collect::<Vec<_>>()
            };
            let forward = scores(candidates.clone());
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
            let backward = scores(reversed);
            prop_assert_eq!(
                forward.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                backward.iter().map(|(id, _)| *id).collect::<Vec<_>>()
            );
        }
    }
}
