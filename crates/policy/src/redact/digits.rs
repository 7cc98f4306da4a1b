//! Runs of digit groups, as numbers that people write in pieces have them: `+49 (0)30 123-45 67`.

use std::ops::Range;

/// Groups of digits with nothing but separators between them.
pub(super) struct Run {
    pub(super) groups: Vec<DigitGroup>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct DigitGroup {
    /// The digits alone.
    pub(super) start: usize,
    pub(super) end: usize,
    /// What separates this group from the one before.
    pub(super) gap: Gap,
    pub(super) plus: bool,
    /// In parentheses: `(030)`, or `(030` where the closing one comes later.
    pub(super) open: bool,
    pub(super) closed: bool,
    /// Part of a word, a decimal, a time, an amount or an escape.
    pub(super) tainted: bool,
}

impl DigitGroup {
    pub(super) fn width(&self) -> usize {
        self.end - self.start
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// The first of its run, or right at a parenthesis.
    None,
    Blank,
    Hyphen,
    Dot,
    Slash,
    /// A hyphen or a slash between blanks.
    Wide,
}

impl Run {
    /// The values of the digits of some groups.
    pub(super) fn digits(&self, text: &str, groups: Range<usize>) -> Vec<u8> {
        let bytes = text.as_bytes();
        self.groups[groups]
            .iter()
            .flat_map(|group| &bytes[group.start..group.end])
            .map(|byte| byte - b'0')
            .collect()
    }
}

/// More groups than this are a table, whose rest makes a run of its own.
const MOST_GROUPS: usize = 24;

pub(super) fn runs(text: &str) -> impl Iterator<Item = Run> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes[at..].iter().position(u8::is_ascii_digit)?;
        let mut groups = vec![group(text, at, Gap::None)];
        while groups.len() < MOST_GROUPS {
            let last = &groups[groups.len() - 1];
            let Some((start, gap)) = gap(text, last) else { break };
            groups.push(group(text, start, gap));
        }
        at = groups[groups.len() - 1].end;
        Some(Run { groups })
    })
}

fn group(text: &str, start: usize, gap: Gap) -> DigitGroup {
    let bytes = text.as_bytes();
    let end = bytes[start..]
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .map_or(bytes.len(), |width| start + width);
    let (plus, before) = match text[..start].strip_suffix('+') {
        Some(before) => (true, before),
        None => (false, &text[..start]),
    };
    let open = before.ends_with('(');
    let closed = text[end..].starts_with(')');
    // A comma taints nothing: in `17,030 1234567,Anna` it separates fields, and a decimal has no form of a phone number.
    let tainted = taints_before(before) || taints_after(&text[end..]);
    DigitGroup { start, end, gap, plus, open, closed, tainted }
}

fn taints_before(before: &str) -> bool {
    let mut chars = before.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('.' | ','), Some(_)) => false,
        (Some(':' | '\''), Some(c)) => c.is_ascii_digit(),
        (Some(c), _) => c.is_alphanumeric() || "_$€£¥₹%\\^#".contains(c),
        (None, _) => false,
    }
}

fn taints_after(after: &str) -> bool {
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some(':' | '\''), Some(c)) => c.is_ascii_digit(),
        (Some('.'), Some(c)) => c.is_alphabetic() || c == '_',
        (Some(' ' | '\u{a0}' | '\u{202f}'), Some(c)) => "€£¥₹%°".contains(c) || is_unit(after),
        // `x12` after a number is an extension.
        (Some('x' | 'X'), Some(c)) => !c.is_ascii_digit(),
        (Some(c), _) => (c.is_alphanumeric() && !after.starts_with("ext")) || "_$€£¥₹%°".contains(c),
        (None, _) => false,
    }
}

/// ` EUR`, ` kg` …: the number counts something.
fn is_unit(after: &str) -> bool {
    #[rustfmt::skip]
    const UNITS: [&str; 26] = [
        "EUR", "USD", "GBP", "CHF", "JPY", "Euro", "euros", "dollars", "Dollar", "kg", "km", "m", "cm", "mm", "g", "t", "MB",
        "GB", "kB", "KB", "bytes", "Bytes", "B", "ms", "s", "records",
    ];
    let word = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    UNITS.contains(&word)
}

/// Where the next group begins, if only a separator is between.
fn gap(text: &str, last: &DigitGroup) -> Option<(usize, Gap)> {
    let rest = &text[last.end..];
    let (after_close, closes) = rest.strip_prefix(')').map_or((rest, false), |rest| (rest, true));
    let mut gap = Gap::None;
    let mut at = after_close;
    let mut blanks = 0;
    while let Some(c) = at.chars().next() {
        let next = match c {
            ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' => Gap::Blank,
            '-' | '\u{2010}' | '\u{2011}' | '\u{2013}' => Gap::Hyphen,
            '.' | '\u{b7}' => Gap::Dot,
            '/' => Gap::Slash,
            _ => break,
        };
        gap = match (gap, next) {
            (Gap::None, next) => next,
            // Two blanks are a table's; `2021. 555` is the end of a sentence.
            (Gap::Blank, Gap::Hyphen) | (Gap::Blank, Gap::Slash) => next,
            (Gap::Hyphen | Gap::Slash, Gap::Blank) if blanks == 1 => Gap::Wide,
            (Gap::Slash, Gap::Blank) => Gap::Slash,
            _ => return None,
        };
        blanks += usize::from(next == Gap::Blank);
        at = &at[c.len_utf8()..];
    }
    // ` -5` is a negative number.
    let negative = gap == Gap::Hyphen && blanks == 1;
    let (at, opens) = at.strip_prefix('(').map_or((at, false), |at| (at, true));
    let joined = gap == Gap::None && !closes && !opens;
    let start = text.len() - at.len();
    (at.starts_with(|c: char| c.is_ascii_digit()) && !negative && !joined).then_some((start, gap))
}
