//! What a client shall talk to: a server that it starts, or the one that runs; and how it gets the token.

use std::path::PathBuf;

use engine::state_dir;

use super::ConnectArgs;
use super::clients::{KnownClient, Launch, OpenFolder, Remote};
use crate::config::{self, Loaded};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::{ConnectionNote, SavedConnection};
use crate::print::safe;
use crate::secrets::token::TokenSource;
use crate::secrets::{Secret, SecretName, token};

/// The variable that holds the token of the keychain, for clients that cannot ask there.
const KEYCHAIN_VARIABLE: &str = "DIR2MCP_AUTH_TOKEN";

pub(crate) enum Target {
    Stdio { program: String, arguments: Vec<String> },
    Http { url: String, token: TokenHint, port_is_fixed: bool },
}

/// How the client gets the token.
pub(crate) enum TokenHint {
    None,
    Shown(Secret),
    File(PathBuf),
    Variable(String),
}

impl Target {
    pub(super) fn find(loaded: &Loaded, args: &ConnectArgs, client: &KnownClient) -> Result<Target, Exit> {
        if args.stdio || args.current_project {
            let program = std::env::current_exe()
                .map_err(|error| Exit::generic(format!("cannot find this program: {error}")))?;
            let arguments = arguments(loaded, args, client)?;
            return Ok(Target::Stdio { program: program.to_string_lossy().into_owned(), arguments });
        }
        if client.http.is_none() {
            let message = format!("{} starts its servers itself and takes no address", client.title);
            return Err(Exit::config(message).hint("Add --stdio."));
        }
        running(loaded, args.show_token, client)
    }

    /// This server, as it writes itself down.
    pub(super) fn of_running(connection: &ConnectionNote, client: &KnownClient) -> Target {
        let token = match &connection.token {
            TokenSource::None => TokenHint::None,
            TokenSource::SecretToken { path } | TokenSource::File { path, .. } => {
                TokenHint::File(path.clone())
            }
            TokenSource::Env { name } => TokenHint::Variable(name.clone()),
            TokenSource::Keychain => TokenHint::Variable(KEYCHAIN_VARIABLE.into()),
        };
        let names = if client.wants_underscores() { "?names=underscore" } else { "" };
        let url = format!("{}{names}", connection.url);
        Target::Http { url, token, port_is_fixed: connection.port_is_fixed }
    }

    pub(super) fn url(&self) -> Option<&str> {
        match self {
            Target::Http { url, .. } => Some(url),
            Target::Stdio { .. } => None,
        }
    }

    /// The entry for the client's file.
    pub(super) fn entry(&self, client: &KnownClient, name: &str) -> serde_json::Value {
        match self {
            Target::Stdio { program, arguments } => (client.stdio)(&Launch {
                name: name.to_owned(),
                program: program.clone(),
                arguments: arguments.clone(),
            }),
            Target::Http { url, token, .. } => {
                let remote = Remote {
                    name: name.to_owned(),
                    url: url.clone(),
                    authorization: token.reference(client, name).map(|token| format!("Bearer {token}")),
                    token_variable: token.variable(name),
                };
                // Asked for before a target over HTTP was made.
                client.http.map(|entry| entry(&remote)).unwrap_or_default()
            }
        }
    }
}

impl TokenHint {
    /// The token as the client's file has it; a placeholder where the client takes nothing but the token itself.
    fn reference(&self, client: &KnownClient, name: &str) -> Option<String> {
        let variable = self.variable(name)?;
        let named = |template: &str| {
            template.replace(
                "{}",
                &if template.contains("input:") { token_input(name) } else { variable.clone() },
            )
        };
        match self {
            TokenHint::Shown(secret) => Some(secret.expose().to_owned()),
            _ => Some(client.variable.map_or_else(|| "<token>".to_owned(), named)),
        }
    }

    /// The variable that holds the token where the client starts: the user's own, or one for this server alone, since every
    /// folder has another token.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match self {
            TokenHint::None => None,
            TokenHint::Variable(variable) => Some(variable.clone()),
            TokenHint::Shown(_) | TokenHint::File(_) => {
                Some(format!("MCP_{}_TOKEN", name.to_uppercase().replace('-', "_")))
            }
        }
    }

    /// The token as a shell word for the inside of double quotes.
    pub(super) fn word(&self) -> Option<String> {
        match self {
            TokenHint::None => None,
            TokenHint::Shown(secret) => Some(in_double_quotes(secret.expose())),
            TokenHint::File(path) => Some(format!("$(cat {})", quoted(&path.to_string_lossy()))),
            TokenHint::Variable(name) => Some(format!("${name}")),
        }
    }
}

/// The prompt that VS Code shows for the token of this server.
pub(super) fn token_input(name: &str) -> String {
    format!("{name}-token")
}

/// The arguments of a server that the client starts.
fn arguments(loaded: &Loaded, args: &ConnectArgs, client: &KnownClient) -> Result<Vec<String>, Exit> {
    let root = &loaded.settings.root;
    let mut arguments = vec!["stdio".to_owned()];
    let folder = |path: &str| ["--dir".to_owned(), path.to_owned()];
    match (args.current_project, client.open_folder) {
        (false, _) => arguments.extend(folder(&root.to_string_lossy())),
        (true, OpenFolder::Variable(variable)) => arguments.extend(folder(variable)),
        (true, OpenFolder::CurrentFolder) => {}
        (true, OpenFolder::Unknown) => {
            let message = format!("{} does not tell its servers which project is open", client.title);
            return Err(
                Exit::config(message).hint("Leave --current-project out: one entry for each folder works.")
            );
        }
    }
    if !args.current_project {
        arguments.extend(config_arguments(loaded));
    }
    if args.tools.is_some() {
        // They were checked with the command line.
        arguments.extend(["--tools".to_owned(), loaded.settings.server.tools.join(",")]);
    }
    if client.wants_underscores() {
        arguments.extend(["--tool-names".to_owned(), "underscore".to_owned()]);
    }
    Ok(arguments)
}

/// The options that the started server must repeat to find the same configuration.
fn config_arguments(loaded: &Loaded) -> Vec<String> {
    let mut arguments = Vec::new();
    let (root, state_dir) = (&loaded.settings.root, &loaded.settings.state_dir);
    if *state_dir != root.join(".dir2mcp") {
        arguments.extend(["--state-dir".to_owned(), state_dir.to_string_lossy().into_owned()]);
    }
    let elsewhere =
        loaded.settings.config_file.as_ref().filter(|path| **path != root.join(config::FILE_NAME));
    if let Some(path) = elsewhere {
        arguments.extend(["--config".to_owned(), path.to_string_lossy().into_owned()]);
    }
    arguments
}

/// The server that runs, as it wrote itself down.
fn running(loaded: &Loaded, show_token: bool, client: &KnownClient) -> Result<Target, Exit> {
    let state_dir = &loaded.settings.state_dir;
    let belonging = state_dir::check(&loaded.settings.root, state_dir)?;
    let saved = SavedConnection::of(state_dir, belonging).ok_or_else(|| {
        let directory = loaded.settings.root.to_string_lossy();
        Exit::new(ExitCode::Generic, "NOT_RUNNING", format!("no server runs for {}", safe(&directory)))
            .hint("Start one with: dir2mcp up")
            .hint("Or let the client start it: add --stdio")
    })?;
    let token = match (saved.token_source.as_str(), &saved.token_file, &saved.token_env) {
        ("none", _, _) => TokenHint::None,
        (_, Some(path), _) if show_token => TokenHint::Shown(token::read(path)?),
        (_, Some(path), _) => TokenHint::File(path.clone()),
        (_, None, Some(name)) => match loaded.environment.get(name) {
            Some(variable) if show_token => TokenHint::Shown(Secret::new(variable.value.trim())),
            _ if show_token => {
                return Err(Exit::generic(format!(
                    "the token is in the variable {}, which is not set here",
                    safe(name)
                )));
            }
            _ => TokenHint::Variable(name.clone()),
        },
        // The keychain's, which a client can be given in a variable.
        (_, None, None) if show_token => match loaded.secrets.get(SecretName::AuthToken) {
            Ok(Some(found)) => TokenHint::Shown(found.secret),
            Ok(None) => return Err(Exit::generic("the token cannot be found any more")),
            Err(error) => return Err(Exit::generic(error.to_string())),
        },
        (_, None, None) => TokenHint::Variable(KEYCHAIN_VARIABLE.into()),
    };
    let names = if client.wants_underscores() { "?names=underscore" } else { "" };
    Ok(Target::Http { url: format!("{}{names}", saved.url), token, port_is_fixed: saved.port_is_fixed() })
}

/// A word that a POSIX shell takes as it is.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text for the inside of double quotes, where the shell would act on a few characters.
fn in_double_quotes(text: &str) -> String {
    let escape = |c: char| if "$`\"\\".contains(c) { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(in_double_quotes("a$b`c\"d"), "a\\$b\\`c\\\"d");
    }
}
