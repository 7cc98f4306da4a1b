//! A second reading for what Python accepts and the grammar does not.

/// The text, written so that the grammar takes it, on the same lines; none if nothing can be done.
pub(super) fn rescue(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() + 16);
    let mut depth = 0_usize;
    let mut dots = 0;
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_end(rest, c),
            '\n' if depth > 0 && dots == 1 => {
                // Inside brackets the grammar takes a line end after a dot for the end of a block.
                out.push('\\');
                1
            }
            '(' | '[' | '{' => {
                depth += 1;
                1
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            _ => c.len_utf8(),
        };
        dots = match c {
            '.' => dots + 1,
            ' ' | '\t' => dots,
            _ => 0,
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    // `ast` takes what only the compiler refuses.
    let out = out.replace("from __future__ import *", "from __future_ import *");
    (out != source).then_some(out)
}

/// How long the string literal at the front is.
fn string_end(text: &str, quote: char) -> usize {
    let bytes = text.as_bytes();
    let mark = quote as u8;
    let triple = bytes.get(1) == Some(&mark) && bytes.get(2) == Some(&mark);
    let mut at = if triple { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            // The character after it may be longer than a byte, but no part of it is a quote.
            b'\\' => at += 1,
            b'\n' if !triple => return at,
            byte if byte == mark && !triple => return at + 1,
            byte if byte == mark && bytes[at..].starts_with(&[mark; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    // Never in the middle of a character: the end of the text is not.
    text.len()
}

#[cfg(test)]
mod tests {
    use super::rescue;

    #[test]
    fn only_a_dot_at_a_line_end_inside_brackets_is_touched() {
        assert_eq!(rescue("(a.\nb)\n").as_deref(), Some("(a.\\\nb)\n"));
        assert_eq!(rescue("x = '(a.'\n'''(a.\n'''\n(a, # b.\nc)\n"), None);
        assert_eq!(rescue("(x[...\n])\n'é\\"), None);
    }
}
