//! Reads single lines: a strip of the picture becomes letters.

use image::RgbImage;
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use super::areas::TurnedArea;
use crate::local::models::run::LoadedNetwork;

/// Height of the strips that the model takes.
const HEIGHT: usize = 48;

/// Shorter strips are filled up to this; longer ones than the limit are read in part.
const MIN_WIDTH: usize = 320;
const MAX_WIDTH: usize = 4_000;

/// Strips that are read together: they are as wide as the widest of them.
const AT_ONCE: usize = 6;

/// The letters that the model knows.
pub(super) struct Letters(Vec<String>);

impl Letters {
    /// They stand in the model's file, one per line; before them comes "no letter", after them the space.
    pub(super) fn of(network: &LoadedNetwork) -> Result<Letters, String> {
        let listed = network.metadata("character").ok_or("recognition.onnx: it does not list its letters")?;
        Ok(Letters::listed(&listed))
    }

    fn listed(listed: &str) -> Letters {
        let letters = std::iter::once("").chain(listed.split('\n')).chain([" "]);
        Letters(letters.map(str::to_owned).collect())
    }

    /// The letters of a strip: at each place the likeliest one; repetitions without "no letter" between them are one.
    /// Also how sure the model is, from 0 to 1.
    fn spell(&self, places: &[f32]) -> (String, f32) {
        let (mut text, mut sum, mut count) = (String::new(), 0.0, 0u32);
        let mut before = 0;
        for place in places.chunks_exact(self.0.len().max(1)) {
            let (mut likeliest, mut probability) = (0, f32::MIN);
            for (letter, value) in place.iter().enumerate() {
                if *value > probability {
                    (likeliest, probability) = (letter, *value);
                }
            }
            if likeliest != 0 && likeliest != before {
                text.push_str(&self.0[likeliest]);
                sum += probability;
                count += 1;
            }
            before = likeliest;
        }
        let sureness = if count == 0 { 0.0 } else { sum / count as f32 };
        (text.trim().to_owned(), sureness)
    }
}

/// The text of each area, and how sure the model is.
pub(super) fn read(
    network: &LoadedNetwork,
    letters: &Letters,
    picture: &RgbImage,
    areas: &[TurnedArea],
) -> Result<Vec<(String, f32)>, String> {
    let mut order: Vec<usize> = (0..areas.len()).collect();
    order.sort_unstable_by_key(|at| strip_width(&areas[*at]));
    let mut texts = vec![(String::new(), 0.0); areas.len()];
    for together in order.chunks(AT_ONCE) {
        let widest = together.iter().map(|at| strip_width(&areas[*at])).max().unwrap_or(0).max(MIN_WIDTH);
        let strip = 3 * HEIGHT * widest;
        // Zero is grey: what the model was trained to see beyond the end of a strip.
        let mut input = vec![0.0; together.len() * strip];
        for (area, to) in together.iter().zip(input.chunks_exact_mut(strip)) {
            cut(picture, &areas[*area], to, widest);
        }
        let output =
            network.run_one(Tensor::from_data(&[together.len(), 3, HEIGHT, widest], input).into())?;
        let output = output.into_tensor::<f32>().ok_or("the recognition model gave no letters")?;
        if output.ndim() != 3 || output.size(2) != letters.0.len() {
            return Err("the recognition model has other letters than its file lists".to_owned());
        }
        let places = output.size(1) * output.size(2);
        for (area, places) in together.iter().zip(output.into_data().chunks_exact(places.max(1))) {
            texts[*area] = letters.spell(places);
        }
    }
    Ok(texts)
}

/// Width of the strip that an area becomes.
fn strip_width(area: &TurnedArea) -> usize {
    let (long, short) = if area.is_tall() { (area.height, area.width) } else { (area.width, area.height) };
    ((HEIGHT as f32 * long / short.max(1.0)).ceil() as usize).clamp(1, MAX_WIDTH)
}

/// Cuts an area out of a picture, turned upright and scaled to the height of a strip.
fn cut(picture: &RgbImage, area: &TurnedArea, strip: &mut [f32], row: usize) {
    let width = strip_width(area);
    // The directions of the strip's sides in the picture, one step each.
    let (sin, cos) = area.angle.sin_cos();
    let (right, down) = if area.is_tall() {
        // Text that lies on its side is read from below.
        let (along, across) = (area.height / width as f32, area.width / HEIGHT as f32);
        ([sin * along, -cos * along], [cos * across, sin * across])
    } else {
        let (along, across) = (area.width / width as f32, area.height / HEIGHT as f32);
        ([cos * along, sin * along], [-sin * across, cos * across])
    };
    // A strip that is much smaller than its area takes the mean of several points for each of its own.
    let points = (down[0].hypot(down[1]).ceil() as usize).clamp(1, 4);
    let plane = HEIGHT * row;
    for y in 0..HEIGHT {
        for x in 0..width {
            let mut sum = [0.0; 3];
            for at in 0..points * points {
                let part = |part: usize| (part as f32 + 0.5) / points as f32;
                let across = x as f32 + part(at % points) - width as f32 / 2.0;
                let along = y as f32 + part(at / points) - HEIGHT as f32 / 2.0;
                let from = [
                    area.centre[0] + across * right[0] + along * down[0],
                    area.centre[1] + across * right[1] + along * down[1],
                ];
                for (sum, colour) in sum.iter_mut().zip(colour(picture, from)) {
                    *sum += colour;
                }
            }
            for (channel, sum) in sum.iter().rev().enumerate() {
                let mean = sum / (points * points) as f32;
                strip[channel * plane + y * row + x] = mean / 127.5 - 1.0;
            }
        }
    }
}

/// The colour between pixels.
fn colour(picture: &RgbImage, [x, y]: [f32; 2]) -> [f32; 3] {
    let (width, height) = picture.dimensions();
    let (x, y) = ((x - 0.5).clamp(0.0, (width - 1) as f32), (y - 0.5).clamp(0.0, (height - 1) as f32));
    let (left, top) = (x as u32, y as u32);
    let (right, bottom) = ((left + 1).min(width - 1), (top + 1).min(height - 1));
    let (along, across) = (x.fract(), y.fract());
    let mut mixed = [0.0; 3];
    for (column, row, weight) in [
        (left, top, (1.0 - along) * (1.0 - across)),
        (right, top, along * (1.0 - across)),
        (left, bottom, (1.0 - along) * across),
        (right, bottom, along * across),
    ] {
        for (mixed, colour) in mixed.iter_mut().zip(picture.get_pixel(column, row).0) {
            *mixed += weight * f32::from(colour);
        }
    }
    mixed
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn letters_are_spelled_from_probabilities() {
        let letters = Letters::listed("a\nb\nc");
        let place = |letter: usize, probability: f32| {
            let mut place = [0.0; 5];
            place[letter] = probability;
            place
        };
        // a a - a b b - space c -
        let places: Vec<f32> =
            [1, 1, 0, 1, 2, 2, 0, 4, 3, 0].iter().flat_map(|letter| place(*letter, 0.8)).collect();
        let (text, sureness) = letters.spell(&places);
        assert_eq!(text, "aab c");
        assert!((sureness - 0.8).abs() < 1e-6);
        assert_eq!(letters.spell(&place(0, 1.0)), (String::new(), 0.0));
        assert_eq!(letters.spell(&[]), (String::new(), 0.0));
    }

    #[test]
    fn strips_are_cut_upright() {
        // A quarter of each side, so that every direction looks different.
        let picture = RgbImage::from_fn(200, 200, |x, y| match (x < 100, y < 100) {
            (true, true) => Rgb([255, 0, 0]),
            (false, true) => Rgb([0, 255, 0]),
            (true, false) => Rgb([0, 0, 255]),
            (false, false) => Rgb([255, 255, 255]),
        });
        let row = 400;
        let at = |strip: &[f32], x: usize, y: usize| {
            [0, 1, 2].map(|channel| strip[channel * HEIGHT * row + y * row + x] > 0.0)
        };
        let mut strip = vec![0.0; 3 * HEIGHT * row];
        let flat = TurnedArea { centre: [100.0, 100.0], width: 160.0, height: 40.0, angle: 0.0 };
        cut(&picture, &flat, &mut strip, row);
        let width = strip_width(&flat);
        assert_eq!(width, 192);
        // Blue, green, red: red on the upper left, white on the lower right.
        assert_eq!(at(&strip, 5, 5), [false, false, true]);
        assert_eq!(at(&strip, width - 5, 5), [false, true, false]);
        assert_eq!(at(&strip, 5, 43), [true, false, false]);
        assert_eq!(at(&strip, width - 5, 43), [true, true, true]);
        // On its side it begins below: the lower left becomes the upper left.
        let tall = TurnedArea { centre: [100.0, 100.0], width: 40.0, height: 160.0, angle: 0.0 };
        cut(&picture, &tall, &mut strip, row);
        assert_eq!(at(&strip, 5, 5), [true, false, false]);
        assert_eq!(at(&strip, width - 5, 5), [false, false, true]);
        assert_eq!(at(&strip, 5, 43), [true, true, true]);
    }
}
