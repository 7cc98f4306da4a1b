//! `dir2mcp config print`: the effective configuration, secrets masked.

use crate::cli::{Cli, PrintArgs};
use crate::config::{self, render};
use crate::exit::Exit;
use crate::print;

pub(crate) fn run(cli: &Cli, args: &PrintArgs) -> Result<(), Exit> {
    if args.reference {
        match cli.global.json {
            true => print::out_json(&render::reference_json())?,
            false => print::out(&render::reference_markdown())?,
        }
        return Ok(());
    }
    let loaded = config::load(cli)?;
    if !cli.global.quiet {
        loaded.warnings.iter().for_each(|warning| print::warn(warning));
    }
    if cli.global.json {
        print::out_json(&render::json(&loaded))?;
    } else {
        print::out(&render::yaml(&loaded, args.origins))?;
    }
    Ok(())
}
