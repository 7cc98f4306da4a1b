//! Small work on text: one-line signatures, the first line of a comment.

/// A signature longer than this is cut: it is shown in lists.
const MAX_SIGNATURE: usize = 400;
const MAX_DOC: usize = 240;

/// The text on one line, without the punctuation that opens a body or ends a statement.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_SIGNATURE));
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > MAX_SIGNATURE {
            truncate(&mut out, MAX_SIGNATURE);
            out.push('…');
            return out;
        }
    }
    let kept = out.trim_end_matches(['{', ';', ' ']);
    let kept = kept.strip_suffix(" =").unwrap_or(kept).len();
    out.truncate(kept);
    out
}

/// The first line of a comment that says something, without its markers.
pub(crate) fn doc_line(comment: &str) -> Option<String> {
    comment.lines().find_map(|line| {
        let line = strip_markers(line);
        let says = line.chars().any(char::is_alphanumeric);
        says.then(|| {
            let mut line = line.to_owned();
            truncate(&mut line, MAX_DOC);
            line
        })
    })
}

pub(crate) fn strip_markers(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("<!--").unwrap_or(line).trim_matches('"');
    let line = line.trim_start_matches(['/', '*', '!', '#', ';', '%']);
    let line = line.strip_prefix("{-").unwrap_or(line);
    let line =
        if line.starts_with("--") { line.trim_start_matches('-').trim_start_matches("[[") } else { line };
    let line = line.trim_start().trim_start_matches(['|', '^']).trim_start();
    let line = line.strip_prefix("<summary>").unwrap_or(line);
    let line = line.strip_suffix("</summary>").unwrap_or(line);
    let line = line.strip_suffix("*/").or_else(|| line.strip_suffix("-->")).unwrap_or(line);
    let line = line.strip_suffix("-}").unwrap_or(line);
    line.trim().trim_end_matches('*').trim_end()
}

pub(crate) fn truncate(text: &mut String, max: usize) {
    if text.len() > max {
        let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::{doc_line, one_line};

    #[test]
    fn a_signature_is_one_line() {
        assert_eq!(one_line("fn a(\n    b: u8,\n) -> u8 {"), "fn a( b: u8, ) -> u8");
        assert!(one_line(&"é".repeat(1000)).ends_with('…'));
    }

    #[test]
    fn the_first_line_that_says_something() {
        for (comment, expected) in [
            ("/// Runs.\n/// More.", "Runs."),
            ("/**\n * Runs it.\n */", "Runs it."),
            ("/* Runs. */", "Runs."),
            ("# Runs", "Runs"),
            ("-- | Runs", "Runs"),
            ("--- Runs", "Runs"),
            ("/// <summary>\n/// Runs.\n/// </summary>", "Runs."),
            ("//------\n// Runs\n//------", "Runs"),
        ] {
            assert_eq!(doc_line(comment).as_deref(), Some(expected), "{comment}");
        }
        assert_eq!(doc_line("//////"), None);
    }
}
