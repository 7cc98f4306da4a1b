//! Tables in text files: rows and cells.

use model::filetype;
use serde_json::{Value, json};

/// Rows of one answer, columns of a row, characters of a cell.
const MAX_ROWS: usize = 500;
const MAX_COLUMNS: usize = 200;
const MAX_CELL: usize = 1000;

/// What separates the cells of a file; `None` for a file that is no table. Some programs write `;` where a comma is part of numbers.
pub(super) fn separator(path: &str) -> Option<Option<char>> {
    match filetype::extension(path)?.to_ascii_lowercase().as_str() {
        "csv" => Some(None),
        "tsv" | "tab" => Some(Some('\t')),
        _ => None,
    }
}

/// At most so many rows from `first` on, which counts from 1.
pub(super) fn rows(text: &str, separator: Option<char>, first: usize) -> Value {
    let separator = separator.unwrap_or_else(|| {
        let line = text.lines().next().unwrap_or_default();
        let count = |sign: char| line.matches(sign).count();
        if count(';') > count(',') { ';' } else { ',' }
    });
    let mut table = Table { first, rows: Vec::new(), total: 0 };
    let (mut row, mut cell, mut quoted, mut begun) = (Vec::new(), Cell::default(), false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.text.is_empty() => (quoted, begun) = (true, true),
            '\n' if !quoted => {
                push_cell(&mut row, &mut cell);
                table.push(std::mem::take(&mut row));
                begun = false;
            }
            other if other == separator && !quoted => {
                push_cell(&mut row, &mut cell);
                begun = true;
            }
            other => {
                cell.push(other);
                begun = true;
            }
        }
    }
    if begun {
        push_cell(&mut row, &mut cell);
        table.push(row);
    }
    let shown_to = first - 1 + table.rows.len();
    json!({
        "rows": table.rows,
        "first_row": first,
        "total_rows": table.total,
        "header": true,
        "truncated": shown_to < table.total,
    })
}

struct Table {
    first: usize,
    rows: Vec<Vec<String>>,
    total: usize,
}

impl Table {
    fn push(&mut self, row: Vec<String>) {
        self.total += 1;
        if self.total >= self.first && self.rows.len() < MAX_ROWS {
            self.rows.push(row);
        }
    }
}

#[derive(Default)]
struct Cell {
    text: String,
    length: usize,
}

impl Cell {
    fn push(&mut self, c: char) {
        self.length += 1;
        if self.length <= MAX_CELL {
            self.text.push(c);
        }
    }
}

fn push_cell(row: &mut Vec<String>, cell: &mut Cell) {
    let done = std::mem::take(cell);
    if row.len() < MAX_COLUMNS {
        row.push(done.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_quotes_and_line_ends() {
        let table = rows("a,b\n\"x, \"\"y\"\"\nz\",2\n", None, 1);
        assert_eq!(table["rows"], json!([["a", "b"], ["x, \"y\"\nz", "2"]]));
        assert_eq!((&table["total_rows"], &table["truncated"]), (&json!(2), &json!(false)));
        assert_eq!(rows("a;b\n1,5;2", None, 1)["rows"], json!([["a", "b"], ["1,5", "2"]]));
        assert_eq!(rows("a\tb,c\n", Some('\t'), 1)["rows"], json!([["a", "b,c"]]));
        assert_eq!(rows("", None, 1)["rows"], json!([]));
    }

    #[test]
    fn tables_are_bounded() {
        let text = "1,2\n".repeat(MAX_ROWS + 10);
        let table = rows(&text, None, 1);
        assert_eq!(table["rows"].as_array().unwrap().len(), MAX_ROWS);
        assert_eq!((&table["total_rows"], &table["truncated"]), (&json!(MAX_ROWS + 10), &json!(true)));
        assert_eq!(rows(&text, None, MAX_ROWS + 10)["rows"].as_array().unwrap().len(), 1);
        let wide = rows(&format!("{}\n", "x,".repeat(5000)), None, 1);
        assert_eq!(wide["rows"][0].as_array().unwrap().len(), MAX_COLUMNS);
        let long = rows(&"y".repeat(5000), None, 1);
        assert_eq!(long["rows"][0][0].as_str().unwrap().len(), MAX_CELL);
    }
}
