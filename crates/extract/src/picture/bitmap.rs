//! Samples as files store them (1 to 16 bits, one or more for each pixel) and how they become grey.

use super::raster::{Raster, grey};

/// What the samples of a pixel mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColorModel {
    Grey,
    GreyAlpha,
    Rgb,
    RgbAlpha,
    Cmyk,
    /// Brightness first; the others are colour.
    Luma,
    /// The grey of each number.
    Palette(Vec<u8>),
}

impl ColorModel {
    pub(crate) fn components(&self) -> usize {
        match self {
            ColorModel::Grey | ColorModel::Palette(_) => 1,
            ColorModel::GreyAlpha => 2,
            ColorModel::Rgb | ColorModel::Luma => 3,
            ColorModel::RgbAlpha | ColorModel::Cmyk => 4,
        }
    }

    /// The grey of one pixel of as many bytes as there are components.
    fn grey(&self, pixel: &[u8]) -> u8 {
        match (self, pixel) {
            (ColorModel::GreyAlpha, [value, alpha]) => over_white(*value, *alpha),
            (ColorModel::Rgb, [red, green, blue]) => grey(*red, *green, *blue),
            (ColorModel::RgbAlpha, [red, green, blue, alpha]) => {
                over_white(grey(*red, *green, *blue), *alpha)
            }
            (ColorModel::Cmyk, [cyan, magenta, yellow, black]) => {
                let light = grey(255 - cyan, 255 - magenta, 255 - yellow);
                (u32::from(light) * u32::from(255 - black) / 255) as u8
            }
            (_, [first, ..]) => *first,
            _ => 255,
        }
    }
}

/// An image as it is stored: rows begin at whole bytes, samples of 16 bits have their high byte first.
#[derive(Debug)]
pub(crate) struct Bitmap<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bits: u32,
    pub(crate) model: ColorModel,
    /// What the lowest and the highest sample of each component mean, from 0 to 1; none where that is 0 and 1. For a
    /// palette they are numbers of colours.
    pub(crate) ranges: Vec<(f64, f64)>,
    pub(crate) data: &'a [u8],
}

impl Bitmap<'_> {
    pub(crate) fn row_bytes(width: u32, bits: u32, components: usize) -> u64 {
        (u64::from(width) * u64::from(bits) * components as u64).div_ceil(8)
    }

    /// The image in grey. Rows that are missing are white.
    pub(crate) fn raster(&self) -> Raster {
        let (width, height) = (self.width as usize, self.height as usize);
        let components = self.model.components();
        let row_bytes = Bitmap::row_bytes(self.width, self.bits, components) as usize;
        let tables: Vec<Vec<u8>> = (0..components).map(|index| self.table(index)).collect();
        let mut pixels = Vec::with_capacity(width * height);
        let mut samples: Vec<u8> = Vec::with_capacity(width * components);
        for row in self.data.chunks(row_bytes.max(1)).take(height) {
            samples.clear();
            self.unpack(row, &mut samples);
            samples.truncate(width * components);
            if let [table] = tables.as_slice() {
                pixels.extend(samples.iter().map(|sample| table[usize::from(*sample)]));
            } else {
                for pixel in samples.chunks_exact_mut(components) {
                    for (sample, table) in pixel.iter_mut().zip(&tables) {
                        *sample = table[usize::from(*sample)];
                    }
                    pixels.push(self.model.grey(pixel));
                }
            }
            let rows = pixels.len().div_ceil(width.max(1));
            pixels.resize(rows * width, 255);
        }
        pixels.resize(width * height, 255);
        Raster { width: self.width, height: self.height, pixels }
    }

    /// One number for each sample: of 16 bits only the high ones count.
    fn unpack(&self, row: &[u8], samples: &mut Vec<u8>) {
        match self.bits {
            1 => samples.extend(row.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))),
            2 => samples.extend(row.iter().flat_map(|byte| [6, 4, 2, 0].map(|shift| byte >> shift & 3))),
            4 => samples.extend(row.iter().flat_map(|byte| [byte >> 4, byte & 15])),
            16 => samples.extend(row.iter().step_by(2)),
            _ => samples.extend_from_slice(row),
        }
    }

    /// What each sample of a component becomes.
    fn table(&self, component: usize) -> Vec<u8> {
        let highest = match self.bits {
            bits @ 1..=7 => (1u32 << bits) - 1,
            _ => 255,
        };
        let range = self.ranges.get(component).copied();
        let mut table = vec![255; 256];
        for (sample, entry) in (0..=highest).zip(&mut table) {
            let share = f64::from(sample) / f64::from(highest);
            *entry = match &self.model {
                ColorModel::Palette(colours) => {
                    let index = match range {
                        Some((low, high)) => (low + share * (high - low)).clamp(0.0, 255.0) as usize,
                        None => sample as usize,
                    };
                    colours.get(index).copied().unwrap_or(255)
                }
                _ => {
                    let (low, high) = range.unwrap_or((0.0, 1.0));
                    ((low + share * (high - low)).clamp(0.0, 1.0) * 255.0).round() as u8
                }
            };
        }
        table
    }
}

fn over_white(value: u8, alpha: u8) -> u8 {
    let (value, alpha) = (u32::from(value), u32::from(alpha));
    ((value * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::{Bitmap, ColorModel};

    fn pixels(width: u32, bits: u32, model: ColorModel, ranges: &[(f64, f64)], data: &[u8]) -> Vec<u8> {
        Bitmap { width, height: 2, bits, model, ranges: ranges.to_vec(), data }.raster().pixels
    }

    #[test]
    fn samples_of_every_size() {
        let grey = |width, bits, data| pixels(width, bits, ColorModel::Grey, &[], data);
        assert_eq!(grey(3, 1, &[0b1010_0000, 0b0100_0000]), [255, 0, 255, 0, 255, 0]);
        assert_eq!(grey(3, 2, &[0b0001_1000, 0b1100_0000]), [0, 85, 170, 255, 0, 0]);
        assert_eq!(grey(1, 4, &[0xF0, 0x80]), [255, 136]);
        assert_eq!(grey(2, 8, &[1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(grey(1, 16, &[7, 200, 9, 1]), [7, 9]);
        assert_eq!(grey(2, 8, &[1]), [1, 255, 255, 255], "what is missing is white");
        assert!(grey(0, 8, &[1]).is_empty());
    }

    #[test]
    fn colours_and_ranges() {
        let white = pixels(1, 8, ColorModel::Rgb, &[], &[255, 255, 255, 255, 0, 0]);
        assert_eq!(white, [255, 77]);
        assert_eq!(pixels(1, 8, ColorModel::Cmyk, &[], &[0, 0, 0, 0, 0, 0, 0, 255]), [255, 0]);
        let inverted = [(1.0, 0.0); 4];
        assert_eq!(pixels(1, 8, ColorModel::Cmyk, &inverted, &[255; 8]), [255, 255]);
        assert_eq!(pixels(2, 1, ColorModel::Grey, &inverted, &[0b0100_0000, 0]), [255, 0, 255, 255]);
        let palette = ColorModel::Palette(vec![9, 8]);
        assert_eq!(pixels(3, 2, palette.clone(), &[], &[0b0001_1000, 0]), [9, 8, 255, 9, 9, 9]);
        assert_eq!(pixels(2, 1, palette, &[(1.0, 0.0)], &[0b0100_0000, 0]), [8, 9, 8, 8]);
        assert_eq!(pixels(1, 8, ColorModel::GreyAlpha, &[], &[0, 0, 0, 255]), [255, 0]);
        assert_eq!(pixels(1, 8, ColorModel::RgbAlpha, &[], &[0, 0, 0, 0, 9, 9, 9, 255]), [255, 9]);
    }
}
