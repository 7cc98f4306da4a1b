//! Options, from raw to resolved, once: flags, environment and file become layers (`options`, `env`, `yaml`),
//! the layers become values with their origins (`combine`), the values become [`Settings`].
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
pub(crate) mod render;
mod repo_toml;
pub(crate) mod settings;
pub(crate) mod value;
pub(crate) mod yaml;
mod yaml_words;

use std::path::{Path, PathBuf};

pub(crate) use env::Environment;
pub(crate) use error::ConfigError;
pub(crate) use settings::Settings;

use engine::Weights;

use crate::cli::{Cli, Command, ConfigCommand, Global, UpArgs};
use crate::print::safe;
use crate::secrets::SecretSources;
use combine::Values;
use error::{Problem, Problems};
use keys::Key;
use options::Layer;
use settings::{Output, SecretProvider, Surroundings};

/// The usual name of the config file.
pub(crate) const FILE_NAME: &str = ".dir2mcp.yaml";

/// The configuration of one run.
pub(crate) struct Loaded {
    pub settings: Settings,
    /// Every key with its origin, for `config print` and the snapshot.
    pub values: Values,
    pub secrets: SecretSources,
    pub environment: Environment,
    /// To be shown once; they hold no secrets.
    pub warnings: Vec<String>,
}

/// Reads the environment and the file, and resolves everything for this command line.
pub(crate) fn load(cli: &Cli) -> Result<Loaded, ConfigError> {
    let cwd = std::env::current_dir().map_err(|error| ConfigError::Root { path: ".".into(), error })?;
    let environment = Environment::read(&cwd)?;
    load_from(cli, environment, &cwd)
}

fn load_from(cli: &Cli, environment: Environment, cwd: &Path) -> Result<Loaded, ConfigError> {
    let (mut problems, mut warnings) = (Problems::default(), Vec::new());
    let root = root(&cli.global, &environment, cwd)?;
    let config_file = config_file(&cli.global, &environment, cwd, &root);
    let file = match &config_file {
        Some(path) => file_layer(path, &environment, &mut problems, &mut warnings),
        None => Layer::new(),
    };
    let variables = environment.layer(cwd, &mut problems, &mut warnings);
    let mut flags = flags(&cli.command, cwd, &mut problems, &mut warnings);
    flags.extend(options::flag(Key::WorkspaceRoots, cli.global.roots.as_deref(), cwd, &mut problems));
    let chosen = Values::combine([file.clone(), variables.clone(), flags.clone()]);
    let (repository, repo_sound) = if uses_repo(&cli.command, &chosen) {
        (repo_toml::layer(&root, &mut problems), true)
    } else {
        // Whoever serves a folder for other tools must not stumble over a file in it.
        let mut own = Problems::default();
        let layer = repo_toml::layer(&root, &mut own);
        let messages = own.messages();
        let sound = messages.is_empty();
        if matches!(cli.command, Command::Up(_)) {
            warnings.extend(
                messages.into_iter().map(|message| format!("{message}; the repo tools are not served")),
            );
        }
        (if sound { layer } else { Layer::new() }, sound)
    };
    let values = Values::combine([file, repository, variables, flags]);
    let repo_alone = matches!(values.list(Key::ServerTools), [only] if only.eq_ignore_ascii_case("repo"));
    let given = path_option(cli.global.state_dir.as_deref(), "DIR2MCP_STATE_DIR", &environment);
    let state_dir = match given {
        Some(path) => cwd.join(path),
        None if repo_alone => match values.text(Key::RepoDataDir) {
            "" => root.join(".repo_mcp"),
            data_dir => data_dir.into(),
        },
        None => root.join(".dir2mcp"),
    };
    if state_dir == root {
        let message = "--state-dir: the state directory cannot be the root directory itself";
        problems.push(Problem { place: None, message: message.into() });
    }
    let named = path_option(cli.global.dir.as_deref(), "DIR2MCP_DIR", &environment).is_some();
    if repo_alone && !named && matches!(cli.command, Command::Stdio(_)) {
        let message = "--repo-root is required: a client may start this server anywhere";
        problems.push(Problem { place: None, message: message.into() });
    }

    let surroundings = Surroundings {
        root,
        state_dir,
        config_file,
        output: Output {
            json: cli.global.json,
            quiet: cli.global.quiet,
            non_interactive: cli.global.non_interactive,
        },
        weights: weights(&cli.global.weight, &mut problems),
        repo_alone,
        repo_sound,
        force_insecure: up_args(&cli.command).is_some_and(|args| args.force_insecure),
    };
    let settings = Settings::resolve(&values, surroundings, &mut problems, &mut warnings);
    problems.into_result()?;
    let secrets = SecretSources::new(&settings.secrets, &values, &environment);
    if settings.secrets.provider == SecretProvider::Keychain && secrets.keychain().is_none() {
        warnings.push(
            "secrets.provider is keychain, but the tool for it (secret-tool on Linux, security on macOS) is not \
             on the PATH"
                .into(),
        );
    }
    Ok(Loaded { settings, values, secrets, environment, warnings })
}

/// Whether the repository tools take part in this command.
fn uses_repo(command: &Command, values: &Values) -> bool {
    match command {
        Command::Outline(_) | Command::Bundle(_) => true,
        _ => values.list(Key::ServerTools).iter().any(|name| name.eq_ignore_ascii_case("repo")),
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

/// The file named, else the one in the current folder, else the one in the root: an agent that starts
/// `dir2mcp stdio --dir X` seldom stands in X.
pub(crate) fn config_file(
    global: &Global,
    environment: &Environment,
    cwd: &Path,
    root: &Path,
) -> Option<PathBuf> {
    match path_option(global.config.as_deref(), "DIR2MCP_CONFIG", environment) {
        Some(path) => Some(cwd.join(path)),
        None => {
            [cwd, root].map(|folder| folder.join(FILE_NAME)).into_iter().find(|path| files::is_file(path))
        }
    }
}

fn path_option(flag: Option<&Path>, variable: &str, environment: &Environment) -> Option<PathBuf> {
    flag.map(Into::into).or_else(|| environment.get(variable).map(|variable| variable.value.into()))
}

fn file_layer(
    path: &Path,
    environment: &Environment,
    problems: &mut Problems,
    warnings: &mut Vec<String>,
) -> Layer {
    match files::read(path) {
        Ok(file) => yaml::layer(path, &file.text, environment, problems, warnings),
        Err(error) => {
            let message = format!("cannot read the config file {}: {error}", safe(&path.to_string_lossy()));
            problems.push(Problem { place: None, message });
            Layer::new()
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
        let cli = Cli::try_parse_from(["dir2mcp"].iter().chain(arguments)).unwrap();
        load_from(&cli, Environment::of(env), dir)
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
        preflight::preflight(&loaded).unwrap();
        let without = load_in(dir.path(), &["up"], &[]).unwrap();
        assert!(matches!(preflight::preflight(&without), Err(ConfigError::MissingSecret { .. })));
    }
}
