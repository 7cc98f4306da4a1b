//! Lines of a text, and the coloured pieces of each, counted as browsers count: in units of UTF-16.

use engine::ColouredPiece;
use serde_json::{Value, json};

use super::MAX_TEXT_BYTES;

/// A longer line is cut: no page shows it whole.
const MAX_LINE_UNITS: usize = 20_000;

/// The lines of a text that are shown.
pub(super) struct Window<'t> {
    /// The number of the first one, from 1.
    first: usize,
    total: usize,
    /// Each with the place of its first byte.
    lines: Vec<(usize, &'t str)>,
    /// Numbers of the lines that were cut.
    cut: Vec<usize>,
    is_truncated: bool,
}

/// Start and length in UTF-16, and the colour.
pub(super) type Token = [u32; 3];

impl<'t> Window<'t> {
    /// At most `most` lines from `first` on.
    pub(super) fn of(text: &'t str, first: usize, most: usize) -> Window<'t> {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let mut window = Window { first, total: 0, lines: Vec::new(), cut: Vec::new(), is_truncated: false };
        if text.is_empty() {
            return window;
        }
        let (mut at, mut taken) = (0, 0);
        for line in body.split('\n') {
            window.total += 1;
            if window.total >= first {
                let (shown, is_cut) = cut(line);
                if window.lines.len() < most && taken + shown.len() <= MAX_TEXT_BYTES && !window.is_truncated
                {
                    window.lines.push((at, shown));
                    taken += shown.len();
                    if is_cut {
                        window.cut.push(window.total);
                    }
                } else {
                    window.is_truncated = true;
                }
            }
            at += line.len() + 1;
        }
        window
    }

    pub(super) fn json(&self) -> Value {
        let text: Vec<&str> = self.lines.iter().map(|(_, line)| *line).collect();
        json!({
            "first": self.first,
            "total": self.total,
            "text": text,
            "cut": self.cut,
            "truncated": self.is_truncated,
        })
    }

    /// The pieces of each line; `pieces` are in order.
    pub(super) fn tokens(&self, pieces: &[ColouredPiece]) -> Vec<Vec<Token>> {
        let mut next = 0;
        let mut all = Vec::with_capacity(self.lines.len());
        for (start, line) in &self.lines {
            let end = start + line.len();
            while pieces.get(next).is_some_and(|piece| piece.end <= *start) {
                next += 1;
            }
            let mut tokens = Vec::new();
            // Counts on from one piece to the next, so that a line is gone through once.
            let (mut byte, mut unit) = (0, 0u32);
            for piece in pieces[next..].iter().take_while(|piece| piece.start < end) {
                let (from, to) = (piece.start.max(*start) - start, piece.end.min(end) - start);
                let (Some(before), Some(inside)) = (line.get(byte..from), line.get(from..to)) else {
                    continue;
                };
                unit += units(before);
                let length = units(inside);
                if length > 0 {
                    tokens.push([unit, length, u32::from(piece.colour)]);
                }
                unit += length;
                byte = to;
            }
            all.push(tokens);
        }
        all
    }
}

fn units(text: &str) -> u32 {
    if text.is_ascii() {
        return text.len() as u32;
    }
    text.chars().map(|c| c.len_utf16() as u32).sum()
}

/// The line, or as much of it as is shown.
fn cut(line: &str) -> (&str, bool) {
    if line.len() <= MAX_LINE_UNITS {
        return (line, false);
    }
    let mut counted = 0;
    for (at, c) in line.char_indices() {
        counted += c.len_utf16();
        if counted > MAX_LINE_UNITS {
            return (&line[..at], true);
        }
    }
    (line, false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(start: usize, end: usize, colour: u8) -> ColouredPiece {
        ColouredPiece { start, end, colour }
    }

    #[test]
    fn places_are_counted_in_utf_16() {
        let text = "aä😀b\nxyz\n";
        // The emoji and the `b` behind it, then all of the second line.
        let window = Window::of(text, 1, 10);
        let tokens = window.tokens(&[piece(3, 7, 1), piece(7, 8, 2), piece(9, 12, 3)]);
        assert_eq!(tokens, [vec![[2, 2, 1], [4, 1, 2]], vec![[0, 3, 3]]]);
    }

    #[test]
    fn a_piece_over_several_lines_is_in_each() {
        let window = Window::of("a /* b\nc\n\nd */ e\n", 2, 3);
        let tokens = window.tokens(&[piece(2, 14, 1)]);
        assert_eq!(tokens, [vec![[0, 1, 1]], vec![], vec![[0, 4, 1]]]);
        assert_eq!(window.json()["text"], json!(["c", "", "d */ e"]));
        assert_eq!((window.total, window.is_truncated), (4, false));
    }

    #[test]
    fn windows_are_bounded() {
        let text = "x\n".repeat(100);
        let window = Window::of(&text, 51, 10);
        assert_eq!((window.lines.len(), window.total, window.is_truncated), (10, 100, true));
        assert_eq!(Window::of(&text, 200, 10).lines.len(), 0);
        let long = format!("{}\nshort", "ä".repeat(MAX_LINE_UNITS + 1));
        let window = Window::of(&long, 1, 10);
        assert_eq!((window.cut.as_slice(), units(window.lines[0].1)), (&[1][..], MAX_LINE_UNITS as u32));
        let large = format!("{}\n", "y".repeat(1000)).repeat(10_000);
        let window = Window::of(&large, 1, usize::MAX);
        assert!(window.is_truncated && window.lines.len() < 2200, "{}", window.lines.len());
        assert_eq!(Window::of("", 1, 10).total, 0);
    }

    proptest! {
        /// Tokens lie within their lines, in order, whatever the text is.
        #[test]
        fn tokens_lie_within_lines(text in "[aä😀\n ]{0,60}", places in prop::collection::vec((0usize..60, 1usize..10), 0..8)) {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let mut pieces: Vec<ColouredPiece> = Vec::new();
            for (start, length) in places {
                let start = boundary(start).max(pieces.last().map_or(0, |piece| piece.end));
                let end = boundary(start + length);
                if end > start {
                    pieces.push(piece(start, end, 0));
                }
            }
            let window = Window::of(&text, 1, 100);
            for (tokens, (_, line)) in window.tokens(&pieces).iter().zip(&window.lines) {
                let mut last = 0;
                for [start, length, _] in tokens {
                    prop_assert!(*start >= last && *length > 0);
                    last = start + length;
                }
                prop_assert!(last <= units(line));
            }
        }
    }
}
