//! Markdown: one unit per heading, with its lines, so that a hit can be cited in the file itself.

use model::Pointer;

use crate::formats::txt;
use crate::sink::{Outcome, Sink};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = txt::decode(bytes, sink)?;
    for section in sections(&text) {
        sink.parts += 1;
        let lines = Pointer::Lines { start_line: section.first, end_line: section.last };
        sink.unit(lines, section.title.as_deref(), section.text)?;
        if let Some(title) = &section.title {
            sink.title(title);
        }
    }
    Ok(())
}

/// The text from a heading to the next one.
pub(crate) struct Section<'t> {
    pub(crate) title: Option<String>,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) text: &'t str,
}

/// The headings of a Markdown text with their lines, from 1.
pub fn headings(text: &str) -> Vec<(u32, String)> {
    sections(text).into_iter().filter_map(|section| Some((section.first, section.title?))).collect()
}

/// Cuts a text before each heading outside of code.
pub(crate) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut first = 1u32;
    let mut title: Option<String> = None;
    let mut fence: Option<&str> = None;
    let mut at = 0;
    let mut previous: Option<(usize, u32, &str)> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let plain = line.trim_end();
        let mark = ["```", "~~~"].into_iter().find(|mark| plain.trim_start().starts_with(mark));
        // A heading is cut before itself; an underlined one before the line above.
        let mut cut = None;
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                if let Some(heading) = heading(plain) {
                    cut = Some((at, number, heading));
                } else if is_underline(plain)
                    && let Some((place, number, heading)) = previous
                {
                    cut = Some((place, number, heading));
                }
            }
        }
        if let Some((place, number, heading)) = cut {
            if place > start {
                found.push(Section {
                    title: title.take(),
                    first,
                    last: number.saturating_sub(1).max(first),
                    text: &text[start..place],
                });
            }
            (start, first, title) = (place, number, Some(heading.to_owned()));
        }
        let is_text = fence.is_none() && !plain.trim().is_empty() && heading(plain).is_none();
        previous = is_text.then_some((at, number, plain.trim()));
        at += line.len();
    }
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    if start < text.len() {
        found.push(Section { title, first, last: lines.max(first), text: &text[start..] });
    }
    found
}

/// The words of `## words ##`.
fn heading(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let words = trimmed.trim_start_matches('#');
    let level = trimmed.len() - words.len();
    if !(1..=6).contains(&level) || !words.starts_with([' ', '\t']) {
        return None;
    }
    let words = words.trim().trim_end_matches('#').trim_end();
    (!words.is_empty()).then_some(words)
}

fn is_underline(line: &str) -> bool {
    let marks = line.trim();
    marks.len() >= 3 && (marks.bytes().all(|byte| byte == b'=') || marks.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sections;

    fn cut(text: &str) -> Vec<(Option<String>, u32, u32)> {
        sections(text).into_iter().map(|one| (one.title, one.first, one.last)).collect()
    }

    #[test]
    fn headings_of_both_kinds() {
        let text = "intro\n\n# One #\na\n```\n# code\n```\nTwo\n---\nb\n\n---\n####### no\n";
        let named = |title: &str, first, last| (Some(title.to_owned()), first, last);
        assert_eq!(cut(text), [(None, 1, 2), named("One", 3, 7), named("Two", 8, 13)]);
        assert_eq!(cut(""), []);
        assert_eq!(cut("# a"), [named("a", 1, 1)]);
    }

    proptest! {
        #[test]
        fn sections_make_up_the_text(text in "([#=-]{0,3} ?[a-z]{0,3}\n|```\n){0,20}") {
            let all: String = sections(&text).iter().map(|section| section.text).collect();
            prop_assert_eq!(&all, &text);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for section in sections(&text) {
                let of = lines[section.first as usize - 1..section.last as usize].concat();
                prop_assert_eq!(of, section.text);
            }
        }
    }
}
