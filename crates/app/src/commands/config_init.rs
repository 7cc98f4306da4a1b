//! `dir2mcp config init`: a commented file for a start, and on a terminal the few questions worth asking.
//!
//! Everything asked here can also be set by file, variable or flag, and a key that is typed never reaches the
//! config file.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::capabilities::{Capabilities, key_of};
use crate::cli::Cli;
use crate::commands::model_questions;
use crate::config::keys::{Key, KeySpec};
use crate::config::settings::{AudioMode, Listen, ProviderChoice, SecretProvider};
use crate::config::value::ConfigValue;
use crate::config::{self, ConfigError, FILE_NAME, Loaded, edit, files, preflight, render};
use crate::exit::Exit;
use crate::local_servers::{self, LocalServer};
use crate::print::prompt::{Prompter, Terminal, is_interactive};
use crate::print::{self, safe};
use crate::secrets::{Secret, SecretName};
use crate::wire;

const NEXT_STEPS: [&str; 3] = [
    "Start the server: dir2mcp up",
    "Connect a client: dir2mcp connect claude",
    "See the result: dir2mcp config print --origins",
];

/// The keys that the wizard asks for.
const QUESTIONS: [Key; 3] = [Key::ServerListen, Key::IngestGitignore, Key::IngestMaxFileMb];

pub(crate) fn run(cli: &Cli) -> Result<(), Exit> {
    let loaded = config::load(cli)?;
    let path = loaded.settings.config_file.clone().unwrap_or_else(|| loaded.settings.root.join(FILE_NAME));
    let answers = if is_interactive(&loaded.settings.output) {
        let found = wire::capabilities(&loaded)?;
        let servers = local_servers::find(&loaded.environment);
        wizard(&loaded, &found, &servers, &mut Terminal)?
    } else {
        Vec::new()
    };
    let written = write(&path, &answers)?;
    let text = files::read(&path).map_err(|error| Exit::config(error.to_string()))?.text;
    config::trust_written(&loaded, &path, &text)?;
    let shown = shown_path(&path);
    if cli.global.json {
        print::out_json(&json!({
            "path": shown,
            "created": written == Written::Created,
            "updated": written == Written::Updated,
            "next_steps": NEXT_STEPS,
        }))?;
    } else if !cli.global.quiet {
        let what = match written {
            Written::Created => "Created",
            Written::Updated => "Updated",
            Written::Unchanged => "Unchanged",
        };
        print::out(&format!("{what}: {}\n\nNext steps:\n  {}\n", safe(&shown), NEXT_STEPS.join("\n  ")))?;
    }
    Ok(())
}

/// Runs the preflight checks, and on a terminal asks for a key that is missing. To be called before anything
/// is bound or indexed.
pub(crate) fn ensure_ready(loaded: &mut Loaded) -> Result<Capabilities, Exit> {
    loop {
        let found = wire::capabilities(loaded)?;
        let settings = &loaded.settings;
        match preflight::preflight(loaded, &found, &|doc_type| wire::holds(settings, doc_type)) {
            Ok(warnings) => {
                loaded.warnings.extend(warnings);
                return Ok(found);
            }
            Err(ConfigError::MissingSecret { name, needed_by, instead })
                if is_interactive(&loaded.settings.output) =>
            {
                if !supply(loaded, name, &needed_by, instead.as_deref(), &mut Terminal)? {
                    return Err(ConfigError::MissingSecret { name, needed_by, instead }.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Created,
    Updated,
    Unchanged,
}

pub(super) type Answers = Vec<(Key, ConfigValue)>;

/// Writes the template, or the answers into what is there. The former text stays beside it as `.bak`.
fn write(path: &Path, answers: &Answers) -> Result<Written, Exit> {
    let failed =
        |error: io::Error| Exit::config(format!("cannot write {}: {error}", safe(&path.to_string_lossy())));
    let before = files::read_if_present(path).map_err(failed)?;
    let mut text = before.as_ref().map_or_else(render::template, |file| file.text.clone());
    for (key, value) in answers {
        text = edit::set(&text, KeySpec::of(*key).path, value)
            .map_err(|error| Exit::config(error.to_string()))?;
    }
    match before {
        Some(file) if file.text == text => Ok(Written::Unchanged),
        Some(file) => {
            let mut backup = path.as_os_str().to_owned();
            backup.push(".bak");
            files::write(&PathBuf::from(backup), &file.text, file.mode).map_err(failed)?;
            files::write(path, &text, file.mode).map_err(failed)?;
            Ok(Written::Updated)
        }
        None if files::write_new(path, &text, 0o644).map_err(failed)? => Ok(Written::Created),
        None => Err(Exit::config(format!("{} appeared meanwhile", safe(&path.to_string_lossy())))),
    }
}

/// Asks, and keeps the keys that were typed.
fn wizard(
    loaded: &Loaded,
    found: &Capabilities,
    servers: &[LocalServer],
    prompter: &mut dyn Prompter,
) -> Result<Answers, Exit> {
    prompter.say(&format!(
        "Set-up for {}. Enter keeps the value in brackets.\n\n",
        safe(&loaded.settings.root.to_string_lossy())
    ))?;
    let mut answers = Answers::new();
    for key in QUESTIONS {
        if let Some(value) = question(loaded, key, prompter)? {
            answers.push((key, value));
        }
    }
    answers.extend(model_questions::ask(loaded, found, servers, prompter)?);
    let needed = needed_keys(loaded, found, &answers);
    prompter.say(match needed.is_empty() {
        true => "\nNo key is needed: nothing in this configuration uses one.\n",
        false => "\nThis configuration names services that need a key. It is not shown while you type.\n",
    })?;
    let mut typed = Vec::new();
    for (name, service) in needed {
        let state = match loaded.secrets.get(name) {
            Ok(Some(found)) => format!("set by {}", found.source.word()),
            Ok(None) => "none".into(),
            Err(error) => return Err(Exit::config(error.to_string())),
        };
        let secret = prompter.ask_secret(&format!("{service} key, {} [{state}]: ", name.variable()))?;
        if !secret.expose().trim().is_empty() {
            typed.push((name, Secret::new(secret.expose().trim())));
        }
    }
    if !typed.is_empty() {
        let place = ask_place(loaded, &["keychain", "file"], prompter)?;
        for (name, secret) in &typed {
            keep(loaded, *name, secret, place, prompter)?;
        }
        let wanted = if place == "keychain" { SecretProvider::Keychain } else { SecretProvider::File };
        if loaded.settings.secrets.provider != wanted {
            answers.push((Key::SecretsProvider, ConfigValue::Text(place.into())));
        }
    }
    Ok(answers)
}

/// The keys that what is configured or was answered would use, with the names of their services.
fn needed_keys(loaded: &Loaded, found: &Capabilities, answers: &Answers) -> Vec<(SecretName, &'static str)> {
    let values = &loaded.values;
    let answer = |key: Key| answers.iter().rev().find(|(of, _)| *of == key).map(|(_, value)| value);
    let is_on = |key: Key, on: &str| values.is_explicit(key) && values.text(key) == on;
    let reads = is_on(Key::IngestPdfMode, "ocr") || is_on(Key::IngestImagesMode, "ocr_on");
    let transcribes =
        values.is_explicit(Key::IngestAudioMode) && loaded.settings.ingest.audio == AudioMode::On;
    let own_openai = answer(Key::OpenaiBaseUrl).is_some() || loaded.settings.models.openai.is_own_server;
    let mut needed = Vec::new();
    for assignment in found.all() {
        let named = match answer(key_of(assignment.capability)) {
            Some(ConfigValue::Text(text)) => text.as_str(),
            _ if assignment.is_named => assignment.provider.as_str(),
            // What was switched on, and nothing here can do: Mistral is whom the specification asks first.
            _ if assignment.provider == ProviderChoice::Off => match assignment.capability {
                model::Capability::Ocr if reads => "mistral",
                model::Capability::Stt if transcribes => "mistral",
                _ => continue,
            },
            _ => continue,
        };
        needed.push(match named {
            "mistral" => (SecretName::MistralApiKey, "Mistral"),
            "elevenlabs" => (SecretName::ElevenlabsApiKey, "ElevenLabs"),
            "openai" if !own_openai => (SecretName::OpenaiApiKey, "OpenAI"),
            "cohere" if !loaded.settings.models.cohere.is_own_server => (SecretName::CohereApiKey, "Cohere"),
            _ => continue,
        });
    }
    needed.sort();
    needed.dedup();
    needed
}

/// Asks for one value until it makes sense. No answer, no change.
fn question(loaded: &Loaded, key: Key, prompter: &mut dyn Prompter) -> Result<Option<ConfigValue>, Exit> {
    let spec = KeySpec::of(key);
    let current = loaded.values.value(key);
    let shown = match current {
        ConfigValue::Bool(value) => value.to_string(),
        ConfigValue::Int(value) => value.to_string(),
        ConfigValue::Text(text) => safe(text).into_owned(),
        other => format!("{other:?}"),
    };
    let doc = spec.doc.trim().trim_end_matches('.');
    loop {
        let answer = prompter.ask(&format!("{doc}, {} [{shown}]: ", spec.path))?;
        if answer.trim().is_empty() {
            return Ok(None);
        }
        match ConfigValue::parse(spec, &answer) {
            Ok(ConfigValue::Text(text)) if key == Key::ServerListen && Listen::parse(&text).is_none() => {
                prompter.say("  expected an address and a port, such as 127.0.0.1:8080\n")?;
            }
            Ok(value) if value == *current => return Ok(None),
            Ok(value) => return Ok(Some(value)),
            Err(wrong) => prompter.say(&format!("  {wrong}\n"))?,
        }
    }
}

/// Asks for a secret that something needs. False when nothing was typed.
fn supply(
    loaded: &Loaded,
    name: SecretName,
    needed_by: &str,
    instead: Option<&str>,
    prompter: &mut dyn Prompter,
) -> Result<bool, Exit> {
    let instead = instead.map_or(String::new(), |instead| format!("{instead}\n"));
    prompter.say(&format!(
        "{} needs {}. It is not shown while you type.\n{instead}",
        safe(needed_by),
        name.variable()
    ))?;
    let secret = prompter.ask_secret(&format!("{}: ", name.variable()))?;
    let secret = Secret::new(secret.expose().trim());
    if secret.expose().is_empty() {
        return Ok(false);
    }
    let place = match loaded.settings.secrets.provider {
        SecretProvider::Session | SecretProvider::Env => "session",
        _ => ask_place(loaded, &["keychain", "file", "session"], prompter)?,
    };
    keep(loaded, name, &secret, place, prompter)?;
    Ok(true)
}

fn ask_place(
    loaded: &Loaded,
    places: &[&'static str],
    prompter: &mut dyn Prompter,
) -> Result<&'static str, Exit> {
    let has_keychain = loaded.secrets.keychain().is_some();
    let places: Vec<&str> =
        places.iter().copied().filter(|place| *place != "keychain" || has_keychain).collect();
    if let [only] = places[..] {
        return Ok(only);
    }
    let file = loaded.settings.secrets.file.to_string_lossy();
    loop {
        let question = format!("Keep it in: {} (file: {}) [{}]: ", places.join(", "), safe(&file), places[0]);
        let answer = prompter.ask(&question)?;
        let answer = answer.trim();
        let chosen = places.iter().find(|place| answer.is_empty() || place.eq_ignore_ascii_case(answer));
        if let Some(place) = chosen {
            return Ok(place);
        }
    }
}

/// Keeps a key and says where it went.
fn keep(
    loaded: &Loaded,
    name: SecretName,
    secret: &Secret,
    place: &str,
    prompter: &mut dyn Prompter,
) -> Result<(), Exit> {
    let config = |error: String| Exit::config(error);
    let kept = match (place, loaded.secrets.keychain()) {
        ("keychain", Some(keychain)) => {
            keychain.store(name.variable(), secret).map_err(|error| config(error.to_string()))?;
            "is in the keychain".to_owned()
        }
        ("session", _) => {
            loaded.secrets.keep_for_session(name, secret.clone());
            "is kept in memory until this program ends".to_owned()
        }
        _ => {
            loaded.secrets.keep_in_file(name, secret).map_err(|error| config(error.to_string()))?;
            let file = loaded.settings.secrets.file.to_string_lossy();
            format!("is in {}, which only you can read", safe(&file))
        }
    };
    prompter.say(&format!("{} {kept}.\n", name.variable()))?;
    Ok(())
}

fn shown_path(path: &Path) -> String {
    let cwd = std::env::current_dir().ok().and_then(|cwd| cwd.canonicalize().ok());
    let near = cwd.and_then(|cwd| path.strip_prefix(cwd).ok().map(Path::to_path_buf));
    near.unwrap_or_else(|| path.into()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::capabilities::Machine;
    use crate::config::error::Problems;
    use crate::config::tests::load_in;
    use crate::config::yaml;
    use crate::secrets::keychain::tests::fake_tool;

    /// Answers from a list, and what was said meanwhile.
    #[derive(Default)]
    struct Script {
        answers: VecDeque<&'static str>,
        said: String,
    }

    impl Script {
        fn new(answers: &[&'static str]) -> Script {
            Script { answers: answers.iter().copied().collect(), said: String::new() }
        }
    }

    impl Prompter for Script {
        fn say(&mut self, text: &str) -> io::Result<()> {
            self.said.push_str(text);
            Ok(())
        }

        fn ask(&mut self, question: &str) -> io::Result<String> {
            self.say(question)?;
            self.answers.pop_front().map(String::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }

        fn ask_secret(&mut self, question: &str) -> io::Result<Secret> {
            self.ask(question).map(Secret::new)
        }
    }

    /// A configuration that names a service.
    const MISTRAL: &str = "embed:\n  provider: mistral\n";

    #[test]
    fn without_a_service_no_key_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["config", "init"], &[]).unwrap();
        let mut script = Script::new(&["", "n", "", ""]);
        let answers = ask_all(&loaded, &[], &mut script).unwrap();
        assert_eq!(answers, [(Key::IngestGitignore, ConfigValue::Bool(false))]);
        assert!(script.answers.is_empty() && script.said.contains("No key is needed"), "{}", script.said);
    }

    /// The wizard on a machine with nothing but the program.
    fn ask_all(loaded: &Loaded, servers: &[LocalServer], script: &mut Script) -> Result<Answers, Exit> {
        let found = Capabilities::resolve(loaded, Machine::default()).unwrap();
        wizard(loaded, &found, servers, script)
    }

    #[test]
    fn a_service_is_offered_and_its_key_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["config", "init"], &[]).unwrap();
        let mut script = Script::new(&["", "", "", "somebody", "mistral", "canary-key"]);
        let answers = ask_all(&loaded, &[], &mut script).unwrap();
        let chosen = |key| answers.iter().find(|(of, _)| *of == key).map(|(_, value)| value.clone());
        for key in [Key::EmbedProvider, Key::ChatProvider, Key::OcrProvider, Key::SttProvider] {
            assert_eq!(chosen(key), Some(ConfigValue::Text("mistral".into())), "{key:?}");
        }
        assert!(
            !script.said.contains("canary") && script.said.contains("Mistral key, MISTRAL_API_KEY [none]")
        );
        assert!(loaded.secrets.get(SecretName::MistralApiKey).unwrap().is_some());
    }

    #[test]
    fn a_server_on_this_machine_is_offered_and_used_only_after_a_yes() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["config", "init"], &[]).unwrap();
        let server = LocalServer {
            name: "Ollama",
            base_url: "http://127.0.0.1:1/v1".into(),
            models: vec!["nomic-embed-text".into(), "llama3.2".into()],
        };
        let servers = [server];
        let mut no = Script::new(&["", "", "", "n", "", ""]);
        assert_eq!(ask_all(&loaded, &servers, &mut no).unwrap(), []);
        assert!(no.said.contains("Ollama answers at http://127.0.0.1:1/v1"), "{}", no.said);
        let mut yes = Script::new(&["", "", "", "y", "", "y"]);
        let answers = ask_all(&loaded, &servers, &mut yes).unwrap();
        let text = |text: &str| ConfigValue::Text(text.into());
        assert_eq!(
            answers,
            [
                (Key::OpenaiBaseUrl, text("http://127.0.0.1:1/v1")),
                (Key::OpenaiChatModel, text("llama3.2")),
                (Key::ChatProvider, text("openai")),
                (Key::OpenaiEmbedModel, text("nomic-embed-text")),
                (Key::EmbedProvider, text("openai")),
            ]
        );
        assert!(yes.said.contains("No key is needed"), "{}", yes.said);
    }

    fn effective(text: &str, key: Key) -> ConfigValue {
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let environment = crate::config::Environment::default();
        let file = yaml::read(Path::new("/c"), text, &environment, &mut problems, &mut warnings);
        assert!(problems.messages().is_empty());
        crate::config::combine::Values::combine([file.layer]).value(key).clone()
    }

    #[test]
    fn d010_answers_go_to_the_file_and_keys_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, MISTRAL).unwrap();
        let loaded = load_in(dir.path(), &["config", "init"], &[]).unwrap();
        let mut script = Script::new(&["nowhere", "127.0.0.1:8087", "y", "lots", "50", "", "canary-key"]);
        let answers = ask_all(&loaded, &[], &mut script).unwrap();
        assert!(script.answers.is_empty() && !script.said.contains("canary"), "{}", script.said);
        assert!(
            script.said.contains("MISTRAL_API_KEY is in ")
                && script.said.contains("secret.env, which only you")
        );
        assert!(!script.said.contains("ELEVENLABS"), "only what is used is asked for: {}", script.said);
        assert_eq!(write(&path, &answers).unwrap(), Written::Updated);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("canary"));
        assert_eq!(effective(&text, Key::ServerListen), ConfigValue::Text("127.0.0.1:8087".into()));
        assert_eq!(effective(&text, Key::IngestMaxFileMb), ConfigValue::Int(50));
        assert_eq!(effective(&text, Key::SecretsProvider), ConfigValue::Text("file".into()));
        let kept = loaded.secrets.get(SecretName::MistralApiKey).unwrap().unwrap();
        assert_eq!((kept.secret.expose(), kept.source.word()), ("canary-key", "file"));
        assert!(dir.path().join(".dir2mcp/secret.env").exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn keys_go_to_the_keychain_where_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), MISTRAL).unwrap();
        let bin = fake_tool(dir.path(), "");
        let loaded = load_in(dir.path(), &["config", "init"], &[("PATH", bin.to_str().unwrap())]).unwrap();
        let mut script = Script::new(&["", "", "", "", "canary-key", "somewhere", ""]);
        let answers = ask_all(&loaded, &[], &mut script).unwrap();
        assert_eq!(answers, [(Key::SecretsProvider, ConfigValue::Text("keychain".into()))]);
        assert_eq!(std::fs::read_to_string(dir.path().join("tool.log.input")).unwrap(), "canary-key");
        assert!(!dir.path().join(".dir2mcp").exists());
    }

    #[test]
    fn an_existing_file_is_changed_in_place_and_backed_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        let before = "# mine\nserver:\n  listen: \"127.0.0.1:1\" # why\n";
        std::fs::write(&path, before).unwrap();
        assert_eq!(write(&path, &Vec::new()).unwrap(), Written::Unchanged);
        let answers = vec![(Key::ServerListen, ConfigValue::Text("127.0.0.1:2".into()))];
        assert_eq!(write(&path, &answers).unwrap(), Written::Updated);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before.replace(":1\"", ":2\""));
        assert_eq!(std::fs::read_to_string(dir.path().join(".dir2mcp.yaml.bak")).unwrap(), before);
    }

    #[test]
    fn a_file_that_cannot_be_edited_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, "server: {public: false}\n").unwrap();
        let error =
            write(&path, &vec![(Key::ServerListen, ConfigValue::Text("127.0.0.1:2".into()))]).unwrap_err();
        assert!(error.messages[0].contains("server:\n  listen: \"127.0.0.1:2\""), "{error:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "server: {public: false}\n");
    }

    #[test]
    fn an_aborted_wizard_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["config", "init"], &[]).unwrap();
        assert!(ask_all(&loaded, &[], &mut Script::new(&["127.0.0.1:2"])).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn d035_a_missing_key_is_asked_for_and_may_stay_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = load_in(dir.path(), &["up"], &[]).unwrap();
        let name = SecretName::MistralApiKey;
        let mut script = Script::new(&["canary-key", "session"]);
        assert!(supply(&loaded, name, "embed.provider: mistral", None, &mut script).unwrap());
        assert_eq!(loaded.secrets.get(name).unwrap().unwrap().source.word(), "session");
        assert!(script.said.starts_with("embed.provider: mistral needs MISTRAL_API_KEY."));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(!supply(&loaded, name, "x", None, &mut Script::new(&[" "])).unwrap());
    }
}
