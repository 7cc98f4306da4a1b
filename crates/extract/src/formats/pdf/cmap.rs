//! CMaps: which codes a string has, and which characters or glyphs they mean.

use super::object::{Lexer, Object};
use crate::limits::Meter;
use crate::sink::Outcome;

#[derive(Debug, Default)]
pub(super) struct CMap {
    /// Lengths of codes: bytes, lowest, highest.
    spaces: Vec<(usize, u32, u32)>,
    /// Sorted by their codes.
    characters: Vec<(u32, Box<str>)>,
    /// Sorted by their lowest code.
    ranges: Vec<(u32, u32, Box<[u16]>)>,
    cids: Vec<(u32, u32, u32)>,
    pub(super) vertical: bool,
    /// The map that this one adds to.
    pub(super) base: Option<Box<[u8]>>,
}

/// Entries of one map; a font has 65,536 glyphs at most.
const MOST: usize = 200_000;

impl CMap {
    /// The map under which codes of two bytes are characters.
    pub(super) fn identity() -> CMap {
        CMap { ranges: vec![(0x20, 0xFFFF, [0x20].into())], ..CMap::default() }
    }

    pub(super) fn parse(bytes: &[u8], meter: &Meter) -> Outcome<CMap> {
        let mut map = CMap::default();
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(token) = lexer.token() {
            meter.spend(1)?;
            let Object::Word(word) = token else {
                if operands.len() < MOST {
                    operands.push(token);
                }
                continue;
            };
            match word.as_slice() {
                b"endcodespacerange" => {
                    for pair in operands.chunks_exact(2) {
                        if let (Some(low), Some(high)) = (pair[0].string(), pair[1].string()) {
                            map.spaces.push((high.len().clamp(1, 4), code(low), code(high)));
                        }
                    }
                }
                b"endbfchar" => {
                    for pair in operands.chunks_exact(2) {
                        if let (Some(from), Some(to)) = (pair[0].string(), pair[1].string()) {
                            map.characters.push((code(from), text(&units(to))));
                        }
                    }
                }
                b"endbfrange" => {
                    for triple in operands.chunks_exact(3) {
                        let (Some(low), Some(high)) = (triple[0].string(), triple[1].string()) else {
                            continue;
                        };
                        let (low, high) = (code(low), code(high));
                        match &triple[2] {
                            Object::String(to) => map.ranges.push((low, high, units(to).into())),
                            Object::Array(all) => {
                                for (from, to) in (low..=high).zip(all) {
                                    if let Some(to) = to.string() {
                                        map.characters.push((from, text(&units(to))));
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                b"endcidrange" => {
                    for triple in operands.chunks_exact(3) {
                        if let (Some(low), Some(high), Some(cid)) =
                            (triple[0].string(), triple[1].string(), triple[2].integer())
                        {
                            map.cids.push((code(low), code(high), u32::try_from(cid).unwrap_or(0)));
                        }
                    }
                }
                b"endcidchar" => {
                    for pair in operands.chunks_exact(2) {
                        if let (Some(from), Some(cid)) = (pair[0].string(), pair[1].integer()) {
                            map.cids.push((code(from), code(from), u32::try_from(cid).unwrap_or(0)));
                        }
                    }
                }
                b"usecmap" => map.base = operands.last().and_then(Object::name).map(Into::into),
                b"def" => {
                    if let [.., key, value] = operands.as_slice()
                        && key.is_name("WMode")
                    {
                        map.vertical = value.integer() == Some(1);
                    }
                }
                _ => {}
            }
            operands.clear();
            if map.characters.len() + map.ranges.len() + map.cids.len() > MOST {
                break;
            }
        }
        map.characters.sort_by_key(|(code, _)| *code);
        map.ranges.sort_by_key(|(low, ..)| *low);
        map.cids.sort_by_key(|(low, ..)| *low);
        Ok(map)
    }

    /// The characters of a code.
    pub(super) fn text(&self, code: u32) -> Option<std::borrow::Cow<'_, str>> {
        if let Ok(found) = self.characters.binary_search_by_key(&code, |(known, _)| *known) {
            return Some((&*self.characters[found].1).into());
        }
        let index = self.ranges.partition_point(|(low, ..)| *low <= code);
        let (low, high, first) = self.ranges[..index].last()?;
        if code > *high {
            return None;
        }
        // Only the last unit counts up.
        let mut units = first.to_vec();
        let last = units.last_mut()?;
        *last = last.wrapping_add((code - low) as u16);
        Some(text(&units).into_string().into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.characters.is_empty() && self.ranges.is_empty()
    }

    pub(super) fn cid(&self, code: u32) -> Option<u32> {
        let index = self.cids.partition_point(|(low, ..)| *low <= code);
        let (low, high, cid) = self.cids[..index].last()?;
        (code <= *high).then(|| cid.wrapping_add(code - low))
    }

    /// The next code of a string and its length in bytes.
    pub(super) fn next(&self, bytes: &[u8]) -> (u32, usize) {
        for length in 1..=bytes.len().min(4) {
            let value = code(&bytes[..length]);
            if self
                .spaces
                .iter()
                .any(|(width, low, high)| *width == length && (*low..=*high).contains(&value))
            {
                return (value, length);
            }
        }
        let length = self.spaces.iter().map(|(width, ..)| *width).min().unwrap_or(2).min(bytes.len()).max(1);
        (code(&bytes[..length.min(bytes.len())]), length)
    }

    pub(super) fn has_spaces(&self) -> bool {
        !self.spaces.is_empty()
    }
}

pub(super) fn code(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// UTF-16 in its big-endian form; a single byte is a unit of its own.
fn units(bytes: &[u8]) -> Vec<u16> {
    match bytes {
        [one] => vec![u16::from(*one)],
        more => more.chunks_exact(2).take(64).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect(),
    }
}

fn text(units: &[u16]) -> Box<str> {
    String::from_utf16_lossy(units).into()
}

#[cfg(test)]
mod tests {
    use super::CMap;
    use crate::limits::{Limits, Meter};

    #[test]
    fn maps() {
        let source = b"1 begincodespacerange <0000> <FFFF> endcodespacerange
            2 beginbfchar <0003> <0020> <0005> <00660069> endbfchar
            2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0061> <0062>] endbfrange";
        let map = CMap::parse(source, &Meter::new(&Limits::default())).unwrap();
        let text = |code| map.text(code).map(|text| text.into_owned());
        assert_eq!(text(3).as_deref(), Some(" "));
        assert_eq!(text(5).as_deref(), Some("fi"));
        assert_eq!(text(0x12).as_deref(), Some("C"));
        assert_eq!(text(0x21).as_deref(), Some("b"));
        assert_eq!(text(0x13), None);
        assert_eq!(map.next(b"\x00\x03\x00"), (3, 2));
    }
}
