//! Everything that goes to the terminal: safe text, colours, the connection block, NDJSON events, progress.

pub(crate) mod bar;
pub(crate) mod connection;
pub(crate) mod events;
pub(crate) mod highlight;
pub(crate) mod hits;
pub(crate) mod prompt;
mod reach;
pub(crate) mod report;
pub(crate) mod safe;
pub(crate) mod services;
pub(crate) mod style;

use std::io::{self, Write};

pub(crate) use safe::{is_unsafe, safe, safe_text};

/// Writes to standard output. A reader that went away (`| head`) is no failure.
pub(crate) fn out(text: &str) -> io::Result<()> {
    tolerate_closed_pipe(write_all(&mut io::stdout().lock(), text))
}

/// Writes to standard error; a failure to do so cannot be reported anywhere.
pub(crate) fn err(text: &str) {
    let _ = write_all(&mut io::stderr().lock(), text);
}

/// Says something that is not wrong but should be known.
pub(crate) fn warn(message: &str) {
    err(&format!("{} {message}\n", style::err().paint(style::Ink::Caution, "WARNING:")));
}

/// A JSON value for a script: indented, with a line end, safe on a terminal.
pub(crate) fn out_json(value: &serde_json::Value) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    out(&format!("{}\n", safe::escape_json(&text)))
}

/// Bytes for a URL: letters, digits, `-._~` and what `keep` names stay as they are.
pub(crate) fn percent_encoded(bytes: &[u8], keep: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || keep.contains(byte);
    bytes
        .iter()
        .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn write_all(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

pub(crate) fn tolerate_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
