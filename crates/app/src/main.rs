//! `dir2mcp`: turns a directory into a tool server for AI agents.
#![allow(dead_code, reason = "the commands that need the engine are wired separately")]

mod cli;
mod commands;
mod config;
mod exit;
mod print;
mod secrets;

use clap::Parser;

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
        Command::Config(ConfigCommand::Init) => commands::config_init::run(cli),
        Command::Config(ConfigCommand::Print(args)) => commands::config_print::run(cli, args),
        Command::Connect(args) => commands::connect::run(cli, args),
        _ => {
            let mut loaded = config::load(cli)?;
            commands::config_init::ensure_ready(&mut loaded)?;
            Err(Exit::generic("this command is not wired yet"))
        }
    }
}
