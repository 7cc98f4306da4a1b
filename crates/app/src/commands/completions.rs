//! `dir2mcp completions` and `dir2mcp man`: what shells and `man` want to know, made from the same definition as the help.
#![allow(clippy::disallowed_methods, reason = "the manual pages that it writes are its own")]

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::print::{self, safe};

#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder, instead of the main page to standard output
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dir2mcp", &mut script);
    Ok(print::out(&String::from_utf8_lossy(&script))?)
}

pub(crate) fn man(args: &ManArgs) -> Result<(), Exit> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return Ok(print::out(&String::from_utf8_lossy(&page))?);
    };
    let failed = |error: std::io::Error| {
        Exit::generic(format!(
            "cannot write the manual pages to {}: {error}",
            safe(&folder.to_string_lossy())
        ))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)?;
    Ok(())
}
