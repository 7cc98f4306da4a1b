//! `dir2mcp`: turns a directory into a tool server for AI agents.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read the files they made"))]

mod cli;
mod commands;
mod config;
mod exit;
mod logging;
mod memory;
mod print;
mod secrets;
mod signals;
mod vitals;
mod wire;
mod workspace;

use clap::Parser;
use model::IndexMode;

use cli::{Cli, Command, ConfigCommand};
use exit::Exit;

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => exit::ExitCode::Success.into(),
        Err(exit) => exit.report(cli.global.json),
    }
}

fn run(cli: &Cli) -> Result<(), Exit> {
    match &cli.command {
        Command::Version => commands::version::run(cli.global.json),
        Command::ReadDocuments => commands::read_documents::run(),
        Command::Config(ConfigCommand::Init) => commands::config_init::run(cli),
        Command::Config(ConfigCommand::Print(args)) => commands::config_print::run(cli, args),
        Command::Connect(args) => commands::connect::run(cli, args),
        Command::Status(args) => commands::status::run(&config::load(cli)?, args),
        Command::Up(args) => commands::up::run(&ready(cli)?, args),
        Command::Stdio(args) => commands::stdio::run(&ready(cli)?, args),
        Command::Roots(args) => commands::roots::run(cli, args),
        Command::Index => commands::indexing::run(&ready(cli)?, IndexMode::Incremental),
        Command::Reindex => commands::indexing::run(&ready(cli)?, IndexMode::Full),
        Command::Ask(args) => commands::ask::ask(&ready(cli)?, args),
        Command::Search(args) => commands::ask::search(&ready(cli)?, args),
        Command::Outline(args) => commands::repo::outline(&ready(cli)?, args),
        Command::Bundle(args) => commands::repo::bundle(&ready(cli)?, args),
    }
}

/// The configuration of a command that uses the engine: everything it needs is there.
fn ready(cli: &Cli) -> Result<config::Loaded, Exit> {
    let mut loaded = config::load(cli)?;
    commands::config_init::ensure_ready(&mut loaded)?;
    logging::start(&loaded.settings.output);
    Ok(loaded)
}
