//! Word documents: paragraphs under their headings, tables, lists, links, notes, comments, headers and footers.

use std::collections::HashMap;

use crate::container::zip::Zip;
use crate::formats::ooxml::{self, Relations};
use crate::sections::Sections;
use crate::sink::{Outcome, Sink};
use crate::table::OpenTables;
use crate::xml::{Tag, Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let zip = ooxml::open(bytes, sink)?;
    let titled = ooxml::title(&zip, sink);
    sink.tolerate("docProps/core.xml", titled)?;
    let package = ooxml::relations(&zip, "", sink);
    let package = sink.tolerate("_rels/.rels", package)?.unwrap_or_default();
    let main = package.of_kind("officeDocument").next().unwrap_or("word/document.xml").to_owned();
    let main = if zip.find(&main).is_some() { main } else { "word/document.xml".to_owned() };

    let relations = ooxml::relations(&zip, &main, sink);
    let relations = sink.tolerate("the relations", relations)?.unwrap_or_default();
    let styles = styles(&zip, &relations, sink);
    let styles = sink.tolerate("the styles", styles)?.unwrap_or_default();
    let mut sections = Sections::default();
    if let Some(text) = ooxml::part(&zip, &main, sink)? {
        let done = body(&text, &relations, &styles, Breaks::of(&text), &mut sections, sink);
        sink.tolerate("the body", done)?;
    }
    for (kind, title) in [("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments")] {
        for target in relations.of_kind(kind) {
            sections.apart(title, sink)?;
            aside(&zip, target, &styles, &mut sections, sink)?;
        }
    }
    sections.apart("Headers and footers", sink)?;
    let mut seen: Vec<String> = Vec::new();
    for target in relations.of_kind("header").chain(relations.of_kind("footer")) {
        let mut one = Sections::default();
        let mut inner = Sink::new(sink.format, sink.meter.clone());
        aside(&zip, target, &styles, &mut one, &mut inner)?;
        one.flush(&mut inner)?;
        // Each section of the document has its own, and they mostly say the same.
        for unit in inner.units {
            if !seen.contains(&unit.text) {
                sections.paragraph(&unit.text);
                seen.push(unit.text);
            }
        }
    }
    sections.flush(sink)
}

/// A part beside the body.
fn aside(
    zip: &Zip<'_>,
    name: &str,
    styles: &HashMap<String, u32>,
    sections: &mut Sections,
    sink: &mut Sink,
) -> Outcome {
    let relations = ooxml::relations(zip, name, sink);
    let relations = sink.tolerate(name, relations)?.unwrap_or_default();
    if let Some(text) = ooxml::optional(zip, name, sink)? {
        let done = body(&text, &relations, styles, Breaks::None, sections, sink);
        sink.tolerate(name, done)?;
    }
    Ok(())
}

/// What a document says about its pages.
#[derive(Clone, Copy, PartialEq)]
enum Breaks {
    None,
    /// Those that the writer asked for.
    Asked,
    /// Where Word broke the pages when it last showed them; the asked ones are among them.
    Rendered,
}

impl Breaks {
    fn of(text: &str) -> Breaks {
        let has = |needle: &str| memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
        if has("lastRenderedPageBreak") {
            Breaks::Rendered
        } else if has("type=\"page\"") {
            Breaks::Asked
        } else {
            Breaks::None
        }
    }
}

#[derive(Default)]
struct Paragraph {
    text: String,
    level: Option<u32>,
    item: Option<usize>,
    breaks_after: u32,
}

fn body(
    text: &str,
    relations: &Relations,
    styles: &HashMap<String, u32>,
    breaks: Breaks,
    sections: &mut Sections,
    sink: &mut Sink,
) -> Outcome {
    let links = relations.links();
    if breaks != Breaks::None {
        sections.page = Some(1);
    }
    let meter = sink.meter.clone();
    let mut xml = Xml::new(text, &meter);
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut tables = OpenTables::default();
    let mut open_links: Vec<(usize, Option<String>)> = Vec::new();
    while let Some(token) = xml.next()? {
        match token {
            Token::Start(tag) => match tag.name() {
                "p" => paragraphs.push(Paragraph::default()),
                "pPr" => {
                    let properties = properties(&mut xml, styles)?;
                    if let Some(paragraph) = paragraphs.last_mut() {
                        paragraph.level = properties.level;
                        paragraph.item = properties.item;
                    }
                    if properties.new_page && breaks == Breaks::Asked {
                        sections.page_break(sink)?;
                    }
                }
                "t" => {
                    let text = xml.text()?;
                    push(&mut paragraphs, &text);
                }
                "tab" | "ptab" => push(&mut paragraphs, "\t"),
                "cr" => push(&mut paragraphs, "\n"),
                "noBreakHyphen" => push(&mut paragraphs, "-"),
                "sym" => {
                    let code = tag.attr("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
                    // Symbol fonts live in the private area; the text they mean is not there.
                    if let Some(character) =
                        code.and_then(char::from_u32).filter(|code| !('\u{e000}'..='\u{f8ff}').contains(code))
                    {
                        push(&mut paragraphs, character.encode_utf8(&mut [0; 4]));
                    }
                }
                "br" => match tag.attr("type").as_deref() {
                    Some("page") if breaks == Breaks::Asked => break_page(&mut paragraphs, sections, sink)?,
                    Some("page" | "column") => push(&mut paragraphs, "\n"),
                    _ => push(&mut paragraphs, "\n"),
                },
                "lastRenderedPageBreak" if breaks == Breaks::Rendered => {
                    // In a table the rows stay together.
                    if tables.is_empty() {
                        break_page(&mut paragraphs, sections, sink)?;
                    } else if let Some(paragraph) = paragraphs.last_mut() {
                        paragraph.breaks_after += 1;
                    }
                }
                "hyperlink" => {
                    let address = tag.prefixed("id").and_then(|id| links.get(&id).cloned());
                    open_links.push((paragraphs.last().map_or(0, |one| one.text.len()), address));
                }
                "footnoteReference" | "endnoteReference" => {
                    if let Some(id) = tag.attr("id") {
                        push(&mut paragraphs, &format!("[^{id}]"));
                    }
                }
                "footnote" | "endnote" => {
                    // Word keeps its lines between text and notes here, too.
                    if tag.attr("type").is_some_and(|kind| kind != "normal") {
                        xml.skip()?;
                    } else if let Some(id) = tag.attr("id") {
                        sections.verbatim(&format!("[^{id}]: "));
                    }
                }
                "comment" => {
                    if let Some(author) = tag.attr("author") {
                        sections.verbatim(&format!("{author}: "));
                    }
                }
                "tbl" => tables.begin(),
                // A second version of what was just read, deleted text, and properties.
                "Fallback" | "del" | "moveFrom" | "rPr" | "tblPr" | "trPr" | "tcPr" | "sectPr"
                | "instrText" | "delText" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => match name.as_str() {
                "p" => {
                    if let Some(paragraph) = paragraphs.pop() {
                        end_paragraph(paragraph, &mut tables, sections, sink)?;
                    }
                }
                "hyperlink" => {
                    if let (Some((start, Some(address))), Some(paragraph)) =
                        (open_links.pop(), paragraphs.last_mut())
                    {
                        ooxml::link(&mut paragraph.text, start, &address);
                    }
                }
                "tc" => tables.end_cell(),
                "tr" => tables.end_row(),
                "tbl" => {
                    if let Some(rows) = tables.end() {
                        sections.table(&rows);
                    }
                }
                _ => {}
            },
            Token::Text(_) => {}
        }
    }
    // A file that was cut has paragraphs open.
    while let Some(paragraph) = paragraphs.pop() {
        end_paragraph(paragraph, &mut tables, sections, sink)?;
    }
    tables.rest().for_each(|rows| sections.table(&rows));
    Ok(())
}

fn push(paragraphs: &mut [Paragraph], text: &str) {
    if let Some(paragraph) = paragraphs.last_mut() {
        paragraph.text.push_str(text);
    }
}

/// A page ends within a paragraph: what was written of it belongs to the page before.
fn break_page(paragraphs: &mut [Paragraph], sections: &mut Sections, sink: &mut Sink) -> Outcome {
    if let Some(paragraph) = paragraphs.last_mut()
        && paragraph.level.is_none()
    {
        let text = std::mem::take(&mut paragraph.text);
        sections.paragraph(&text);
    }
    sections.page_break(sink)
}

fn end_paragraph(
    paragraph: Paragraph,
    tables: &mut OpenTables,
    sections: &mut Sections,
    sink: &mut Sink,
) -> Outcome {
    if tables.take(paragraph.text.trim()) {
        return Ok(());
    }
    match (paragraph.level, paragraph.item) {
        (Some(level), _) => sections.heading(level, &paragraph.text, sink)?,
        (None, Some(indent)) => sections.item(indent, &paragraph.text),
        (None, None) => sections.paragraph(&paragraph.text),
    }
    Ok(())
}

#[derive(Default)]
struct Properties {
    level: Option<u32>,
    item: Option<usize>,
    new_page: bool,
}

/// What a paragraph is.
fn properties(xml: &mut Xml<'_>, styles: &HashMap<String, u32>) -> Outcome<Properties> {
    let mut found = Properties::default();
    let element = xml.element();
    while let Some(token) = xml.next_in(&element)? {
        let Token::Start(tag) = token else { continue };
        match tag.name() {
            "pStyle" => {
                let level = value(&tag).and_then(|style| styles.get(&style).copied());
                found.level = found.level.or(level);
            }
            "outlineLvl" => found.level = outline(&tag),
            "ilvl" => found.item = value(&tag).and_then(|level| level.parse().ok()),
            "numId" if value(&tag).as_deref() == Some("0") => found.item = None,
            "numId" => found.item = found.item.or(Some(0)),
            "pageBreakBefore" => {
                found.new_page = !matches!(value(&tag).as_deref(), Some("0" | "false"));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn value(tag: &Tag<'_>) -> Option<String> {
    tag.attr("val")
}

/// An outline level as a heading level; 9 is body text.
fn outline(tag: &Tag<'_>) -> Option<u32> {
    value(tag)?.parse::<u32>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

/// Which styles are headings, and of which level.
fn styles(zip: &Zip<'_>, relations: &Relations, sink: &mut Sink) -> Outcome<HashMap<String, u32>> {
    let name = relations.of_kind("styles").next().unwrap_or("word/styles.xml").to_owned();
    let Some(text) = ooxml::optional(zip, &name, sink)? else { return Ok(HashMap::new()) };
    let mut levels: HashMap<String, u32> = HashMap::new();
    let mut bases: Vec<(String, String)> = Vec::new();
    let mut current = String::new();
    let mut xml = Xml::new(&text, &sink.meter);
    while let Some(token) = xml.next()? {
        let Token::Start(tag) = token else { continue };
        match tag.name() {
            "style" => current = tag.attr("styleId").unwrap_or_default(),
            "basedOn" => bases.extend(value(&tag).map(|base| (current.clone(), base))),
            "outlineLvl" => {
                if let Some(level) = outline(&tag) {
                    levels.insert(current.clone(), level);
                }
            }
            "name" => {
                let name = value(&tag).unwrap_or_default().to_ascii_lowercase();
                let number = name.strip_prefix("heading ").and_then(|rest| rest.parse().ok());
                if let Some(level) = number.or_else(|| (name == "title").then_some(1)) {
                    levels.insert(current.clone(), level);
                }
            }
            _ => {}
        }
    }
    // A style made from a heading style is one; three rounds reach any chain that people make.
    for _ in 0..3 {
        for (style, base) in &bases {
            if let Some(level) = levels.get(base).copied() {
                levels.entry(style.clone()).or_insert(level);
            }
        }
    }
    Ok(levels)
}
