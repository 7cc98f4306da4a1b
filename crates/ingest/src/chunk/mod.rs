//! Cuts a text into chunks with exact line spans: the lines of a span, joined, contain the chunk's text.

mod code;
mod heading;
mod lines;
mod prose;
mod transcript;

use extract::{Extraction, Format};
use heading::{TextHeadings, UnitHeadings};
use model::{
    Chunk, ChunkId, ContentHash, DocType, Heading, IndexKind, Layout, Pointer, RelPath, RepType, Span,
};

use crate::text_pages::LongLines;

pub use transcript::chunk_transcript;

/// The `chunking.*` settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkOptions {
    pub max_chars: usize,
    pub overlap_chars: usize,
    pub min_chars: usize,
    pub code_max_lines: usize,
    pub code_overlap_lines: usize,
    /// How much of a recording a chunk of its transcript tells at most…
    pub transcript_segment_ms: u64,
    /// …and how much of that the next one repeats.
    pub transcript_overlap_ms: u64,
}

impl Default for ChunkOptions {
    fn default() -> ChunkOptions {
        ChunkOptions {
            max_chars: 2500,
            overlap_chars: 250,
            min_chars: 200,
            code_max_lines: 200,
            code_overlap_lines: 30,
            transcript_segment_ms: 30_000,
            transcript_overlap_ms: 5_000,
        }
    }
}

/// A cut before it has an identity: lines from 1, both ends included, and the text between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    pub(crate) text: &'a str,
}

/// Which representation chunks belong to: both are part of their identity.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSource<'a> {
    pub path: &'a RelPath,
    pub rep_type: RepType,
}

/// The chunks of a plain text.
pub fn chunk_text(
    source: ChunkSource<'_>,
    doc_type: DocType,
    text: &str,
    options: &ChunkOptions,
) -> Vec<Chunk> {
    let path = source.path;
    let (kind, cuts) = match doc_type {
        DocType::Code => (IndexKind::Code, code::cut(text, options)),
        _ => (IndexKind::Text, prose::cut(text, options)),
    };
    let places = TextPlaces::of(path, doc_type, text);
    let layout = Layout::of(doc_type, path.file_name());
    let headings = TextHeadings::new(text, layout, places.headings());
    let long_lines = LongLines::of(text);
    cuts.into_iter()
        .filter(|cut| !cut.text.trim().is_empty())
        .enumerate()
        .map(|(ordinal, cut)| {
            let at = cut.text.as_ptr() as usize - text.as_ptr() as usize;
            let page = long_lines.as_ref().and_then(|long| long.page(cut.start_line, at));
            let place = match page {
                // The page tells where the piece is; its line is still known.
                Some(_) => Some(Pointer::Lines { start_line: cut.start_line, end_line: cut.end_line }),
                None => places.pointer(cut),
            };
            let span = page.map(|page| Span::Page { page });
            identify(source, kind, ordinal as u32, cut, place, span, headings.above(cut.start_line))
        })
        .collect()
}

/// What places a plain text has besides its lines.
enum TextPlaces {
    None,
    /// The headings of Markdown and their lines.
    Headings(Vec<(u32, String)>),
    /// The first lines of a table's rows.
    Rows(Vec<u32>),
}

impl TextPlaces {
    fn headings(&self) -> &[(u32, String)] {
        match self {
            TextPlaces::Headings(headings) => headings,
            TextPlaces::None | TextPlaces::Rows(_) => &[],
        }
    }

    fn of(path: &RelPath, doc_type: DocType, text: &str) -> TextPlaces {
        match Format::from_name(path.file_name()) {
            _ if doc_type == DocType::Md => TextPlaces::Headings(extract::headings(text)),
            Some(Format::Csv | Format::Tsv) => TextPlaces::Rows(extract::row_lines(text)),
            _ => TextPlaces::None,
        }
    }

    /// Where a piece is: the section it begins in, or its rows. What comes before the first heading is in no
    /// section, unless the heading comes with it.
    fn pointer(&self, cut: Cut<'_>) -> Option<Pointer> {
        match self {
            TextPlaces::None => None,
            TextPlaces::Headings(headings) => {
                let begun = headings.partition_point(|(line, _)| *line <= cut.start_line);
                let number = if begun == 0 && headings.first()?.0 <= cut.end_line { 1 } else { begun };
                let (_, title) = headings.get(number.checked_sub(1)?)?;
                Some(Pointer::Section { section: number as u32, title: Some(title.clone()), page: None })
            }
            TextPlaces::Rows(lines) => {
                let row_of = |line| lines.partition_point(|first| *first <= line) as u32;
                let (first_row, last_row) = (row_of(cut.start_line), row_of(cut.end_line));
                (first_row > 0).then_some(Pointer::Rows { sheet: None, first_row, last_row })
            }
        }
    }
}

/// The chunks of a document's units: each of one unit alone, cited by its page or time where it has one and by the lines
/// of the joined text where it has not, with the unit's own place beside it.
pub fn chunk_units(source: ChunkSource<'_>, extraction: &Extraction, options: &ChunkOptions) -> Vec<Chunk> {
    let places = extraction.unit_lines();
    let mut headings = UnitHeadings::new(extraction);
    let mut chunks = Vec::new();
    for (unit, (first_line, _)) in extraction.units.iter().zip(places) {
        let (first, later) = headings.of(unit);
        let within = TextHeadings::new(&unit.text, Layout::Plain, &[]);
        for cut in prose::cut(&unit.text, options) {
            if cut.text.trim().is_empty() {
                continue;
            }
            let mut heading = if cut.start_line == 1 { first.clone() } else { later.clone() };
            heading.columns = heading.columns.or_else(|| within.above(cut.start_line).columns);
            let cut = Cut {
                start_line: first_line + cut.start_line - 1,
                end_line: first_line + cut.end_line - 1,
                text: cut.text,
            };
            let ordinal = chunks.len() as u32;
            chunks.push(identify(
                source,
                IndexKind::Text,
                ordinal,
                cut,
                Some(unit.pointer.clone()),
                None,
                heading,
            ));
        }
    }
    chunks
}

fn identify(
    source: ChunkSource<'_>,
    kind: IndexKind,
    ordinal: u32,
    cut: Cut<'_>,
    pointer: Option<Pointer>,
    span: Option<Span>,
    heading: Heading,
) -> Chunk {
    let lines = Span::Lines { start_line: cut.start_line, end_line: cut.end_line };
    let span = span.or_else(|| pointer.as_ref().and_then(Pointer::span)).unwrap_or(lines);
    let text_hash = blake3::hash(cut.text.as_bytes());
    let mut identity = blake3::Hasher::new();
    for part in [source.path.as_str(), source.rep_type.as_str(), kind.as_str()] {
        identity.update(part.as_bytes()).update(&[0]);
    }
    for number in [ordinal, cut.start_line, cut.end_line] {
        identity.update(&number.to_le_bytes());
    }
    identity.update(text_hash.as_bytes());
    // The same text under another heading or on another page is cited otherwise.
    if let Some(pointer) = &pointer {
        identity.update(&serde_json::to_vec(pointer).unwrap_or_default());
    }
    // It is found and shown otherwise, too.
    if !heading.is_empty() {
        identity.update(&serde_json::to_vec(&heading).unwrap_or_default());
    }
    Chunk {
        id: ChunkId::from_digest(identity.finalize().as_bytes()),
        ordinal,
        span,
        pointer,
        heading,
        kind,
        text: cut.text.to_owned(),
        text_hash: ContentHash(*text_hash.as_bytes()),
        tokens_est: cut.text.len().div_ceil(4) as u32,
    }
}

#[cfg(test)]
mod tests {
    use extract::{Extraction, Format, Unit};
    use model::{Chunk, DocType, Pointer, RelPath, RepType, Span};
    use proptest::prelude::*;

    use super::{ChunkOptions, ChunkSource, chunk_units};

    fn raw_text(path: &RelPath) -> ChunkSource<'_> {
        ChunkSource { path, rep_type: RepType::RawText }
    }

    fn chunk_text(path: &RelPath, doc_type: DocType, text: &str, options: &ChunkOptions) -> Vec<Chunk> {
        super::chunk_text(raw_text(path), doc_type, text, options)
    }

    fn small() -> ChunkOptions {
        ChunkOptions {
            max_chars: 60,
            overlap_chars: 12,
            min_chars: 10,
            code_max_lines: 5,
            code_overlap_lines: 2,
            ..ChunkOptions::default()
        }
    }

    proptest! {
        /// Every chunk is a slice of the lines it cites, every non-blank line is in some chunk, and no chunk
        /// outgrows its bound.
        #[test]
        fn spans_are_exact_and_nothing_is_lost(
            text in "([a-zé\u{4e2d} ]{0,90}\n){0,40}[a-z ]{0,90}",
            code in any::<bool>(),
        ) {
            let doc_type = if code { DocType::Code } else { DocType::Md };
            let path = RelPath::parse("a/b").unwrap();
            let options = small();
            let lines: Vec<&str> = text.split('\n').collect();
            let mut covered = vec![false; lines.len() + 1];
            let mut ids = std::collections::HashSet::new();
            for chunk in chunk_text(&path, doc_type, &text, &options) {
                let Span::Lines { start_line, end_line } = chunk.span else { panic!("{:?}", chunk.span) };
                let cited = lines[start_line as usize - 1..end_line as usize].join("\n");
                prop_assert!(cited.contains(&chunk.text), "{cited:?} lacks {:?}", chunk.text);
                for line in start_line..=end_line {
                    covered[line as usize] = true;
                }
                let bound = if code { 8 * options.max_chars } else { options.max_chars + options.min_chars };
                prop_assert!(chunk.text.chars().count() <= bound);
                prop_assert!(ids.insert(chunk.id));
            }
            for (number, line) in lines.iter().enumerate() {
                prop_assert!(covered[number + 1] || line.trim().is_empty(), "line {} is lost", number + 1);
            }
        }
    }

    #[test]
    fn the_same_text_at_another_place_is_another_chunk() {
        let options = ChunkOptions::default();
        let chunk = |path: &str, text: &str| {
            chunk_text(&RelPath::parse(path).unwrap(), DocType::Code, text, &options)[0].clone()
        };
        let first = chunk("a.rs", "fn f() {}");
        assert_eq!(first.id, chunk("a.rs", "fn f() {}").id);
        assert_ne!(first.id, chunk("b.rs", "fn f() {}").id);
        assert_ne!(first.id, chunk("a.rs", "fn f() {}\n//").id);
        assert_eq!(first.text_hash, chunk("b.rs", "fn f() {}").text_hash);
        let path = RelPath::parse("a.rs").unwrap();
        let other = ChunkSource { path: &path, rep_type: RepType::Transcript };
        let other = super::chunk_text(other, DocType::Code, "fn f() {}", &options);
        assert_ne!(first.id, other[0].id, "another representation of the same document");
    }

    #[test]
    fn markdown_chunks_know_their_section() {
        let path = RelPath::parse("a.md").unwrap();
        let text = format!("# One\n\n{0}\n## Two\n\n{0}", "word word word word\n".repeat(6));
        let sections: Vec<_> = chunk_text(&path, DocType::Md, &text, &small())
            .iter()
            .map(|chunk| chunk.pointer.as_ref().map(ToString::to_string))
            .collect();
        assert_eq!(sections.first().unwrap().as_deref(), Some("section 'One'"));
        assert_eq!(sections.last().unwrap().as_deref(), Some("section 'Two'"));
        let plain = chunk_text(&path, DocType::Text, &text, &small());
        assert!(plain.iter().all(|chunk| chunk.pointer.is_none()));
        let renamed = chunk_text(&path, DocType::Md, &text.replace("Two", "Owt"), &small());
        let last = chunk_text(&path, DocType::Md, &text, &small()).pop().unwrap();
        assert_eq!(renamed.last().unwrap().text, last.text);
        assert_ne!(renamed.last().unwrap().id, last.id, "it is cited by another heading");
    }

    #[test]
    fn no_chunk_stands_in_two_units() {
        let rows = |sheet: &str, first_row| Pointer::Rows {
            sheet: Some(sheet.into()),
            first_row,
            last_row: first_row + 9,
        };
        let unit = |pointer, text: &str| Unit { pointer, title: None, text: text.trim_end().to_owned() };
        let extraction = Extraction {
            format: Format::Xlsx,
            title: None,
            units: vec![
                unit(rows("Q1", 1), &"| a | b |\n".repeat(10)),
                unit(rows("Q2", 1), "| c |"),
                unit(rows("Q2", 11), "| d |"),
            ],
            parts: 2,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        };
        let (text, places) = (extraction.joined(), extraction.unit_lines());
        let lines: Vec<&str> = text.split('\n').collect();
        let chunks = chunk_units(raw_text(&RelPath::parse("a.xlsx").unwrap()), &extraction, &small());
        assert!(chunks.len() > 3);
        for chunk in &chunks {
            let Span::Lines { start_line, end_line } = chunk.span else { panic!("{:?}", chunk.span) };
            assert!(lines[start_line as usize - 1..end_line as usize].join("\n").contains(&chunk.text));
            let own = extraction.units.iter().zip(&places).find(|(unit, (first, last))| {
                Some(&unit.pointer) == chunk.pointer.as_ref() && *first <= start_line && end_line <= *last
            });
            assert!(own.is_some(), "{chunk:?}");
        }
    }
}
