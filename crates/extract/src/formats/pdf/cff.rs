//! Compact Font Format: the names of a font's glyphs, and its own encoding. The outlines are not looked at.

use std::collections::HashMap;

use crate::limits::Meter;
use crate::sink::Outcome;

/// A font has 65,536 glyphs at most.
const MOST_GLYPHS: usize = 65_536;

/// The names of the glyphs, in the order of their numbers. None for fonts that number their glyphs instead.
pub(super) fn glyph_names(font: &[u8], meter: &Meter) -> Outcome<Vec<String>> {
    match Tables::find(font) {
        Some(tables) if !tables.is_numbered => tables.names(meter),
        _ => Ok(Vec::new()),
    }
}

/// The names of the glyphs by the codes of the font's own encoding. Empty where the encoding is the standard one.
pub(super) fn encoding(font: &[u8], meter: &Meter) -> Outcome<HashMap<u8, String>> {
    let mut found = HashMap::new();
    let Some(tables) = Tables::find(font).filter(|tables| !tables.is_numbered) else { return Ok(found) };
    // Offsets 0 and 1 mean the two encodings that are not written out.
    let Some(table) = font.get(tables.encoding..).filter(|_| tables.encoding > 1) else { return Ok(found) };
    let names = tables.names(meter)?;
    let (Some(format), Some(count)) = (table.first(), table.get(1)) else { return Ok(found) };
    let mut glyph = 0;
    let mut add = |code: u8| {
        glyph += 1;
        found.extend(names.get(glyph).map(|name| (code, name.clone())));
    };
    match format & 0x7F {
        0 => table[2..].iter().take(usize::from(*count)).for_each(|code| add(*code)),
        1 => {
            for range in table[2..].chunks_exact(2).take(usize::from(*count)) {
                (range[0]..=range[0].saturating_add(range[1])).for_each(&mut add);
            }
        }
        _ => {}
    }
    Ok(found)
}

/// Where the tables of the first font are.
struct Tables<'a> {
    font: &'a [u8],
    strings: CffIndex<'a>,
    /// By offset; 0 is the charset that the standard encoding needs.
    charset: usize,
    encoding: usize,
    glyphs: usize,
    /// The glyphs have numbers of a collection instead of names.
    is_numbered: bool,
}

impl<'a> Tables<'a> {
    fn find(font: &'a [u8]) -> Option<Tables<'a>> {
        let names = CffIndex::at(font, usize::from(*font.get(2)?))?;
        let dicts = CffIndex::at(font, names.end)?;
        let strings = CffIndex::at(font, dicts.end)?;
        let mut tables = Tables { font, strings, charset: 0, encoding: 0, glyphs: 0, is_numbered: false };
        for (operator, operand) in operators(dicts.get(0)?) {
            let operand = usize::try_from(operand).unwrap_or(0);
            match operator {
                15 => tables.charset = operand,
                16 => tables.encoding = operand,
                17 => tables.glyphs = CffIndex::at(font, operand)?.count,
                0x0C1E => tables.is_numbered = true,
                _ => {}
            }
        }
        Some(tables)
    }

    fn names(&self, meter: &Meter) -> Outcome<Vec<String>> {
        let count = self.glyphs.min(MOST_GLYPHS);
        meter.spend(count as u64)?;
        let standard: Vec<&str> = include_str!("cff_strings.txt").split_ascii_whitespace().collect();
        let name = |number: usize| match number.checked_sub(standard.len()) {
            None => standard[number].to_owned(),
            Some(own) => self
                .strings
                .get(own)
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .unwrap_or_default(),
        };
        let numbers = match self.charset {
            0 => (0..count.min(229)).collect(),
            // The charsets of small capitals and old figures, which hardly any document embeds whole.
            1 | 2 => Vec::new(),
            at => charset(self.font.get(at..).unwrap_or_default(), count),
        };
        Ok(numbers.into_iter().map(name).collect())
    }
}

/// The numbers of the glyphs' names, in the order of the glyphs.
fn charset(table: &[u8], count: usize) -> Vec<usize> {
    let mut numbers = vec![0];
    let Some((format, rest)) = table.split_first() else { return numbers };
    let number = |two: &[u8]| usize::from(u16::from_be_bytes([two[0], two[1]]));
    match format {
        0 => numbers.extend(rest.chunks_exact(2).take(count.saturating_sub(1)).map(number)),
        1 | 2 => {
            let width = if *format == 1 { 3 } else { 4 };
            for range in rest.chunks_exact(width) {
                let left = if width == 3 { usize::from(range[2]) } else { number(&range[2..]) };
                let first = number(range);
                let room = count.saturating_sub(numbers.len());
                numbers.extend((first..=first + left).take(room));
                if numbers.len() >= count {
                    break;
                }
            }
        }
        _ => {}
    }
    numbers
}

/// A list of byte strings.
struct CffIndex<'a> {
    count: usize,
    offsets: &'a [u8],
    width: usize,
    /// What the offsets count from, less one.
    data: &'a [u8],
    /// Where it ends in the file.
    end: usize,
}

impl<'a> CffIndex<'a> {
    fn at(font: &'a [u8], at: usize) -> Option<CffIndex<'a>> {
        let bytes = font.get(at..)?;
        let count = usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]));
        if count == 0 {
            return Some(CffIndex { count, offsets: &[], width: 1, data: &[], end: at + 2 });
        }
        let width = usize::from(*bytes.get(2)?);
        if !(1..=4).contains(&width) {
            return None;
        }
        let length = (count + 1) * width;
        let (offsets, data) = (bytes.get(3..3 + length)?, bytes.get(2 + length..)?);
        let mut index = CffIndex { count, offsets, width, data, end: 0 };
        index.end = at + 2 + length + index.offset(count)?;
        Some(index)
    }

    fn offset(&self, item: usize) -> Option<usize> {
        let bytes = self.offsets.get(item * self.width..(item + 1) * self.width)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
    }

    fn get(&self, item: usize) -> Option<&'a [u8]> {
        self.data.get(self.offset(item)?..self.offset(item + 1)?)
    }
}

/// The operators of a dictionary with their last operands; the long ones begin with the byte 12.
fn operators(dict: &[u8]) -> Vec<(u16, i32)> {
    let mut found = Vec::new();
    let mut operand = 0;
    let mut rest = dict;
    while let Some((first, tail)) = rest.split_first() {
        let byte = |index: usize| i32::from(tail.get(index).copied().unwrap_or(0));
        let length = match *first {
            12 => {
                found.push((0x0C00 | byte(0) as u16, operand));
                1
            }
            operator @ 0..=21 => {
                found.push((u16::from(operator), operand));
                0
            }
            28 => {
                operand = i32::from((byte(0) << 8 | byte(1)) as i16);
                2
            }
            29 => {
                operand = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
                4
            }
            // A real number ends with a half byte of ones; none of the operators here takes one.
            30 => tail
                .iter()
                .position(|byte| byte & 0x0F == 0x0F || byte >> 4 == 0x0F)
                .map_or(tail.len(), |at| at + 1),
            value @ 32..=246 => {
                operand = i32::from(value) - 139;
                0
            }
            value @ 247..=250 => {
                operand = (i32::from(value) - 247) * 256 + byte(0) + 108;
                1
            }
            value @ 251..=254 => {
                operand = -(i32::from(value) - 251) * 256 - byte(0) - 108;
                1
            }
            _ => 0,
        };
        rest = tail.get(length..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{encoding, glyph_names};
    use crate::limits::{Limits, Meter};

    /// A font of three glyphs: `.notdef`, `A` and `uni20AC`, at the codes 7 and 9.
    fn font() -> Vec<u8> {
        let index = |items: &[&[u8]]| {
            let mut bytes = (items.len() as u16).to_be_bytes().to_vec();
            if items.is_empty() {
                return bytes;
            }
            bytes.push(1);
            let mut offset = 1u8;
            bytes.push(offset);
            for item in items {
                offset += item.len() as u8;
                bytes.push(offset);
            }
            items.iter().for_each(|item| bytes.extend_from_slice(item));
            bytes
        };
        let after = |dict: &[u8]| {
            let mut bytes = vec![1, 0, 4, 1];
            bytes.extend(index(&[b"Name"]));
            bytes.extend(index(&[dict]));
            bytes.extend(index(&[b"uni20AC"]));
            bytes.extend(index(&[]));
            bytes
        };
        // Offsets of five bytes each, so that the length of the dictionary is known beforehand.
        let number = |value: usize| [&[29][..], &(value as u32).to_be_bytes()].concat();
        let start = after(&[0; 18]).len();
        let charset = [0, 0, 34, 391u16.to_be_bytes()[0], 391u16.to_be_bytes()[1]];
        let codes = [0, 2, 7, 9];
        let dict = [
            number(start),
            vec![15],
            number(start + charset.len()),
            vec![16],
            number(start + charset.len() + codes.len()),
            vec![17],
        ]
        .concat();
        [after(&dict), charset.to_vec(), codes.to_vec(), index(&[b"x", b"y", b"z"])].concat()
    }

    #[test]
    fn names_and_encoding() {
        let meter = Meter::new(&Limits::default());
        let font = font();
        assert_eq!(glyph_names(&font, &meter).unwrap(), [".notdef", "A", "uni20AC"]);
        let mut codes: Vec<_> = encoding(&font, &meter).unwrap().into_iter().collect();
        codes.sort();
        assert_eq!(codes, [(7, "A".to_owned()), (9, "uni20AC".to_owned())]);
    }

    #[test]
    fn cut_and_flipped_fonts() {
        let meter = Meter::new(&Limits::default());
        let font = font();
        for end in 0..font.len() {
            let _ = (glyph_names(&font[..end], &meter), encoding(&font[..end], &meter));
            for bit in 0..8 {
                let mut flipped = font.clone();
                flipped[end] ^= 1 << bit;
                let _ = (glyph_names(&flipped, &meter), encoding(&flipped, &meter));
            }
        }
    }
}
