//! The citations in what a model wrote: found, and matched with the sources that it was given.

use std::ops::Range;

use model::Span;

use super::SourceFacts;

/// A citation in a text, with the sources that it names; those that it names wrongly are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCitation {
    /// From the bracket to the bracket.
    pub(super) bytes: Range<usize>,
    /// Positions in the list of sources.
    pub(super) sources: Vec<usize>,
}

/// A citation may name so many sources by a range.
const MOST_NUMBERS: usize = 50;

/// All citations of a text: `[2]`, `[1, 3]`, `[path:L3-L9]`, `[path#p=4]`, `[path@t=00:30-01:00]`. Other brackets are not
/// citations, and neither is anything in code.
pub(super) fn citations(text: &str, sources: &[SourceFacts]) -> Vec<FoundCitation> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('[').map(|offset| at + offset) {
        at = open + 1;
        if text[..open].matches('`').count() % 2 == 1 {
            continue;
        }
        // A path may hold brackets itself, so the longest stretch that is a citation counts.
        let line_end = text[open..].find('\n').map_or(text.len(), |offset| open + offset);
        let closes: Vec<usize> =
            text[open..line_end].match_indices(']').map(|(offset, _)| open + offset).take(8).collect();
        let read = closes.iter().find_map(|close| {
            let named = named(text[open + 1..*close].trim(), sources)?;
            Some((open..close + 1, named))
        });
        if let Some((bytes, named)) = read {
            // `[text](address)` is a link, whatever its text is.
            if text[bytes.end..].starts_with('(') {
                continue;
            }
            at = bytes.end;
            found.push(FoundCitation { bytes, sources: named });
        }
    }
    found
}

/// The sources that the inside of a bracket names; `None` where it is no citation.
fn named(inside: &str, sources: &[SourceFacts]) -> Option<Vec<usize>> {
    by_number(inside, sources.len()).or_else(|| {
        let parts: Vec<&str> = inside.split("; ").collect();
        let places: Option<Vec<(String, Span)>> = parts.iter().map(|part| place(part)).collect();
        let places = places.or_else(|| place(inside).map(|whole| vec![whole]))?;
        Some(places.iter().filter_map(|(path, span)| retrieved(path, *span, sources)).collect())
    })
}

/// `2`, `1, 3`, `1-3`, `source 2`.
fn by_number(inside: &str, count: usize) -> Option<Vec<usize>> {
    let lower = inside.to_ascii_lowercase();
    let bare =
        lower.trim_start_matches("sources").trim_start_matches("source").trim_start_matches(['#', ' ']);
    if bare.is_empty() {
        return None;
    }
    let mut numbers = Vec::new();
    for part in bare.split([',', ';']) {
        let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
        let (first, last): (usize, usize) = (whole(first)?, whole(last)?);
        if first > last || last - first > MOST_NUMBERS {
            return Some(Vec::new());
        }
        numbers.extend(first..=last);
    }
    Some(numbers.into_iter().filter(|number| (1..=count).contains(number)).map(|number| number - 1).collect())
}

fn whole(text: &str) -> Option<usize> {
    let text = text.trim();
    (1..=4).contains(&text.len()).then(|| text.parse().ok())?
}

/// `path:L3-L9`, `path#p=4`, `path@t=00:30-01:00`: read from the right, because paths may hold such signs too.
fn place(text: &str) -> Option<(String, Span)> {
    let lines = text.rfind(":L").map(|at| (at, at + 2));
    let page = text.rfind("#p=").map(|at| (at, at + 3));
    let time = text.rfind("@t=").map(|at| (at, at + 3));
    let (at, rest) = [lines, page, time].into_iter().flatten().max()?;
    let (path, rest) = (&text[..at], &text[rest..]);
    if path.is_empty() {
        return None;
    }
    let span = match &text[at..at + 2] {
        ":L" => {
            let (first, last) = rest.split_once('-').unwrap_or((rest, rest));
            let last = last.strip_prefix('L').unwrap_or(last);
            Span::Lines { start_line: first.parse().ok()?, end_line: last.parse().ok()? }
        }
        "#p" => Span::Page { page: rest.parse().ok()? },
        _ => {
            let (start, end) = rest.split_once('-')?;
            Span::Time { start_ms: moment(start)?, end_ms: moment(end)? }
        }
    };
    Some((path.to_owned(), span))
}

/// `mm:ss`, `hh:mm:ss` or milliseconds.
fn moment(text: &str) -> Option<u64> {
    if !text.contains(':') {
        return text.trim_end_matches("ms").parse().ok();
    }
    let seconds = text.split(':').try_fold(0u64, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?))?;
    Some(seconds * 1000)
}

/// The source that this place lies in. A place that no source covers was not retrieved.
fn retrieved(path: &str, span: Span, sources: &[SourceFacts]) -> Option<usize> {
    sources.iter().position(|source| {
        let known = &source.citation;
        (known.rel_path == path || source.shown_path == path) && covers(known.span, span)
    })
}

fn covers(outer: Span, inner: Span) -> bool {
    match (outer, inner) {
        (
            Span::Lines { start_line, end_line },
            Span::Lines { start_line: inner_start, end_line: inner_end },
        ) => start_line <= inner_start && inner_start <= inner_end && inner_end <= end_line,
        (Span::Page { page }, Span::Page { page: inner }) => page == inner,
        (Span::Time { start_ms, end_ms }, Span::Time { start_ms: inner_start, end_ms: inner_end }) => {
            // The written form has whole seconds.
            start_ms / 1000 <= inner_start / 1000
                && inner_start <= inner_end
                && inner_end / 1000 <= end_ms.div_ceil(1000)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::facts;
    use super::*;

    fn cited(text: &str) -> Vec<(String, Vec<usize>)> {
        let sources = [
            facts("docs/a.md", Span::Lines { start_line: 10, end_line: 30 }, ""),
            facts("talk.wav", Span::Time { start_ms: 70_500, end_ms: 100_400 }, ""),
            facts("odd [1]: x.pdf", Span::Page { page: 3 }, ""),
        ];
        citations(text, &sources)
            .into_iter()
            .map(|found| (text[found.bytes].to_owned(), found.sources))
            .collect()
    }

    fn only(text: &str) -> Vec<usize> {
        let found = cited(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        found[0].1.clone()
    }

    #[test]
    fn d112_the_specified_forms_and_numbers_are_read() {
        assert_eq!(only("so [docs/a.md:L10-L30]."), [0]);
        assert_eq!(only("so [talk.wav@t=01:10-01:40]."), [1]);
        assert_eq!(only("so [talk.wav@t=70500-100400]."), [1]);
        assert_eq!(only("so [odd [1]: x.pdf#p=3]."), [2]);
        assert_eq!(only("so [1, 3]"), [0, 2]);
        assert_eq!(only("so [1-3]"), [0, 1, 2]);
        assert_eq!(only("so [Source 2]"), [1]);
        assert_eq!(cited("so [1][2].").len(), 2);
    }

    #[test]
    fn a_place_inside_a_retrieved_span_is_that_span_and_any_other_place_is_nothing() {
        assert_eq!(only("[docs/a.md:L12-L14]"), [0]);
        assert_eq!(only("[docs/a.md:L12]"), [0]);
        for wrong in
            ["[docs/a.md:L9-L12]", "[docs/a.md:L31-L32]", "[docs/b.md:L12-L14]", "[9]", "[0]", "[a.pdf#p=3]"]
        {
            assert!(only(wrong).is_empty(), "{wrong}");
        }
        assert!(only("[talk.wav@t=00:10-00:20]").is_empty());
    }

    #[test]
    fn other_brackets_are_left_alone() {
        for text in
            ["[EMAIL]", "[x]", "`list[1]` is code", "[1](http://a.example)", "[a, b]", "[]", "[:L1-L2]"]
        {
            assert_eq!(cited(text), [], "{text}");
        }
    }
}
