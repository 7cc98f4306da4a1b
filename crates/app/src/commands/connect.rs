//! `dir2mcp connect`: the exact configuration for a client, to be copied.
//!
//! The token is referred to, not printed, unless `--show-token` asks for it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::{Cli, Client, ConnectArgs};
use crate::config::{self, Loaded};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::SavedConnection;
use crate::print::{self, safe, safe_text};
use crate::secrets::{Secret, SecretName, token};

/// The variable that client configurations refer to.
const TOKEN_VARIABLE: &str = "DIR2MCP_AUTH_TOKEN";

pub(crate) fn run(cli: &Cli, args: &ConnectArgs) -> Result<(), Exit> {
    let loaded = config::load(cli)?;
    let target = if args.stdio {
        Target::Stdio {
            program: program()?,
            root: loaded.settings.root.clone(),
            cli: config_arguments(&loaded).into_iter().chain(tools(&loaded, args)).collect(),
        }
    } else {
        running(&loaded, args.show_token)?
    };
    let steps = steps(args.client, &target);
    if cli.global.json {
        let steps: Vec<Value> = steps
            .iter()
            .map(|step| json!({ "what": step.what, "file": step.file, "format": step.format, "text": step.text }))
            .collect();
        let transport = if args.stdio { "stdio" } else { "mcp_streamable_http" };
        print::out_json(&json!({ "client": name(args.client), "transport": transport, "steps": steps }))?;
        return Ok(());
    }
    let mut text = String::new();
    for step in &steps {
        text.push_str(&format!("# {}\n{}\n", safe(&step.what), safe_text(&step.text)));
    }
    print::out(&text)?;
    if !cli.global.quiet
        && let Target::Http { listen_port: 0, .. } = target
    {
        print::err("Note: the port changes with every start; set server.listen (or --listen) to keep it.\n");
    }
    Ok(())
}

/// The sets of tools of this command line. They were checked with it.
fn tools(loaded: &Loaded, args: &ConnectArgs) -> Vec<String> {
    match args.tools {
        Some(_) => vec!["--tools".into(), loaded.settings.server.tools.join(",")],
        None => Vec::new(),
    }
}

/// What the client shall talk to.
enum Target {
    Stdio { program: String, root: PathBuf, cli: Vec<String> },
    Http { url: String, token: TokenHint, listen_port: u16 },
}

/// How the client gets the token.
enum TokenHint {
    None,
    Shown(Secret),
    File(PathBuf),
    Variable(String),
}

/// One thing to copy.
struct Step {
    what: String,
    /// Where it goes, if it is a file.
    file: Option<&'static str>,
    format: &'static str,
    text: String,
}

impl Step {
    fn shell(what: &str, text: String) -> Step {
        Step { what: what.into(), file: None, format: "shell", text: format!("{text}\n") }
    }

    fn json(what: &str, file: &'static str, value: &Value) -> Step {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        Step { what: format!("{what}: {file}"), file: Some(file), format: "json", text: format!("{text}\n") }
    }
}

fn steps(client: Client, target: &Target) -> Vec<Step> {
    match target {
        Target::Stdio { program, root, cli } => {
            let mut arguments: Vec<String> =
                vec!["stdio".into(), "--dir".into(), root.to_string_lossy().into_owned()];
            arguments.extend(cli.iter().cloned());
            stdio_steps(client, program, &arguments)
        }
        Target::Http { url, token, .. } => http_steps(client, url, token),
    }
}

fn stdio_steps(client: Client, program: &str, arguments: &[String]) -> Vec<Step> {
    let server = json!({ "command": program, "args": arguments });
    let command = std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(quoted);
    let command = command.collect::<Vec<_>>().join(" ");
    let servers = json!({ "mcpServers": { "dir2mcp": server } });
    match client {
        Client::Claude => vec![
            Step::shell("Claude Code", format!("claude mcp add dir2mcp -- {command}")),
            Step::json("Claude Desktop", "claude_desktop_config.json", &servers),
        ],
        Client::Codex => {
            let arguments: Vec<String> = arguments.iter().map(|argument| toml(argument)).collect();
            let text = format!(
                "[mcp_servers.dir2mcp]\ncommand = {}\nargs = [{}]\n",
                toml(program),
                arguments.join(", ")
            );
            vec![
                Step::shell("Codex, by command", format!("codex mcp add dir2mcp -- {command}")),
                toml_step(text),
            ]
        }
        Client::Cursor => vec![Step::json("Cursor", ".cursor/mcp.json", &servers)],
        Client::Vscode => {
            let server = json!({ "type": "stdio", "command": program, "args": arguments });
            let servers = json!({ "servers": { "dir2mcp": server } });
            vec![Step::json("Visual Studio Code", ".vscode/mcp.json", &servers)]
        }
        Client::Generic => vec![
            Step::shell("Command to start; it speaks MCP on standard input and output", command),
            Step::json("Common form", "mcp.json", &servers),
        ],
    }
}

fn http_steps(client: Client, url: &str, token: &TokenHint) -> Vec<Step> {
    let headers = |reference: &str| match token {
        TokenHint::None => json!({}),
        TokenHint::Shown(secret) => json!({ "Authorization": format!("Bearer {}", secret.expose()) }),
        TokenHint::File(_) | TokenHint::Variable(_) => {
            json!({ "Authorization": format!("Bearer {reference}") })
        }
    };
    // The token as a shell word, for commands that are typed.
    let word = match token {
        TokenHint::None => None,
        TokenHint::Shown(secret) => Some(in_double_quotes(secret.expose())),
        TokenHint::File(path) => Some(format!("$(cat {})", quoted(&path.to_string_lossy()))),
        TokenHint::Variable(name) => Some(format!("${name}")),
    };
    let header = word
        .as_ref()
        .map(|word| format!(" \\\n  --header \"Authorization: Bearer {word}\""))
        .unwrap_or_default();
    let export = match (token, &word) {
        (TokenHint::Variable(name), _) if name == TOKEN_VARIABLE => None,
        (TokenHint::None, _) | (_, None) => None,
        (_, Some(word)) => Some(Step::shell(
            &format!("Where the client starts, {TOKEN_VARIABLE} must hold the token"),
            format!("export {TOKEN_VARIABLE}=\"{word}\""),
        )),
    };
    let mut steps = Vec::new();
    match client {
        Client::Claude => {
            let command = format!("claude mcp add --transport http dir2mcp {}{header}", quoted(url));
            steps.push(Step::shell("Claude Code", command));
            steps.push(Step::shell(
                "Claude Desktop starts its servers itself: see the output of",
                "dir2mcp connect claude --stdio".into(),
            ));
        }
        Client::Codex => {
            let has_token = word.is_some();
            let bearer = if has_token {
                format!("bearer_token_env_var = \"{TOKEN_VARIABLE}\"\n")
            } else {
                String::new()
            };
            // Codex takes the token from a variable only.
            steps.extend(export);
            steps.push(toml_step(format!("[mcp_servers.dir2mcp]\nurl = {}\n{bearer}", toml(url))));
        }
        Client::Cursor => {
            if !matches!(token, TokenHint::Shown(_)) {
                steps.extend(export);
            }
            let server = json!({ "url": url, "headers": headers(&format!("${{env:{TOKEN_VARIABLE}}}")) });
            steps.push(Step::json(
                "Cursor",
                ".cursor/mcp.json",
                &json!({ "mcpServers": { "dir2mcp": server } }),
            ));
        }
        Client::Vscode => {
            let server = json!({ "type": "http", "url": url, "headers": headers("${input:dir2mcp-token}") });
            let mut file = json!({ "servers": { "dir2mcp": server } });
            if !matches!(token, TokenHint::None | TokenHint::Shown(_)) {
                let description = match token {
                    TokenHint::File(path) => format!("dir2mcp token, from {}", path.to_string_lossy()),
                    _ => "dir2mcp token".into(),
                };
                file["inputs"] = json!([{
                    "type": "promptString",
                    "id": "dir2mcp-token",
                    "description": description,
                    "password": true,
                }]);
            }
            steps.push(Step::json("Visual Studio Code", ".vscode/mcp.json", &file));
        }
        Client::Generic => {
            let server = json!({ "type": "http", "url": url, "headers": headers("<token>") });
            steps.push(Step::json(
                "Common form",
                "mcp.json",
                &json!({ "mcpServers": { "dir2mcp": server } }),
            ));
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
            let command = format!(
                "curl -sS -i {}{header} \\\n  --header 'Content-Type: application/json' \\\n  \
                 --header 'Accept: application/json, text/event-stream' \\\n  --data {}",
                quoted(url),
                quoted(&initialize.to_string())
            );
            steps.push(Step::shell("A first request", command));
        }
    }
    steps
}

/// The server that runs, as it wrote itself down.
fn running(loaded: &Loaded, show_token: bool) -> Result<Target, Exit> {
    let state_dir = &loaded.settings.state_dir;
    let saved = SavedConnection::read(state_dir).map_err(|error| {
        let path = state_dir.join(print::connection::FILE_NAME);
        Exit::generic(format!("cannot read {}: {error}", safe(&path.to_string_lossy())))
    })?;
    let saved = saved.filter(SavedConnection::is_running).ok_or_else(|| {
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
        (_, None, None) => TokenHint::Variable(TOKEN_VARIABLE.into()),
    };
    Ok(Target::Http { url: saved.url, token, listen_port: loaded.settings.server.listen.port })
}

/// The options that the started server must repeat to find the same configuration.
fn config_arguments(loaded: &Loaded) -> Vec<String> {
    let mut arguments = Vec::new();
    let (root, state_dir) = (&loaded.settings.root, &loaded.settings.state_dir);
    if *state_dir != root.join(".dir2mcp") {
        arguments.extend(["--state-dir".into(), state_dir.to_string_lossy().into_owned()]);
    }
    if let Some(path) =
        loaded.settings.config_file.as_ref().filter(|path| **path != root.join(config::FILE_NAME))
    {
        arguments.extend(["--config".into(), path.to_string_lossy().into_owned()]);
    }
    arguments
}

fn program() -> Result<String, Exit> {
    let path = std::env::current_exe()
        .map_err(|error| Exit::generic(format!("cannot find this program: {error}")))?;
    Ok(path.to_string_lossy().into_owned())
}

fn name(client: Client) -> &'static str {
    match client {
        Client::Claude => "claude",
        Client::Codex => "codex",
        Client::Cursor => "cursor",
        Client::Vscode => "vscode",
        Client::Generic => "generic",
    }
}

fn toml_step(text: String) -> Step {
    let file = "~/.codex/config.toml";
    Step { what: format!("Codex: {file}"), file: Some(file), format: "toml", text }
}

/// A word that a POSIX shell takes as it is.
fn quoted(text: &str) -> String {
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

/// A TOML basic string; its escapes are JSON's but for what lies beyond them.
fn toml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if print::is_unsafe(c) => quoted.push_str(&format!("\\U{:08X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(client: Client, target: &Target) -> String {
        steps(client, target).iter().map(|step| format!("# {}\n{}\n", step.what, step.text)).collect()
    }

    fn all(target: &Target) -> String {
        [Client::Claude, Client::Codex, Client::Cursor, Client::Vscode, Client::Generic]
            .map(|client| texts(client, target))
            .join("---\n")
    }

    fn http(token: TokenHint) -> Target {
        Target::Http { url: "http://127.0.0.1:52143/mcp".into(), token, listen_port: 0 }
    }

    #[test]
    fn clients_by_stdio() {
        let target = Target::Stdio {
            program: "/opt/it's here/dir2mcp".into(),
            root: "/my repo".into(),
            cli: vec!["--state-dir".into(), "/s".into()],
        };
        insta::assert_snapshot!(all(&target));
    }

    #[test]
    fn clients_by_http_with_the_token_in_a_file() {
        insta::assert_snapshot!(all(&http(TokenHint::File("/my repo/.dir2mcp/secret.token".into()))));
    }

    #[test]
    fn clients_by_http_without_a_token() {
        let text = all(&http(TokenHint::None));
        assert!(!text.contains("Authorization") && !text.contains(TOKEN_VARIABLE), "{text}");
    }

    #[test]
    fn the_token_is_shown_on_demand_only() {
        let shown = all(&http(TokenHint::Shown(Secret::new("canary"))));
        assert!(shown.contains("Bearer canary"));
        let other = all(&http(TokenHint::Variable("MY_TOKEN".into())));
        assert!(other.contains("export DIR2MCP_AUTH_TOKEN=\"$MY_TOKEN\""), "{other}");
        let same = all(&http(TokenHint::Variable(TOKEN_VARIABLE.into())));
        assert!(!same.contains("export"), "{same}");
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
        assert_eq!(in_double_quotes("a$b`c\"d"), "a\\$b\\`c\\\"d");
        assert_eq!(toml("a\"b\\c\nd"), "\"a\\\"b\\\\c\\U0000000Ad\"");
    }
}
