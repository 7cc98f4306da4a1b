//! The log: which lines are written, and where: to standard error, or to a file of the operator's choice.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::cli::{Global, LogLevel};
use crate::exit::{Exit, ExitCode};
use crate::print;

/// Standard output belongs to results, events and the protocol; the log goes to standard error or to a file.
///
/// A log file is opened here, before the process gives up the right to open files elsewhere.
pub(crate) fn start(global: &Global) -> Result<(), Exit> {
    let level = level(global);
    // The protocol library reports every refused request and the storage library its own routine: both are
    // interesting only to someone who asked for everything.
    let routine = if level == LevelFilter::TRACE { LevelFilter::DEBUG } else { LevelFilter::ERROR };
    let targets = Targets::new()
        .with_default(level)
        .with_target("rmcp", routine)
        .with_target("tantivy", routine)
        .with_target("mio", LevelFilter::ERROR);
    let log = match &global.log_file {
        Some(path) => LogOutput::File(Arc::new(open(path).map_err(|error| {
            Exit::new(
                ExitCode::ConfigInvalid,
                "CONFIG_INVALID",
                format!("the log file {} cannot be written: {error}", path.display()),
            )
            .hint("Name a file in a directory that exists and is writable with --log-file.")
        })?)),
        None => LogOutput::StandardError,
    };
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(move || log.clone());
    // A second start is a second command in one process, which only tests have.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
    Ok(())
}

/// `--log-level` decides, else `-v`, else `--quiet`. A file of its own is for what a server does, so it starts lower.
fn level(global: &Global) -> LevelFilter {
    match (global.log_level, global.verbose) {
        (Some(LogLevel::Error), _) => LevelFilter::ERROR,
        (Some(LogLevel::Warn), _) => LevelFilter::WARN,
        (Some(LogLevel::Info), _) | (None, 1) => LevelFilter::INFO,
        (Some(LogLevel::Debug), _) | (None, 2) => LevelFilter::DEBUG,
        (Some(LogLevel::Trace), _) | (None, 3..) => LevelFilter::TRACE,
        (None, 0) if global.log_file.is_some() => LevelFilter::INFO,
        (None, 0) if global.quiet => LevelFilter::ERROR,
        (None, 0) => LevelFilter::WARN,
    }
}

/// Appends, so that a restart does not lose what an earlier run wrote. Only the owner may read it.
#[allow(clippy::disallowed_methods, reason = "the log file is the operator's, not a user's content")]
fn open(path: &std::path::Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Writes whole lines, without what could steer a terminal that shows them.
#[derive(Clone)]
enum LogOutput {
    StandardError,
    File(Arc<File>),
}

impl Write for LogOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = print::safe_text(&text);
        match self {
            LogOutput::StandardError => io::stderr().lock().write_all(line.as_bytes())?,
            LogOutput::File(file) => file.as_ref().write_all(line.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            LogOutput::StandardError => io::stderr().flush(),
            LogOutput::File(file) => file.as_ref().flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_level_that_the_flags_ask_for() {
        let level = |flags: &[&str]| {
            level(&Cli::try_parse_from(["dir2mcp", "up"].iter().chain(flags)).unwrap().global)
        };
        assert_eq!(level(&[]), LevelFilter::WARN);
        assert_eq!(level(&["--quiet"]), LevelFilter::ERROR);
        assert_eq!(level(&["-v"]), LevelFilter::INFO);
        assert_eq!(level(&["-vv"]), LevelFilter::DEBUG);
        assert_eq!(level(&["-v", "-v", "-v", "-v"]), LevelFilter::TRACE);
        assert_eq!(level(&["--log-level", "debug"]), LevelFilter::DEBUG);
        assert_eq!(level(&["--log-file", "x"]), LevelFilter::INFO);
        assert_eq!(level(&["--log-file", "x", "--log-level", "error"]), LevelFilter::ERROR);
        assert!(Cli::try_parse_from(["dir2mcp", "up", "-v", "--quiet"]).is_err());
    }
}
