//! The one table of TrueType fonts that text needs, read backwards: from glyphs to characters.

use std::collections::HashMap;

use crate::limits::Meter;
use crate::sink::Outcome;

pub(super) fn characters(font: &[u8], meter: &Meter) -> Outcome<HashMap<u32, char>> {
    let mut found = HashMap::new();
    let Some(table) = cmap(font) else { return Ok(found) };
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

fn cmap(font: &[u8]) -> Option<&[u8]> {
    let count = usize::from(u16_at(font, 4));
    let record =
        (0..count.min(64)).map(|index| 12 + index * 16).find(|at| font.get(*at..at + 4) == Some(b"cmap"))?;
    font.get(u32_at(font, record + 8) as usize..)
}

fn format_4(table: &[u8], found: &mut HashMap<u32, char>, meter: &Meter) -> Outcome {
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

fn format_12(table: &[u8], found: &mut HashMap<u32, char>, meter: &Meter) -> Outcome {
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

fn add(found: &mut HashMap<u32, char>, glyph: u32, code: u32) {
    // The first of several characters for a glyph is the plainest.
    if glyph != 0
        && glyph < 65_536
        && let Some(character) = char::from_u32(code).filter(|c| !('\u{e000}'..='\u{f8ff}').contains(c))
    {
        found.entry(glyph).or_insert(character);
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at.saturating_add(2)).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at.saturating_add(2)))
}
