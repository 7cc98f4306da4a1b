//! What stand-ins answer: always the same for the same question.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// A bag of words as a vector: texts with the same words are near to each other.
pub(super) fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut numbers = vec![0.0f32; dimensions];
    for word in words(text) {
        let mut hash = hash(word.as_bytes());
        for _ in 0..4 {
            let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
            if let Some(number) = numbers.get_mut((hash >> 1) as usize % dimensions.max(1)) {
                *number += sign;
            }
            hash = hash.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(23);
        }
    }
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        numbers.iter_mut().for_each(|number| *number /= length);
    } else if let Some(first) = numbers.first_mut() {
        *first = 1.0;
    }
    numbers
}

/// How near two texts are, from 0 to 1.
pub(super) fn nearness(one: &str, other: &str) -> f32 {
    let (one, other) = (vector(one, 512), vector(other, 512));
    one.iter().zip(&other).map(|(a, b)| a * b).sum::<f32>().clamp(0.0, 1.0)
}

/// A vector as JSON, in the encoding that was asked for.
pub(super) fn encoded(vector: &[f32], encoding: &Value) -> Value {
    if encoding == "base64" {
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        return json!(BASE64_STANDARD.encode(bytes));
    }
    json!(vector)
}

/// The media type and the bytes of a `data:` address.
pub(super) fn data_url(url: &str) -> Option<(String, Vec<u8>)> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((media_type.to_owned(), BASE64_STANDARD.decode(data).ok()?))
}

/// How many tokens a text has, near enough.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The length of a recording: exact for plain WAV files, else as if 16 kB were a second.
pub(super) fn duration_ms(bytes: &[u8]) -> u64 {
    let number =
        |at: usize| bytes.get(at..at + 4).map(|four| u32::from_le_bytes(four.try_into().expect("four")));
    let is_wav = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE");
    let rate = number(28).filter(|rate| is_wav && *rate > 0);
    let data = bytes.windows(4).take(4096).position(|window| window == b"data").and_then(|at| number(at + 4));
    match (rate, data) {
        (Some(rate), Some(size)) => u64::from(size) * 1000 / u64::from(rate),
        _ => bytes.len() as u64 / 16,
    }
}

/// Silence, a hundredth of a second for each character.
pub(super) fn silence(text: &str, format: &str) -> (&'static str, Vec<u8>) {
    let hundredths = text.chars().count().max(1);
    if format.starts_with("pcm") {
        return ("audio/pcm", vec![0; hundredths * 480]);
    }
    if format.starts_with("wav") {
        let samples = vec![0u8; hundredths * 480];
        let mut file = b"RIFF".to_vec();
        file.extend((36 + samples.len() as u32).to_le_bytes());
        file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
        file.extend(24_000u32.to_le_bytes());
        file.extend(48_000u32.to_le_bytes());
        file.extend(b"\x02\0\x10\0data");
        file.extend((samples.len() as u32).to_le_bytes());
        file.extend(samples);
        return ("audio/wav", file);
    }
    // Empty frames of MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 26 ms each.
    let mut file = Vec::new();
    for _ in 0..hundredths.div_ceil(2) {
        file.extend([0xff, 0xfb, 0x90, 0x64]);
        file.resize(file.len() + 413, 0);
    }
    ("audio/mpeg", file)
}

/// What is said when a test gave no text for a picture or a recording.
pub(super) fn invented(what: &str, bytes: &[u8]) -> String {
    format!("{what} {:08x} of {} bytes.", hash(bytes) as u32, bytes.len())
}

/// An answer in pieces, as a model streams it.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(' ').collect()
}

/// The words that say something.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    const EMPTY: [&str; 14] =
        ["", "a", "an", "and", "are", "as", "at", "for", "in", "is", "of", "the", "to", "was"];
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| !EMPTY.contains(&word.as_str()))
}

/// FNV-1a, mixed once more, since its low bits alone decide places.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_the_same_words_are_near() {
        assert!(nearness("the lighthouse keeper", "keeper of the lighthouse") > 0.7);
        assert!(nearness("the lighthouse keeper", "tax returns") < 0.2);
    }

    #[test]
    fn a_recording_knows_its_length() {
        let (_, file) = silence(&"x".repeat(250), "wav");
        assert_eq!(duration_ms(&file), 2500);
        assert_eq!(duration_ms(&[0; 16_000]), 1000);
    }
}
