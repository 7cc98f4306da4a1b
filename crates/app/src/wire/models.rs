//! Makes the providers that a run's capabilities name, and says what they need of the confined process.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use engine::state_dir;
use engine::{ModelNames, SystemClock};
use model::{
    Capability, ChatModel, Embedder, EmbeddingProvider, ErrorCode, IndexKind, Providers, Reranker, Speaker,
    TextRecognizer, Transcriber, UsageMeter,
};
use policy::Confinement;
use providers::ServiceAccount;
use providers::cohere::{Cohere, RerankShape};
use providers::command::{CommandConfig, CommandConnector};
use providers::elevenlabs::ElevenLabs;
use providers::extras::ExtraStore;
use providers::http::{AddressError, HttpCore, HttpSettings};
use providers::local::{
    Espeak, LocalRecognizer, ModelPrograms, PassageModel, PictureModel, SpeechModel, TableEmbedder,
    Tesseract, TesseractConfig,
};
use providers::meter::{CostEntry, CostLedger, LedgerError, SpendLimit, SpendLimits};
use providers::mistral::Mistral;
use providers::openai::OpenAi;
use providers::{PreferredTranscriber, ProviderProbe, ProviderReach};
use secrecy::SecretString;

use crate::capabilities::Assignment;
use crate::config::keys::{Key, KeySpec};
use crate::config::settings::{Models, ProviderChoice};
use crate::config::{Loaded, Settings};
use crate::exit::Exit;
use crate::former_embedding::{self, VectorMaker};
use crate::print::services;
use crate::secrets::Secret;

/// The hidden command that runs a model of an extra in a child process.
const MODEL_COMMAND: &str = "run-model";

/// The providers of this run. Keys were looked up before, and threads are started here: after the process has confined
/// itself.
pub(super) fn providers(loaded: &Loaded) -> Result<Providers, Exit> {
    let maker = ProviderMaker::new(loaded);
    let found = &loaded.capabilities;
    let embedding = maker.embedding(&found.embed)?;
    Ok(Providers {
        former_embedding: maker.former_embedding(&embedding)?,
        embedding,
        recognizer: maker.recognizer(&found.ocr)?,
        transcriber: maker.transcriber(&found.stt)?.map(|made| maker.preferred(made, &found.stt)),
        chat: maker.chat(&found.chat)?,
        reranker: maker.reranker(&found.rerank)?,
        speaker: maker.speaker(&found.tts)?,
    })
}

/// The names that `corpus.json` and `dir2mcp.stats` show: what is in use.
pub(super) fn names(loaded: &Loaded, providers: &Providers) -> ModelNames {
    let none = || "none".to_owned();
    let (stt_provider, stt_model) = match &providers.transcriber {
        Some(transcriber) => (transcriber.provider().to_owned(), transcriber.model().to_owned()),
        // The specification has no word for nobody: it names whom the configuration would ask.
        None if loaded.settings.models.stt == ProviderChoice::Elevenlabs => ("elevenlabs".to_owned(), none()),
        None => ("mistral".to_owned(), none()),
    };
    ModelNames {
        embed_text: providers.embedding.model(IndexKind::Text).to_owned(),
        embed_code: providers.embedding.model(IndexKind::Code).to_owned(),
        ocr: providers.recognizer.as_ref().map_or_else(none, |recognizer| recognizer.model().to_owned()),
        stt_provider,
        stt_model,
        chat: providers.chat.as_ref().map_or_else(|| "extractive".to_owned(), |chat| chat.model().to_owned()),
    }
}

/// Makes each provider when it is first wanted.
struct ProviderMaker<'a> {
    loaded: &'a Loaded,
    models: &'a Models,
    core: OnceLock<Arc<HttpCore>>,
    meter: OnceLock<Arc<CostLedger>>,
}

impl<'a> ProviderMaker<'a> {
    fn new(loaded: &'a Loaded) -> ProviderMaker<'a> {
        ProviderMaker {
            loaded,
            models: &loaded.settings.models,
            core: OnceLock::new(),
            meter: OnceLock::new(),
        }
    }

    fn embedding(&self, assignment: &Assignment) -> Result<EmbeddingProvider, Exit> {
        if let Some(made_by) = VectorMaker::of(assignment.usable(), self.models) {
            return Ok(EmbeddingProvider::Remote(self.embedder(assignment, &made_by)?));
        }
        if assignment.usable() == ProviderChoice::Command {
            let dimensions = self.models.command.embed_dimensions.unwrap_or_default();
            let program = self.command(&self.models.command.embed)?;
            return Ok(EmbeddingProvider::Remote(program.embedder(dimensions)));
        }
        Ok(EmbeddingProvider::from(TableEmbedder))
    }

    /// Who may have made the vectors that are there.
    fn former_embedding(&self, present: &EmbeddingProvider) -> Result<Vec<EmbeddingProvider>, Exit> {
        if present.remote().is_none() {
            return Ok(Vec::new());
        }
        let found = &self.loaded.capabilities;
        if let Some(maker) = VectorMaker::of(found.embed.usable(), self.models) {
            let settings = &self.loaded.settings;
            state_dir::claim(&settings.root, &settings.state_dir)?;
            let former: Vec<VectorMaker> =
                found.former_embed.iter().map(|former| former.maker.clone()).collect();
            former_embedding::remember(&settings.state_dir, &maker, &former);
        }
        let services = found
            .former_embed
            .iter()
            .map(|former| Ok(EmbeddingProvider::Remote(self.embedder(&former.assignment, &former.maker)?)));
        // The table is in every binary.
        services.chain([Ok(TableEmbedder.into())]).collect()
    }

    fn embedder(&self, assignment: &Assignment, made_by: &VectorMaker) -> Result<Arc<dyn Embedder>, Exit> {
        let [text, code] = made_by.models();
        Ok(match made_by.provider() {
            ProviderChoice::Openai => self.openai(assignment)?.embedder(text, code),
            _ => self.mistral(assignment)?.embedder(text, code),
        })
    }

    fn chat(&self, assignment: &Assignment) -> Result<Option<Arc<dyn ChatModel>>, Exit> {
        Ok(match assignment.usable() {
            ProviderChoice::Mistral => Some(self.mistral(assignment)?.chat(&self.models.mistral.chat_model)),
            ProviderChoice::Openai => Some(self.openai(assignment)?.chat(&self.models.openai.chat_model)),
            _ => None,
        })
    }

    fn recognizer(&self, assignment: &Assignment) -> Result<Option<Arc<dyn TextRecognizer>>, Exit> {
        Ok(match assignment.usable() {
            ProviderChoice::Mistral => {
                Some(self.mistral(assignment)?.recognizer(&self.models.mistral.ocr_model))
            }
            ProviderChoice::Command => Some(self.command(&self.models.command.ocr)?.recognizer()),
            ProviderChoice::Local | ProviderChoice::Tesseract => self.local_recognizer(assignment)?,
            _ => None,
        })
    }

    fn transcriber(&self, assignment: &Assignment) -> Result<Option<Arc<dyn Transcriber>>, Exit> {
        Ok(match assignment.usable() {
            ProviderChoice::Mistral => {
                Some(self.mistral(assignment)?.transcriber(&self.models.mistral.stt_model))
            }
            ProviderChoice::Elevenlabs => {
                Some(self.elevenlabs(assignment)?.transcriber(&self.models.elevenlabs.stt_model))
            }
            ProviderChoice::Openai => {
                Some(self.openai(assignment)?.transcriber(&self.models.openai.stt_model))
            }
            ProviderChoice::Command => Some(self.command(&self.models.command.stt)?.transcriber()),
            ProviderChoice::Local => self.local_transcriber(),
            _ => None,
        })
    }

    /// The transcriber with the language and the times that the configuration asks for.
    fn preferred(&self, made: Arc<dyn Transcriber>, assignment: &Assignment) -> Arc<dyn Transcriber> {
        let timestamps = match assignment.provider {
            ProviderChoice::Mistral => self.models.mistral.stt_timestamps,
            ProviderChoice::Elevenlabs => self.models.elevenlabs.stt_timestamps,
            _ => true,
        };
        Arc::new(PreferredTranscriber::new(made, self.models.stt_language.clone(), timestamps))
    }

    fn reranker(&self, assignment: &Assignment) -> Result<Option<Arc<dyn Reranker>>, Exit> {
        Ok(match assignment.usable() {
            ProviderChoice::Cohere => {
                Some(self.cohere(assignment)?.reranker(&self.models.cohere.rerank_model))
            }
            ProviderChoice::Local => self.local_reranker(),
            _ => None,
        })
    }

    fn speaker(&self, assignment: &Assignment) -> Result<Option<Arc<dyn Speaker>>, Exit> {
        Ok(match assignment.usable() {
            ProviderChoice::Elevenlabs => {
                let elevenlabs = &self.models.elevenlabs;
                Some(self.elevenlabs(assignment)?.speaker(&elevenlabs.tts_model, &elevenlabs.voice_id))
            }
            ProviderChoice::Openai => {
                let openai = &self.models.openai;
                Some(self.openai(assignment)?.speaker(&openai.tts_model, &openai.tts_voice))
            }
            ProviderChoice::Local => self.local_speaker(assignment)?,
            _ => None,
        })
    }
}

/// Services: one client for all of them, and one per capability, since keys may differ.
impl ProviderMaker<'_> {
    fn mistral(&self, assignment: &Assignment) -> Result<Mistral, Exit> {
        let account = self.account(assignment, &self.models.mistral.base_url)?;
        Mistral::new(account, self.core()?).map_err(|error| wrong_address(Key::MistralBaseUrl, &error))
    }

    fn openai(&self, assignment: &Assignment) -> Result<OpenAi, Exit> {
        let account = self.account(assignment, &self.models.openai.base_url)?;
        OpenAi::new(account, self.core()?).map_err(|error| wrong_address(Key::OpenaiBaseUrl, &error))
    }

    fn elevenlabs(&self, assignment: &Assignment) -> Result<ElevenLabs, Exit> {
        let account = self.account(assignment, &self.models.elevenlabs.base_url)?;
        ElevenLabs::new(account, self.core()?)
            .map_err(|error| wrong_address(Key::SttElevenlabsBaseUrl, &error))
    }

    fn cohere(&self, assignment: &Assignment) -> Result<Cohere, Exit> {
        let cohere = &self.models.cohere;
        let account = self.account(assignment, &cohere.base_url)?;
        let shape = match cohere.rerank_api.as_str() {
            "v1" => RerankShape::V1,
            "tei" => RerankShape::Tei,
            _ => RerankShape::V2,
        };
        Cohere::new(account, shape, self.core()?).map_err(|error| wrong_address(Key::CohereBaseUrl, &error))
    }

    fn account(&self, assignment: &Assignment, base_url: &str) -> Result<ServiceAccount, Exit> {
        Ok(ServiceAccount {
            key: key(assignment),
            base_url: Some(base_url.to_owned()),
            meter: Some(self.meter()?),
        })
    }

    /// Where everything that is paid for is written down.
    fn meter(&self) -> Result<Arc<dyn UsageMeter>, Exit> {
        if let Some(meter) = self.meter.get() {
            return Ok(Arc::clone(meter) as Arc<dyn UsageMeter>);
        }
        let limit = |most: Option<u64>, key: Key| {
            most.map(|most| SpendLimit { most, setting: KeySpec::of(key).path })
        };
        let limits = SpendLimits {
            calls: limit(self.models.calls_per_day, Key::LimitsSpendCallsPerDay),
            pages: limit(self.models.pages_per_day, Key::LimitsSpendPagesPerDay),
        };
        let settings = &self.loaded.settings;
        state_dir::claim(&settings.root, &settings.state_dir)?;
        let path = ledger_path(settings);
        let ledger = CostLedger::open(&path, limits, Arc::new(SystemClock)).map_err(ledger_exit)?;
        let ledger = Arc::clone(self.meter.get_or_init(|| Arc::new(ledger)));
        Ok(ledger as Arc<dyn UsageMeter>)
    }

    fn core(&self) -> Result<Arc<HttpCore>, Exit> {
        if let Some(core) = self.core.get() {
            return Ok(Arc::clone(core));
        }
        let allowed = &self.models.allowed_hosts;
        let settings = HttpSettings {
            allowed_hosts: (!allowed.is_empty()).then(|| allowed.clone()),
            ..HttpSettings::default()
        };
        let made = HttpCore::new(settings).map_err(|error| Exit::generic(error.to_string()))?;
        Ok(Arc::clone(self.core.get_or_init(|| made)))
    }
}

/// What was paid for, from the ledger. Nothing where no service was used.
pub(crate) fn costs(settings: &Settings) -> Result<Vec<CostEntry>, Exit> {
    CostLedger::read(&ledger_path(settings)).map_err(ledger_exit)
}

pub(super) fn ledger_path(settings: &Settings) -> PathBuf {
    settings.state_dir.join("costs.jsonl")
}

fn ledger_exit(error: LedgerError) -> Exit {
    let message = format!("what was paid for cannot be read or written: {error}");
    match error {
        LedgerError::Newer { .. } => Exit::index(ErrorCode::IndexVersionMismatch, message),
        LedgerError::Io { .. } => Exit::ingest(message),
    }
}

/// What is on this machine.
impl ProviderMaker<'_> {
    /// Tesseract where there is one, with the extra for pages that it cannot read; else the extra.
    fn local_recognizer(&self, assignment: &Assignment) -> Result<Option<Arc<dyn TextRecognizer>>, Exit> {
        let machine = &self.loaded.capabilities.machine;
        let tesseract = match &machine.tesseract {
            Some(program) => match self.tesseract(program, assignment) {
                Ok(tesseract) => Some(tesseract),
                Err(exit) if assignment.is_named => return Err(exit),
                // Nobody asked for it by name: what it could have read says what would read it.
                Err(exit) => {
                    tracing::warn!(reason = exit.messages.join("; "), "Tesseract is not used");
                    None
                }
            },
            None => None,
        };
        let wants_extra = assignment.provider == ProviderChoice::Local;
        let extra = self
            .extra("ocr")
            .filter(|_| wants_extra)
            .map(|(programs, folder, model)| PictureModel::new(&programs, &folder, model));
        Ok(match (tesseract, extra) {
            (Some(tesseract), Some(extra)) => Some(Arc::new(LocalRecognizer::new(tesseract, extra))),
            (Some(tesseract), None) => Some(Arc::new(tesseract)),
            (None, Some(extra)) => Some(Arc::new(extra)),
            (None, None) => None,
        })
    }

    fn tesseract(&self, program: &Path, assignment: &Assignment) -> Result<Tesseract, Exit> {
        let config = TesseractConfig {
            program: program.to_owned(),
            languages: Some(self.models.ocr_language.clone()).filter(|languages| !languages.is_empty()),
            data: None,
        };
        Tesseract::new(config).map_err(|error| {
            Exit::config(format!("{}: {error}", KeySpec::of(assignment.key).path))
                .hint("Check ocr.tesseract_path and ocr.language, or set ocr.provider to off.")
        })
    }

    fn local_transcriber(&self) -> Option<Arc<dyn Transcriber>> {
        let (programs, folder, model) = self.extra(self.loaded.capabilities.machine.speech_extra?)?;
        Some(Arc::new(SpeechModel::new(&programs, &folder, model)))
    }

    fn local_reranker(&self) -> Option<Arc<dyn Reranker>> {
        let (programs, folder, model) = self.extra("rerank")?;
        Some(Arc::new(PassageModel::new(&programs, &folder, model)))
    }

    fn local_speaker(&self, assignment: &Assignment) -> Result<Option<Arc<dyn Speaker>>, Exit> {
        let Some(program) = self.loaded.capabilities.machine.espeak.clone() else { return Ok(None) };
        match Espeak::new(program, None) {
            Ok(espeak) => Ok(Some(Arc::new(espeak))),
            Err(error) if assignment.is_named => Err(Exit::config(format!("tts.provider: {error}"))),
            Err(error) => {
                tracing::warn!(%error, "espeak-ng is not used");
                Ok(None)
            }
        }
    }

    /// How to run an extra that is installed: the child's program, the folder of its files, and the model's name.
    fn extra(&self, name: &str) -> Option<(ModelPrograms, PathBuf, &'static str)> {
        let store = ExtraStore::new(self.loaded.capabilities.machine.extras.clone()?);
        let listing = store.list().into_iter().find(|listing| listing.extra.name == name)?;
        let program = std::env::current_exe().ok()?;
        let programs = ModelPrograms::new(program, vec![MODEL_COMMAND.into()]);
        Some((programs, store.installed(name)?, listing.extra.model))
    }

    /// A program of the user's own.
    fn command(&self, words: &[String]) -> Result<CommandConnector, Exit> {
        let settings = &self.models.command;
        let machine = &self.loaded.capabilities.machine;
        let (name, arguments) =
            words.split_first().ok_or_else(|| Exit::config("a command of command.* is empty"))?;
        let program = machine.programs.get(name).cloned().unwrap_or_else(|| PathBuf::from(name));
        let work_folder = command_folder(&self.loaded.settings);
        create_private(&work_folder)?;
        let config = CommandConfig {
            program,
            arguments: arguments.to_vec(),
            model: settings.model.clone(),
            timeout: settings.timeout,
            search_path: self.loaded.environment.search_path().map(OsString::from),
            work_folder,
            runs: 1,
        };
        Ok(CommandConnector::new(config, Arc::clone(self.core()?.runtime())))
    }
}

/// Where a program of the user's own finds the files that it is to read.
fn command_folder(settings: &Settings) -> PathBuf {
    settings.state_dir.join("command")
}

#[allow(clippy::disallowed_methods, reason = "the state directory is our own")]
fn create_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

fn key(assignment: &Assignment) -> Option<SecretString> {
    assignment.secret.as_ref().map(Secret::shared)
}

fn wrong_address(key: Key, error: &AddressError) -> Exit {
    Exit::config(format!("{} {error}", KeySpec::of(key).path))
}

/// Adds what the providers of this run need: files for names and certificates, programs, and the folder of extras.
pub(super) fn extend(confinement: &mut Confinement, loaded: &Loaded) {
    let variable = |name: &str| loaded.environment.get(name).map(|variable| OsString::from(variable.value));
    let found = &loaded.capabilities;
    let machine = &found.machine;
    let former = found.former_embed.iter().map(|former| &former.assignment);
    for assignment in found.all().into_iter().chain(former) {
        let provider = assignment.usable();
        if let Some(url) = services::base_url(loaded, provider) {
            let host = services::host(url);
            let reach = ProviderReach {
                needs_resolver: host.parse::<SocketAddr>().is_err() && host.parse::<IpAddr>().is_err(),
                needs_certificates: url.starts_with("https://"),
                ..ProviderReach::default()
            };
            confinement.read.extend(reach.read(variable));
        }
        if matches!(provider, ProviderChoice::Local | ProviderChoice::Tesseract) {
            confinement.read.extend(machine.extras.clone());
            let (program, data) = match (assignment.capability, &machine.tesseract, &machine.espeak) {
                (Capability::Ocr, Some(program), _) => (program, tesseract_data(program)),
                (Capability::Tts, _, Some(program)) => (program, Some("/usr/share/espeak-ng-data".into())),
                _ => continue,
            };
            confinement.run.push(program.clone());
            confinement.run.extend(program.canonicalize());
            confinement.read.extend(data);
        }
    }
    if found.all().iter().any(|assignment| assignment.usable() == ProviderChoice::Command) {
        // What interpreters and their libraries need; a program's own files are where it is, or named by its arguments.
        confinement.run.extend(["/usr", "/bin", "/sbin", "/opt", "/nix/store"].map(PathBuf::from));
        confinement.read.extend(["/etc", "/dev/null", "/dev/urandom", "/proc/self"].map(PathBuf::from));
        let command = &loaded.settings.models.command;
        let words = [&command.embed, &command.ocr, &command.stt].into_iter().flatten();
        confinement.read.extend(words.map(PathBuf::from).filter(|path| path.is_absolute()));
        for program in machine.programs.values() {
            let real = program.canonicalize().unwrap_or_else(|_| program.clone());
            confinement.run.extend([program, &real].into_iter().filter_map(|path| around(path)));
        }
    }
    confinement.read.retain(|path| path.exists());
    confinement.run.retain(|path| path.exists());
}

/// The folder of a program; the one above it where that is called `bin`, as in a virtual environment.
fn around(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let above = folder.parent().filter(|above| folder.ends_with("bin") && above.parent().is_some());
    Some(above.unwrap_or(folder).to_owned())
}

/// The folder of the language data, as the program says: `List of available languages in "/usr/share/…/tessdata/" (2):`.
fn tesseract_data(program: &Path) -> Option<PathBuf> {
    let said = Command::new(program).arg("--list-langs").env_clear().stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    said.lines().find_map(|line| Some(PathBuf::from(line.split('"').nth(1)?)))
}

/// The models that a capability asks its service for.
pub(crate) fn models_of(loaded: &Loaded, assignment: &Assignment) -> Vec<String> {
    let models = &loaded.settings.models;
    let (mistral, openai) = (&models.mistral, &models.openai);
    let names = match (assignment.usable(), assignment.capability) {
        (ProviderChoice::Mistral, Capability::Embed) => {
            vec![&mistral.embed_text_model, &mistral.embed_code_model]
        }
        (ProviderChoice::Mistral, Capability::Chat) => vec![&mistral.chat_model],
        (ProviderChoice::Mistral, Capability::Ocr) => vec![&mistral.ocr_model],
        (ProviderChoice::Mistral, _) => vec![&mistral.stt_model],
        (ProviderChoice::Openai, Capability::Embed) => vec![&openai.embed_model],
        (ProviderChoice::Openai, Capability::Chat) => vec![&openai.chat_model],
        (ProviderChoice::Openai, Capability::Stt) => vec![&openai.stt_model],
        (ProviderChoice::Openai, _) => vec![&openai.tts_model],
        (ProviderChoice::Elevenlabs, Capability::Tts) => vec![&models.elevenlabs.tts_model],
        (ProviderChoice::Elevenlabs, _) => vec![&models.elevenlabs.stt_model],
        (ProviderChoice::Cohere, _) => vec![&models.cohere.rerank_model],
        _ => Vec::new(),
    };
    names.into_iter().cloned().collect()
}

/// Asks a service one question that costs nothing.
pub(crate) fn probe(
    loaded: &Loaded,
    assignment: &Assignment,
    models: &[&str],
) -> Result<ProviderProbe, Exit> {
    let maker = ProviderMaker::new(loaded);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match assignment.usable() {
        ProviderChoice::Mistral => Ok(runtime.block_on(maker.mistral(assignment)?.probe(models))),
        ProviderChoice::Openai => Ok(runtime.block_on(maker.openai(assignment)?.probe(models))),
        ProviderChoice::Elevenlabs => Ok(runtime.block_on(maker.elevenlabs(assignment)?.probe())),
        ProviderChoice::Cohere => Ok(runtime.block_on(maker.cohere(assignment)?.probe())),
        other => Err(Exit::generic(format!("{} is no service", other.as_str()))),
    }
}

/// Makes a provider of this machine and returns what it is: its program, its version, its model.
pub(crate) fn local_provider(loaded: &Loaded, assignment: &Assignment) -> Result<String, Exit> {
    let maker = ProviderMaker::new(loaded);
    let of = |provider: &str, model: &str| format!("{provider}: {model}");
    let made = match assignment.capability {
        Capability::Ocr => maker.recognizer(assignment)?.map(|made| of(made.provider(), made.model())),
        Capability::Stt => maker.transcriber(assignment)?.map(|made| of(made.provider(), made.model())),
        Capability::Rerank => maker.reranker(assignment)?.map(|made| of(made.provider(), made.model())),
        Capability::Tts => maker.speaker(assignment)?.map(|made| of(made.provider(), made.model())),
        Capability::Embed | Capability::Chat => Some(assignment.provider.as_str().to_owned()),
    };
    Ok(made.unwrap_or_else(|| "off".to_owned()))
}
