//! The bundler that needs no model: several searches, symbol-aligned ranges, strict budgets, the same bytes every time.

use std::collections::BTreeMap;

use model::Failure;

use super::budget::Budget;
use super::keywords::keywords;
use super::named::{NamedSymbol, paths, symbols};
use super::ranges::{Range, Words, head, ranges};
use super::{Bundle, Bundler, Repository, Selection, Skip, Skipped, Source, Task};
use crate::matcher::Matcher;
use crate::parse::Parsed;
use crate::rarity::rarity;
use crate::test_file::is_test_file;

/// What the files of each search are worth, compared with those of the whole prompt.
const NAME_SHARE: f32 = 0.5;
const WORD_SHARE: f32 = 0.08;

/// Ranks are softened by this much, so that the second file of a search is worth nearly as much as the first.
const SOFTENED: f32 = 4.0;

/// What declaring a name of the prompt adds to a file.
const DEFINES: f32 = 0.15;

/// What being named in the prompt adds to a file: more than any search can.
const NAMED: f32 = 1.0;
/// Files that one name may mean.
const MOST_NAMED: usize = 3;

/// Files that are read for each one wanted, at least and at most.
const READ_FACTOR: usize = 3;
const MIN_READ: usize = 12;
const MAX_READ: usize = 60;

/// A file whose best lines are worth less than this share of the best of all is left out: it shares a word with the
/// prompt, no more.
const WEAK: f32 = 0.12;

/// Passages of one file that are further apart than this stay two excerpts.
const MERGE_GAP: u32 = 3;

/// Words of a request that ask for tests.
const TEST_WORDS: &[&str] = &["test", "tests", "testing", "spec", "specs", "unittest", "pytest"];

#[derive(Debug, Clone, Copy, Default)]
pub struct Deterministic;

/// What all searches together say of a file.
#[derive(Default)]
struct FileFound {
    score: f32,
    best: f32,
    source_query: String,
    passages: Vec<(u32, u32)>,
    /// By its path, or by what it declares.
    is_named: bool,
}

/// A file that was read.
struct FileRead {
    path: String,
    score: f32,
    source_query: String,
    source: Source,
    ranges: Vec<Range>,
    is_named: bool,
}

impl Bundler for Deterministic {
    fn bundle(&self, task: &Task, repository: &dyn Repository) -> Result<Bundle, Failure> {
        let parsed = Parsed::new(&task.prompt);
        let (queries, mut found, counts) = search(task, &parsed, repository)?;
        let named = symbols(&task.prompt);
        name_files(task, &named, repository, &mut found)?;
        let tests = task.include_tests.unwrap_or_else(|| parsed.mentions(TEST_WORDS));
        if !tests {
            // A test that the prompt names is wanted, unless the caller says that none is.
            found.retain(|path, file| !is_test_file(path) || file.is_named && task.include_tests.is_none());
        }
        let mut bundle = Bundle { queries, found: counts.0, distinct: counts.1, ..Bundle::default() };
        let mut read = read(task, &parsed, &named, found, repository, &mut bundle.skipped);
        let all = read.len();
        let best =
            read.iter().filter_map(|file| file.ranges.first()).fold(0.0_f32, |best, r| best.max(r.worth));
        read.retain(|file| {
            file.is_named || file.ranges.first().is_some_and(|range| range.worth >= best * WEAK)
        });
        bundle.weak = all - read.len();
        select(task, read, &mut bundle);
        Ok(bundle)
    }
}

type Gathered = (Vec<String>, BTreeMap<String, FileFound>, (usize, usize));

/// All searches, and what they found by file.
fn search(task: &Task, parsed: &Parsed, repository: &dyn Repository) -> Result<Gathered, Failure> {
    let names = parsed.identifiers.len();
    let mut queries = vec![task.prompt.clone()];
    queries.extend(keywords(parsed).into_iter().filter(|word| *word != task.prompt));
    let mut files: BTreeMap<String, FileFound> = BTreeMap::new();
    let mut total = 0;
    let mut distinct = std::collections::BTreeSet::new();
    for (number, query) in queries.iter().enumerate() {
        let (share, k) = match number {
            0 => (1.0, task.hits),
            n if n <= names => (NAME_SHARE, (task.hits / 4).max(5)),
            _ => (WORD_SHARE, (task.hits / 4).max(5)),
        };
        let passages = repository.search(query, k.min(task.hits.max(1)))?;
        total += passages.len();
        let mut ranked: Vec<&str> = Vec::new();
        for passage in &passages {
            distinct.insert((passage.path.clone(), passage.start_line, passage.end_line));
            let file = files.entry(passage.path.clone()).or_default();
            let lines = (passage.start_line, passage.end_line);
            if !file.passages.contains(&lines) {
                file.passages.push(lines);
            }
            if !ranked.contains(&passage.path.as_str()) {
                ranked.push(&passage.path);
            }
        }
        for (rank, path) in ranked.into_iter().enumerate() {
            let worth = share / (SOFTENED + rank as f32);
            let file = files.entry(path.to_owned()).or_default();
            file.score += worth;
            if worth > file.best {
                file.best = worth;
                file.source_query = query.clone();
            }
        }
    }
    Ok((queries, files, (total, distinct.len())))
}

/// Adds the files that the prompt names by their paths, and those that declare what it names.
fn name_files(
    task: &Task,
    named: &[NamedSymbol],
    repository: &dyn Repository,
    found: &mut BTreeMap<String, FileFound>,
) -> Result<(), Failure> {
    let mut add = |path: String, query: &str| {
        let file = found.entry(path).or_default();
        if !std::mem::replace(&mut file.is_named, true) {
            file.score += NAMED;
            file.source_query = query.to_owned();
        }
    };
    for path in paths(&task.prompt) {
        repository.called(&path, MOST_NAMED)?.into_iter().for_each(|file| add(file, &path));
    }
    for symbol in named {
        let files = repository.declaring(symbol, MOST_NAMED)?;
        files.into_iter().for_each(|file| add(file, &symbol.qualified));
    }
    Ok(())
}

/// Reads the best files and finds their best lines.
fn read(
    task: &Task,
    parsed: &Parsed,
    named: &[NamedSymbol],
    found: BTreeMap<String, FileFound>,
    repository: &dyn Repository,
    skipped: &mut Vec<Skipped>,
) -> Vec<FileRead> {
    let mut files: Vec<(String, FileFound)> = found.into_iter().collect();
    files.sort_by(|(a, x), (b, y)| y.score.total_cmp(&x.score).then_with(|| a.cmp(b)));
    let wanted = (task.max_files.saturating_mul(READ_FACTOR)).clamp(MIN_READ, MAX_READ);
    files.truncate(wanted);

    let terms = parsed.content_terms();
    let matcher = Matcher::of_terms(terms.iter().copied());
    let sources: Vec<Option<Source>> = files.iter().map(|(path, _)| repository.source(path)).collect();
    let mut holders = vec![0u32; terms.len()];
    for source in sources.iter().flatten() {
        let mut seen = vec![false; terms.len()];
        matcher.find(&source.text).iter().for_each(|place| seen[place.term] = true);
        holders.iter_mut().zip(seen).for_each(|(count, seen)| *count += u32::from(seen));
    }
    let total = sources.len() as f32;
    let weights: Vec<f32> = (terms.iter().zip(&holders))
        .map(|(term, held)| {
            let held = *held as f32;
            term.weight * rarity(total, held).max(0.1)
        })
        .collect();
    let tokens: Vec<String> = terms.iter().map(|term| term.token.clone()).collect();
    let longest = longest(task);
    let words = Words {
        matcher: &matcher,
        tokens: &tokens,
        weights: &weights,
        names: &parsed.identifiers,
        named,
        longest_named: (task.max_lines * 2 / 3).max(1) as u32,
    };

    let mut read: Vec<FileRead> = Vec::new();
    for ((path, file), source) in files.into_iter().zip(sources) {
        let ranges = source.as_ref().map(|source| {
            let found = ranges(source, &file.passages, &words, longest);
            let named = file.is_named && found.is_empty();
            if named { head(source, longest).into_iter().collect() } else { found }
        });
        let (Some(source), Some(ranges)) = (source, ranges.filter(|ranges| !ranges.is_empty())) else {
            let (start_line, end_line) = file.passages.first().copied().unwrap_or((0, 0));
            skipped.push(Skipped { reason: Skip::ZeroLines, path, start_line, end_line, score: file.score });
            continue;
        };
        let spelled = |name: &String| parsed.identifiers.contains(name);
        let defines = ranges.iter().any(|range| range.why.defines.iter().any(spelled));
        let score = file.score + if defines { DEFINES } else { 0.0 };
        let is_named = file.is_named;
        read.push(FileRead { path, score, source_query: file.source_query, source, ranges, is_named });
    }
    read.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    read
}

/// The longest excerpt: so that the files that may be shown can be shown.
fn longest(task: &Task) -> u32 {
    let fair = task.max_lines * 3 / (task.max_files.max(1) * 2);
    fair.clamp(20.min(task.max_lines), 120.min(task.max_lines)).max(1) as u32
}

/// The best range of each file, then the second of each, while the budgets last.
fn select(task: &Task, read: Vec<FileRead>, bundle: &mut Bundle) {
    let mut budget = Budget::new(task.max_files, task.max_lines);
    let mut taken: Vec<(usize, Range)> = Vec::new();
    let rounds = read.iter().map(|file| file.ranges.len()).max().unwrap_or(0);
    for round in 0..rounds {
        for (number, file) in read.iter().enumerate() {
            let Some(range) = file.ranges.get(round) else { continue };
            // A further excerpt only of a file that is in.
            if round > 0 && !taken.iter().any(|(known, _)| *known == number) {
                continue;
            }
            let mut range = range.clone();
            // What is named is shown as far as the budget goes.
            let left = budget.lines_left() as u32;
            if file.is_named && round == 0 && left > 0 && range.end + 1 - range.start > left {
                range.end = range.start + left - 1;
                range.why.is_part = true;
            }
            match budget.take(&file.path, (range.end + 1 - range.start) as usize) {
                Ok(()) => taken.push((number, range)),
                Err(reason) => bundle.skipped.push(Skipped {
                    reason,
                    path: file.path.clone(),
                    start_line: range.start,
                    end_line: range.end,
                    score: file.score,
                }),
            }
        }
    }
    let mut merged = merge(taken, &mut budget, &read);
    // Definitions before uses, then the better file, then the order of the file.
    merged.sort_by_key(|(number, range)| (range.why.defines.is_empty(), *number, range.start));
    bundle.selections = merged.into_iter().map(|(number, range)| selection(&read[number], range)).collect();
}

/// Joins ranges of one file that touch or nearly touch, where the lines between still fit.
fn merge(mut taken: Vec<(usize, Range)>, budget: &mut Budget, read: &[FileRead]) -> Vec<(usize, Range)> {
    taken.sort_by_key(|(number, range)| (*number, range.start));
    let mut merged: Vec<(usize, Range)> = Vec::new();
    for (number, range) in taken {
        if let Some((known, last)) = merged.last_mut()
            && *known == number
            && range.start <= last.end + 1 + MERGE_GAP
            && budget.take(&read[number].path, (range.start - last.end - 1) as usize).is_ok()
        {
            last.end = range.end;
            last.worth = last.worth.max(range.worth);
            let why = &mut last.why;
            why.matched_terms.extend(range.why.matched_terms);
            why.matched_terms.sort_unstable();
            why.matched_terms.dedup();
            why.symbols.extend(range.why.symbols);
            why.is_part |= range.why.is_part;
            why.named |= range.why.named;
            why.defines.extend(range.why.defines);
            why.defines.dedup();
        } else {
            merged.push((number, range));
        }
    }
    merged
}

fn selection(file: &FileRead, range: Range) -> Selection {
    let lines = file.source.text.split('\n').skip(range.start as usize - 1);
    let excerpt: Vec<&str> = lines.take((range.end + 1 - range.start) as usize).collect();
    Selection {
        path: file.path.clone(),
        start_line: range.start,
        end_line: range.end,
        excerpt: excerpt.join("\n"),
        score: file.score,
        source_query: file.source_query.clone(),
        why: range.why,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Passage;
    use super::*;

    /// Files by name; a search finds every file that holds a word of the query, in the order of the names.
    struct Folder(BTreeMap<&'static str, String>);

    impl Repository for Folder {
        fn search(&self, text: &str, k: usize) -> Result<Vec<Passage>, Failure> {
            let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
            let hits =
                self.0.iter().filter(|(_, text)| words.iter().any(|word| text.to_lowercase().contains(word)));
            let passage = |(path, text): (&&'static str, &String)| Passage {
                path: (*path).to_owned(),
                start_line: 1,
                end_line: text.lines().count() as u32,
            };
            Ok(hits.map(passage).take(k).collect())
        }

        fn source(&self, path: &str) -> Option<Source> {
            self.0.get(path).map(|text| Source { text: text.clone(), symbols: Vec::new() })
        }

        fn called(&self, path: &str, most: usize) -> Result<Vec<String>, Failure> {
            let called = self.0.keys().filter(|known| known.ends_with(path)).take(most);
            Ok(called.map(|path| (*path).to_owned()).collect())
        }

        fn declaring(&self, symbol: &NamedSymbol, most: usize) -> Result<Vec<String>, Failure> {
            let declares = |text: &str| text.contains(&format!("def {}", symbol.last));
            let files = self.0.iter().filter(|(_, text)| declares(text)).take(most);
            Ok(files.map(|(path, _)| (*path).to_owned()).collect())
        }
    }

    fn task(prompt: &str, max_files: usize, max_lines: usize) -> Task {
        Task { prompt: prompt.into(), max_files, max_lines, include_tests: None, hits: 50 }
    }

    #[test]
    fn r047_case_29_budgets_hold_to_the_line() {
        let body = "alpha one\ntwo\nthree\nfour\n".to_owned();
        let folder = Folder(["a.py", "b.py", "c.py"].into_iter().map(|name| (name, body.clone())).collect());
        let bundle = Deterministic.bundle(&task("alpha", 2, 8), &folder).unwrap();
        assert_eq!((bundle.files(), bundle.lines()), (2, 8));
        assert_eq!(bundle.skipped.len(), 1);
        assert_eq!((bundle.skipped[0].reason, bundle.skipped[0].path.as_str()), (Skip::FileBudget, "c.py"));
        assert_eq!(bundle, Deterministic.bundle(&task("alpha", 2, 8), &folder).unwrap());

        let tight = Deterministic.bundle(&task("alpha", 3, 7), &folder).unwrap();
        assert_eq!((tight.files(), tight.lines()), (1, 4));
        assert!(tight.skipped.iter().all(|skipped| skipped.reason == Skip::LineBudget));
    }

    #[test]
    fn tests_come_when_they_are_asked_for() {
        let folder = Folder(BTreeMap::from([
            ("src/retry.py", "retry\n".to_owned()),
            ("tests/test_retry.py", "retry\n".to_owned()),
        ]));
        let paths = |include_tests, prompt: &str| {
            let task = Task { include_tests, ..task(prompt, 5, 100) };
            let bundle = Deterministic.bundle(&task, &folder).unwrap();
            bundle.selections.into_iter().map(|selection| selection.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(None, "retry"), ["src/retry.py"]);
        assert_eq!(paths(Some(false), "retry test"), ["src/retry.py"]);
        assert_eq!(paths(None, "retry test").len(), 2);
        assert_eq!(paths(Some(true), "retry").len(), 2);
    }

    #[test]
    fn r047_what_the_prompt_names_is_in_the_bundle() {
        let long = format!("{}def rare():\n    pass\n", "filler\n".repeat(60));
        let folder = Folder(BTreeMap::from([
            ("a/notes.md", "retry retry retry\n".repeat(30)),
            ("b/unrelated.py", long),
            ("tests/test_b.py", "nothing here\n".to_owned()),
        ]));
        let paths = |prompt: &str, include_tests| {
            let task = Task { include_tests, ..task(prompt, 1, 20) };
            let bundle = Deterministic.bundle(&task, &folder).unwrap();
            bundle.selections.into_iter().map(|selection| selection.path).collect::<Vec<_>>()
        };
        assert_eq!(paths("retry", None), ["a/notes.md"]);
        assert_eq!(paths("retry in b/unrelated.py", None), ["b/unrelated.py"]);
        assert_eq!(paths("retry in Thing.rare", None), ["b/unrelated.py"]);
        assert_eq!(paths("retry in tests/test_b.py", None), ["tests/test_b.py"]);
        assert_eq!(paths("retry in tests/test_b.py", Some(false)), ["a/notes.md"]);
    }

    #[test]
    fn a_file_that_is_gone_is_a_skip() {
        struct Gone;
        impl Repository for Gone {
            fn search(&self, _: &str, _: usize) -> Result<Vec<Passage>, Failure> {
                Ok(vec![Passage { path: "a".into(), start_line: 1, end_line: 2 }])
            }
            fn source(&self, _: &str) -> Option<Source> {
                None
            }
            fn called(&self, _: &str, _: usize) -> Result<Vec<String>, Failure> {
                Ok(Vec::new())
            }
            fn declaring(&self, _: &NamedSymbol, _: usize) -> Result<Vec<String>, Failure> {
                Ok(Vec::new())
            }
        }
        let bundle = Deterministic.bundle(&task("x", 5, 100), &Gone).unwrap();
        assert!(bundle.selections.is_empty());
        assert_eq!(bundle.skipped[0].reason, Skip::ZeroLines);
    }
}
