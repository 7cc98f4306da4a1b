//! The pages of a TIFF: each is a directory, and each directory says where the next one is. The decoder reads the first
//! one, so a page is read by a header that points at it.

use std::io::Cursor;

use image::metadata::Orientation;
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::Tag;

use super::image_file::turn;
use super::raster::{Raster, grey};
use super::{Bitmap, ColorModel, too_many_pixels};
use crate::limits::Limits;
use crate::sink::{Outcome, broken};

/// More pages than anybody scans into one file.
const MOST_PAGES: usize = 10_000;

/// Tag 254: what a page is in the file.
const PURPOSE: u64 = 254;
/// Tag 262: what its samples mean.
const PHOTOMETRIC: u64 = 262;
const PALETTE: u64 = 3;
const GREY: u16 = 1;

/// Where the directories of the pages are. Previews among them are left out.
pub(super) fn pages(bytes: &[u8]) -> Vec<u64> {
    let Some(tiff) = Tiff::open(bytes) else { return Vec::new() };
    let mut pages = Vec::new();
    let mut at = tiff.number(if tiff.big { 8 } else { 4 }, tiff.word());
    while let Some(directory) = at.filter(|at| *at > 0 && !pages.contains(at) && pages.len() < MOST_PAGES) {
        let Some(next) = tiff.next(directory) else { break };
        pages.push(directory);
        at = Some(next);
    }
    let full: Vec<u64> = pages.iter().copied().filter(|page| !tiff.is_preview(*page)).collect();
    if full.is_empty() { pages } else { full }
}

/// One page upright in grey.
pub(super) fn read(bytes: &[u8], directory: u64, limits: &Limits) -> Outcome<Raster> {
    let Some((file, has_palette)) = with_first_page(bytes, directory) else {
        return broken("its header is damaged");
    };
    match decode(&file, has_palette, limits) {
        Ok(Ok(raster)) => Ok(raster),
        Ok(Err((width, height))) => too_many_pixels(width.into(), height.into()),
        Err(error) => broken(error.to_string()),
    }
}

/// The size, where it is too large.
fn decode(file: &[u8], has_palette: bool, limits: &Limits) -> tiff::TiffResult<Result<Raster, (u32, u32)>> {
    let most = usize::try_from(limits.max_picture_bytes).unwrap_or(usize::MAX);
    let mut bounds = tiff::decoder::Limits::default();
    bounds.decoding_buffer_size = most;
    bounds.intermediate_buffer_size = most / 2;
    let mut decoder = Decoder::new(Cursor::new(file))?.with_limits(bounds);
    let (width, height) = decoder.dimensions()?;
    let color = decoder.colortype()?;
    let pixels = u64::from(width) * u64::from(height);
    if pixels * u64::from(color.bit_depth()).div_ceil(8) * u64::from(color.num_samples())
        > limits.max_picture_bytes
    {
        return Ok(Err((width, height)));
    }
    let orientation = decoder.find_tag_unsigned::<u8>(Tag::Orientation).ok().flatten();
    let (model, bits) = match color {
        ColorType::Gray(bits) if has_palette => (ColorModel::Palette(palette(&mut decoder)?), bits),
        ColorType::Gray(bits) => (ColorModel::Grey, bits),
        ColorType::GrayA(bits) => (ColorModel::GreyAlpha, bits),
        ColorType::RGB(bits) => (ColorModel::Rgb, bits),
        ColorType::RGBA(bits) => (ColorModel::RgbAlpha, bits),
        ColorType::CMYK(bits) => (ColorModel::Cmyk, bits),
        ColorType::YCbCr(bits) => (ColorModel::Luma, bits),
        other => {
            let unsupported = tiff::TiffUnsupportedError::UnsupportedColorType(other);
            return Err(tiff::TiffError::UnsupportedError(unsupported));
        }
    };
    let (data, bits) = match decoder.read_image()? {
        DecodingResult::U8(data) => (data, u32::from(bits)),
        DecodingResult::U16(data) => (data.into_iter().map(|sample| (sample >> 8) as u8).collect(), 8),
        _ => {
            let unsupported = tiff::TiffUnsupportedError::UnsupportedColorType(color);
            return Err(tiff::TiffError::UnsupportedError(unsupported));
        }
    };
    // Of colours that are stored one after the other, the first is read.
    let model = match model {
        model if model.components() > 1 && bits == 8 && data.len() as u64 == pixels => ColorModel::Grey,
        model => model,
    };
    let bitmap = Bitmap { width, height, bits, model, ranges: Vec::new(), data: &data };
    let raster = bitmap.raster().within(limits.max_picture_pixels);
    let orientation = orientation.and_then(Orientation::from_exif).unwrap_or(Orientation::NoTransforms);
    Ok(Ok(raster.turned(turn(orientation))))
}

/// The grey of each colour: all reds come first, then all greens, then all blues, of 16 bits each.
fn palette(decoder: &mut Decoder<Cursor<&[u8]>>) -> tiff::TiffResult<Vec<u8>> {
    let map = decoder.get_tag_u16_vec(Tag::ColorMap)?;
    let count = map.len() / 3;
    let high = |at: usize| (map[at] >> 8) as u8;
    Ok((0..count).map(|index| grey(high(index), high(count + index), high(2 * count + index))).collect())
}

/// The file with one of its pages as the first. The decoder knows no palettes: such a page is made grey, which is the number
/// of its colour, and this says so.
fn with_first_page(bytes: &[u8], directory: u64) -> Option<(Vec<u8>, bool)> {
    let tiff = Tiff::open(bytes)?;
    let mut changed = bytes.to_vec();
    let little = |value: &[u8]| value.iter().rev().copied().collect::<Vec<u8>>();
    let (at, written) = if tiff.big {
        (8, directory.to_be_bytes().to_vec())
    } else {
        (4, u32::try_from(directory).ok()?.to_be_bytes().to_vec())
    };
    let written = if tiff.little { little(&written) } else { written };
    changed.get_mut(at..at + written.len())?.copy_from_slice(&written);
    let kind = tiff.entry(directory, PHOTOMETRIC).filter(|at| tiff.number(*at, 2) == Some(PALETTE));
    if let Some(at) = kind.and_then(|at| usize::try_from(at).ok()) {
        let grey = if tiff.little { GREY.to_le_bytes() } else { GREY.to_be_bytes() };
        changed.get_mut(at..at + 2)?.copy_from_slice(&grey);
    }
    Some((changed, kind.is_some()))
}

struct Tiff<'a> {
    bytes: &'a [u8],
    little: bool,
    /// Offsets of eight bytes.
    big: bool,
}

impl<'a> Tiff<'a> {
    fn open(bytes: &'a [u8]) -> Option<Tiff<'a>> {
        let (little, big) = match bytes.get(..4)? {
            b"II*\0" => (true, false),
            b"MM\0*" => (false, false),
            b"II+\0" => (true, true),
            b"MM\0+" => (false, true),
            _ => return None,
        };
        Some(Tiff { bytes, little, big })
    }

    /// Bytes of an offset.
    fn word(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn number(&self, at: u64, width: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(width)?)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    }

    /// How many entries a directory has, where they begin and how long each is.
    fn entries(&self, directory: u64) -> Option<(u64, u64, u64)> {
        let (width, size) = if self.big { (8, 20) } else { (2, 12) };
        let count = self.number(directory, width)?.min(u64::from(u16::MAX));
        Some((count, directory.checked_add(width as u64)?, size))
    }

    /// Where the next directory is; 0 after the last one.
    fn next(&self, directory: u64) -> Option<u64> {
        let (count, first, size) = self.entries(directory)?;
        Some(self.number(first.checked_add(count * size)?, self.word()).unwrap_or(0))
    }

    /// Where the value of a tag is.
    fn entry(&self, directory: u64, tag: u64) -> Option<u64> {
        let (count, first, size) = self.entries(directory)?;
        let mut entries = (0..count).map(|index| first + index * size);
        let entry = entries.find(|entry| self.number(*entry, 2) == Some(tag))?;
        Some(entry + if self.big { 12 } else { 8 })
    }

    /// A smaller copy of another page, by the lowest bit.
    fn is_preview(&self, directory: u64) -> bool {
        let purpose = self.entry(directory, PURPOSE).and_then(|at| self.number(at, 4));
        purpose.is_some_and(|purpose| purpose & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{pages, with_first_page};

    #[test]
    fn directories_in_their_order() {
        let mut little = b"II*\0\x08\0\0\0".to_vec();
        // The first directory has no entries; the second says that it is a preview; the third points back.
        little.extend([0, 0, 14, 0, 0, 0]);
        little.extend([1, 0, 254, 0, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0]);
        little.extend([0, 0, 8, 0, 0, 0]);
        assert_eq!(pages(&little), [8, 32]);
        let (second, has_palette) = with_first_page(&little, 32).unwrap();
        assert!(!has_palette);
        assert_eq!(pages(&second)[0], 32);
        for end in 0..little.len() {
            let _ = pages(&little[..end]);
        }
        let big = b"MM\0*\0\0\0\x08\0\0\0\0\0\0";
        assert_eq!(pages(big), [8]);
        assert!(pages(b"MM\0*\0\0\0\x08").is_empty());
        assert!(pages(b"no such file").is_empty());
    }
}
