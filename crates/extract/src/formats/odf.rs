//! What OpenDocument texts, sheets and presentations share: one XML with all the content.

use crate::container::zip::Zip;
use crate::formats::ooxml;
use crate::sink::{Outcome, Sink, encrypted};
use crate::xml::{Token, Xml};

/// The text of `content.xml`, and the title noted.
pub(super) fn open(bytes: &[u8], sink: &mut Sink) -> Outcome<String> {
    let mut parts = open_parts(bytes, &["content.xml"], sink)?;
    Ok(parts.pop().unwrap_or_default())
}

/// The texts of parts, empty where one is not there, and the title noted. The last one has to be there.
pub(super) fn open_parts(bytes: &[u8], names: &[&str], sink: &mut Sink) -> Outcome<Vec<String>> {
    let zip = Zip::open(bytes, &sink.meter)?;
    if let Some(manifest) = ooxml::optional(&zip, "META-INF/manifest.xml", sink)?
        && manifest.contains("encryption-data")
    {
        return Err(encrypted(sink.format));
    }
    if let Some(text) = ooxml::optional(&zip, "meta.xml", sink)? {
        let found = title(&text, sink);
        if let Some(Some(found)) = sink.tolerate("meta.xml", found)? {
            sink.title(&found);
        }
    }
    let Some((last, others)) = names.split_last() else { return Ok(Vec::new()) };
    let mut parts = Vec::with_capacity(names.len());
    for name in others {
        parts.push(ooxml::optional(&zip, name, sink)?.unwrap_or_default());
    }
    parts.push(ooxml::part(&zip, last, sink)?.unwrap_or_default());
    Ok(parts)
}

fn title(text: &str, sink: &Sink) -> Outcome<Option<String>> {
    let mut xml = Xml::new(text, &sink.meter);
    while let Some(token) = xml.next()? {
        if let Token::Start(tag) = token
            && tag.name() == "title"
        {
            return xml.text().map(Some);
        }
    }
    Ok(None)
}

/// The text of a paragraph that has just begun, with links in Markdown. Footnotes go to `notes`, and a mark of
/// theirs stays.
pub(super) fn paragraph(xml: &mut Xml<'_>, notes: &mut Vec<String>) -> Outcome<String> {
    paragraph_over_pages(xml, notes, &mut 0)
}

/// As [`paragraph`], and counts the pages that end within it.
pub(super) fn paragraph_over_pages(
    xml: &mut Xml<'_>,
    notes: &mut Vec<String>,
    page_ends: &mut u32,
) -> Outcome<String> {
    let mut text = String::new();
    let mut links: Vec<(usize, String)> = Vec::new();
    let element = xml.element();
    while let Some(token) = xml.next_in(&element)? {
        match token {
            Token::Start(tag) => match tag.name() {
                "s" => {
                    let count = tag.attr("c").and_then(|count| count.parse().ok()).unwrap_or(1usize);
                    text.extend(std::iter::repeat_n(' ', count.min(100)));
                }
                "tab" => text.push('\t'),
                "soft-page-break" => *page_ends = page_ends.saturating_add(1),
                "line-break" | "p" | "h" => text.push('\n'),
                "a" => links.push((text.len(), tag.attr("href").unwrap_or_default())),
                "note-citation" => {
                    let mark = xml.text()?;
                    text.push_str(&format!("[^{}]", mark.trim()));
                    notes.push(format!("[^{}]:", mark.trim()));
                }
                "note-body" => {
                    let note = xml.text()?;
                    if let Some(last) = notes.last_mut() {
                        last.push(' ');
                        last.push_str(note.trim());
                    }
                }
                "annotation" => notes.push(annotation(xml)?),
                // Pictures of the document in other forms, and the names of shapes.
                "desc" | "binary-data" | "tracked-changes" => xml.skip()?,
                _ => {}
            },
            Token::End(name) => {
                if name == "a"
                    && let Some((start, address)) = links.pop()
                {
                    ooxml::link(&mut text, start, &address);
                }
            }
            // Line ends in the source are blanks.
            Token::Text(more) => text.push_str(&more.replace(['\n', '\r', '\t'], " ")),
        }
    }
    Ok(text)
}

/// A comment with its author.
pub(super) fn annotation(xml: &mut Xml<'_>) -> Outcome<String> {
    let mut author = String::new();
    let mut text = String::new();
    let element = xml.element();
    while let Some(token) = xml.next_in(&element)? {
        match token {
            Token::Start(tag) => match tag.name() {
                "creator" => author = xml.text()?,
                "date" | "date-string" => xml.skip()?,
                _ => {}
            },
            Token::End(_) => text.push(' '),
            Token::Text(more) => text.push_str(&more),
        }
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(if author.trim().is_empty() { text } else { format!("{}: {text}", author.trim()) })
}
