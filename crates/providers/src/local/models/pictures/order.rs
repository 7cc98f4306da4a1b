//! The order in which people read: columns from left to right, lines from top to bottom, paragraphs apart.

/// A line of text and where it is: left, top, width and height.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedText {
    pub(super) area: [u32; 4],
    pub(super) text: String,
    pub(super) sureness: f32,
}

impl PlacedText {
    fn left(&self) -> u32 {
        self.area[0]
    }

    fn right(&self) -> u32 {
        self.area[0] + self.area[2]
    }

    fn top(&self) -> u32 {
        self.area[1]
    }

    fn bottom(&self) -> u32 {
        self.area[1] + self.area[3]
    }

    fn height(&self) -> u32 {
        self.area[3].max(1)
    }

    /// Whether two stand on one line: half of the smaller one is beside the other.
    fn is_beside(&self, other: &PlacedText) -> bool {
        let shared = self.bottom().min(other.bottom()).saturating_sub(self.top().max(other.top()));
        2 * shared > self.height().min(other.height())
    }
}

/// A column of text has at least this many lines; fewer beside each other are a row of a table or a form.
const MIN_COLUMN_LINES: usize = 4;

/// Lines of a column are at least this many times as wide as high; cells of a table are narrower.
const MIN_COLUMN_WIDTH: u32 = 6;

/// Puts texts into reading order. Each group is a paragraph; each of its groups is a line, from left to right.
pub(super) fn paragraphs(texts: Vec<PlacedText>) -> Vec<Vec<Vec<PlacedText>>> {
    let mut blocks = Vec::new();
    into_blocks(texts, &mut blocks);
    blocks.into_iter().flat_map(|block| split_paragraphs(into_lines(block))).collect()
}

/// Cuts a page into blocks, column by column. What spans the columns, such as a title, parts what is above it from what is
/// below.
fn into_blocks(texts: Vec<PlacedText>, blocks: &mut Vec<Vec<PlacedText>>) {
    let left = texts.iter().map(PlacedText::left).min().unwrap_or(0);
    let right = texts.iter().map(PlacedText::right).max().unwrap_or(0);
    // Wider than this, it is no line of a column.
    let spanning = (right - left) * 3 / 5;
    let narrow: Vec<PlacedText> = texts.iter().filter(|text| text.area[2] <= spanning).cloned().collect();
    let Some(cut) = column_gap(&narrow) else {
        blocks.push(texts);
        return;
    };
    let mut texts = texts;
    texts.sort_by_key(|text| (text.top() + text.height() / 2, text.left()));
    let (mut columns, mut across) = (Vec::new(), Vec::new());
    let mut flush = |columns: &mut Vec<PlacedText>, across: &mut Vec<PlacedText>| {
        let (left, right): (Vec<_>, Vec<_>) = columns.drain(..).partition(|text| text.right() <= cut);
        into_blocks(left, blocks);
        into_blocks(right, blocks);
        blocks.push(std::mem::take(across));
    };
    for text in texts {
        if text.area[2] > spanning {
            across.push(text);
            continue;
        }
        if !across.is_empty() {
            flush(&mut columns, &mut across);
        }
        columns.push(text);
    }
    flush(&mut columns, &mut across);
    blocks.retain(|block| !block.is_empty());
}

/// Where two columns part, if they do.
fn column_gap(texts: &[PlacedText]) -> Option<u32> {
    let line = typical_height(texts)?;
    let is_column = |side: &[&PlacedText]| {
        let wide = side.iter().filter(|text| text.area[2] >= MIN_COLUMN_WIDTH * text.height()).count();
        side.len() >= MIN_COLUMN_LINES && 2 * wide > side.len()
    };
    let widest = gaps(texts)
        .into_iter()
        .filter(|(from, to)| 2 * (to - from) >= line)
        .max_by_key(|(from, to)| to - from)?;
    let middle = (widest.0 + widest.1) / 2;
    let (left, right): (Vec<&PlacedText>, Vec<&PlacedText>) =
        texts.iter().partition(|text| text.right() <= middle);
    (is_column(&left) && is_column(&right)).then_some(middle)
}

/// From left to right, where nothing is between the first and the last text.
fn gaps(texts: &[PlacedText]) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = texts.iter().map(|text| (text.left(), text.right())).collect();
    spans.sort_unstable();
    let mut gaps = Vec::new();
    let mut covered = spans.first().map_or(0, |first| first.1);
    for (from, to) in spans {
        if from > covered {
            gaps.push((covered, from));
        }
        covered = covered.max(to);
    }
    gaps
}

fn into_lines(mut texts: Vec<PlacedText>) -> Vec<Vec<PlacedText>> {
    texts.sort_by_key(|text| (text.top() + text.height() / 2, text.left()));
    let mut lines: Vec<Vec<PlacedText>> = Vec::new();
    for text in texts {
        match lines.last_mut().filter(|line| line.iter().any(|other| other.is_beside(&text))) {
            Some(line) => line.push(text),
            None => lines.push(vec![text]),
        }
    }
    for line in &mut lines {
        line.sort_by_key(PlacedText::left);
    }
    lines
}

/// Lines that are farther apart than usual begin a paragraph.
fn split_paragraphs(lines: Vec<Vec<PlacedText>>) -> Vec<Vec<Vec<PlacedText>>> {
    let edge = |line: &[PlacedText]| {
        let top = line.iter().map(PlacedText::top).min().unwrap_or(0);
        (top, line.iter().map(PlacedText::bottom).max().unwrap_or(0))
    };
    let edges: Vec<(u32, u32)> = lines.iter().map(|line| edge(line)).collect();
    // From top to top, since the model draws its areas tighter or wider as it likes.
    let mut steps: Vec<u32> = edges.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
    let usual = match steps.len() {
        0 => 0,
        length => *steps.select_nth_unstable((length - 1) / 2).1,
    };
    let mut paragraphs: Vec<Vec<Vec<PlacedText>>> = Vec::new();
    let mut before: Option<u32> = None;
    for (line, (top, _)) in lines.into_iter().zip(edges) {
        let is_far = before.is_some_and(|before| 2 * top.saturating_sub(before) > 3 * usual);
        match paragraphs.last_mut().filter(|_| !is_far) {
            Some(paragraph) => paragraph.push(line),
            None => paragraphs.push(vec![line]),
        }
        before = Some(top);
    }
    paragraphs
}

fn typical_height(texts: &[PlacedText]) -> Option<u32> {
    let mut heights: Vec<u32> = texts.iter().map(PlacedText::height).collect();
    let middle = heights.len() / 2;
    (!heights.is_empty()).then(|| *heights.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(area: [u32; 4], text: &str) -> PlacedText {
        PlacedText { area, text: text.to_owned(), sureness: 1.0 }
    }

    fn read(texts: Vec<PlacedText>) -> String {
        let paragraphs: Vec<String> = paragraphs(texts)
            .iter()
            .map(|paragraph| {
                let lines: Vec<String> = paragraph
                    .iter()
                    .map(|line| line.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join(" "))
                    .collect();
                lines.join(" / ")
            })
            .collect();
        paragraphs.join(" // ")
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let mut texts = vec![placed([100, 20, 800, 40], "Title")];
        for line in 0..5 {
            texts.push(placed([520, 100 + line * 30, 380, 20], &format!("r{line}")));
            texts.push(placed([100, 100 + line * 30, 390, 20], &format!("l{line}")));
        }
        texts.push(placed([100, 300, 800, 20], "Foot"));
        assert_eq!(read(texts), "Title // l0 / l1 / l2 / l3 / l4 // r0 / r1 / r2 / r3 / r4 // Foot");
    }

    #[test]
    fn tables_are_read_row_by_row() {
        let mut texts = Vec::new();
        for row in 0..5 {
            texts.push(placed([100, 100 + row * 30, 60, 20], &format!("a{row}")));
            texts.push(placed([400, 102 + row * 30, 60, 20], &format!("b{row}")));
        }
        assert_eq!(read(texts), "a0 b0 / a1 b1 / a2 b2 / a3 b3 / a4 b4");
    }

    #[test]
    fn wider_gaps_begin_paragraphs() {
        let tops = [0, 30, 60, 130, 160, 190];
        let texts = tops.iter().map(|top| placed([10, *top, 500, 22], &top.to_string())).collect();
        assert_eq!(read(texts), "0 / 30 / 60 // 130 / 160 / 190");
        assert_eq!(read(Vec::new()), "");
    }
}
