//! Why a config file is not YAML, in the words of someone who wrote the file, not of the library that reads it.

/// The cause, from what the library says and from the line itself.
pub(super) fn cause(text: &str, line: u32, library: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = (line.max(1) as usize - 1).min(lines.len().saturating_sub(1));
    // The library often notices only on the line after.
    let near: Vec<&str> = lines.get(at.saturating_sub(1)..=at).unwrap_or_default().to_vec();
    let here = lines.get(at).copied().unwrap_or_default();
    let library = library.to_lowercase();
    let open = |open: char, close: char| text.matches(open).count() > text.matches(close).count();
    let odd = |quote: char| near.iter().any(|line| line.matches(quote).count() % 2 == 1);
    if library.contains("duplicate") {
        "this key is there twice; keep one of them".to_owned()
    } else if near
        .iter()
        .any(|line| line.starts_with(char::is_whitespace) && indentation(line).contains('\t'))
    {
        "a tab indents a line; use spaces".to_owned()
    } else if library.contains("anchor") || library.contains("alias") {
        "`*name` and `&name` have a meaning in YAML; put such a text in quotes".to_owned()
    } else if odd('\'') || odd('"') {
        "a quote is not closed".to_owned()
    } else if open('[', ']') || open('{', '}') {
        "a [ or { is not closed".to_owned()
    } else if open(']', '[') || open('}', '{') {
        "a ] or } closes nothing".to_owned()
    } else if here.matches(": ").count() > 1 {
        "a text with a colon needs quotes".to_owned()
    } else if library.contains("multiple documents") {
        "there is a second document after ---; only one is read".to_owned()
    } else {
        "look at the indentation, the quotes and the colons of this line and the one above".to_owned()
    }
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_in_plain_words() {
        let cases = [
            ("a:\n\tb: 1\n", 2, "tab"),
            ("a: 'x\nb: 1\n", 2, "quote"),
            ("a: [1, 2\n", 1, "not closed"),
            ("a: 1]\n", 1, "closes nothing"),
            ("a: b: c\n", 1, "needs quotes"),
            ("a: 1\n  b: 2\n", 2, "indentation"),
            ("", 1, "indentation"),
        ];
        for (text, line, words) in cases {
            assert!(cause(text, line, "").contains(words), "{text:?}: {}", cause(text, line, ""));
        }
        assert!(cause("a: 1\na: 2\n", 2, "duplicate mapping key: a").contains("twice"));
    }
}
