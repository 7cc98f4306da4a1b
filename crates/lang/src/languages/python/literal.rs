//! Python's numbers and strings: what they are, and how `repr` prints them.

use std::sync::LazyLock;

use regex::Regex;
use ruff_python_ast::{BytesLiteralValue, StringLiteral, StringLiteralValue};
use ruff_text_size::Ranged;

/// The value of a string literal, or of several in a row. Surrogates are values too, so not characters.
pub(super) enum Value {
    Text { points: Vec<u32>, is_u: bool },
    Bytes(Vec<u8>),
}

/// The value as Python has it; the parser's own has no surrogates.
pub(super) fn text(source: &str, literal: &StringLiteralValue) -> Value {
    let mut points = Vec::new();
    for part in literal {
        part_points(source, part, &mut points);
    }
    Value::Text { points, is_u: literal.is_unicode() }
}

pub(super) fn bytes(literal: &BytesLiteralValue) -> Value {
    Value::Bytes(literal.bytes().collect())
}

/// The text of one literal among several.
pub(super) fn part(source: &str, literal: &StringLiteral) -> String {
    let mut points = Vec::new();
    part_points(source, literal, &mut points);
    points.into_iter().map(lossy).collect()
}

fn part_points(source: &str, literal: &StringLiteral, points: &mut Vec<u32>) {
    let before = points.len();
    let written = source.get(literal.start().to_usize()..literal.end().to_usize());
    if written.and_then(|written| unquote(written, points)).is_none() {
        // Characters by their names are known to the parser only.
        points.truncate(before);
        points.extend(literal.value.chars().map(u32::from));
    }
}

fn unquote(literal: &str, points: &mut Vec<u32>) -> Option<()> {
    let (prefix, rest) = literal.split_at(literal.find(['\'', '"'])?);
    let width = if rest.starts_with("'''") || rest.starts_with("\"\"\"") { 3 } else { 1 };
    let inner = rest.get(width..rest.len().checked_sub(width)?)?;
    unescape(inner, prefix.contains(['r', 'R']), points)
}

/// A piece of a string's inside as text.
pub(super) fn plain(inner: &str, raw: bool) -> Option<String> {
    let mut points = Vec::new();
    unescape(inner, raw, &mut points)?;
    Some(points.into_iter().map(lossy).collect())
}

fn lossy(point: u32) -> char {
    char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn unescape(inner: &str, raw: bool, out: &mut Vec<u32>) -> Option<()> {
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' || raw {
            out.push(c as u32);
            continue;
        }
        let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>, count| {
            let mut number = 0;
            for _ in 0..count {
                number = number * 16 + chars.next()?.to_digit(16)?;
            }
            Some(number)
        };
        match chars.next()? {
            '\n' => {}
            '\\' => out.push('\\' as u32),
            '\'' => out.push('\'' as u32),
            '"' => out.push('"' as u32),
            'a' => out.push(7),
            'b' => out.push(8),
            'f' => out.push(12),
            'n' => out.push(10),
            'r' => out.push(13),
            't' => out.push(9),
            'v' => out.push(11),
            'x' => out.push(digits(&mut chars, 2)?),
            'u' => out.push(digits(&mut chars, 4)?),
            'U' => out.push(digits(&mut chars, 8)?),
            'N' => return None,
            first @ '0'..='7' => {
                let mut number = first.to_digit(8)?;
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    number = number * 8 + digit;
                    chars.next();
                }
                out.push(number);
            }
            other => out.extend(['\\' as u32, other as u32]),
        }
    }
    Some(())
}

pub(super) fn repr(value: &Value) -> String {
    match value {
        Value::Text { points, is_u } => {
            let mut out = String::from(if *is_u { "u" } else { "" });
            quote(points, is_printable, &mut out);
            out
        }
        Value::Bytes(bytes) => {
            let points: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
            let mut out = String::from("b");
            quote(&points, |point| (0x20..0x7f).contains(&point), &mut out);
            out
        }
    }
}

/// The kinds of quotes, in the order in which Python tries them.
const QUOTES: [&str; 4] = ["'", "\"", "\"\"\"", "'''"];

/// An f-string of these parts, in the first quotes that need no escapes; a part is text, or what is in braces.
pub(super) fn formatted(parts: &[(String, bool)]) -> String {
    let mut quotes = QUOTES.to_vec();
    let mut out = String::new();
    for (part, is_text) in parts {
        let (text, possible) = escaped(part, *is_text, &quotes);
        if !possible.iter().any(|quote| quotes.contains(quote)) {
            // No quotes suit all parts: Python then writes each as `repr` does.
            let inner: String = parts.iter().map(|(part, _)| after_double_quote(part)).collect();
            return format!("f'''{inner}'''");
        }
        out.push_str(&text);
        quotes = possible;
    }
    let quote = quotes.first().copied().unwrap_or("'");
    format!("f{quote}{out}{quote}")
}

/// A part of an f-string, and the quotes it can be in. Line ends and tabs stay as they are inside braces.
fn escaped<'q>(part: &str, is_text: bool, quotes: &[&'q str]) -> (String, Vec<&'q str>) {
    let mut out = String::with_capacity(part.len());
    for c in part.chars() {
        let kept = matches!(c, '\n' | '\t') && !is_text;
        if !kept && (c == '\\' || !is_printable(c as u32)) {
            escape(c as u32, &mut out);
        } else {
            out.push(c);
        }
    }
    let has_lines = out.contains('\n');
    let mut possible: Vec<&str> = quotes
        .iter()
        .copied()
        .filter(|quote| !out.contains(*quote) && (!has_lines || quote.len() == 3))
        .collect();
    if possible.is_empty() {
        let whole = repr_of(part);
        let mark = whole.get(..1).unwrap_or("'");
        let quote = quotes.iter().copied().find(|quote| quote.contains(mark)).unwrap_or("");
        return (whole.get(1..whole.len() - 1).unwrap_or("").to_owned(), vec![quote]);
    }
    if let Some(last) = out.chars().last() {
        possible.sort_by_key(|quote| quote.starts_with(last));
        if possible.first().is_some_and(|quote| quote.starts_with(last)) {
            out.insert(out.len() - 1, '\\');
        }
    }
    (out, possible)
}

fn repr_of(text: &str) -> String {
    let points: Vec<u32> = text.chars().map(|c| c as u32).collect();
    let mut out = String::new();
    quote(&points, is_printable, &mut out);
    out
}

/// A double quote in front makes `repr` take single ones around.
fn after_double_quote(part: &str) -> String {
    let whole = repr_of(&format!("\"{part}"));
    whole.get(2..whole.len() - 1).unwrap_or("").to_owned()
}

fn escape(point: u32, out: &mut String) {
    match point {
        9 => out.push_str("\\t"),
        10 => out.push_str("\\n"),
        13 => out.push_str("\\r"),
        0x5c => out.push_str("\\\\"),
        point @ 0..=0xff => out.push_str(&format!("\\x{point:02x}")),
        point @ 0x100..=0xffff => out.push_str(&format!("\\u{point:04x}")),
        point => out.push_str(&format!("\\U{point:08x}")),
    }
}

fn quote(points: &[u32], printable: impl Fn(u32) -> bool, out: &mut String) {
    let double = points.contains(&('\'' as u32)) && !points.contains(&('"' as u32));
    let mark = if double { '"' } else { '\'' };
    out.push(mark);
    for point in points {
        match *point {
            point if point == mark as u32 => out.extend(['\\', mark]),
            point if point != 0x5c && printable(point) => out.push(lossy(point)),
            point => escape(point, out),
        }
    }
    out.push(mark);
}

/// `str.isprintable` of one character.
fn is_printable(point: u32) -> bool {
    static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());
    if point < 0x7f {
        return point >= 0x20;
    }
    let Some(c) = char::from_u32(point) else { return false };
    HIDDEN.as_ref().is_some_and(|hidden| !hidden.is_match(c.encode_utf8(&mut [0; 4])))
}

/// An integer literal in decimal.
pub(super) fn integer(text: &str) -> Option<String> {
    let text = text.replace('_', "").to_ascii_lowercase();
    let (radix, digits) = match text.get(..2) {
        Some("0x") => (16, &text[2..]),
        Some("0o") => (8, &text[2..]),
        Some("0b") => (2, &text[2..]),
        _ => {
            let digits = text.trim_start_matches('0');
            return Some(if digits.is_empty() { "0".into() } else { digits.into() });
        }
    };
    if let Ok(number) = u128::from_str_radix(digits, radix) {
        return Some(number.to_string());
    }
    // Longer than any that matters, but a signature is exact: nine decimal digits a limb, lowest first.
    if digits.len() > 4000 {
        return None;
    }
    let mut limbs = vec![0_u64];
    for digit in digits.chars() {
        let mut carry = u64::from(digit.to_digit(radix)?);
        for limb in &mut limbs {
            let number = *limb * u64::from(radix) + carry;
            *limb = number % 1_000_000_000;
            carry = number / 1_000_000_000;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut out = limbs.pop()?.to_string();
    for limb in limbs.iter().rev() {
        out.push_str(&format!("{limb:09}"));
    }
    Some(out)
}

/// A float or imaginary literal as `repr` prints it.
pub(super) fn float(text: &str) -> Option<String> {
    let text = text.replace('_', "");
    match text.strip_suffix(['j', 'J']) {
        Some(digits) => {
            let number: f64 = digits.parse().ok()?;
            let out = shortest(number);
            Some(format!("{}j", out.strip_suffix(".0").unwrap_or(&out)))
        }
        None => Some(shortest(text.parse().ok()?)),
    }
}

fn shortest(number: f64) -> String {
    if number.is_infinite() {
        return "1e309".into();
    }
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{number:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::{float, integer};

    #[test]
    fn numbers_print_as_repr_does() {
        for (literal, expected) in [
            ("1e3", "1000.0"),
            ("1e16", "1e+16"),
            ("0.0001", "0.0001"),
            ("1e-5", "1e-05"),
            (".5", "0.5"),
            ("1e999", "1e309"),
            ("1_0.0", "10.0"),
            ("2j", "2j"),
            ("1.5J", "1.5j"),
        ] {
            assert_eq!(float(literal).as_deref(), Some(expected), "{literal}");
        }
        for (literal, expected) in [
            ("0xff", "255"),
            ("0o17", "15"),
            ("1_000", "1000"),
            ("00", "0"),
            ("0x100000000000000000000000000000000", "340282366920938463463374607431768211456"),
        ] {
            assert_eq!(integer(literal).as_deref(), Some(expected), "{literal}");
        }
    }
}
