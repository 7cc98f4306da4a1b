//! Excel workbooks: the shown values of each sheet's cells, row by row. Only cells that exist are looked at.

use std::collections::HashMap;

use model::Pointer;

use crate::container::zip::Zip;
use crate::formats::numbers::{NumberFormat, show};
use crate::formats::ooxml::{self, Relations};
use crate::limits::Meter;
use crate::sink::{Outcome, Sink};
use crate::table::RowBlocks;
use crate::xml::{Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    const MAIN: &str = "xl/workbook.xml";
    let zip = ooxml::open(bytes, sink)?;
    let titled = ooxml::title(&zip, sink);
    sink.tolerate("docProps/core.xml", titled)?;
    let relations = ooxml::relations(&zip, MAIN, sink);
    let relations = sink.tolerate("the relations", relations)?.unwrap_or_default();
    let book = Book::open(&zip, MAIN, &relations, sink)?;
    let mut sheets = book.sheets.clone();
    if sheets.is_empty() {
        let parts = zip.members.iter().filter(|member| member.name.starts_with("xl/worksheets/sheet"));
        sheets = parts.map(|member| (member.name.clone(), member.name.clone())).collect();
    }
    for (name, part) in sheets {
        sink.parts += 1;
        let Some(text) = ooxml::part(&zip, &part, sink)? else { continue };
        let done = sheet(&text, &name, &book, sink);
        sink.tolerate(&format!("sheet '{name}'"), done)?;
        let own = ooxml::relations(&zip, &part, sink);
        let own = sink.tolerate(&part, own)?.unwrap_or_default();
        for target in own.of_kind("comments") {
            let Some(text) = ooxml::optional(&zip, target, sink)? else { continue };
            let done = comments(&text, &name, sink);
            sink.tolerate(target, done)?;
        }
        for drawing in own.of_kind("drawing") {
            let Some(text) = ooxml::optional(&zip, drawing, sink)? else { continue };
            let done = drawn_text(&text, &name, sink);
            sink.tolerate(drawing, done)?;
        }
    }
    Ok(())
}

struct Book {
    /// Names and parts, as the tabs are shown.
    sheets: Vec<(String, String)>,
    strings: Vec<String>,
    /// The number format of each cell style.
    formats: Vec<NumberFormat>,
    since_1904: bool,
}

impl Book {
    fn open(zip: &Zip<'_>, main: &str, relations: &Relations, sink: &mut Sink) -> Outcome<Book> {
        let mut book =
            Book { sheets: Vec::new(), strings: Vec::new(), formats: Vec::new(), since_1904: false };
        if let Some(text) = ooxml::part(zip, main, sink)? {
            let mut xml = Xml::new(&text, &sink.meter);
            while let Some(token) = xml.next()? {
                let Token::Start(tag) = token else { continue };
                match tag.name() {
                    "workbookPr" => {
                        book.since_1904 =
                            tag.attr("date1904").is_some_and(|value| matches!(value.as_str(), "1" | "true"));
                    }
                    "sheet" => {
                        let part = tag.prefixed("id").and_then(|id| relations.get(&id).map(str::to_owned));
                        book.sheets.extend(tag.attr("name").zip(part));
                    }
                    _ => {}
                }
            }
        }
        let strings = relations.of_kind("sharedStrings").next().unwrap_or("xl/sharedStrings.xml").to_owned();
        if let Some(text) = ooxml::optional(zip, &strings, sink)? {
            let done = shared_strings(&text, &mut book.strings, &sink.meter);
            sink.tolerate(&strings, done)?;
        }
        let styles = relations.of_kind("styles").next().unwrap_or("xl/styles.xml").to_owned();
        if let Some(text) = ooxml::optional(zip, &styles, sink)? {
            let done = cell_styles(&text, &mut book.formats, &sink.meter);
            sink.tolerate(&styles, done)?;
        }
        Ok(book)
    }
}

fn shared_strings(text: &str, strings: &mut Vec<String>, meter: &Meter) -> Outcome {
    let mut xml = Xml::new(text, meter);
    let mut current = String::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "si" => current.clear(),
                "t" => current.push_str(&xml.text()?),
                // How Japanese words are read aloud.
                "rPh" => xml.skip()?,
                _ => {}
            },
            Token::End(name) if name == "si" => strings.push(std::mem::take(&mut current)),
            _ => {}
        }
    }
    Ok(())
}

fn cell_styles(text: &str, formats: &mut Vec<NumberFormat>, meter: &Meter) -> Outcome {
    let mut codes: HashMap<u32, String> = HashMap::new();
    let mut in_cells = false;
    let mut xml = Xml::new(text, meter);
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "numFmt" => {
                    let id = tag.attr("numFmtId").and_then(|id| id.parse().ok());
                    codes.extend(id.zip(tag.attr("formatCode")));
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => {
                    let id = tag.attr("numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0);
                    formats.push(NumberFormat::of(id, codes.get(&id).map(String::as_str)));
                }
                _ => {}
            },
            Token::End(name) if name == "cellXfs" => in_cells = false,
            _ => {}
        }
    }
    Ok(())
}

/// A cell while it is read.
#[derive(Default)]
struct Cell {
    column: u32,
    kind: String,
    style: usize,
    value: String,
    formula: String,
    inline: String,
}

fn sheet(text: &str, name: &str, book: &Book, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(text, &meter);
    let mut blocks = RowBlocks::new(Some(name));
    let mut number = 0u32;
    let mut cells: Vec<(u32, String)> = Vec::new();
    let mut cell = Cell::default();
    let mut next_column = 0u32;
    let result = loop {
        let token = match xml.next() {
            Ok(Some(token)) => token,
            Ok(None) => break Ok(()),
            Err(halt) => break Err(halt),
        };
        match token {
            Token::Start(tag) => match tag.name() {
                "row" => {
                    let given = tag.attr("r").and_then(|row| row.parse().ok());
                    number = given.unwrap_or_else(|| number.saturating_add(1));
                    next_column = 0;
                }
                "c" => {
                    let column = tag.attr("r").and_then(|place| column_of(&place)).unwrap_or(next_column);
                    next_column = column.saturating_add(1);
                    cell = Cell {
                        column,
                        kind: tag.attr("t").unwrap_or_default(),
                        style: tag.attr("s").and_then(|style| style.parse().ok()).unwrap_or(0),
                        ..Cell::default()
                    };
                }
                "v" => cell.value = xml.text()?,
                "f" => cell.formula = xml.text()?,
                "t" => cell.inline.push_str(&xml.text()?),
                "rPh" => xml.skip()?,
                _ => {}
            },
            Token::End(ended) => match ended.as_str() {
                "c" => {
                    let cell = std::mem::take(&mut cell);
                    let shown = shown(&cell, book);
                    if !shown.trim().is_empty() {
                        cells.push((cell.column, shown));
                    }
                }
                "row" => {
                    cells.sort_by_key(|(column, _)| *column);
                    blocks.sparse(number, &cells, sink)?;
                    cells.clear();
                }
                // Conditions and validations after the data hold no text.
                "sheetData" => break Ok(()),
                _ => {}
            },
            Token::Text(_) => {}
        }
    };
    blocks.sparse(number, &cells, sink)?;
    blocks.flush(sink)?;
    result
}

fn shown(cell: &Cell, book: &Book) -> String {
    match cell.kind.as_str() {
        "s" => cell
            .value
            .trim()
            .parse::<usize>()
            .ok()
            .and_then(|index| book.strings.get(index))
            .cloned()
            .unwrap_or_default(),
        "inlineStr" => cell.inline.clone(),
        "b" => if cell.value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "str" | "e" | "d" => cell.value.clone(),
        // Written by a program that does not calculate.
        _ if cell.value.is_empty() && !cell.formula.is_empty() => format!("={}", cell.formula),
        _ => match cell.value.trim().parse::<f64>() {
            Ok(number) => {
                let format = book.formats.get(cell.style).copied().unwrap_or_default();
                show(number, format, book.since_1904)
            }
            Err(_) => cell.value.clone(),
        },
    }
}

/// `BC12` is column 54, from 0.
fn column_of(place: &str) -> Option<u32> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let column = letters
        .take(4)
        .fold(0u32, |column, letter| column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1);
    column.checked_sub(1)
}

fn row_of(place: &str) -> Option<u32> {
    place.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok()
}

fn comments(text: &str, sheet: &str, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(text, &meter);
    while let Some(token) = xml.next()? {
        let Token::Start(tag) = token else { continue };
        if tag.name() == "comment" {
            let place = tag.attr("ref").unwrap_or_default();
            let comment = xml.text()?;
            let row = row_of(&place).unwrap_or(1);
            let pointer = Pointer::Rows { sheet: Some(sheet.to_owned()), first_row: row, last_row: row };
            sink.unit(pointer, Some(sheet), &format!("Comment on {place}: {}", comment.trim()))?;
        }
    }
    Ok(())
}

/// Text boxes lie over the cells, from a row on.
fn drawn_text(text: &str, sheet: &str, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(text, &meter);
    let mut row = 1u32;
    let mut words = String::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "from" => words.clear(),
                "row" => row = xml.text()?.trim().parse::<u32>().unwrap_or(0).saturating_add(1),
                "t" => words.push_str(&xml.text()?),
                "to" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "p" => words.push('\n'),
                "twoCellAnchor" | "oneCellAnchor" => {
                    let pointer =
                        Pointer::Rows { sheet: Some(sheet.to_owned()), first_row: row, last_row: row };
                    sink.unit(pointer, Some(sheet), &std::mem::take(&mut words))?;
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{column_of, row_of};

    #[test]
    fn places() {
        assert_eq!((column_of("A1"), column_of("BC12"), column_of("12")), (Some(0), Some(54), None));
        assert_eq!((row_of("BC12"), row_of("A")), (Some(12), None));
    }
}
