//! Lines of a text as ranges of its bytes, counted from 1.

use std::ops::Range;

/// The bytes of the lines `first..=last`, without the line end of the last one; clipped to the text. `None` where the text
/// has no line of that number. Behind a line end at the very end of the text an empty line follows.
pub fn line_range(text: &str, first: u32, last: u32) -> Option<Range<usize>> {
    let start = match first {
        0 | 1 => 0,
        later => text.match_indices('\n').nth(later as usize - 2).map(|(at, _)| at + 1)?,
    };
    let further = last.saturating_sub(first.max(1)) as usize;
    let end = text[start..].match_indices('\n').nth(further).map_or(text.len(), |(at, _)| start + at);
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::line_range;

    #[test]
    fn lines_are_clipped_to_the_text() {
        assert_eq!(line_range("a\nbb\nc", 2, 2), Some(2..4));
        assert_eq!(line_range("a\nbb\nc", 2, 99), Some(2..6));
        assert_eq!(line_range("a\nbb\nc", 4, 4), None);
        assert_eq!(line_range("a\n", 2, 2), Some(2..2));
        assert_eq!(line_range("", 1, 1), Some(0..0));
        assert_eq!(line_range("a\nb", 0, 1), Some(0..1));
    }
}
