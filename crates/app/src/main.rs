//! `dir2mcp`: turns a directory into a tool server for AI agents.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files they made"))]

mod api;
mod capabilities;
mod cli;
mod commands;
mod config;
mod exit;
mod former_embedding;
mod local_servers;
mod logging;
mod memory;
mod print;
mod secrets;
mod signals;
mod vitals;
mod wire;
mod workspace;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, ValueEnum};
use model::IndexMode;

use cli::{Cli, Command, ConfigCommand, ProjectArgs};
use exit::Exit;
use print::style::ColorChoice;

fn main() -> std::process::ExitCode {
    // Whatever is written holds texts of the folder, keys or logs of both: files are for their owner alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Help and complaints about arguments are coloured too, so this is found out before they are read.
    let color = early_color(&arguments);
    print::style::start(color);
    let cli = match parse(&arguments, color) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match run(&cli) {
        Ok(()) => exit::ExitCode::Success.into(),
        Err(exit) => exit.report(cli.global.json),
    }
}

/// Reads the command line. With `--json`, a complaint about it is JSON too.
fn parse(arguments: &[OsString], color: ColorChoice) -> Result<Cli, std::process::ExitCode> {
    let mut command = Cli::command().color(color.into());
    let parsed = command
        .try_get_matches_from_mut(arguments)
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    let error = match parsed {
        Ok(cli) => return Ok(cli),
        Err(error) => error.format(&mut command),
    };
    if error.use_stderr() && options(arguments).any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let message = lines.next().unwrap_or_default().trim_start_matches("error: ");
        let mut exit = Exit::config(message);
        exit.hints = lines.map(str::to_owned).collect();
        exit.announce();
    }
    // If the output is closed, the failure cannot be reported either.
    let _ = error.print();
    Err(if error.use_stderr() {
        exit::ExitCode::ConfigInvalid.into()
    } else {
        exit::ExitCode::Success.into()
    })
}

/// The arguments that can be options: those before a `--`.
fn options(arguments: &[OsString]) -> impl Iterator<Item = &OsString> {
    arguments.iter().skip(1).take_while(|argument| *argument != "--")
}

/// The value of `--color`, found without understanding the rest.
fn early_color(arguments: &[OsString]) -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    let mut next = false;
    for argument in options(arguments).filter_map(|argument| argument.to_str()) {
        let value = argument.strip_prefix("--color=").or(next.then_some(argument));
        choice = value.and_then(|value| ColorChoice::from_str(value, false).ok()).unwrap_or(choice);
        next = argument == "--color";
    }
    choice
}

fn run(cli: &Cli) -> Result<(), Exit> {
    match &cli.command {
        Command::Version => commands::version::run(cli.global.json),
        Command::ReadDocuments => commands::read_documents::run(),
        Command::RunModel { arguments } => commands::run_model::run(arguments),
        Command::Config(ConfigCommand::Init) => commands::config_init::run(cli),
        Command::Config(ConfigCommand::Print(args)) => commands::config_print::run(cli, args),
        Command::Connect(args) => commands::connect::run(cli, args),
        Command::Console(args) => commands::console::run(&config::load(cli)?, args),
        Command::Doctor => commands::doctor::run(cli),
        Command::Clean(args) => commands::clean::run(cli, args),
        Command::Completions(args) => commands::completions::completions(args),
        Command::Man(args) => commands::completions::man(args),
        Command::Status(args) => commands::status::run(&config::load(cli)?, args),
        Command::Up(args) => commands::up::run(&serving(cli, &args.published, true)?, &args.published),
        Command::Stdio(args) => commands::stdio::run(&serving(cli, &args.published, false)?, &args.published),
        Command::Publish(args) => commands::publish::run(indexed(cli, true)?, args),
        Command::Trust(args) => commands::trust::run(cli, args),
        Command::Costs(args) => commands::costs::run(&config::load(cli)?, args),
        Command::Keys(command) => commands::keys::run(&config::load(cli)?, command),
        Command::Calls(args) => commands::calls::run(&config::load(cli)?, args),
        Command::Store(command) => commands::store::run(&config::load(cli)?, command),
        Command::Extras(args) => commands::extras::run(&config::load(cli)?, args),
        Command::Roots(args) => commands::roots::run(cli, args),
        Command::Index => commands::indexing::run(&indexed(cli, true)?, IndexMode::Incremental),
        Command::Reindex(args) => {
            let mut loaded = indexed(cli, true)?;
            loaded.settings.ingest.reread = args.reread;
            commands::indexing::run(&loaded, IndexMode::Full)
        }
        Command::Ask(args) => commands::ask::run(&indexed(cli, true)?, args),
        Command::Search(args) => commands::search::run(&indexed(cli, true)?, args),
        Command::Open(args) => commands::open::run(&ready(cli)?, args),
        Command::Outline(args) => commands::repo::outline(&ready(cli)?, args),
        Command::Bundle(args) => commands::repo::bundle(&indexed(cli, true)?, args),
    }
}

/// The configuration of a command that uses the engine: everything it needs is there.
fn ready(cli: &Cli) -> Result<config::Loaded, Exit> {
    let mut loaded = config::load(cli)?;
    loaded.capabilities = commands::config_init::ensure_ready(&mut loaded)?;
    logging::start(&cli.global)?;
    engine::survive_cut_files();
    Ok(loaded)
}

/// The same for a server: one of a published project reads no folder at all.
fn serving(cli: &Cli, published: &ProjectArgs, can_ask: bool) -> Result<config::Loaded, Exit> {
    if published.project.is_some() { ready(cli) } else { indexed(cli, can_ask) }
}

/// The same for a command that reads the whole folder, which must not be the whole disk by accident.
fn indexed(cli: &Cli, can_ask: bool) -> Result<config::Loaded, Exit> {
    let loaded = ready(cli)?;
    commands::large_folder::check(&loaded, cli.global.yes, can_ask)?;
    Ok(loaded)
}
