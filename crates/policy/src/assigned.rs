//! What a text assigns to a name, in the notations of programs, configuration files and markup.

use crate::site::{KeywordSite, upper_digit, word};

/// What is assigned to a name.
pub(crate) struct Assigned<'t> {
    pub(crate) value: &'t [u8],
    /// In quotes, or between tags: its end is beyond doubt.
    pub(crate) enclosed: bool,
    /// After a comma, as the next argument.
    listed: bool,
    /// Nothing but blanks or a comment follows on the line, or a semicolon ends it.
    pub(crate) ends_line: bool,
    next: Option<u8>,
}

impl<'t> Assigned<'t> {
    /// Reads `= value`, `: "value"`, `"] = 'value'`, `: String = "value"`, `", "value"`, `>value<` …
    pub(crate) fn after(text: &'t [u8]) -> Option<Assigned<'t>> {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let skip = |text: &'t [u8], most: usize, of: fn(u8) -> bool| {
            let count = text.iter().take(most).take_while(|&&byte| of(byte)).count();
            (count, &text[count..])
        };
        // `**Password**: value` is how notes in Markdown write it.
        let (_, text) = skip(text, 2, |byte| byte == b'*');
        let (closers, text) = skip(text, 3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b'\\'));
        let (blanks, text) = skip(text, 24, blank);
        let (operator, text) = match text {
            [b'=', b'=', b'=', rest @ ..] => (b'=', rest),
            [b':' | b'?' | b'=' | b'+', b'=', rest @ ..] => (b'=', rest),
            [b'=', b'>', rest @ ..] => (b'=', rest),
            [b'=', rest @ ..] => (b'=', rest),
            [b':', b'*', b'*', rest @ ..] | [b':', rest @ ..] => (b':', rest),
            [b',', rest @ ..] if closers > 0 => (b',', rest),
            [b'>', rest @ ..] if closers + blanks == 0 => (b'>', rest),
            _ => return None,
        };
        let (_, text) = skip(text, 24, blank);
        let text = if operator == b':' { skip_type(text).unwrap_or(text) } else { text };
        let listed = operator == b',';
        let assigned = Assigned { listed, ..Assigned::value(text, operator == b'>') };
        Some(assigned).filter(|assigned| !listed || assigned.enclosed)
    }

    fn value(text: &'t [u8], in_element: bool) -> Assigned<'t> {
        let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`');
        // `\"` in a string within a string; `b"` and its kin in Python, Rust, C#.
        let text = match text {
            [b'\\', quote, ..] if is_quote(*quote) => &text[1..],
            [b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'U' | b'F' | b'@', quote, ..] if is_quote(*quote) => {
                &text[1..]
            }
            _ => text,
        };
        let (value, enclosed, rest) = match text {
            [quote, rest @ ..] if is_quote(*quote) => {
                let ends = |byte: &u8| byte == quote || matches!(byte, b'\n' | b'\\');
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                (&rest[..end], true, rest.get(end + 1..).unwrap_or_default())
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;,()[]{}<>&|\\".contains(byte);
                let end = text.iter().position(ends).unwrap_or(text.len());
                (&text[..end], in_element && text[end..].starts_with(b"</"), &text[end..])
            }
        };
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let ends_line = matches!(line, [] | [b'#' | b';', ..]);
        Assigned { value, enclosed, listed: false, ends_line, next: rest.first().copied() }
    }

    /// Reads a bare word as a program would: as a name, a call or an index, not as a value.
    pub(crate) fn is_code(&self) -> bool {
        let constant =
            self.value.contains(&b'_') && self.value.iter().all(|&byte| upper_digit(byte) || byte == b'_');
        let goes_on = matches!(self.next, Some(b'(' | b'[' | b'{' | b'<'));
        let is_name =
            |part: &[u8]| part.iter().all(|&byte| word(byte)) && !part.first().is_none_or(u8::is_ascii_digit);
        let member = self.value.contains(&b'.') && self.value.split(|&byte| byte == b'.').all(is_name);
        !self.enclosed && (constant || goes_on || member)
    }

    /// The next argument rather than what is assigned.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    /// In `f("secret", "value")` the string before the comma names the value; in `f("my secret", "x")`
    /// it does not.
    pub(crate) fn is_other_argument(&self, site: KeywordSite<'_>) -> bool {
        let before = site.before(49);
        let quote = before.len().checked_sub(site.name_before().len() + 1).map(|at| before[at]);
        self.listed && !matches!(quote, Some(b'"' | b'\'' | b'`'))
    }
}

/// Past `&'static str =` or `Optional[str] =`, if that comes next.
fn skip_type(text: &[u8]) -> Option<&[u8]> {
    let equals = text.iter().take(48).position(|&byte| matches!(byte, b'=' | b'\n'))?;
    let (kind, rest) = text.split_at(equals);
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"&'_<>[]|:., ?*".contains(byte);
    (kind.last() == Some(&b' ') && kind.iter().all(is_type)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations() {
        for (text, value, enclosed) in [
            (" = value", "value", false),
            ("=value&x=y", "value", false),
            (": value # why", "value", false),
            ("\": \"value\",", "value", true),
            ("\"] = 'value'", "value", true),
            ("\\\": \\\"value\\\"", "value", true),
            (" := `value`", "value", true),
            (" === b\"value\"", "value", true),
            (" => 'value',", "value", true),
            (": &'static str = \"value\";", "value", true),
            (": Optional[str] = \"value\"", "value", true),
            ("\", \"value\")", "value", true),
            (">value</x>", "value", true),
            (">value<br>", "value", false),
            (": c2VjcmV0==", "c2VjcmV0==", false),
            (" = \"never closed", "never closed", true),
            (" =", "", false),
            ("**: value", "value", false),
            (":** value", "value", false),
        ] {
            let assigned = Assigned::after(text.as_bytes()).unwrap();
            assert_eq!(
                (std::str::from_utf8(assigned.value).unwrap(), assigned.enclosed),
                (value, enclosed),
                "{text}"
            );
        }
        for text in ["", " value", "s = value", ", value", " - value", "(value)", "\n= value"] {
            assert!(Assigned::after(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn code_is_told_from_values() {
        let is_code = |text: &str| Assigned::after(text.as_bytes()).unwrap().is_code();
        for code in [" = next()", " = a[0]", ": Vec<u8>", " = SOME_CONSTANT_1", " = self.a.b", " = Point{x}"]
        {
            assert!(is_code(code), "{code}");
        }
        for value in [" = abc-def.ghi", " = \"self.a.b\"", " = 1a.2b", " = QWERTY"] {
            assert!(!is_code(value), "{value}");
        }
    }
}
