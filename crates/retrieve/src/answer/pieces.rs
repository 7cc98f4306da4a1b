//! The pieces of a chunk that can be quoted: sentences of prose, rows of a table, lines of anything else.

use std::ops::Range;

use index::StoredChunk;
use model::{IndexKind, Pointer};

use crate::caption::heading_at;

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sentence,
    Row,
    /// A line of code or data; several may be quoted together.
    Line,
}

/// A piece by its place in the chunk's text. It is quoted just so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) bytes: Range<usize>,
    /// The line of the chunk it begins on, from 0.
    pub(super) line: usize,
    /// Pieces of one paragraph may be quoted together.
    pub(super) paragraph: usize,
}

/// All pieces, in the order of the text. Headings, header rows of tables and the first lines of mails are none: they say
/// what the pieces below them are about.
pub(super) fn pieces(chunk: &StoredChunk) -> Vec<Piece> {
    let mut pieces = all_pieces(chunk);
    let heads: Vec<bool> = (0..pieces.len()).map(|at| is_head_row(chunk, &pieces, at)).collect();
    let mut heads = heads.into_iter();
    pieces.retain(|_| !heads.next().unwrap_or_default());
    pieces
}

/// Whether a row stands above others as their header or title.
fn is_head_row(chunk: &StoredChunk, pieces: &[Piece], at: usize) -> bool {
    let (row, Some(next)) = (&pieces[at], pieces.get(at + 1)) else { return false };
    if row.kind != Kind::Row || next.kind != Kind::Row {
        return false;
    }
    let text = chunk.text[row.bytes.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
    let cells = text.trim_matches('|').split('|').filter(|cell| !cell.trim().is_empty()).count();
    let is_title = text.starts_with('|') && cells == 1 && at == 0;
    is_title || heading_at(chunk, next.line).columns.is_some_and(|columns| columns == text)
}

fn all_pieces(chunk: &StoredChunk) -> Vec<Piece> {
    let is_table =
        matches!(chunk.pointer, Some(Pointer::Rows { .. })) && !chunk.text.starts_with("Comment on ");
    let by_line = chunk.kind == IndexKind::Code || is_data(&chunk.rel_path);
    let mut pieces = Vec::new();
    let mut paragraph = 0;
    // The paragraph that is being gathered, and the line it begins on.
    let mut open: Option<(Range<usize>, usize)> = None;
    let mut fenced = false;
    let mut at = 0;
    let mut in_mail_head = matches!(chunk.pointer, Some(Pointer::Message { .. }))
        && ["Subject: ", "From: "].iter().any(|head| chunk.text.starts_with(head));
    for (number, line) in chunk.text.split('\n').enumerate() {
        if in_mail_head {
            in_mail_head = !line.is_empty();
            at += line.len() + 1;
            continue;
        }
        let bytes = at..at + line.trim_end().len();
        at += line.len() + 1;
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        let is_row = is_table || bare.starts_with('|');
        let alone = is_fence || fenced || is_row || by_line;
        if alone || bare.is_empty() || bare.starts_with('#') || begins_item(bare) {
            close(&chunk.text, open.take(), &mut paragraph, &mut pieces);
        }
        fenced ^= is_fence;
        if bare.is_empty() || is_fence || is_rule(bare) {
            paragraph += usize::from(bare.is_empty());
            continue;
        }
        if is_row || by_line || fenced {
            let wanted = is_row || chunk.kind != IndexKind::Code || !is_import(bare);
            if wanted {
                let kind = if is_row { Kind::Row } else { Kind::Line };
                pieces.push(Piece { kind, bytes, line: number, paragraph });
            }
        } else if !bare.starts_with('#') {
            open = match open {
                Some((begun, line)) => Some((begun.start..bytes.end, line)),
                None => Some((bytes.start + (line.len() - line.trim_start().len())..bytes.end, number)),
            };
        }
    }
    close(&chunk.text, open, &mut paragraph, &mut pieces);
    pieces
}

/// Cuts a paragraph into its sentences.
fn close(text: &str, open: Option<(Range<usize>, usize)>, paragraph: &mut usize, pieces: &mut Vec<Piece>) {
    let Some((bytes, first_line)) = open else { return };
    *paragraph += 1;
    let mut start = bytes.start;
    for end in sentence_ends(&text[bytes.clone()]).into_iter().map(|end| bytes.start + end) {
        let line = first_line + text[bytes.start..start].matches('\n').count();
        pieces.push(Piece { kind: Kind::Sentence, bytes: start..end, line, paragraph: *paragraph });
        start = end + text[end..bytes.end].len() - text[end..bytes.end].trim_start().len();
    }
}

/// Where the sentences of a paragraph end; its own end is the last.
pub(super) fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut previous = "";
    let mut begun = 0;
    for (at, mark) in text.match_indices(['.', '!', '?']) {
        let end = at + mark.len();
        let rest = &text[end..];
        let closed = rest.trim_start_matches(['"', '\'', ')', '”', '»', '*', '_', '`']);
        let end = end + (rest.len() - closed.len());
        let next = closed.trim_start().chars().next();
        if at >= begun {
            previous = text[begun..at].rsplit(char::is_whitespace).next().unwrap_or("");
        }
        let follows = closed.starts_with(char::is_whitespace)
            && next.is_some_and(|c| !c.is_lowercase() && !matches!(c, ')' | ',' | ';'));
        let short = mark == "." && (previous.chars().count() == 1 || is_abbreviation(previous));
        if follows && !short {
            ends.push(end);
            begun = end;
        }
    }
    let whole = text.trim_end().len();
    if ends.last() != Some(&whole) && whole > 0 {
        ends.push(whole);
    }
    ends
}

fn is_abbreviation(word: &str) -> bool {
    const KNOWN: &[&str] = &[
        "e.g", "i.e", "etc", "dr", "mr", "mrs", "ms", "prof", "no", "nr", "vs", "approx", "z.b", "bzw",
        "inc", "st", "fig",
    ];
    KNOWN.contains(&word.trim_start_matches(['(', '"']).to_lowercase().as_str())
}

fn begins_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=3).contains(&digits)
        && line[digits..].starts_with([')', '.'])
        && line[digits + 1..].starts_with(' ');
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("+ ")
        || line.starts_with('>')
        || numbered
}

/// `|---|---|` and `-----`.
fn is_rule(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'=' | b'*' | b'_'))
}

fn is_data(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    ["json", "yaml", "yml", "toml", "ini", "cfg", "log", "xml", "conf", "properties", "env"]
        .contains(&ending.as_str())
}

/// A line that says what is used and nothing about it.
fn is_import(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "import ",
        "use ",
        "pub use ",
        "using ",
        "#include",
        "package ",
        "require ",
        "require(",
        "from ",
        "export * from",
        "@import",
        "load(",
        "extern crate ",
        "open import ",
    ];
    let from = line.starts_with("from ") && !line.contains(" import");
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) && !from
        || line.contains("= require(") && !line.contains("=>")
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocType, Heading, RepType, Span};

    use super::*;

    fn quoted(path: &str, kind: IndexKind, text: &str) -> Vec<String> {
        let chunk = StoredChunk {
            id: ChunkId(1),
            rel_path: path.to_owned(),
            doc_type: DocType::Text,
            rep_type: RepType::RawText,
            ordinal: 0,
            span: Span::Lines { start_line: 1, end_line: 9 },
            pointer: None,
            heading: Heading::default(),
            kind,
            text_hash: [0; 16],
            text: text.to_owned(),
        };
        pieces(&chunk).into_iter().map(|piece| text[piece.bytes].to_owned()).collect()
    }

    #[test]
    fn prose_is_cut_into_sentences() {
        assert_eq!(
            quoted(
                "a.md",
                IndexKind::Text,
                "# Head\n\nOne is e.g. this. Two goes\non here! (Three.) v1.2 ends\n\n- item one\n- item two. More.\n"
            ),
            [
                "One is e.g. this.",
                "Two goes\non here!",
                "(Three.) v1.2 ends",
                "- item one",
                "- item two.",
                "More."
            ]
        );
    }

    #[test]
    fn tables_are_cut_into_rows_and_code_into_lines_without_imports() {
        let table = "Before.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        assert_eq!(quoted("a.md", IndexKind::Text, table), ["Before.", "| 1 | 2 |"]);
        let code = "import os\nfrom a import b\nuse std::io;\n\ndef f():\n    return 1\n";
        assert_eq!(quoted("a.py", IndexKind::Code, code), ["def f():", "    return 1"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut(text in "([a-zA-Z.!?|#` ]{0,30}\n){0,12}", code in proptest::prelude::any::<bool>()) {
            let kind = if code { IndexKind::Code } else { IndexKind::Text };
            for piece in quoted("a.txt", kind, &text) {
                proptest::prop_assert!(!piece.trim().is_empty());
            }
        }
    }
}
