//! Embedded font programs: what they say about their glyphs, where the document itself says nothing.

use std::collections::HashMap;

use super::glyph_names::glyph_text;
use super::{cff, truetype};
use crate::limits::Meter;
use crate::sink::Outcome;

/// The characters of a font's glyphs, by their numbers: from its own map of characters, or from the names of the glyphs.
pub(super) fn characters(font: &[u8], meter: &Meter) -> Outcome<HashMap<u32, Box<str>>> {
    let (mut found, names) = if truetype::is_font(font) {
        let names = match truetype::table(font, b"CFF ") {
            Some(outlines) => cff::glyph_names(outlines, meter)?,
            None => truetype::glyph_names(font, meter)?,
        };
        (truetype::characters(font, meter)?, names)
    } else {
        (HashMap::new(), cff::glyph_names(font, meter)?)
    };
    for (glyph, name) in (0u32..).zip(names) {
        if let Some(text) = glyph_text(&name) {
            found.entry(glyph).or_insert(text);
        }
    }
    Ok(found)
}

/// The names of the glyphs by the codes of the font's own encoding.
pub(super) fn encoding(font: &[u8], meter: &Meter) -> Outcome<HashMap<u8, String>> {
    let outlines = if truetype::is_font(font) { truetype::table(font, b"CFF ") } else { Some(font) };
    outlines.map_or(Ok(HashMap::new()), |outlines| cff::encoding(outlines, meter))
}
