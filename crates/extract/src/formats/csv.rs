//! Tables in text: rows of cells with quotes, in blocks that know their row numbers.

use crate::formats::txt;
use crate::sink::{Outcome, Sink};
use crate::table::RowBlocks;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = txt::decode(bytes, sink)?;
    let separator = separator(&text);
    rows(&text, separator, sink)
}

pub(super) fn read_tabs(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let text = txt::decode(bytes, sink)?;
    rows(&text, '\t', sink)
}

/// The line that each row of a table in text begins on, from 1: most rows are one line, but a quoted cell may hold line
/// ends.
pub fn row_lines(text: &str) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut line = 1u32;
    let mut quoted = false;
    let mut begins = true;
    for byte in text.bytes() {
        if std::mem::take(&mut begins) {
            lines.push(line);
        }
        match byte {
            // A doubled quote closes and opens again.
            b'"' => quoted = !quoted,
            b'\n' => {
                line = line.saturating_add(1);
                begins = !quoted;
            }
            _ => {}
        }
    }
    lines
}

/// The sign that cuts the first lines into the most equal numbers of cells.
fn separator(text: &str) -> char {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(10).collect();
    let score = |sign: char| {
        let counts: Vec<usize> = lines.iter().map(|line| line.matches(sign).count()).collect();
        let least = counts.iter().copied().min().unwrap_or(0);
        let even = counts.iter().all(|count| *count == least);
        (least > 0 && even, least)
    };
    // The comma is last because the last of equals wins.
    [':', '|', '\t', ';', ','].into_iter().max_by_key(|sign| score(*sign)).unwrap_or(',')
}

fn rows(text: &str, separator: char, sink: &mut Sink) -> Outcome {
    let mut blocks = RowBlocks::new(None);
    sink.parts = 1;
    let mut row: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut number = 1u32;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                blocks.row(number, &row, sink)?;
                row.clear();
                number = number.saturating_add(1);
            }
            sign if sign == separator && !quoted => row.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    row.push(cell);
    blocks.row(number, &row, sink)?;
    blocks.flush(sink)
}

#[cfg(test)]
mod tests {
    use super::{row_lines, separator};

    #[test]
    fn rows_and_lines() {
        assert_eq!(row_lines("a,b\n1,2\n"), [1, 2]);
        assert_eq!(row_lines("a\n\"x\ny \"\"q\"\" \",2\nz"), [1, 2, 4]);
        assert_eq!(row_lines(""), [0u32; 0]);
    }

    #[test]
    fn separators() {
        assert_eq!(separator("a,b\n1,2\n"), ',');
        assert_eq!(separator("a;b\n1,5;2,5\n"), ';');
        assert_eq!(separator("a\tb, c\n1\t2\n"), '\t');
        assert_eq!(separator(""), ',');
    }
}
