//! What Word, PowerPoint and Excel files share: a zip of parts that point at each other by relations.

use std::collections::HashMap;

use crate::container::cfb::{self, Cfb};
use crate::container::zip::Zip;
use crate::diagnostic::Diagnostic;
use crate::sink::{Outcome, Sink, encrypted};
use crate::xml::{self, Token, Xml};

/// Opens the zip. With a password it is a compound file instead.
pub(super) fn open<'a>(bytes: &'a [u8], sink: &Sink) -> Outcome<Zip<'a>> {
    if bytes.starts_with(cfb::SIGNATURE) && Cfb::open(bytes, &sink.meter)?.has("EncryptedPackage") {
        return Err(encrypted(sink.format));
    }
    let zip = Zip::open(bytes, &sink.meter)?;
    if !zip.members.is_empty() && zip.members.iter().all(|member| member.encrypted) {
        return Err(encrypted(sink.format));
    }
    Ok(zip)
}

/// A part as text; noted if it is not there.
pub(super) fn part(zip: &Zip<'_>, name: &str, sink: &mut Sink) -> Outcome<Option<String>> {
    let read = zip.part(name, &sink.meter);
    match sink.tolerate(name, read)? {
        Some(Some(bytes)) => Ok(Some(xml::decode_whole(bytes))),
        Some(None) => {
            sink.note(Diagnostic::MissingPart { part: name.to_owned() });
            Ok(None)
        }
        None => Ok(None),
    }
}

/// As [`part`], for parts that need not be there.
pub(super) fn optional(zip: &Zip<'_>, name: &str, sink: &mut Sink) -> Outcome<Option<String>> {
    if zip.find(name).is_none() { Ok(None) } else { part(zip, name, sink) }
}

#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) id: String,
    /// The last word of the type's address: `slide`, `notesSlide`, `hyperlink`.
    pub(super) kind: String,
    /// The part's name in the zip, or the address of a link.
    pub(super) target: String,
}

#[derive(Debug, Default)]
pub(super) struct Relations(Vec<Relation>);

impl Relations {
    pub(super) fn get(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|relation| relation.id == id).map(|relation| relation.target.as_str())
    }

    pub(super) fn of_kind<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r str> {
        self.0.iter().filter(move |one| one.kind == kind).map(|relation| relation.target.as_str())
    }

    /// The links by their ids.
    pub(super) fn links(&self) -> HashMap<String, String> {
        let links = self.0.iter().filter(|relation| relation.kind == "hyperlink");
        links.map(|relation| (relation.id.clone(), relation.target.clone())).collect()
    }
}

/// The relations of a part; none if the part has none.
pub(super) fn relations(zip: &Zip<'_>, part_name: &str, sink: &mut Sink) -> Outcome<Relations> {
    let (folder, file) = part_name.rsplit_once('/').unwrap_or(("", part_name));
    let name =
        if folder.is_empty() { format!("_rels/{file}.rels") } else { format!("{folder}/_rels/{file}.rels") };
    let Some(text) = optional(zip, &name, sink)? else { return Ok(Relations::default()) };
    let mut relations = Vec::new();
    let mut xml = Xml::new(&text, &sink.meter);
    while let Some(token) = xml.next()? {
        let Token::Start(tag) = token else { continue };
        if tag.name() != "Relationship" {
            continue;
        }
        let [id, kind, target] = ["Id", "Type", "Target"].map(|key| tag.attr(key).unwrap_or_default());
        let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
        let outside = tag.attr("TargetMode").is_some_and(|mode| mode == "External");
        let target = if outside { target } else { resolve(folder, &target) };
        relations.push(Relation { id, kind, target });
    }
    Ok(Relations(relations))
}

/// A target relative to a folder of the zip. It is looked up in the list of members, never in a file system.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The title in the document's properties.
pub(super) fn title(zip: &Zip<'_>, sink: &mut Sink) -> Outcome {
    let Some(text) = optional(zip, "docProps/core.xml", sink)? else { return Ok(()) };
    let mut found = None;
    let mut xml = Xml::new(&text, &sink.meter);
    while let Some(token) = xml.next()? {
        if let Token::Start(tag) = token
            && tag.name() == "title"
        {
            found = Some(xml.text()?);
            break;
        }
    }
    if let Some(found) = found {
        sink.title(&found);
    }
    Ok(())
}

/// Puts a Markdown link around what was written since `start`.
pub(super) fn link(text: &mut String, start: usize, address: &str) {
    let start = start.min(text.len());
    let label = text.split_off(start);
    if label.trim().is_empty() || label.trim() == address || label.contains('\n') {
        text.push_str(&label);
        return;
    }
    let inner = label.trim();
    let (before, after) = label.split_once(inner).unwrap_or(("", ""));
    let address = address.replace(' ', "%20").replace(')', "%29");
    text.push_str(&format!("{before}[{inner}]({address}){after}"));
}
