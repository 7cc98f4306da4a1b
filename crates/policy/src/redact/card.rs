//! Payment card numbers: an issuer's prefix, its length, and a check digit that fits.

use super::digits::{Gap, Run, runs};
use super::wrapped::joined;
use super::{RedactedSpan, RedactionKind};

pub(super) fn find(text: &str, spans: &mut Vec<RedactedSpan>) {
    let runs: Vec<Run> = runs(text).collect();
    for run in &runs {
        let groups = &run.groups;
        let begins = |at: &usize| matches!(groups[*at].gap, Gap::None | Gap::Blank | Gap::Wide);
        for first in (0..groups.len()).filter(begins) {
            let ends = |end: &usize| is_shaped(text, run, first, *end);
            spans.extend(
                (first + 1..=groups.len().min(first + 5)).rev().find(ends).map(|end| span(run, first, end)),
            );
        }
    }
    // In two lines only where all the digits at the line's end belong to it: columns of years would pass one time in ten.
    for (run, _) in runs.windows(2).filter_map(|pair| joined(text, &pair[0], &pair[1])) {
        let end = run.groups.len();
        spans.extend(is_shaped(text, &run, 0, end).then(|| span(&run, 0, end)));
    }
}

fn span(run: &Run, first: usize, end: usize) -> RedactedSpan {
    RedactedSpan { start: run.groups[first].start, end: run.groups[end - 1].end, kind: RedactionKind::Card }
}

/// Bare, 4-4-4-4(-3) or 4-6-5(4), all gaps alike, and with a check digit that fits.
fn is_shaped(text: &str, run: &Run, first: usize, end: usize) -> bool {
    let groups = &run.groups;
    let part = &groups[first..end];
    let alike = part[1..].iter().all(|group| {
        matches!(group.gap, Gap::Blank | Gap::Hyphen) && group.gap == part[1].gap && !group.open
    });
    let widths: Vec<usize> = part.iter().map(|group| group.width()).collect();
    let shape =
        matches!(widths[..], [13..=16] | [4, 4, 4, 4] | [4, 4, 4, 4, 3] | [4, 6, 5] | [4, 6, 4] | [6, 13]);
    // The number of a page or of a record.
    let named = part.len() == 1 && text[..part[0].start].ends_with(['/', '#']);
    let clean = part.iter().all(|group| !group.tainted && !group.plus);
    let free = end == groups.len() || groups[end].gap == Gap::Blank || end - first == 1;
    alike && shape && clean && free && !named && is_card(&run.digits(text, first..end))
}

fn is_card(digits: &[u8]) -> bool {
    let head = |width: usize| digits.iter().take(width).fold(0u32, |sum, digit| sum * 10 + u32::from(*digit));
    let length = digits.len();
    let issued = match head(2) {
        40..=49 => matches!(length, 13 | 16 | 19),
        51..=55 => length == 16,
        22..=27 => length == 16 && (2221..=2720).contains(&head(4)),
        34 | 37 => length == 15,
        36 | 38 => length == 14,
        30 => length == 14 && head(3) <= 305,
        35 => length == 16 && (3528..=3589).contains(&head(4)),
        50 | 56..=59 | 60..=69 => (16..=19).contains(&length),
        _ => false,
    };
    issued && luhn(digits)
}

fn luhn(digits: &[u8]) -> bool {
    let weigh = |(at, digit): (usize, &u8)| match (at % 2, *digit) {
        (0, digit) => u32::from(digit),
        (_, digit @ 0..5) => u32::from(digit) * 2,
        (_, digit) => u32::from(digit) * 2 - 9,
    };
    digits.iter().rev().enumerate().map(weigh).sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_and_other_numbers() {
        let count = |text: &str| {
            let mut spans = Vec::new();
            find(text, &mut spans);
            spans.len()
        };
        // The numbers that payment providers publish for tests.
        for card in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "5555-5555-5555-4444",
            "3782 822463 10005",
            "378282246310005",
            "6011 1111 1111 1117",
            "3056 930902 5904",
            "2223003122003222",
        ] {
            assert_eq!(count(&format!("card {card}, valid")), 1, "{card}");
        }
        for other in [
            "4111111111111112",
            "0.4111111111111111",
            "a4111111111111111",
            "0000 0000 0000 0000",
            "1620045000000000",
            "4111 1111-1111 1111",
        ] {
            assert_eq!(count(other), 0, "{other}");
        }
    }
}
