//! Checks before anything is bound or indexed: a capability that was asked for by name has what it needs.
//!
//! Nothing needs a key by default. What is left at `auto` makes do with what there is.

use model::DocType;

use super::error::{Problem, Problems};
use super::keys::{Key, KeySpec};
use super::options::ValueOrigin;
use super::settings::{AudioMode, ImageMode, ModelProvider, PdfMode, SttProvider};
use super::{ConfigError, Loaded};
use crate::print::safe;
use crate::secrets::SecretName;

/// Keys that describe a payment; `x402.mode` decides whether there is one.
const PAYMENT_DETAILS: [Key; 9] = [
    Key::X402FacilitatorUrl,
    Key::X402FacilitatorTokenFile,
    Key::X402ResourceBaseUrl,
    Key::X402ToolsCallEnabled,
    Key::X402Price,
    Key::X402Network,
    Key::X402Scheme,
    Key::X402Asset,
    Key::X402PayTo,
];

/// Passes, perhaps with warnings, or says what is missing. `present` says whether the root holds files of a type: what
/// reads them needs its credentials only where there is something to read.
pub(crate) fn preflight(
    loaded: &Loaded,
    present: &dyn Fn(DocType) -> bool,
) -> Result<Vec<String>, ConfigError> {
    let (settings, values) = (&loaded.settings, &loaded.values);
    let (mut problems, mut warnings) = (Problems::default(), Vec::new());

    for (key, provider) in
        [(Key::EmbedProvider, settings.models.embed), (Key::OcrProvider, settings.models.ocr)]
    {
        if provider == ModelProvider::Mistral {
            let path = KeySpec::of(key).path;
            require(loaded, SecretName::MistralApiKey, key, "")?;
            let message = format!("{path}: mistral is not available yet; use auto");
            problems.push(Problem::at(values.origin(key).clone(), message));
        }
    }

    let stt = match settings.models.stt {
        SttProvider::Mistral => SecretName::MistralSttApiKey,
        SttProvider::Elevenlabs => SecretName::ElevenlabsApiKey,
    };
    let ocr = (settings.models.ocr != ModelProvider::Builtin).then_some(SecretName::MistralApiKey);
    let (pdf, images, audio) = (settings.ingest.pdf, settings.ingest.images, settings.ingest.audio);
    for (key, on, doc_type, what, name) in [
        (Key::IngestPdfMode, pdf == PdfMode::Ocr, DocType::Pdf, "PDF files", ocr),
        (Key::IngestImagesMode, images == ImageMode::OcrOn, DocType::Image, "images", ocr),
        (Key::IngestAudioMode, audio == AudioMode::On, DocType::Audio, "audio files", Some(stt)),
    ] {
        if !on || !values.is_explicit(key) || !present(doc_type) {
            continue;
        }
        if let Some(name) = name {
            require(loaded, name, key, what)?;
        }
        let not_yet = match doc_type {
            DocType::Pdf => {
                "the text that PDF files hold is read; their pictures are not yet in this version"
            }
            DocType::Image => "images are listed but not read yet in this version",
            _ => "audio files are listed but not transcribed yet in this version",
        };
        warnings.push(format!("{}: {}: {not_yet}", KeySpec::of(key).path, values.text(key)));
    }
    warnings.extend(unused(loaded));
    problems.into_result()?;
    Ok(warnings)
}

/// What was set for this run and has no effect: models that nothing will use, and payments while they are off.
fn unused(loaded: &Loaded) -> Vec<String> {
    let (settings, values) = (&loaded.settings, &loaded.values);
    let embeds = settings.models.embed == ModelProvider::Mistral;
    [
        (Key::MistralEmbedTextModel, embeds, "embed.provider is not mistral, so the built-in table embeds"),
        (Key::MistralEmbedCodeModel, embeds, "embed.provider is not mistral, so the built-in table embeds"),
        (
            Key::MistralChatModel,
            false,
            "answers are made of the passages found, by no model, in this version",
        ),
    ]
    .into_iter()
    .chain(PAYMENT_DETAILS.map(|key| (key, values.text(Key::X402Mode) != "off", "x402.mode is off")))
    .filter(|(_, used, _)| !used)
    .filter_map(|(key, _, why)| match values.origin(key) {
        origin @ (ValueOrigin::Flag(_) | ValueOrigin::Env { .. }) => {
            Some(format!("{origin} has no effect: {why}"))
        }
        _ => None,
    })
    .collect()
}

/// `what` are the files that need it, where it is not the setting alone.
fn require(loaded: &Loaded, name: SecretName, key: Key, what: &str) -> Result<(), ConfigError> {
    match loaded.secrets.get(name) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let place = match loaded.values.origin(key) {
                ValueOrigin::File { path, line } => format!(" ({}:{line})", safe(&path.to_string_lossy())),
                origin => format!(" ({origin})"),
            };
            let files = if what.is_empty() { String::new() } else { format!(", and there are {what}") };
            let needed_by = format!("{}: {}{place}{files}", KeySpec::of(key).path, loaded.values.text(key));
            Err(ConfigError::MissingSecret { name, needed_by })
        }
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
        preflight(&load_in(dir.path(), &["up"], env).unwrap(), &|_| true)
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
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "ingest: {pdf: {mode: ocr}, images: {mode: ocr_on}}")
            .unwrap();
        let loaded = load_in(dir.path(), &["up"], &[]).unwrap();
        assert_eq!(preflight(&loaded, &|_| false).unwrap(), [""; 0], "nothing is there to be read");
        let missing = preflight(&loaded, &|doc_type| doc_type == DocType::Image).unwrap_err();
        let ConfigError::MissingSecret { needed_by, .. } = missing else { panic!("{missing:?}") };
        assert!(
            needed_by.starts_with("ingest.images.mode: ocr_on (") && needed_by.ends_with("there are images")
        );
        assert_eq!(check("ingest: {pdf: {mode: auto}, images: {mode: ocr_auto}}", &[]).unwrap(), [""; 0]);
        assert_eq!(check("ocr: {provider: builtin}\ningest: {pdf: {mode: ocr}}", &[]).unwrap().len(), 1);
    }

    #[test]
    fn a_model_that_nothing_uses_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let said = |arguments: &[&str], env: &[(&str, &str)]| {
            preflight(&load_in(dir.path(), arguments, env).unwrap(), &|_| false).unwrap()
        };
        let flags =
            said(&["up", "--embed-model-text", "a", "--embed-model-code", "b", "--chat-model", "c"], &[]);
        assert_eq!(flags.len(), 3);
        assert!(flags[0].starts_with("flag --embed-model-text has no effect: "), "{flags:?}");
        assert!(
            said(&["up"], &[("DIR2MCP_CHAT_MODEL", "c")])[0]
                .starts_with("env DIR2MCP_CHAT_MODEL has no effect")
        );
        assert_eq!(said(&["up"], &[]), [""; 0]);
    }

    #[test]
    fn payment_flags_without_payments_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["up", "--x402-price", "5", "--x402-asset", "USDC"], &[]).unwrap();
        let said = preflight(&loaded, &|_| false).unwrap();
        assert_eq!(said[0], "flag --x402-price has no effect: x402.mode is off");
        assert_eq!(said.len(), 2, "{said:?}");
    }

    #[test]
    fn d042_transcription_switched_on_without_a_key() {
        assert_eq!(missing("ingest: {audio: {mode: on}}", &[]), "MISTRAL_API_KEY");
        let elevenlabs = "ingest: {audio: {mode: on}}\nstt: {provider: elevenlabs}\n";
        assert_eq!(missing(elevenlabs, &[MISTRAL]), "ELEVENLABS_API_KEY");
        assert_eq!(check(elevenlabs, &[("ELEVENLABS_API_KEY", "k")]).unwrap().len(), 1);
    }
}
