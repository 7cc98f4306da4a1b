//! The two tables of TrueType fonts that text needs, read backwards: from glyphs to characters and to names.

use std::collections::HashMap;

use crate::limits::Meter;
use crate::sink::Outcome;

/// A font has 65,536 glyphs at most.
const MOST_GLYPHS: usize = 65_536;

pub(super) fn is_font(bytes: &[u8]) -> bool {
    matches!(bytes.get(..4), Some(b"\0\x01\0\0" | b"true" | b"OTTO" | b"ttcf"))
}

/// A table of the font, from its first byte to the end of the file.
pub(super) fn table<'a>(font: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    // Of a collection, only the first font is read.
    let start = if font.starts_with(b"ttcf") { u32_at(font, 12) as usize } else { 0 };
    let count = usize::from(u16_at(font, start.saturating_add(4)));
    let record = (0..count.min(64))
        .map(|index| start.saturating_add(12 + index * 16))
        .find(|at| font.get(*at..at.saturating_add(4)) == Some(name))?;
    font.get(u32_at(font, record + 8) as usize..)
}

/// The characters of the glyphs, by the font's map of characters.
pub(super) fn characters(font: &[u8], meter: &Meter) -> Outcome<HashMap<u32, Box<str>>> {
    let mut found = HashMap::new();
    let Some(table) = table(font, b"cmap") else { return Ok(found) };
    let count = usize::from(u16_at(table, 2));
    for index in 0..count.min(32) {
        let record = 4 + index * 8;
        let (platform, encoding) = (u16_at(table, record), u16_at(table, record + 2));
        // Unicode only: the others number their characters otherwise.
        if !matches!((platform, encoding), (0, _) | (3, 1 | 10)) {
            continue;
        }
        let Some(sub) = table.get(u32_at(table, record + 4) as usize..) else { continue };
        match u16_at(sub, 0) {
            4 => format_4(sub, &mut found, meter)?,
            12 => format_12(sub, &mut found, meter)?,
            _ => {}
        }
    }
    Ok(found)
}

/// The names of the glyphs, in the order of their numbers; an empty name for a glyph without one.
pub(super) fn glyph_names(font: &[u8], meter: &Meter) -> Outcome<Vec<String>> {
    let Some(post) = table(font, b"post") else { return Ok(Vec::new()) };
    match u32_at(post, 0) {
        0x0001_0000 => Ok(standard_names().map(str::to_owned).collect()),
        0x0002_0000 => {
            let count = usize::from(u16_at(post, 32));
            meter.spend(count as u64)?;
            let standard: Vec<&str> = standard_names().collect();
            let mut own = Vec::new();
            let mut rest = post.get(34 + count * 2..).unwrap_or_default();
            while let Some((length, tail)) = rest.split_first() {
                meter.spend(1)?;
                let Some(name) = tail.get(..usize::from(*length)).filter(|_| own.len() < MOST_GLYPHS) else {
                    break;
                };
                own.push(String::from_utf8_lossy(name).into_owned());
                rest = &tail[name.len()..];
            }
            let name = |index: usize| match index.checked_sub(standard.len()) {
                None => standard[index].to_owned(),
                Some(index) => own.get(index).cloned().unwrap_or_default(),
            };
            Ok((0..count).map(|glyph| name(usize::from(u16_at(post, 34 + glyph * 2)))).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// The names that every font may refer to by number, in Apple's order.
fn standard_names() -> impl Iterator<Item = &'static str> {
    include_str!("mac_glyphs.txt").split_ascii_whitespace()
}

fn format_4(table: &[u8], found: &mut HashMap<u32, Box<str>>, meter: &Meter) -> Outcome {
    let segments = usize::from(u16_at(table, 6)) / 2;
    for segment in 0..segments {
        let end = u16_at(table, 14 + segment * 2);
        let start = u16_at(table, 16 + (segments + segment) * 2);
        let delta = u16_at(table, 16 + (segments * 2 + segment) * 2);
        let place = 16 + (segments * 3 + segment) * 2;
        let offset = usize::from(u16_at(table, place));
        for code in start..=end {
            meter.spend(1)?;
            let glyph = if offset == 0 {
                code.wrapping_add(delta)
            } else {
                match u16_at(table, place + offset + usize::from(code - start) * 2) {
                    0 => 0,
                    glyph => glyph.wrapping_add(delta),
                }
            };
            add(found, u32::from(glyph), u32::from(code));
        }
    }
    Ok(())
}

fn format_12(table: &[u8], found: &mut HashMap<u32, Box<str>>, meter: &Meter) -> Outcome {
    for group in 0..(u32_at(table, 12) as usize).min(table.len() / 12) {
        let at = 16 + group * 12;
        let (start, end, glyph) = (u32_at(table, at), u32_at(table, at + 4), u32_at(table, at + 8));
        for code in start..=end.min(start.saturating_add(65_535)) {
            meter.spend(1)?;
            add(found, glyph.wrapping_add(code - start), code);
        }
    }
    Ok(())
}

fn add(found: &mut HashMap<u32, Box<str>>, glyph: u32, code: u32) {
    // The first of several characters for a glyph is the plainest.
    if glyph != 0
        && (glyph as usize) < MOST_GLYPHS
        && let Some(character) = char::from_u32(code).filter(|c| !('\u{e000}'..='\u{f8ff}').contains(c))
    {
        found.entry(glyph).or_insert_with(|| character.to_string().into());
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at.saturating_add(2)).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at.saturating_add(2)))
}
