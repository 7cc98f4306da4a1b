//! Phone numbers: by a form that nothing else has, or by a word before them.

use std::sync::LazyLock;

use regex::Regex;

use super::digits::{DigitGroup, Gap, Run, runs};
use super::{RedactedSpan, RedactionKind, wrapped};

pub(super) fn find(text: &str, spans: &mut Vec<RedactedSpan>) {
    let runs: Vec<Run> = runs(text).collect();
    for run in &runs {
        if run.groups.iter().map(DigitGroup::width).sum::<usize>() >= 6 {
            in_run(text, run, spans);
        }
    }
    wrapped::find(text, &runs, spans);
    vanity(text, spans);
}

/// The words before a number, as far as they say what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhoneContext {
    /// `Tel.:`, `phone number is`.
    Phone,
    /// `call us at`: a number in pieces may follow.
    Call,
    /// `order no.`, `ISBN`.
    Other,
    None,
}

fn in_run(text: &str, run: &Run, spans: &mut Vec<RedactedSpan>) {
    let groups = &run.groups;
    let barred: Vec<bool> = barred(text, run);
    let mut first = 0;
    while first < groups.len() {
        if barred[first] {
            first += 1;
            continue;
        }
        let end = (first..groups.len()).find(|&at| barred[at]).unwrap_or(groups.len());
        segment(text, run, first, end, spans);
        first = end;
    }
}

/// Groups that cannot belong to a phone number: parts of dates, addresses of machines, words.
pub(super) fn barred(text: &str, run: &Run) -> Vec<bool> {
    let groups = &run.groups;
    let mut barred: Vec<bool> = groups.iter().map(|group| group.tainted).collect();
    let value = |at: usize| text[groups[at].start..groups[at].end].parse::<u64>().unwrap_or(u64::MAX);
    let mut first = 0;
    while first < groups.len() {
        // A cluster of groups with the same dense gap.
        let dense = |gap: Gap| matches!(gap, Gap::Hyphen | Gap::Dot | Gap::Slash);
        let kind = groups.get(first + 1).map_or(Gap::None, |next| next.gap);
        let same = |at: &usize| groups[*at].gap == kind && dense(kind);
        let end = first + 1 + (first + 1..groups.len()).take_while(same).count();
        let width = |at: usize| groups[first + at].width();
        let is_date = match end - first {
            3 => is_date([0, 1, 2].map(|at| (width(at), value(first + at)))),
            // 2019-2021 and 05/2021.
            2 => is_year(width(1), value(first + 1)) && (width(0) <= 2 || is_year(width(0), value(first))),
            _ => false,
        };
        let is_machine = end - first == 4
            && kind == Gap::Dot
            && (first..end).all(|at| groups[at].width() <= 3 && value(at) <= 255)
            && !(groups[first].width() == 2 && (first..end).all(|at| groups[at].width() == 2));
        let marked = groups[first].plus || groups[first..end].iter().any(|group| group.open);
        // `+009999-12-31`: a year with a sign.
        let is_long_year = end - first == 3
            && kind == Gap::Hyphen
            && (4..=6).contains(&width(0))
            && (width(1), width(2)) == (2, 2)
            && (1..=12).contains(&value(first + 1))
            && (1..=31).contains(&value(first + 2));
        let is_decimal = end - first == 2
            && kind == Gap::Dot
            && width(0) >= 4
            && !text[groups[first].start..].starts_with('0');
        if (is_date || is_machine) && !marked || is_long_year || is_decimal {
            barred[first..end].fill(true);
        }
        first = end;
    }
    barred
}

fn is_year(width: usize, value: u64) -> bool {
    width == 4 && (1900..=2099).contains(&value)
}

fn is_date(parts: [(usize, u64); 3]) -> bool {
    let [(width, one), (middle, two), (last, three)] = parts;
    let day = |value: u64| (1..=31).contains(&value);
    let month = |value: u64| (1..=12).contains(&value);
    let year_first = is_year(width, one) && middle <= 2 && last <= 2 && (month(two) || month(three));
    let year_last = width <= 2 && middle <= 2 && (is_year(last, three) || last == 2);
    year_first || (year_last && day(one) && day(two) && (month(one) || month(two)))
}

/// Groups that may all belong to one number, to several, or to none.
fn segment(text: &str, run: &Run, first: usize, end: usize, spans: &mut Vec<RedactedSpan>) {
    let groups = &run.groups;
    let digits = |first: usize, end: usize| groups[first..end].iter().map(DigitGroup::width).sum::<usize>();
    // `030 1234567 / 030 7654321`, and a plus inside begins another number.
    let border = (first + 1..end).find(|&at| {
        let wide = groups[at].gap == Gap::Wide && digits(first, at) >= 6 && digits(at, end) >= 6;
        wide || groups[at].plus
    });
    if let Some(border) = border {
        segment(text, run, first, border, spans);
        return segment(text, run, border, end, spans);
    }
    if digits(first, end) < 6 || is_joined(text, run, first, end) {
        return;
    }
    let context = context(&text[..start_of(text, &groups[first])]);
    if context != PhoneContext::Phone && is_dump(text, &groups[first..end]) {
        return;
    }
    if is_phone(&Number::new(text, run, first, end), context) {
        spans.push(span(text, groups, first, end));
        return;
    }
    // A number between others, as in a log: only what cannot be anything else.
    let may_cut = |at: usize| at == first || at == end || matches!(groups[at].gap, Gap::Blank | Gap::Wide);
    let mut from = first;
    while from < end {
        let to = (from + 1..=end.min(from + 8)).rev().find(|&to| {
            let number = Number::new(text, run, from, to);
            let clear = is_unmistakable(&number) || is_among_others(&number);
            may_cut(from) && may_cut(to) && (from, to) != (first, end) && clear
        });
        if let Some(to) = to {
            spans.push(span(text, groups, from, to));
        }
        from = to.unwrap_or(from + 1);
    }
}

/// Hangs on a word by a dash, a slash, a dot or an underscore: `a1b2-0123-4567`, `v1.030.123456.tar`.
pub(super) fn is_joined(text: &str, run: &Run, first: usize, end: usize) -> bool {
    let letter_or_digit = |c: char| c.is_alphanumeric() || c == '_';
    let before = &text[..start_of(text, &run.groups[first])];
    let mut back = before.chars().rev();
    let tied = match (back.next(), back.next()) {
        (Some('-' | '/' | '=' | '@'), Some(c)) if c.is_ascii_digit() => true,
        (Some('-' | '_' | '/' | '@' | '+'), Some(c)) => {
            letter_or_digit(c) && context(before) != PhoneContext::Phone
        }
        (Some('.'), Some(c)) => letter_or_digit(c) && context(before) != PhoneContext::Phone,
        _ => false,
    };
    let mut ahead = text[run.groups[end - 1].end..].chars();
    let led = match (ahead.next(), ahead.next()) {
        (Some('-' | '/' | '@'), Some(c)) => letter_or_digit(c),
        _ => false,
    };
    tied || led
}

/// Pairs of digits beside pairs with letters: `1a 04 31 32 33 34`.
fn is_dump(text: &str, groups: &[DigitGroup]) -> bool {
    let hex = |pair: &[u8]| {
        pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit) && pair.iter().any(u8::is_ascii_alphabetic)
    };
    let (before, after) = (&text[..groups[0].start], &text[groups[groups.len() - 1].end..]);
    let last = before.trim_end_matches(' ').as_bytes().rsplit(|byte| !byte.is_ascii_alphanumeric()).next();
    let next = after.trim_start_matches(' ').as_bytes().split(|byte| !byte.is_ascii_alphanumeric()).next();
    let beside =
        (before.ends_with(' ') && last.is_some_and(hex)) || (after.starts_with(' ') && next.is_some_and(hex));
    beside && groups.len() >= 4 && groups.iter().all(|group| group.width() == 2)
}

/// Where the number begins, with its plus and its parenthesis.
pub(super) fn start_of(text: &str, group: &DigitGroup) -> usize {
    let start = group.start - usize::from(group.plus);
    let paired = group.open && group.closed;
    start - usize::from(paired && text[..start].ends_with('('))
}

pub(super) fn span(text: &str, groups: &[DigitGroup], first: usize, end: usize) -> RedactedSpan {
    static EXTENSION: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)\A(?:[ ,;]{0,3}(?:ext(?:ension|n)?|x|durchwahl|dw|poste|int)[ .:=]{0,2}\d{1,6}| ?# ?\d{1,6})\b",
        )
    });
    let last = &groups[end - 1];
    let after = &text[last.end..text.floor_char_boundary(last.end + 32)];
    let extension = EXTENSION.find(after).map_or(0, |found| found.end());
    // `(+49301234567)` is in parentheses, `(+49) 30 1234567` has some.
    let alone = DigitGroup { closed: groups[first].closed && end - first > 1, ..groups[first] };
    RedactedSpan { start: start_of(text, &alone), end: last.end + extension, kind: RedactionKind::Phone }
}

/// The pieces of what may be a phone number.
pub(super) struct Number<'r> {
    groups: &'r [DigitGroup],
    widths: Vec<usize>,
    digits: Vec<u8>,
}

impl<'r> Number<'r> {
    pub(super) fn new(text: &str, run: &'r Run, first: usize, end: usize) -> Number<'r> {
        let groups = &run.groups[first..end];
        let widths = groups.iter().map(DigitGroup::width).collect();
        Number { groups, widths, digits: run.digits(text, first..end) }
    }

    pub(super) fn count(&self) -> usize {
        self.digits.len()
    }

    pub(super) fn is_parenthesised(&self) -> bool {
        self.groups[0].open && self.groups[0].closed
    }

    fn gaps_are(&self, allowed: &[Gap]) -> bool {
        self.groups[1..].iter().all(|group| allowed.contains(&group.gap))
    }

    /// Some piece is joined to the next by something denser than a blank.
    fn has_dense_gap(&self) -> bool {
        self.groups[1..].iter().any(|group| !matches!(group.gap, Gap::Blank | Gap::Wide))
    }

    /// 1 234 567.
    fn is_thousands(&self) -> bool {
        self.widths.len() > 1 && self.widths[0] <= 3 && self.widths[1..].iter().all(|&width| width == 3)
    }
}

pub(super) fn is_phone(number: &Number<'_>, context: PhoneContext) -> bool {
    if number.groups[0].plus {
        return is_international(number, &number.digits);
    }
    if number.is_parenthesised() && number.groups.len() == 1 {
        return false;
    }
    match context {
        PhoneContext::Other => return false,
        PhoneContext::Phone if (6..=15).contains(&number.count()) => return true,
        PhoneContext::Call if (7..=15).contains(&number.count()) && number.groups.len() > 1 => return true,
        _ => {}
    }
    // 252.227-7013 is a clause.
    let gaps: Vec<Gap> = number.groups[1..].iter().map(|group| group.gap).collect();
    let steady = gaps.iter().all(|gap| *gap == gaps[0]) || gaps.first() == Some(&Gap::Blank);
    is_unmistakable(number)
        || is_behind_trunk_zero(number)
        || steady
            && matches!(
                (&number.widths[..], &number.digits[..]),
                // North America with blanks or dots; China; Australia's and New Zealand's free numbers.
                ([3, 3, 4], [2..=9, ..])
                    | ([1, 3, 3, 4], [1, 2..=9, ..])
                    | ([3, 4, 4], [1, 3..=9, ..])
                    | ([4, 3, 3], [1, 3 | 8, 0, 0, ..])
            )
}

/// Whether the number is a phone number regardless of the words around it.
fn is_unmistakable(number: &Number<'_>) -> bool {
    let dense = number.gaps_are(&[Gap::Hyphen]);
    let (widths, digits) = (&number.widths[..], &number.digits[..]);
    if number.groups[0].plus {
        return is_international(number, digits);
    }
    let pairs = widths.iter().all(|&width| width == 2);
    if digits.starts_with(&[0, 0])
        && widths[0] >= 2
        && !pairs
        && number.groups.len() > 1
        && digits.get(2) != Some(&0)
    {
        return number.count() >= 10 && is_international(number, &digits[2..]);
    }
    let north_american = dense && matches!((widths, digits), ([3, 3, 4], _) | ([1, 3, 3, 4], [1, ..]));
    // 8-800-555-35-35, 8 (495) 123-45-67.
    let russian = matches!((widths, digits), ([1, 3, 3, 2, 2], [7 | 8, 3..=9, ..])) && number.has_dense_gap();
    north_american || russian || is_area_in_parentheses(number)
}

fn is_international(number: &Number<'_>, digits: &[u8]) -> bool {
    let Some(country) = country_code(digits) else { return false };
    let bare = number.groups.len() == 1;
    let count = digits.len();
    let north_american = digits[0] == 1 && country == 1;
    let long_enough = if bare { count >= 10 } else { count >= 8 };
    let thousands = number.is_thousands() && count <= 9;
    (if north_american { count == 11 } else { long_enough && count <= 16 }) && !thousands
}

/// The width of the country's code that a number begins with.
fn country_code(digits: &[u8]) -> Option<usize> {
    let [one, two, ..] = *digits else { return None };
    Some(match (one, two) {
        (1 | 7, _) => 1,
        (2, 0 | 7) | (3, 0..=4 | 6 | 9) | (4, 0 | 1 | 3..=9) | (5, 1..=8) | (6, 0..=6) => 2,
        (8, 1 | 2 | 4 | 6) | (9, 0..=5 | 8) => 2,
        (2, 1..=6 | 8 | 9) | (3, 5 | 7 | 8) | (4, 2) | (5, 0 | 9) | (6, 7..=9) => 3,
        (8, 0 | 5 | 7 | 8) | (9, 6 | 7 | 9) => 3,
        _ => return None,
    })
}

/// `(030) 123 45 67`, `(555) 123-4567`, `1 (800) 555-0199`, `(11) 91234-5678`.
fn is_area_in_parentheses(number: &Number<'_>) -> bool {
    let (widths, digits) = (&number.widths[..], &number.digits[..]);
    let own_country = widths.first() == Some(&1) && matches!(digits[0], 1 | 7 | 8);
    let groups = if own_country { &number.groups[1..] } else { number.groups };
    let [area, rest @ ..] = groups else { return false };
    if !(area.open && area.closed) || rest.is_empty() || rest.iter().any(|group| group.open) {
        return false;
    }
    let skipped = usize::from(own_country);
    let widths = &widths[skipped + 1..];
    let count: usize = widths.iter().sum();
    if digits[skipped] == 0 {
        return (2..=6).contains(&area.width())
            && (5..=9).contains(&count)
            && widths.iter().all(|&width| width >= 2);
    }
    (2..=3).contains(&area.width()) && matches!(widths, [3, 4] | [4, 4] | [5, 4] | [3, 2, 2])
}

/// `030 1234567`, `0171-1234567`, `06 12 34 56 78`: an area behind a zero.
fn is_behind_trunk_zero(number: &Number<'_>) -> bool {
    let (widths, digits) = (&number.widths[..], &number.digits[..]);
    let [area, rest @ ..] = widths else { return false };
    if !matches!(digits, [0, 1..=9, ..]) || rest.is_empty() || !(2..=5).contains(area) {
        return false;
    }
    // An American postal code is 5-4, a serial number of journals 4-4 (too short anyway).
    if matches!(widths, [5, 4]) || !(9..=12).contains(&number.count()) || rest.iter().any(|&width| width < 2)
    {
        return false;
    }
    let columns = number.gaps_are(&[Gap::Blank]);
    // 01 02 03 04 05, 010 020 030: a dump or a table.
    let alike = columns && number.groups.iter().all(|group| digits_of(number, group)[0] == 0);
    let pairs = widths.iter().all(|&width| width == 2);
    // The pieces of a number keep to one separator after the area.
    let steady =
        number.groups.get(2..).unwrap_or_default().iter().all(|group| group.gap == number.groups[2].gap);
    let many = widths.len() > 5;
    (if pairs { widths.len() == 5 } else { !many }) && !alike && steady
}

/// `17 030 1234567`: an area behind a zero and the rest in one piece, which a column of numbers hardly ever has.
fn is_among_others(number: &Number<'_>) -> bool {
    matches!(number.widths[..], [3..=5, 5..=8]) && is_behind_trunk_zero(number)
}

fn digits_of<'n>(number: &'n Number<'_>, group: &DigitGroup) -> &'n [u8] {
    let before: usize =
        number.groups.iter().take_while(|other| other.start < group.start).map(DigitGroup::width).sum();
    &number.digits[before..before + group.width()]
}

pub(super) fn context(before: &str) -> PhoneContext {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)(?:\b(?:order|invoice|ref|reference|isbn|issn|sku|serial|part|version|ver|release|build|account|konto|iban|bic|case|ticket|issue|bug|rechnung|bestell|auftrag|kunden|artikel|vorgang|akten|id|ids|page|pages|pp|seite|seiten|line|lines|zeile|zeilen|rfc|iso|din|doi|patent|lot|batch|code|zip|plz|port|size|bytes|offset|commit|rev|revision|vat|ustid|steuer|tracking|sendung|imei|mac|vin|crypto|hash|checksum)\p{L}*\.?(?: ?(?:no|nr|num|number|nummer|id)\b)?|(?:nummer|number)n?)[ .:#=°'\x22\[(]{0,4}\z",
        )
    });
    static PHONE: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)(?:(?:\b|_)(?:tel|tél|telefon|telefono|teléfono|telefone|telephone|téléphone|telefoon|telefax|phone|fon\b|mobil|mobile|móvil|portable|cell|cellphone|cellular|celular|fax|handy|hotline|whatsapp|rufnummer|durchwahl|landline|voicemail|puh|tlf|tfn|gsm|wa\.me)|(?:phone|telefon|mobil|handy|fax)(?:number|nummer|nr)?|тел|телефон|моб|电话|手机|電話|携帯|☎|📞|📱|✆)(?:\p{L}|_){0,10}[^\p{N}\n]{0,24}\n?[^\p{N}\n]{0,4}\z",
        )
    });
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r"(?i)\b(?:call|calling|dial|ring|text|sms|reach|contact|anrufen|ruf|rufen)(?:[ \n](?:me|us|him|her|them|now|at|on|under|unter|mich|uns|an|sie|the|our|office|desk|back))*[ :,\n]{1,2}\z",
        )
    });
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(56))..];
    if PHONE.is_match(before) {
        PhoneContext::Phone
    } else if OTHER.is_match(before) {
        PhoneContext::Other
    } else if CALL.is_match(before) {
        PhoneContext::Call
    } else {
        PhoneContext::None
    }
}

/// `1-800-FLOWERS`.
fn vanity(text: &str, spans: &mut Vec<RedactedSpan>) {
    static VANITY: LazyLock<Regex> = LazyLock::new(|| {
        compile(r"\b1[- .](?:800|833|844|855|866|877|888)[- .][A-Z0-9]{2,4}(?:-?[A-Z]{2,5}){1,2}\b")
    });
    spans.extend(VANITY.find_iter(text).map(|hit| RedactedSpan {
        start: hit.start(),
        end: hit.end(),
        kind: RedactionKind::Phone,
    }));
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants, compiled by the tests")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::found_by;

    fn found(text: &str) -> Vec<&str> {
        found_by(find, text)
    }

    #[test]
    fn numbers() {
        for number in [
            "+49 30 1234567",
            "+49 (0)30 123 45 67",
            "+493012345678",
            "+1 (555) 123-4567",
            "+1.555.123.4567",
            "+33 6 12 34 56 78",
            "+34 612 345 678",
            "+44 20 7946 0958",
            "+86 138 1234 5678",
            "0049 30 1234567",
            "(030) 123 45 67",
            "(030) 1234567",
            "030/1234567",
            "030-1234567",
            "030 1234567",
            "0171 1234567",
            "06 12 34 56 78",
            "01.23.45.67.89",
            "555-123-4567",
            "1-800-555-0199",
            "(555) 123-4567",
            "555.123.4567",
            "1 (800) 555-0199",
            "8 (495) 123-45-67",
            "020 7946 0958",
            "01632 960983",
            "0412 345 678",
            "090-1234-5678",
            "(11) 91234-5678",
            "138 1234 5678",
            "555-123-4567 ext. 12",
            "555-123-4567x12",
            "1-800-FLOWERS",
        ] {
            for text in [
                number.to_owned(),
                format!("Ring {number}."),
                format!("({number})"),
                format!("2021-05-03 {number}"),
                format!("on 03.05.2021 {number} rang"),
                format!("{number}, {number}"),
                format!("\"{number}\""),
            ] {
                assert!(
                    !found(&text).is_empty() && found(&text).iter().all(|part| *part == number),
                    "{text}: {:?}",
                    found(&text)
                );
            }
        }
        assert_eq!(found("Tel.: 123456"), ["123456"]);
        assert_eq!(found("phone number is 5551234567"), ["5551234567"]);
        assert_eq!(found("Call us at 555 1234"), ["555 1234"]);
        assert_eq!(found("Phone:\n5551234567"), ["5551234567"]);
        assert_eq!(found("Tel. 030 1234567 / 030 7654321"), ["030 1234567", "030 7654321"]);
        assert_eq!(found("tel:+4930123456"), ["+4930123456"]);
    }

    #[test]
    fn other_numbers() {
        for text in [
            "2021-05-03",
            "2021-05-03T12:30:45+02:00",
            "2021-05-03 12:30:45.123456 +0200",
            "03.05.2021 12:30",
            "05/03/2021",
            "192.168.100.101",
            "010.001.002.003",
            "1.22.333",
            "978-3-16-148410-0",
            "ISBN 0-306-40615-2",
            "1,234,567.89",
            "1 234 567",
            "+1 234 567",
            "12 345 678 €",
            "pages 1234-5678",
            "2019-2021",
            "550e8400-e29b-41d4-a716-446655440000",
            "01234567-8901-2345-6789-012345678901",
            "order 0123-456789",
            "1234567890",
            "0x0301234567",
            "a1b2-0123-456789",
            "01 02 03 04 05 06 07 08",
            "00 01 02 03 04",
            "010 020 030",
            "1a 04 31 32 33 34",
            "+999999-12-31",
            "+35236450.6",
            "Clause 252.227-7013",
            "color #909090",
            "02139-4307",
            "0378-5955",
            "52.5200, 13.4050",
            "0.030 1234567",
            "x+4915112345678",
            "123-45-6789",
            "Nature (2021) 593, 123-130",
            "1620045000",
            "10 -20 -30 -40",
            "+0100",
            "4.15.0-142-generic",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
