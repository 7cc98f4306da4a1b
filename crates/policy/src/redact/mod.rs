//! Blanks e-mail addresses, phone numbers, payment cards, bank accounts and credentials in a text that is about to be shown.
//!
//! Holding a file back ([`crate::Policy::scan`]) and blanking a part of it are different bargains: a wrong
//! hit costs a whole file there and one word here. So the rules here are wider: a password of six
//! characters counts, and so does a documentation key. Decisions, each with lines in `tests/fixtures/redact`:
//!
//! - An address needs a host with a top-level domain. `git@host.com:team/project.git`, a URL's user name,
//!   `icon@2x.png`, `package@1.2.3` and `unit@tty1.service` are not addresses.
//! - A phone number needs a form that only phone numbers have (a country code after `+` or `00`, an area code in
//!   parentheses or behind a 0, the North American 3-3-4) or a word such as `Tel.` before it. Dates, IP
//!   addresses, versions, amounts, ranges and identifiers stay.
//! - A card number needs an issuer's prefix, its length, and a check digit that fits. So does an IBAN: a country, its
//!   length, and check digits.
//! - Characters that are not seen do not count ([`fold`]), and an address or a number may go on in the next line.

mod card;
mod digits;
mod email;
mod fold;
mod iban;
mod phone;
mod secret;
mod wrapped;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use self::fold::Folded;
use crate::policy::PolicyError;
use crate::secrets::{Scanner, SecretPatterns};

/// What a window looks at on either side: the longest private key in its usual notation has 6.4 kB.
const MARGIN: usize = 8 << 10;

/// A blank can be the border that another item was missing, so the text is looked at again until nothing
/// changes. Two rounds settle what people write; the bound is for what they would not.
const MAX_ROUNDS: usize = 8;

/// Blanks what the default rules know. See [`Redactor`] for the owner's patterns.
pub fn redact(text: &str) -> Cow<'_, str> {
    DEFAULT.redact(text)
}

/// A part of a text, blanked; see [`Redactor::redact_window`].
pub fn redact_window(text: &str, range: Range<usize>) -> String {
    DEFAULT.redact_window(text, range)
}

static DEFAULT: LazyLock<Redactor> = LazyLock::new(|| Redactor {
    scanner: Scanner::new(&SecretPatterns::Default).expect("the default rules are constants"),
});

/// The default rules and the owner's `security.secret_patterns`. Built once, shared by all threads.
#[derive(Debug)]
pub struct Redactor {
    scanner: Scanner,
}

impl Redactor {
    /// The text that replaces what is blanked.
    pub const BLANKS: [&str; 5] = ["[SECRET]", "[IBAN]", "[CARD]", "[EMAIL]", "[PHONE]"];

    /// The owner's patterns are blanked beside the default rules, even where they replace them in the scan.
    pub fn new(patterns: &SecretPatterns) -> Result<Redactor, PolicyError> {
        Ok(Redactor { scanner: Scanner::new(patterns)? })
    }

    pub(crate) fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    /// The text with `[EMAIL]`, `[PHONE]`, `[CARD]`, `[IBAN]` and `[SECRET]` in the place of such things.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let spans = self.spans(text);
        if spans.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(render(text, 0..text.len(), &spans)) }
    }

    /// A path, blanked name by name, so that its folders stay apart and a name that is blanked can be found again.
    pub fn redact_path(&self, path: &str) -> String {
        path.split('/').map(|name| self.redact(name)).collect::<Vec<_>>().join("/")
    }

    /// A part of a text, blanked with regard to its surroundings: half a key at the edge is still hidden.
    /// A range that cuts a character is narrowed to whole ones; one beyond the text is cut at its end.
    pub fn redact_window(&self, text: &str, range: Range<usize>) -> String {
        let (start, end) = (text.ceil_char_boundary(range.start), text.floor_char_boundary(range.end));
        if start >= end {
            return String::new();
        }
        let from = text.floor_char_boundary(start.saturating_sub(MARGIN));
        let to = text.ceil_char_boundary(end.saturating_add(MARGIN));
        let around = &text[from..to];
        let mut spans = self.spans(around);
        if from > 0 {
            secret::find_below_header(text, around, &mut spans);
            settle(&mut spans);
        }
        let window = render(around, start - from..end - from, &spans);
        // The cut itself may have made something look like an item. What is shown must be stable.
        match self.redact(&window) {
            Cow::Borrowed(_) => window,
            Cow::Owned(redacted) => redacted,
        }
    }

    fn spans(&self, text: &str) -> Vec<RedactedSpan> {
        let folded = Folded::new(text);
        let spans = self.settled(&folded.text);
        spans.into_iter().map(|span| folded.original(span)).collect()
    }

    fn settled(&self, text: &str) -> Vec<RedactedSpan> {
        let mut spans = self.round(text);
        if spans.is_empty() {
            return spans;
        }
        for _ in 1..MAX_ROUNDS {
            let shown = render(text, 0..text.len(), &spans);
            let more = self.round(&shown);
            if more.is_empty() {
                break;
            }
            let origin = TextOrigin::new(&spans);
            let more = more.into_iter().map(|span| RedactedSpan {
                start: origin.of(span.start, false),
                end: origin.of(span.end, true),
                kind: span.kind,
            });
            spans.extend(more.collect::<Vec<_>>());
            settle(&mut spans);
        }
        spans
    }

    fn round(&self, text: &str) -> Vec<RedactedSpan> {
        let mut spans = Vec::new();
        secret::find(text, self.scanner.custom(), &mut spans);
        iban::find(text, &mut spans);
        card::find(text, &mut spans);
        email::find(text, &mut spans);
        phone::find(text, &mut spans);
        keep_blanks(text, &mut spans);
        settle(&mut spans);
        spans
    }
}

/// A part of a text that must not be shown. Its borders are character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RedactedSpan {
    start: usize,
    end: usize,
    kind: RedactionKind,
}

/// In the order of precedence where two overlap: the password in a URL is not the name of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RedactionKind {
    Secret,
    Iban,
    Card,
    Email,
    Phone,
}

impl RedactionKind {
    const ALL: [RedactionKind; 5] = [
        RedactionKind::Secret,
        RedactionKind::Iban,
        RedactionKind::Card,
        RedactionKind::Email,
        RedactionKind::Phone,
    ];

    fn blank(self) -> &'static str {
        match self {
            RedactionKind::Secret => "[SECRET]",
            RedactionKind::Iban => "[IBAN]",
            RedactionKind::Card => "[CARD]",
            RedactionKind::Email => "[EMAIL]",
            RedactionKind::Phone => "[PHONE]",
        }
    }
}

/// Drops the spans within a blank: blanking it again would never end.
fn keep_blanks(text: &str, spans: &mut Vec<RedactedSpan>) {
    static BLANK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[(?:SECRET|IBAN|CARD|EMAIL|PHONE)\]")
            .expect("the pattern is a constant, compiled by the tests")
    });
    if spans.is_empty() {
        return;
    }
    let blanks: Vec<Range<usize>> = BLANK.find_iter(text).map(|blank| blank.range()).collect();
    spans.retain(|span| {
        let at = blanks.partition_point(|blank| blank.end < span.end);
        blanks.get(at).is_none_or(|blank| span.start < blank.start)
    });
}

/// Sorts, joins overlapping spans of a kind, and lets the more telling kind have the place where two overlap.
fn settle(spans: &mut Vec<RedactedSpan>) {
    spans.sort_by_key(|span| (span.kind, span.start, span.end));
    let mut settled: Vec<RedactedSpan> = Vec::with_capacity(spans.len());
    let mut kept = 0;
    for kind in RedactionKind::ALL {
        let before = kept;
        for span in spans.iter().filter(|span| span.kind == kind) {
            // What came before is sorted and free of overlaps.
            let at = settled[..before].partition_point(|other| other.end <= span.start);
            if settled[..before].get(at).is_some_and(|other| other.start < span.end) {
                continue;
            }
            match settled[before..].last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => settled.push(*span),
            }
        }
        settled.sort_by_key(|span| span.start);
        kept = settled.len();
    }
    *spans = settled;
}

fn render(text: &str, range: Range<usize>, spans: &[RedactedSpan]) -> String {
    let mut shown = String::with_capacity(range.len());
    let mut at = range.start;
    for span in spans.iter().filter(|span| span.start < range.end && span.end > range.start) {
        shown.push_str(&text[at..span.start.max(at)]);
        shown.push_str(span.kind.blank());
        at = span.end.min(range.end);
    }
    shown.push_str(&text[at..range.end]);
    shown
}

/// Where a place in the rendered text was in the original.
struct TextOrigin {
    /// For each span: where its blank begins and ends in the rendered text, and the span in the original.
    blanks: Vec<(Range<usize>, Range<usize>)>,
}

impl TextOrigin {
    fn new(spans: &[RedactedSpan]) -> TextOrigin {
        let mut blanks = Vec::with_capacity(spans.len());
        let (mut shown, mut at) = (0, 0);
        for span in spans {
            let start = shown + span.start - at;
            shown = start + span.kind.blank().len();
            at = span.end;
            blanks.push((start..shown, span.start..span.end));
        }
        TextOrigin { blanks }
    }

    /// Within a blank, the end or the start of what it stands for.
    fn of(&self, place: usize, is_end: bool) -> usize {
        let next = self.blanks.partition_point(|(shown, _)| shown.start < place);
        match next.checked_sub(1).map(|last| &self.blanks[last]) {
            Some((shown, original)) if place < shown.end => {
                if is_end {
                    original.end
                } else {
                    original.start
                }
            }
            Some((shown, original)) => original.end + place - shown.end,
            None => place,
        }
    }
}

/// What a search for one kind of item finds.
#[cfg(test)]
fn found_by(find: fn(&str, &mut Vec<RedactedSpan>), text: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    find(text, &mut spans);
    spans.iter().map(|span| &text[span.start..span.end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: usize, end: usize, kind: RedactionKind) -> RedactedSpan {
        RedactedSpan { start, end, kind }
    }

    #[test]
    fn overlaps_are_settled() {
        let mut spans = vec![
            span(5, 9, RedactionKind::Phone),
            span(0, 6, RedactionKind::Email),
            span(20, 25, RedactionKind::Email),
            span(22, 30, RedactionKind::Email),
            span(10, 12, RedactionKind::Phone),
            span(24, 26, RedactionKind::Secret),
        ];
        settle(&mut spans);
        assert_eq!(
            spans,
            [
                span(0, 6, RedactionKind::Email),
                span(10, 12, RedactionKind::Phone),
                span(24, 26, RedactionKind::Secret)
            ]
        );
    }

    #[test]
    fn places_lead_back() {
        // "ab[EMAIL]cd[PHONE]" of "ab…6…cd…3…"
        let origin = TextOrigin::new(&[span(2, 8, RedactionKind::Email), span(10, 13, RedactionKind::Phone)]);
        assert_eq!([0, 2, 9, 11, 18, 19].map(|place| origin.of(place, false)), [0, 2, 8, 10, 13, 14]);
        assert_eq!((origin.of(4, false), origin.of(4, true)), (2, 8));
    }

    #[test]
    fn the_owners_patterns_are_blanked_too() {
        let owners = SecretPatterns::Custom(vec!["ticket-[a-z]+".to_owned(), "SECRET|x*".to_owned()]);
        let redactor = Redactor::new(&owners).unwrap();
        let once = redactor.redact("ticket-abc from jo@host.org, a SECRET").into_owned();
        assert_eq!(once, "[SECRET] from [EMAIL], a [SECRET]");
        assert_eq!(redactor.redact(&once), once);
    }

    #[test]
    fn a_window_hides_what_it_cuts() {
        let text = "Ask jörg.müller@host.example or +49 30 1234567 soon";
        let at = |part: &str| text.find(part).unwrap();
        assert_eq!(redact_window(text, at("müller")..at("host") + 2), "[EMAIL]");
        assert_eq!(redact_window(text, at("host")..at(" soon")), "[EMAIL] or [PHONE]");
        assert_eq!(redact_window(text, at("4567")..usize::MAX), "[PHONE] soon");
        // Within a character.
        assert_eq!(redact_window("aé€b", 2..5), "");
        assert_eq!(redact_window("aé€b", 2..6), "€");
        assert_eq!(redact_window("abc", Range { start: 2, end: 1 }), "");
        assert_eq!(redact_window("abc", 9..12), "");
    }

    #[test]
    fn a_window_knows_the_header_of_its_table() {
        let rows: String = (0..2000).map(|row| format!("person{row},garden{row},town\n")).collect();
        let text = format!("name,password,city\n{rows}");
        let at = text.find("person1900").unwrap();
        assert_eq!(redact_window(&text, at..at + 26), "person1900,[SECRET],town");
    }
}
