//! Cuts a stored file into chunks whose byte ranges slice its content exactly, whatever the bytes are.
//!
//! A chunk ends before a declaration, a heading or a paragraph where one is near enough, else at the end of a line, else
//! between two characters. The ranges of a file follow each other without a gap, so that a file that grows at its end
//! keeps its first chunks.

use std::ops::Range;

use model::{DocType, IndexKind, filetype};

use crate::path::StorePath;

/// Changes whenever the same file would be cut or tokenized in another way; files that were indexed by another version
/// are indexed again.
pub const CHUNKER_VERSION: u32 = 1;

/// How long a chunk may be, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkBounds {
    pub prose: usize,
    pub code: usize,
}

impl Default for ChunkBounds {
    fn default() -> ChunkBounds {
        ChunkBounds { prose: 2500, code: 3500 }
    }
}

impl ChunkBounds {
    pub fn of(&self, kind: IndexKind) -> usize {
        match kind {
            IndexKind::Text => self.prose,
            IndexKind::Code => self.code,
        }
    }
}

/// Whether a file is source code, by its name.
pub fn kind_of_path(path: &StorePath) -> IndexKind {
    let by_extension = filetype::extension(path.as_str()).and_then(filetype::by_extension);
    let kind = by_extension.or_else(|| filetype::by_name(path.name()));
    match kind.and_then(|kind| kind.doc_type) {
        Some(DocType::Code) => IndexKind::Code,
        _ => IndexKind::Text,
    }
}

/// The ranges of the chunks: together the whole content, each at most `bound` bytes long. What holds no character but
/// white space is left out.
pub fn chunk_ranges(content: &[u8], bound: usize) -> Vec<Range<usize>> {
    let bound = bound.max(MIN_BOUND);
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < content.len() {
        let end = if content.len() - start <= bound { content.len() } else { end_of(content, start, bound) };
        if !content[start..end].iter().all(u8::is_ascii_whitespace) {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}

/// The text of a range: the bytes themselves where they are UTF-8 without NUL, which no text column takes.
pub fn chunk_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text.into_owned() }
}

/// A character has to fit in, and a line should.
const MIN_BOUND: usize = 16;

/// How good a place is for a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seam {
    Line,
    Paragraph,
    /// A heading, or what begins at the margin below a blank line: most declarations of most languages.
    Section,
}

fn end_of(content: &[u8], start: usize, bound: usize) -> usize {
    let window = &content[start..start + bound];
    // What lies before the middle would make crumbs.
    let enough = bound / 2;
    let mut best: Option<(Seam, usize)> = None;
    let mut last_line = None;
    for (at, _) in window.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let begin = at + 1;
        last_line = Some(begin);
        if begin < enough {
            continue;
        }
        let seam = seam_before(content, start, start + begin);
        if best.is_none_or(|(known, _)| seam >= known) {
            best = Some((seam, begin));
        }
    }
    match best.map(|(_, begin)| begin).or(last_line) {
        Some(begin) => start + begin,
        None => start + character_end(window),
    }
}

/// What begins at `at`, the first byte of a line.
fn seam_before(content: &[u8], start: usize, at: usize) -> Seam {
    let after_blank =
        content[start..at - 1].iter().rev().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace);
    let next = content.get(at).copied().unwrap_or(b'\n');
    if next == b'#' && heading(&content[at..]) {
        return Seam::Section;
    }
    match (after_blank, next) {
        (false, _) => Seam::Line,
        (true, b' ' | b'\t' | b'\r' | b'\n' | b'}' | b')' | b']') => Seam::Paragraph,
        (true, _) => Seam::Section,
    }
}

fn heading(line: &[u8]) -> bool {
    let marks = line.iter().take_while(|byte| **byte == b'#').count();
    marks <= 6 && line.get(marks) == Some(&b' ')
}

/// The last place in the window between two characters; in bytes that are no UTF-8, its end.
fn character_end(window: &[u8]) -> usize {
    let longest = 4.min(window.len());
    for back in 0..longest {
        let at = window.len() - back;
        let byte = window[at - 1];
        if byte < 0x80 {
            return at;
        }
        if byte >= 0xC0 {
            let wanted = match byte {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                _ => 4,
            };
            // A character that ends with the window stays, one that is cut goes to the next chunk.
            return if back + 1 >= wanted { window.len() } else { at - 1 };
        }
    }
    window.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(content: &str, bound: usize) -> Vec<&str> {
        chunk_ranges(content.as_bytes(), bound).into_iter().map(|range| &content[range]).collect()
    }

    #[test]
    fn small_files_are_one_chunk_and_blank_ones_none() {
        assert_eq!(texts("fn main() {}\n", 2500), ["fn main() {}\n"]);
        assert!(texts("", 2500).is_empty());
        assert!(texts(" \n\t\n", 2500).is_empty());
    }

    #[test]
    fn declarations_and_headings_begin_chunks() {
        let function = |name: &str| format!("fn {name}() {{\n    one();\n\n    two();\n}}\n\n");
        let code = [function("first"), function("second"), function("third")].concat();
        let cut = texts(&code, 100);
        assert!(cut.iter().all(|text| text.starts_with("fn ")), "{cut:?}");
        let prose = "# One\n\nwords words words words\n# Two\nmore words of the text\n";
        assert_eq!(texts(prose, 50)[1], "# Two\nmore words of the text\n");
    }

    #[test]
    fn growing_at_the_end_keeps_the_first_chunks() {
        let line = "some words in a line that is long enough\n";
        let (short, long) = (line.repeat(200), line.repeat(300));
        let (before, after) = (chunk_ranges(short.as_bytes(), 1000), chunk_ranges(long.as_bytes(), 1000));
        assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
    }

    #[test]
    fn a_text_that_no_column_takes_is_replaced() {
        assert_eq!(chunk_text(b"a\0b\xff"), "a\u{FFFD}b\u{FFFD}");
        assert_eq!(chunk_text("naïve".as_bytes()), "naïve");
    }

    proptest! {
        #[test]
        fn f129_ranges_slice_any_bytes(content in prop::collection::vec(any::<u8>(), 0..4000), bound in 1usize..600) {
            let ranges = chunk_ranges(&content, bound);
            let mut reached = 0;
            for range in &ranges {
                prop_assert!(range.start < range.end && range.end <= content.len());
                prop_assert!(range.len() <= bound.max(MIN_BOUND));
                prop_assert!(range.start >= reached);
                prop_assert!(content[reached..range.start].iter().all(u8::is_ascii_whitespace));
                reached = range.end;
            }
            prop_assert!(content[reached..].iter().all(u8::is_ascii_whitespace));
        }

        #[test]
        fn f129_characters_stay_whole(content in "(\\PC|\\n| |你|好|🦀){0,900}", bound in 16usize..200) {
            for range in chunk_ranges(content.as_bytes(), bound) {
                let text = content.get(range.clone());
                prop_assert!(text.is_some(), "{range:?}");
                prop_assert_eq!(chunk_text(&content.as_bytes()[range]), text.unwrap().replace('\0', "\u{FFFD}"));
            }
        }
    }
}
