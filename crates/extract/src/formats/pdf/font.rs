//! Fonts, as far as text needs them: which characters a string's codes mean, and how wide they are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::cmap::CMap;
use super::composite_font::{self, Composite};
use super::file::File;
use super::object::{Dict, Object};
use super::predefined::PredefinedMaps;
use super::simple_font;
use crate::sink::Outcome;

#[derive(Debug)]
pub(super) struct Font {
    pub(super) kind: FontKind,
    pub(super) to_unicode: Option<CMap>,
    pub(super) vertical: bool,
}

#[derive(Debug)]
pub(super) enum FontKind {
    Simple { characters: Box<[Option<Box<str>>; 256]>, widths: Box<[f32; 256]> },
    Composite(Box<Composite>),
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
    fn load(dict: &Dict, file: &File<'_>, predefined: &mut PredefinedMaps) -> Outcome<Font> {
        let to_unicode = match file.value(dict, "ToUnicode")?.as_deref() {
            Some(Object::Stream(stream)) => match file.decoded(stream)? {
                Some(bytes) => Some(CMap::parse(&bytes, file.meter)?).filter(|map| !map.is_empty()),
                None => None,
            },
            Some(Object::Name(name)) if name.starts_with(b"Identity") => Some(CMap::identity()),
            _ => None,
        };
        if dict.get("Subtype").is_some_and(|kind| kind.is_name("Type0")) {
            return composite_font::load(dict, to_unicode, file, predefined);
        }
        simple_font::load(dict, to_unicode, file)
    }

    /// Goes through the codes of a string.
    pub(super) fn chars<'f>(&'f self, bytes: &[u8], mut each: impl FnMut(Char<'f>)) {
        match &self.kind {
            FontKind::Simple { characters, widths } => {
                for byte in bytes {
                    let index = usize::from(*byte);
                    let mapped = self.to_unicode.as_ref().and_then(|map| map.text(u32::from(*byte)));
                    let text = mapped.or_else(|| characters[index].as_deref().map(Cow::Borrowed));
                    each(Char { text, width: widths[index], is_blank: *byte == b' ' });
                }
            }
            FontKind::Composite(composite) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let code = composite.next_code(rest);
                    rest = &rest[code.bytes.len()..];
                    let mapped = self.to_unicode.as_ref().and_then(|map| map.text(code.value));
                    let text = mapped.or_else(|| composite.text(&code));
                    let width = composite.width(&code);
                    each(Char { text, width, is_blank: code.bytes == b" " });
                }
            }
        }
    }
}

/// A file of the font's descriptor: the embedded font program.
pub(super) fn font_file<'a>(font: &Dict, key: &str, file: &File<'a>) -> Outcome<Option<Cow<'a, [u8]>>> {
    let Some(descriptor) = file.value(font, "FontDescriptor")? else { return Ok(None) };
    let Some(descriptor) = descriptor.dict() else { return Ok(None) };
    match file.value(descriptor, key)?.as_deref() {
        Some(Object::Stream(stream)) => file.decoded(stream),
        _ => Ok(None),
    }
}

/// Fonts by the number of their object: pages share them.
#[derive(Default)]
pub(super) struct Fonts {
    known: HashMap<u32, Rc<Font>>,
    predefined: PredefinedMaps,
}

impl Fonts {
    pub(super) fn get(&mut self, object: &Object, file: &File<'_>) -> Outcome<Option<Rc<Font>>> {
        if let Object::Ref(number) = object
            && let Some(known) = self.known.get(number)
        {
            return Ok(Some(known.clone()));
        }
        let resolved = file.resolve(object)?;
        let Some(dict) = resolved.dict() else { return Ok(None) };
        let font = Rc::new(Font::load(dict, file, &mut self.predefined)?);
        if let Object::Ref(number) = object {
            self.known.insert(*number, font.clone());
        }
        Ok(Some(font))
    }
}
