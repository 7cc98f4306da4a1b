//! The picture of a sound that Whisper listens to: the loudness of 80 pitches, a hundred times a second.

use std::f32::consts::PI;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

pub(super) const SAMPLE_RATE: usize = 16_000;

/// The longest sound that Whisper takes at once, in samples.
pub(super) const WINDOW: usize = 30 * SAMPLE_RATE;

pub(super) const PITCHES: usize = 80;
pub(super) const FRAMES: usize = WINDOW / HOP;

const LENGTH: usize = 400;
const HOP: usize = 160;
const BINS: usize = LENGTH / 2 + 1;

/// Computes it.
pub(super) struct MelSpectrum {
    transform: Arc<dyn RealToComplex<f32>>,
    window: Vec<f32>,
    /// For each pitch the first bin of the transform that counts, and the weights from there on.
    weights: Vec<(usize, Vec<f32>)>,
}

impl MelSpectrum {
    pub(super) fn new() -> MelSpectrum {
        let hann = |at: usize| 0.5 - 0.5 * (2.0 * PI * at as f32 / LENGTH as f32).cos();
        MelSpectrum {
            transform: RealFftPlanner::new().plan_fft_forward(LENGTH),
            window: (0..LENGTH).map(hann).collect(),
            weights: weights(),
        }
    }

    /// The features of a sound of at most 30 seconds, pitch by pitch; a shorter one ends in silence.
    pub(super) fn features(&self, samples: &[f32]) -> Vec<f32> {
        let samples = &samples[..samples.len().min(WINDOW)];
        // What lies beyond is silence, and all of it looks the same.
        let heard = ((samples.len() + LENGTH / 2) / HOP + 1).min(FRAMES);
        let quiet = 1e-10f32.log10();
        let mut features = vec![quiet; PITCHES * FRAMES];
        let mut frame = vec![0.0; LENGTH];
        let mut spectrum = vec![Complex::default(); BINS];
        let mut scratch = self.transform.make_scratch_vec();
        let mut power = vec![0.0; BINS];
        for at in 0..heard {
            for (offset, (value, weight)) in frame.iter_mut().zip(&self.window).enumerate() {
                *value = weight * sample(samples, (at * HOP + offset) as isize - (LENGTH / 2) as isize);
            }
            // The lengths were made by the same plan, so it cannot fail.
            let _ = self.transform.process_with_scratch(&mut frame, &mut spectrum, &mut scratch);
            for (power, value) in power.iter_mut().zip(&spectrum) {
                *power = value.norm_sqr();
            }
            for (pitch, (first, weights)) in self.weights.iter().enumerate() {
                let loudness: f32 =
                    weights.iter().zip(&power[*first..]).map(|(weight, power)| weight * power).sum();
                features[pitch * FRAMES + at] = loudness.max(1e-10).log10();
            }
        }
        let loudest = features.iter().copied().fold(f32::MIN, f32::max);
        for value in &mut features {
            *value = (value.max(loudest - 8.0) + 4.0) / 4.0;
        }
        features
    }
}

/// The sound goes on before its beginning as in a mirror.
fn sample(samples: &[f32], at: isize) -> f32 {
    samples.get(at.unsigned_abs()).copied().unwrap_or(0.0)
}

/// Triangles that are evenly spread over the pitches that people hear (the scale of Slaney's Auditory Toolbox).
fn weights() -> Vec<(usize, Vec<f32>)> {
    let (low, high) = (pitch_of(0.0), pitch_of(SAMPLE_RATE as f64 / 2.0));
    let corner = |at: usize| frequency_of(low + (high - low) * at as f64 / (PITCHES + 1) as f64);
    let frequency = |bin: usize| bin as f64 * SAMPLE_RATE as f64 / LENGTH as f64;
    let triangle = |pitch: usize| {
        let (left, middle, right) = (corner(pitch), corner(pitch + 1), corner(pitch + 2));
        let height = |bin: usize| {
            let (up, down) =
                ((frequency(bin) - left) / (middle - left), (right - frequency(bin)) / (right - middle));
            (up.min(down).max(0.0) * 2.0 / (right - left)) as f32
        };
        let first = (0..BINS).find(|bin| height(*bin) > 0.0).unwrap_or(0);
        (first, (first..BINS).map(height).take_while(|weight| *weight > 0.0).collect())
    };
    (0..PITCHES).map(triangle).collect()
}

/// Even steps up to 1,000 Hz, even ratios above.
const STEP: f64 = 200.0 / 3.0;
const BEND: f64 = 1_000.0;

fn ratio() -> f64 {
    6.4f64.ln() / 27.0
}

fn pitch_of(frequency: f64) -> f64 {
    if frequency < BEND { frequency / STEP } else { BEND / STEP + (frequency / BEND).ln() / ratio() }
}

fn frequency_of(pitch: f64) -> f64 {
    let bend = BEND / STEP;
    if pitch < bend { pitch * STEP } else { BEND * (ratio() * (pitch - bend)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of `WhisperFeatureExtractor` of the Python package `transformers` for the same sound.
    #[test]
    fn features_are_those_of_the_reference() {
        let sound: Vec<f32> = (0..SAMPLE_RATE)
            .map(|at| {
                let turn = 2.0 * std::f64::consts::PI * at as f64 / SAMPLE_RATE as f64;
                (0.5 * (440.0 * turn).sin() + 0.25 * (1875.0 * turn + 0.3).sin()) as f32
            })
            .collect();
        let features = MelSpectrum::new().features(&sound);
        assert_eq!(features.len(), PITCHES * FRAMES);
        for (pitch, frame, expected) in [
            (0, 0, 1.005_066_8),
            (10, 0, 1.340_487_4),
            (11, 50, 1.438_203_6),
            (12, 50, 1.293_523_9),
            (38, 50, -0.392_535_3),
            (39, 50, -0.232_682_7),
            (60, 50, -0.561_795_95),
            (11, 99, 1.436_952),
            (11, 100, 1.293_011_2),
            (40, 101, 0.182_944_9),
            (5, 2999, -0.561_795_95),
        ] {
            let found = features[pitch * FRAMES + frame];
            // What lies far below the loudest is noise of the arithmetic.
            assert!((found - expected).abs() < 2e-3, "{pitch} {frame}: {found} instead of {expected}");
        }
        let mean = features.iter().sum::<f32>() / features.len() as f32;
        assert!((mean + 0.554_387).abs() < 2e-3, "{mean}");
    }

    #[test]
    fn silence_and_long_sounds_have_features_too() {
        let silence = MelSpectrum::new().features(&[]);
        assert!(silence.iter().all(|value| (value + 1.5).abs() < 1e-6));
        assert_eq!(MelSpectrum::new().features(&vec![0.1; WINDOW + 5_000]).len(), PITCHES * FRAMES);
    }
}
