//! Reading aloud with the installed espeak-ng.

use model::{Speaker, SpeechFormat};
use providers::local::Espeak;

use super::installed_program;

fn speak(text: &str, voice: Option<&str>) -> Result<Vec<u8>, model::ProviderError> {
    let espeak = Espeak::new(installed_program("espeak-ng"), None).unwrap();
    assert!(espeak.model().starts_with("espeak-ng-1"), "{}", espeak.model());
    futures::executor::block_on(espeak.speak(text, voice, SpeechFormat::Wav))
}

#[test]
fn a_text_becomes_a_sound_of_the_length_that_its_header_says() {
    let wav = speak("The keeper writes a line each night.", None).unwrap();
    assert!(wav.starts_with(b"RIFF") && &wav[8..12] == b"WAVE");
    let stated = u32::from_le_bytes(wav[40..44].try_into().unwrap()) as usize;
    assert_eq!(stated, wav.len() - 44);
    let seconds = stated as f32 / 2.0 / 22_050.0;
    assert!((1.5..6.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_voice_cannot_be_an_option() {
    let plain = speak("Eins, zwei, drei.", Some("de")).unwrap();
    assert!(plain.len() > 20_000);
    let error = speak("One.", Some("no-such-voice")).unwrap_err();
    assert!(error.to_string().contains("espeak-ng"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("written");
    // `-w FILE` would write a file.
    let _ = speak("One.", Some(&format!(" -w {}", target.display())));
    assert!(!target.exists());
}
