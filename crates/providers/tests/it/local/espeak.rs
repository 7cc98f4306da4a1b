//! Reading aloud with the installed espeak-ng.

use model::{Speaker, SpeechFormat};
use providers::local::Espeak;

use super::installed_program;

fn speak(text: &str, voice: Option<&str>, format: SpeechFormat) -> Result<Vec<u8>, model::ProviderError> {
    let espeak = Espeak::new(installed_program("espeak-ng"), None).unwrap();
    assert!(espeak.model().starts_with("espeak-ng-1"), "{}", espeak.model());
    futures::executor::block_on(espeak.speak(text, voice, format))
}

#[test]
fn a_text_becomes_a_sound_of_the_length_that_its_header_says() {
    let wav = speak("The keeper writes a line each night.", None, SpeechFormat::Wav).unwrap();
    assert!(wav.starts_with(b"RIFF") && &wav[8..12] == b"WAVE");
    let stated = u32::from_le_bytes(wav[40..44].try_into().unwrap()) as usize;
    assert_eq!(stated, wav.len() - 44);
    let seconds = stated as f32 / 2.0 / 22_050.0;
    assert!((1.5..6.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_voice_cannot_be_an_option() {
    let plain = speak("Eins, zwei, drei.", Some("de"), SpeechFormat::Wav).unwrap();
    assert!(plain.len() > 20_000);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("written");
    // `-w FILE` would write a file.
    let _ = speak("One.", Some(&format!(" -w {}", target.display())), SpeechFormat::Wav);
    assert!(!target.exists());
}

#[test]
fn a_text_becomes_an_mp3_that_others_read() {
    let text = "The keeper writes a line each night, and the lamp turns once in twelve seconds.";
    let wav = speak(text, None, SpeechFormat::Wav).unwrap();
    let mp3 = speak(text, None, SpeechFormat::Mp3).unwrap();
    assert!(mp3.len() * 3 < wav.len(), "{} {}", mp3.len(), wav.len());
    let samples = decode(mp3);
    let spoken: Vec<f32> = wav[44..]
        .as_chunks::<2>()
        .0
        .iter()
        .map(|bytes| f32::from(i16::from_le_bytes(*bytes)) / 32768.0)
        .collect();
    assert!(samples.len().abs_diff(spoken.len()) < 5_000, "{} {}", samples.len(), spoken.len());
    // Both sound alike: the same once the delay of packing is taken away.
    let likeness = |delay: usize| {
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for (a, b) in spoken.iter().take(22_050).zip(&samples[delay..]) {
            both += a * b;
            one += a * a;
            other += b * b;
        }
        both / f32::sqrt(one * other)
    };
    let best = (0..3_000).map(likeness).fold(0.0, f32::max);
    assert!(best > 0.95, "{best}");
}

/// Decodes with another library than the one that wrote it.
fn decode(mp3: Vec<u8>) -> Vec<f32> {
    use symphonia::core::codecs::audio::AudioDecoderOptions;
    use symphonia::core::formats::probe::Hint;
    use symphonia::core::formats::{FormatOptions, TrackType};
    use symphonia::core::io::MediaSourceStream;
    use symphonia::core::meta::MetadataOptions;

    let source = MediaSourceStream::new(Box::new(std::io::Cursor::new(mp3)), Default::default());
    let mut format = symphonia::default::get_probe()
        .probe(&Hint::new(), source, FormatOptions::default(), MetadataOptions::default())
        .unwrap();
    let track = format.default_track(TrackType::Audio).unwrap();
    let parameters = track.codec_params.as_ref().unwrap().audio().unwrap();
    assert_eq!(parameters.sample_rate, Some(22_050));
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .unwrap();
    let mut samples = Vec::new();
    while let Some(packet) = format.next_packet().unwrap() {
        let mut piece = Vec::new();
        decoder.decode(&packet).unwrap().copy_to_vec_interleaved::<f32>(&mut piece);
        samples.extend(piece);
    }
    samples
}
