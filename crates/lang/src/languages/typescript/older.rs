//! Rewrites newer TypeScript syntax for the grammar, which is older than the language. Every byte keeps its place: syntax that
//! the grammar does not know is blanked or replaced by an older form of the same length.

use memchr::{memchr_iter, memmem};

/// The same text in older syntax, if it has newer; only for the grammar, for no name in it can be trusted where
/// something was changed.
pub(crate) fn older(source: &str) -> Option<String> {
    let text = source.as_bytes();
    let mut edits = Edits { out: None, text };
    variance(&mut edits);
    imported_types(&mut edits);
    exported_types(&mut edits);
    signatures(&mut edits);
    String::from_utf8(edits.out?).ok()
}

struct Edits<'s> {
    text: &'s [u8],
    out: Option<Vec<u8>>,
}

impl Edits<'_> {
    /// Writes `with` over the bytes that are no line ends.
    fn fill(&mut self, start: usize, end: usize, with: u8) {
        let out = self.out.get_or_insert_with(|| self.text.to_vec());
        for byte in out.get_mut(start..end).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = with;
            }
        }
    }
}

/// `interface Box<in out T>`
fn variance(edits: &mut Edits<'_>) {
    let text = edits.text;
    for found in memmem::find_iter(text, b"out ").chain(memmem::find_iter(text, b"in ")) {
        let before = trimmed(&text[..found]);
        let (start, before) = match before.strip_suffix(b"in") {
            // Of `in out`, both.
            Some(rest) if text[found..].starts_with(b"out") => (rest.len(), trimmed(rest)),
            _ => (found, before),
        };
        let before = before.strip_suffix(b"const").map_or(before, trimmed);
        let before = if before.ends_with(b"*/") { before_comments(before) } else { before };
        if !matches!(before.last(), Some(b'<' | b',')) || start == before.len() && is_name(text[found - 1]) {
            continue;
        }
        let end = found + if text[found..].starts_with(b"out") { 3 } else { 2 };
        let name = skip_blanks(text, end);
        let after = skip_blanks(text, skip_name(text, name));
        let ends = matches!(text.get(after), Some(b',' | b'>' | b'='));
        if name < after && (ends || text[after..].starts_with(b"extends")) {
            edits.fill(start, end, b' ');
        }
    }
}

/// `import("module").Type<T>`: the grammar knows no arguments of such a type.
fn imported_types(edits: &mut Edits<'_>) {
    let text = edits.text;
    for start in memmem::find_iter(text, b"import(") {
        let quote = start + b"import(".len();
        let Some(mark @ (b'"' | b'\'')) = text.get(quote).copied() else { continue };
        let Some(length) = memchr::memchr2(mark, b'\n', &text[quote + 1..]) else { continue };
        let end = quote + 1 + length + 2;
        if text.get(end - 2..end) != Some(&[mark, b')']) {
            continue;
        }
        let mut at = end;
        while text.get(at) == Some(&b'.') {
            at = skip_name(text, at + 1);
        }
        if at > end && text.get(at) == Some(&b'<') {
            edits.fill(start, end, b'_');
        }
    }
}

/// `export type * from "module"`
fn exported_types(edits: &mut Edits<'_>) {
    let text = edits.text;
    for start in memmem::find_iter(text, b"export type *") {
        let word = start + b"export ".len();
        edits.fill(word, word + b"type".len(), b' ');
    }
}

/// A signature that begins with its type parameters, on a line behind one that ends with a type and no semicolon:
/// the grammar takes the parameters for arguments of that type.
fn signatures(edits: &mut Edits<'_>) {
    let text = edits.text;
    for line in memchr_iter(b'\n', text) {
        let blanks = text[line + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = line + 1 + blanks;
        if blanks == 0 || text.get(start) != Some(&b'<') {
            continue;
        }
        let before = before_comments(&text[..line]);
        let is_type = before
            .last()
            .is_some_and(|last| is_name(*last) || matches!(last, b'>' | b']' | b')' | b'}' | b'"' | b'\''));
        if is_type && !before.ends_with(b"=>") && opens_parameters(&text[start..]) {
            edits.fill(start - 1, start, b';');
        }
    }
}

/// How far is looked for the end of parameters and the beginning of a comment: hostile text has neither.
const FAR: usize = 4_096;

/// Whether this is `<…>(`.
fn opens_parameters(text: &[u8]) -> bool {
    let mut open = 0_usize;
    for (at, byte) in text.iter().enumerate().take(FAR) {
        match byte {
            b'<' => open += 1,
            b'>' if text[at - 1] == b'=' => {}
            b'>' if open == 1 => return text.get(at + 1) == Some(&b'('),
            b'>' => open -= 1,
            b';' => return false,
            _ => {}
        }
    }
    false
}

/// Without blanks and comments at the end.
fn before_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = trimmed(text);
        let (before, near) = text.split_at(text.len().saturating_sub(FAR));
        let line = memchr::memrchr(b'\n', near).map_or(0, |end| end + 1);
        let comment = match memmem::find(&near[line..], b"// ") {
            Some(start) => Some(line + start),
            None => near.strip_suffix(b"*/").and_then(|inside| memmem::rfind(inside, b"/*")),
        };
        match comment {
            Some(start) => text = &text[..before.len() + start],
            None => return text,
        }
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn skip_name(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| is_name(*byte)) {
        at += 1;
    }
    at
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::older;

    #[test]
    fn newer_syntax_is_written_otherwise_in_the_same_place() {
        for (newer, expected) in [
            ("interface A<in out T, out U = 1> {}", "interface A<       T,     U = 1> {}"),
            ("interface A<const in T extends B> {}", "interface A<const    T extends B> {}"),
            ("interface A<\n  /** a */\n  out B,\n> {}", "interface A<\n  /** a */\n      B,\n> {}"),
            ("let a: import('b').C<D>", "let a: ___________.C<D>"),
            ("export type * from 'a'", "export      * from 'a'"),
            ("{\n  (): A\n  <B>(b: B): C\n}", "{\n  (): A\n ;<B>(b: B): C\n}"),
            ("{\n  (): A\n  // of B\n  <B>(b: B): C\n}", "{\n  (): A\n  // of B\n ;<B>(b: B): C\n}"),
            ("{\n  (): A\n  /** of B */\n  <B>(b: B): C\n}", "{\n  (): A\n  /** of B */\n ;<B>(b: B): C\n}"),
        ] {
            assert_eq!(older(newer).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_as_it_was_stays() {
        for known in [
            "for (const a in b) {}",
            "f(a, within b); f(a, out)",
            "import('a').then(b); import('a').b(c)",
            "export type { A } from 'a'",
            "let f: A =\n  <B>(b: B) => C",
            "type F =\n  | A\n  | (a: A) =>\n  <B>(b: B) => C",
            "",
        ] {
            assert_eq!(older(known), None, "{known}");
        }
    }
}
