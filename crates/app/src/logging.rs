//! Log lines of the libraries: to standard error, warnings and worse, made harmless for the terminal.

use std::io::{self, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::config::settings::Output;
use crate::print;

/// Standard output belongs to results, events and the protocol; what is logged goes to standard error.
pub(crate) fn start(output: &Output) {
    let level = if output.quiet { LevelFilter::ERROR } else { LevelFilter::WARN };
    // The protocol library reports every refused request and the storage library its own routine.
    let targets = Targets::new()
        .with_default(level)
        .with_target("rmcp", LevelFilter::ERROR)
        .with_target("tantivy", LevelFilter::ERROR);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(|| Lines);
    // A second start is a second command in one process, which only tests have.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
}

/// Writes whole lines, without what could steer a terminal.
struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().lock().write_all(print::safe_text(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
