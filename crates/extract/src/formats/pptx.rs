//! Presentations: the text of each slide in the order of its shapes, its tables and diagrams, then its notes.

use model::Pointer;

use crate::container::zip::Zip;
use crate::formats::ooxml::{self, Relations};
use crate::limits::Meter;
use crate::sink::{Outcome, Sink};
use crate::table::{Row, push_row};
use crate::xml::{Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let zip = ooxml::open(bytes, sink)?;
    let titled = ooxml::title(&zip, sink);
    sink.tolerate("docProps/core.xml", titled)?;
    let slides = order(&zip, sink)?;
    for (index, name) in slides.iter().enumerate() {
        let slide = u32::try_from(index + 1).unwrap_or(u32::MAX);
        sink.parts = slide;
        let relations = ooxml::relations(&zip, name, sink);
        let relations = sink.tolerate(name, relations)?.unwrap_or_default();
        let Some(text) = ooxml::part(&zip, name, sink)? else { continue };
        let mut page = Page::default();
        let read = shapes(&text, &relations, false, &mut page, &sink.meter);
        sink.tolerate(name, read)?;
        for diagram in relations.of_kind("diagramData").chain(relations.of_kind("chart")) {
            let Some(text) = ooxml::optional(&zip, diagram, sink)? else { continue };
            let read = words(&text, &mut page.text, &sink.meter);
            sink.tolerate(diagram, read)?;
        }
        let title = page.title();
        sink.unit(Pointer::Slide { slide, notes: false }, title.as_deref(), &page.text)?;

        let mut notes = Page::default();
        for part in relations.of_kind("notesSlide").chain(relations.of_kind("comments")) {
            let Some(text) = ooxml::optional(&zip, part, sink)? else { continue };
            let read = shapes(&text, &Relations::default(), true, &mut notes, &sink.meter);
            sink.tolerate(part, read)?;
        }
        sink.unit(Pointer::Slide { slide, notes: true }, title.as_deref(), &notes.text)?;
    }
    Ok(())
}

/// The slides as they are shown. Without the list of a whole file, by the numbers in their names.
fn order(zip: &Zip<'_>, sink: &mut Sink) -> Outcome<Vec<String>> {
    const MAIN: &str = "ppt/presentation.xml";
    let relations = ooxml::relations(zip, MAIN, sink);
    let relations = sink.tolerate("the relations", relations)?.unwrap_or_default();
    let mut slides = Vec::new();
    if let Some(text) = ooxml::part(zip, MAIN, sink)? {
        let mut xml = Xml::new(&text, &sink.meter);
        while let Ok(Some(token)) = xml.next() {
            if let Token::Start(tag) = token
                && tag.name() == "sldId"
                && let Some(target) = tag.prefixed("id").and_then(|id| relations.get(&id))
            {
                slides.push(target.to_owned());
            }
        }
    }
    if slides.is_empty() {
        let number = |name: &str| -> Option<u32> {
            name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse().ok()
        };
        let mut found: Vec<(u32, String)> = zip
            .members
            .iter()
            .filter_map(|member| Some((number(&member.name)?, member.name.clone())))
            .collect();
        found.sort();
        slides = found.into_iter().map(|(_, name)| name).collect();
    }
    Ok(slides)
}

#[derive(Default)]
struct Page {
    text: String,
    heading: String,
}

impl Page {
    /// The title shape, else the first line.
    fn title(&self) -> Option<String> {
        let heading = self.heading.trim();
        let first = self.text.lines().find(|line| !line.trim().is_empty());
        let title = if heading.is_empty() { first? } else { heading };
        Some(title.trim_start_matches(['#', ' ', '|', '-']).to_owned())
    }
}

/// What a placeholder holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Text,
    Title,
    /// Slide numbers, and in notes the date and the headers that every page has.
    Furniture,
}

fn shapes(text: &str, relations: &Relations, notes: bool, page: &mut Page, meter: &Meter) -> Outcome {
    let links = relations.links();
    let mut xml = Xml::new(text, meter);
    let mut holds = Holds::Text;
    let mut paragraph = String::new();
    let mut link: Option<(usize, String)> = None;
    let mut run = 0;
    let mut row: Option<Row> = None;
    let mut cell = String::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "sp" | "graphicFrame" | "pic" => holds = Holds::Text,
                "ph" => {
                    holds = match tag.attr("type").as_deref() {
                        Some("title" | "ctrTitle") if !notes => Holds::Title,
                        Some("sldNum") => Holds::Furniture,
                        Some("dt" | "hdr" | "ftr" | "sldImg") if notes => Holds::Furniture,
                        _ => Holds::Text,
                    };
                }
                "p" => paragraph.clear(),
                "r" => run = paragraph.len(),
                "t" | "text" => paragraph.push_str(&xml.text()?),
                "br" => paragraph.push('\n'),
                "tab" => paragraph.push('\t'),
                "hlinkClick" => {
                    link = tag.prefixed("id").and_then(|id| links.get(&id)).map(|to| (run, to.clone()));
                }
                "tr" => row = Some(Row::new()),
                "tc" => cell.clear(),
                "Fallback" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "r" => {
                    if let Some((start, address)) = link.take() {
                        ooxml::link(&mut paragraph, start, &address);
                    }
                }
                "text" => {
                    page.text.push_str(paragraph.trim());
                    page.text.push('\n');
                    paragraph.clear();
                }
                "p" => {
                    let line = std::mem::take(&mut paragraph);
                    if row.is_some() {
                        cell.push_str(&line);
                        cell.push(' ');
                    } else if holds == Holds::Title && !line.trim().is_empty() {
                        page.text.push_str(if page.heading.is_empty() { "# " } else { "" });
                        page.text.push_str(&format!("{}\n", line.trim()));
                        page.heading.push_str(&format!("{} ", line.trim()));
                    } else if holds != Holds::Furniture && !line.trim().is_empty() {
                        page.text.push_str(line.trim_end());
                        page.text.push('\n');
                    }
                }
                "txBody" => page.text.push('\n'),
                "tc" => {
                    if let Some(row) = &mut row {
                        row.push(std::mem::take(&mut cell));
                    }
                }
                "tr" => {
                    if let Some(row) = row.take() {
                        push_row(&mut page.text, &row);
                    }
                }
                "tbl" => page.text.push('\n'),
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    Ok(())
}

/// The words of a diagram or of a chart's captions and categories.
fn words(text: &str, out: &mut String, meter: &Meter) -> Outcome {
    let mut xml = Xml::new(text, meter);
    let mut captions = false;
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "t" => {
                    out.push_str(&xml.text()?);
                    out.push('\n');
                }
                "strCache" | "strLit" => captions = true,
                "v" if captions => {
                    out.push_str(&xml.text()?);
                    out.push('\n');
                }
                _ => {}
            },
            Token::End(name) if matches!(name.as_str(), "strCache" | "strLit") => captions = false,
            _ => {}
        }
    }
    Ok(())
}
