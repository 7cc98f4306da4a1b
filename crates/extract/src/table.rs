//! Tables as Markdown rows, and the blocks of rows that sheets are cut into.

use model::Pointer;

use crate::sink::{Outcome, Sink};

/// The cells of a row, the empty ones included.
pub(crate) type Row = Vec<String>;

/// Writes `| a | b |`. A row without text is nothing.
pub(crate) fn push_row(out: &mut String, cells: &[impl AsRef<str>]) {
    let last = cells.iter().rposition(|cell| !cell.as_ref().trim().is_empty());
    let Some(last) = last else { return };
    for cell in &cells[..=last] {
        out.push_str("| ");
        let mut blank = true;
        for word in cell.as_ref().split_whitespace() {
            if !blank {
                out.push(' ');
            }
            blank = false;
            // A bar in a cell would end it.
            if word.contains('|') {
                out.push_str(&word.replace('|', "\\|"));
            } else {
                out.push_str(word);
            }
        }
        if !blank {
            out.push(' ');
        }
    }
    out.push_str("|\n");
}

/// The tables of a text that have begun and not ended, the innermost last.
#[derive(Default)]
pub(crate) struct OpenTables(Vec<Begun>);

#[derive(Default)]
struct Begun {
    rows: Vec<Row>,
    row: Row,
    cell: String,
}

impl Begun {
    fn add(&mut self, text: &str) {
        if !self.cell.is_empty() && !text.is_empty() {
            self.cell.push(' ');
        }
        self.cell.push_str(text);
    }
}

impl OpenTables {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn begin(&mut self) {
        self.0.push(Begun::default());
    }

    /// Puts a paragraph into the cell around it; false if there is no cell.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let table = self.0.last_mut();
        table.map(|table| table.add(text)).is_some()
    }

    pub(crate) fn end_cell(&mut self) {
        if let Some(table) = self.0.last_mut() {
            let cell = std::mem::take(&mut table.cell);
            table.row.push(cell);
        }
    }

    pub(crate) fn end_row(&mut self) {
        if let Some(table) = self.0.last_mut() {
            let row = std::mem::take(&mut table.row);
            table.rows.push(row);
        }
    }

    /// The rows of the table; none of one in a cell, which is text of the cell.
    pub(crate) fn end(&mut self) -> Option<Vec<Row>> {
        let table = self.0.pop()?;
        match self.0.last_mut() {
            Some(outer) => {
                table.rows.into_iter().flatten().for_each(|cell| outer.add(&cell));
                None
            }
            None => Some(table.rows),
        }
    }

    /// The rows of a file that was cut within its tables.
    pub(crate) fn rest(self) -> impl Iterator<Item = Vec<Row>> {
        self.0.into_iter().map(|Begun { mut rows, row, cell }| {
            rows.extend([row, vec![cell]]);
            rows
        })
    }
}

/// Gathers the rows of one sheet into units of a size that one can read.
pub(crate) struct RowBlocks {
    sheet: Option<String>,
    text: String,
    first: u32,
    last: u32,
    rows: u32,
}

impl RowBlocks {
    const ROWS: u32 = 50;
    /// About what one chunk holds, so that a hit names the rows it is in.
    const CHARS: usize = 2000;
    /// Longer runs of empty cells are left out: a sheet has 16,384 columns and two cells at its ends are legal.
    const GAP: usize = 64;

    pub(crate) fn new(sheet: Option<&str>) -> RowBlocks {
        RowBlocks { sheet: sheet.map(str::to_owned), text: String::new(), first: 0, last: 0, rows: 0 }
    }

    /// Takes a row by its number, with the cells that have text by their columns, from 0.
    pub(crate) fn sparse(&mut self, number: u32, cells: &[(u32, String)], sink: &mut Sink) -> Outcome {
        let mut row: Vec<&str> = Vec::with_capacity(cells.len());
        let mut next = 0u32;
        for (column, text) in cells {
            let gap = column.saturating_sub(next) as usize;
            if gap <= Self::GAP {
                row.extend(std::iter::repeat_n("", gap));
            }
            row.push(text);
            next = column.saturating_add(1);
        }
        self.row(number, &row, sink)
    }

    pub(crate) fn row(&mut self, number: u32, cells: &[impl AsRef<str>], sink: &mut Sink) -> Outcome {
        sink.meter.spend(1 + cells.len() as u64)?;
        let before = self.text.len();
        push_row(&mut self.text, cells);
        if self.text.len() == before {
            return Ok(());
        }
        if self.rows == 0 {
            self.first = number;
        }
        self.last = number.max(self.first);
        self.rows += 1;
        if self.rows >= Self::ROWS || self.text.len() >= Self::CHARS { self.flush(sink) } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self, sink: &mut Sink) -> Outcome {
        let text = std::mem::take(&mut self.text);
        self.rows = 0;
        let pointer = Pointer::Rows { sheet: self.sheet.clone(), first_row: self.first, last_row: self.last };
        sink.unit(pointer, self.sheet.as_deref(), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::push_row;

    #[test]
    fn rows() {
        let mut out = String::new();
        push_row(&mut out, &["a", "", "b\n c|d", ""]);
        push_row(&mut out, &["", " "]);
        assert_eq!(out, "| a | | b c\\|d |\n");
    }
}
