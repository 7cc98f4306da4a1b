//! Checks before anything is bound or indexed: a capability that was asked for by name has what it needs.
//!
//! Nothing needs a key by default. What is left at `auto` makes do with what there is.

use super::error::{Problem, Problems};
use super::keys::Key;
use super::settings::{AudioMode, ImageMode, PdfMode, Provider, SttProvider};
use super::{ConfigError, Loaded};
use crate::secrets::SecretName;

/// Passes, perhaps with warnings, or says what is missing.
pub(crate) fn preflight(loaded: &Loaded) -> Result<Vec<String>, ConfigError> {
    let (settings, values) = (&loaded.settings, &loaded.values);
    let (mut problems, mut warnings) = (Problems::default(), Vec::new());

    for (key, provider) in
        [(Key::EmbedProvider, settings.models.embed), (Key::OcrProvider, settings.models.ocr)]
    {
        if provider == Provider::Mistral {
            let path = super::keys::Spec::of(key).path;
            require(loaded, SecretName::MistralApiKey, format!("{path}: mistral"))?;
            let message = format!("{path}: mistral is not available yet; use auto");
            problems.push(Problem::at(values.origin(key).clone(), message));
        }
    }

    let ocr_asked = [
        (Key::IngestPdfMode, settings.ingest.pdf == PdfMode::Ocr, "ingest.pdf.mode: ocr", "PDF files"),
        (
            Key::IngestImagesMode,
            settings.ingest.images == ImageMode::OcrOn,
            "ingest.images.mode: ocr_on",
            "images",
        ),
    ];
    for (key, on, setting, what) in ocr_asked {
        if on && values.is_explicit(key) {
            if settings.models.ocr != Provider::Builtin {
                require(loaded, SecretName::MistralApiKey, setting.into())?;
            }
            warnings.push(format!("{setting}: {what} are listed but not read yet in this version"));
        }
    }
    if settings.ingest.audio == AudioMode::On && values.is_explicit(Key::IngestAudioMode) {
        let name = match settings.models.stt {
            SttProvider::Mistral => SecretName::MistralSttApiKey,
            SttProvider::Elevenlabs => SecretName::ElevenlabsApiKey,
        };
        require(loaded, name, "ingest.audio.mode: on".into())?;
        warnings.push(
            "ingest.audio.mode: on: audio files are listed but not transcribed yet in this version".into(),
        );
    }
    problems.into_result()?;
    Ok(warnings)
}

fn require(loaded: &Loaded, name: SecretName, needed_by: String) -> Result<(), ConfigError> {
    match loaded.secrets.get(name) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(ConfigError::MissingSecret { name, needed_by }),
        Err(error) => Err(ConfigError::one(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FILE_NAME;
    use crate::config::tests::load_in;

    const MISTRAL: (&str, &str) = ("MISTRAL_API_KEY", "k");

    fn check(yaml: &str, env: &[(&str, &str)]) -> Result<Vec<String>, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), yaml).unwrap();
        preflight(&load_in(dir.path(), &["up"], env).unwrap())
    }

    fn missing(yaml: &str, env: &[(&str, &str)]) -> &'static str {
        match check(yaml, env) {
            Err(ConfigError::MissingSecret { name, .. }) => name.variable(),
            other => panic!("{yaml}: {other:?}"),
        }
    }

    #[test]
    fn d034_nothing_is_needed_by_default() {
        assert_eq!(check("", &[]).unwrap(), [""; 0]);
        assert_eq!(
            check("embed: {provider: auto}\nstt: {provider: elevenlabs}\n", &[MISTRAL]).unwrap(),
            [""; 0]
        );
        assert_eq!(
            check("embed: {provider: builtin}\ningest: {audio: {mode: auto}}\n", &[]).unwrap(),
            [""; 0]
        );
    }

    #[test]
    fn d040_an_embedder_named_without_its_key() {
        assert_eq!(missing("embed: {provider: mistral}", &[]), "MISTRAL_API_KEY");
        let later = check("embed: {provider: mistral}", &[MISTRAL]).unwrap_err().to_string();
        assert!(later.contains("embed.provider: mistral is not available yet"), "{later}");
    }

    #[test]
    fn d041_reading_pictures_switched_on_without_a_key() {
        assert_eq!(missing("ocr: {provider: mistral}", &[]), "MISTRAL_API_KEY");
        assert_eq!(missing("ingest: {pdf: {mode: ocr}}", &[]), "MISTRAL_API_KEY");
        assert_eq!(missing("ingest: {images: {mode: ocr_on}}", &[]), "MISTRAL_API_KEY");
        assert_eq!(check("ingest: {pdf: {mode: ocr}}", &[MISTRAL]).unwrap().len(), 1);
        assert_eq!(check("ingest: {pdf: {mode: auto}, images: {mode: ocr_auto}}", &[]).unwrap(), [""; 0]);
        assert_eq!(check("ocr: {provider: builtin}\ningest: {pdf: {mode: ocr}}", &[]).unwrap().len(), 1);
    }

    #[test]
    fn d042_transcription_switched_on_without_a_key() {
        assert_eq!(missing("ingest: {audio: {mode: on}}", &[]), "MISTRAL_API_KEY");
        let elevenlabs = "ingest: {audio: {mode: on}}\nstt: {provider: elevenlabs}\n";
        assert_eq!(missing(elevenlabs, &[MISTRAL]), "ELEVENLABS_API_KEY");
        assert_eq!(check(elevenlabs, &[("ELEVENLABS_API_KEY", "k")]).unwrap().len(), 1);
    }
}
