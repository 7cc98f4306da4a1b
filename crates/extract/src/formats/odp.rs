//! OpenDocument presentations: the text of each slide, then its notes.

use model::Pointer;

use crate::formats::odf;
use crate::sink::{Outcome, Sink};
use crate::table::{Row, push_row};
use crate::xml::{Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let content = odf::open(bytes, sink)?;
    let done = slides(&content, sink);
    sink.tolerate("content.xml", done)?;
    Ok(())
}

fn slides(content: &str, sink: &mut Sink) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(content, &meter);
    let mut slide = 0u32;
    let mut texts = [String::new(), String::new()];
    let mut title = String::new();
    let mut in_notes = false;
    let mut in_title = false;
    let mut row: Option<Row> = None;
    let mut cell = String::new();
    let mut marks = Vec::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "page" => {
                    slide = slide.saturating_add(1);
                    sink.parts = slide;
                    title.clear();
                }
                "notes" => in_notes = true,
                "frame" | "custom-shape" => {
                    in_title = !in_notes && tag.attr("class").is_some_and(|class| class == "title");
                }
                "p" | "h" => {
                    let text = odf::paragraph(&mut xml, &mut marks)?;
                    if row.is_some() {
                        cell.push_str(&text);
                        cell.push(' ');
                        continue;
                    }
                    let out = &mut texts[usize::from(in_notes)];
                    if in_title && !text.trim().is_empty() {
                        out.push_str(if title.is_empty() { "# " } else { "" });
                        title.push_str(&format!("{} ", text.trim()));
                    }
                    out.push_str(text.trim());
                    out.push('\n');
                }
                "table-row" => row = Some(Row::new()),
                "scripts" | "automatic-styles" | "font-face-decls" | "binary-data" | "desc"
                | "page-thumbnail" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "notes" => in_notes = false,
                "table-cell" | "covered-table-cell" => {
                    if let Some(row) = &mut row {
                        row.push(std::mem::take(&mut cell));
                    }
                }
                "table-row" => {
                    if let Some(row) = row.take() {
                        push_row(&mut texts[usize::from(in_notes)], &row);
                    }
                }
                "page" => {
                    end(slide, &title, &mut texts, &mut marks, sink)?;
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    end(slide, &title, &mut texts, &mut marks, sink)
}

fn end(
    slide: u32,
    title: &str,
    texts: &mut [String; 2],
    marks: &mut Vec<String>,
    sink: &mut Sink,
) -> Outcome {
    for mark in marks.drain(..) {
        texts[1].push_str(&mark);
        texts[1].push('\n');
    }
    let first = texts[0].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = if title.trim().is_empty() { first } else { title }.to_owned();
    for (index, text) in texts.iter_mut().enumerate() {
        let pointer = Pointer::Slide { slide: slide.max(1), notes: index == 1 };
        sink.unit(pointer, Some(&title), &std::mem::take(text))?;
    }
    Ok(())
}
