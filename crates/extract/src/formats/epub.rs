//! Electronic books: the chapters in the order of the spine.

use crate::container::zip::Zip;
use crate::formats::{html, ooxml};
use crate::sections::Sections;
use crate::sink::{Outcome, Sink, encrypted};
use crate::xml::{self, Token, Xml};

pub(super) fn read(bytes: &[u8], sink: &mut Sink) -> Outcome {
    let zip = Zip::open(bytes, &sink.meter)?;
    let package = package(&zip, sink)?;
    let chapters = spine(&zip, &package, sink)?;
    let locked = zip.find("META-INF/encryption.xml").is_some();
    let mut sections = Sections::default();
    for name in &chapters {
        let Some(text) = ooxml::part(&zip, name, sink)? else { continue };
        let page = html::convert(&text, &sink.meter);
        if let Some(page) = sink.tolerate(name, page)? {
            page.write(&mut sections, sink)?;
        }
        sections.flush(sink)?;
    }
    // Fonts may be scrambled without the text being so.
    if locked && sink.units.is_empty() {
        return Err(encrypted(sink.format));
    }
    Ok(())
}

/// The name of the file that lists the others.
fn package(zip: &Zip<'_>, sink: &mut Sink) -> Outcome<String> {
    let mut found = None;
    if let Some(text) = ooxml::part(zip, "META-INF/container.xml", sink)? {
        let mut xml = Xml::new(&text, &sink.meter);
        while let Ok(Some(token)) = xml.next() {
            if let Token::Start(tag) = token
                && tag.name() == "rootfile"
            {
                found = tag.attr("full-path");
                break;
            }
        }
    }
    let listed = zip.members.iter().find(|member| member.name.ends_with(".opf"));
    Ok(found.or_else(|| listed.map(|member| member.name.clone())).unwrap_or_default())
}

fn spine(zip: &Zip<'_>, package: &str, sink: &mut Sink) -> Outcome<Vec<String>> {
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut items: Vec<(String, String)> = Vec::new();
    let mut order: Vec<String> = Vec::new();
    let mut title = None;
    if let Some(bytes) = zip.part(package, &sink.meter)? {
        let text = xml::decode(&bytes);
        let mut xml = Xml::new(&text, &sink.meter);
        while let Ok(Some(token)) = xml.next() {
            let Token::Start(tag) = token else { continue };
            match tag.name() {
                "item" => items.extend(tag.attr("id").zip(tag.attr("href"))),
                "itemref" => order.extend(tag.attr("idref")),
                "title" if title.is_none() => title = xml.text().ok(),
                _ => {}
            }
        }
    }
    if let Some(title) = title {
        sink.title(&title);
    }
    let named = |id: &String| {
        let (_, address) = items.iter().find(|(known, _)| known == id)?;
        Some(ooxml::resolve(folder, &percent_decoded(address)))
    };
    let chapters: Vec<String> = order.iter().filter_map(named).collect();
    if !chapters.is_empty() {
        return Ok(chapters);
    }
    let pages = zip.members.iter().map(|member| member.name.clone());
    Ok(pages.filter(|name| name.ends_with(".xhtml") || name.ends_with(".html")).collect())
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, more @ ..] = rest {
        let digits = more.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) if *byte == b'%' => {
                out.push(decoded);
                rest = &more[2..];
            }
            _ => {
                out.push(*byte);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
