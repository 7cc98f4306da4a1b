//! The part of a chunk that shows why it was found.

use crate::matcher::{Matcher, WordMatch};

/// A piece of a chunk's text, never more than was asked for, never empty for a chunk that is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Whole lines where they fit, just as they are in the chunk.
    pub text: String,
    /// The line of the chunk it starts at, from 0.
    pub line: usize,
    /// The first of its lines that was chosen for its words; the lines before it were added where there was room.
    pub chosen: usize,
    /// How many different query words it shows.
    pub words: usize,
}

/// Characters of a snippet unless told otherwise (dir2mcp's own default).
pub const DEFAULT_CHARS: usize = 240;

/// Characters of the snippet of a hit by its rank, from 0: most readers need the first hit and little of the tenth. Ten hits
/// cost a quarter more than ten equal snippets would.
pub fn room(rank: usize) -> usize {
    match rank {
        0 => 800,
        1 | 2 => 400,
        _ => 200,
    }
}

/// The window of `text` that holds the most different `terms`, closest together.
pub fn snippet(text: &str, terms: &[String], max_chars: usize) -> Snippet {
    let matcher = Matcher::of_tokens(terms.iter().map(String::as_str));
    cut_out(text, &matcher.find(text), &vec![1.0; terms.len()], max_chars)
}

/// The same where the terms are found already, and each has its weight.
pub(crate) fn cut_out(text: &str, found: &[WordMatch], weights: &[f32], max_chars: usize) -> Snippet {
    let max_chars = max_chars.max(1);
    let lines = lines(text);
    let Some(window) = best_window(&lines, found, weights, max_chars) else {
        return Snippet { text: text.chars().take(max_chars).collect(), line: 0, chosen: 0, words: 0 };
    };
    match window {
        Window::Lines { first, last } => {
            let chosen = first;
            let (first, last) = widen(&lines, first, last, max_chars);
            let start = lines[first].start;
            let end = lines[last].end;
            Snippet {
                text: text[start..end].to_owned(),
                line: first,
                chosen,
                words: distinct(found.iter().filter(|f| start <= f.start && f.end <= end)),
            }
        }
        Window::Part { line, start, end } => {
            let (start, end) = part_of_line(text, &lines[line], start, end, max_chars);
            Snippet {
                text: text[start..end].to_owned(),
                line,
                chosen: line,
                words: distinct(found.iter().filter(|f| start <= f.start && f.end <= end)),
            }
        }
    }
}

struct Line {
    start: usize,
    /// Without the line break.
    end: usize,
    /// Where its indentation ends.
    words: usize,
    chars: usize,
    blank: bool,
}

enum Window {
    /// Whole lines that fit.
    Lines { first: usize, last: usize },
    /// One line too long to be shown whole, and the matches to show of it.
    Part { line: usize, start: usize, end: usize },
}

fn lines(text: &str) -> Vec<Line> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let begun = start;
            start += line.len() + 1;
            let trimmed = line.strip_suffix('\r').unwrap_or(line);
            Line {
                start: begun,
                end: begun + trimmed.len(),
                words: begun + (trimmed.len() - trimmed.trim_start().len()),
                chars: line.chars().count(),
                blank: trimmed.trim().is_empty(),
            }
        })
        .collect()
}

/// Of all runs of lines that fit, the one with the greatest weight of different terms; then the shortest,
/// then the first. Without any match, the first line that is not blank.
fn best_window(lines: &[Line], found: &[WordMatch], weights: &[f32], max_chars: usize) -> Option<Window> {
    let mut by_line: Vec<Vec<WordMatch>> = vec![Vec::new(); lines.len()];
    let mut places: Vec<WordMatch> = found.to_vec();
    places.sort_unstable_by_key(|f| (f.start, f.end));
    for place in places {
        let line = lines.partition_point(|line| line.start <= place.start) - 1;
        by_line[line].push(place);
    }

    let mut best: Option<(f32, usize, Window)> = None;
    let mut consider = |weight: f32, chars: usize, window: Window| {
        let better = best.as_ref().is_none_or(|(w, c, _)| weight > *w || (weight == *w && chars < *c));
        if better {
            best = Some((weight, chars, window));
        }
    };
    for first in 0..lines.len() {
        if by_line[first].is_empty() {
            continue;
        }
        if lines[first].chars > max_chars {
            let (weight, start, end) = best_cluster(&by_line[first], weights, max_chars);
            consider(weight, max_chars, Window::Part { line: first, start, end });
            continue;
        }
        let mut seen = vec![false; weights.len()];
        let (mut weight, mut chars) = (0.0, 0);
        for last in first..lines.len() {
            chars += lines[last].chars + usize::from(last > first);
            if chars > max_chars {
                break;
            }
            let mut gained = false;
            for place in &by_line[last] {
                if !std::mem::replace(&mut seen[place.term], true) {
                    weight += weights[place.term];
                    gained = true;
                }
            }
            if gained {
                consider(weight, chars, Window::Lines { first, last });
            }
        }
    }
    if let Some((_, _, window)) = best {
        return Some(window);
    }
    let first = lines.iter().position(|line| !line.blank)?;
    Some(if lines[first].chars > max_chars {
        Window::Part { line: first, start: lines[first].words, end: lines[first].words }
    } else {
        Window::Lines { first, last: first }
    })
}

/// The densest run of matches within one long line that can be shown together.
fn best_cluster(places: &[WordMatch], weights: &[f32], max_chars: usize) -> (f32, usize, usize) {
    let mut best = (f32::MIN, places[0].start, places[0].end);
    for (first, place) in places.iter().enumerate().take(MAX_CLUSTERS) {
        let mut seen = vec![false; weights.len()];
        let mut weight = 0.0;
        for other in &places[first..] {
            // Bytes are never fewer than characters, so what fits in bytes fits.
            if other.end - place.start > max_chars {
                break;
            }
            if !std::mem::replace(&mut seen[other.term], true) {
                weight += weights[other.term];
                if weight > best.0 {
                    best = (weight, place.start, other.end);
                }
            }
        }
    }
    if best.0 == f32::MIN { (0.0, places[0].start, places[0].end) } else { best }
}

/// Starting points tried in one long line; a minified file may match thousands of times.
const MAX_CLUSTERS: usize = 200;

/// Lines above the matches that are added: what leads to a match is worth little beyond them.
const MOST_ABOVE: usize = 6;

/// Uses the room that is left: the lines below (a definition's body), then a few of those above.
fn widen(lines: &[Line], mut first: usize, mut last: usize, max_chars: usize) -> (usize, usize) {
    let mut chars: usize = lines[first..=last].iter().map(|line| line.chars + 1).sum::<usize>() - 1;
    while last + 1 < lines.len() && chars + 1 + lines[last + 1].chars <= max_chars {
        last += 1;
        chars += 1 + lines[last].chars;
    }
    let highest = first.saturating_sub(MOST_ABOVE);
    while first > highest && chars + 1 + lines[first - 1].chars <= max_chars {
        first -= 1;
        chars += 1 + lines[first].chars;
    }
    while last > first && lines[last].blank {
        last -= 1;
    }
    while first < last && lines[first].blank {
        first += 1;
    }
    (first, last)
}

/// A window around `start..end` within a long line: what lies before the matches gets a third of the room
/// that is left, and both ends move to a word's limit if one is near.
fn part_of_line(text: &str, line: &Line, start: usize, end: usize, max_chars: usize) -> (usize, usize) {
    let end = end.min(line.end);
    let start = start.min(end);
    let room = max_chars.saturating_sub(text[start..end].chars().count());
    let mut begin = back(text, line.start, start, room / 3);
    let mut stop = forward(text, begin, line.end, max_chars);
    if stop == line.end {
        begin = back(text, line.start, stop, max_chars);
    } else {
        let shown = text[begin..stop].len();
        stop = before_space(text, end.max(begin + shown / 2).min(stop), stop);
    }
    if begin > line.start {
        begin = after_space(text, begin, start.min(stop));
    }
    // Spaces at the ends show nothing, but spaces alone are still shown.
    let shown = &text[begin..stop];
    if shown.trim().is_empty() {
        return (begin, stop);
    }
    let begin = begin + (shown.len() - shown.trim_start().len());
    (begin, begin + shown.trim().len())
}

fn back(text: &str, floor: usize, from: usize, chars: usize) -> usize {
    text[floor..from].char_indices().rev().take(chars).last().map_or(from, |(at, _)| floor + at)
}

fn forward(text: &str, from: usize, ceiling: usize, chars: usize) -> usize {
    text[from..ceiling].char_indices().nth(chars).map_or(ceiling, |(at, _)| from + at)
}

/// The first word that begins between `from` and `until`; `from` itself if there is no space.
fn after_space(text: &str, from: usize, until: usize) -> usize {
    let Some(space) = text[from..until].find(char::is_whitespace) else { return from };
    let rest = &text[from + space..until];
    from + space + (rest.len() - rest.trim_start().len())
}

fn before_space(text: &str, from: usize, until: usize) -> usize {
    let from = text.ceil_char_boundary(from).min(until);
    text[from..until].rfind(char::is_whitespace).map_or(until, |at| from + at)
}

fn distinct<'a>(found: impl Iterator<Item = &'a WordMatch>) -> usize {
    let mut terms: Vec<usize> = found.map(|f| f.term).collect();
    terms.sort_unstable();
    terms.dedup();
    terms.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(text: &str, terms: &[&str], max: usize) -> Snippet {
        snippet(text, &terms.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>(), max)
    }

    #[test]
    fn the_match_is_shown_not_the_beginning() {
        let mut text: String = (0..200).map(|i| format!("    let filler_{i} = {i};\n")).collect();
        text.push_str("    fn retry_budget(limit: u32) -> Budget {\n        Budget::new(limit)\n    }\n");
        let snippet = show(&text, &["retry", "budget"], 120);
        assert!(snippet.text.contains("fn retry_budget"), "{snippet:?}");
        assert!(text.contains(&snippet.text), "the lines are shown as they stand: {snippet:?}");
        assert_eq!(snippet.words, 2);
    }

    #[test]
    fn words_close_together_win() {
        let text = "alpha one\n\n\n\n\n\n\n\n\nbeta two\nfiller filler filler\nalpha and beta here\nmore";
        assert!(show(text, &["alpha", "beta"], 24).text.contains("alpha and beta here"));
    }

    #[test]
    fn a_long_line_is_cut_at_words() {
        let text = format!("{} the needle in question {}", "hay ".repeat(500), "straw ".repeat(500));
        let snippet = show(&text, &["needle"], 60);
        assert!(snippet.text.contains("needle"));
        assert!(snippet.text.chars().count() <= 60);
        assert!(
            snippet
                .text
                .split_whitespace()
                .all(|w| ["hay", "the", "needle", "in", "question", "straw"].contains(&w))
        );
    }

    #[test]
    fn never_empty_for_a_chunk_that_is_not() {
        assert_eq!(show("   \n \n", &["x"], 240).text, "   \n \n");
        assert_eq!(show("\n\n  hello\n", &["x"], 240).text, "  hello");
        assert_eq!(show("", &["x"], 240).text, "");
        assert_eq!(show("日本語の文章", &["文章"], 3).text.chars().count(), 3);
    }

    #[test]
    fn a_short_chunk_is_shown_whole() {
        let text = "def f():\n    return 1";
        assert_eq!(show(text, &["f"], 240).text, text);
    }

    proptest! {
        #[test]
        fn snippets_are_pieces_of_the_text(
            text in "(\\PC|[\\n\\t \\r]|ab|needle){0,80}",
            terms in prop::collection::vec("[a-z]{1,3}|needle", 0..4),
            max in 0usize..60,
        ) {
            let snippet = snippet(&text, &terms, max);
            prop_assert!(snippet.text.chars().count() <= max.max(1));
            prop_assert_eq!(snippet.text.is_empty(), text.is_empty());
            prop_assert!(text.contains(&snippet.text));
            prop_assert!(snippet.line <= snippet.chosen);
            let lines: Vec<&str> = text.split('\n').collect();
            for (offset, line) in snippet.text.split('\n').enumerate() {
                let source = lines.get(snippet.line + offset);
                prop_assert!(source.is_some_and(|source| source.contains(line)), "{:?} of {:?}", line, text);
            }
        }

        #[test]
        fn any_text_any_terms(text in any::<String>(), terms in prop::collection::vec(any::<String>(), 0..4), max in 0usize..300) {
            let snippet = snippet(&text, &terms, max);
            prop_assert!(snippet.text.chars().count() <= max.max(1));
        }
    }
}
