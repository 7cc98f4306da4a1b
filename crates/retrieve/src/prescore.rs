//! Scores the candidates of one index by words, vectors and names, before any text is read.
//!
//! Reading a text costs more than all the arithmetic on it, so only candidates that can still end up among the first are read:
//! the [`shortlist`].

use std::collections::HashMap;

use model::ChunkId;

use crate::headers::Sources;
use crate::matcher::{Matcher, WordMatch};
use crate::parse::Parsed;
use crate::place::Place;
use crate::versions::Versions;
use crate::weights::Weights;

/// A chunk that may be a hit, with its score in each ranking that found it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lead<'a> {
    pub id: ChunkId,
    pub path: &'a str,
    pub ordinal: u32,
    /// BM25; none if it holds no word of the query.
    pub lexical: Option<f32>,
    /// Cosine, from -1 to 1.
    pub cosine: Option<f32>,
    /// The cosine of the query with the end of the path.
    pub path_similarity: f32,
    /// It may hold what comes first, so its text is read wherever it is: it defines a name that is asked for, or has the
    /// words of a phrase.
    pub is_sought: bool,
    /// How many of the query's words are names that its document defines.
    pub names: u32,
}

impl<'a> Lead<'a> {
    pub fn new(id: ChunkId, path: &'a str, ordinal: u32) -> Lead<'a> {
        Lead {
            id,
            path,
            ordinal,
            lexical: None,
            cosine: None,
            path_similarity: 0.0,
            is_sought: false,
            names: 0,
        }
    }
}

/// What makes the scores of one index comparable with those of the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// What the best candidate by words counts: less than 1 where the other index holds more of the query.
    pub lexical: f32,
    /// The cosine that counts as 1.
    pub cosine: f32,
}

/// What is known of a candidate without its text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PreScore {
    /// It holds a word of the query.
    pub by_words: bool,
    /// BM25 relative to the best candidate.
    pub lexical: f32,
    /// Cosine relative to the best candidate.
    pub vector: f32,
    /// The cosine itself.
    pub cosine: f32,
    /// Both rankings together.
    pub base: f32,
    pub path_similarity: f32,
    pub names: u32,
    /// How much of the file is about the query, relative to the best file.
    pub coherence: f32,
    /// There is a newer version of the file.
    pub is_old: bool,
    /// It is a header, and its source is a candidate too.
    pub is_header: bool,
}

impl PreScore {
    /// The factor on the score for what the other candidates are.
    pub(crate) fn beside_others(&self, weights: &Weights) -> f32 {
        let older = if self.is_old { weights.older } else { 1.0 };
        let header = if self.is_header { weights.header } else { 1.0 };
        older * header
    }
}

/// Puts the candidates into their order by path and position, and scores each by what is known without its text.
pub fn prescore<'a>(
    mut leads: Vec<Lead<'a>>,
    share: f32,
    scale: Scale,
    parsed: &Parsed,
    weights: &Weights,
) -> Vec<(Lead<'a>, PreScore)> {
    // Sums of floats depend on their order, so it is fixed before anything is summed.
    leads.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    let best = |score: fn(&Lead<'_>) -> Option<f32>| leads.iter().filter_map(score).fold(0.0_f32, f32::max);
    let best_lexical = best(|lead| lead.lexical);
    let above_zero = |cosine: f32| cosine - weights.cosine_zero;
    let versions = Versions::among(leads.iter().map(|lead| lead.path));
    let sources = Sources::among(leads.iter().map(|lead| lead.path));

    let mut prescores: Vec<(Lead<'a>, PreScore)> = leads
        .iter()
        .map(|lead| {
            let lexical = relative(lead.lexical, best_lexical) * scale.lexical;
            let vector = relative(lead.cosine.map(above_zero), above_zero(scale.cosine));
            let prescore = PreScore {
                by_words: lead.lexical.is_some(),
                lexical,
                vector,
                cosine: lead.cosine.unwrap_or(0.0),
                base: lexical * (1.0 - share) + vector * share,
                path_similarity: lead.path_similarity.max(0.0),
                names: lead.names,
                coherence: 0.0,
                is_old: versions.is_old(lead.path, parsed),
                is_header: sources.has(lead.path, parsed),
            };
            (*lead, prescore)
        })
        .collect();

    // The chunks of a file are neighbours in this order.
    let of_file = |file: &[(Lead<'_>, PreScore)]| file.iter().fold(0.0_f32, |sum, (_, each)| sum + each.base);
    let same = |(one, _): &(Lead<'_>, PreScore), (other, _): &(Lead<'_>, PreScore)| one.path == other.path;
    let best_file = prescores.chunk_by(same).map(of_file).fold(0.0_f32, f32::max);
    // The best file of an index that answers poorly is not about the query.
    let best_base = prescores.iter().map(|(_, prescore)| prescore.base).fold(0.0_f32, f32::max);
    for file in prescores.chunk_by_mut(same) {
        let coherence = relative(Some(of_file(file)), best_file) * best_base;
        file.iter_mut().for_each(|(_, prescore)| prescore.coherence = coherence);
    }
    prescores
}

/// Candidates that the words alone put first are read too, however few words a meaning shares with them: they may hold a
/// message word for word.
const FIRST_BY_WORDS: usize = 10;

/// The candidates with the best scores first: the `limit` best and those that must be read, and the others. `shares`
/// says what each term of the matcher weighs.
pub fn shortlist<'a>(
    prescores: Vec<(Lead<'a>, PreScore)>,
    limit: usize,
    (matcher, shares): (&Matcher, &[f32]),
    parsed: &Parsed,
    prefix: &str,
    weights: &Weights,
) -> (Vec<(Lead<'a>, PreScore)>, Vec<(Lead<'a>, PreScore)>) {
    if prescores.len() <= limit {
        return (prescores, Vec::new());
    }
    let mut of_path: HashMap<&str, (f32, f32)> = HashMap::new();
    let mut order: Vec<(f32, usize)> = prescores
        .iter()
        .enumerate()
        .map(|(at, (lead, prescore))| {
            let (named, factor) = *of_path.entry(lead.path).or_insert_with(|| {
                let (stem, folders) = InPath::find(lead.path, matcher).shares(shares);
                let factor = match Place::of(lead.path) {
                    // Its text says whether it is one.
                    Place::PackageFront => 1.0,
                    place => place.factor(parsed, prefix, weights),
                };
                (
                    weights.file_stem * stem + weights.folders * folders,
                    factor * prescore.beside_others(weights),
                )
            });
            let sum = prescore.base
                + named
                + weights.called * prescore.path_similarity
                + weights.coherence * prescore.coherence;
            (sum * factor, at)
        })
        .collect();
    // Equal ones by path and position, which is the order they already have.
    order.sort_unstable_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
    let mut chosen: Vec<bool> = prescores.iter().map(|(lead, _)| lead.is_sought).collect();
    order[..limit].iter().for_each(|(_, at)| chosen[*at] = true);
    let mut by_words: Vec<usize> = (0..prescores.len()).filter(|at| prescores[*at].1.lexical > 0.0).collect();
    by_words.sort_by(|a, b| prescores[*b].1.lexical.total_cmp(&prescores[*a].1.lexical).then(a.cmp(b)));
    by_words.iter().take(FIRST_BY_WORDS).for_each(|at| chosen[*at] = true);
    let rest = order.iter().filter(|(_, at)| !chosen[*at]).map(|(_, at)| prescores[*at]).collect();
    let chosen =
        prescores.into_iter().zip(chosen).filter_map(|(each, chosen)| chosen.then_some(each)).collect();
    (chosen, rest)
}

fn place<'a>(lead: &Lead<'a>) -> (&'a str, u32, ChunkId) {
    (lead.path, lead.ordinal, lead.id)
}

pub(crate) fn relative(score: Option<f32>, best: f32) -> f32 {
    match score {
        Some(score) if best > 0.0 => (score / best).clamp(0.0, 1.0),
        _ => 0.0,
    }
}

/// The words found in the two parts of a path.
pub(crate) struct InPath {
    pub(crate) stem: Vec<WordMatch>,
    pub(crate) folders: Vec<WordMatch>,
    /// The share of the stem's letters that they account for.
    pub(crate) covered: f32,
}

impl InPath {
    pub(crate) fn find(path: &str, matcher: &Matcher) -> InPath {
        let (mut folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut stem =
            name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
        // The front of a package is called after its folder.
        if Place::of(path) == Place::PackageFront && !folders.is_empty() {
            (folders, stem) = folders.rsplit_once('/').unwrap_or(("", folders));
        }
        let in_stem = matcher.find(stem);
        let covered = covered(stem, &in_stem);
        InPath { stem: in_stem, folders: matcher.find(folders), covered }
    }

    /// How much of the query the file's own name says, and how much its folders' names do.
    pub(crate) fn shares(&self, shares: &[f32]) -> (f32, f32) {
        let share = |found: &[WordMatch]| share_of(shares, found.iter().map(|found| found.term));
        (share(&self.stem) * (0.5 + 0.5 * self.covered), share(&self.folders))
    }
}

/// What the terms that were found weigh together.
pub(crate) fn share_of(shares: &[f32], found: impl Iterator<Item = usize>) -> f32 {
    let mut seen = vec![false; shares.len()];
    found.for_each(|term| seen[term] = true);
    // A fold from zero: the sum of nothing is -0.0, which JSON would show.
    let present = shares.iter().zip(seen).filter(|(_, seen)| *seen);
    present.fold(0.0_f32, |sum, (share, _)| sum + share).min(1.0)
}

/// The share of the letters of `name` that query words account for.
pub(crate) fn covered(name: &str, found: &[WordMatch]) -> f32 {
    let letters = name.chars().filter(|c| c.is_alphanumeric()).count();
    if letters == 0 {
        return 0.0;
    }
    let mut reached = 0;
    let mut count = 0;
    let mut places: Vec<_> = found.iter().map(|f| (f.start, f.end)).collect();
    places.sort_unstable();
    for (start, end) in places {
        let start = start.max(reached);
        if start < end {
            count += name[start..end].chars().filter(|c| c.is_alphanumeric()).count();
            reached = end;
        }
    }
    count as f32 / letters as f32
}
