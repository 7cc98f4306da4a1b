//! What `connect` knows of a client: where it keeps its servers, how it writes one down, and whether it is here.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::client_table::CLIENTS;
use super::config_file::EntryFormat;

pub(crate) struct KnownClient {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub title: &'static str,
    /// The file that holds for this user everywhere.
    pub user: ClientFilePlace,
    /// The file that a project carries with it.
    pub project: Option<&'static str>,
    pub format: EntryFormat,
    /// An entry for a server that the client starts.
    pub stdio: fn(&Launch) -> Value,
    /// An entry for a server that runs already; some clients cannot use one.
    pub http: Option<fn(&Remote) -> Value>,
    /// How such an entry refers to a variable; `{}` stands for its name.
    pub variable: Option<&'static str>,
    pub open_folder: OpenFolder,
    /// The client's own command that does the same.
    pub command: Option<ClientCommand>,
    pub link: Option<Link>,
}

/// Where a user's file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientFilePlace {
    /// Below the home folder.
    Home(&'static str),
    /// Below `$XDG_CONFIG_HOME` or `~/.config`, on every system.
    Config(&'static str),
    /// Below the folder where the system keeps the data of applications.
    Application(&'static str),
    /// Below the folder that the variable names, else below the home folder.
    Variable(&'static str, &'static str, &'static str),
    /// It has no fixed place; `--file` names one.
    Nowhere,
}

/// How an entry can mean "the project that is open".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenFolder {
    /// The client puts the folder in place of this.
    Variable(&'static str),
    /// The client starts its servers in that folder.
    CurrentFolder,
    Unknown,
}

/// How a client is told of a server by its own command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientCommand {
    Claude,
    Codex,
    Code(&'static str),
    Copilot,
    Amp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    VsCode(&'static str),
    Cursor,
}

/// A server that the client starts.
pub(crate) struct Launch {
    pub name: String,
    pub program: String,
    pub arguments: Vec<String>,
}

/// A server that runs.
pub(crate) struct Remote {
    pub name: String,
    pub url: String,
    /// The value of the `Authorization` header, as this client writes it.
    pub authorization: Option<String>,
    /// The variable that holds the token, for a client that takes nothing else.
    pub token_variable: Option<String>,
}

/// Where this user's files lie.
pub(crate) struct Home {
    pub home: PathBuf,
    pub config: PathBuf,
    pub application: PathBuf,
    pub variable: fn(&str) -> Option<PathBuf>,
}

impl Home {
    /// None where there is no home folder.
    pub(crate) fn find() -> Option<Home> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME")?;
        let config = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let application =
            if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { config.clone() };
        let variable =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Some(Home { home, config, application, variable })
    }
}

impl std::fmt::Debug for KnownClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl KnownClient {
    /// Reads the name of a client from the command line, which lists all of them.
    pub(crate) fn parser() -> impl TypedValueParser<Value = &'static KnownClient> {
        let values = CLIENTS.iter().map(|client| {
            PossibleValue::new(client.id).aliases(client.aliases.iter().copied()).help(client.title)
        });
        PossibleValuesParser::new(values)
            .try_map(|name| KnownClient::find(&name).ok_or("this client is not known"))
    }

    pub(crate) fn find(name: &str) -> Option<&'static KnownClient> {
        CLIENTS.iter().find(|client| client.id == name || client.aliases.contains(&name))
    }

    /// Models take letters, digits, `_` and `-` in the names of tools, and clients cope with other names each in a way of
    /// its own: some drop the tool, some fail every request. A client that is not known gets the published names.
    pub(crate) fn wants_underscores(&self) -> bool {
        self.id != "generic"
    }

    /// The user's file, where it has a place.
    pub(crate) fn user_file(&self, home: &Home, name: &str) -> Option<PathBuf> {
        Some(match self.user {
            ClientFilePlace::Home(path) => home.home.join(named(path, name)),
            ClientFilePlace::Config(path) => home.config.join(named(path, name)),
            ClientFilePlace::Application(path) => home.application.join(named(path, name)),
            ClientFilePlace::Variable(variable, inside, path) => {
                (home.variable)(variable).map_or_else(|| home.home.join(path), |folder| folder.join(inside))
            }
            ClientFilePlace::Nowhere => return None,
        })
    }

    /// The file inside a project, relative to it.
    pub(crate) fn project_file(&self, name: &str) -> Option<PathBuf> {
        self.project.map(|path| PathBuf::from(named(path, name)))
    }

    /// True where the client has left traces on this machine.
    pub(crate) fn is_installed(&self, home: &Home) -> bool {
        let trace = match self.user {
            ClientFilePlace::Home(path) => home.home.join(first_part(path)),
            ClientFilePlace::Config(path) => home.config.join(first_part(path)),
            ClientFilePlace::Application(path) => match path.rsplit_once("/settings/") {
                // An extension of an editor: the editor alone is not a trace of it.
                Some((extension, _)) => home.application.join(extension),
                None => home.application.join(first_part(path)),
            },
            ClientFilePlace::Variable(variable, _, path) => {
                (home.variable)(variable).unwrap_or_else(|| home.home.join(first_part(path)))
            }
            ClientFilePlace::Nowhere => return false,
        };
        trace.exists()
    }
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// A client with a file per server has `NAME` in its path.
fn named(path: &str, name: &str) -> String {
    path.replace("NAME", name)
}
