//! Cuts source code into overlapping windows of lines.

use super::lines::{Lines, split_line};
use super::{ChunkOptions, Cut};

/// A window of ordinary lines is far below this many times `max_chars`; a minified file is not.
const MAX_CHARS_FACTOR: usize = 8;

pub(super) fn cut<'a>(text: &'a str, options: &ChunkOptions) -> Vec<Cut<'a>> {
    let lines = Lines::new(text);
    let max_lines = options.code_max_lines.max(1);
    let overlap = options.code_overlap_lines.min(max_lines - 1);
    let max_weight = options.max_chars * MAX_CHARS_FACTOR;
    let mut cuts = Vec::new();
    let mut from = 0;
    while from < lines.len() {
        if lines.weight(from) > max_weight {
            split_line(
                lines.line(from),
                from as u32 + 1,
                options.max_chars,
                options.overlap_chars.min(options.max_chars / 2),
                &mut cuts,
            );
            from += 1;
            continue;
        }
        let mut to = from;
        let mut weight = 0;
        while to < lines.len() && to - from < max_lines && weight + lines.weight(to) <= max_weight {
            weight += lines.weight(to);
            to += 1;
        }
        cuts.push(lines.cut(from, to));
        if to == lines.len() {
            break;
        }
        // A window that a long line closed starts again at that line: no overlap is owed to it.
        from = if to - from == max_lines { to - overlap } else { to };
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::{ChunkOptions, cut};

    #[test]
    fn r023_windows_of_200_lines_overlap_by_30() {
        let text = (1..=500).map(|n| format!("line {n}\n")).collect::<String>();
        let ranges: Vec<_> =
            cut(&text, &ChunkOptions::default()).iter().map(|c| (c.start_line, c.end_line)).collect();
        assert_eq!(ranges, [(1, 200), (171, 370), (341, 500)]);
    }

    #[test]
    fn a_minified_line_is_split_and_its_neighbours_stay_whole() {
        let text = format!("// header\n{}\nlast();\n", "var a=1;".repeat(5000));
        let cuts = cut(&text, &ChunkOptions::default());
        assert_eq!(cuts.first().map(|c| c.text), Some("// header"));
        assert_eq!(cuts.last().map(|c| (c.start_line, c.text)), Some((3, "last();")));
        assert!(cuts.iter().all(|c| c.text.len() <= 2500));
    }
}
