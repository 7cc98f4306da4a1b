//! Options, from raw to resolved, once: flags, environment and files become layers (`options`, `env`, `yaml`), which of
//! their keys count is decided (`trust`), the layers become values with their origins (`combine`), the values become
//! [`Settings`].
//!
//! Nothing below `app` reads a flag, a file or a variable of its own.

pub(crate) mod combine;
pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod keys;
pub(crate) mod nearest;
pub(crate) mod options;
pub(crate) mod preflight;
pub(crate) mod reach;
pub(crate) mod render;
mod repo_toml;
pub(crate) mod settings;
pub(crate) mod trust;
pub(crate) mod trust_store;
pub(crate) mod value;
pub(crate) mod yaml;
mod yaml_words;

use std::path::{Path, PathBuf};

use contracts::Contract;

pub(crate) use env::Environment;
pub(crate) use error::ConfigError;
pub(crate) use repo_toml::FILE_NAME as REPO_FILE_NAME;
pub(crate) use settings::Settings;

use engine::Weights;

use crate::capabilities::{Capabilities, Machine};
use crate::cli::{Cli, Command, ConfigCommand, Global, UpArgs};
use crate::print::{prompt, safe};
use crate::secrets::SecretSources;
use combine::Values;
use error::{Problem, Problems};
use keys::Key;
use options::Layer;
use settings::{OutputSettings, SecretProvider, Surroundings};
use trust::{Trust, UnnamedFile, Untrusted};
use trust_store::TrustStore;
use yaml::VariableReference;

/// The usual name of the config file.
pub(crate) const FILE_NAME: &str = ".dir2mcp.yaml";

/// The name of the user's own config file, in the user's configuration directory.
const USER_FILE_NAME: &str = "config.yaml";

/// The configuration of one run.
pub(crate) struct Loaded {
    pub settings: Settings,
    /// Every key with its origin, for `config print` and the snapshot.
    pub values: Values,
    pub secrets: SecretSources,
    pub environment: Environment,
    /// Who embeds, reads, transcribes and answers; what is built in until the preflight has found out.
    pub capabilities: Capabilities,
    /// All that the config file sets counts with the user's agreement: it was named, is trusted, widens nothing or is
    /// not there yet. What is written into it is then trusted, too.
    pub is_agreed: bool,
    /// Found files that ask for more than they may. Empty unless the caller wanted to look at them.
    pub untrusted: Vec<Untrusted>,
    /// To be shown once; they hold no secrets.
    pub warnings: Vec<String>,
}

/// What happens to a found file that asks for more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The run ends.
    Refuse,
    /// The file counts, and the caller is told of it. For looking at it only.
    Tell,
}

/// Reads the environment and the files, and resolves everything for this command line. Where a found file asks for more
/// than it may, the user is asked on a terminal, and elsewhere the run ends.
pub(crate) fn load(cli: &Cli) -> Result<Loaded, ConfigError> {
    let cwd = current_folder()?;
    loop {
        let environment = Environment::read(&cwd)?;
        match load_from(&cli.global, &cli.command, environment, &cwd, Doubt::Refuse) {
            // Standard input and output of `stdio` belong to the protocol.
            Err(ConfigError::Untrusted(files)) if !matches!(cli.command, Command::Stdio(_)) => {
                if !ask_about(&files, &cli.global, &cwd)? {
                    return Err(ConfigError::Untrusted(files));
                }
            }
            other => return other,
        }
    }
}

/// Loads as if started in `folder`, for a look at the files that are found there.
pub(crate) fn look_at(cli: &Cli, folder: &Path) -> Result<Loaded, ConfigError> {
    let global = Global { dir: None, config: None, roots: None, ..cli.global.clone() };
    load_from(&global, &cli.command, Environment::read(folder)?, folder, Doubt::Tell)
}

pub(crate) fn current_folder() -> Result<PathBuf, ConfigError> {
    std::env::current_dir().map_err(|error| ConfigError::Root { path: ".".into(), error })
}

/// Asks whether these files may count, and remembers a yes. False where the user cannot be asked.
fn ask_about(files: &[Untrusted], global: &Global, cwd: &Path) -> Result<bool, ConfigError> {
    let output = output(global);
    if !prompt::is_interactive(&output) {
        return Ok(false);
    }
    let failed = |error: std::io::Error| ConfigError::one(error.to_string());
    let environment = Environment::read(cwd)?;
    let mut store = TrustStore::read(environment.config_dir().as_deref(), &mut Vec::new());
    for file in files {
        let wishes: String = file.wishes.iter().map(|wish| format!("  {}\n", wish.shown())).collect();
        let question = format!("{file}:\n{wishes}Do you trust this file? [y/N] ");
        if !prompt::confirm(&mut prompt::Terminal, &question).map_err(failed)? {
            return Ok(false);
        }
        store.add(&file.file).map_err(failed)?;
    }
    Ok(true)
}

/// Trusts a file that was just written at the user's wish, unless it already held other settings that are not trusted.
/// Where there is no place to remember it, the file asks for it once more.
pub(crate) fn trust_written(loaded: &Loaded, path: &Path, text: &str) -> std::io::Result<()> {
    match loaded.settings.user_config_dir.as_deref().filter(|_| loaded.is_agreed) {
        Some(folder) => TrustStore::read(Some(folder), &mut Vec::new())
            .add(&UnnamedFile::new(&files::real_path(path)?, text)),
        None => Ok(()),
    }
}

fn load_from(
    global: &Global,
    command: &Command,
    environment: Environment,
    cwd: &Path,
    doubt: Doubt,
) -> Result<Loaded, ConfigError> {
    let (mut problems, mut warnings) = (Problems::default(), Vec::new());
    let root = root(global, &environment, cwd)?;
    let config_dir = environment.config_dir();
    let store = TrustStore::read(config_dir.as_deref(), &mut warnings);
    let trust = Trust { store, all: global.trust_config };
    let user_file =
        config_dir.as_ref().map(|folder| folder.join(USER_FILE_NAME)).filter(|path| files::is_file(path));
    let user = user_file
        .as_deref()
        .map_or_else(Layer::new, |path| file_layer(path, &environment, &mut problems, &mut warnings).layer);
    let config_file = config_file(global, &environment, cwd, &root);
    let found = match &config_file {
        // The wizard makes the file that it was given the name of.
        Some(config)
            if matches!(command, Command::Config(ConfigCommand::Init)) && !files::is_file(&config.path) =>
        {
            ReadFile::default()
        }
        Some(config) => file_layer(&config.path, &environment, &mut problems, &mut warnings),
        None => ReadFile::default(),
    };
    let variables = environment.layer(cwd, &mut problems, &mut warnings);
    let mut flags = flags(command, cwd, &mut problems, &mut warnings);
    flags.extend(options::flag(Key::WorkspaceRoots, global.roots.as_deref(), cwd, &mut problems));
    let chosen = Values::combine([user.clone(), found.layer.clone(), variables.clone(), flags.clone()]);
    let (repository, repo_sound) = if uses_repo(command, &chosen) {
        (repo_toml::read(&root, &mut problems), true)
    } else {
        // Whoever serves a folder for other tools must not stumble over a file in it.
        let mut own = Problems::default();
        let file = repo_toml::read(&root, &mut own);
        let messages = own.messages();
        let sound = messages.is_empty();
        if matches!(command, Command::Up(_)) {
            warnings.extend(
                messages.into_iter().map(|message| format!("{message}; the repo tools are not served")),
            );
        }
        (if sound { file } else { ReadFile::default() }, sound)
    };

    let mut untrusted = Vec::new();
    let mut base = user.clone();
    let named = config_file.as_ref().is_some_and(|config| config.named);
    for (read, named) in [(&found, named), (&repository, false)] {
        let wishes = trust::wishes(
            &Values::combine([base.clone()]),
            &read.layer,
            &read.references,
            &[&variables, &flags],
        );
        match &read.file {
            Some(file) if !named && !wishes.is_empty() && !trust.covers(file) => {
                untrusted.push(Untrusted { file: file.clone(), wishes });
            }
            _ => base.extend(read.layer.iter().cloned()),
        }
    }
    let is_agreed = match &found.file {
        Some(file) if !named && !trust.covers(file) => {
            let base = Values::combine([user.clone()]);
            trust::wishes(&base, &found.layer, &found.references, &[]).is_empty()
        }
        _ => true,
    };
    if doubt == Doubt::Refuse && !untrusted.is_empty() {
        return Err(ConfigError::Untrusted(untrusted));
    }
    let (file, repository) = (found.layer, repository.layer);
    let config_file = config_file.map(|config| config.path);
    let values = Values::combine([user, file, repository, variables, flags]);
    let served_alone = |contract: Contract| matches!(values.list(Key::ServerTools), [only] if Contract::parse(only) == Some(contract));
    let repo_alone = served_alone(Contract::REPO);
    let named = path_option(global.dir.as_deref(), "DIR2MCP_DIR", &environment).is_some();
    // A client may start this server anywhere, so the current folder was not chosen by the user.
    let nowhere = !named && matches!(command, Command::Stdio(_));
    let further = values.list(Key::WorkspaceRoots);
    let root = match further.iter().find_map(|path| files::open_root(Path::new(path)).ok()) {
        Some(first) if nowhere && served_alone(Contract::SMART) => first,
        _ => root,
    };
    let given = path_option(global.state_dir.as_deref(), "DIR2MCP_STATE_DIR", &environment);
    let usual = root.join(".dir2mcp");
    let is_given = given.is_some();
    let state_dir = match given {
        Some(path) => files::resolved(&cwd.join(path)),
        None if repo_alone => match values.text(Key::RepoDataDir) {
            "" => root.join(".repo_mcp"),
            data_dir => data_dir.into(),
        },
        None => usual.clone(),
    };
    // The usual directory and one that was named are for all tools; another one belongs to the repository tools.
    let repo_apart = repo_alone && (is_given || state_dir == usual);
    if state_dir == root {
        let message = "--state-dir: the state directory cannot be the root directory itself";
        problems.push(Problem { place: None, message: message.into() });
    }
    let roots_missing = nowhere && served_alone(Contract::SMART) && further.is_empty();
    if repo_alone && nowhere {
        let message = "--repo-root is required: a client may start this server anywhere";
        problems.push(Problem { place: None, message: message.into() });
    }

    let surroundings = Surroundings {
        root,
        state_dir,
        config_file,
        user_config_dir: config_dir,
        output: output(global),
        weights: weights(&global.weight, &mut problems),
        repo_alone,
        repo_apart,
        roots_missing,
        repo_sound,
        force_insecure: up_args(command).is_some_and(|args| args.force_insecure),
    };
    let settings = Settings::resolve(&values, surroundings, &mut problems, &mut warnings);
    problems.into_result()?;
    let secrets = SecretSources::new(&settings.secrets, &values, &environment);
    warnings.extend(secrets.warning());
    if settings.secrets.provider == SecretProvider::Keychain && secrets.keychain().is_none() {
        warnings.push(
            "secrets.provider is keychain, but the tool for it (secret-tool on Linux, security on macOS) is not \
             on the PATH"
                .into(),
        );
    }
    let capabilities = Capabilities::builtin(Machine::default());
    Ok(Loaded { settings, values, secrets, environment, capabilities, is_agreed, untrusted, warnings })
}

/// Whether the repository tools take part in this command.
fn uses_repo(command: &Command, values: &Values) -> bool {
    match command {
        Command::Outline(_) | Command::Bundle(_) => true,
        _ => values.list(Key::ServerTools).iter().any(|name| Contract::parse(name) == Some(Contract::REPO)),
    }
}

/// The weights of the ranking, with those that an experiment changes.
fn weights(changes: &[String], problems: &mut Problems) -> Weights {
    let mut weights = Weights::default();
    for change in changes {
        let value = change.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
        if !value.is_some_and(|(name, value)| weights.set(name, value)) {
            let message =
                format!("--weight: {change:?} is not NAME=NUMBER; names are {}", Weights::NAMES.join(", "));
            problems.push(Problem { place: None, message });
        }
    }
    weights
}

/// The root directory's real path. Whoever names further folders and no directory means the first of them, not the one
/// that happens to be current.
fn root(global: &Global, environment: &Environment, cwd: &Path) -> Result<PathBuf, ConfigError> {
    let variable = environment.get("DIR2MCP_WORKSPACE_ROOTS").map(|variable| variable.value);
    let roots = global.roots.as_deref().map(str::to_owned).or_else(|| variable.map(Into::into));
    let first =
        roots.as_deref().and_then(|roots| roots.split(',').map(str::trim).find(|path| !path.is_empty()));
    let path = path_option(global.dir.as_deref(), "DIR2MCP_DIR", environment)
        .or_else(|| first.map(PathBuf::from))
        .unwrap_or(".".into());
    files::open_root(&cwd.join(&path)).map_err(|error| ConfigError::Root { path, error })
}

/// Where the configuration is read from.
struct ConfigFile {
    path: PathBuf,
    /// The user named it, on the command line or in the shell.
    named: bool,
}

/// The file named, else the one in the current folder, else the one in the root: an agent that starts
/// `dir2mcp stdio --dir X` is seldom started in X.
fn config_file(global: &Global, environment: &Environment, cwd: &Path, root: &Path) -> Option<ConfigFile> {
    match path_option(global.config.as_deref(), "DIR2MCP_CONFIG", environment) {
        Some(path) => Some(ConfigFile { path: cwd.join(path), named: true }),
        None => {
            let found = [cwd, root].map(|folder| folder.join(FILE_NAME));
            let path = found.into_iter().find(|path| files::is_file(path))?;
            Some(ConfigFile { path, named: false })
        }
    }
}

fn output(global: &Global) -> OutputSettings {
    OutputSettings { json: global.json, quiet: global.quiet, non_interactive: global.non_interactive }
}

fn path_option(flag: Option<&Path>, variable: &str, environment: &Environment) -> Option<PathBuf> {
    flag.map(Into::into).or_else(|| environment.get(variable).map(|variable| variable.value.into()))
}

/// A config file as it was read: nothing where there is none.
#[derive(Debug, Default)]
struct ReadFile {
    file: Option<UnnamedFile>,
    layer: Layer,
    references: Vec<VariableReference>,
}

fn file_layer(
    path: &Path,
    environment: &Environment,
    problems: &mut Problems,
    warnings: &mut Vec<String>,
) -> ReadFile {
    match files::read(path) {
        Ok(file) => {
            let read = yaml::read(path, &file.text, environment, problems, warnings);
            let real = files::real_path(path).unwrap_or_else(|_| path.into());
            let file = Some(UnnamedFile::new(&real, &file.text));
            ReadFile { file, layer: read.layer, references: read.references }
        }
        Err(error) => {
            let message = format!("cannot read the config file {}: {error}", safe(&path.to_string_lossy()));
            problems.push(Problem { place: None, message });
            ReadFile::default()
        }
    }
}

fn flags(command: &Command, cwd: &Path, problems: &mut Problems, warnings: &mut Vec<String>) -> Layer {
    match command {
        Command::Stdio(args) => options::stdio_flags(args, cwd, problems),
        Command::Connect(args) => options::flag(Key::ServerTools, args.tools.as_deref(), cwd, problems),
        _ => {
            let Some(args) = up_args(command) else { return Layer::new() };
            if args.x402_facilitator_token.is_some() {
                warnings.push(
                    "--x402-facilitator-token shows the token to other users of this machine; use \
                     --x402-facilitator-token-file"
                        .into(),
                );
            }
            options::up_flags(args, cwd, problems)
        }
    }
}

/// The flags of `up`, which `config print` takes too.
fn up_args(command: &Command) -> Option<&UpArgs> {
    match command {
        Command::Up(args) => Some(args),
        Command::Config(ConfigCommand::Print(args)) => Some(&args.up),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser;

    use super::*;

    /// Loads as if started in `dir` with this command line and environment.
    pub(crate) fn load_in(
        dir: &Path,
        arguments: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Loaded, ConfigError> {
        // What a file may set is for the tests of `trust`.
        let cli = Cli::try_parse_from(["dir2mcp", "--trust-config"].iter().chain(arguments)).unwrap();
        load_from(&cli.global, &cli.command, Environment::of(env), dir, Doubt::Refuse)
    }

    /// The same with the dotenv files of the folder.
    pub(crate) fn load_with_dotenv(dir: &Path, arguments: &[&str]) -> Result<Loaded, ConfigError> {
        let cli = Cli::try_parse_from(["dir2mcp", "--trust-config"].iter().chain(arguments)).unwrap();
        let environment = Environment::of(&[]).with_dotenv(dir)?;
        load_from(&cli.global, &cli.command, environment, dir, Doubt::Refuse)
    }

    fn messages(result: Result<Loaded, ConfigError>) -> String {
        result.map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn d003_d013_to_d015_where_things_are() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("docs")).unwrap();
        let loaded = load_in(&base, &["up"], &[]).unwrap().settings;
        assert_eq!(
            (loaded.root, loaded.state_dir, loaded.config_file),
            (base.clone(), base.join(".dir2mcp"), None)
        );

        std::fs::write(base.join("docs").join(FILE_NAME), "version: 1\n").unwrap();
        let loaded = load_in(&base, &["--dir", "docs", "up"], &[]).unwrap().settings;
        assert_eq!(loaded.state_dir, base.join("docs/.dir2mcp"));
        assert_eq!(loaded.config_file, Some(base.join("docs").join(FILE_NAME)));
        std::fs::write(base.join(FILE_NAME), "version: 1\n").unwrap();
        let loaded = load_in(&base, &["up", "--dir=docs", "--state-dir", "state"], &[]).unwrap().settings;
        assert_eq!(loaded.state_dir, base.join("state"));
        assert_eq!(loaded.config_file, Some(base.join(FILE_NAME)));
        let env =
            [("DIR2MCP_DIR", "docs"), ("DIR2MCP_STATE_DIR", "/s"), ("DIR2MCP_CONFIG", "docs/.dir2mcp.yaml")];
        let loaded = load_in(&base, &["up"], &env).unwrap().settings;
        assert_eq!(loaded.root, base.join("docs"));
        assert_eq!(loaded.state_dir, Path::new("/s"));
        assert_eq!(loaded.config_file, Some(base.join("docs").join(FILE_NAME)));
    }

    #[test]
    fn d030_a_root_that_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let result = load_in(dir.path(), &["up", "--dir", "none"], &[]);
        assert!(matches!(result, Err(ConfigError::Root { .. })));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(load_in(dir.path(), &["up", "--dir", "file"], &[]), Err(ConfigError::Root { .. })));
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "rag:\n  k_default: 99\nfoo: 1\n").unwrap();
        let text =
            messages(load_in(dir.path(), &["up", "--listen", "nowhere"], &[("DIR2MCP_RATE_LIMIT_RPS", "x")]));
        for part in ["k_default", "unknown key \"foo\"", "--listen", "DIR2MCP_RATE_LIMIT_RPS"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let missing = messages(load_in(dir.path(), &["--config", "none.yaml", "up"], &[]));
        assert!(missing.contains("none.yaml"), "{missing}");
        let state = messages(load_in(dir.path(), &["--state-dir", dir.path().to_str().unwrap(), "up"], &[]));
        assert!(state.contains("--state-dir"), "{state}");
    }

    #[test]
    fn the_specification_s_own_template_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), include_str!("../../tests/it/specification.yaml"))
            .unwrap();
        let loaded = load_in(dir.path(), &["up"], &[("MISTRAL_API_KEY", "k")]).unwrap();
        assert_eq!(loaded.warnings, [""; 0]);
        assert_eq!(loaded.settings.rag.k_default, 10);
        let patterns = &loaded.settings.security.secret_patterns;
        assert!(!patterns.builtin && patterns.custom.len() == 5);
        let preflight = |loaded: &Loaded, present: bool| {
            let found = Capabilities::resolve(loaded, Machine::default()).unwrap();
            preflight::preflight(loaded, &found, &|_| present)
        };
        preflight(&loaded, true).unwrap();
        let without = load_in(dir.path(), &["up"], &[]).unwrap();
        assert_eq!(preflight(&without, false).unwrap(), [""; 0]);
        assert!(matches!(preflight(&without, true), Err(ConfigError::MissingSecret { .. })));
    }
}
