//! Images of a PDF: from the codings of pictures to grey pixels. What is out of the ordinary is left to the renderer.

use std::borrow::Cow;
use std::rc::Rc;

use hayro_ccitt::{DecodeSettings as CcittSettings, EncodingMode};

use super::file::File;
use super::filter;
use super::object::{Dict, Object, Stream};
use crate::limits::{Limits, Meter};
use crate::picture::{Bitmap, ColorModel, Raster, jpeg_components, read_jpeg, too_many_pixels};
use crate::sink::{Outcome, broken};

/// The image in grey; none if only the renderer can tell how it looks. A stencil is painted black, or not here.
pub(super) fn read(stream: &Rc<Stream>, black: bool, file: &File<'_>) -> Outcome<Option<Raster>> {
    let dict = &stream.dict;
    let is_stencil = file.value(dict, "ImageMask")?.is_some_and(|value| *value == Object::Bool(true));
    let is_masked = dict.get("SMask").is_some() || dict.get("Mask").is_some();
    if is_masked || (is_stencil && !black) {
        return Ok(None);
    }
    let Some(mut header) = Header::read(dict, is_stencil, file)? else { return Ok(None) };
    let limits = file.meter.limits();
    let pixels = u64::from(header.width) * u64::from(header.height);
    if pixels > limits.max_picture_bytes {
        return too_many_pixels(header.width.into(), header.height.into());
    }
    let filters = file.filters(stream)?;
    // The bytes that the samples take are known, so what unpacks to more is wrong, however well it packs.
    let stored = header.bytes().saturating_add(u64::from(header.height));
    let most = stored.max(stream.range.len() as u64).saturating_add(1 << 16).min(limits.max_picture_bytes);
    let unpacking = Meter::new(&Limits {
        max_ratio: u64::MAX,
        max_member_bytes: most,
        max_total_bytes: most.saturating_mul(3),
        ..limits.clone()
    });
    let raw = file.raw(stream, &filters)?;
    let (data, rest) = filter::decode_some(raw, &filters, &unpacking)?;
    let [(name, parameters)] = rest else {
        return if rest.is_empty() { Ok(header.raster(&data)) } else { Ok(None) };
    };
    match name.as_slice() {
        b"DCTDecode" | b"DCT" => jpeg(&header, &data, limits),
        b"CCITTFaxDecode" | b"CCF" => {
            header.bits = 1;
            Ok(header.raster(&ccitt(&header, parameters, &data)))
        }
        b"JBIG2Decode" => {
            header.bits = 1;
            let globals = match parameters.get("JBIG2Globals") {
                Some(Object::Stream(globals)) => file.decoded(globals)?,
                _ => None,
            };
            let samples = jbig2(&mut header, &data, globals.as_deref(), limits)?;
            Ok(header.raster(&samples))
        }
        b"JPXDecode" => jpeg_2000(&header, &data, limits),
        _ => Ok(None),
    }
}

/// What the dictionary of an image says.
struct Header {
    width: u32,
    height: u32,
    bits: u32,
    /// None where the image itself says, or a kind that only the renderer knows.
    model: Option<ColorModel>,
    /// Whether a colour space is given at all.
    is_coloured: bool,
    ranges: Vec<(f64, f64)>,
}

impl Header {
    fn read(dict: &Dict, is_stencil: bool, file: &File<'_>) -> Outcome<Option<Header>> {
        let number = |key: &str| -> Outcome<Option<u32>> {
            let value = file.value(dict, key)?.and_then(|value| value.integer());
            Ok(value.and_then(|value| u32::try_from(value).ok()))
        };
        let (Some(width), Some(height)) = (number("Width")?, number("Height")?) else { return Ok(None) };
        if width == 0 || height == 0 {
            return Ok(None);
        }
        let bits = if is_stencil { 1 } else { number("BitsPerComponent")?.unwrap_or(8) };
        if !matches!(bits, 1 | 2 | 4 | 8 | 16) {
            return Ok(None);
        }
        let space = file.value(dict, "ColorSpace")?;
        let model = match &space {
            _ if is_stencil => Some(ColorModel::Grey),
            Some(space) => color_model(space, file, 0)?,
            None => None,
        };
        let mut numbers = Vec::new();
        if let Some(decode) = file.value(dict, "Decode")? {
            for item in decode.array().unwrap_or_default().iter().take(8) {
                numbers.extend(file.resolve(item)?.number());
            }
        }
        let ranges = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Ok(Some(Header { width, height, bits, model, is_coloured: space.is_some(), ranges }))
    }

    /// How many bytes the samples take.
    fn bytes(&self) -> u64 {
        let components = self.model.as_ref().map_or(4, ColorModel::components);
        Bitmap::row_bytes(self.width, self.bits, components).saturating_mul(u64::from(self.height))
    }

    /// Whether samples mean what they say.
    fn is_plain(&self) -> bool {
        self.ranges.iter().all(|range| *range == (0.0, 1.0))
    }

    fn raster(&self, data: &[u8]) -> Option<Raster> {
        let Header { width, height, bits, .. } = *self;
        let model = self.model.clone()?;
        Some(Bitmap { width, height, bits, model, ranges: self.ranges.clone(), data }.raster())
    }
}

/// What samples mean in a colour space; none for those that take a function to tell.
fn color_model(space: &Object, file: &File<'_>, depth: u32) -> Outcome<Option<ColorModel>> {
    let named = |name: &[u8]| match name {
        b"DeviceGray" | b"G" | b"CalGray" => Some(ColorModel::Grey),
        b"DeviceRGB" | b"RGB" | b"CalRGB" => Some(ColorModel::Rgb),
        b"DeviceCMYK" | b"CMYK" => Some(ColorModel::Cmyk),
        _ => None,
    };
    if let Some(name) = space.name() {
        return Ok(named(name));
    }
    let Some([first, rest @ ..]) = space.array() else { return Ok(None) };
    let first = file.resolve(first)?;
    match (first.name().unwrap_or_default(), rest) {
        (b"ICCBased", [profile, ..]) => {
            let profile = file.resolve(profile)?;
            let Some(dict) = profile.dict() else { return Ok(None) };
            Ok(match file.value(dict, "N")?.and_then(|count| count.integer()) {
                Some(1) => Some(ColorModel::Grey),
                Some(3) => Some(ColorModel::Rgb),
                Some(4) => Some(ColorModel::Cmyk),
                _ => None,
            })
        }
        (b"Indexed" | b"I", [base, _, table, ..]) if depth == 0 => {
            let base = file.resolve(base)?;
            let Some(base) = color_model(&base, file, depth + 1)? else { return Ok(None) };
            let table = file.resolve(table)?;
            let bytes: Cow<'_, [u8]> = match &*table {
                Object::String(bytes) => Cow::Borrowed(bytes),
                Object::Stream(stream) => file.decoded(stream)?.unwrap_or_default(),
                _ => return Ok(None),
            };
            // A row of 256 colours, of as many pixels as the table has.
            let width = (bytes.len() / base.components()).min(256) as u32;
            let colours =
                Bitmap { width, height: 1, bits: 8, model: base, ranges: Vec::new(), data: &bytes }.raster();
            Ok(Some(ColorModel::Palette(colours.pixels)))
        }
        (name, _) => Ok(named(name)),
    }
}

fn jpeg(header: &Header, data: &[u8], limits: &Limits) -> Outcome<Option<Raster>> {
    // Four components may be inverted, and the colours of a palette are not brightness.
    let fits = match (jpeg_components(data), &header.model) {
        (Some(1), Some(ColorModel::Grey)) | (Some(1), None) => !header.is_coloured || header.model.is_some(),
        (Some(3), Some(ColorModel::Rgb)) => header.is_plain(),
        (Some(3), None) => !header.is_coloured && header.is_plain(),
        _ => false,
    };
    if !fits {
        return Ok(None);
    }
    // A PDF says itself how its images are turned.
    let mut raster = read_jpeg(data, false, limits)?;
    if let Some((low, high)) = header.ranges.first().filter(|_| !header.is_plain()) {
        if (*low, *high) != (1.0, 0.0) {
            return Ok(None);
        }
        raster.pixels.iter_mut().for_each(|pixel| *pixel = 255 - *pixel);
    }
    Ok(Some(raster))
}

/// Samples of one bit.
fn ccitt(header: &Header, parameters: &Dict, data: &[u8]) -> Vec<u8> {
    let number = |key: &str| parameters.get(key).and_then(Object::integer);
    let flag = |key: &str, default: bool| match parameters.get(key) {
        Some(Object::Bool(value)) => *value,
        _ => default,
    };
    let columns = number("Columns").and_then(|count| u32::try_from(count).ok()).unwrap_or(1728);
    let settings = CcittSettings {
        // Wider than the image says would be lost, and cost its memory first.
        columns: columns.min(header.width.saturating_mul(2).saturating_add(64)),
        rows: header.height,
        end_of_block: flag("EndOfBlock", true),
        end_of_line: flag("EndOfLine", false),
        rows_are_byte_aligned: flag("EncodedByteAlign", false),
        encoding: match number("K").unwrap_or(0) {
            ..0 => EncodingMode::Group4,
            0 => EncodingMode::Group3_1D,
            _ => EncodingMode::Group3_2D,
        },
        strict: false,
    };
    let mut rows = BitRows::new(header.width, header.height, flag("BlackIs1", false));
    // Rows before a fault count.
    let _ = hayro_ccitt::decode(data, &mut rows, &mut hayro_ccitt::DecoderContext::new(settings));
    rows.bytes
}

/// Samples of one bit, 0 for black. The size that the image itself gives counts.
fn jbig2(header: &mut Header, data: &[u8], globals: Option<&[u8]>, limits: &Limits) -> Outcome<Vec<u8>> {
    let settings = hayro_jbig2::DecodeSettings { strict: false };
    let decoded = || -> hayro_jbig2::Result<Result<BitRows, (u32, u32)>> {
        let globals = globals.map(|globals| hayro_jbig2::Globals::new(globals, &settings)).transpose()?;
        let page = hayro_jbig2::Page::new_embedded(data, globals.as_ref(), &settings)?;
        let (width, height) = (page.width(), page.height());
        if u64::from(width) * u64::from(height) > limits.max_picture_bytes {
            return Ok(Err((width, height)));
        }
        let mut rows = BitRows::new(width, height, false);
        page.decode(&mut rows)?;
        Ok(Ok(rows))
    };
    match decoded() {
        Ok(Ok(rows)) => {
            (header.width, header.height) = (rows.width, rows.height);
            Ok(rows.bytes)
        }
        Ok(Err((width, height))) => too_many_pixels(width.into(), height.into()),
        Err(error) => broken(error.to_string()),
    }
}

fn jpeg_2000(header: &Header, data: &[u8], limits: &Limits) -> Outcome<Option<Raster>> {
    if !header.is_plain() || matches!(header.model, Some(ColorModel::Palette(_))) {
        return Ok(None);
    }
    // Each sample is held as four bytes, twice: larger images are read at half their size or less.
    let most = limits.max_picture_bytes / 32;
    let shrink = |side: u32, by: u32| side.div_ceil(by).max(1);
    let mut by = 1;
    while u64::from(shrink(header.width, by)) * u64::from(shrink(header.height, by)) > most && by < 32 {
        by *= 2;
    }
    let settings = hayro_jpeg2000::DecodeSettings {
        target_resolution: (by > 1).then(|| (shrink(header.width, by), shrink(header.height, by))),
        ..hayro_jpeg2000::DecodeSettings::default()
    };
    let image = match hayro_jpeg2000::Image::new(data, &settings) {
        Ok(image) => image,
        Err(error) => return broken(error.to_string()),
    };
    let (width, height) = (image.width(), image.height());
    if u64::from(width) * u64::from(height) > most {
        return too_many_pixels(width.into(), height.into());
    }
    let mut context = hayro_jpeg2000::DecoderContext::default();
    let decoded = match image.decode(&mut context) {
        Ok(decoded) => decoded,
        Err(error) => return broken(error.to_string()),
    };
    let model = match (decoded.components().len(), image.has_alpha(), &header.model) {
        (1, ..) => ColorModel::Grey,
        (2, true, _) => ColorModel::GreyAlpha,
        (3, false, _) => ColorModel::Rgb,
        (4, true, _) => ColorModel::RgbAlpha,
        (4, false, Some(ColorModel::Cmyk)) => ColorModel::Cmyk,
        _ => return Ok(None),
    };
    let (data, ranges) = (decoded.data_u8(), Vec::new());
    Ok(Some(Bitmap { width, height, bits: 8, model, ranges, data: &data }.raster()))
}

/// Rows of black and white, one bit for each pixel.
struct BitRows {
    width: u32,
    height: u32,
    row_bytes: usize,
    /// White, before anything is decoded.
    bytes: Vec<u8>,
    black_is_one: bool,
    x: usize,
    y: usize,
}

impl BitRows {
    fn new(width: u32, height: u32, black_is_one: bool) -> BitRows {
        let row_bytes = width.div_ceil(8) as usize;
        let white = if black_is_one { 0 } else { 0xFF };
        BitRows {
            width,
            height,
            row_bytes,
            bytes: vec![white; row_bytes * height as usize],
            black_is_one,
            x: 0,
            y: 0,
        }
    }

    /// Blackens pixels of the current row.
    fn blacken(&mut self, from: usize, to: usize) {
        let to = to.min(self.width as usize);
        if self.y >= self.height as usize {
            return;
        }
        let row = &mut self.bytes[self.y * self.row_bytes..(self.y + 1) * self.row_bytes];
        let mut x = from;
        while x < to {
            let (at, bit) = (x / 8, x % 8);
            let count = (8 - bit).min(to - x);
            let mask = ((0xFFu16 << (8 - count)) as u8) >> bit;
            if self.black_is_one {
                row[at] |= mask;
            } else {
                row[at] &= !mask;
            }
            x += count;
        }
    }
}

impl hayro_ccitt::Decoder for BitRows {
    fn push_row(&mut self, changes: &[u32]) {
        for pair in changes.chunks(2) {
            let to = pair.get(1).map_or(self.width as usize, |to| *to as usize);
            self.blacken(pair[0] as usize, to);
        }
        self.y += 1;
    }
}

impl hayro_jbig2::Decoder for BitRows {
    fn push_pixel(&mut self, black: bool) {
        if black {
            self.blacken(self.x, self.x + 1);
        }
        self.x += 1;
    }

    fn push_pixel_chunk(&mut self, black: bool, chunk_count: u32) {
        let end = self.x + 8 * chunk_count as usize;
        if black {
            self.blacken(self.x, end);
        }
        self.x = end;
    }

    fn next_line(&mut self) {
        self.x = 0;
        self.y += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::BitRows;

    #[test]
    fn runs_of_black() {
        for black_is_one in [false, true] {
            let mut rows = BitRows::new(20, 2, black_is_one);
            rows.blacken(3, 5);
            rows.blacken(7, 17);
            rows.y = 1;
            rows.blacken(19, 99);
            rows.y = 2;
            rows.blacken(0, 20);
            let expected = [0b0001_1001, 0xFF, 0b1000_0000, 0, 0, 0b0001_0000];
            let seen: Vec<u8> =
                rows.bytes.iter().map(|byte| if black_is_one { *byte } else { !*byte }).collect();
            assert_eq!(seen, expected);
        }
    }
}
