//! The first line of a snippet: where exactly it is and what is above it.
//!
//! Models see the structured part of an answer only, and a row of a table without its header, or a line of code without
//! its function, invites them to guess. So the line is part of the snippet itself:
//! `@@ L120-L128 @@ class Session > def load(self)`, `@@ sheet 'Q2' rows 1-40, L9 @@ Revenue: | Region | Q1 | Q2 |`.

use index::StoredChunk;
use model::{Heading, IndexKind, Layout, Pointer, Span};

use crate::snippet::Snippet;

/// What a caption begins with, and what parts the place from the titles.
pub const MARK: &str = "@@ ";

/// Characters of the titles and of the header row that are shown.
const TITLES: usize = 240;
const COLUMNS: usize = 400;

/// The snippet with its caption, where there is something to say.
pub(crate) fn captioned(chunk: &StoredChunk, snippet: Snippet) -> String {
    let above = above(chunk, &snippet);
    let place = place(chunk, &snippet);
    match (place.is_empty(), above.is_empty()) {
        (true, true) => snippet.text,
        (false, true) => format!("{MARK}{place} @@\n{}", snippet.text),
        (true, false) => format!("{MARK}{above}\n{}", snippet.text),
        (false, false) => format!("{MARK}{place} @@ {above}\n{}", snippet.text),
    }
}

/// A snippet without the caption that [`captioned`] put before it.
pub fn without_caption(snippet: &str) -> &str {
    match snippet.split_once('\n') {
        Some((first, rest)) if first.starts_with(MARK) => rest,
        _ => snippet,
    }
}

/// The titles above the passage and the header row of its table, as far as the passage does not show them itself.
pub fn above(chunk: &StoredChunk, snippet: &Snippet) -> String {
    let heading = heading_at(chunk, snippet.chosen);
    let sheet = match &chunk.pointer {
        Some(Pointer::Rows { sheet, .. }) => sheet.as_deref(),
        _ => None,
    };
    let is_new = |title: &&str| Some(*title) != sheet && !snippet.text.contains(*title);
    let titles: Vec<&str> = heading.titles.iter().map(|(_, title)| title.as_str()).filter(is_new).collect();
    let titles = cut(&titles.join(" > "), TITLES);
    let columns = heading.columns.filter(|row| !snippet.text.contains(row.trim_end_matches('…')));
    match (titles.is_empty(), columns) {
        (_, None) => titles,
        (true, Some(columns)) => cut(&columns, COLUMNS),
        (false, Some(columns)) => format!("{titles}: {}", cut(&columns, COLUMNS)),
    }
}

/// What is above a line of a chunk.
pub(crate) fn heading_at(chunk: &StoredChunk, line: usize) -> Heading {
    chunk.heading.at(&chunk.text, line, layout(chunk))
}

fn layout(chunk: &StoredChunk) -> Layout {
    let name = chunk.rel_path.rsplit('/').next().unwrap_or_default();
    match (&chunk.pointer, chunk.kind) {
        (_, IndexKind::Code) => Layout::Code,
        (Some(Pointer::Rows { .. }), _) => Layout::Rows,
        (Some(Pointer::Section { .. }), _) => Layout::Marked,
        (Some(_), _) => Layout::Plain,
        (None, _) => Layout::of(chunk.doc_type, name),
    }
}

/// The lines that are shown, and the place as people say it where lines alone do not tell; nothing where the hit's own
/// span says the same.
fn place(chunk: &StoredChunk, snippet: &Snippet) -> String {
    let named = match &chunk.pointer {
        Some(pointer @ (Pointer::Rows { .. } | Pointer::Slide { .. } | Pointer::Cell { .. })) => {
            Some(pointer.to_string())
        }
        Some(pointer @ Pointer::Message { message: 2.. }) => Some(pointer.to_string()),
        _ => None,
    };
    let lines = match chunk.span {
        Span::Lines { .. } if chunk.text.trim() == snippet.text.trim() => None,
        Span::Lines { start_line, end_line } => {
            let first = (start_line + snippet.line as u32).min(end_line);
            let last = (first + snippet.text.matches('\n').count() as u32).min(end_line);
            match (first, last) {
                (first, last) if (first, last) == (start_line, end_line) => None,
                (first, last) if first == last => Some(format!("L{first}")),
                (first, last) => Some(format!("L{first}-L{last}")),
            }
        }
        Span::Page { .. } | Span::Time { .. } => None,
    };
    [named, lines].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, DocType, RepType};

    use super::*;
    use crate::snippet::snippet;

    fn chunk(path: &str, kind: IndexKind, text: &str) -> StoredChunk {
        let lines = text.matches('\n').count() as u32;
        StoredChunk {
            id: ChunkId(1),
            rel_path: path.to_owned(),
            doc_type: if kind == IndexKind::Code { DocType::Code } else { DocType::Data },
            rep_type: RepType::RawText,
            ordinal: 0,
            span: Span::Lines { start_line: 10, end_line: 10 + lines },
            pointer: None,
            heading: Heading::default(),
            kind,
            text_hash: [0; 16],
            text: text.to_owned(),
        }
    }

    fn shown(chunk: &StoredChunk, word: &str, room: usize) -> String {
        captioned(chunk, snippet(&chunk.text, &[word.to_owned()], room))
    }

    #[test]
    fn code_says_its_lines_and_what_it_stands_in() {
        let code =
            chunk("a.py", IndexKind::Code, "class A:\n    def f(self):\n        x = 1\n        y = needle\n");
        assert_eq!(shown(&code, "needle", 18), "@@ L13 @@ class A > def f(self)\n        y = needle");
        assert_eq!(
            shown(&code, "needle", 200),
            code.text.trim_end(),
            "all of it needs no caption but its span"
        );
    }

    #[test]
    fn a_row_says_its_sheet_and_its_header() {
        let mut row =
            chunk("a.xlsx", IndexKind::Text, "| Gripper | Iberia | 7 | 9 |\n| Gripper | Nordics | 1 | 2 |");
        row.pointer = Some(Pointer::Rows { sheet: Some("Revenue".into()), first_row: 2, last_row: 3 });
        row.heading.enter(0, "Sales 2024");
        row.heading.enter(1, "Revenue");
        row.heading.set_columns("| Product | Region | Q1 | Q2 |");
        assert_eq!(
            shown(&row, "iberia", 30),
            "@@ sheet 'Revenue' rows 2-3, L10 @@ Sales 2024: | Product | Region | Q1 | Q2 |\n| Gripper | Iberia | 7 | 9 |"
        );
        assert_eq!(without_caption(&shown(&row, "iberia", 30)), "| Gripper | Iberia | 7 | 9 |");
    }
}
