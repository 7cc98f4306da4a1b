//! International bank account numbers: a country, its length, and check digits that fit.

use std::sync::LazyLock;

use regex::Regex;

use super::{RedactedSpan, RedactionKind};

/// How many characters the numbers of a country have (SWIFT IBAN registry, release 97).
#[rustfmt::skip]
const LENGTHS: [(&str, usize); 89] = [
    ("AD", 24), ("AE", 23), ("AL", 28), ("AT", 20), ("AZ", 28), ("BA", 20), ("BE", 16), ("BG", 22), ("BH", 22), ("BI", 27),
    ("BR", 29), ("BY", 28), ("CH", 21), ("CR", 22), ("CY", 28), ("CZ", 24), ("DE", 22), ("DJ", 27), ("DK", 18), ("DO", 28),
    ("EE", 20), ("EG", 29), ("ES", 24), ("FI", 18), ("FK", 18), ("FO", 18), ("FR", 27), ("GB", 22), ("GE", 22), ("GI", 23),
    ("GL", 18), ("GR", 27), ("GT", 28), ("HN", 28), ("HR", 21), ("HU", 28), ("IE", 22), ("IL", 23), ("IQ", 23), ("IS", 26),
    ("IT", 27), ("JO", 30), ("KW", 30), ("KZ", 20), ("LB", 28), ("LC", 32), ("LI", 21), ("LT", 20), ("LU", 20), ("LV", 21),
    ("LY", 25), ("MC", 27), ("MD", 24), ("ME", 22), ("MK", 19), ("MN", 20), ("MR", 27), ("MT", 31), ("MU", 30), ("NI", 28),
    ("NL", 18), ("NO", 15), ("OM", 23), ("PK", 24), ("PL", 28), ("PS", 29), ("PT", 25), ("QA", 29), ("RO", 24), ("RS", 22),
    ("RU", 33), ("SA", 24), ("SC", 31), ("SD", 18), ("SE", 24), ("SI", 19), ("SK", 24), ("SM", 27), ("SO", 23), ("ST", 25),
    ("SV", 28), ("TL", 23), ("TN", 24), ("TR", 26), ("UA", 29), ("VA", 22), ("VG", 24), ("XK", 20), ("YE", 30),
];

pub(super) fn find(text: &str, spans: &mut Vec<RedactedSpan>) {
    // One separator between two characters, which may be the end of a line.
    static START: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b[A-Z]{2}[0-9]{2}[ \t.-]?\r?\n?[ \t>#*|]{0,4}[A-Z0-9]")
            .expect("the pattern is a constant, compiled by the tests")
    });
    for start in START.find_iter(text) {
        if let Some(end) = end_of(text, start.start()) {
            spans.push(RedactedSpan { start: start.start(), end, kind: RedactionKind::Iban });
        }
    }
}

/// Where the number ends that begins here, if it is one.
fn end_of(text: &str, start: usize) -> Option<usize> {
    let country = text[start..start + 2].to_ascii_uppercase();
    let length = LENGTHS.iter().find(|(code, _)| *code == country)?.1;
    let mut solid: Vec<u8> = Vec::with_capacity(length);
    let mut end = start;
    let (mut gap, mut line_ends) = (0, 0);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        if byte.is_ascii_alphanumeric() {
            solid.push(byte.to_ascii_uppercase());
            end = at + 1;
            gap = 0;
            if solid.len() == length {
                break;
            }
            continue;
        }
        gap += 1;
        line_ends += usize::from(byte == b'\n');
        let separates = b" \t.-\r\n>#*|".contains(&byte);
        if !separates || gap > if line_ends > 0 { 8 } else { 1 } || line_ends > 1 {
            return None;
        }
    }
    let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (solid.len() == length && ends && checks(&solid)).then_some(end)
}

/// ISO 7064, modulo 97: letters count from A = 10, and the first four characters come last.
fn checks(solid: &[u8]) -> bool {
    let (head, tail) = solid.split_at(4);
    let rest = tail.iter().chain(head).fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::found_by;

    #[test]
    fn numbers_of_the_registry() {
        // The registry's own examples.
        for number in [
            "DE89 3704 0044 0532 0130 00",
            "DE89370400440532013000",
            "de89 3704 0044 0532 0130 00",
            "GB29 NWBK 6016 1331 9268 19",
            "FR14 2004 1010 0505 0001 3M02 606",
            "NO93-8601-1117-947",
            "CH93 0076 2011 6238 5295 7",
            "DE89 3704 0044\n0532 0130 00",
            "DE89 3704 0044\r\n  0532 0130 00",
        ] {
            for text in [number.to_owned(), format!("IBAN: {number}."), format!("17,{number},Anna")] {
                assert_eq!(found_by(find, &text), [number], "{text}");
            }
        }
    }

    #[test]
    fn other_text() {
        for text in [
            "DE88 3704 0044 0532 0130 00",
            "DE89 3704 0044 0532 0130",
            "DE89370400440532013000x",
            "ZZ89 3704 0044 0532 0130 00",
            "in 2021 there were 100 of them",
            "de89 is a road",
        ] {
            assert!(found_by(find, text).is_empty(), "{text}");
        }
    }
}
