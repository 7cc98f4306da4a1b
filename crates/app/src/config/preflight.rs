//! Checks before anything is bound or indexed: a capability that was asked for by name has what it needs.
//!
//! Nothing needs a key by default. What is left at `auto` makes do with what there is.

use model::{Capability, DocType};

use super::error::{Problem, Problems};
use super::keys::{Key, KeySpec};
use super::options::ValueOrigin;
use super::settings::{AudioMode, ImageMode, PdfMode, ProviderChoice};
use super::{ConfigError, Loaded};
use crate::capabilities::{Assignment, Capabilities, Lack, NO_LOCAL_OCR};
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
    found: &Capabilities,
    present: &dyn Fn(DocType) -> bool,
) -> Result<Vec<String>, ConfigError> {
    let (mut problems, mut warnings) = (Problems::default(), Vec::new());
    for assignment in found.all().into_iter().filter(|assignment| assignment.is_named) {
        // Transcription that is left at `auto` makes do without; see below.
        if assignment.capability != Capability::Stt {
            require(loaded, assignment, assignment.key, "", &mut problems)?;
        }
    }

    let settings = &loaded.settings;
    let (pdf, images, audio) = (settings.ingest.pdf, settings.ingest.images, settings.ingest.audio);
    for (key, on, doc_type, what, assignment) in [
        (Key::IngestPdfMode, pdf == PdfMode::Ocr, DocType::Pdf, "PDF files", &found.ocr),
        (Key::IngestImagesMode, images == ImageMode::OcrOn, DocType::Image, "images", &found.ocr),
        (Key::IngestAudioMode, audio == AudioMode::On, DocType::Audio, "audio files", &found.stt),
    ] {
        if on && loaded.values.is_explicit(key) && present(doc_type) {
            require(loaded, assignment, key, what, &mut problems)?;
        }
    }
    if let (AudioMode::Auto, Some(lack)) = (audio, &found.stt.lacks)
        && present(DocType::Audio)
    {
        let lack = match lack {
            Lack::Secret(name) => format!("there is no {}", name.variable()),
            Lack::Means(sentence) => sentence.clone(),
        };
        let provider = found.stt.provider.as_str();
        warnings.push(format!("stt.provider: {provider}: audio files are not transcribed: {lack}"));
    }
    warnings.extend(unused(loaded, found));
    problems.into_result()?;
    Ok(warnings)
}

/// What was set for this run and has no effect: models that nothing will use, and payments while they are off.
fn unused(loaded: &Loaded, found: &Capabilities) -> Vec<String> {
    let is_mistral = |assignment: &Assignment| assignment.usable() == ProviderChoice::Mistral;
    let why = |assignment: &Assignment, instead: &str| {
        format!("{} is {}{instead}", KeySpec::of(assignment.key).path, assignment.provider.as_str())
    };
    let openai = |assignment: &Assignment, key: Key| match assignment.provider {
        ProviderChoice::Openai => format!("; its model is {}", KeySpec::of(key).path),
        _ => String::new(),
    };
    let embeds = why(&found.embed, &openai(&found.embed, Key::OpenaiEmbedModel));
    let answers = why(&found.chat, &openai(&found.chat, Key::OpenaiChatModel));
    let pays = loaded.values.text(Key::X402Mode) != "off";
    [
        (Key::MistralEmbedTextModel, is_mistral(&found.embed), embeds.clone()),
        (Key::MistralEmbedCodeModel, is_mistral(&found.embed), embeds),
        (Key::MistralChatModel, is_mistral(&found.chat), answers),
    ]
    .into_iter()
    .chain(PAYMENT_DETAILS.map(|key| (key, pays, "x402.mode is off".to_owned())))
    .filter(|(_, used, _)| !used)
    .filter_map(|(key, _, why)| match loaded.values.origin(key) {
        origin @ (ValueOrigin::Flag(_) | ValueOrigin::Env { .. }) => {
            Some(format!("{origin} has no effect: {why}"))
        }
        _ => None,
    })
    .collect()
}

/// Ends the run, or notes a problem, where the provider cannot do what `key` asks for. `what` are the files that need
/// it, where it is not the setting alone.
fn require(
    loaded: &Loaded,
    assignment: &Assignment,
    key: Key,
    what: &str,
    problems: &mut Problems,
) -> Result<(), ConfigError> {
    let by_files = !what.is_empty();
    let lack = match (&assignment.lacks, assignment.provider) {
        (Some(lack), _) => lack.clone(),
        // Nothing on this machine reads such files, and there is no key. Whoever named `off` wants it so.
        (None, ProviderChoice::Off) if by_files && !assignment.is_named => {
            Lack::Secret(match assignment.capability {
                Capability::Stt => SecretName::MistralSttApiKey,
                _ => SecretName::MistralApiKey,
            })
        }
        (None, _) => return Ok(()),
    };
    let place = match loaded.values.origin(key) {
        ValueOrigin::File { path, line } => format!(" ({}:{line})", safe(&path.to_string_lossy())),
        origin => format!(" ({origin})"),
    };
    let files = if by_files { format!(", and there are {what}") } else { String::new() };
    let needed_by = format!("{}: {}{place}{files}", KeySpec::of(key).path, loaded.values.text(key));
    match lack {
        Lack::Secret(name) => {
            let instead = match assignment.capability {
                _ if assignment.is_named => None,
                Capability::Ocr => Some(format!("Without a key: {NO_LOCAL_OCR}")),
                Capability::Stt => Some("Without a key: run: dir2mcp extras add speech".to_owned()),
                _ => None,
            };
            Err(ConfigError::MissingSecret { name, needed_by, instead })
        }
        Lack::Means(sentence) => {
            let message = match by_files {
                true => format!("{needed_by}: {sentence}"),
                false => format!("{}: {}: {sentence}", KeySpec::of(key).path, assignment.provider.as_str()),
            };
            problems.push(Problem::at(loaded.values.origin(key).clone(), message));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Machine;
    use crate::config::FILE_NAME;
    use crate::config::tests::load_in;

    const MISTRAL: (&str, &str) = ("MISTRAL_API_KEY", "k");

    fn check_with(
        yaml: &str,
        arguments: &[&str],
        env: &[(&str, &str)],
        machine: Machine,
        present: &dyn Fn(DocType) -> bool,
    ) -> Result<Vec<String>, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), yaml).unwrap();
        let loaded = load_in(dir.path(), arguments, env).unwrap();
        preflight(&loaded, &Capabilities::resolve(&loaded, machine).unwrap(), present)
    }

    fn check(yaml: &str, env: &[(&str, &str)]) -> Result<Vec<String>, ConfigError> {
        check_with(yaml, &["up"], env, Machine::default(), &|_| true)
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
        assert_eq!(check("embed: {provider: auto}\n", &[MISTRAL]).unwrap(), [""; 0]);
        assert_eq!(
            check("embed: {provider: builtin}\ningest: {audio: {mode: auto}}\n", &[]).unwrap(),
            [""; 0]
        );
    }

    #[test]
    fn d040_an_embedder_named_without_its_key() {
        assert_eq!(missing("embed: {provider: mistral}", &[]), "MISTRAL_API_KEY");
        assert_eq!(missing("embed: {provider: openai}", &[MISTRAL]), "OPENAI_API_KEY");
        assert_eq!(check("embed: {provider: mistral}", &[MISTRAL]).unwrap(), [""; 0]);
        let own = "embed: {provider: openai}\n\
                   openai: {base_url: 'http://127.0.0.1:1/v1', embed_model: x, embed_dimensions: 8}";
        assert_eq!(check(own, &[]).unwrap(), [""; 0], "a connector of one's own needs no key");
    }

    #[test]
    fn d041_reading_pictures_switched_on_without_a_key() {
        assert_eq!(missing("ocr: {provider: mistral}", &[]), "MISTRAL_API_KEY");
        assert_eq!(missing("ingest: {pdf: {mode: ocr}}", &[]), "MISTRAL_API_KEY");
        assert_eq!(missing("ingest: {images: {mode: ocr_on}}", &[]), "MISTRAL_API_KEY");
        assert_eq!(check("ingest: {pdf: {mode: ocr}}", &[MISTRAL]).unwrap(), [""; 0]);
        let both = "ingest: {pdf: {mode: ocr}, images: {mode: ocr_on}}";
        let only =
            |present: &dyn Fn(DocType) -> bool, machine| check_with(both, &["up"], &[], machine, present);
        let nothing = only(&|_| false, Machine::default()).unwrap();
        assert_eq!(nothing, [""; 0], "nothing is there to be read");
        let missing = only(&|doc_type| doc_type == DocType::Image, Machine::default()).unwrap_err();
        let ConfigError::MissingSecret { needed_by, instead, .. } = missing else { panic!("{missing:?}") };
        assert!(
            needed_by.starts_with("ingest.images.mode: ocr_on (") && needed_by.ends_with("there are images")
        );
        assert!(instead.unwrap().contains("dir2mcp extras add ocr"));
        let tesseract = Machine { tesseract: Some("/t".into()), ..Machine::default() };
        assert_eq!(only(&|_| true, tesseract).unwrap(), [""; 0], "a program reads them");
        assert_eq!(check("ingest: {pdf: {mode: auto}, images: {mode: ocr_auto}}", &[]).unwrap(), [""; 0]);
        assert_eq!(check("ocr: {provider: off}\ningest: {pdf: {mode: ocr}}", &[]).unwrap(), [""; 0]);
        let named = check("ocr: {provider: tesseract}", &[MISTRAL]).unwrap_err().to_string();
        assert!(named.contains("ocr.provider: tesseract: the program tesseract was not found"), "{named}");
    }

    #[test]
    fn a_model_that_nothing_uses_is_said() {
        let said = |arguments: &[&str], env: &[(&str, &str)]| {
            check_with("", arguments, env, Machine::default(), &|_| false).unwrap()
        };
        let text = ["--embed-model-text", "mistral-embed-2312"];
        let code = ["--embed-model-code", "codestral-embed-2505"];
        let models = [&["up"][..], &text, &code, &["--chat-model", "c"]].concat();
        let flags = said(&models, &[]);
        assert_eq!(flags.len(), 3);
        assert_eq!(flags[0], "flag --embed-model-text has no effect: embed.provider is builtin");
        let openai = said(&models, &[("OPENAI_API_KEY", "k")]);
        assert_eq!(
            openai[2],
            "flag --chat-model has no effect: chat.provider is openai; its model is openai.chat_model"
        );
        assert_eq!(said(&models, &[MISTRAL]), [""; 0]);
        assert!(
            said(&["up"], &[("DIR2MCP_CHAT_MODEL", "c")])[0]
                .starts_with("env DIR2MCP_CHAT_MODEL has no effect")
        );
        assert_eq!(said(&["up"], &[]), [""; 0]);
    }

    #[test]
    fn payment_flags_without_payments_are_said() {
        let arguments = ["up", "--x402-price", "5", "--x402-asset", "USDC"];
        let said = check_with("", &arguments, &[], Machine::default(), &|_| false).unwrap();
        assert_eq!(said[0], "flag --x402-price has no effect: x402.mode is off");
        assert_eq!(said.len(), 2, "{said:?}");
    }

    #[test]
    fn d042_transcription_switched_on_without_a_key() {
        assert_eq!(missing("ingest: {audio: {mode: on}}", &[]), "MISTRAL_API_KEY");
        let elevenlabs = "ingest: {audio: {mode: on}}\nstt: {provider: elevenlabs}\n";
        assert_eq!(missing(elevenlabs, &[MISTRAL]), "ELEVENLABS_API_KEY");
        assert_eq!(check(elevenlabs, &[("ELEVENLABS_API_KEY", "k")]).unwrap(), [""; 0]);
        let extra = Machine { speech_extra: Some("speech"), ..Machine::default() };
        let on = "ingest: {audio: {mode: on}}";
        assert_eq!(check_with(on, &["up"], &[], extra, &|_| true).unwrap(), [""; 0]);
        // Left at auto it makes do without, and says so.
        let told = check("stt: {provider: elevenlabs}", &[MISTRAL]).unwrap();
        assert_eq!(
            told,
            ["stt.provider: elevenlabs: audio files are not transcribed: there is no ELEVENLABS_API_KEY"]
        );
    }
}
