//! Recordings: every format gives the tone that it holds, for as long as it lasts.

use std::f64::consts::TAU;
use std::ops::ControlFlow;

use extract::audio::{CHUNK_SAMPLES, RecordingInfo, SAMPLE_RATE, probe, samples};
use extract::{Format, Limits, sniff};
use model::SkipReason;

use crate::pictures::fixture;

fn hear(name: &str, bytes: &[u8], limits: &Limits) -> Result<(Vec<f32>, RecordingInfo), SkipReason> {
    let format = sniff(name, bytes).expect("known by its name or its content");
    assert!(format.is_recording() && format.media_type().is_some());
    let mut heard = Vec::new();
    let info = samples(format, name, bytes, limits, &mut |chunk| {
        assert!(!chunk.is_empty() && chunk.len() <= CHUNK_SAMPLES);
        assert!(chunk.iter().all(|sample| sample.abs() <= 1.0));
        heard.extend_from_slice(chunk);
        ControlFlow::Continue(())
    })?;
    Ok((heard, info.expect("it was heard to the end")))
}

/// How much of a frequency there is, from 0 to 1 for a full tone.
fn strength(samples: &[f32], frequency: f64) -> f64 {
    let turn = frequency * TAU / f64::from(SAMPLE_RATE);
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (at, sample) in samples.iter().enumerate() {
        let angle = turn * at as f64;
        sine += f64::from(*sample) * angle.sin();
        cosine += f64::from(*sample) * angle.cos();
    }
    sine.hypot(cosine) * 2.0 / samples.len() as f64
}

/// 440 Hz, and nothing of its neighbours.
#[track_caller]
fn is_tone(name: &str, heard: &[f32], seconds: f64) {
    let expected = seconds * f64::from(SAMPLE_RATE);
    let off = (heard.len() as f64 - expected).abs();
    // An encoder without a note on its padding adds up to two frames.
    assert!(off <= f64::from(SAMPLE_RATE) * 0.06, "{name}: {} samples, {expected} expected", heard.len());
    let middle = &heard[heard.len() / 10..heard.len() * 9 / 10];
    let at = strength(middle, 440.0);
    assert!((0.3..0.7).contains(&at), "{name}: {at}");
    for other in [220.0, 400.0, 480.0, 880.0, 1320.0] {
        assert!(strength(middle, other) < at / 8.0, "{name}: {other}");
    }
}

/// The oldest of formats, which the tests make themselves.
fn wav(rate: u32, channels: u16, seconds: f64, frequency: f64) -> Vec<u8> {
    let frames = (f64::from(rate) * seconds) as u32;
    let size = frames * u32::from(channels) * 2;
    let mut out = b"RIFF".to_vec();
    out.extend((36 + size).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    out.extend(channels.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend((rate * u32::from(channels) * 2).to_le_bytes());
    out.extend((channels * 2).to_le_bytes());
    out.extend(b"\x10\0data");
    out.extend(size.to_le_bytes());
    for frame in 0..frames {
        let value = (f64::from(frame) / f64::from(rate) * frequency * TAU).sin() * 0.5;
        for _ in 0..channels {
            out.extend(((value * 32767.0) as i16).to_le_bytes());
        }
    }
    out
}

#[test]
fn every_format_is_heard() {
    for (name, codec, rate, channels, seconds) in [
        ("tone.mp3", "mp3", 44_100, 1, 1.0),
        ("tone.flac", "flac", 22_050, 1, 0.3),
        ("tone.ogg", "vorbis", 44_100, 2, 1.0),
        ("tone.m4a", "aac", 44_100, 2, 1.0),
        ("tone.alac.m4a", "alac", 22_050, 1, 0.3),
        ("tone.aac", "aac", 44_100, 1, 1.0),
        ("tone.aiff", "pcm_s16be", 22_050, 1, 0.4),
    ] {
        let bytes = fixture(name);
        let (heard, info) =
            hear(name, &bytes, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        is_tone(name, &heard, seconds);
        assert_eq!((info.codec.as_str(), info.sample_rate, info.channels), (codec, rate, channels), "{name}");
        assert_eq!(info.duration_ms, Some(heard.len() as u64 * 1000 / 16_000), "{name}");
        assert_eq!(info.damaged_packets, 0, "{name}");
        let probed = probe(sniff(name, &bytes).unwrap(), name, &bytes, &Limits::default()).unwrap();
        assert!(probed.decodable && probed.codec == codec, "{name}: {probed:?}");
        if let Some(duration) = probed.duration_ms {
            assert!((duration as f64 - seconds * 1000.0).abs() < 60.0, "{name}: {duration}");
        }
        // Its content tells what it is, whatever it is called.
        assert_eq!(sniff("unnamed", &bytes), sniff(name, &bytes), "{name}");
    }
}

#[test]
fn rates_and_channels() {
    for (rate, channels) in
        [(8_000, 1), (11_025, 2), (16_000, 1), (22_050, 1), (44_100, 2), (48_000, 6), (96_000, 1)]
    {
        let (heard, info) = hear("a.wav", &wav(rate, channels, 0.5, 440.0), &Limits::default()).unwrap();
        assert_eq!(heard.len() as u32, rate / 2 * SAMPLE_RATE / rate, "{rate}");
        is_tone(&format!("{rate}"), &heard, 0.5);
        assert_eq!((info.sample_rate, info.channels), (rate, u32::from(channels)));
    }
    // What the lower rate cannot hold is not heard as something else.
    let (heard, _) = hear("a.wav", &wav(48_000, 1, 0.5, 15_000.0), &Limits::default()).unwrap();
    assert!(strength(&heard[800..7200], 1000.0) < 0.001, "the tone is folded back");
    assert!(heard[800..7200].iter().all(|sample| sample.abs() < 0.01));
}

#[test]
fn long_recordings_come_piece_by_piece() {
    let bytes = wav(8_000, 1, 25.0, 440.0);
    let mut sizes = Vec::new();
    let visit = &mut |chunk: &[f32]| {
        sizes.push(chunk.len());
        ControlFlow::Continue(())
    };
    samples(Format::Wav, "a.wav", &bytes, &Limits::default(), visit).unwrap();
    assert_eq!(sizes, [CHUNK_SAMPLES, CHUNK_SAMPLES, CHUNK_SAMPLES / 2]);
    let mut count = 0;
    let visit = &mut |_: &[f32]| {
        count += 1;
        ControlFlow::Break(())
    };
    assert_eq!(samples(Format::Wav, "a.wav", &bytes, &Limits::default(), visit), Ok(None));
    assert_eq!(count, 1);
    let limits = Limits { max_recording_seconds: 12, ..Limits::default() };
    let (heard, _) = hear("a.wav", &bytes, &limits).unwrap();
    assert_eq!(heard.len(), 12 * SAMPLE_RATE as usize);
}

#[test]
fn what_cannot_be_decoded_says_so() {
    let bytes = fixture("tone.opus");
    let info = probe(Format::Ogg, "tone.opus", &bytes, &Limits::default()).unwrap();
    assert_eq!((info.codec.as_str(), info.decodable), ("opus", false));
    let refused = hear("tone.opus", &bytes, &Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("opus") && refused.to_string().contains("Vorbis"), "{refused}");
    for bytes in [b"RIFF\0\0\0\0WAVE".to_vec(), b"OggS\0".to_vec(), b"fLaC".to_vec(), b"ID3\x03".to_vec()] {
        let error = hear("a", &bytes, &Limits::default()).unwrap_err();
        assert!(error.is_failure(), "{error}");
    }
    let limits = Limits { max_input_bytes: 10, ..Limits::default() };
    assert!(matches!(hear("tone.opus", &bytes, &limits), Err(SkipReason::TooLarge { .. })));
}

#[test]
fn a_cut_recording_is_heard_up_to_the_cut() {
    for name in ["tone.mp3", "tone.ogg", "tone.aiff", "tone.flac", "tone.aac"] {
        let bytes = fixture(name);
        let (whole, _) = hear(name, &bytes, &Limits::default()).unwrap();
        // The headers of an Ogg are two thirds of so short a file.
        let (part, _) = hear(name, &bytes[..bytes.len() * 4 / 5], &Limits::default()).unwrap();
        assert!(
            part.len() * 5 > whole.len() && part.len() < whole.len(),
            "{name}: {} of {}",
            part.len(),
            whole.len()
        );
    }
    // Noise in the middle costs what it hits.
    let mut bytes = fixture("tone.mp3");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 400].fill(0x55);
    let (heard, _) = hear("tone.mp3", &bytes, &Limits::default()).unwrap();
    assert!(heard.len() > 8_000, "{}", heard.len());
}

#[test]
fn impossible_rates_are_refused() {
    for rate in [0, 1, 1_000_000, u32::MAX / 2] {
        let mut bytes = wav(8_000, 1, 0.1, 440.0);
        bytes[24..28].copy_from_slice(&rate.to_le_bytes());
        assert!(hear("a.wav", &bytes, &Limits::default()).is_err(), "{rate}");
    }
}
