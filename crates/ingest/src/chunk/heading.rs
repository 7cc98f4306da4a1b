//! The headings above each chunk: the sections of a text, the declarations around code, the sheet and the header row of a
//! table, the subject of a mail.

use std::collections::HashMap;

use extract::{Extraction, Unit};
use model::heading::{enclosing, is_header, marked_heading, table_top, underline};
use model::{Heading, Layout, Pointer};

/// The headings of a plain text, line by line.
pub(super) struct TextHeadings<'a> {
    lines: Vec<&'a str>,
    layout: Layout,
    /// The headings of a marked text: line from 1, level, title.
    marked: Vec<(u32, u32, String)>,
    /// The header of a file that is one table.
    columns: Option<&'a str>,
}

impl<'a> TextHeadings<'a> {
    /// `marked` are the headings with their lines, where the text has such.
    pub(super) fn new(text: &'a str, layout: Layout, marked: &[(u32, String)]) -> TextHeadings<'a> {
        let lines: Vec<&str> = text.split('\n').collect();
        let level = |line: u32| {
            let own = lines.get(line as usize - 1).copied().unwrap_or("");
            let below = lines.get(line as usize).copied().unwrap_or("");
            marked_heading(own.trim_start()).map(|(level, _)| level).or_else(|| underline(below)).unwrap_or(1)
        };
        let marked = marked.iter().map(|(line, title)| (*line, level(*line), title.clone())).collect();
        let columns = match layout {
            Layout::Rows => lines.first().copied().filter(|row| is_header(&cells_of_line(row))),
            _ => None,
        };
        TextHeadings { lines, layout, marked, columns }
    }

    /// The headings above a line, counted from 1.
    pub(super) fn above(&self, line: u32) -> Heading {
        let mut heading = Heading::default();
        let through = &self.lines[..self.lines.len().min(line as usize)];
        match self.layout {
            Layout::Code | Layout::Keys => heading.titles = enclosing(through, self.layout).0,
            Layout::Marked => {
                for (_, level, title) in self.marked.iter().take_while(|(at, ..)| *at < line) {
                    heading.enter(*level, title);
                }
            }
            Layout::Rows | Layout::Plain => {}
        }
        let begun = table_top(through).filter(|top| *top + 1 < through.len());
        if let Some(columns) = self.columns.or_else(|| Some(through[begun?])) {
            heading.set_columns(columns);
        }
        heading
    }
}

/// The headings of a document's units, in their order.
pub(super) struct UnitHeadings {
    path: Heading,
    /// By sheet: the title above the table, and its header row.
    tables: HashMap<Option<String>, (Option<String>, Option<String>)>,
}

impl UnitHeadings {
    pub(super) fn new(extraction: &Extraction) -> UnitHeadings {
        let mut path = Heading::default();
        if let Some(title) = &extraction.title {
            path.enter(0, title.trim_start_matches("Microsoft Word - "));
        }
        let mut tables = HashMap::new();
        for unit in &extraction.units {
            if let Pointer::Rows { sheet, .. } = &unit.pointer
                && unit.text.starts_with('|')
                && !tables.contains_key(sheet)
            {
                tables.insert(sheet.clone(), table_head(&unit.text));
            }
        }
        UnitHeadings { path, tables }
    }

    /// The heading of a unit's first line and that of its later lines.
    pub(super) fn of(&mut self, unit: &Unit) -> (Heading, Heading) {
        let title = unit.title.as_deref();
        match &unit.pointer {
            Pointer::Section { .. } => {
                let before = self.path.clone();
                let own = unit.text.lines().next().and_then(marked_heading);
                let innermost = self.path.titles.last().map(|(_, title)| title.as_str());
                match (own, title) {
                    (Some((level, title)), _) => self.path.enter(level, title),
                    (None, Some(title)) if innermost != Some(title) => self.path.enter(1, title),
                    _ => {}
                }
                let first = if own.is_some() { before } else { self.path.clone() };
                (first, self.path.clone())
            }
            Pointer::Message { .. } => {
                let mut heading = Heading::default();
                heading.enter(0, title.unwrap_or_default());
                let sender =
                    unit.text.lines().take_while(|line| !line.is_empty()).find(|l| l.starts_with("From: "));
                heading.enter(1, sender.unwrap_or_default());
                (heading.clone(), heading)
            }
            Pointer::Rows { sheet, .. } => {
                let mut heading = self.path.clone();
                heading.enter(1, sheet.as_deref().unwrap_or_default());
                if let Some((title, columns)) = self.tables.get(sheet).filter(|_| unit.text.starts_with('|'))
                {
                    heading.enter(2, title.as_deref().unwrap_or_default());
                    heading.set_columns(columns.as_deref().unwrap_or_default());
                }
                (heading.clone(), heading)
            }
            _ => {
                let mut heading = self.path.clone();
                if heading.titles.last().is_none_or(|(_, known)| Some(known.as_str()) != title) {
                    heading.enter(1, title.unwrap_or_default());
                }
                (heading.clone(), heading)
            }
        }
    }
}

/// Rows that are looked at for a header: only a title and remarks come above it.
const HEAD_ROWS: usize = 8;

/// The title above a table and its header row.
fn table_head(text: &str) -> (Option<String>, Option<String>) {
    let mut title = None;
    for row in text.lines().take(HEAD_ROWS) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        if is_header(&cells) {
            return (title, Some(row.to_owned()));
        }
        let mut told = cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        match (told.next(), told.next()) {
            (Some(only), None) if title.is_none() => title = Some(only.to_owned()),
            (_, None) => {}
            // Data without a header.
            _ => return (title, None),
        }
    }
    (title, None)
}

/// The cells of a line of a table in text, by the sign that parts it into the most.
fn cells_of_line(line: &str) -> Vec<&str> {
    let sign = [',', ';', '\t', '|'].into_iter().rev().max_by_key(|sign| line.matches(*sign).count());
    line.split(sign.unwrap_or(',')).map(|cell| cell.trim_matches('"')).collect()
}
