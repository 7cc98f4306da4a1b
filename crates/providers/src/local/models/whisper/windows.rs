//! Where a long recording is cut: in the pauses, so that no word is cut in two.

use super::mel::{SAMPLE_RATE, WINDOW};

/// 20 ms.
const FRAME: usize = SAMPLE_RATE / 50;

/// A pause lasts at least this many frames.
const PAUSE: usize = 15;

/// Windows are at least this long, unless the recording ends: every window costs the same.
const MIN_WINDOW: usize = WINDOW * 3 / 5;

/// Quieter than this, nothing is said (full scale is 1).
const QUIET: f32 = 0.001;

/// The end of the window that begins at `start`.
pub(super) fn window_end(samples: &[f32], start: usize) -> usize {
    if samples.len() - start <= WINDOW {
        return samples.len();
    }
    let candidates = &samples[start + MIN_WINDOW..start + WINDOW];
    let loudness: Vec<f32> = candidates.chunks_exact(FRAME).map(energy).collect();
    let pauses = loudness.windows(PAUSE).map(|frames| frames.iter().sum::<f32>()).enumerate();
    // Of equally quiet pauses the last one, since long windows are cheaper.
    let quietest =
        pauses.min_by(|(_, one), (_, other)| one.total_cmp(other).then(std::cmp::Ordering::Greater));
    let frame = quietest.map_or(0, |(frame, _)| frame + PAUSE / 2);
    start + MIN_WINDOW + frame * FRAME
}

/// Whether there is anything to hear.
pub(super) fn is_silent(samples: &[f32]) -> bool {
    samples.chunks(FRAME).all(|frame| energy(frame).sqrt() < QUIET)
}

/// Whether somebody speaks in most of a piece: it is about as loud as the rest.
pub(super) fn goes_on(piece: &[f32], whole: &[f32]) -> bool {
    let mut loudness: Vec<f32> = whole.chunks(FRAME).map(energy).collect();
    if loudness.is_empty() || piece.is_empty() {
        return false;
    }
    let speech = loudness.len() * 7 / 10;
    let speech = *loudness.select_nth_unstable_by(speech, f32::total_cmp).1;
    let frames: Vec<f32> = piece.chunks(FRAME).map(energy).collect();
    let loud = frames.iter().filter(|energy| **energy > speech / 4.0).count();
    loud * 3 > frames.len()
}

fn energy(frame: &[f32]) -> f32 {
    frame.iter().map(|sample| sample * sample).sum::<f32>() / frame.len().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(seconds: f32) -> Vec<f32> {
        (0..(seconds * SAMPLE_RATE as f32) as usize).map(|at| 0.3 * (at as f32 * 0.2).sin()).collect()
    }

    #[test]
    fn recordings_are_cut_in_pauses() {
        let mut samples = tone(40.0);
        let pause = (25.0 * SAMPLE_RATE as f32) as usize;
        samples[pause..pause + SAMPLE_RATE / 2].fill(0.0);
        let end = window_end(&samples, 0);
        assert!((pause..pause + SAMPLE_RATE / 2).contains(&end), "{end}");
        assert_eq!(window_end(&samples, end), samples.len());
        // Without a pause it is still cut in time.
        let even = tone(70.0);
        let mut at = 0;
        while at < even.len() {
            let end = window_end(&even, at);
            assert!(end > at && end - at <= WINDOW);
            at = end;
        }
    }

    #[test]
    fn silence_is_told_from_speech() {
        assert!(is_silent(&[0.0; 5_000]) && is_silent(&[]));
        assert!(!is_silent(&tone(0.5)));
        let mut samples = tone(10.0);
        assert!(goes_on(&samples[..SAMPLE_RATE], &samples));
        samples.extend(vec![0.0; SAMPLE_RATE * 3]);
        assert!(!goes_on(&samples[10 * SAMPLE_RATE..], &samples));
    }
}
