//! Grey pixels: turned, made smaller, stretched and written as PNG.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use super::{PagePicture, PictureKind};
use crate::sink::{Outcome, broken};

/// An image of one byte for each pixel, row by row from the top. 0 is black.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
}

/// How an image has to be turned to be upright.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    /// Rows become columns.
    pub(crate) transposed: bool,
    /// Then left and right, or top and bottom, change places.
    pub(crate) mirrored: bool,
    pub(crate) upside_down: bool,
}

/// Side of the blocks in which rows become columns: both blocks stay in the cache.
const BLOCK: usize = 64;

impl Raster {
    /// The pixels upright.
    pub(crate) fn turned(self, turn: Turn) -> Raster {
        let mut raster = if turn.transposed { self.transposed() } else { self };
        let width = raster.width as usize;
        if turn.upside_down && turn.mirrored {
            raster.pixels.reverse();
        } else if turn.mirrored {
            raster.pixels.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse);
        } else if turn.upside_down {
            let height = raster.height as usize;
            for row in 0..height / 2 {
                let (above, below) = raster.pixels.split_at_mut((height - 1 - row) * width);
                above[row * width..(row + 1) * width].swap_with_slice(&mut below[..width]);
            }
        }
        raster
    }

    fn transposed(self) -> Raster {
        let (width, height) = (self.width as usize, self.height as usize);
        let mut pixels = vec![0; self.pixels.len()];
        for top in (0..height).step_by(BLOCK) {
            for left in (0..width).step_by(BLOCK) {
                for y in top..height.min(top + BLOCK) {
                    for x in left..width.min(left + BLOCK) {
                        pixels[x * height + y] = self.pixels[y * width + x];
                    }
                }
            }
        }
        Raster { width: self.height, height: self.width, pixels }
    }

    /// Each side divided by a whole number, or made one: every pixel is the mean of those it stands for.
    pub(crate) fn reduced(self, by: u32) -> Raster {
        let (across, down) = (by.min(self.width).max(1), by.min(self.height).max(1));
        if (across, down) == (1, 1) {
            return self;
        }
        let (width, height) = (self.width / across, self.height / down);
        let (from, across, down) = (self.width as usize, across as usize, down as usize);
        let mut pixels = Vec::with_capacity(width as usize * height as usize);
        let mut sums = vec![0u32; width as usize];
        let area = (across * down) as u32;
        for rows in self.pixels.chunks_exact(from * down) {
            sums.fill(0);
            for row in rows.chunks_exact(from) {
                for (sum, part) in sums.iter_mut().zip(row.chunks_exact(across)) {
                    *sum += part.iter().map(|pixel| u32::from(*pixel)).sum::<u32>();
                }
            }
            pixels.extend(sums.iter().map(|sum| ((sum + area / 2) / area) as u8));
        }
        Raster { width, height, pixels }
    }

    /// Small enough for a recogniser.
    pub(crate) fn within(self, most_pixels: u64) -> Raster {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let by = (1..=64).find(|by| pixels / (by * by) <= most_pixels).unwrap_or(64);
        self.reduced(by as u32)
    }

    /// Rows repeated or columns repeated, for images whose pixels are not square: faxes have half as many rows as columns
    /// for the same length.
    pub(crate) fn stretched(self, columns: u32, rows: u32) -> Raster {
        let (width, height) = (self.width as usize, self.height as usize);
        if (columns, rows) == (self.width, self.height) || columns == 0 || rows == 0 {
            return self;
        }
        let (columns, rows) = (columns as usize, rows as usize);
        let mut pixels = Vec::with_capacity(columns * rows);
        for y in 0..rows {
            let row = &self.pixels[y * height / rows * width..][..width];
            if columns == width {
                pixels.extend_from_slice(row);
            } else {
                pixels.extend((0..columns).map(|x| row[x * width / columns]));
            }
        }
        Raster { width: columns as u32, height: rows as u32, pixels }
    }

    pub(crate) fn into_picture(self, kind: PictureKind) -> Outcome<PagePicture> {
        let mut png = Vec::new();
        let encoder = PngEncoder::new_with_quality(&mut png, CompressionType::Fast, FilterType::Up);
        let written = encoder.write_image(&self.pixels, self.width, self.height, ExtendedColorType::L8);
        match written {
            Ok(()) => Ok(PagePicture { png, width: self.width, height: self.height, kind }),
            Err(error) => broken(error.to_string()),
        }
    }
}

/// The brightness of a colour.
pub(crate) fn grey(red: u8, green: u8, blue: u8) -> u8 {
    ((u32::from(red) * 77 + u32::from(green) * 150 + u32::from(blue) * 29 + 128) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::{Raster, Turn};

    fn raster(width: u32, rows: &[&[u8]]) -> Raster {
        Raster { width, height: rows.len() as u32, pixels: rows.concat() }
    }

    #[test]
    fn all_eight_ways() {
        let image = || raster(3, &[&[1, 2, 3], &[4, 5, 6]]);
        let turned = |transposed, mirrored, upside_down| {
            let raster = image().turned(Turn { transposed, mirrored, upside_down });
            raster.pixels.chunks(raster.width as usize).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(turned(false, false, false), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(turned(false, true, false), [[3, 2, 1], [6, 5, 4]]);
        assert_eq!(turned(false, false, true), [[4, 5, 6], [1, 2, 3]]);
        assert_eq!(turned(false, true, true), [[6, 5, 4], [3, 2, 1]]);
        assert_eq!(turned(true, false, false), [[1, 4], [2, 5], [3, 6]]);
        assert_eq!(turned(true, true, false), [[4, 1], [5, 2], [6, 3]]);
        assert_eq!(turned(true, false, true), [[3, 6], [2, 5], [1, 4]]);
        assert_eq!(turned(true, true, true), [[6, 3], [5, 2], [4, 1]]);
    }

    #[test]
    fn rows_become_columns_across_blocks() {
        let (width, height) = (150u32, 70u32);
        let pixels: Vec<u8> = (0..width * height).map(|at| (at % 251) as u8).collect();
        let image = Raster { width, height, pixels };
        let turn = Turn { transposed: true, ..Turn::default() };
        let turned = image.clone().turned(turn);
        assert_eq!((turned.width, turned.height), (70, 150));
        for y in 0..70usize {
            for x in 0..150usize {
                assert_eq!(turned.pixels[x * 70 + y], image.pixels[y * 150 + x]);
            }
        }
        assert_eq!(turned.turned(turn), image);
    }

    #[test]
    fn smaller_is_the_mean() {
        let image = raster(5, &[&[0, 100, 8, 8, 9], &[100, 200, 8, 8, 9], &[7, 7, 7, 7, 7]]);
        assert_eq!(image.clone().reduced(2), raster(2, &[&[100, 8]]));
        assert_eq!(image.clone().reduced(1), image);
        assert_eq!(image.reduced(9).pixels.len(), 1);
        let white = Raster { width: 100, height: 100, pixels: vec![255; 10_000] };
        assert_eq!(white.clone().within(10_000).width, 100);
        let small = white.within(9_999);
        assert_eq!((small.width, small.height, small.pixels[7]), (50, 50, 255));
    }

    #[test]
    fn rows_of_a_fax() {
        let image = raster(2, &[&[1, 2], &[3, 4]]);
        assert_eq!(image.clone().stretched(2, 4), raster(2, &[&[1, 2], &[1, 2], &[3, 4], &[3, 4]]));
        assert_eq!(image.stretched(4, 2), raster(4, &[&[1, 1, 2, 2], &[3, 3, 4, 4]]));
    }
}
