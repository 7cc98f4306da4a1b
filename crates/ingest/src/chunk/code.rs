//! Cuts source code where its declarations begin and end, and into overlapping windows of lines where nothing is known
//! of them.

use std::ops::Range;

use lang::{Boundary, Language, Limits};

use super::lines::{Lines, split_line};
use super::{ChunkOptions, Cut};

/// A window of ordinary lines is far below this many times `max_chars`; a minified file is not.
const MAX_CHARS_FACTOR: usize = 8;

/// Small neighbours share a chunk up to this part of `code_max_lines`: a chunk of two or three functions is found by
/// what each is about, one of ten by none.
const SHARED: (usize, usize) = (2, 5);

pub(super) fn cut<'a>(path: &str, text: &'a str, options: &ChunkOptions) -> Vec<Cut<'a>> {
    let lines = Lines::new(text);
    let cutter = Cutter::new(&lines, options);
    // Reading the declarations costs more than all the rest; a small file is one chunk whatever it declares.
    let boundaries = match Language::detect(path, text) {
        Some(language) if !cutter.fits(&(0..lines.len())) => {
            lang::boundaries(&lang::parse(language, text, &Limits::default()))
        }
        _ => Vec::new(),
    };
    let mut cuts = Vec::new();
    for range in cutter.ranges(&boundaries) {
        cutter.windows(range, &mut cuts);
    }
    cuts
}

struct Cutter<'a, 'b> {
    lines: &'b Lines<'a>,
    options: &'b ChunkOptions,
    max_lines: usize,
    shared_lines: usize,
    max_weight: usize,
}

/// Lines that belong together, and the declarations inside them.
type Piece<'b> = (Range<usize>, &'b [Boundary]);

impl<'a, 'b> Cutter<'a, 'b> {
    fn new(lines: &'b Lines<'a>, options: &'b ChunkOptions) -> Cutter<'a, 'b> {
        let max_lines = options.code_max_lines.max(1);
        Cutter {
            lines,
            options,
            max_lines,
            shared_lines: (max_lines * SHARED.0 / SHARED.1).max(1),
            max_weight: options.max_chars * MAX_CHARS_FACTOR,
        }
    }

    /// All lines, parted where declarations are.
    fn ranges(&self, boundaries: &[Boundary]) -> Vec<Range<usize>> {
        let whole = 0..self.lines.len();
        if boundaries.is_empty() {
            return vec![whole];
        }
        let mut ranges = Vec::new();
        self.pack(pieces(whole, boundaries), &mut ranges);
        ranges
    }

    /// Joins small neighbours and parts what is too large by what is inside it.
    fn pack(&self, pieces: Vec<Piece<'_>>, ranges: &mut Vec<Range<usize>>) {
        let mut open: Option<Range<usize>> = None;
        for (range, inside) in pieces {
            if !self.fits(&range) {
                ranges.extend(open.take());
                match inside {
                    [] => ranges.push(range),
                    inside => self.pack(self::pieces(range, inside), ranges),
                }
                continue;
            }
            match &mut open {
                Some(open) if self.fits(&(open.start..range.end)) => open.end = range.end,
                open => ranges.extend(open.replace(range)),
            }
        }
        ranges.extend(open);
    }

    fn fits(&self, range: &Range<usize>) -> bool {
        range.len() <= self.shared_lines
            && range.clone().map(|line| self.lines.weight(line)).sum::<usize>() <= self.max_weight
    }

    /// A range as chunks: one, or overlapping windows where it is too long for one.
    fn windows(&self, range: Range<usize>, cuts: &mut Vec<Cut<'a>>) {
        let overlap = self.options.code_overlap_lines.min(self.max_lines - 1);
        let mut from = range.start;
        while from < range.end {
            if self.lines.weight(from) > self.max_weight {
                split_line(
                    self.lines.line(from),
                    from as u32 + 1,
                    self.options.max_chars,
                    self.options.overlap_chars.min(self.options.max_chars / 2),
                    cuts,
                );
                from += 1;
                continue;
            }
            let mut to = from;
            let mut weight = 0;
            while to < range.end
                && to - from < self.max_lines
                && weight + self.lines.weight(to) <= self.max_weight
            {
                weight += self.lines.weight(to);
                to += 1;
            }
            cuts.push(self.lines.cut(from, to));
            if to == range.end {
                break;
            }
            // A window that a long line closed starts again at that line: no overlap is owed to it.
            from = if to - from == self.max_lines { to - overlap } else { to };
        }
    }
}

/// The outermost of the boundaries and what lies between them. They come by first line, the outer before the inner.
fn pieces(range: Range<usize>, boundaries: &[Boundary]) -> Vec<Piece<'_>> {
    let outermost = boundaries.iter().map(|boundary| boundary.level).min().unwrap_or(0);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut reached = range.start;
    let mut at = 0;
    while at < boundaries.len() {
        let boundary = &boundaries[at];
        let inside = boundaries[at + 1..].iter().take_while(|inner| inner.level > outermost).count();
        let next = at + 1 + inside;
        let start = (boundary.start_line as usize).saturating_sub(1).clamp(reached, range.end);
        let end = (boundary.end_line as usize).min(range.end);
        if boundary.level == outermost && start < end {
            if reached < start {
                pieces.push((reached..start, &[]));
            }
            pieces.push((start..end, &boundaries[at + 1..next]));
            reached = end;
        }
        at = next;
    }
    if reached < range.end {
        pieces.push((reached..range.end, &[]));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{ChunkOptions, cut};

    fn ranges(path: &str, text: &str, options: &ChunkOptions) -> Vec<(u32, u32)> {
        cut(path, text, options).iter().map(|c| (c.start_line, c.end_line)).collect()
    }

    #[test]
    fn r023_windows_of_200_lines_overlap_by_30() {
        let text = (1..=500).map(|n| format!("line {n}\n")).collect::<String>();
        let ranges = ranges("notes.unknown", &text, &ChunkOptions::default());
        assert_eq!(ranges, [(1, 200), (171, 370), (341, 500)]);
    }

    #[test]
    fn chunks_follow_the_declarations() {
        let function = |name: &str, lines: usize| {
            format!("# About {name}.\ndef {name}():\n{}\n", "    work()\n".repeat(lines))
        };
        let text = format!(
            "import os\n\n{}{}class Large:\n    \"\"\"Doc.\"\"\"\n\n{}{}last = 1\n",
            function("first", 2),
            function("second", 2),
            "    def a(self):\n        work()\n\n".repeat(3),
            "    def b(self):\n        work()\n        work()\n\n".repeat(3),
        );
        let options = ChunkOptions { code_max_lines: 20, ..ChunkOptions::default() };
        let chunks: Vec<String> =
            cut("a.py", &text, &options).iter().map(|cut| cut.text.to_owned()).collect();
        insta::assert_snapshot!(chunks.join("\n=======\n"));
    }

    #[test]
    fn a_function_too_long_for_one_chunk_is_windows() {
        let body = "    work();\n".repeat(300);
        let text = format!("fn small() {{}}\n\nfn long() {{\n{body}}}\n\nfn after() {{}}\n");
        let ranges = ranges("a.rs", &text, &ChunkOptions::default());
        assert_eq!(ranges, [(1, 2), (3, 202), (173, 304), (305, 306)]);
    }

    #[test]
    fn a_minified_line_is_split_and_its_neighbours_stay_whole() {
        let text = format!("// header\n{}\nlast();\n", "var a=1;".repeat(5000));
        let cuts = cut("a.js", &text, &ChunkOptions::default());
        assert_eq!(cuts.first().map(|c| c.text), Some("// header"));
        assert_eq!(cuts.last().map(|c| (c.start_line, c.text)), Some((3, "last();")));
        assert!(cuts.iter().all(|c| c.text.len() <= 2500));
    }
}
