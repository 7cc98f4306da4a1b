//! The CMaps and character collections that the specification knows by name: which codes East Asian encodings have,
//! which glyphs they select, and which characters those glyphs are.
//!
//! The tables are Adobe's, as `hayro-cmap` carries them: 250 kB in the binary, unpacked when the first document needs
//! one. Encodings that it does not carry are Unicode or known to `encoding_rs`, and are decoded without a table.

use std::collections::HashMap;
use std::rc::Rc;

use encoding_rs::Encoding;
use hayro_cmap::{BfString, CMapName, CidFamily, load_embedded};

use super::cmap::code;
use crate::limits::Meter;
use crate::sink::Outcome;

/// What unpacking a table costs, in steps of the meter.
const COST_OF_A_TABLE: u64 = 100_000;

/// The tables in use. A document needs two or three of them, in dozens of fonts.
#[derive(Debug, Default)]
pub(super) struct PredefinedMaps(HashMap<Vec<u8>, Option<Rc<hayro_cmap::CMap>>>);

impl PredefinedMaps {
    /// An encoding by its name, if it is one that has to be known to be read.
    pub(super) fn encoding(&mut self, name: &[u8], meter: &Meter) -> Outcome<Option<PredefinedEncoding>> {
        let Some((lengths, charset)) = rules(&String::from_utf8_lossy(name)) else { return Ok(None) };
        Ok(Some(PredefinedEncoding { lengths, charset, glyphs: self.table(name, meter)? }))
    }

    /// A character collection by the strings of a `CIDSystemInfo`.
    pub(super) fn collection(
        &mut self,
        registry: &[u8],
        ordering: &[u8],
        meter: &Meter,
    ) -> Outcome<Option<Collection>> {
        self.family(&CidFamily::from_registry_ordering(registry, ordering), meter)
    }

    /// The collection whose glyphs an encoding selects.
    pub(super) fn collection_of(
        &mut self,
        encoding: &PredefinedEncoding,
        meter: &Meter,
    ) -> Outcome<Option<Collection>> {
        let glyphs = encoding.glyphs.as_ref();
        match glyphs.and_then(|glyphs| glyphs.metadata().character_collection.as_ref()) {
            Some(collection) => self.family(&collection.family, meter),
            None => Ok(None),
        }
    }

    fn family(&mut self, family: &CidFamily, meter: &Meter) -> Outcome<Option<Collection>> {
        let Some(name) = family.ucs2_cmap() else { return Ok(None) };
        Ok(self.table(name.to_bytes(), meter)?.map(Collection))
    }

    fn table(&mut self, name: &[u8], meter: &Meter) -> Outcome<Option<Rc<hayro_cmap::CMap>>> {
        if let Some(known) = self.0.get(name) {
            return Ok(known.clone());
        }
        // Names that are in no list are not kept: a file may have any number of them.
        let Some(bytes) = load_embedded(CMapName::from_bytes(name)) else { return Ok(None) };
        meter.spend(COST_OF_A_TABLE)?;
        let table = hayro_cmap::CMap::parse(bytes, load_embedded).map(Rc::new);
        self.0.insert(name.to_vec(), table.clone());
        Ok(table)
    }
}

/// The glyphs of a language, numbered by Adobe, and the characters they show.
#[derive(Debug, Clone)]
pub(super) struct Collection(Rc<hayro_cmap::CMap>);

impl Collection {
    pub(super) fn text(&self, glyph: u32) -> Option<String> {
        match self.0.lookup_bf_string(glyph)? {
            BfString::Char('\u{fffd}') => None,
            BfString::Char(character) => Some(character.to_string()),
            BfString::String(text) => Some(text),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct PredefinedEncoding {
    lengths: Lengths,
    /// The same encoding as others know it, where it is not Unicode.
    charset: Option<&'static Encoding>,
    glyphs: Option<Rc<hayro_cmap::CMap>>,
}

/// How many bytes the codes of an encoding have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Two,
    Utf8,
    Utf16,
    Utf32,
    ShiftJis,
    /// One below 0x81, two from there on to this byte.
    OneOrTwo(u8),
    /// As GBK, and four where the second byte is a digit.
    Gb18030,
    /// Two from 0xA1 on, four after 0x8E.
    CnsEuc,
}

impl PredefinedEncoding {
    /// The bytes of the next code; at least one if there is any.
    pub(super) fn next<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let first = bytes.first().copied().unwrap_or(0);
        let length = match self.lengths {
            Lengths::Two => 2,
            Lengths::Utf8 => match first {
                0xF0.. => 4,
                0xE0.. => 3,
                0xC0.. => 2,
                _ => 1,
            },
            Lengths::Utf16 if (0xD8..0xDC).contains(&first) => 4,
            Lengths::Utf16 => 2,
            Lengths::Utf32 => 4,
            Lengths::ShiftJis if (0x81..0xA0).contains(&first) || (0xE0..0xFD).contains(&first) => 2,
            Lengths::OneOrTwo(last) if (0x81..=last).contains(&first) => 2,
            Lengths::Gb18030 if first >= 0x81 => {
                if bytes.get(1).is_some_and(u8::is_ascii_digit) {
                    4
                } else {
                    2
                }
            }
            Lengths::CnsEuc if first == 0x8E => 4,
            Lengths::CnsEuc if first >= 0xA1 => 2,
            Lengths::ShiftJis | Lengths::OneOrTwo(_) | Lengths::Gb18030 | Lengths::CnsEuc => 1,
        };
        &bytes[..length.min(bytes.len())]
    }

    /// The number of the glyph that a code selects.
    pub(super) fn glyph(&self, bytes: &[u8]) -> Option<u32> {
        self.glyphs.as_ref()?.lookup_cid_code(code(bytes), u8::try_from(bytes.len()).ok()?)
    }

    /// The characters of a code, by the rules of its encoding alone.
    pub(super) fn text(&self, bytes: &[u8]) -> Option<String> {
        if let Some(charset) = self.charset {
            let (text, had_errors) = charset.decode_without_bom_handling(bytes);
            return (!had_errors).then(|| text.into_owned());
        }
        match self.lengths {
            Lengths::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Lengths::Utf16 => {
                let units = bytes.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
                char::decode_utf16(units).collect::<Result<String, _>>().ok()
            }
            Lengths::Utf32 => char::from_u32(code(bytes)).map(String::from),
            _ => None,
        }
    }

    /// Whether the codes are characters.
    pub(super) fn is_unicode(&self) -> bool {
        matches!(self.lengths, Lengths::Utf8 | Lengths::Utf16 | Lengths::Utf32)
    }
}

/// How codes are cut and decoded, by the parts of which the names are made. Nothing for the names of encodings whose
/// codes are numbers of glyphs.
fn rules(name: &str) -> Option<(Lengths, Option<&'static Encoding>)> {
    let has = |part: &str| name.contains(part);
    let last_lead = if has("pc-") { 0xFC } else { 0xFE };
    Some(if has("UTF8") {
        (Lengths::Utf8, None)
    } else if has("UTF16") || has("UCS2") {
        (Lengths::Utf16, None)
    } else if has("UTF32") {
        (Lengths::Utf32, None)
    } else if has("RKSJ") {
        (Lengths::ShiftJis, Some(encoding_rs::SHIFT_JIS))
    } else if has("GBK2K") {
        (Lengths::Gb18030, Some(encoding_rs::GB18030))
    } else if name.starts_with("GB") && has("-EUC") {
        (Lengths::OneOrTwo(last_lead), Some(encoding_rs::GBK))
    } else if has("B5") {
        (Lengths::OneOrTwo(last_lead), Some(encoding_rs::BIG5))
    } else if has("CNS-EUC") {
        (Lengths::CnsEuc, None)
    } else if name.starts_with("KSC") && (has("-EUC") || has("-UHC")) {
        (Lengths::OneOrTwo(last_lead), Some(encoding_rs::EUC_KR))
    } else if name.starts_with("EUC-") {
        (Lengths::OneOrTwo(0xFE), Some(encoding_rs::EUC_JP))
    } else if name == "H" || name == "V" {
        (Lengths::Two, None)
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::PredefinedMaps;
    use crate::limits::{Limits, Meter};

    /// The characters of a string, by the collection and by the encoding's own rules.
    fn read(name: &str, mut bytes: &[u8]) -> (String, String) {
        let meter = Meter::new(&Limits::default());
        let mut maps = PredefinedMaps::default();
        let encoding = maps.encoding(name.as_bytes(), &meter).unwrap().expect(name);
        let collection = maps.collection_of(&encoding, &meter).unwrap();
        let (mut by_glyph, mut by_rule) = (String::new(), String::new());
        while !bytes.is_empty() {
            let code = encoding.next(bytes);
            bytes = &bytes[code.len()..];
            let glyph = encoding.glyph(code);
            by_glyph.extend(glyph.zip(collection.as_ref()).and_then(|(glyph, all)| all.text(glyph)));
            by_rule.extend(encoding.text(code));
        }
        (by_glyph, by_rule)
    }

    #[test]
    fn encodings_by_name() {
        for (name, bytes, text) in [
            ("90ms-RKSJ-H", &b"A\x93\xFA\x96\x7B\xB1"[..], "A日本ｱ"),
            ("90ms-RKSJ-V", b"\x93\xFA\x96\x7B", "日本"),
            ("EUC-H", b"A\xC6\xFC\xCB\xDC", "A日本"),
            ("UniJIS-UCS2-H", b"\x65\xE5\x67\x2C", "日本"),
            ("UniJIS-UTF16-V", b"\x65\xE5\x67\x2C", "日本"),
            ("GBK-EUC-H", b"A\xD6\xD0\xCE\xC4", "A中文"),
            ("GB-EUC-H", b"\xD6\xD0\xCE\xC4", "中文"),
            ("GBK2K-H", b"\xD6\xD0\xCE\xC4", "中文"),
            ("UniGB-UCS2-H", b"\x4E\x2D\x65\x87", "中文"),
            ("ETen-B5-H", b"\xA4\xA4\xA4\xE5", "中文"),
            ("B5pc-H", b"\xA4\xA4\xA4\xE5", "中文"),
            ("UniCNS-UTF16-H", b"\x4E\x2D\x65\x87", "中文"),
            ("KSCms-UHC-H", b"\xC7\xD1\xB1\xDB", "한글"),
            ("KSC-EUC-H", b"\xC7\xD1\xB1\xDB", "한글"),
            ("UniKS-UCS2-H", b"\xD5\x5C\xAE\x00", "한글"),
        ] {
            let (by_glyph, by_rule) = read(name, bytes);
            // Collections have glyphs of half the width, but no characters of their own for them.
            assert_eq!(by_glyph.replace('ア', "ｱ"), text, "{name}");
            assert_eq!(by_rule, text, "{name}");
        }
        assert_eq!(read("H", b"\x46\x7C\x4B\x5C").0, "日本");
        assert_eq!(read("UniJIS-UTF8-H", "日本".as_bytes()).1, "日本");
    }

    #[test]
    fn names_of_no_encoding() {
        let meter = Meter::new(&Limits::default());
        let mut maps = PredefinedMaps::default();
        for name in ["Identity-H", "Adobe-Japan1-2", "OneByteIdentityH", ""] {
            assert!(maps.encoding(name.as_bytes(), &meter).unwrap().is_none(), "{name}");
        }
        assert!(maps.collection(b"Adobe", b"Identity", &meter).unwrap().is_none());
        let japan = maps.collection(b"Adobe", b"Japan1", &meter).unwrap().unwrap();
        assert_eq!(japan.text(3284).as_deref(), Some("日"));
        assert_eq!(japan.text(u32::MAX), None);
    }
}
