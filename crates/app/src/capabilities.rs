//! Which provider serves each capability in this run, and what is missing where it cannot.
//!
//! A provider that the configuration names is used or the run ends with what it lacks; `auto` takes a service whose key
//! is there, else what this machine has, else what is built in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contracts::Contract;
use model::Capability;
use providers::EmbedModel;

use crate::config::Loaded;
use crate::config::combine::Values;
use crate::config::keys::{Key, KeySpec};
use crate::config::settings::{Models, ProviderChoice};
use crate::former_embedding::{self, VectorMaker};
use crate::secrets::{Secret, SecretError, SecretName, SecretSources};

/// What this machine has for the capabilities, found once per run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub tesseract: Option<PathBuf>,
    pub ocr_extra: bool,
    /// Which of the extras for speech is used: the more exact one where both are there.
    pub speech_extra: Option<&'static str>,
    pub rerank_extra: bool,
    pub espeak: Option<PathBuf>,
    /// Where extras are kept, if anywhere.
    pub extras: Option<PathBuf>,
    /// Where the programs of `command.*` are, by the word that names them.
    pub programs: BTreeMap<String, PathBuf>,
}

/// The providers of a run.
#[derive(Debug, Clone)]
pub(crate) struct Capabilities {
    pub embed: Assignment,
    /// Whose vectors answer until those of `embed` are complete.
    pub former_embed: Vec<FormerEmbedding>,
    pub chat: Assignment,
    pub ocr: Assignment,
    pub stt: Assignment,
    pub rerank: Assignment,
    pub tts: Assignment,
    pub machine: Machine,
}

/// Who serves one capability.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub capability: Capability,
    /// The key that chooses.
    pub key: Key,
    /// Never `auto`; what the configuration names even where it cannot be used.
    pub provider: ProviderChoice,
    /// The configuration names it; else `auto` found it.
    pub is_named: bool,
    /// The key of the service, where there is one.
    pub secret: Option<Secret>,
    /// Why it cannot be used.
    pub lacks: Option<Lack>,
}

/// A service that made the vectors that are there.
#[derive(Debug, Clone)]
pub(crate) struct FormerEmbedding {
    pub assignment: Assignment,
    pub maker: VectorMaker,
}

/// What a provider needs and does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lack {
    Secret(SecretName),
    /// A setting, a program or an extra: the sentence says which, and what to do.
    Means(String),
}

impl Capabilities {
    pub(crate) fn resolve(loaded: &Loaded, machine: Machine) -> Result<Capabilities, SecretError> {
        let models = &loaded.settings.models;
        let tools = &loaded.settings.server.tools;
        // The repository tools alone: they touch no model.
        if matches!(tools.as_slice(), [only] if Contract::parse(only) == Some(Contract::REPO)) {
            return Ok(Capabilities::builtin(machine));
        }
        let search = Search { models, values: &loaded.values, secrets: &loaded.secrets, machine: &machine };
        use ProviderChoice::{Builtin, Cohere, Elevenlabs, Local, Mistral, Off, Openai};
        let embed = search.assign(Capability::Embed, models.embed, &[Mistral, Openai], Builtin)?;
        Ok(Capabilities {
            former_embed: search.former(&loaded.settings.state_dir, &embed),
            embed,
            chat: search.assign(Capability::Chat, models.chat, &[Mistral, Openai], Builtin)?,
            ocr: search.assign(Capability::Ocr, models.ocr, &[Mistral, Local], Off)?,
            stt: search.assign(Capability::Stt, models.stt, &[Mistral, Elevenlabs, Openai, Local], Off)?,
            rerank: search.assign(Capability::Rerank, models.rerank, &[Cohere, Local], Off)?,
            tts: search.assign(Capability::Tts, models.tts, &[Elevenlabs, Openai, Local], Off)?,
            machine,
        })
    }

    /// Nothing but what is built in.
    pub(crate) fn builtin(machine: Machine) -> Capabilities {
        let of = |capability, provider| Assignment {
            capability,
            key: key_of(capability),
            provider,
            is_named: false,
            secret: None,
            lacks: None,
        };
        Capabilities {
            embed: of(Capability::Embed, ProviderChoice::Builtin),
            former_embed: Vec::new(),
            chat: of(Capability::Chat, ProviderChoice::Builtin),
            ocr: of(Capability::Ocr, ProviderChoice::Off),
            stt: of(Capability::Stt, ProviderChoice::Off),
            rerank: of(Capability::Rerank, ProviderChoice::Off),
            tts: of(Capability::Tts, ProviderChoice::Off),
            machine,
        }
    }

    /// In the order in which they are shown.
    pub(crate) fn all(&self) -> [&Assignment; 6] {
        [&self.embed, &self.chat, &self.ocr, &self.stt, &self.rerank, &self.tts]
    }
}

impl Assignment {
    /// The provider that is used: none of those that lack something.
    pub(crate) fn usable(&self) -> ProviderChoice {
        if self.lacks.is_none() { self.provider } else { ProviderChoice::Off }
    }
}

/// The key by which a capability's provider is chosen.
pub(crate) fn key_of(capability: Capability) -> Key {
    match capability {
        Capability::Embed => Key::EmbedProvider,
        Capability::Ocr => Key::OcrProvider,
        Capability::Stt => Key::SttProvider,
        Capability::Chat => Key::ChatProvider,
        Capability::Rerank => Key::RerankProvider,
        Capability::Tts => Key::TtsProvider,
    }
}

struct Search<'a> {
    models: &'a Models,
    values: &'a Values,
    secrets: &'a SecretSources,
    machine: &'a Machine,
}

impl Search<'_> {
    fn assign(
        &self,
        capability: Capability,
        choice: ProviderChoice,
        candidates: &[ProviderChoice],
        otherwise: ProviderChoice,
    ) -> Result<Assignment, SecretError> {
        let of = |provider, is_named, secret, lacks| Assignment {
            capability,
            key: key_of(capability),
            provider,
            is_named,
            secret,
            lacks,
        };
        if choice != ProviderChoice::Auto {
            let secret = match secret_of(capability, choice) {
                Some(name) => self.secrets.get(name)?.map(|found| found.secret),
                None => None,
            };
            let lacks = self.lack(capability, choice, secret.is_some());
            return Ok(of(choice, true, secret, lacks));
        }
        for candidate in candidates {
            let secret =
                match secret_of(capability, *candidate).map(|name| self.secrets.get_of_the_user(name)) {
                    Some(Ok(found)) => found.map(|found| found.secret),
                    // The user is warned of such a file, and nobody named a service.
                    Some(Err(SecretError::File(_))) | None => None,
                    Some(Err(error)) => return Err(error),
                };
            if self.is_offered(capability, *candidate, secret.is_some())
                && self.lack(capability, *candidate, secret.is_some()).is_none()
            {
                return Ok(of(*candidate, false, secret, None));
            }
        }
        Ok(of(otherwise, false, None, None))
    }

    /// Services whose vectors answer until those of the present one are complete: where their key is still there.
    fn former(&self, state_dir: &Path, present: &Assignment) -> Vec<FormerEmbedding> {
        let Some(maker) = VectorMaker::of(present.usable(), self.models) else { return Vec::new() };
        let former = former_embedding::former(state_dir, &maker).into_iter();
        let with_key = former.filter_map(|maker| {
            let provider = maker.provider();
            let name = secret_of(Capability::Embed, provider)?;
            let secret = match present.provider == provider {
                true => present.secret.clone(),
                false => self.secrets.get_of_the_user(name).ok()?.map(|found| found.secret),
            };
            let is_own = provider == ProviderChoice::Openai && self.models.openai.is_own_server;
            (secret.is_some() || is_own).then(|| FormerEmbedding {
                assignment: Assignment { provider, is_named: false, secret, ..present.clone() },
                maker,
            })
        });
        with_key.collect()
    }

    /// Whether `auto` may take it: a service by its key; a server of the user's own by the model that was named for it.
    fn is_offered(&self, capability: Capability, provider: ProviderChoice, has_key: bool) -> bool {
        match provider {
            ProviderChoice::Openai if self.models.openai.is_own_server => match capability {
                Capability::Embed => self.values.is_explicit(Key::OpenaiEmbedModel),
                Capability::Chat => self.values.is_explicit(Key::OpenaiChatModel),
                Capability::Stt => self.values.is_explicit(Key::OpenaiSttModel),
                Capability::Tts => self.values.is_explicit(Key::OpenaiTtsModel),
                Capability::Ocr | Capability::Rerank => false,
            },
            ProviderChoice::Cohere if self.models.cohere.is_own_server => {
                has_key || self.values.is_explicit(Key::CohereRerankModel)
            }
            ProviderChoice::Mistral
            | ProviderChoice::Openai
            | ProviderChoice::Elevenlabs
            | ProviderChoice::Cohere => has_key,
            _ => true,
        }
    }

    fn lack(&self, capability: Capability, provider: ProviderChoice, has_key: bool) -> Option<Lack> {
        let models = self.models;
        let means = |sentence: &str| Some(Lack::Means(sentence.to_owned()));
        match provider {
            ProviderChoice::Auto | ProviderChoice::Off | ProviderChoice::Builtin => None,
            ProviderChoice::Mistral | ProviderChoice::Elevenlabs if !has_key => {
                secret_of(capability, provider).map(Lack::Secret)
            }
            ProviderChoice::Mistral if capability == Capability::Embed => {
                let mistral = &models.mistral;
                let unknown = [
                    (Key::MistralEmbedTextModel, &mistral.embed_text_model),
                    (Key::MistralEmbedCodeModel, &mistral.embed_code_model),
                ]
                .into_iter()
                .find(|(_, model)| EmbedModel::known_dimensions(model).is_none())?;
                let (key, model) = (KeySpec::of(unknown.0).path, unknown.1);
                Some(Lack::Means(format!("{key}: how long the vectors of {model} are is not known")))
            }
            ProviderChoice::Mistral | ProviderChoice::Elevenlabs => None,
            ProviderChoice::Cohere => {
                (!has_key && !models.cohere.is_own_server).then_some(Lack::Secret(SecretName::CohereApiKey))
            }
            ProviderChoice::Openai if !has_key && !models.openai.is_own_server => {
                Some(Lack::Secret(SecretName::OpenaiApiKey))
            }
            ProviderChoice::Openai => {
                let unknown = capability == Capability::Embed
                    && models.openai.embed_dimensions.is_none()
                    && EmbedModel::known_dimensions(&models.openai.embed_model).is_none();
                unknown.then(|| {
                    Lack::Means(format!(
                        "set openai.embed_dimensions: how long the vectors of {} are is not known",
                        models.openai.embed_model
                    ))
                })
            }
            ProviderChoice::Tesseract => match &self.machine.tesseract {
                Some(_) => None,
                None => means(NO_TESSERACT),
            },
            ProviderChoice::Local => match capability {
                Capability::Ocr if self.machine.tesseract.is_none() && !self.machine.ocr_extra => {
                    means(NO_LOCAL_OCR)
                }
                Capability::Stt if self.machine.speech_extra.is_none() => {
                    means("run: dir2mcp extras add speech")
                }
                Capability::Tts if self.machine.espeak.is_none() => {
                    means("the program espeak-ng was not found: install it (apt install espeak-ng)")
                }
                Capability::Rerank if !self.machine.rerank_extra => means("run: dir2mcp extras add rerank"),
                _ => None,
            },
            ProviderChoice::Command => {
                let (key, command) = match capability {
                    Capability::Embed => (Key::CommandEmbed, &models.command.embed),
                    Capability::Ocr => (Key::CommandOcr, &models.command.ocr),
                    _ => (Key::CommandStt, &models.command.stt),
                };
                let Some(program) = command.first() else {
                    return Some(Lack::Means(format!("set {}: the program to run", KeySpec::of(key).path)));
                };
                if !self.machine.programs.contains_key(program) {
                    let key = KeySpec::of(key).path;
                    return Some(Lack::Means(format!(
                        "{key}: there is no program {program}; give its full path"
                    )));
                }
                if capability == Capability::Embed && models.command.embed_dimensions.is_none() {
                    return means(
                        "set command.embed_dimensions: how many numbers the program prints for a text",
                    );
                }
                None
            }
        }
    }
}

const NO_TESSERACT: &str = "the program tesseract was not found: install it (apt install tesseract-ocr), or name it with ocr.tesseract_path";
pub(crate) const NO_LOCAL_OCR: &str =
    "install Tesseract (apt install tesseract-ocr), or run: dir2mcp extras add ocr";

fn secret_of(capability: Capability, provider: ProviderChoice) -> Option<SecretName> {
    match provider {
        ProviderChoice::Mistral if capability == Capability::Stt => Some(SecretName::MistralSttApiKey),
        ProviderChoice::Mistral => Some(SecretName::MistralApiKey),
        ProviderChoice::Elevenlabs => Some(SecretName::ElevenlabsApiKey),
        ProviderChoice::Openai => Some(SecretName::OpenaiApiKey),
        ProviderChoice::Cohere => Some(SecretName::CohereApiKey),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FILE_NAME;
    use crate::config::tests::load_in;

    fn resolve(yaml: &str, env: &[(&str, &str)], machine: Machine) -> Capabilities {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), yaml).unwrap();
        Capabilities::resolve(&load_in(dir.path(), &["up"], env).unwrap(), machine).unwrap()
    }

    fn names(found: &Capabilities) -> [&'static str; 6] {
        found.all().map(|assignment| assignment.usable().as_str())
    }

    fn everything() -> Machine {
        Machine {
            tesseract: Some("/usr/bin/tesseract".into()),
            ocr_extra: true,
            speech_extra: Some("speech"),
            rerank_extra: true,
            espeak: Some("/usr/bin/espeak-ng".into()),
            extras: None,
            programs: BTreeMap::new(),
        }
    }

    #[test]
    fn auto_takes_a_service_by_its_key_else_what_the_machine_has_else_what_is_built_in() {
        let nothing = resolve("", &[], Machine::default());
        assert_eq!(names(&nothing), ["builtin", "builtin", "off", "off", "off", "off"]);
        let local = resolve("", &[], everything());
        assert_eq!(names(&local), ["builtin", "builtin", "local", "local", "local", "local"]);
        let mistral = resolve("", &[("MISTRAL_API_KEY", "k")], everything());
        assert_eq!(names(&mistral), ["mistral", "mistral", "mistral", "mistral", "local", "local"]);
        let env = [("ELEVENLABS_API_KEY", "k"), ("OPENAI_API_KEY", "k"), ("COHERE_API_KEY", "k")];
        let others = resolve("", &env, Machine::default());
        assert_eq!(names(&others), ["openai", "openai", "off", "elevenlabs", "cohere", "elevenlabs"]);
        assert!(others.all().iter().all(|assignment| !assignment.is_named));
    }

    #[test]
    fn d107_transcription_asks_mistral_first() {
        let both = [("MISTRAL_API_KEY", "k"), ("ELEVENLABS_API_KEY", "k")];
        assert_eq!(resolve("", &both, everything()).stt.usable(), ProviderChoice::Mistral);
        assert_eq!(
            resolve("stt: {provider: elevenlabs}", &both, everything()).stt.usable(),
            ProviderChoice::Elevenlabs
        );
    }

    #[test]
    fn a_key_of_a_dotenv_file_serves_a_provider_that_was_named_and_chooses_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".env"), "MISTRAL_API_KEY=k\n").unwrap();
        let resolve = |yaml: &str| {
            std::fs::write(dir.path().join(FILE_NAME), yaml).unwrap();
            let loaded = crate::config::tests::load_with_dotenv(dir.path(), &["up"]).unwrap();
            Capabilities::resolve(&loaded, Machine::default()).unwrap()
        };
        assert_eq!(names(&resolve("")), ["builtin", "builtin", "off", "off", "off", "off"]);
        let own_reference = resolve("stt: {mistral: {api_key: '${MISTRAL_API_KEY}'}}");
        assert_eq!(own_reference.stt.usable(), ProviderChoice::Off);
        assert_eq!(resolve("embed: {provider: mistral}").embed.usable(), ProviderChoice::Mistral);
    }

    #[test]
    fn a_server_of_the_user_s_own_is_used_for_what_has_a_model() {
        let own = "openai: {base_url: 'http://127.0.0.1:11434/v1', chat_model: llama3.2}";
        let found = resolve(own, &[], Machine::default());
        assert_eq!(names(&found), ["builtin", "openai", "off", "off", "off", "off"]);
        let both = format!("{}, embed_model: 'nomic-embed-text:latest'}}", own.trim_end_matches('}'));
        assert_eq!(names(&resolve(&both, &[], Machine::default()))[0], "openai");
        let unknown = format!("{}, embed_model: mine}}", own.trim_end_matches('}'));
        assert_eq!(names(&resolve(&unknown, &[], Machine::default()))[0], "builtin");
        let named = resolve(&format!("{unknown}\nembed: {{provider: openai}}"), &[], Machine::default());
        assert!(
            matches!(&named.embed.lacks, Some(Lack::Means(why)) if why.contains("openai.embed_dimensions"))
        );
    }

    #[test]
    fn what_is_named_and_lacks_something_says_so_and_is_not_used() {
        for (yaml, lack) in [
            ("embed: {provider: mistral}", "MISTRAL_API_KEY"),
            ("chat: {provider: openai}", "OPENAI_API_KEY"),
            ("stt: {provider: elevenlabs}", "ELEVENLABS_API_KEY"),
            ("rerank: {provider: cohere}", "COHERE_API_KEY"),
            ("tts: {provider: openai}", "OPENAI_API_KEY"),
            ("ocr: {provider: tesseract}", "tesseract was not found"),
            ("ocr: {provider: local}", "dir2mcp extras add ocr"),
            ("stt: {provider: local}", "dir2mcp extras add speech"),
            ("rerank: {provider: local}", "dir2mcp extras add rerank"),
            ("tts: {provider: local}", "espeak-ng was not found"),
            ("embed: {provider: command}", "command.embed"),
            ("embed: {provider: command}\ncommand: {embed: [x]}", "command.embed: there is no program x"),
            ("ocr: {provider: command}", "command.ocr"),
            ("stt: {provider: command}", "command.stt"),
        ] {
            let found = resolve(yaml, &[], Machine::default());
            let lacking: Vec<&Assignment> =
                found.all().into_iter().filter(|assignment| assignment.lacks.is_some()).collect();
            let [assignment] = lacking[..] else { panic!("{yaml}: {lacking:?}") };
            let said = match assignment.lacks.as_ref().unwrap() {
                Lack::Secret(name) => name.variable().to_owned(),
                Lack::Means(sentence) => sentence.clone(),
            };
            assert!(said.contains(lack) && assignment.is_named, "{yaml}: {said}");
            assert_eq!(assignment.usable(), ProviderChoice::Off, "{yaml}");
        }
    }

    #[test]
    fn the_repository_tools_alone_use_no_provider() {
        let found = resolve("server: {tools: [repo]}", &[("MISTRAL_API_KEY", "k")], everything());
        assert_eq!(names(&found), ["builtin", "builtin", "off", "off", "off", "off"]);
    }

    #[test]
    fn d168_no_key_is_in_what_is_printed_of_them() {
        let env = [("MISTRAL_API_KEY", "canary"), ("COHERE_API_KEY", "canary"), ("OPENAI_API_KEY", "canary")];
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["up"], &env).unwrap();
        let found = Capabilities::resolve(&loaded, everything()).unwrap();
        let printed = format!("{found:?} {:?} {:?}", loaded.settings, loaded.values);
        assert!(printed.contains("****") && !printed.contains("canary"), "{printed}");
    }
}
