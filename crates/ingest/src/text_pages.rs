//! The pages of a plain text: those that form feeds divide, as `pdftotext` and the RFCs write them, or pages of equal
//! length where a line is so long that its number says nothing.
//!
//! A citation knows lines, pages and times. A line of 18 MB can be cited by none of these unless it has pages: a piece of
//! such a line is cited by the page it begins on, and that page shows the whole piece.

use std::ops::Range;

/// Characters from the beginning of one page to that of the next, where lines are long.
const PAGE_CHARS: usize = 16_000;

/// No piece of a long line has more characters. A page shows so many of the next one, and with them no more than
/// `open_file` shows unless told otherwise.
pub(crate) const LONGEST_PIECE: usize = 4_000;

/// Where the pages of a text begin and end, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPages(Vec<Range<usize>>);

impl TextPages {
    /// `None` where the text has no pages: lines are enough.
    pub fn of(text: &str) -> Option<TextPages> {
        if let Some(long) = LongLines::of(text) {
            return Some(long.pages);
        }
        if !text.contains('\x0c') {
            return None;
        }
        let mut start = 0;
        let pages = text.split('\x0c').map(|page| {
            let range = start..start + page.len();
            start = range.end + 1;
            range
        });
        Some(TextPages(pages.collect()))
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The bytes of a page, counted from 1.
    pub fn range(&self, page: u32) -> Option<Range<usize>> {
        self.0.get(page.checked_sub(1)? as usize).cloned()
    }
}

/// The lines of a text that are longer than a page, and the pages that the text has for their sake.
#[derive(Debug)]
pub(crate) struct LongLines {
    /// Numbers from 1, in order.
    lines: Vec<u32>,
    pages: TextPages,
}

impl LongLines {
    /// `None` where every line is shorter than a page, as in nearly every text.
    pub(crate) fn of(text: &str) -> Option<LongLines> {
        let is_long = |line: &str| line.len() > PAGE_CHARS && line.chars().count() > PAGE_CHARS;
        let lines: Vec<u32> =
            (1..).zip(text.split('\n')).filter(|(_, line)| is_long(line)).map(|(number, _)| number).collect();
        if lines.is_empty() {
            return None;
        }
        let starts: Vec<usize> = text.char_indices().step_by(PAGE_CHARS).map(|(at, _)| at).collect();
        let beyond = |next: usize| {
            let rest = text[next..].char_indices().nth(LONGEST_PIECE);
            rest.map_or(text.len(), |(at, _)| next + at)
        };
        let ends = starts.iter().skip(1).map(|next| beyond(*next)).chain([text.len()]);
        let pages = TextPages(starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect());
        Some(LongLines { lines, pages })
    }

    /// The page that a piece of a long line begins on; `at` is its first byte.
    pub(crate) fn page(&self, line: u32, at: usize) -> Option<u32> {
        self.lines.binary_search(&line).ok()?;
        u32::try_from(self.pages.0.partition_point(|page| page.start <= at)).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONGEST_PIECE, LongLines, PAGE_CHARS, TextPages};

    #[test]
    fn form_feeds_divide_pages() {
        assert_eq!(TextPages::of("no pages"), None);
        let pages = TextPages::of("a\x0cbb\x0c").unwrap();
        assert_eq!((pages.count(), pages.range(2), pages.range(3)), (3, Some(2..4), Some(5..5)));
        assert_eq!((pages.range(0), pages.range(4)), (None, None));
    }

    #[test]
    fn a_short_line_has_no_page() {
        let text = format!("first\n{}\nlast\n", "word ".repeat(10_000));
        let long = LongLines::of(&text).unwrap();
        assert_eq!((long.page(1, 0), long.page(3, 50_008)), (None, None));
        assert_eq!((long.page(2, 6), long.page(2, 2 * PAGE_CHARS)), (Some(1), Some(3)));
        assert!(LongLines::of(&"word\n".repeat(10_000)).is_none());
    }

    proptest! {
        #[test]
        fn a_piece_stands_whole_on_the_page_it_begins_on(
            unit in "[a-zé漢🦀]{1,7}", times in 6_000usize..9_000, at in 0.0..1.0f64,
        ) {
            let text = unit.repeat(times * 7 / unit.chars().count());
            let long = LongLines::of(&text).unwrap();
            let start = text.floor_char_boundary((text.len() as f64 * at) as usize);
            let piece: String = text[start..].chars().take(LONGEST_PIECE).collect();
            let page = long.pages.range(long.page(1, start).unwrap()).unwrap();
            prop_assert!(page.start <= start && start + piece.len() <= page.end);
            prop_assert!(text[page].chars().count() <= PAGE_CHARS + LONGEST_PIECE);
        }
    }
}
