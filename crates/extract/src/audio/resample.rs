//! From any sample rate to the one that recognisers of speech take.

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{Fft, FixedSync, Resampler as _, WindowFunction};

use super::SAMPLE_RATE;
use crate::sink::{Outcome, broken};

/// Samples that are converted at once; a longer block cuts off more sharply what the lower rate cannot hold.
const BLOCK: usize = 4096;

/// Rates that recordings have. The work grows with the rate, which is any number in a hostile file.
const RATES: std::ops::RangeInclusive<u32> = 2_000..=768_000;

pub(super) struct Resampler {
    rate: u32,
    /// None where nothing has to be changed.
    fft: Option<Fft<f32>>,
    waiting: Vec<f32>,
    block: Vec<f32>,
    /// Samples that the conversion puts before the first one.
    early: usize,
    taken: u64,
    given: u64,
}

impl Resampler {
    pub(super) fn new(rate: u32) -> Outcome<Resampler> {
        if !RATES.contains(&rate) {
            return broken(format!("{rate} samples a second are no recording"));
        }
        let (from, to) = (rate as usize, SAMPLE_RATE as usize);
        let fft = match rate {
            SAMPLE_RATE => None,
            _ => {
                match Fft::new_custom(from, to, BLOCK, 1, 1, WindowFunction::BlackmanHarris2, FixedSync::Both)
                {
                    Ok(fft) => Some(fft),
                    Err(error) => return broken(error.to_string()),
                }
            }
        };
        let early = fft.as_ref().map_or(0, |fft| fft.output_delay());
        let block = vec![0.0; fft.as_ref().map_or(0, |fft| fft.output_frames_max())];
        Ok(Resampler { rate, fft, waiting: Vec::new(), block, early, taken: 0, given: 0 })
    }

    pub(super) fn rate(&self) -> u32 {
        self.rate
    }

    pub(super) fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Outcome {
        self.taken += samples.len() as u64;
        let Some(fft) = &mut self.fft else {
            self.given += samples.len() as u64;
            out.extend_from_slice(samples);
            return Ok(());
        };
        self.waiting.extend_from_slice(samples);
        let wanted = fft.input_frames_next();
        let mut from = 0;
        while self.waiting.len() - from >= wanted {
            let Some(made) = convert(fft, &self.waiting[from..from + wanted], &mut self.block) else {
                return broken("its samples could not be converted");
            };
            from += wanted;
            let made = &self.block[..made];
            let skipped = self.early.min(made.len());
            self.early -= skipped;
            self.given += (made.len() - skipped) as u64;
            out.extend(made[skipped..].iter().map(|sample| sample.clamp(-1.0, 1.0)));
        }
        self.waiting.drain(..from);
        Ok(())
    }

    /// Gives what is still inside.
    pub(super) fn finish(mut self, out: &mut Vec<f32>) {
        let Some(wanted) = self.fft.as_ref().map(|fft| fft.input_frames_next()) else { return };
        let all = self.taken * u64::from(SAMPLE_RATE) / u64::from(self.rate);
        let silence = vec![0.0; wanted];
        // What is inside comes out with as much silence as is behind it.
        for _ in 0..8 {
            if self.given >= all || self.push(&silence, out).is_err() {
                break;
            }
        }
        let surplus = usize::try_from(self.given.saturating_sub(all)).unwrap_or(0);
        out.truncate(out.len().saturating_sub(surplus));
    }
}

/// How many samples one block became.
fn convert(fft: &mut Fft<f32>, from: &[f32], to: &mut [f32]) -> Option<usize> {
    let frames = to.len();
    let input = SequentialSlice::new(from, 1, from.len()).ok()?;
    let mut output = SequentialSlice::new_mut(to, 1, frames).ok()?;
    let (_, made) = fft.process_into_buffer(&input, &mut output, None).ok()?;
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::Resampler;

    /// A tone of 1,000 Hz, one second long.
    fn tone(rate: u32) -> Vec<f32> {
        (0..rate).map(|at| (at as f32 / rate as f32 * 1000.0 * std::f32::consts::TAU).sin() * 0.5).collect()
    }

    #[test]
    fn a_second_stays_a_second() {
        for rate in [8_000, 11_025, 16_000, 22_050, 44_100, 47_999, 48_000, 96_000] {
            let mut out = Vec::new();
            let mut resampler = Resampler::new(rate).unwrap();
            for part in tone(rate).chunks(1000) {
                resampler.push(part, &mut out).unwrap();
            }
            resampler.finish(&mut out);
            assert_eq!(out.len(), 16_000, "{rate}");
            let expected = tone(16_000);
            // A tone that begins and stops at once rings for the length of a block, and a block of an odd length shifts it
            // by half a sample.
            for at in 4000..12_000 {
                assert!((out[at] - expected[at]).abs() < 0.11, "{rate}: {at}: {} {}", out[at], expected[at]);
            }
        }
    }

    #[test]
    fn rates_that_nothing_has() {
        for rate in [0, 1, 1999, 768_001, u32::MAX] {
            assert!(Resampler::new(rate).is_err());
        }
    }
}
