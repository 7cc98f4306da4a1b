//! Cuts prose, markup and data into windows of whole lines, ending at a paragraph where one is near.

use super::lines::{LineRanges, split_line};
use super::{ChunkOptions, Cut};

pub(super) fn cut<'a>(text: &'a str, options: &ChunkOptions) -> Vec<Cut<'a>> {
    let lines = LineRanges::new(text);
    let max = options.max_chars.max(1);
    let overlap = options.overlap_chars.min(max / 2);
    let mut cuts = Vec::new();
    let mut from = 0;
    while from < lines.len() {
        if chars(&lines, from) > max {
            split_line(lines.line(from), from as u32 + 1, max, overlap, &mut cuts);
            from += 1;
            continue;
        }
        let full = fill(&lines, from, max);
        // A short rest is not worth a chunk of its own: a hit in it would lack all context.
        if full < lines.len() && size(&lines, full, lines.len(), options.min_chars + 1) <= options.min_chars {
            cuts.push(lines.cut(from, lines.len()));
            break;
        }
        let to = if full == lines.len() { full } else { paragraph_end(&lines, from, full, max) };
        cuts.push(lines.cut(from, to));
        if to == lines.len() {
            break;
        }
        from = step_back(&lines, from, to, overlap);
    }
    cuts
}

/// Characters of a line with its line end.
fn chars(lines: &LineRanges<'_>, index: usize) -> usize {
    lines.line(index).chars().count() + 1
}

/// The first line that no longer fits into `max` characters from `from`.
fn fill(lines: &LineRanges<'_>, from: usize, max: usize) -> usize {
    let mut to = from;
    let mut size = 0;
    while to < lines.len() {
        size += chars(lines, to);
        // The last line's own end is not part of the chunk.
        if size - 1 > max {
            break;
        }
        to += 1;
    }
    to.max(from + 1)
}

/// Characters of `from..to`, counted no further than `limit`.
fn size(lines: &LineRanges<'_>, from: usize, to: usize, limit: usize) -> usize {
    let mut total = 0;
    for index in from..to {
        total += chars(lines, index);
        if total > limit {
            break;
        }
    }
    total
}

/// The last paragraph or heading boundary in the second half of the window, or its end.
fn paragraph_end(lines: &LineRanges<'_>, from: usize, to: usize, max: usize) -> usize {
    let mut at = to;
    while at > from + 1 {
        let blank_before = lines.line(at - 1).trim().is_empty();
        let heading = at < lines.len() && lines.line(at).starts_with('#');
        if blank_before || heading {
            return if size(lines, from, at, max) >= max / 2 { at } else { to };
        }
        at -= 1;
    }
    to
}

/// The line the next window starts at: whole lines back from `to`, at most `overlap` characters, always forward.
fn step_back(lines: &LineRanges<'_>, from: usize, to: usize, overlap: usize) -> usize {
    let mut start = to;
    let mut size = 0;
    while start > from + 1 {
        size += chars(lines, start - 1);
        if size > overlap {
            break;
        }
        start -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::{ChunkOptions, cut};

    #[test]
    fn windows_end_at_paragraphs_and_overlap_by_whole_lines() {
        let paragraph = "A line of some fifty characters, more or less so.\n".repeat(10);
        let text = format!("{paragraph}\n").repeat(12);
        let cuts = cut(&text, &ChunkOptions::default());
        assert!(cuts.len() > 2);
        for pair in cuts.windows(2) {
            assert!(pair[1].start_line <= pair[0].end_line + 1, "a gap");
            assert!(pair[1].start_line > pair[0].start_line, "no progress");
        }
        assert!(cuts.iter().all(|c| c.text.chars().count() <= 2700));
    }

    #[test]
    fn a_short_tail_joins_its_neighbour() {
        let text = format!("{}\nthe end", "word ".repeat(490));
        let cuts = cut(&text, &ChunkOptions::default());
        assert_eq!(cuts.len(), 1);
        assert!(cuts[0].text.ends_with("the end"));
    }
}
