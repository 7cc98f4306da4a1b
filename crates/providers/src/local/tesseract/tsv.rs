//! What Tesseract writes: one line per page, block, paragraph, line and word, separated by tabs.

use std::fmt::Write as _;

use model::RecognizedLine;

/// Lines that Tesseract trusts less than this are strokes of drawings, not text.
const MIN_LINE_CONFIDENCE: f32 = 25.0;

/// What was read on a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    /// Lines; an empty line between paragraphs.
    pub(super) text: String,
    /// In pixels of what Tesseract was given.
    pub(super) lines: Vec<RecognizedLine>,
    /// Areas of the single words: left, top, width, height.
    pub(super) words: Vec<[u32; 4]>,
    /// From 0 to 100, each word weighing as much as it has letters. Zero without words.
    pub(super) confidence: f32,
}

/// The words of one line.
#[derive(Default)]
struct Line {
    /// Block, paragraph and line.
    place: [u32; 3],
    words: Vec<Word>,
}

struct Word {
    area: [u32; 4],
    confidence: f32,
    text: String,
}

/// Reads the table. Lines that are not as they should be are passed over.
pub(super) fn parse(table: &str) -> Reading {
    let mut lines: Vec<Line> = Vec::new();
    for row in table.lines() {
        let Some((place, word)) = word(row) else { continue };
        match lines.last_mut() {
            Some(line) if line.place == place => line.words.push(word),
            _ => lines.push(Line { place, words: vec![word] }),
        }
    }
    lines.retain(|line| line.confidence() >= MIN_LINE_CONFIDENCE);
    let mut reading = Reading::default();
    let (mut letters, mut sum) = (0.0, 0.0);
    let mut previous: Option<[u32; 3]> = None;
    for line in &lines {
        let words: Vec<&str> = line.words.iter().map(|word| word.text.as_str()).collect();
        let text = words.join(" ");
        let is_new_paragraph = previous.is_some_and(|previous| previous[..2] != line.place[..2]);
        // Writing to a string cannot fail.
        let _ = write!(
            reading.text,
            "{}{text}",
            match previous {
                None => "",
                Some(_) if is_new_paragraph => "\n\n",
                Some(_) => "\n",
            }
        );
        previous = Some(line.place);
        for word in &line.words {
            letters += word.letters();
            sum += word.letters() * word.confidence;
        }
        reading.words.extend(line.words.iter().map(|word| word.area));
        let area = line.area();
        let confidence = Some(line.confidence() / 100.0);
        reading.lines.push(RecognizedLine { text, area, confidence });
    }
    reading.confidence = if letters > 0.0 { sum / letters } else { 0.0 };
    reading
}

impl Line {
    fn confidence(&self) -> f32 {
        let letters: f32 = self.words.iter().map(Word::letters).sum();
        self.words.iter().map(|word| word.letters() * word.confidence).sum::<f32>() / letters.max(1.0)
    }

    /// What all of its words lie in.
    fn area(&self) -> [u32; 4] {
        let edge = |edge: fn(&[u32; 4]) -> u32| self.words.iter().map(move |word| edge(&word.area));
        let left = edge(|area| area[0]).min().unwrap_or(0);
        let top = edge(|area| area[1]).min().unwrap_or(0);
        let right = edge(|area| area[0].saturating_add(area[2])).max().unwrap_or(0);
        let bottom = edge(|area| area[1].saturating_add(area[3])).max().unwrap_or(0);
        [left, top, right - left, bottom - top]
    }
}

impl Word {
    fn letters(&self) -> f32 {
        self.text.chars().count() as f32
    }
}

/// The word of a row, where the row is about a word.
fn word(row: &str) -> Option<([u32; 3], Word)> {
    let mut fields = row.split('\t');
    let mut number = || fields.next()?.parse::<u32>().ok();
    let (level, _page) = (number()?, number()?);
    let place = [number()?, number()?, number()?];
    let _word = number()?;
    let area = [number()?, number()?, number()?, number()?];
    let confidence = fields.next()?.parse::<f32>().ok()?;
    let text = fields.next()?.trim();
    let is_word = level == 5 && confidence >= 0.0 && !text.is_empty();
    is_word.then(|| (place, Word { area, confidence: confidence.min(100.0), text: text.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t800\t600\t-1\t
2\t1\t1\t0\t0\t0\t50\t40\t700\t90\t-1\t
3\t1\t1\t1\t0\t0\t50\t40\t700\t90\t-1\t
4\t1\t1\t1\t1\t0\t50\t40\t700\t30\t-1\t
5\t1\t1\t1\t1\t1\t50\t42\t100\t28\t96.5\tThe
5\t1\t1\t1\t1\t2\t160\t40\t200\t30\t90\tkeeper
5\t1\t1\t1\t2\t1\t50\t80\t120\t30\t80\twrites.
5\t1\t1\t1\t2\t2\t180\t80\t10\t30\t95\t 
5\t1\t1\t2\t1\t1\t50\t140\t90\t30\t70\tNew
5\t1\t2\t1\t1\t1\t50\t200\t90\t30\t12\t~|;
5\t1\t3\t1\t1\t1\t50\t300\t90\t30\t88\tEnd
5\t1\t3\t1\t1
nonsense
";

    #[test]
    fn a_table_becomes_lines_and_paragraphs() {
        let reading = parse(TABLE);
        assert_eq!(reading.text, "The keeper\nwrites.\n\nNew\n\nEnd");
        assert_eq!(reading.lines.len(), 4);
        assert_eq!(reading.lines[0].area, [50, 40, 310, 30]);
        let confidence = reading.lines[0].confidence.unwrap();
        assert!((confidence - (3.0 * 96.5 + 6.0 * 90.0) / 900.0).abs() < 1e-4, "{confidence}");
        assert_eq!(reading.words.len(), 5);
        let expected = (3.0 * 96.5 + 6.0 * 90.0 + 7.0 * 80.0 + 3.0 * 70.0 + 3.0 * 88.0) / 22.0;
        assert!((reading.confidence - expected).abs() < 1e-3, "{}", reading.confidence);
    }

    #[test]
    fn an_empty_page_is_an_empty_text() {
        let empty = parse("level\tpage_num\n1\t1\t0\t0\t0\t0\t0\t0\t800\t600\t-1\t\n");
        assert_eq!(empty, Reading::default());
        assert_eq!(parse(""), Reading::default());
    }
}
