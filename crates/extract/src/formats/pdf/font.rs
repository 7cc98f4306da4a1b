//! Fonts, as far as text needs them: which characters a string's codes mean, and how wide they are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use encoding_rs::Encoding;

use super::cmap::{CMap, code};
use super::file::File;
use super::object::{Dict, Object};
use super::tables;
use super::truetype;
use crate::sink::Outcome;

#[derive(Debug)]
pub(super) struct Font {
    kind: Kind,
    to_unicode: Option<CMap>,
    pub(super) vertical: bool,
}

#[derive(Debug)]
enum Kind {
    Simple { characters: Box<[Option<Box<str>>; 256]>, widths: Box<[f32; 256]> },
    Composite { codes: Codes, widths: Widths, default: f32, glyphs: HashMap<u32, char> },
}

/// How a string of a composite font is cut into codes.
#[derive(Debug)]
enum Codes {
    /// Two bytes, the number of the glyph.
    Identity,
    /// Two bytes or four, the character itself.
    Utf16,
    /// One byte or two, in an old encoding of East Asia.
    Charset(&'static Encoding),
    Embedded(Box<CMap>),
}

/// A code of a string.
pub(super) struct Char<'f> {
    pub(super) text: Option<Cow<'f, str>>,
    /// In thousandths of the font's size.
    pub(super) width: f32,
    /// Whether word spacing applies to it.
    pub(super) is_blank: bool,
}

impl Font {
    pub(super) fn load(dict: &Dict, file: &File<'_>) -> Outcome<Font> {
        let to_unicode = match file.value(dict, "ToUnicode")?.as_deref() {
            Some(Object::Stream(stream)) => match file.decoded(stream)? {
                Some(bytes) => Some(CMap::parse(&bytes, file.meter)?).filter(|map| !map.is_empty()),
                None => None,
            },
            _ => None,
        };
        if dict.get("Subtype").is_some_and(|kind| kind.is_name("Type0")) {
            return composite(dict, to_unicode, file);
        }
        simple(dict, to_unicode, file)
    }

    /// Goes through the codes of a string.
    pub(super) fn chars<'f>(&'f self, bytes: &[u8], mut each: impl FnMut(Char<'f>)) {
        match &self.kind {
            Kind::Simple { characters, widths } => {
                for byte in bytes {
                    let index = usize::from(*byte);
                    let mapped = self.to_unicode.as_ref().and_then(|map| map.text(u32::from(*byte)));
                    let text = mapped.or_else(|| characters[index].as_deref().map(Cow::Borrowed));
                    each(Char { text, width: widths[index], is_blank: *byte == b' ' });
                }
            }
            Kind::Composite { codes, widths, default, glyphs } => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let (value, length) = codes.next(rest);
                    let piece = &rest[..length.min(rest.len())];
                    rest = &rest[piece.len()..];
                    let cid = match codes {
                        Codes::Identity => Some(value),
                        Codes::Embedded(map) => Some(map.cid(value).unwrap_or(value)),
                        Codes::Utf16 | Codes::Charset(_) => None,
                    };
                    let mapped = self.to_unicode.as_ref().and_then(|map| map.text(value));
                    let text = mapped.or_else(|| match codes {
                        Codes::Utf16 => {
                            let units: Vec<u16> = piece
                                .chunks_exact(2)
                                .map(|two| u16::from_be_bytes([two[0], two[1]]))
                                .collect();
                            Some(String::from_utf16_lossy(&units).into())
                        }
                        Codes::Charset(encoding) => {
                            Some(encoding.decode_without_bom_handling(piece).0.into_owned().into())
                        }
                        Codes::Identity | Codes::Embedded(_) => {
                            cid.and_then(|cid| glyphs.get(&cid)).map(|character| character.to_string().into())
                        }
                    });
                    let half = if cid.is_none() && length == 1 { Some(500.0) } else { None };
                    let width = cid.and_then(|cid| widths.get(cid)).or(half).unwrap_or(*default);
                    each(Char { text, width, is_blank: length == 1 && value == 32 });
                }
            }
        }
    }
}

impl Codes {
    fn next(&self, bytes: &[u8]) -> (u32, usize) {
        let first = bytes.first().copied().unwrap_or(0);
        let length = match self {
            Codes::Embedded(map) if map.has_spaces() => return map.next(bytes),
            Codes::Identity | Codes::Embedded(_) => 2,
            Codes::Utf16 => {
                if (0xD8..0xDC).contains(&first) {
                    4
                } else {
                    2
                }
            }
            Codes::Charset(encoding) => {
                let katakana = *encoding == encoding_rs::SHIFT_JIS && (0xA0..0xE0).contains(&first);
                if first >= 0x81 && !katakana { 2 } else { 1 }
            }
        };
        let length = length.min(bytes.len()).max(1);
        (code(&bytes[..length]), length)
    }

    /// By the names of the predefined CMaps, which say the charset.
    fn named(name: &str) -> Codes {
        let has = |part: &str| name.contains(part);
        if has("UCS2") || has("UTF16") {
            Codes::Utf16
        } else if has("RKSJ") {
            Codes::Charset(encoding_rs::SHIFT_JIS)
        } else if has("GBK") || has("GB-EUC") || has("GBpc") {
            Codes::Charset(encoding_rs::GBK)
        } else if has("B5") || has("HKscs") {
            Codes::Charset(encoding_rs::BIG5)
        } else if has("KSC") {
            Codes::Charset(encoding_rs::EUC_KR)
        } else if name == "EUC-H" || name == "EUC-V" {
            Codes::Charset(encoding_rs::EUC_JP)
        } else {
            Codes::Identity
        }
    }
}

/// Widths by the number of the glyph, of which a font has 65,536 at most.
#[derive(Debug, Default)]
struct Widths(Vec<f32>);

impl Widths {
    fn insert(&mut self, cid: u32, width: f32) {
        let index = cid as usize;
        if index > usize::from(u16::MAX) {
            return;
        }
        if index >= self.0.len() {
            self.0.resize(index + 1, f32::NAN);
        }
        self.0[index] = width;
    }

    fn get(&self, cid: u32) -> Option<f32> {
        self.0.get(cid as usize).copied().filter(|width| !width.is_nan())
    }
}

fn composite(dict: &Dict, to_unicode: Option<CMap>, file: &File<'_>) -> Outcome<Font> {
    let mut vertical = false;
    let codes = match file.value(dict, "Encoding")?.as_deref() {
        Some(Object::Name(name)) => {
            let name = String::from_utf8_lossy(name);
            vertical = name.ends_with("-V");
            Codes::named(&name)
        }
        Some(Object::Stream(stream)) => match file.decoded(stream)? {
            Some(bytes) => {
                let map = CMap::parse(&bytes, file.meter)?;
                vertical = map.vertical;
                match &map.base {
                    Some(base) if !map.has_spaces() => Codes::named(&String::from_utf8_lossy(base)),
                    _ => Codes::Embedded(Box::new(map)),
                }
            }
            None => Codes::Identity,
        },
        _ => Codes::Identity,
    };
    let descendants = file.value(dict, "DescendantFonts")?;
    let first = descendants.as_deref().and_then(|all| all.array().map_or(Some(all), <[Object]>::first));
    let descendant = first.map(|font| file.resolve(font)).transpose()?;
    let mut widths = Widths::default();
    let mut default = 1000.0;
    let mut glyphs = HashMap::new();
    if let Some(descendant) = descendant.as_deref().and_then(Object::dict) {
        if let Some(width) = file.value(descendant, "DW")?.and_then(|width| width.number()) {
            default = width as f32;
        }
        if let Some(list) = file.value(descendant, "W")? {
            composite_widths(&list, &mut widths, file)?;
        }
        if to_unicode.is_none()
            && matches!(codes, Codes::Identity | Codes::Embedded(_))
            && let Some(bytes) = font_file(descendant, "FontFile2", file)?
        {
            glyphs = truetype::characters(&bytes, file.meter)?;
        }
    }
    Ok(Font { kind: Kind::Composite { codes, widths, default, glyphs }, to_unicode, vertical })
}

fn font_file<'a>(font: &Dict, key: &str, file: &File<'a>) -> Outcome<Option<Cow<'a, [u8]>>> {
    let Some(descriptor) = file.value(font, "FontDescriptor")? else { return Ok(None) };
    let Some(descriptor) = descriptor.dict() else { return Ok(None) };
    match file.value(descriptor, key)?.as_deref() {
        Some(Object::Stream(stream)) => file.decoded(stream),
        _ => Ok(None),
    }
}

/// `c [w1 w2 …]` and `first last w`.
fn composite_widths(list: &Object, widths: &mut Widths, file: &File<'_>) -> Outcome {
    let mut items = list.array().unwrap_or_default().iter();
    while let Some(first) = items.next() {
        file.meter.spend(1)?;
        let first = file.resolve(first)?.integer().and_then(|cid| u32::try_from(cid).ok());
        let (Some(first), Some(second)) = (first, items.next()) else { break };
        let second = file.resolve(second)?;
        if let Some(all) = second.array() {
            for (cid, width) in (first..).zip(all) {
                if let Some(width) = file.resolve(width)?.number() {
                    widths.insert(cid, width as f32);
                }
            }
        } else if let (Some(last), Some(width)) = (second.integer(), items.next()) {
            let width = file.resolve(width)?.number().unwrap_or(0.0) as f32;
            let last = u32::try_from(last).unwrap_or(0).min(first.saturating_add(65_535));
            for cid in first..=last {
                widths.insert(cid, width);
            }
        }
    }
    Ok(())
}

fn simple(dict: &Dict, to_unicode: Option<CMap>, file: &File<'_>) -> Outcome<Font> {
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
    Ok(Font { kind: Kind::Simple { characters, widths }, to_unicode, vertical: false })
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

/// The encoding within an embedded Type 1 font: `dup 65 /A put` in its readable part.
fn built_in(dict: &Dict, file: &File<'_>) -> Outcome<HashMap<u8, String>> {
    let mut names = HashMap::new();
    let Some(bytes) = font_file(dict, "FontFile", file)? else { return Ok(names) };
    let end = memchr::memmem::find(&bytes, b"eexec").unwrap_or(bytes.len().min(1 << 16));
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

/// The characters that a glyph's name means.
pub(super) fn glyph_text(name: &str) -> Option<Box<str>> {
    // `f_i` is two glyphs in one, `a.alt` another form of `a`.
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() {
        return None;
    }
    let mut out = String::new();
    for part in stem.split('_') {
        out.push_str(&component(part)?);
    }
    Some(out.into())
}

fn component(name: &str) -> Option<String> {
    if let Some(text) = glyphs().get(name) {
        return Some((*text).to_owned());
    }
    if let Some(digits) = name.strip_prefix("uni")
        && digits.len() >= 4
        && digits.is_ascii()
    {
        let units: Option<Vec<u16>> = digits
            .as_bytes()
            .chunks_exact(4)
            .map(|four| std::str::from_utf8(four).ok().and_then(|four| u16::from_str_radix(four, 16).ok()))
            .collect();
        return units.map(|units| String::from_utf16_lossy(&units));
    }
    if let Some(digits) = name.strip_prefix('u')
        && (4..=6).contains(&digits.len())
        && let Some(character) = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
    {
        return Some(character.to_string());
    }
    // Names that some programs make up from the code: `a65`, `C032`.
    let digits = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let code: u8 = digits.parse().ok().filter(|code| *code > 32)?;
    (name.len() - digits.len() <= 2).then(|| tables::WIN_ANSI[usize::from(code)].to_string())
}

/// The glyph list, read once.
fn glyphs() -> &'static HashMap<&'static str, &'static str> {
    static GLYPHS: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    GLYPHS.get_or_init(|| {
        let lines = include_str!("glyphs.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let (name, codes) = line.split_once(' ')?;
                let text: Option<String> = codes
                    .split(' ')
                    .map(|code| u32::from_str_radix(code, 16).ok().and_then(char::from_u32))
                    .collect();
                // A few thousand short strings for the life of the process.
                Some((name, &*Box::leak(text?.into_boxed_str())))
            })
            .collect()
    })
}

/// Fonts by the number of their object: pages share them.
#[derive(Default)]
pub(super) struct Fonts(HashMap<u32, Rc<Font>>);

impl Fonts {
    pub(super) fn get(&mut self, object: &Object, file: &File<'_>) -> Outcome<Option<Rc<Font>>> {
        if let Object::Ref(number) = object
            && let Some(known) = self.0.get(number)
        {
            return Ok(Some(known.clone()));
        }
        let resolved = file.resolve(object)?;
        let Some(dict) = resolved.dict() else { return Ok(None) };
        let font = Rc::new(Font::load(dict, file)?);
        if let Object::Ref(number) = object {
            self.0.insert(*number, font.clone());
        }
        Ok(Some(font))
    }
}

#[cfg(test)]
mod tests {
    use super::glyph_text;

    #[test]
    fn glyph_names() {
        for (name, text) in [
            ("A", Some("A")),
            ("eacute", Some("é")),
            ("f_i", Some("fi")),
            ("one.oldstyle", Some("1")),
            ("uni0041", Some("A")),
            ("u1F600", Some("😀")),
            ("a65", Some("A")),
            (".notdef", None),
            ("unheardof", None),
        ] {
            assert_eq!(glyph_text(name).as_deref(), text, "{name}");
        }
    }
}
