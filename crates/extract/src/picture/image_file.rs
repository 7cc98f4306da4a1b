//! Image files: how large they say they are, then their pixels.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use super::raster::{Raster, Turn, grey};
use super::{Bitmap, ColorModel, PagePicture, PictureKind, no_page, tiff_pages, too_many_pixels};
use crate::format::Format;
use crate::limits::{Limits, Meter};
use crate::sink::{Outcome, broken};

/// An image file whose pages are asked for.
pub(super) struct ImageFile<'a> {
    format: Format,
    bytes: &'a [u8],
    meter: &'a Meter,
    /// Where the pages of a TIFF are.
    directories: Vec<u64>,
}

impl<'a> ImageFile<'a> {
    pub(super) fn new(format: Format, bytes: &'a [u8], meter: &'a Meter) -> ImageFile<'a> {
        let directories = if format == Format::Tiff { tiff_pages::pages(bytes) } else { Vec::new() };
        ImageFile { format, bytes, meter, directories }
    }

    pub(super) fn page(&self, page: u32) -> Outcome<PagePicture> {
        let limits = self.meter.limits();
        let index = page.checked_sub(1).ok_or_else(|| no_page(page))?;
        let raster = if self.format == Format::Tiff {
            let directory = self.directories.get(index as usize).ok_or_else(|| no_page(page))?;
            tiff_pages::read(self.bytes, *directory, limits)?
        } else if index > 0 {
            return Err(no_page(page));
        } else if self.format == Format::Jpeg {
            read_jpeg(self.bytes, true, limits)?
        } else {
            let format = match self.format {
                Format::Gif => ImageFormat::Gif,
                Format::Webp => ImageFormat::WebP,
                Format::Bmp => ImageFormat::Bmp,
                _ => ImageFormat::Png,
            };
            decode(format, self.bytes, true, limits)?
        };
        raster.within(limits.max_picture_pixels).into_picture(PictureKind::OwnImage)
    }
}

/// A JPEG in grey; upright, if its own note on its orientation counts.
pub(crate) fn read_jpeg(bytes: &[u8], upright: bool, limits: &Limits) -> Outcome<Raster> {
    if let Some(header) = jpeg_header(bytes) {
        let pixels = u64::from(header.width) * u64::from(header.height);
        // One that gets sharper bit by bit is held as coefficients, of two bytes each, until its end.
        let each = if header.progressive { 3 } else { 1 };
        if pixels * u64::from(header.components) * each > limits.max_picture_bytes {
            return too_many_pixels(header.width.into(), header.height.into());
        }
    }
    decode(ImageFormat::Jpeg, bytes, upright, limits)
}

/// How many components the pixels of a JPEG have.
pub(crate) fn jpeg_components(bytes: &[u8]) -> Option<u8> {
    jpeg_header(bytes).map(|header| header.components)
}

pub(super) fn turn(orientation: Orientation) -> Turn {
    let turn = |transposed, mirrored, upside_down| Turn { transposed, mirrored, upside_down };
    match orientation {
        Orientation::NoTransforms => turn(false, false, false),
        Orientation::FlipHorizontal => turn(false, true, false),
        Orientation::FlipVertical => turn(false, false, true),
        Orientation::Rotate180 => turn(false, true, true),
        Orientation::Rotate90 => turn(true, true, false),
        Orientation::Rotate270 => turn(true, false, true),
        Orientation::Rotate90FlipH => turn(true, false, false),
        Orientation::Rotate270FlipH => turn(true, true, true),
    }
}

fn decode(format: ImageFormat, bytes: &[u8], upright: bool, limits: &Limits) -> Outcome<Raster> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut bounds = image::Limits::default();
    bounds.max_alloc = Some(limits.max_picture_bytes);
    reader.limits(bounds);
    let decoded = || -> image::ImageResult<Result<(DynamicImage, Orientation), (u32, u32)>> {
        let mut decoder = reader.into_decoder()?;
        if decoder.total_bytes() > limits.max_picture_bytes {
            return Ok(Err(decoder.dimensions()));
        }
        // A picture without a readable note on its orientation is as it is.
        let orientation = match upright {
            true => decoder.orientation().unwrap_or(Orientation::NoTransforms),
            false => Orientation::NoTransforms,
        };
        Ok(Ok((DynamicImage::from_decoder(decoder)?, orientation)))
    };
    match decoded() {
        Ok(Ok((image, orientation))) => {
            let raster = in_grey(image).within(limits.max_picture_pixels);
            Ok(raster.turned(turn(orientation)))
        }
        Ok(Err((width, height))) => too_many_pixels(width.into(), height.into()),
        Err(image::ImageError::Limits(_)) => broken("it takes more memory than a picture may"),
        Err(error) => broken(error.to_string()),
    }
}

/// What is transparent is over white, as on paper.
fn in_grey(image: DynamicImage) -> Raster {
    let (width, height) = (image.width(), image.height());
    let of = |model, data: &[u8]| Bitmap { width, height, bits: 8, model, ranges: Vec::new(), data }.raster();
    match image {
        DynamicImage::ImageLuma8(image) => Raster { width, height, pixels: image.into_raw() },
        DynamicImage::ImageRgb8(image) => {
            let pixels = image.as_raw().chunks_exact(3).map(|rgb| grey(rgb[0], rgb[1], rgb[2])).collect();
            Raster { width, height, pixels }
        }
        DynamicImage::ImageLumaA8(image) => of(ColorModel::GreyAlpha, image.as_raw()),
        DynamicImage::ImageRgba8(image) => of(ColorModel::RgbAlpha, image.as_raw()),
        other if other.color().has_alpha() => of(ColorModel::RgbAlpha, other.to_rgba8().as_raw()),
        other => Raster { width, height, pixels: other.to_luma8().into_raw() },
    }
}

struct JpegHeader {
    width: u16,
    height: u16,
    components: u8,
    progressive: bool,
}

/// The start-of-frame segment.
fn jpeg_header(bytes: &[u8]) -> Option<JpegHeader> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes.get(at) == Some(&0xFF))?;
        match marker {
            // Filling before a marker, and markers without a segment.
            0xFF => {
                at += 1;
                continue;
            }
            0x01 | 0xD0..=0xD8 => {
                at += 2;
                continue;
            }
            _ => {}
        }
        let segment = bytes.get(at + 2..)?;
        let length = usize::from(u16::from_be_bytes([*segment.first()?, *segment.get(1)?]));
        match marker {
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                let two =
                    |from: usize| Some(u16::from_be_bytes([*segment.get(from)?, *segment.get(from + 1)?]));
                return Some(JpegHeader {
                    height: two(3)?,
                    width: two(5)?,
                    components: *segment.get(7)?,
                    progressive: matches!(marker, 0xC2 | 0xC6 | 0xCA | 0xCE),
                });
            }
            // The pixels begin, or the file ends.
            0xD9 | 0xDA => return None,
            _ => at += 2 + length.max(2),
        }
    }
}
