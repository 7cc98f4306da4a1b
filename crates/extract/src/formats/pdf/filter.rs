//! The codings of streams. Those of pictures are left alone.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::object::{Dict, Object, hex};
use crate::container::inflate;
use crate::limits::Meter;
use crate::sink::Outcome;

/// More codings on one stream than any program writes.
const MOST_FILTERS: usize = 6;

/// The codings of a stream in the order in which they are undone, each with its parameters.
pub(super) type Filters = [(Vec<u8>, Dict)];

/// The bytes of a stream, decoded; `None` if they are a picture or in an unknown coding.
pub(super) fn decode<'a>(
    raw: Cow<'a, [u8]>,
    filters: &Filters,
    meter: &Meter,
) -> Outcome<Option<Cow<'a, [u8]>>> {
    let (bytes, rest) = decode_some(raw, filters, meter)?;
    Ok(rest.is_empty().then_some(bytes))
}

/// The bytes up to the first coding that is left alone, and what remains to be undone.
pub(super) fn decode_some<'a, 'f>(
    raw: Cow<'a, [u8]>,
    filters: &'f Filters,
    meter: &Meter,
) -> Outcome<(Cow<'a, [u8]>, &'f Filters)> {
    if filters.len() > MOST_FILTERS {
        return Ok((raw, filters));
    }
    let mut bytes = raw;
    for (index, (name, parameters)) in filters.iter().enumerate() {
        let decoded = match name.as_slice() {
            b"FlateDecode" | b"Fl" => predicted(flate(&bytes, meter)?, parameters),
            b"LZWDecode" | b"LZW" => predicted(lzw(&bytes, parameters, meter)?, parameters),
            b"ASCIIHexDecode" | b"AHx" => ascii_hex(&bytes),
            b"ASCII85Decode" | b"A85" => ascii_85(&bytes),
            b"RunLengthDecode" | b"RL" => run_length(&bytes, meter)?,
            b"Crypt" => continue,
            _ => return Ok((bytes, &filters[index..])),
        };
        bytes = Cow::Owned(decoded);
    }
    Ok((bytes, &[]))
}

fn flate(bytes: &[u8], meter: &Meter) -> Outcome<Vec<u8>> {
    let packed = bytes.len() as u64;
    let read = |stream: &mut dyn Read| inflate::read_some(stream, packed, meter);
    let (unpacked, problem) = read(&mut ZlibDecoder::new(bytes))?;
    if problem.is_none() || !unpacked.is_empty() {
        return Ok(unpacked);
    }
    // A damaged header before sound data, or a line end too many before both.
    let skip = if bytes.first().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) { 1 } else { 2 };
    let rest = bytes.get(skip..).unwrap_or_default();
    let (unpacked, _) =
        if skip == 1 { read(&mut ZlibDecoder::new(rest))? } else { read(&mut DeflateDecoder::new(rest))? };
    Ok(unpacked)
}

/// Undoes the prediction of rows.
fn predicted(bytes: Vec<u8>, parameters: &Dict) -> Vec<u8> {
    let number = |key: &str, default: usize| {
        let value = parameters.get(key).and_then(Object::integer);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(default)
    };
    let predictor = number("Predictor", 1);
    if predictor < 2 {
        return bytes;
    }
    let (colors, bits) = (number("Colors", 1).clamp(1, 64), number("BitsPerComponent", 8).clamp(1, 16));
    let columns = number("Columns", 1).clamp(1, 1 << 20);
    let width = (colors * bits).div_ceil(8);
    let row = (columns * colors * bits).div_ceil(8);
    if predictor == 2 {
        let mut bytes = bytes;
        if bits == 8 {
            for line in bytes.chunks_mut(row) {
                for index in colors..line.len() {
                    line[index] = line[index].wrapping_add(line[index - colors]);
                }
            }
        }
        return bytes;
    }
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0u8; row];
    for line in bytes.chunks(row + 1) {
        let Some((kind, data)) = line.split_first() else { break };
        let mut current = data.to_vec();
        for index in 0..current.len() {
            let left = if index >= width { current[index - width] } else { 0 };
            let up = above.get(index).copied().unwrap_or(0);
            let corner = if index >= width { above.get(index - width).copied().unwrap_or(0) } else { 0 };
            let guess = match kind {
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            current[index] = current[index].wrapping_add(guess);
        }
        out.extend_from_slice(&current);
        above = current;
    }
    out
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let estimate = a + b - c;
    let (from_a, from_b, from_c) = ((estimate - a).abs(), (estimate - b).abs(), (estimate - c).abs());
    if from_a <= from_b && from_a <= from_c {
        left
    } else if from_b <= from_c {
        up
    } else {
        corner
    }
}

fn lzw(bytes: &[u8], parameters: &Dict, meter: &Meter) -> Outcome<Vec<u8>> {
    let early = parameters.get("EarlyChange").and_then(Object::integer) != Some(0);
    let (most, limit) = meter.allowance(bytes.len() as u64);
    let mut out: Vec<u8> = Vec::new();
    // Each code beyond 257 is a piece of what was written: where it begins and how long it is.
    let mut table: Vec<(usize, usize)> = Vec::new();
    let mut width = 9;
    let (mut word, mut bits) = (0u32, 0u32);
    let mut previous: Option<(usize, usize)> = None;
    for byte in bytes {
        word = word << 8 | u32::from(*byte);
        bits += 8;
        while bits >= width {
            bits -= width;
            let code = (word >> bits & ((1 << width) - 1)) as usize;
            match code {
                256 => {
                    table.clear();
                    width = 9;
                    previous = None;
                    continue;
                }
                257 => return Ok(out),
                _ => {}
            }
            meter.spend(1)?;
            let start = out.len();
            let (from, length) = match (code, previous) {
                (0..=255, _) => {
                    out.push(code as u8);
                    (start, 1)
                }
                (_, previous) => match (table.get(code - 258).copied(), previous) {
                    (Some((from, length)), _) => {
                        out.extend_from_within(from..from + length);
                        (start, length)
                    }
                    // The code that is being made: the last piece and its own first byte.
                    (None, Some((from, length))) if code - 258 == table.len() => {
                        out.extend_from_within(from..from + length);
                        out.push(out[start]);
                        (start, length + 1)
                    }
                    _ => return Ok(out),
                },
            };
            if out.len() as u64 > most {
                return Err(limit.into());
            }
            if let Some((from, length)) = previous
                && table.len() < 4096 - 258
            {
                table.push((from, length + 1));
            }
            previous = Some((from, length));
            let next = table.len() + 258 + usize::from(previous.is_some()) - usize::from(!early);
            width = match next {
                0..=511 => 9,
                512..=1023 => 10,
                1024..=2047 => 11,
                _ => 12,
            };
        }
    }
    meter.unpacked(out.len() as u64);
    Ok(out)
}

fn ascii_hex(bytes: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> =
        bytes.iter().take_while(|byte| **byte != b'>').filter_map(|byte| hex(*byte)).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
}

fn ascii_85(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 5 * 4);
    let mut group = [0u32; 5];
    let mut filled = 0;
    let bytes = bytes.strip_prefix(b"<~").unwrap_or(bytes);
    for byte in bytes {
        match byte {
            b'~' => break,
            b'z' if filled == 0 => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                group[filled] = u32::from(byte - b'!');
                filled += 1;
                if filled == 5 {
                    out.extend_from_slice(&value_85(&group).to_be_bytes());
                    filled = 0;
                }
            }
            _ => {}
        }
    }
    if filled > 1 {
        group[filled..].fill(84);
        out.extend_from_slice(&value_85(&group).to_be_bytes()[..filled - 1]);
    }
    out
}

fn value_85(group: &[u32; 5]) -> u32 {
    group.iter().fold(0u32, |value, digit| value.wrapping_mul(85).wrapping_add(*digit))
}

fn run_length(bytes: &[u8], meter: &Meter) -> Outcome<Vec<u8>> {
    let (most, limit) = meter.allowance(bytes.len() as u64);
    let mut out = Vec::new();
    let mut rest = bytes;
    while let [length, after @ ..] = rest {
        match (*length, after) {
            (128, _) => break,
            (count @ 0..=127, _) => {
                let end = (usize::from(count) + 1).min(after.len());
                out.extend_from_slice(&after[..end]);
                rest = &after[end..];
            }
            (count, [byte, after @ ..]) => {
                out.extend(std::iter::repeat_n(*byte, 257 - usize::from(count)));
                rest = after;
            }
            _ => break,
        }
        if out.len() as u64 > most {
            return Err(limit.into());
        }
    }
    meter.unpacked(out.len() as u64);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{ascii_85, ascii_hex, lzw, predicted, run_length};
    use crate::formats::pdf::object::{Dict, Lexer};
    use crate::limits::{Limits, Meter};

    #[test]
    fn text_codings() {
        assert_eq!(ascii_hex(b"48 65 6C6c6F>"), b"Hello");
        assert_eq!(ascii_85(b"87cURD]i,\"Ebo80~>"), b"Hello World!");
        let meter = Meter::new(&Limits::default());
        assert_eq!(run_length(b"\x01ab\xFEc\x80", &meter).unwrap(), b"abccc");
    }

    #[test]
    fn the_lzw_example_of_the_specification() {
        let meter = Meter::new(&Limits::default());
        let packed = [0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01];
        let plain = lzw(&packed, &Dict::default(), &meter).unwrap();
        assert_eq!(plain, [45, 45, 45, 45, 45, 65, 45, 45, 45, 66]);
    }

    #[test]
    fn rows_above() {
        let parameters = Lexer::new(b"<</Predictor 12/Columns 3>>", 0).object().unwrap();
        let plain = predicted(vec![2, 1, 2, 3, 2, 1, 1, 1], parameters.dict().unwrap());
        assert_eq!(plain, [1, 2, 3, 2, 3, 4]);
    }
}
