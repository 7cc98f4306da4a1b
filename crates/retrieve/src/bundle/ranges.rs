//! Which lines of a file to show: the declarations that match, whole where they fit, or the lines around the matches.

use std::collections::BTreeMap;

use model::{Symbol, SymbolKind};

use super::{NamedSymbol, SelectionReason, Source};
use crate::matcher::{Matcher, WordMatch};

/// A file of so few lines is shown whole.
const SHORT_FILE: u32 = 24;

/// Lines around a match in a text without declarations.
const CONTEXT: u32 = 12;

/// Lines of a class that is too long to be shown.
const HEAD: u32 = 24;

/// What a word in the name of a declaration counts, compared with one in its body.
const IN_NAME: f32 = 1.5;

/// What declaring a name of the prompt counts: one that is spelled as code, and a plain word.
const DEFINES: f32 = 4.0;
const DEFINES_WORD: f32 = 1.5;

/// What lines outside of declarations are worth, compared with a declaration that matches.
const OUTSIDE: f32 = 0.45;

/// Lines shown before and after the first and last match of such a passage.
const MARGIN: u32 = 3;

/// A second excerpt of a file must be worth this share of its first; less, if it shows a word that the first does not.
const SECOND_SHARE: f32 = 0.45;
const NEW_SHARE: f32 = 0.15;

/// Excerpts of one file.
const MAX_RANGES: usize = 4;

/// Lines to show, with what they are worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) worth: f32,
    pub(super) why: SelectionReason,
}

/// The words of the prompt, and what each is worth.
pub(super) struct Words<'a> {
    pub(super) matcher: &'a Matcher,
    pub(super) tokens: &'a [String],
    pub(super) weights: &'a [f32],
    /// Names that the prompt spells as code does.
    pub(super) names: &'a [String],
    /// Declarations that it names with what they belong to.
    pub(super) named: &'a [NamedSymbol],
    /// Lines that may be shown of one of those.
    pub(super) longest_named: u32,
}

/// A file with the places of the prompt's words, line by line.
struct Lines {
    /// The distinct terms of each line, from line 1 at position 0.
    terms: Vec<Vec<usize>>,
    blank: Vec<bool>,
}

impl Lines {
    fn new(text: &str, found: &[WordMatch]) -> Lines {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let mut starts = vec![0];
        starts.extend(body.match_indices('\n').map(|(at, _)| at + 1));
        let blank = body.split('\n').map(|line| line.trim().is_empty()).collect();
        let mut terms = vec![Vec::new(); starts.len()];
        for place in found {
            let line = starts.partition_point(|start| *start <= place.start) - 1;
            if !terms[line].contains(&place.term) {
                terms[line].push(place.term);
            }
        }
        Lines { terms, blank }
    }

    fn count(&self) -> u32 {
        self.terms.len() as u32
    }

    /// How often each term occurs in these lines, counting each line once.
    fn counts(&self, start: u32, end: u32) -> BTreeMap<usize, u32> {
        let mut counts = BTreeMap::new();
        for line in start.max(1)..=end.min(self.count()) {
            for term in &self.terms[line as usize - 1] {
                *counts.entry(*term).or_insert(0) += 1;
            }
        }
        counts
    }
}

/// The best ranges of a file, best first, none longer than `longest` lines. `passages` are the lines that a search found.
pub(super) fn ranges(
    source: &Source,
    passages: &[(u32, u32)],
    words: &Words<'_>,
    longest: u32,
) -> Vec<Range> {
    if source.text.trim().is_empty() {
        return Vec::new();
    }
    let lines = Lines::new(&source.text, &words.matcher.find(&source.text));
    let all = lines.count();
    if all <= SHORT_FILE.min(longest) {
        let defines = defined(&source.symbols, words);
        let why = SelectionReason { whole_file: true, defines, ..matched(&lines, words, 1, all) };
        return vec![Range { start: 1, end: all, worth: worth(&lines, words, 1, all), why }];
    }
    let mut members: BTreeMap<&str, u32> = BTreeMap::new();
    for symbol in &source.symbols {
        if let Some(parent) = &symbol.parent {
            let first = members.entry(parent).or_insert(symbol.lead_line);
            *first = symbol.lead_line.min(*first);
        }
    }
    let mut candidates: Vec<Range> = source
        .symbols
        .iter()
        .filter(|symbol| is_excerpt(symbol) && symbol.end_line <= all)
        .filter_map(|symbol| {
            let member = members.get(symbol.qualified.as_str()).copied();
            of_symbol(symbol, member, &lines, passages, words, longest)
        })
        .collect();
    // What is outside of every declaration: imports, constants, prose.
    let outside = if candidates.is_empty() { 1.0 } else { OUTSIDE };
    candidates.extend(of_passages(&lines, passages, words, longest, outside));
    candidates.sort_by(|a, b| {
        (b.why.named.cmp(&a.why.named))
            .then_with(|| b.worth.total_cmp(&a.worth))
            .then_with(|| (a.start, a.end).cmp(&(b.start, b.end)))
    });
    let best =
        candidates.iter().filter(|range| !range.why.named).map(|range| range.worth).fold(0.0, f32::max);
    let mut chosen: Vec<Range> = Vec::new();
    for range in candidates {
        let overlaps = chosen.iter().any(|other| range.start <= other.end && other.start <= range.end);
        let shown = |term: &String| chosen.iter().any(|other| other.why.matched_terms.contains(term));
        let is_new = range.why.matched_terms.iter().any(|term| !shown(term));
        let share = if is_new { NEW_SHARE } else { SECOND_SHARE };
        let is_worth = range.worth > 0.0 && range.worth >= best * share || range.why.named;
        if !overlaps && is_worth && chosen.len() < MAX_RANGES {
            chosen.push(range);
        }
    }
    chosen
}

/// The beginning of a file that the prompt names and whose words it does not hold.
pub(super) fn head(source: &Source, longest: u32) -> Option<Range> {
    let lines = Lines::new(&source.text, &[]);
    let (start, end) = trimmed(&lines, 1, lines.count().min(longest))?;
    Some(Range { start, end, worth: 0.0, why: SelectionReason { named: true, ..SelectionReason::default() } })
}

/// Keys of a data file and single elements are too small to be an excerpt.
fn is_excerpt(symbol: &Symbol) -> bool {
    !matches!(symbol.kind, SymbolKind::Key | SymbolKind::Element | SymbolKind::Package)
}

fn of_symbol(
    symbol: &Symbol,
    first_member: Option<u32>,
    lines: &Lines,
    passages: &[(u32, u32)],
    words: &Words<'_>,
    longest: u32,
) -> Option<Range> {
    let (start, end) = (symbol.lead_line.min(symbol.start_line).max(1), symbol.end_line);
    let named = words.names.iter().filter(|name| **name == symbol.name || **name == symbol.qualified);
    let mut defines: Vec<String> = named.cloned().collect();
    let by_name = defines.len() as f32 * DEFINES * words.weights.iter().copied().fold(0.0, f32::max);
    let word = words.tokens.iter().position(|token| *token == symbol.name.to_lowercase());
    let by_word = word.map_or(0.0, |term| DEFINES_WORD * words.weights[term]);
    if defines.is_empty() && word.is_some() {
        defines.push(symbol.name.clone());
    }
    let in_name: f32 = (words.matcher.find(&symbol.name).iter())
        .map(|place| place.term)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|term| words.weights[term] * IN_NAME)
        .sum();
    let found = passages.iter().any(|(from, to)| start <= *to && *from <= end);
    let is_named = words.named.iter().any(|named| named.is_declared_by(&symbol.qualified));
    let longest = if is_named { longest.max(words.longest_named) } else { longest };
    let is_part = end + 1 - start > longest;
    let (start, end) = match (is_part, first_member) {
        (false, _) => (start, end),
        (true, _) if is_named => (start, start + longest - 1),
        // Of a long class its head: what matches inside is shown by its members.
        (true, Some(member)) => (start, member.saturating_sub(1).clamp(start, start + longest.min(HEAD) - 1)),
        (true, None) => densest(lines, words, start, end, longest),
    };
    let why = matched(lines, words, start, end);
    if is_named && defines.is_empty() {
        defines.push(symbol.name.clone());
    }
    if why.matched_terms.is_empty() && defines.is_empty() {
        return None;
    }
    let raw = worth(lines, words, start, end) + in_name + by_name.max(by_word);
    let length = (end + 1 - start) as f32;
    // Of a class and its one method that matches, the method.
    let shortness = (40.0 / (40.0 + length)).sqrt();
    let worth = raw * shortness * if found { 1.3 } else { 1.0 };
    let symbols = vec![(symbol.kind.to_string(), symbol.qualified.clone())];
    Some(Range {
        start,
        end,
        worth,
        why: SelectionReason { symbols, defines, is_part, named: is_named, ..why },
    })
}

/// Windows around the matches within the passages.
fn of_passages<'a>(
    lines: &'a Lines,
    passages: &'a [(u32, u32)],
    words: &'a Words<'a>,
    longest: u32,
    share: f32,
) -> impl Iterator<Item = Range> + 'a {
    let longest = longest.min(2 * CONTEXT + 1);
    passages.iter().filter_map(move |(from, to)| {
        let (from, to) = ((*from).max(1), (*to).min(lines.count()));
        if from > to {
            return None;
        }
        let (start, end) = densest(lines, words, from, to, longest);
        let (start, end) = trimmed(lines, start, end)?;
        let why = matched(lines, words, start, end);
        Some(Range { start, end, worth: worth(lines, words, start, end) * share, why })
    })
}

/// The run of at most `length` lines with the greatest worth; the first of equal ones.
fn densest(lines: &Lines, words: &Words<'_>, from: u32, to: u32, length: u32) -> (u32, u32) {
    if to + 1 - from <= length {
        return (from, to);
    }
    let mut best = (f32::MIN, from);
    let step = (length / 4).max(1) as usize;
    for start in (from..=to + 1 - length).step_by(step) {
        let worth = worth(lines, words, start, start + length - 1);
        if worth > best.0 {
            best = (worth, start);
        }
    }
    (best.1, best.1 + length - 1)
}

/// Only the lines around the matches, without blank lines at the ends; `None` if nothing is left.
fn trimmed(lines: &Lines, start: u32, end: u32) -> Option<(u32, u32)> {
    let matches = |line: &u32| !lines.terms[*line as usize - 1].is_empty();
    let (start, end) = match ((start..=end).find(matches), (start..=end).rev().find(matches)) {
        (Some(first), Some(last)) => {
            (first.saturating_sub(MARGIN).max(start), last.saturating_add(MARGIN).min(end))
        }
        _ => (start, end),
    };
    let shown = |line: &u32| !lines.blank[*line as usize - 1];
    let first = (start..=end).find(shown)?;
    let last = (first..=end).rev().find(shown)?;
    Some((first, last))
}

/// The weights of the terms in the lines; repetition counts, but less and less.
fn worth(lines: &Lines, words: &Words<'_>, start: u32, end: u32) -> f32 {
    let counts = lines.counts(start, end);
    counts
        .iter()
        .fold(0.0, |sum, (term, count)| sum + words.weights[*term] * (1.0 + 0.3 * (*count as f32).ln()))
}

fn matched(lines: &Lines, words: &Words<'_>, start: u32, end: u32) -> SelectionReason {
    let mut matched_terms: Vec<String> =
        lines.counts(start, end).keys().map(|term| words.tokens[*term].clone()).collect();
    matched_terms.sort_unstable();
    SelectionReason { matched_terms, ..SelectionReason::default() }
}

fn defined(symbols: &[Symbol], words: &Words<'_>) -> Vec<String> {
    let declared = |name: &&String| symbols.iter().any(|s| s.name == **name || s.qualified == **name);
    words.names.iter().filter(declared).cloned().collect()
}

#[cfg(test)]
mod tests {
    use model::ScopeKind;

    use super::*;
    use crate::parse::Parsed;

    fn symbol(kind: SymbolKind, qualified: &str, start_line: u32, end_line: u32) -> Symbol {
        let (parent, name) = qualified.rsplit_once('.').map_or((None, qualified), |(p, n)| (Some(p), n));
        Symbol {
            kind,
            name: name.to_owned(),
            qualified: qualified.to_owned(),
            signature: "()".to_owned(),
            returns: None,
            decorators: Vec::new(),
            doc: None,
            start_line,
            end_line,
            name_line: start_line,
            lead_line: start_line,
            parent: parent.map(str::to_owned),
            scope_kind: ScopeKind::Module,
            is_conditional: false,
            decl_context: None,
            level: u32::from(parent.is_some()),
        }
    }

    fn best(prompt: &str, source: &Source, passages: &[(u32, u32)]) -> Vec<Range> {
        let parsed = Parsed::new(prompt);
        let terms = parsed.content_terms();
        let matcher = Matcher::of_terms(terms.iter().copied());
        let tokens: Vec<String> = terms.iter().map(|term| term.token.clone()).collect();
        let weights = vec![1.0; tokens.len()];
        let words = Words {
            matcher: &matcher,
            tokens: &tokens,
            weights: &weights,
            names: &parsed.identifiers,
            named: &[],
            longest_named: 60,
        };
        ranges(source, passages, &words, 60)
    }

    /// Forty lines for each function, one that matches among those that do not.
    fn functions() -> Source {
        let mut text = String::new();
        let mut symbols = Vec::new();
        for (number, name) in ["beta", "alpha", "gamma"].into_iter().enumerate() {
            let start = number as u32 * 40 + 1;
            text.push_str(&format!("def {name}():\n"));
            let body = if name == "alpha" { "    lighthouse = 1\n" } else { "    filler = 1\n" };
            text.push_str(&body.repeat(if name == "beta" { 3 } else { 38 }));
            text.push_str(&"\n".repeat(if name == "beta" { 36 } else { 1 }));
            symbols.push(symbol(
                SymbolKind::Function,
                name,
                start,
                if name == "beta" { start + 3 } else { start + 38 },
            ));
        }
        Source { text, symbols }
    }

    #[test]
    fn the_symbol_that_matches_not_the_smallest_of_the_passage() {
        let found = best("where is the lighthouse", &functions(), &[(1, 120)]);
        assert_eq!((found[0].start, found[0].end), (41, 79));
        assert_eq!(found[0].why.symbols, [("function".to_owned(), "alpha".to_owned())]);
        assert_eq!(found[0].why.rationale(), "matches lighthouse; function alpha");
    }

    #[test]
    fn a_name_of_the_prompt_is_shown_where_it_is_declared() {
        let found = best("what does alpha do", &functions(), &[(1, 120)]);
        assert_eq!(found[0].why.defines, ["alpha"]);
        assert_eq!(found[0].start, 41);
    }

    #[test]
    fn of_a_long_class_its_head_and_the_member_that_matches() {
        let mut text = String::from("class Tower:\n    '''A tower.'''\n\n");
        for number in 0..20 {
            text.push_str(&format!("    def step_{number}(self):\n"));
            let word = if number == 7 { "lighthouse" } else { "filler" };
            text.push_str(&format!("        {word} = 1\n").repeat(9));
        }
        let mut symbols = vec![symbol(SymbolKind::Class, "Tower", 1, 203)];
        for number in 0..20 {
            let start = 4 + number * 10;
            symbols.push(symbol(SymbolKind::Method, &format!("Tower.step_{number}"), start, start + 9));
        }
        let found = best("Tower lighthouse", &Source { text, symbols }, &[(1, 200)]);
        let spans: Vec<(u32, u32)> = found.iter().map(|range| (range.start, range.end)).collect();
        assert!(spans.contains(&(1, 3)) && spans.contains(&(74, 83)), "{spans:?}");
        let head = found.iter().find(|range| range.start == 1).unwrap();
        assert_eq!(head.why.rationale(), "defines Tower; matches tower; part of class Tower");
    }

    #[test]
    fn a_text_without_structure_is_shown_around_its_matches() {
        let text: String = (1..=100)
            .map(|n| if n == 50 { "the lighthouse\n".into() } else { format!("line {n}\n") })
            .collect();
        let found = best("lighthouse", &Source { text, symbols: Vec::new() }, &[(1, 100)]);
        assert_eq!((found[0].start, found[0].end), (47, 53));
    }
}
