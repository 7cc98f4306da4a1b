//! Phone numbers that go on in the next line: `Tel. 030⏎1234567`.

use super::RedactedSpan;
use super::digits::{DigitGroup, Gap, Run};
use super::phone::{Number, PhoneContext, barred, context, is_joined, is_phone, span, start_of};

/// Groups looked at on either side of a line's end; a number has no more.
const MOST: usize = 6;

/// What a line may begin with before its text does: the marks of quotes, comments, lists and tables.
const MARGIN: &str = " \t>#*/|";

/// Numbers made of the end of one line and the beginning of the next.
pub(super) fn find(text: &str, runs: &[Run], spans: &mut Vec<RedactedSpan>) {
    for pair in runs.windows(2) {
        if let Some((run, middle)) = joined(text, &pair[0], &pair[1]) {
            let cut = pair.iter().any(|side| side.groups.len() > MOST);
            spans.extend(across(text, &run, middle, cut));
        }
    }
}

/// One run of the last groups of a line and the first of the next, if nothing but the line's end is between them, and
/// where the second part begins.
pub(super) fn joined(text: &str, left: &Run, right: &Run) -> Option<(Run, usize)> {
    let gap = line_end(text, left, right)?;
    let mut groups: Vec<DigitGroup> = left.groups[left.groups.len().saturating_sub(MOST)..].to_vec();
    let middle = groups.len();
    groups.extend(right.groups.iter().take(MOST));
    groups[middle].gap = gap;
    Some((Run { groups }, middle))
}

/// What joins two runs if nothing but the end of a line is between them.
fn line_end(text: &str, left: &Run, right: &Run) -> Option<Gap> {
    let (last, first) = (left.groups.last()?, right.groups.first()?);
    let between = text.get(last.end..first.start)?;
    if between.len() > 24 || first.plus {
        return None;
    }
    let (before, after) = between.split_once('\n')?;
    let before = before.trim_end_matches([' ', '\t', '\r']);
    let before = before.strip_prefix(')').unwrap_or(before).trim_start_matches(' ');
    let after = after.strip_suffix('(').unwrap_or(after);
    if !after.chars().all(|c| MARGIN.contains(c)) {
        return None;
    }
    match before {
        "" => Some(Gap::Blank),
        "-" => Some(Gap::Hyphen),
        "/" => Some(Gap::Slash),
        _ => None,
    }
}

fn across(text: &str, run: &Run, middle: usize, cut: bool) -> Option<RedactedSpan> {
    let barred = barred(text, run);
    let end = run.groups.len();
    let may_cut = |at: usize| at == 0 || at == end || matches!(run.groups[at].gap, Gap::Blank | Gap::Wide);
    // The longest number is meant, and of equally long ones the first.
    for from in (0..middle).filter(|at| may_cut(*at)) {
        for to in (middle + 1..=end).rev().filter(|at| may_cut(*at)) {
            let whole = (from, to) == (0, end) && !cut;
            if !barred[from..to].contains(&true) && is_wrapped(text, run, from, to, whole) {
                return Some(span(text, &run.groups, from, to));
            }
        }
    }
    None
}

/// Numbers in columns are above each other without being parts of one number. So there must be a word that announces a
/// phone number, a plus or a parenthesis; or the lines are prose, and all the digits at their ends belong together.
fn is_wrapped(text: &str, run: &Run, from: usize, to: usize, whole: bool) -> bool {
    let number = Number::new(text, run, from, to);
    if !(6..=16).contains(&number.count()) || is_joined(text, run, from, to) {
        return false;
    }
    let (first, last) = (&run.groups[from], &run.groups[to - 1]);
    let start = start_of(text, first);
    let context = context(&text[..start]);
    let marked = first.plus
        || number.is_parenthesised()
        || matches!(context, PhoneContext::Phone | PhoneContext::Call);
    let words_before = || {
        let line = text[..start].rsplit('\n').next().unwrap_or_default();
        line.chars().filter(|c| c.is_alphabetic()).count() >= 2
    };
    let words_after = || {
        let line = text[last.end..].split('\n').next().unwrap_or_default();
        line.chars().filter(|c| c.is_alphabetic()).count() >= 2
    };
    is_phone(&number, context) && (marked || (whole && (words_before() || words_after())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::RedactionKind;
    use crate::redact::digits::runs;

    fn found(text: &str) -> Vec<&str> {
        let mut spans = Vec::new();
        find(text, &runs(text).collect::<Vec<_>>(), &mut spans);
        assert!(spans.iter().all(|span| span.kind == RedactionKind::Phone));
        spans.iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn numbers_in_two_lines() {
        for (text, number) in [
            ("Tel. 030\n1234567", "030\n1234567"),
            ("Call +49 30\n1234567 today", "+49 30\n1234567"),
            ("> Phone: (555)\n> 123-4567", "(555)\n> 123-4567"),
            ("# reach her on 415 555\n# 2671 after noon", "415 555\n# 2671"),
            ("ring 555-123-\n4567 now", "555-123-\n4567"),
            ("Fax 0221 /\r\n  1234567", "0221 /\r\n  1234567"),
        ] {
            assert_eq!(found(text), [number], "{text:?}");
        }
    }

    #[test]
    fn columns_are_not_numbers() {
        for text in [
            "030\n1234567",
            "17 030\n18 1234567",
            "415 555\n416 2671",
            "sizes 100 200\n300 4000 and more",
            "in 2021\n1234567 people",
            "item 17\n2021-05-03 12",
            "030\n\n1234567 people",
        ] {
            assert!(found(text).is_empty(), "{text:?}: {:?}", found(text));
        }
    }
}
