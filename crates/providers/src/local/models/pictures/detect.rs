//! Finds the lines of text in a picture.

use image::RgbImage;
use image::imageops::{self, FilterType};
use rten_tensor::Tensor;

use super::areas::{TurnedArea, text_areas};
use crate::local::models::run::LoadedNetwork;

/// The longer side that the model sees: a sheet of paper at 190 dots per inch. Larger pictures take time and find nothing
/// more, smaller ones are enlarged.
const MAX_SIDE: u32 = 2_240;
const MIN_SIDE: u32 = 960;
const MAX_ENLARGEMENT: f32 = 2.0;

/// Large pictures are looked at in tiles, which bounds the memory.
const TILE: u32 = 992;

/// Tiles share this many pixels; half of them are taken from each side.
const SHARED: u32 = 96;

/// Sides of what the model takes are multiples of this.
const STEP: u32 = 32;

/// The areas of text, in pixels of the picture.
pub(super) fn find(network: &LoadedNetwork, picture: &RgbImage) -> Result<Vec<TurnedArea>, String> {
    let (width, height) = picture.dimensions();
    let longer = width.max(height).max(1);
    let scale = (longer.clamp(MIN_SIDE, MAX_SIDE) as f32 / longer as f32).min(MAX_ENLARGEMENT);
    let side = |length: u32| ((length as f32 * scale).round() as u32).max(1);
    let (wide, high) = (side(width), side(height));
    let scaled;
    let seen = if (wide, high) == (width, height) {
        picture
    } else {
        scaled = imageops::resize(picture, wide, high, FilterType::Triangle);
        &scaled
    };
    let mut map = vec![0.0; (wide * high) as usize];
    for (top, bottom) in tiles(high) {
        for (left, right) in tiles(wide) {
            let found = look(network, seen, [left, top], [right - left, bottom - top])?;
            let columns = padded(right - left) as usize;
            // Of what two tiles share, each gives the half that is farther from its edge.
            let inner = |from: u32, to: u32, end: u32| {
                let first = if from == 0 { from } else { from + SHARED / 2 };
                first..if to == end { to } else { to - SHARED / 2 }
            };
            for y in inner(top, bottom, high) {
                let across = inner(left, right, wide);
                let from = (y - top) as usize * columns + (across.start - left) as usize;
                let row = &found[from..from + across.len()];
                let to = (y * wide + across.start) as usize;
                map[to..to + across.len()].copy_from_slice(row);
            }
        }
    }
    let areas = text_areas(&map, wide as usize).into_iter();
    Ok(areas.map(|area| area.scaled(1.0 / scale)).collect())
}

/// First and last pixel of each tile along a side.
fn tiles(length: u32) -> Vec<(u32, u32)> {
    if length <= TILE {
        return vec![(0, length)];
    }
    let count = (length - SHARED).div_ceil(TILE - SHARED);
    let step = (length - SHARED).div_ceil(count);
    (0..count).map(|at| (at * step, (at * step + step + SHARED).min(length))).collect()
}

fn padded(length: u32) -> u32 {
    length.next_multiple_of(STEP)
}

/// What the model thinks of a part of a picture: for each pixel how likely it is text. Rows are as long as the padded part.
fn look(
    network: &LoadedNetwork,
    picture: &RgbImage,
    [left, top]: [u32; 2],
    [wide, high]: [u32; 2],
) -> Result<Vec<f32>, String> {
    let (columns, rows) = (padded(wide) as usize, padded(high) as usize);
    let plane = columns * rows;
    // Beyond the edge there is paper.
    let mut input = vec![1.0; 3 * plane];
    for y in 0..high {
        for x in 0..wide {
            let colours = picture.get_pixel(left + x, top + y).0;
            let at = y as usize * columns + x as usize;
            // The model was trained on blue, green, red.
            for (channel, colour) in colours.iter().rev().enumerate() {
                input[channel * plane + at] = f32::from(*colour) / 127.5 - 1.0;
            }
        }
    }
    let output = network.run_one(Tensor::from_data(&[1, 3, rows, columns], input).into())?;
    let map = output.into_tensor::<f32>().ok_or("the detection model gave no map")?.into_data();
    if map.len() == plane {
        Ok(map)
    } else {
        Err("the detection model gave a map of another size".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_pixel_and_share_their_edges() {
        for length in [1, 500, TILE, TILE + 1, 1_654, 2_240, 5_000] {
            let tiles = tiles(length);
            assert_eq!((tiles[0].0, tiles[tiles.len() - 1].1), (0, length));
            for (from, to) in &tiles {
                assert!(to > from && to - from <= TILE, "{length} {tiles:?}");
            }
            for pair in tiles.windows(2) {
                assert!(pair[0].1 - pair[1].0 >= SHARED, "{length} {tiles:?}");
            }
        }
    }
}
