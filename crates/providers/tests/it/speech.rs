//! Recordings become text, and text becomes sound.

use std::sync::Arc;

use model::{Audio, Capability, SpeechFormat, TranscribeInput, Transcriber, Transcript};
use providers::elevenlabs::ElevenLabs;
use testkit::standins::{Fault, Said, StandIn};

use crate::world::World;

fn elevenlabs(world: &World, stand_in: &StandIn) -> ElevenLabs {
    let account = world.account(stand_in, stand_in.key());
    ElevenLabs::new(account, Arc::clone(&world.core)).unwrap()
}

fn all(world: &World) -> Vec<(StandIn, Arc<dyn Transcriber>)> {
    let stand_ins = [StandIn::mistral(), StandIn::elevenlabs(), StandIn::openai()];
    for stand_in in &stand_ins {
        stand_in.hear(|_| {
            let said = |start_ms, end_ms, text: &str| Said { start_ms, end_ms, text: text.into() };
            Some(vec![said(0, 4500, "The lamp was lit at six."), said(6000, 9000, "Then the fog came.")])
        });
    }
    let transcribers = [
        world.mistral(&stand_ins[0]).transcriber("voxtral-mini-latest"),
        elevenlabs(world, &stand_ins[1]).transcriber("scribe_v2"),
        world.openai(&stand_ins[2]).transcriber("whisper-1"),
    ];
    stand_ins.into_iter().zip(transcribers).collect()
}

fn recording(language: Option<&str>, timestamps: bool) -> TranscribeInput<'_> {
    let audio = Audio::File { bytes: &[7; 160_000], name: "calls/fog.mp3", media_type: "audio/mpeg" };
    TranscribeInput { audio, language, timestamps, on_progress: None }
}

/// What is the same for every provider.
fn heard(transcript: &Transcript) -> Vec<(u64, u64, &str)> {
    let segments = transcript.segments.iter();
    segments.map(|segment| (segment.start_ms, segment.end_ms, segment.text.as_str())).collect()
}

#[tokio::test]
async fn d107_every_provider_gives_the_same_transcript() {
    let world = World::new();
    for (stand_in, transcriber) in all(&world) {
        let transcript = transcriber.transcribe(recording(Some("en"), true)).await.unwrap();
        let expected = [(0, 4500, "The lamp was lit at six."), (6000, 9000, "Then the fog came.")];
        assert_eq!(heard(&transcript), expected, "{}", transcriber.provider());
        assert!(transcript.has_times);
        assert_eq!(transcript.duration_ms, 10_000);
        assert_eq!(transcript.provider, transcriber.provider());
        assert_eq!(transcript.model, transcriber.model());
        let file = stand_in.last_request().file().unwrap();
        assert_eq!(file.file_name.as_deref(), Some("recording.mp3"), "its real name stays here");
        assert_eq!((file.media_type.as_deref(), file.value.len()), (Some("audio/mpeg"), 160_000));
    }
    let used = world.used();
    assert!(
        used.iter().all(|(_, _, what, used)| *what == Capability::Stt && used.audio_ms == 10_000),
        "{used:?}"
    );
    assert_eq!(used.len(), 3);
}

#[tokio::test]
async fn without_times_there_is_one_segment() {
    let world = World::new();
    for (_stand_in, transcriber) in all(&world) {
        let transcript = transcriber.transcribe(recording(None, false)).await.unwrap();
        assert!(!transcript.has_times);
        assert_eq!(heard(&transcript), [(0, 0, "The lamp was lit at six. Then the fog came.")]);
    }
}

#[tokio::test]
async fn samples_are_sent_as_a_wav_file() {
    let world = World::new();
    for (stand_in, transcriber) in all(&world) {
        let audio = Audio::Samples(&[0.0; 32_000]);
        let input = TranscribeInput { audio, language: None, timestamps: true, on_progress: None };
        assert_eq!(transcriber.transcribe(input).await.unwrap().duration_ms, 2000);
        assert_eq!(stand_in.counts().audio_ms, 2000);
        assert_eq!(stand_in.last_request().file().unwrap().file_name.as_deref(), Some("recording.wav"));
    }
}

#[tokio::test]
async fn a_model_without_times_is_asked_for_text_alone() {
    let (world, stand_in) = (World::new(), StandIn::openai());
    let transcriber = world.openai(&stand_in).transcriber("gpt-4o-transcribe");
    stand_in.then([Fault::Refuse("response_format 'verbose_json' is not compatible with this model".into())]);
    let transcript = transcriber.transcribe(recording(None, true)).await.unwrap();
    assert!(!transcript.has_times && transcript.segments.len() == 1);
}

#[tokio::test]
async fn d108_text_is_read_aloud_as_mp3_or_wav() {
    let (world, labs, openai) = (World::new(), StandIn::elevenlabs(), StandIn::openai());
    let speakers = [
        elevenlabs(&world, &labs).speaker("eleven_multilingual_v2", "voice1"),
        world.openai(&openai).speaker("tts-1", "alloy"),
    ];
    for speaker in &speakers {
        let mp3 = speaker.speak("Hello there.", None, SpeechFormat::Mp3).await.unwrap();
        assert!(mp3.starts_with(&[0xff, 0xfb]), "{}", speaker.provider());
        let wav = speaker.speak("Hello there.", Some("other"), SpeechFormat::Wav).await.unwrap();
        assert!(wav.starts_with(b"RIFF") && wav[8..16] == *b"WAVEfmt " && wav.len() == 44 + 12 * 480);
        let error = speaker.speak(&"x".repeat(20_000), None, SpeechFormat::Mp3).await.unwrap_err();
        assert!(error.to_string().contains("20000 characters"), "{error}");
    }
    let paths: Vec<String> = labs.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/text-to-speech/voice1", "/v1/text-to-speech/other"]);
    let used = world.used();
    assert!(used.iter().all(|(.., used)| used.characters == 12 && used.calls == 1), "{used:?}");
    let error = speakers[0].speak("x", Some("../models"), SpeechFormat::Mp3).await.unwrap_err();
    assert!(error.to_string().contains("not the id of a voice"), "{error}");
}
