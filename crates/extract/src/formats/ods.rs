//! OpenDocument sheets: rows of cells, where one element may mean a million equal ones.

use crate::formats::odf;
use crate::sink::{Outcome, Sink};
use crate::table::RowBlocks;
use crate::xml::{Tag, Token, Xml};

/// Repeated cells and rows with text are written this often at most; the rest say nothing new.
const MOST_REPEATS: u32 = 100;

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let content = odf::open(bytes, sink)?;
    let done = sheets(&content, sink);
    sink.tolerate("content.xml", done)?;
    Ok(())
}

fn sheets(content: &str, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(content, &meter);
    let mut blocks: Option<RowBlocks> = None;
    let mut row = 0u32;
    let mut row_repeats = 1u32;
    let mut column = 0u32;
    let mut cells: Vec<(u32, String)> = Vec::new();
    let mut notes = Vec::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "table" => {
                    sink.parts += 1;
                    let name = tag.attr("name").unwrap_or_else(|| format!("Sheet{}", sink.parts));
                    blocks = Some(RowBlocks::new(Some(&name)));
                    row = 0;
                }
                "table-row" => {
                    row_repeats = repeats(&tag, "number-rows-repeated");
                    row = row.saturating_add(1);
                    column = 0;
                    cells.clear();
                }
                "table-cell" | "covered-table-cell" => {
                    let count = repeats(&tag, "number-columns-repeated");
                    let text = cell(&mut xml, &mut notes)?;
                    if !text.trim().is_empty() {
                        for index in 0..count.min(MOST_REPEATS) {
                            cells.push((column.saturating_add(index), text.clone()));
                        }
                    }
                    column = column.saturating_add(count);
                }
                "shapes"
                | "forms"
                | "scripts"
                | "automatic-styles"
                | "font-face-decls"
                | "tracked-changes"
                | "content-validations" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "table-row" => {
                    if let Some(blocks) = &mut blocks
                        && !cells.is_empty()
                    {
                        for index in 0..row_repeats.min(MOST_REPEATS) {
                            blocks.sparse(row.saturating_add(index), &cells, sink)?;
                        }
                        for note in notes.drain(..) {
                            blocks.row(row, &[note], sink)?;
                        }
                    }
                    row = row.saturating_add(row_repeats - 1);
                }
                "table" => {
                    if let Some(mut blocks) = blocks.take() {
                        blocks.flush(sink)?;
                    }
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    match blocks {
        Some(mut blocks) => blocks.flush(sink),
        None => Ok(()),
    }
}

fn repeats(tag: &Tag<'_>, name: &str) -> u32 {
    tag.attr(name).and_then(|count| count.parse::<u32>().ok()).unwrap_or(1).max(1)
}

/// The paragraphs of a cell that has just begun, as they are shown.
fn cell(xml: &mut Xml<'_>, notes: &mut Vec<String>) -> Outcome<String> {
    let mut text = String::new();
    let element = xml.element();
    while let Some(token) = xml.next_in(&element)? {
        let Token::Start(tag) = token else { continue };
        match tag.name() {
            "p" => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(&odf::paragraph(xml, notes)?);
            }
            "annotation" => notes.push(format!("Comment: {}", odf::annotation(xml)?)),
            _ => {}
        }
    }
    Ok(text)
}
