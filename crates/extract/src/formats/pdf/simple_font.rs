//! Fonts whose codes are single bytes: Type 1, TrueType and Type 3.

use std::collections::HashMap;

use super::cmap::CMap;
use super::file::File;
use super::font::{Font, FontKind, font_file};
use super::font_program;
use super::glyph_names::glyph_text;
use super::object::{Dict, Object};
use super::tables;
use crate::sink::Outcome;

pub(super) fn load(dict: &Dict, to_unicode: Option<CMap>, file: &File<'_>) -> Outcome<Font> {
    let base_font = file.value(dict, "BaseFont")?;
    let name = base_font.as_deref().and_then(Object::name).unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    let name = name.split_once('+').map_or(name.as_str(), |(_, name)| name);
    let is_type3 = dict.get("Subtype").is_some_and(|kind| kind.is_name("Type3"));
    let is_truetype = dict.get("Subtype").is_some_and(|kind| kind.is_name("TrueType"));

    let encoding = file.value(dict, "Encoding")?;
    let mut base = match encoding.as_deref() {
        Some(Object::Name(name)) => named_encoding(name),
        Some(other) => match other.dict() {
            Some(inner) => match file.value(inner, "BaseEncoding")? {
                Some(base) => base.name().and_then(named_encoding),
                None => None,
            },
            None => None,
        },
        None => None,
    };
    if name.starts_with("Symbol") {
        base = base.or(Some(tables::SYMBOL));
    } else if name.starts_with("ZapfDingbats") {
        base = base.or(Some(tables::ZAPF_DINGBATS));
    }
    let mut characters: Box<[Option<Box<str>>; 256]> = Box::new([const { None }; 256]);
    let own = if base.is_none() && !is_type3 { built_in(dict, file)? } else { HashMap::new() };
    let table = base.unwrap_or(if is_truetype { tables::WIN_ANSI } else { tables::STANDARD });
    for (index, character) in characters.iter_mut().enumerate() {
        *character = match own.get(&(index as u8)) {
            Some(name) => glyph_text(name),
            None if !own.is_empty() && base.is_none() => None,
            None if table[index] == '\0' => None,
            None => Some(table[index].to_string().into()),
        };
    }
    if let Some(encoding) = encoding.as_deref().and_then(Object::dict)
        && let Some(differences) = file.value(encoding, "Differences")?
    {
        let mut at = 0usize;
        for item in differences.array().unwrap_or_default() {
            match &*file.resolve(item)? {
                Object::Number(number) => at = (*number).clamp(0.0, 255.0) as usize,
                Object::Name(name) => {
                    if let Some(slot) = characters.get_mut(at) {
                        *slot = glyph_text(&String::from_utf8_lossy(name));
                    }
                    at += 1;
                }
                _ => {}
            }
        }
    }
    let widths = simple_widths(dict, name, is_type3, &characters, file)?;
    Ok(Font { kind: FontKind::Simple { characters, widths }, to_unicode, vertical: false })
}

fn simple_widths(
    dict: &Dict,
    name: &str,
    is_type3: bool,
    characters: &[Option<Box<str>>; 256],
    file: &File<'_>,
) -> Outcome<Box<[f32; 256]>> {
    let mut widths = Box::new([0f32; 256]);
    let bold = name.contains("Bold");
    let table: Option<&[u16; 224]> = if name.contains("Courier") || name.contains("Mono") {
        None
    } else if name.contains("Times") || name.contains("Serif") || name.contains("Roman") {
        Some(if bold { tables::TIMES_BOLD } else { tables::TIMES })
    } else {
        Some(if bold { tables::HELVETICA_BOLD } else { tables::HELVETICA })
    };
    for (width, text) in widths.iter_mut().zip(characters) {
        let character = text.as_deref().and_then(|text| text.chars().next()).unwrap_or(' ');
        let index = (character as usize).checked_sub(0x20);
        *width = match table {
            None => 600.0,
            Some(table) => f32::from(index.and_then(|index| table.get(index)).copied().unwrap_or(556)),
        };
    }
    let Some(given) = file.value(dict, "Widths")? else { return Ok(widths) };
    let first = file.value(dict, "FirstChar")?.and_then(|first| first.integer()).unwrap_or(0);
    let first = usize::try_from(first).unwrap_or(0);
    let mut scale = 1.0;
    if is_type3 {
        let matrix = file.value(dict, "FontMatrix")?;
        let horizontal = matrix.as_deref().and_then(|matrix| matrix.array()?.first()?.number());
        scale = horizontal.unwrap_or(0.001).abs() as f32 * 1000.0;
    }
    let missing = match file.value(dict, "FontDescriptor")? {
        Some(descriptor) => match descriptor.dict() {
            Some(inner) => file.value(inner, "MissingWidth")?.and_then(|width| width.number()),
            None => None,
        },
        None => None,
    };
    if let Some(missing) = missing {
        widths.fill(missing as f32);
    }
    for (index, width) in given.array().unwrap_or_default().iter().take(256).enumerate() {
        if let (Some(slot), Some(width)) = (widths.get_mut(first + index), file.resolve(width)?.number()) {
            *slot = width as f32 * scale;
        }
    }
    Ok(widths)
}

fn named_encoding(name: &[u8]) -> Option<&'static [char; 256]> {
    match name {
        b"WinAnsiEncoding" => Some(tables::WIN_ANSI),
        b"MacRomanEncoding" => Some(tables::MAC_ROMAN),
        b"StandardEncoding" => Some(tables::STANDARD),
        b"PDFDocEncoding" => Some(tables::PDF_DOC),
        _ => None,
    }
}

/// The encoding within an embedded font, as names of glyphs.
fn built_in(dict: &Dict, file: &File<'_>) -> Outcome<HashMap<u8, String>> {
    if let Some(bytes) = font_file(dict, "FontFile3", file)? {
        return font_program::encoding(&bytes, file.meter);
    }
    match font_file(dict, "FontFile", file)? {
        Some(bytes) => type1_encoding(&bytes, file),
        None => Ok(HashMap::new()),
    }
}

/// The encoding within a Type 1 font: `dup 65 /A put` in its readable part.
fn type1_encoding(bytes: &[u8], file: &File<'_>) -> Outcome<HashMap<u8, String>> {
    let mut names = HashMap::new();
    let end = memchr::memmem::find(bytes, b"eexec").unwrap_or(bytes.len().min(1 << 16));
    let readable = &bytes[..end];
    for at in memchr::memmem::find_iter(readable, b"dup ").take(1000) {
        file.meter.spend(1)?;
        let line = &readable[at + 4..readable.len().min(at + 100)];
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let (Some(number), Some(name)) = (words.next(), words.next()) else { continue };
        if let (Ok(number), Some(name)) = (number.parse::<u8>(), name.strip_prefix('/')) {
            names.insert(number, name.to_owned());
        }
    }
    Ok(names)
}
