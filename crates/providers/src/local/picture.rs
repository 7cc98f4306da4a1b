//! Makes a picture ready to be read: upright, grey, without speckles and shadows, at a size that suits the reader.

use std::io::Cursor;

use image::imageops::{self, FilterType};
use image::{DynamicImage, GrayImage, ImageDecoder, ImageReader, Limits, Rgb, RgbImage};

/// The longest side of a picture that is decoded. Together with the memory it bounds what a hostile file can cost.
const MAX_SIDE: u32 = 30_000;
const MAX_DECODED_BYTES: u64 = 512 << 20;

/// A page with fewer pixels along its longer side is enlarged towards this: 200 dots per inch of a sheet of paper.
const READABLE_SIDE: u32 = 2_340;
const MAX_ENLARGEMENT: f32 = 3.0;

/// More pixels than this are only slow: a sheet of paper at 450 dots per inch.
const MAX_PIXELS: u64 = 20_000_000;

/// Darker than this, after the background was made white, is ink.
const INK: u8 = 140;

/// Side of the squares whose background is estimated.
const SQUARE: u32 = 32;

/// Where the page is darker than this, it is not ink on paper, and dividing by the background would only add noise.
const PAPER: u8 = 90;

/// Decodes a picture and turns it as its EXIF data says. Transparent parts become white.
pub(super) fn decode(bytes: &[u8]) -> Result<DynamicImage, String> {
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| error.to_string())?;
    let orientation = decoder.orientation();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?;
    if let Ok(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    Ok(if picture.color().has_alpha() { DynamicImage::ImageRgb8(on_white(&picture)) } else { picture })
}

fn on_white(picture: &DynamicImage) -> RgbImage {
    let picture = picture.to_rgba8();
    let (width, height) = picture.dimensions();
    RgbImage::from_fn(width, height, |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        let over = |colour: u8| {
            let (colour, alpha) = (u32::from(colour), u32::from(alpha));
            ((colour * alpha + 255 * (255 - alpha)) / 255) as u8
        };
        Rgb([over(red), over(green), over(blue)])
    })
}

/// A picture that is ready to be read.
pub(super) struct Page {
    pub(super) grey: GrayImage,
    /// Pixels of the page per pixel of the picture.
    pub(super) scale: f32,
    /// Size of the picture.
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Page {
    pub(super) fn new(picture: &DynamicImage) -> Page {
        let (width, height) = (picture.width(), picture.height());
        let mut grey = picture.to_luma8();
        if is_speckled(&grey) {
            grey = median(&grey);
        }
        whiten(&mut grey);
        let scale = scale(width, height);
        if (scale - 1.0).abs() > 0.01 {
            let side = |length: u32| ((length as f32 * scale).round() as u32).max(1);
            grey = imageops::resize(&grey, side(width), side(height), FilterType::CatmullRom);
        }
        Page { grey, scale, width, height }
    }

    /// Number of dark pixels, and how many of them lie in the given areas (left, top, width, height).
    pub(super) fn ink(&self, areas: impl Iterator<Item = [u32; 4]>) -> Ink {
        let (width, height) = self.grey.dimensions();
        let mut is_covered = vec![false; (width * height) as usize];
        for [left, top, wide, high] in areas {
            for y in top.min(height)..top.saturating_add(high).min(height) {
                let row = (y * width) as usize;
                let (from, to) = (left.min(width), left.saturating_add(wide).min(width));
                is_covered[row + from as usize..row + to as usize].fill(true);
            }
        }
        let mut ink = Ink { share: 0.0, covered: 0.0 };
        let (mut dark, mut covered) = (0u64, 0u64);
        for (pixel, is_covered) in self.grey.as_raw().iter().zip(&is_covered) {
            if *pixel < INK {
                dark += 1;
                covered += u64::from(*is_covered);
            }
        }
        if dark > 0 {
            ink.share = dark as f32 / is_covered.len() as f32;
            ink.covered = covered as f32 / dark as f32;
        }
        ink
    }
}

/// How much of a page is dark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ink {
    /// Of the page, from 0 to 1.
    pub(super) share: f32,
    /// Of the ink, the part that lies in the areas that were asked for.
    pub(super) covered: f32,
}

fn scale(width: u32, height: u32) -> f32 {
    let (longer, pixels) = (width.max(height).max(1), u64::from(width) * u64::from(height));
    if pixels > MAX_PIXELS {
        return (MAX_PIXELS as f32 / pixels as f32).sqrt();
    }
    // Slightly smaller ones are read as they are: enlarging by a third gains nothing.
    if longer * 4 > READABLE_SIDE * 3 {
        return 1.0;
    }
    (READABLE_SIDE as f32 / longer as f32).min(MAX_ENLARGEMENT)
}

/// Whether single pixels stick out of their surroundings: the noise of a cheap scan.
fn is_speckled(grey: &GrayImage) -> bool {
    const STICKS_OUT: u8 = 40;
    const MANY: f32 = 0.002;
    const RESTLESS: u8 = 6;
    let (width, height) = grey.dimensions();
    if width < 3 || height < 3 {
        return false;
    }
    let pixels = grey.as_raw();
    let (mut looked_at, mut speckles) = (0u32, 0u32);
    let mut unrest = [0u32; 256];
    // A third of the rows tells enough.
    for y in (1..height as usize - 1).step_by(3) {
        for x in 1..width as usize - 1 {
            let mut around = surroundings(pixels, width as usize, x, y);
            let centre = around[4];
            let (mut low, mut high) = (u8::MAX, u8::MIN);
            for (at, pixel) in around.iter().enumerate() {
                if at != 4 {
                    (low, high) = (low.min(*pixel), high.max(*pixel));
                }
            }
            looked_at += 1;
            let is_alone =
                centre.saturating_add(STICKS_OUT) < low || centre > high.saturating_add(STICKS_OUT);
            speckles += u32::from(is_alone);
            unrest[usize::from(centre.abs_diff(middle(&mut around)))] += 1;
        }
    }
    // Most of a page is paper, so the middle of all differences is the noise of the paper.
    let half = looked_at / 2;
    let mut seen = 0;
    let typical = unrest.iter().position(|count| {
        seen += count;
        seen > half
    });
    speckles as f32 > MANY * looked_at as f32 || typical.is_some_and(|typical| typical > RESTLESS.into())
}

/// Each pixel becomes the middle of the nine around it.
fn median(grey: &GrayImage) -> GrayImage {
    let (width, height) = grey.dimensions();
    let mut smooth = grey.clone();
    if width < 3 || height < 3 {
        return smooth;
    }
    let pixels = grey.as_raw();
    for y in 1..height as usize - 1 {
        for x in 1..width as usize - 1 {
            let mut around = surroundings(pixels, width as usize, x, y);
            smooth.put_pixel(x as u32, y as u32, image::Luma([middle(&mut around)]));
        }
    }
    smooth
}

fn surroundings(pixels: &[u8], width: usize, x: usize, y: usize) -> [u8; 9] {
    let row = |y: usize| {
        let at = y * width + x;
        [pixels[at - 1], pixels[at], pixels[at + 1]]
    };
    let ([a, b, c], [d, e, f], [g, h, i]) = (row(y - 1), row(y), row(y + 1));
    [a, b, c, d, e, f, g, h, i]
}

fn middle(around: &mut [u8; 9]) -> u8 {
    *around.select_nth_unstable(4).1
}

/// Divides by the background, so that shadows and yellowed paper become white.
fn whiten(grey: &mut GrayImage) {
    let (width, height) = grey.dimensions();
    let (columns, rows) = (width.div_ceil(SQUARE), height.div_ceil(SQUARE));
    if columns < 2 || rows < 2 {
        return;
    }
    let mut background: Vec<u8> = Vec::with_capacity((columns * rows) as usize);
    for row in 0..rows {
        for column in 0..columns {
            background.push(brightness(grey, column * SQUARE, row * SQUARE));
        }
    }
    let mut sorted = background.clone();
    let paper = *sorted.select_nth_unstable(background.len() / 2).1;
    if paper < PAPER {
        return;
    }
    // A square that is full of ink takes the brightness of its neighbours; then the steps between squares are smoothed.
    let around = |values: &[u8], combine: &dyn Fn(&[u8]) -> u8| -> Vec<u8> {
        let mut combined = Vec::with_capacity(values.len());
        for row in 0..rows {
            for column in 0..columns {
                let mut near = Vec::with_capacity(9);
                for y in row.saturating_sub(1)..=(row + 1).min(rows - 1) {
                    for x in column.saturating_sub(1)..=(column + 1).min(columns - 1) {
                        near.push(values[(y * columns + x) as usize]);
                    }
                }
                combined.push(combine(&near));
            }
        }
        combined
    };
    let background = around(&background, &|near| near.iter().copied().max().unwrap_or(255));
    let background = around(&background, &|near| {
        let sum: u32 = near.iter().map(|value| u32::from(*value)).sum();
        (sum / near.len() as u32) as u8
    });
    let at = |column: u32, row: u32| f32::from(background[(row * columns + column) as usize]);
    for y in 0..height {
        let (upper, lower, down) = between(y, rows);
        for x in 0..width {
            let (left, right, along) = between(x, columns);
            let above = at(left, upper) * (1.0 - along) + at(right, upper) * along;
            let below = at(left, lower) * (1.0 - along) + at(right, lower) * along;
            let paper = (above * (1.0 - down) + below * down).max(1.0);
            let pixel = &mut grey.get_pixel_mut(x, y).0[0];
            *pixel = (f32::from(*pixel) * 255.0 / paper).min(255.0) as u8;
        }
    }
}

/// The two squares whose centres a pixel lies between, and how far it is from the first.
fn between(pixel: u32, squares: u32) -> (u32, u32, f32) {
    let position = ((pixel as f32 + 0.5) / SQUARE as f32 - 0.5).clamp(0.0, (squares - 1) as f32);
    let first = position as u32;
    (first, (first + 1).min(squares - 1), position.fract())
}

/// What four of five pixels of a square are not brighter than: paper, where there is some.
fn brightness(grey: &GrayImage, left: u32, top: u32) -> u8 {
    let mut counts = [0u32; 256];
    let (right, bottom) = ((left + SQUARE).min(grey.width()), (top + SQUARE).min(grey.height()));
    for y in top..bottom {
        for x in left..right {
            counts[usize::from(grey.get_pixel(x, y).0[0])] += 1;
        }
    }
    let wanted = (right - left) * (bottom - top) * 4 / 5;
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += count;
        seen > wanted
    });
    found.map_or(255, |value| value as u8)
}

#[cfg(test)]
mod tests {
    use image::Luma;

    use super::*;

    /// Bars of ink on paper whose light falls off to the right.
    fn shaded(width: u32, height: u32) -> GrayImage {
        GrayImage::from_fn(width, height, |x, y| {
            let paper = 250 - (150 * x / width) as u8;
            Luma([if y % 16 < 4 && x % 8 < 5 { paper / 4 } else { paper }])
        })
    }

    #[test]
    fn shadows_become_white_and_ink_stays() {
        let mut grey = shaded(640, 320);
        whiten(&mut grey);
        for x in [10, 150, 330, 500, 630] {
            // Paper between the bars, and ink on them.
            assert!(grey.get_pixel(x, 8 + 16 * 5).0[0] > 215, "paper at {x}: {:?}", grey.get_pixel(x, 88));
            let ink = grey.get_pixel(x / 8 * 8 + 2, 1 + 16 * 5).0[0];
            assert!(ink < 100, "ink at {x}: {ink}");
        }
    }

    #[test]
    fn a_dark_picture_is_left_alone() {
        let dark = GrayImage::from_fn(320, 320, |x, _| Luma([if x % 40 < 3 { 230 } else { 20 }]));
        let mut same = dark.clone();
        whiten(&mut same);
        assert_eq!(same, dark);
    }

    #[test]
    fn speckles_are_seen_and_removed() {
        let clean =
            GrayImage::from_fn(320, 320, |x, y| Luma([if x % 40 < 12 && y % 24 < 12 { 30 } else { 240 }]));
        assert!(!is_speckled(&clean) && !is_speckled(&shaded(320, 320)));
        let mut noisy = clean.clone();
        let mut seed = 1u32;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (x, y) = ((seed >> 8) % 320, (seed >> 20) % 320);
            noisy.put_pixel(x, y, Luma([if seed & 64 == 0 { 0 } else { 255 }]));
        }
        assert!(is_speckled(&noisy));
        let differing = |one: &GrayImage| {
            one.as_raw().iter().zip(clean.as_raw()).filter(|(a, b)| a.abs_diff(**b) > 60).count()
        };
        let (before, after) = (differing(&noisy), differing(&median(&noisy)));
        assert!(after * 2 < before, "{before} {after}");
    }

    #[test]
    fn small_pictures_are_enlarged_and_large_ones_reduced() {
        assert_eq!(scale(2_480, 3_508), 1.0);
        assert_eq!(scale(1_654, 2_339), 1.0);
        assert!((scale(827, 1_170) - 2.0).abs() < 0.01);
        assert_eq!(scale(100, 60), MAX_ENLARGEMENT);
        let reduced = scale(10_000, 8_000);
        assert!((reduced * reduced * 80_000_000.0 - MAX_PIXELS as f32).abs() < 1e5);
    }

    #[test]
    fn ink_is_counted_and_its_covered_part() {
        let mut grey = GrayImage::from_pixel(100, 100, Luma([255]));
        for x in 0..20 {
            grey.put_pixel(x, 10, Luma([0]));
        }
        let page = Page { grey, scale: 1.0, width: 100, height: 100 };
        let ink = page.ink([[0, 5, 10, 10], [0, 5, 10, 10], [90, 90, 50, 50]].into_iter());
        assert_eq!(ink, Ink { share: 0.002, covered: 0.5 });
    }

    #[test]
    fn transparent_pictures_are_read_on_white() {
        let clear =
            image::RgbaImage::from_fn(8, 8, |x, _| image::Rgba([0, 0, 0, if x < 4 { 255 } else { 0 }]));
        let mut bytes = Vec::new();
        clear.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
        let grey = decode(&bytes).unwrap().to_luma8();
        assert_eq!((grey.get_pixel(0, 0).0[0], grey.get_pixel(7, 0).0[0]), (0, 255));
        assert!(decode(&bytes[..20]).is_err());
        assert!(decode(b"no picture").is_err());
    }
}
