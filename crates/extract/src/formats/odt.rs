//! OpenDocument texts: paragraphs under their headings, lists, tables and notes.

use crate::formats::odf;
use crate::sections::Sections;
use crate::sink::{Outcome, Sink};
use crate::table::Row;
use crate::xml::{Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let content = odf::open(bytes, sink)?;
    let mut sections = Sections::default();
    if content.contains("soft-page-break") {
        sections.page = Some(1);
    }
    let mut notes = Vec::new();
    let done = body(&content, &mut sections, &mut notes, sink);
    sink.tolerate("content.xml", done)?;
    if !notes.is_empty() {
        sections.apart("Notes", sink)?;
        notes.iter().for_each(|note| sections.paragraph(note));
    }
    sections.flush(sink)
}

struct Table {
    rows: Vec<Row>,
    row: Row,
    cell: String,
}

fn body(content: &str, sections: &mut Sections, notes: &mut Vec<String>, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(content, &meter);
    let mut lists = 0usize;
    let mut tables: Vec<Table> = Vec::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "h" => {
                    let level = tag.attr("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1);
                    let text = odf::paragraph(&mut xml, notes)?;
                    match tables.last_mut() {
                        Some(table) => add(&mut table.cell, &text),
                        None => sections.heading(level, &text, sink)?,
                    }
                }
                "p" => {
                    let text = odf::paragraph(&mut xml, notes)?;
                    match tables.last_mut() {
                        Some(table) => add(&mut table.cell, &text),
                        None if lists > 0 => sections.item(lists - 1, &text),
                        None => sections.paragraph(&text),
                    }
                }
                "list" => lists += 1,
                "soft-page-break" if tables.is_empty() => sections.page_break(sink)?,
                "table" => {
                    tables.push(Table { rows: Vec::new(), row: Vec::new(), cell: String::new() });
                }
                // What was deleted, and the forms that indices and scripts have beside their text.
                "tracked-changes"
                | "forms"
                | "scripts"
                | "automatic-styles"
                | "font-face-decls"
                | "table-of-content-source"
                | "illustration-index-source"
                | "alphabetical-index-source"
                | "bibliography-source"
                | "binary-data"
                | "desc" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "list" => lists = lists.saturating_sub(1),
                "table-cell" | "covered-table-cell" => {
                    if let Some(table) = tables.last_mut() {
                        let cell = std::mem::take(&mut table.cell);
                        table.row.push(cell);
                    }
                }
                "table-row" => {
                    if let Some(table) = tables.last_mut() {
                        let row = std::mem::take(&mut table.row);
                        table.rows.push(row);
                    }
                }
                "table" => {
                    if let Some(table) = tables.pop() {
                        match tables.last_mut() {
                            Some(outer) => {
                                let words = table.rows.into_iter().flatten();
                                words.for_each(|cell| add(&mut outer.cell, &cell));
                            }
                            None => sections.table(&table.rows),
                        }
                    }
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    for table in tables {
        sections.table(&table.rows);
    }
    Ok(())
}

fn add(cell: &mut String, text: &str) {
    if !cell.is_empty() {
        cell.push(' ');
    }
    cell.push_str(text);
}
