//! OpenDocument texts: paragraphs under their headings, lists, tables and notes, with pages where the document says where
//! they end.

use std::collections::HashMap;

use crate::formats::odf;
use crate::sections::Sections;
use crate::sink::{Outcome, Sink};
use crate::table::OpenTables;
use crate::xml::{Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let parts = odf::open_parts(bytes, &["styles.xml", "content.xml"], sink)?;
    let [styles, content] = parts.as_slice() else { return Ok(()) };
    let mut sections = Sections::default();
    let mut pages = None;
    // Pages are known only where the program that wrote the file also wrote where they end on their own.
    if content.contains("soft-page-break") {
        sections.page = Some(1);
        let mut breaks = Breaks::default();
        for part in [styles, content] {
            let read = breaks.read(part, sink);
            sink.tolerate("styles", read)?;
        }
        pages = Some(Pages { breaks, begun: false, due: 0 });
    }
    let mut notes = Vec::new();
    let done = body(content, &mut sections, &mut notes, &mut pages, sink);
    sink.tolerate("content.xml", done)?;
    if !notes.is_empty() {
        sections.apart("Notes", sink)?;
        notes.iter().for_each(|note| sections.paragraph(note));
    }
    sections.flush(sink)
}

fn body(
    content: &str,
    sections: &mut Sections,
    notes: &mut Vec<String>,
    pages: &mut Option<Pages>,
    sink: &mut Sink,
) -> Outcome {
    let meter = sink.meter.clone();
    let mut xml = Xml::new(content, &meter);
    let mut lists = 0usize;
    let mut tables = OpenTables::default();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                kind @ ("h" | "p") => {
                    let in_table = !tables.is_empty();
                    let style = tag.attr("style-name").unwrap_or_default();
                    let level = tag.attr("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1);
                    let is_heading = kind == "h";
                    if let Some(pages) = pages.as_mut().filter(|_| !in_table) {
                        pages.begin(&style, sections, sink)?;
                    }
                    let mut page_ends = 0;
                    let text = odf::paragraph_over_pages(&mut xml, notes, &mut page_ends)?;
                    match lists {
                        _ if tables.take(&text) => {}
                        _ if is_heading => sections.heading(level, &text, sink)?,
                        0 => sections.paragraph(&text),
                        _ => sections.item(lists - 1, &text),
                    }
                    if let Some(pages) = pages {
                        pages.end(&style, page_ends, in_table);
                    }
                }
                "list" => lists += 1,
                "soft-page-break" => {
                    if let Some(pages) = pages {
                        pages.due = pages.due.saturating_add(1);
                    }
                }
                "table" => {
                    if let Some(pages) = pages.as_mut().filter(|_| tables.is_empty()) {
                        pages.begin(&tag.attr("style-name").unwrap_or_default(), sections, sink)?;
                    }
                    tables.begin();
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

/// Counts pages: those that end on their own, and those that a style ends.
struct Pages {
    breaks: Breaks,
    /// The first page has content: before that, no style ends it.
    begun: bool,
    /// Pages that have ended since the last paragraph or table outside of any table.
    due: u32,
}

impl Pages {
    /// A paragraph or a table begins.
    fn begin(&mut self, style: &str, sections: &mut Sections, sink: &mut Sink) -> Outcome {
        let own = u32::from(self.begun && self.breaks.of(style).before);
        for _ in 0..std::mem::take(&mut self.due).saturating_add(own) {
            sections.page_break(sink)?;
        }
        self.begun = true;
        Ok(())
    }

    fn end(&mut self, style: &str, page_ends: u32, in_table: bool) {
        let own = u32::from(!in_table && self.breaks.of(style).after);
        self.due = self.due.saturating_add(page_ends).saturating_add(own);
    }
}

/// The styles of paragraphs and tables that end a page.
#[derive(Default)]
struct Breaks(HashMap<String, Style>);

#[derive(Debug, Clone, Default)]
struct Style {
    parent: Option<String>,
    before: Option<bool>,
    after: Option<bool>,
}

struct Ends {
    before: bool,
    after: bool,
}

/// Styles above a style that are asked; a circle of them must end.
const MOST_PARENTS: usize = 32;

impl Breaks {
    fn read(&mut self, part: &str, sink: &Sink) -> Outcome {
        let mut xml = Xml::new(part, &sink.meter);
        let mut name = String::new();
        while let Some(token) = xml.next()? {
            let Token::Start(tag) = token else { continue };
            match tag.name() {
                "style" => {
                    name = tag.attr("name").unwrap_or_default();
                    // Another master page begins on a page of its own.
                    let before =
                        tag.attr("master-page-name").filter(|master| !master.is_empty()).map(|_| true);
                    let style = Style { parent: tag.attr("parent-style-name"), before, after: None };
                    self.0.insert(name.clone(), style);
                }
                "paragraph-properties" | "table-properties" => {
                    let Some(style) = self.0.get_mut(&name) else { continue };
                    let ends = |side: &str| tag.attr(side).map(|value| value == "page");
                    style.before = style.before.or_else(|| ends("break-before"));
                    style.after = ends("break-after");
                }
                "body" => break,
                _ => {}
            }
        }
        Ok(())
    }

    fn of(&self, style: &str) -> Ends {
        let own = self.0.get(style);
        let line: Vec<&Style> = std::iter::successors(own, |style| self.0.get(style.parent.as_deref()?))
            .take(MOST_PARENTS)
            .collect();
        let nearest =
            |side: fn(&Style) -> Option<bool>| line.iter().find_map(|style| side(style)).unwrap_or(false);
        Ends { before: nearest(|style| style.before), after: nearest(|style| style.after) }
    }
}
