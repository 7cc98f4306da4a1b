//! Composite fonts: strings of codes of one to four bytes, which an encoding turns into numbers of glyphs.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cmap::{CMap, code};
use super::file::File;
use super::font::{Font, FontKind, font_file};
use super::font_program;
use super::object::{Dict, Object};
use super::predefined::{Collection, PredefinedEncoding, PredefinedMaps};
use crate::sink::Outcome;

#[derive(Debug)]
pub(super) struct Composite {
    codes: Codes,
    widths: Widths,
    default_width: f32,
    /// What the numbers of the glyphs mean, if Adobe gave them.
    collection: Option<Collection>,
    /// What the embedded font says about its glyphs, by the numbers that the codes select.
    glyphs: HashMap<u32, Box<str>>,
}

/// How a string is cut into codes, and which glyphs they select.
#[derive(Debug)]
enum Codes {
    /// Two bytes, the number of the glyph.
    Identity,
    Predefined(PredefinedEncoding),
    /// A map in the file, which may add to a predefined one.
    Embedded(Box<CMap>, Option<PredefinedEncoding>),
}

/// A code of a string.
pub(super) struct Code<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) value: u32,
    glyph: Option<u32>,
}

impl Composite {
    /// The next code of a string that is not empty.
    pub(super) fn next_code<'b>(&self, string: &'b [u8]) -> Code<'b> {
        let bytes = match &self.codes {
            Codes::Embedded(map, _) if map.has_spaces() => {
                let (_, length) = map.next(string);
                &string[..length.min(string.len())]
            }
            Codes::Predefined(base) | Codes::Embedded(_, Some(base)) => base.next(string),
            Codes::Identity | Codes::Embedded(_, None) => &string[..2.min(string.len())],
        };
        let value = code(bytes);
        let glyph = match &self.codes {
            Codes::Identity => Some(value),
            Codes::Predefined(base) => base.glyph(bytes),
            Codes::Embedded(map, Some(base)) => map.cid(value).or_else(|| base.glyph(bytes)),
            Codes::Embedded(map, None) => Some(map.cid(value).unwrap_or(value)),
        };
        Code { bytes, value, glyph }
    }

    /// What a code means where the font has no map to Unicode.
    pub(super) fn text(&self, code: &Code<'_>) -> Option<Cow<'_, str>> {
        let encoding = match &self.codes {
            Codes::Predefined(base) | Codes::Embedded(_, Some(base)) => Some(base),
            Codes::Identity | Codes::Embedded(_, None) => None,
        };
        if let Some(encoding) = encoding.filter(|encoding| encoding.is_unicode())
            && let Some(text) = encoding.text(code.bytes)
        {
            return Some(text.into());
        }
        if let (Some(collection), Some(glyph)) = (&self.collection, code.glyph)
            && let Some(text) = collection.text(glyph)
        {
            return Some(text.into());
        }
        if let Some(text) = code.glyph.and_then(|glyph| self.glyphs.get(&glyph)) {
            return Some((&**text).into());
        }
        encoding.and_then(|encoding| encoding.text(code.bytes)).map(Cow::Owned)
    }

    pub(super) fn width(&self, code: &Code<'_>) -> f32 {
        let half = if code.glyph.is_none() && code.bytes.len() == 1 { Some(500.0) } else { None };
        code.glyph.and_then(|glyph| self.widths.get(glyph)).or(half).unwrap_or(self.default_width)
    }
}

pub(super) fn load(
    dict: &Dict,
    to_unicode: Option<CMap>,
    file: &File<'_>,
    predefined: &mut PredefinedMaps,
) -> Outcome<Font> {
    let (codes, vertical) = encoding(dict, file, predefined)?;
    let mut composite = Composite {
        codes,
        widths: Widths::default(),
        default_width: 1000.0,
        collection: None,
        glyphs: HashMap::new(),
    };
    let descendants = file.value(dict, "DescendantFonts")?;
    let first = descendants.as_deref().and_then(|all| all.array().map_or(Some(all), <[Object]>::first));
    let descendant = first.map(|font| file.resolve(font)).transpose()?;
    if let Some(descendant) = descendant.as_deref().and_then(Object::dict) {
        if let Some(width) = file.value(descendant, "DW")?.and_then(|width| width.number()) {
            composite.default_width = width as f32;
        }
        if let Some(list) = file.value(descendant, "W")? {
            composite.widths.read(&list, file)?;
        }
        composite.collection = collection(descendant, file, predefined)?;
        if to_unicode.is_none() && composite.collection.is_none() {
            composite.glyphs = embedded_glyphs(descendant, file)?;
        }
    }
    if let (None, Codes::Predefined(encoding) | Codes::Embedded(_, Some(encoding))) =
        (&composite.collection, &composite.codes)
    {
        composite.collection = predefined.collection_of(encoding, file.meter)?;
    }
    Ok(Font { kind: FontKind::Composite(Box::new(composite)), to_unicode, vertical })
}

/// The encoding of a font, and whether it writes downwards.
fn encoding(dict: &Dict, file: &File<'_>, predefined: &mut PredefinedMaps) -> Outcome<(Codes, bool)> {
    match file.value(dict, "Encoding")?.as_deref() {
        Some(Object::Name(name)) => {
            let encoding = predefined.encoding(name, file.meter)?;
            let is_vertical = name.ends_with(b"-V") || **name == *b"V";
            Ok((encoding.map_or(Codes::Identity, Codes::Predefined), is_vertical))
        }
        Some(Object::Stream(stream)) => {
            let Some(bytes) = file.decoded(stream)? else { return Ok((Codes::Identity, false)) };
            let map = CMap::parse(&bytes, file.meter)?;
            let named = match file.value(&stream.dict, "UseCMap")? {
                Some(base) => base.name().map(<[u8]>::to_vec),
                None => map.base.as_deref().map(<[u8]>::to_vec),
            };
            let base = match named {
                Some(name) => predefined.encoding(&name, file.meter)?,
                None => None,
            };
            let is_vertical = map.vertical;
            Ok((Codes::Embedded(Box::new(map), base), is_vertical))
        }
        _ => Ok((Codes::Identity, false)),
    }
}

fn collection(
    descendant: &Dict,
    file: &File<'_>,
    predefined: &mut PredefinedMaps,
) -> Outcome<Option<Collection>> {
    let Some(info) = file.value(descendant, "CIDSystemInfo")? else { return Ok(None) };
    let Some(info) = info.dict() else { return Ok(None) };
    let (registry, ordering) = (file.value(info, "Registry")?, file.value(info, "Ordering")?);
    let string = |object: &Option<std::rc::Rc<Object>>| {
        object.as_deref().and_then(Object::string).unwrap_or_default().to_vec()
    };
    let (registry, ordering) = (string(&registry), string(&ordering));
    predefined.collection(&registry, &ordering, file.meter)
}

/// What the embedded font says about its glyphs, by the numbers that the codes select.
fn embedded_glyphs(descendant: &Dict, file: &File<'_>) -> Outcome<HashMap<u32, Box<str>>> {
    let mut glyphs = HashMap::new();
    for key in ["FontFile2", "FontFile3"] {
        if let Some(bytes) = font_file(descendant, key, file)? {
            glyphs = font_program::characters(&bytes, file.meter)?;
        }
    }
    if let Some(Object::Stream(stream)) = file.value(descendant, "CIDToGIDMap")?.as_deref()
        && let Some(map) = file.decoded(stream)?
    {
        let numbers = map.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
        let selected = (0u32..).zip(numbers.take(65_536));
        return Ok(selected
            .filter_map(|(selected, glyph)| glyphs.get(&glyph).map(|text| (selected, text.clone())))
            .collect());
    }
    Ok(glyphs)
}

/// Widths by the number of the glyph, of which a font has 65,536 at most.
#[derive(Debug, Default)]
struct Widths(Vec<f32>);

impl Widths {
    /// `c [w1 w2 …]` and `first last w`.
    fn read(&mut self, list: &Object, file: &File<'_>) -> Outcome {
        let mut items = list.array().unwrap_or_default().iter();
        while let Some(first) = items.next() {
            file.meter.spend(1)?;
            let first = file.resolve(first)?.integer().and_then(|glyph| u32::try_from(glyph).ok());
            let (Some(first), Some(second)) = (first, items.next()) else { break };
            let second = file.resolve(second)?;
            if let Some(all) = second.array() {
                for (glyph, width) in (first..).zip(all) {
                    if let Some(width) = file.resolve(width)?.number() {
                        self.insert(glyph, width as f32);
                    }
                }
            } else if let (Some(last), Some(width)) = (second.integer(), items.next()) {
                let width = file.resolve(width)?.number().unwrap_or(0.0) as f32;
                let last = u32::try_from(last).unwrap_or(0).min(first.saturating_add(65_535));
                for glyph in first..=last {
                    self.insert(glyph, width);
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, glyph: u32, width: f32) {
        let index = glyph as usize;
        if index > usize::from(u16::MAX) {
            return;
        }
        if index >= self.0.len() {
            self.0.resize(index + 1, f32::NAN);
        }
        self.0[index] = width;
    }

    fn get(&self, glyph: u32) -> Option<f32> {
        self.0.get(glyph as usize).copied().filter(|width| !width.is_nan())
    }
}
