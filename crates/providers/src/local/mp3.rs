//! Packs speech as MP3.

use oxideav_mp3::{ChannelMode, Mp3Encoder};

use crate::wav::Sound;

/// Enough for one voice.
const KILOBITS: u32 = 64;

/// One channel, at the rate of the sound: one of those that MP3 knows.
pub(super) fn encode(sound: &Sound) -> Result<Vec<u8>, String> {
    let failed = |error| format!("the sound could not be packed as MP3: {error:?}");
    let mut encoder = Mp3Encoder::new(KILOBITS, sound.rate, ChannelMode::SingleChannel).map_err(failed)?;
    encoder.push_samples(&sound.samples).map_err(failed)?;
    let mut file = Vec::new();
    encoder.finish(&mut file).map_err(failed)?;
    Ok(file)
}
