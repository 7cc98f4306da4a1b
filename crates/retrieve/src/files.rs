//! The order of the files that answer a question, over several roots: passages ranked by words and meaning first, then
//! whatever else holds the words.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use index::{Holder, Index, Snapshot};
use model::filter::{Admit, DocumentFacts, Verdict};
use model::{ChunkId, DocStatus, Failure, Filter, IndexChoice, Query, Stop};

use crate::filter::{CompiledFilter, View};
use crate::operators::Operators;
use crate::parse::{Parsed, Term, Vocabulary};
use crate::query_vector::QueryVectors;
use crate::rarity::rarity;
use crate::rerank::RerankStage;
use crate::search::{RankOptions, search};
use crate::weights::Weights;

/// Passages that are ranked with everything that is known of them, per root.
const RANKED: usize = 100;
/// Candidates of each ranking, kind and root: this many for each of [`crate::weights::HITS`] passages.
const OVERSAMPLE: usize = 4;

/// A file needs this share of what the best file has of the question's words, weighed by how telling they are. Below it,
/// the file is about something else: it has the words that every file has.
const ENOUGH: f32 = 0.6;
/// A passage that shares no word with the question is a hit from this cosine on: it may say the same in other words.
const SAME_MEANING: f32 = 0.45;

/// The score of the best file where it shares no word with the question.
const LEAST: f32 = 0.3;

/// Files kept of one search; further pages are empty.
const MOST: usize = 10_000;

/// A question for files, after its everyday words were understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileQuestion {
    pub text: String,
    /// Extensions with their dots, in small letters; none: all.
    pub exts: Vec<String>,
    pub years: Vec<String>,
    /// Files are asked for, not words.
    pub lists: bool,
    /// By the number of a root: the folders looked at; the empty one is all of it.
    pub folders: Vec<(usize, Vec<String>)>,
}

/// A file in the order of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// The number of its root.
    pub root: usize,
    pub path: String,
    /// The passage to show.
    pub chunk: ChunkId,
    /// From 0 to 1.
    pub score: f32,
}

#[derive(Debug)]
pub struct FileRanking {
    /// Best first, at most [`MOST`].
    pub files: Vec<RankedFile>,
    pub total: u64,
    /// By the number of a root: the words that a snippet of its files should show.
    words: HashMap<usize, Vec<String>>,
}

impl FileRanking {
    /// The words that a snippet of a file of this root should show.
    pub fn words(&self, root: usize) -> &[String] {
        self.words.get(&root).map(Vec::as_slice).unwrap_or_default()
    }
}

/// One root at one moment, as far as a search may look into it.
pub struct RootSnapshot {
    pub number: usize,
    pub index: Arc<Index>,
    pub snapshot: Arc<Snapshot>,
    /// The vectors of a question by those who made the root's own.
    pub vectors: Arc<dyn Fn(&str) -> QueryVectors + Send + Sync>,
    pub weights: Weights,
    /// Judges the best passages, where a model for that is configured.
    pub rerank: Option<RerankStage>,
    /// Whether the policy lets a path be shown now.
    pub allows: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Below these alone.
    pub folders: Vec<String>,
}

impl fmt::Debug for RootSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootSnapshot").field("number", &self.number).finish_non_exhaustive()
    }
}

impl RootSnapshot {
    /// The question in the words of this root: forms of them that occur in it are the same word.
    fn parsed(&self, text: &str) -> Parsed {
        let snapshot = &self.snapshot;
        let words = Vocabulary { knows: &|token| snapshot.knows(token), near: &|token| snapshot.near(token) };
        Parsed::with_forms(text, &words)
    }

    /// Which files count at all.
    fn shown(&self, question: &FileQuestion, operators: &Operators) -> Result<Arc<Shown>, Failure> {
        let mut shown = Shown {
            allows: Arc::clone(&self.allows),
            filter: CompiledFilter::new(&Filter::default())?.with(operators)?,
            folders: self.folders.clone(),
            exts: question.exts.clone(),
            unwanted: HashSet::new(),
            dated: None,
        };
        if !operators.without.is_empty() {
            let words: Vec<Vec<String>> = operators.without.iter().map(|word| vec![word.clone()]).collect();
            let holders = self.snapshot.holding(&words, &shown);
            shown.unwanted = holders.into_iter().map(|holder| holder.path).collect();
        }
        if !question.years.is_empty() {
            let years: Vec<Vec<String>> = question.years.iter().map(|year| vec![year.clone()]).collect();
            let holders = self.snapshot.holding(&years, &shown);
            shown.dated = Some(holders.into_iter().map(|holder| holder.path).collect());
        }
        Ok(Arc::new(shown))
    }
}

/// The words that a snippet should show: those of the question in all their forms, and its years.
fn shown_words(parsed: &Parsed, question: &FileQuestion) -> Vec<String> {
    let forms =
        |term: &Term| std::iter::once(term.token.clone()).chain(term.variants.clone()).collect::<Vec<_>>();
    let years = question.years.iter().cloned();
    parsed.content_terms().into_iter().flat_map(forms).chain(years).collect()
}

/// The files that a search may find in one root.
struct Shown {
    allows: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    filter: CompiledFilter,
    folders: Vec<String>,
    exts: Vec<String>,
    /// Those with a word that must not be there.
    unwanted: HashSet<String>,
    /// Those that name one of the years, where years are asked for.
    dated: Option<HashSet<String>>,
}

impl Admit for Shown {
    fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
        let path = facts.path;
        let shows = (self.exts.is_empty() || self.exts.contains(&ext_of(path)))
            && self.folders.iter().any(|folder| path == folder || is_below(path, folder))
            && !path.split('/').any(|name| name.starts_with('.'))
            && !self.unwanted.contains(path)
            && self.dated.as_ref().is_none_or(|dated| dated.contains(path))
            && self.filter.admits(path, facts.doc_type)
            && (self.allows)(path);
        shows.into()
    }
}

/// A file that may be an answer.
struct Match {
    root: usize,
    path: String,
    chunk: ChunkId,
    /// A bit for each word of the question that it holds.
    words: u64,
    /// The score of its best passage, where that was ranked.
    ranked: Option<f32>,
}

/// Ranks the files of all roots together.
pub fn rank_files(
    question: &FileQuestion,
    roots: &[RootSnapshot],
    stop: &Stop,
) -> Result<FileRanking, Failure> {
    let operators = Operators::read(&question.text);
    let mut matches = Vec::new();
    let mut is_subject = Vec::new();
    let mut words = HashMap::new();
    for root in roots {
        stop.check()?;
        let parsed = root.parsed(&operators.text);
        words.insert(root.number, shown_words(&parsed, question));
        let shown = root.shown(question, &operators)?;
        is_subject = parsed.content_terms().iter().map(|term| !term.side).collect();
        if is_subject.is_empty() {
            // Signs alone (`%`, `(((`) are words that no file holds; only a question for files lists them all.
            if question.lists {
                matches.extend(newest(root, &shown)?);
            }
        } else {
            // Usually the same for all roots, and then remembered.
            let vectors = (root.vectors)(&question.text);
            matches.extend(found(root, &parsed, question, &vectors, &shown, stop)?);
        }
    }
    stop.check()?;
    let mut files = if is_subject.is_empty() { all_alike(matches) } else { weighed(matches, &is_subject) };
    let total = files.len() as u64;
    files.truncate(MOST);
    Ok(FileRanking { files, total, words })
}

/// Everything that is shown, the newest first: what a search without words asks for.
fn newest(root: &RootSnapshot, shown: &Arc<Shown>) -> Result<Vec<Match>, Failure> {
    let holders = root.snapshot.holding(&[], shown.as_ref());
    let mut chunks: HashMap<String, ChunkId> =
        holders.into_iter().map(|holder| (holder.path, holder.chunk)).collect();
    let admit = |row: &index::DocumentRow| row.status == DocStatus::Ok && chunks.contains_key(&row.path);
    let (_, mut rows) = root.index.list(&admit, usize::MAX, 0)?;
    rows.sort_by(|a, b| b.mtime_ns.cmp(&a.mtime_ns).then_with(|| a.path.cmp(&b.path)));
    let of = |row: index::DocumentRow| {
        let chunk = chunks.remove(&row.path)?;
        Some(Match { root: root.number, path: row.document.path, chunk, words: 0, ranked: None })
    };
    Ok(rows.into_iter().filter_map(of).collect())
}

/// The files of one root that hold a word of the question or mean the same.
fn found(
    root: &RootSnapshot,
    parsed: &Parsed,
    question: &FileQuestion,
    vectors: &QueryVectors,
    shown: &Arc<Shown>,
    stop: &Stop,
) -> Result<Vec<Match>, Failure> {
    let options = RankOptions {
        oversample: OVERSAMPLE,
        weights: root.weights,
        view: Some(View::new(Arc::clone(shown) as Arc<dyn Admit + Send + Sync>)),
        stop: stop.clone(),
        rerank: root.rerank.clone(),
    };
    let query =
        Query { text: question.text.clone(), k: RANKED, index: IndexChoice::Both, filter: Filter::default() };
    let answer = search(&root.snapshot, vectors, &query, &options, &|path| (root.allows)(path))?;
    stop.check()?;
    let words: Vec<Vec<String>> = parsed
        .content_terms()
        .iter()
        .map(|term| std::iter::once(&term.token).chain(&term.variants).cloned().collect())
        .collect();
    let holders = root.snapshot.holding(&words, shown.as_ref());
    let of = |Holder { path, words, chunk }| {
        (path.clone(), Match { root: root.number, path, chunk, words, ranked: None })
    };
    let mut matches: HashMap<String, Match> = holders.into_iter().map(of).collect();
    for (hit, breakdown) in answer.hits.into_iter().zip(answer.breakdowns) {
        match matches.get_mut(&hit.rel_path) {
            Some(known) if known.ranked.is_none() => {
                (known.ranked, known.chunk) = (Some(hit.score), hit.chunk_id);
            }
            Some(_) => {}
            None if breakdown.cosine >= SAME_MEANING || breakdown.coverage > 0.0 => {
                let new = Match {
                    root: root.number,
                    path: hit.rel_path.clone(),
                    chunk: hit.chunk_id,
                    words: 0,
                    ranked: Some(hit.score),
                };
                matches.insert(hit.rel_path, new);
            }
            None => {}
        }
    }
    Ok(matches.into_values().collect())
}

/// Newest first as they came; none is better than another.
fn all_alike(matches: Vec<Match>) -> Vec<RankedFile> {
    let of = |m: Match| RankedFile { root: m.root, path: m.path, chunk: m.chunk, score: 1.0 };
    matches.into_iter().map(of).collect()
}

/// Ranked by how much of the question a file holds and by its best passage. Scores of passages compare within one root
/// only; the share of the words compares across roots. `is_subject` says of each word whether it names what is asked for;
/// one that only says which of several is meant ("old contracts") shuts nothing out.
fn weighed(matches: Vec<Match>, is_subject: &[bool]) -> Vec<RankedFile> {
    let words = is_subject.len().min(64);
    let total = matches.len() as f32;
    let telling: Vec<f32> = (0..words)
        .map(|word| {
            if !is_subject[word] {
                return 0.0;
            }
            let holders = matches.iter().filter(|m| m.words & (1 << word) != 0).count() as f32;
            rarity(total, holders).max(0.1)
        })
        .collect();
    let held = |m: &Match| {
        (0..words).filter(|word| m.words & (1 << word) != 0).fold(0.0, |sum, word| sum + telling[word])
    };
    let best = matches.iter().map(held).fold(0.0_f32, f32::max);
    let share = |m: &Match| if best > 0.0 { held(m) / best } else { 0.0 };
    let passage = |m: &Match, score: f32| score * (0.5 + 0.5 * share(m));
    let kept: Vec<Match> = matches.into_iter().filter(|m| m.words == 0 || share(m) >= ENOUGH).collect();
    let lowest = kept.iter().filter_map(|m| Some(passage(m, m.ranked?))).fold(1.0_f32, f32::min);
    let mut files: Vec<RankedFile> = kept
        .into_iter()
        .map(|m| {
            let score = match m.ranked {
                Some(score) => passage(&m, score),
                None => lowest * 0.95 * share(&m),
            };
            RankedFile { root: m.root, score: score.clamp(0.0, 1.0), path: m.path, chunk: m.chunk }
        })
        .collect();
    // The best file shows how much of the question was found at all; the others stand in proportion.
    let whole = telling.iter().fold(0.0, |sum, each| sum + each);
    let top = files.iter().map(|file| file.score).fold(0.0_f32, f32::max);
    if top > 0.0 {
        let scale = (best / whole).clamp(LEAST, 1.0) / top;
        files.iter_mut().for_each(|file| file.score = (file.score * scale).clamp(0.0, 1.0));
    }
    files.sort_by(|a, b| {
        let place = |file: &RankedFile| (file.root, file.path.clone());
        b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
    });
    files
}

/// The extension of a file's own name, with its dot, in small letters.
pub fn ext_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() && !ext.is_empty() => format!(".{}", ext.to_lowercase()),
        _ => String::new(),
    }
}

/// Whether a path lies below a folder; the empty folder is the root.
pub fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, words: u64, ranked: Option<f32>) -> Match {
        Match { root: 0, path: path.into(), chunk: ChunkId(1), words, ranked }
    }

    fn order(matches: Vec<Match>, words: usize) -> Vec<String> {
        weighed(matches, &vec![true; words]).into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn s014_extensions_are_those_of_the_file_name() {
        assert_eq!(ext_of("a.b/Report.DOCX"), ".docx");
        assert_eq!(ext_of("a.b/.profile"), "");
        assert_eq!(ext_of("Makefile"), "");
    }

    #[test]
    fn a_file_without_the_telling_word_is_about_something_else() {
        // Words: contracts, vendor, x. Every file has the first two.
        let files = vec![
            file("x.docx", 0b111, Some(1.0)),
            file("y.docx", 0b011, Some(0.9)),
            file("z.docx", 0b011, Some(0.8)),
        ];
        assert_eq!(order(files, 3), ["x.docx"]);
    }

    #[test]
    fn a_word_that_only_chooses_shuts_nothing_out() {
        // Words: old, contracts. One file has both.
        let files = || {
            vec![
                file("old.docx", 0b11, Some(1.0)),
                file("new.docx", 0b10, Some(0.9)),
                file("age.txt", 0b01, None),
            ]
        };
        let order = |is_subject: [bool; 2]| -> Vec<String> {
            weighed(files(), &is_subject).into_iter().map(|file| file.path).collect()
        };
        assert_eq!(order([false, true]), ["old.docx", "new.docx"]);
        assert_eq!(order([true, true])[0], "old.docx");
    }

    #[test]
    fn without_a_better_one_the_best_there_is_counts() {
        let files = vec![file("y.docx", 0b011, Some(0.9)), file("z.docx", 0b001, Some(1.0))];
        assert_eq!(order(files, 3), ["y.docx"]);
        assert_eq!(order(vec![file("meaning.md", 0, Some(0.5))], 3), ["meaning.md"]);
    }

    #[test]
    fn what_was_not_ranked_comes_last_and_scores_never_rise() {
        let mut files: Vec<Match> = (0..50).map(|n| file(&format!("tail{n:02}"), 0b1, None)).collect();
        files.push(file("head", 0b1, Some(0.7)));
        let ranked = weighed(files, &[true]);
        assert_eq!(ranked[0].path, "head");
        assert_eq!(ranked[1].path, "tail00");
        assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
        assert!(ranked.iter().all(|file| (0.0..=1.0).contains(&file.score)));
    }
}
