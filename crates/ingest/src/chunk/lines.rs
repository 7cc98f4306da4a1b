//! The lines of a text with their byte offsets, and the splitting of lines that are too long to be one.

use super::Cut;
use crate::text_pages::LONGEST_PIECE;

/// Byte ranges of a text's lines, without their line ends. Line `n` is at index `n - 1`.
pub(super) struct LineRanges<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineRanges<'a> {
    pub(super) fn new(text: &'a str) -> LineRanges<'a> {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        // A final line end closes the last line; it does not open another.
        if starts.len() > 1 && starts.last() == Some(&text.len()) {
            starts.pop();
        }
        LineRanges { text, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn line(&self, index: usize) -> &'a str {
        &self.text[self.starts[index]..self.end(index)]
    }

    /// Bytes of a line including its line end: what it adds to a chunk.
    pub(super) fn weight(&self, index: usize) -> usize {
        self.end(index) - self.starts[index] + 1
    }

    /// The same of the lines `from..to` (indices).
    pub(super) fn weight_of(&self, from: usize, to: usize) -> usize {
        if from < to { self.end(to - 1) - self.starts[from] + 1 } else { 0 }
    }

    /// The lines `from..to` (indices) as one slice of the text.
    pub(super) fn cut(&self, from: usize, to: usize) -> Cut<'a> {
        Cut {
            start_line: from as u32 + 1,
            end_line: to as u32,
            text: &self.text[self.starts[from]..self.end(to - 1)],
        }
    }

    fn end(&self, index: usize) -> usize {
        match self.starts.get(index + 1) {
            Some(next) => next - 1,
            None => self.text.strip_suffix('\n').unwrap_or(self.text).len().max(self.starts[index]),
        }
    }
}

/// Splits one over-long line into overlapping pieces of at most `max` characters, at a space where one is near.
pub(super) fn split_line<'a>(line: &'a str, number: u32, max: usize, overlap: usize, out: &mut Vec<Cut<'a>>) {
    let max = max.min(LONGEST_PIECE);
    let overlap = overlap.min(max / 2);
    let mut start = 0;
    while start < line.len() {
        let hard_end = advance(line, start, max);
        let end = if hard_end == line.len() {
            hard_end
        } else {
            // A word cut in two is found by neither half: step back to a space in the last fifth.
            let floor = advance(line, start, max - max / 5);
            line[floor..hard_end].rfind(char::is_whitespace).map_or(hard_end, |at| floor + at)
        };
        let end = if end <= start { hard_end } else { end };
        out.push(Cut { start_line: number, end_line: number, text: &line[start..end] });
        if end == line.len() {
            return;
        }
        start = retreat(line, end, overlap).max(start + 1);
        while !line.is_char_boundary(start) {
            start += 1;
        }
    }
}

/// The byte offset `count` characters after `from`.
fn advance(line: &str, from: usize, count: usize) -> usize {
    line[from..].char_indices().nth(count).map_or(line.len(), |(at, _)| from + at)
}

/// The byte offset `count` characters before `from`.
fn retreat(line: &str, from: usize, count: usize) -> usize {
    if count == 0 {
        return from;
    }
    line[..from].char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)
}
