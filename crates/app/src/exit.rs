//! How a run ends: the exit codes of the dir2mcp specification, section 2.4, and the error as it is shown.

use contracts::RegistryError;
use engine::state_dir::StateDirError;
use engine::{EngineError, IndexError};
use model::{ErrorCode, Failure};
use serde_json::{Value, json};

use crate::config::ConfigError;
use crate::config::trust::Untrusted;
use crate::print;
use crate::print::events::{Events, Level};
use crate::print::safe;
use crate::print::style::{self, Ink};
use crate::secrets::token::TokenError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Success = 0,
    Generic = 1,
    ConfigInvalid = 2,
    RootInaccessible = 3,
    BindFailed = 4,
    IndexFailed = 5,
    IngestFailed = 6,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        std::process::ExitCode::from(code as u8)
    }
}

/// Why a run ended before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub code: ExitCode,
    /// The public code: `CONFIG_INVALID` and its like.
    pub label: &'static str,
    /// One `ERROR:` line each; at least one.
    pub messages: Vec<String>,
    /// What to do about it, a line each.
    pub hints: Vec<String>,
}

impl Exit {
    pub(crate) fn new(code: ExitCode, label: &'static str, message: impl Into<String>) -> Exit {
        Exit { code, label, messages: vec![message.into()], hints: Vec::new() }
    }

    pub(crate) fn config(message: impl Into<String>) -> Exit {
        Exit::new(ExitCode::ConfigInvalid, ErrorCode::ConfigInvalid.as_str(), message)
    }

    pub(crate) fn bind(message: impl Into<String>) -> Exit {
        Exit::new(ExitCode::BindFailed, ErrorCode::BindFailed.as_str(), message)
    }

    /// The index cannot be opened: damaged, locked, or written by a newer version.
    pub(crate) fn index(code: ErrorCode, message: impl Into<String>) -> Exit {
        Exit::new(ExitCode::IndexFailed, code.as_str(), message)
    }

    pub(crate) fn ingest(message: impl Into<String>) -> Exit {
        Exit::new(ExitCode::IngestFailed, ErrorCode::IngestFailed.as_str(), message)
    }

    /// Indexing in the background cannot go on.
    pub(crate) fn fatal(code: ErrorCode, message: impl Into<String>) -> Exit {
        let exit = match code {
            ErrorCode::RootInaccessible => {
                return Exit::new(ExitCode::RootInaccessible, code.as_str(), message)
                    .hint("Run `dir2mcp up` again where the directory is now.");
            }
            ErrorCode::IngestFailed => ExitCode::IngestFailed,
            _ => ExitCode::IndexFailed,
        };
        Exit::new(exit, code.as_str(), message)
            .hint("Run `dir2mcp up` again; what is missing then is indexed anew.")
    }

    pub(crate) fn generic(message: impl Into<String>) -> Exit {
        Exit::new(ExitCode::Generic, ErrorCode::InternalError.as_str(), message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Exit {
        self.hints.push(hint.into());
        self
    }

    /// The lines for standard error: `ERROR: CODE: message`, then the hints.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for message in &self.messages {
            let error = style::err().paint(Ink::Bad, "ERROR:");
            text.push_str(&format!("{error} {}: {}\n", self.label, print::safe_text(message)));
        }
        for hint in &self.hints {
            text.push_str(&format!("{}\n", print::safe_text(hint)));
        }
        text
    }

    /// The data of the `fatal` event.
    pub(crate) fn event(&self) -> Value {
        json!({
            "code": self.label,
            "message": self.messages.join("\n"),
            "hints": self.hints,
            "exit_code": self.code as u8,
        })
    }

    /// The `fatal` event on standard output.
    pub(crate) fn announce(&self) {
        Events::stdout().emit(Level::Error, "fatal", self.event());
    }

    /// Shows the error and gives the code to leave with.
    pub(crate) fn report(&self, json: bool) -> std::process::ExitCode {
        if json {
            self.announce();
        }
        print::err(&self.text());
        self.code.into()
    }
}

impl From<ConfigError> for Exit {
    fn from(error: ConfigError) -> Exit {
        match &error {
            ConfigError::Invalid(problems) => {
                let mut exit = Exit::config("");
                exit.messages = problems.messages();
                exit
            }
            // The three lines of section 3.3.
            ConfigError::MissingSecret { name, needed_by, instead } => {
                let mut exit = Exit::config(error.to_string())
                    .hint(format!("Set env: {}=...", name.variable()))
                    .hint("Or run: dir2mcp config init")
                    .hint(format!("It is needed by {needed_by}"));
                exit.hints.extend(instead.clone());
                exit
            }
            ConfigError::Untrusted(files) => {
                let mut exit = Exit::config("");
                exit.messages = files.iter().map(ToString::to_string).collect();
                exit.hints = files.iter().flat_map(Untrusted::hints).collect();
                exit.hints.dedup();
                exit
            }
            ConfigError::Root { .. } => {
                Exit::new(ExitCode::RootInaccessible, "ROOT_INACCESSIBLE", error.to_string())
                    .hint("Name an existing directory with --dir.")
            }
        }
    }
}

impl From<TokenError> for Exit {
    fn from(error: TokenError) -> Exit {
        let exit = Exit::config(error.to_string());
        match &error {
            TokenError::NotAToken { .. } => {
                exit.hint("Remove the file to have a new token made, or write one line into it.")
            }
            _ => exit,
        }
    }
}

/// An engine call of `ask`, `search` or `status` that failed.
impl From<Failure> for Exit {
    fn from(failure: Failure) -> Exit {
        let code = match failure.code {
            ErrorCode::ConfigInvalid | ErrorCode::TlsConfigInvalid => ExitCode::ConfigInvalid,
            ErrorCode::BindFailed => ExitCode::BindFailed,
            ErrorCode::StoreCorrupt | ErrorCode::IndexVersionMismatch => ExitCode::IndexFailed,
            _ => ExitCode::Generic,
        };
        Exit::new(code, failure.code.as_str(), failure.message)
    }
}

/// The engine could not be opened.
impl From<EngineError> for Exit {
    fn from(error: EngineError) -> Exit {
        let message = error.to_string();
        match error {
            EngineError::Root { .. } => Exit::new(ExitCode::RootInaccessible, "ROOT_INACCESSIBLE", message)
                .hint("Name an existing directory with --dir."),
            EngineError::Policy(_) => Exit::config(message),
            EngineError::State { .. } => Exit::ingest(message).hint("Name a writable one with --state-dir."),
            EngineError::StateDir(error) => error.into(),
            EngineError::Project(failure) => Exit::from(failure),
            EngineError::Index(IndexError::NotWritable { .. } | IndexError::DiskFull { .. }) => {
                Exit::ingest(message).hint("Make room or name a writable directory with --state-dir.")
            }
            EngineError::Index(IndexError::Newer { .. }) => {
                Exit::index(ErrorCode::IndexVersionMismatch, message)
            }
            // The disk, not what is on it.
            EngineError::Index(IndexError::Io { .. } | IndexError::Sqlite { .. } | IndexError::ReadOnly) => {
                Exit::ingest(message).hint("Look at the disk, or name another directory with --state-dir.")
            }
            EngineError::Index(IndexError::Missing { .. } | IndexError::Busy { .. }) => {
                Exit::index(ErrorCode::IndexNotReady, message)
            }
            EngineError::Index(
                IndexError::Corrupt { .. } | IndexError::Foreign { .. } | IndexError::Lexical { .. },
            ) => Exit::index(ErrorCode::StoreCorrupt, message),
        }
    }
}

/// The state directory is not this root's, or cannot be used.
impl From<StateDirError> for Exit {
    fn from(error: StateDirError) -> Exit {
        let message = error.to_string();
        match error {
            StateDirError::Foreign { .. } => Exit::config(message).hint(
                "Name another directory with --state-dir (DIR2MCP_STATE_DIR), or delete this one if its root is gone.",
            ),
            StateDirError::Link(_) => Exit::config(message)
                .hint("Remove the link. To keep the state elsewhere, name that directory with --state-dir."),
            StateDirError::File(_) => Exit::config(message)
                .hint("Rename or delete that file, or name another directory with --state-dir."),
            StateDirError::Io { .. } => Exit::ingest(message).hint("Name a writable one with --state-dir."),
        }
    }
}

impl From<RegistryError> for Exit {
    fn from(error: RegistryError) -> Exit {
        Exit::config(error.to_string())
    }
}

/// Output that could not be written.
impl From<std::io::Error> for Exit {
    fn from(error: std::io::Error) -> Exit {
        Exit::generic(safe(&error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretName;

    #[test]
    fn d027_to_d033_exit_codes() {
        let codes = [
            ExitCode::Success,
            ExitCode::Generic,
            ExitCode::ConfigInvalid,
            ExitCode::RootInaccessible,
            ExitCode::BindFailed,
            ExitCode::IndexFailed,
            ExitCode::IngestFailed,
        ];
        assert_eq!(codes.map(|code| code as u8), [0, 1, 2, 3, 4, 5, 6]);
        let code = |code| Exit::from(Failure::new(code, "x")).code;
        assert_eq!(code(ErrorCode::StoreCorrupt), ExitCode::IndexFailed);
        assert_eq!(code(ErrorCode::TlsConfigInvalid), ExitCode::ConfigInvalid);
        assert_eq!(code(ErrorCode::InvalidRange), ExitCode::Generic);
        assert_eq!(Exit::ingest("x").code, ExitCode::IngestFailed);
        assert_eq!(Exit::bind("x").code, ExitCode::BindFailed);
    }

    #[test]
    fn d054_the_message_about_a_missing_key() {
        let (name, needed_by) = (SecretName::MistralApiKey, "x".into());
        let missing = ConfigError::MissingSecret { name, needed_by, instead: None };
        assert_eq!(
            Exit::from(missing).text(),
            "ERROR: CONFIG_INVALID: Missing MISTRAL_API_KEY\nSet env: MISTRAL_API_KEY=...\nOr run: dir2mcp config init\nIt is needed by x\n"
        );
    }

    /// The page of codes is made from `ErrorCode`; a label that is written by hand must be one of them.
    #[test]
    fn every_label_is_a_listed_code() {
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        let mut labels = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                    continue;
                }
                let source = std::fs::read_to_string(&entry).unwrap();
                for call in source.split("Exit::new(ExitCode::").skip(1) {
                    let arguments: String = call.chars().take(120).collect();
                    let Some(label) = arguments.split('"').nth(1) else { continue };
                    if !label.is_empty() && label.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                        assert!(ErrorCode::parse(label).is_some(), "{label} in {}", entry.display());
                        labels += 1;
                    }
                }
            }
        }
        assert!(labels > 0);
    }

    #[test]
    fn an_error_cannot_drive_the_terminal() {
        assert_eq!(Exit::generic("a\x1b[2J").text(), "ERROR: INTERNAL_ERROR: a\\u{1b}[2J\n");
    }
}
