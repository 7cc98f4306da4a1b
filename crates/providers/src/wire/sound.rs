//! Recordings on their way to a service: files as they are, samples as a WAV file.

use bytes::Bytes;
use model::Audio;

use crate::wav;

/// Samples a second of what ports exchange.
const RATE: u32 = 16_000;

/// A file that a service understands: its bytes, name and media type.
pub(crate) fn sound_file(audio: Audio<'_>) -> (Bytes, String, String) {
    match audio {
        Audio::File { bytes, name, media_type } => {
            (Bytes::copy_from_slice(bytes), file_name(name), media_type.to_owned())
        }
        Audio::Samples(samples) => {
            let numbers = samples.iter().map(|sample| (sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i16);
            let bytes: Vec<u8> = numbers.flat_map(i16::to_le_bytes).collect();
            (Bytes::from(wav::write(RATE, &bytes)), "recording.wav".to_owned(), "audio/wav".to_owned())
        }
    }
}

/// The length of a recording in milliseconds, where it is known without decoding.
pub(crate) fn sample_duration_ms(audio: Audio<'_>) -> Option<u64> {
    match audio {
        Audio::Samples(samples) => Some(samples.len() as u64 * 1000 / u64::from(RATE)),
        Audio::File { .. } => None,
    }
}

/// The last part of a path: where a file lies is not the provider's business. Its ending tells the format.
fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if ending.is_empty() || ending.len() > 5 || !ending.chars().all(|c| c.is_ascii_alphanumeric()) {
        "recording".to_owned()
    } else {
        format!("recording.{}", ending.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_a_wav_file() {
        let (bytes, name, media_type) = sound_file(Audio::Samples(&[0.0, 1.0, -2.0]));
        assert_eq!((name.as_str(), media_type.as_str()), ("recording.wav", "audio/wav"));
        assert_eq!(bytes.len(), 44 + 6);
        assert_eq!(&bytes[40..], [6, 0, 0, 0, 0, 0, 255, 127, 1, 128]);
        assert_eq!(sample_duration_ms(Audio::Samples(&[0.0; 8000])), Some(500));
    }

    #[test]
    fn a_provider_learns_the_ending_and_not_the_name() {
        for (path, expected) in [
            ("calls/2024/Müller vs. Smith.MP3", "recording.mp3"),
            ("noise", "recording"),
            ("x.verylongending", "recording"),
        ] {
            assert_eq!(file_name(path), expected, "{path}");
        }
    }
}
