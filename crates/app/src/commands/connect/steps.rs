//! What a person copies: the client's own command, the token's variable, and the entry for its file.

use std::path::Path;

use serde_json::{Value, json};

use super::clients::{ClientCommand, KnownClient};
use super::target::{Target, TokenHint, quoted, token_input};

/// One thing to copy.
pub(crate) struct ConnectStep {
    pub what: String,
    pub format: &'static str,
    pub text: String,
}

impl ConnectStep {
    fn shell(what: impl Into<String>, text: String) -> ConnectStep {
        ConnectStep { what: what.into(), format: "shell", text: format!("{text}\n") }
    }
}

/// The steps before the entry itself.
pub(crate) fn before_the_entry(
    client: &KnownClient,
    target: &Target,
    name: &str,
    entry: &Value,
    project: bool,
) -> Vec<ConnectStep> {
    let mut steps = Vec::new();
    if let Target::Http { token, .. } = target {
        steps.extend(export(client, token, name));
    }
    if let Some(text) = client.command.and_then(|command| by_command(command, target, name, entry, project)) {
        steps.push(ConnectStep::shell(format!("{}, by its own command", client.title), text));
    }
    steps
}

/// The steps after it.
pub(crate) fn after_the_entry(client: &KnownClient, target: &Target) -> Vec<ConnectStep> {
    match target {
        Target::Http { url, token, .. } if client.id == "generic" => {
            vec![ConnectStep::shell("A first request", first_request(url, token))]
        }
        Target::Stdio { program, arguments } if client.id == "generic" => {
            vec![ConnectStep::shell(
                "The command alone; it speaks MCP on standard input and output",
                words(program, arguments),
            )]
        }
        _ => Vec::new(),
    }
}

/// VS Code's prompt for the token.
pub(crate) fn token_prompt(client: &KnownClient, target: &Target, name: &str) -> Option<Value> {
    let Target::Http { token, .. } = target else { return None };
    let description = match token {
        TokenHint::None | TokenHint::Shown(_) => return None,
        TokenHint::File(path) => format!("dir2mcp token, from {}", path.to_string_lossy()),
        TokenHint::Variable(_) => "dir2mcp token".to_owned(),
    };
    client.variable.is_some_and(|variable| variable.contains("input:")).then(
        || json!({ "type": "promptString", "id": token_input(name), "description": description, "password": true }),
    )
}

/// True where the client's file can only hold the token itself.
pub(crate) fn needs_the_token(client: &KnownClient, target: &Target) -> bool {
    let takes_a_name = client.variable.is_some_and(|variable| variable != "<token>") || client.id == "codex";
    matches!(target, Target::Http { token: TokenHint::File(_) | TokenHint::Variable(_), .. } if !takes_a_name)
}

/// Says how the variable gets its value, for a client that reads the token from one.
fn export(client: &KnownClient, token: &TokenHint, name: &str) -> Option<ConnectStep> {
    let by_variable = client.id == "codex"
        || (!matches!(token, TokenHint::Shown(_))
            && client
                .variable
                .is_some_and(|variable| variable.contains("{}") && !variable.contains("input:")));
    // A variable of the user's own is there already.
    if !by_variable || matches!(token, TokenHint::Variable(_)) {
        return None;
    }
    let (word, variable) = (token.word()?, token.variable(name)?);
    let what = format!("Where {} starts, {variable} must hold the token", client.title);
    Some(ConnectStep::shell(what, format!("export {variable}=\"{word}\"")))
}

fn by_command(
    command: ClientCommand,
    target: &Target,
    name: &str,
    entry: &Value,
    project: bool,
) -> Option<String> {
    let scope = if project { "project" } else { "user" };
    Some(match (command, target) {
        (ClientCommand::Claude, Target::Stdio { program, arguments }) => {
            format!("claude mcp add --scope {scope} {name} -- {}", words(program, arguments))
        }
        (ClientCommand::Claude, Target::Http { url, token, .. }) => {
            format!("claude mcp add --scope {scope} --transport http {name} {}{}", quoted(url), header(token))
        }
        (ClientCommand::Codex, Target::Stdio { program, arguments }) => {
            format!("codex mcp add {name} -- {}", words(program, arguments))
        }
        (ClientCommand::Codex, Target::Http { url, token, .. }) => {
            let bearer = token.variable(name).map(|variable| format!(" --bearer-token-env-var {variable}"));
            let bearer = bearer.unwrap_or_default();
            format!("codex mcp add {name} --url {}{bearer}", quoted(url))
        }
        (ClientCommand::Copilot, Target::Stdio { program, arguments }) => {
            format!("copilot mcp add {name} -- {}", words(program, arguments))
        }
        (ClientCommand::Amp, Target::Stdio { program, arguments }) => {
            format!("amp mcp add {name} -- {}", words(program, arguments))
        }
        (ClientCommand::Code(program), Target::Stdio { .. }) if !project => {
            let mut server = json!({ "name": name });
            if let (Some(server), Some(fields)) = (server.as_object_mut(), entry.as_object()) {
                server.extend(fields.clone());
            }
            format!("{program} --add-mcp {}", quoted(&server.to_string()))
        }
        _ => return None,
    })
}

fn first_request(url: &str, token: &TokenHint) -> String {
    let initialize = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "curl", "version": "1" },
        },
    });
    format!(
        "curl -sS -i {}{} \\\n  --header 'Content-Type: application/json' \\\n  --header 'Accept: application/json, \
         text/event-stream' \\\n  --data {}",
        quoted(url),
        header(token),
        quoted(&initialize.to_string())
    )
}

fn header(token: &TokenHint) -> String {
    token.word().map(|word| format!(" \\\n  --header \"Authorization: Bearer {word}\"")).unwrap_or_default()
}

fn words(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(quoted);
    words.collect::<Vec<_>>().join(" ")
}

/// A path as people write it, with `~` for the home folder.
pub(crate) fn shown(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    }
}
