//! OpenDocument texts: paragraphs under their headings, lists, tables and notes.

use crate::formats::odf;
use crate::sections::Sections;
use crate::sink::{Outcome, Sink};
use crate::table::OpenTables;
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

fn body(content: &str, sections: &mut Sections, notes: &mut Vec<String>, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(content, &meter);
    let mut lists = 0usize;
    let mut tables = OpenTables::default();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "h" => {
                    let level = tag.attr("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1);
                    let text = odf::paragraph(&mut xml, notes)?;
                    if !tables.take(&text) {
                        sections.heading(level, &text, sink)?;
                    }
                }
                "p" => {
                    let text = odf::paragraph(&mut xml, notes)?;
                    match lists {
                        _ if tables.take(&text) => {}
                        0 => sections.paragraph(&text),
                        _ => sections.item(lists - 1, &text),
                    }
                }
                "list" => lists += 1,
                "soft-page-break" if tables.is_empty() => sections.page_break(sink)?,
                "table" => tables.begin(),
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
                "table-cell" | "covered-table-cell" => tables.end_cell(),
                "table-row" => tables.end_row(),
                "table" => {
                    if let Some(rows) = tables.end() {
                        sections.table(&rows);
                    }
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    tables.rest().for_each(|rows| sections.table(&rows));
    Ok(())
}
