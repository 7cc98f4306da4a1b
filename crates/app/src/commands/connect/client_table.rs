//! The clients that `connect` knows. A new client is one row.
//!
//! The formats are those of the clients' own documentation, read in November 2026.

use serde_json::{Map, Value, json};

use super::clients::{ClientCommand, ClientFilePlace, KnownClient, Launch, Link, OpenFolder, Remote};
use super::config_file::EntryFormat;

const SERVERS: EntryFormat = EntryFormat::Json(&["mcpServers"]);
const ENV: Option<&str> = Some("${env:{}}");
const SHELL: Option<&str> = Some("${{}}");

/// What most clients have in common: JSON with `mcpServers`, a command or an address, and nothing else.
const COMMON: KnownClient = KnownClient {
    id: "",
    aliases: &[],
    title: "",
    user: ClientFilePlace::Nowhere,
    project: None,
    format: SERVERS,
    stdio: start,
    http: Some(|remote| reach("url", remote)),
    variable: None,
    open_folder: OpenFolder::Unknown,
    command: None,
    link: None,
};

/// What the editions of Visual Studio Code have in common.
const VS_CODE: KnownClient = KnownClient {
    project: Some(".vscode/mcp.json"),
    format: EntryFormat::Json(&["servers"]),
    stdio: |launch| typed("stdio", start(launch)),
    http: Some(|remote| typed("http", reach("url", remote))),
    variable: Some("${input:{}}"),
    open_folder: OpenFolder::Variable("${workspaceFolder}"),
    ..COMMON
};

pub(crate) const CLIENTS: &[KnownClient] = &[
    KnownClient {
        id: "claude",
        aliases: &["claude-code"],
        title: "Claude Code",
        user: ClientFilePlace::Variable("CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json"),
        project: Some(".mcp.json"),
        stdio: |launch| typed("stdio", start(launch)),
        http: Some(|remote| typed("http", reach("url", remote))),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        command: Some(ClientCommand::Claude),
        ..COMMON
    },
    KnownClient {
        id: "claude-desktop",
        title: "Claude Desktop",
        user: ClientFilePlace::Application("Claude/claude_desktop_config.json"),
        http: None,
        ..COMMON
    },
    KnownClient {
        id: "codex",
        title: "OpenAI Codex",
        user: ClientFilePlace::Variable("CODEX_HOME", "config.toml", ".codex/config.toml"),
        project: Some(".codex/config.toml"),
        format: EntryFormat::Toml("mcp_servers"),
        http: Some(|remote| {
            let mut entry = json!({ "url": remote.url });
            if let Some(variable) = &remote.token_variable {
                entry["bearer_token_env_var"] = json!(variable);
            }
            entry
        }),
        open_folder: OpenFolder::CurrentFolder,
        command: Some(ClientCommand::Codex),
        ..COMMON
    },
    KnownClient {
        id: "cursor",
        title: "Cursor",
        user: ClientFilePlace::Home(".cursor/mcp.json"),
        project: Some(".cursor/mcp.json"),
        variable: ENV,
        open_folder: OpenFolder::Variable("${workspaceFolder}"),
        link: Some(Link::Cursor),
        ..COMMON
    },
    KnownClient {
        id: "vscode",
        aliases: &["vs-code", "copilot-vscode"],
        title: "Visual Studio Code (GitHub Copilot)",
        user: ClientFilePlace::Application("Code/User/mcp.json"),
        command: Some(ClientCommand::Code("code")),
        link: Some(Link::VsCode("vscode")),
        ..VS_CODE
    },
    KnownClient {
        id: "vscode-insiders",
        title: "Visual Studio Code Insiders",
        user: ClientFilePlace::Application("Code - Insiders/User/mcp.json"),
        command: Some(ClientCommand::Code("code-insiders")),
        link: Some(Link::VsCode("vscode-insiders")),
        ..VS_CODE
    },
    KnownClient {
        id: "copilot",
        aliases: &["copilot-cli"],
        title: "GitHub Copilot CLI",
        user: ClientFilePlace::Home(".copilot/mcp-config.json"),
        project: Some(".github/mcp.json"),
        stdio: |launch| with_all_tools(typed("local", start(launch))),
        http: Some(|remote| with_all_tools(typed("http", reach("url", remote)))),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        command: Some(ClientCommand::Copilot),
        ..COMMON
    },
    KnownClient {
        id: "windsurf",
        title: "Windsurf",
        user: ClientFilePlace::Home(".codeium/windsurf/mcp_config.json"),
        http: Some(|remote| reach("serverUrl", remote)),
        variable: ENV,
        ..COMMON
    },
    KnownClient {
        id: "zed",
        title: "Zed",
        user: ClientFilePlace::Config("zed/settings.json"),
        project: Some(".zed/settings.json"),
        format: EntryFormat::Json(&["context_servers"]),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "cline",
        title: "Cline",
        user: ClientFilePlace::Application(
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        http: Some(|remote| typed("streamableHttp", reach("url", remote))),
        variable: ENV,
        ..COMMON
    },
    KnownClient {
        id: "roo",
        aliases: &["roo-code"],
        title: "Roo Code",
        user: ClientFilePlace::Application(
            "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ),
        project: Some(".roo/mcp.json"),
        http: Some(|remote| typed("streamable-http", reach("url", remote))),
        variable: ENV,
        open_folder: OpenFolder::Variable("${workspaceFolder}"),
        ..COMMON
    },
    KnownClient {
        id: "kilo",
        aliases: &["kilo-code"],
        title: "Kilo Code",
        user: ClientFilePlace::Application(
            "Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json",
        ),
        project: Some(".kilocode/mcp.json"),
        http: Some(|remote| typed("streamable-http", reach("url", remote))),
        variable: ENV,
        open_folder: OpenFolder::Variable("${workspaceFolder}"),
        ..COMMON
    },
    KnownClient {
        id: "continue",
        title: "Continue",
        user: ClientFilePlace::Home(".continue/mcpServers/NAME.yaml"),
        project: Some(".continue/mcpServers/NAME.yaml"),
        format: EntryFormat::OwnYaml,
        stdio: |launch| block(&launch.name, typed("stdio", start(launch))),
        http: Some(|remote| {
            let mut entry = json!({ "type": "streamable-http", "url": remote.url });
            if let Some(authorization) = &remote.authorization {
                entry["requestOptions"] = json!({ "headers": { "Authorization": authorization } });
            }
            block(&remote.name, entry)
        }),
        variable: Some("${{ secrets.{} }}"),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "gemini",
        aliases: &["gemini-cli"],
        title: "Gemini CLI",
        user: ClientFilePlace::Home(".gemini/settings.json"),
        project: Some(".gemini/settings.json"),
        http: Some(|remote| reach("httpUrl", remote)),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "qwen",
        aliases: &["qwen-code"],
        title: "Qwen Code",
        user: ClientFilePlace::Home(".qwen/settings.json"),
        project: Some(".qwen/settings.json"),
        http: Some(|remote| reach("httpUrl", remote)),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "opencode",
        title: "OpenCode",
        user: ClientFilePlace::Config("opencode/opencode.json"),
        project: Some("opencode.json"),
        format: EntryFormat::Json(&["mcp"]),
        stdio: |launch| {
            let command: Vec<&String> = std::iter::once(&launch.program).chain(&launch.arguments).collect();
            json!({ "type": "local", "command": command, "enabled": true })
        },
        http: Some(|remote| {
            let mut entry = typed("remote", reach("url", remote));
            entry["enabled"] = json!(true);
            entry
        }),
        variable: Some("{env:{}}"),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "crush",
        title: "Crush",
        user: ClientFilePlace::Config("crush/crush.json"),
        project: Some("crush.json"),
        format: EntryFormat::Json(&["mcp"]),
        stdio: |launch| typed("stdio", start(launch)),
        http: Some(|remote| typed("http", reach("url", remote))),
        variable: Some("${}"),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "goose",
        title: "Goose",
        user: ClientFilePlace::Config("goose/config.yaml"),
        format: EntryFormat::Yaml("extensions"),
        stdio: |launch| {
            json!({
                "enabled": true,
                "type": "stdio",
                "name": launch.name,
                "description": "Search and read the files of a folder",
                "cmd": launch.program,
                "args": launch.arguments,
                "timeout": 300,
            })
        },
        http: Some(|remote| {
            let mut entry = json!({
                "enabled": true,
                "type": "streamable_http",
                "name": remote.name,
                "description": "Search and read the files of a folder",
                "uri": remote.url,
                "timeout": 300,
            });
            entry["headers"] = headers(remote);
            entry
        }),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "lmstudio",
        aliases: &["lm-studio"],
        title: "LM Studio",
        user: ClientFilePlace::Home(".lmstudio/mcp.json"),
        ..COMMON
    },
    KnownClient {
        id: "junie",
        aliases: &["jetbrains"],
        title: "JetBrains Junie",
        user: ClientFilePlace::Home(".junie/mcp/mcp.json"),
        project: Some(".junie/mcp/mcp.json"),
        http: None,
        ..COMMON
    },
    KnownClient {
        id: "amp",
        title: "Amp",
        user: ClientFilePlace::Config("amp/settings.json"),
        project: Some(".amp/settings.json"),
        format: EntryFormat::Json(&["amp.mcpServers"]),
        variable: SHELL,
        open_folder: OpenFolder::CurrentFolder,
        command: Some(ClientCommand::Amp),
        ..COMMON
    },
    KnownClient {
        id: "warp",
        title: "Warp",
        user: ClientFilePlace::Home(".warp/.mcp.json"),
        project: Some(".warp/.mcp.json"),
        variable: SHELL,
        ..COMMON
    },
    KnownClient {
        id: "kiro",
        title: "Kiro",
        user: ClientFilePlace::Home(".kiro/settings/mcp.json"),
        project: Some(".kiro/settings/mcp.json"),
        variable: SHELL,
        ..COMMON
    },
    KnownClient {
        id: "amazonq",
        aliases: &["amazon-q"],
        title: "Amazon Q Developer",
        user: ClientFilePlace::Home(".aws/amazonq/mcp.json"),
        project: Some(".amazonq/mcp.json"),
        http: Some(|remote| typed("http", reach("url", remote))),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
    KnownClient {
        id: "antigravity",
        title: "Google Antigravity",
        user: ClientFilePlace::Home(".gemini/antigravity/mcp_config.json"),
        http: Some(|remote| reach("serverUrl", remote)),
        ..COMMON
    },
    KnownClient {
        id: "mcporter",
        title: "mcporter",
        user: ClientFilePlace::Home(".mcporter/mcporter.json"),
        project: Some("config/mcporter.json"),
        http: Some(|remote| reach("baseUrl", remote)),
        variable: SHELL,
        ..COMMON
    },
    KnownClient {
        id: "generic",
        aliases: &["other"],
        title: "Any other client",
        user: ClientFilePlace::Nowhere,
        project: Some(".mcp.json"),
        http: Some(|remote| typed("http", reach("url", remote))),
        variable: Some("<token>"),
        open_folder: OpenFolder::CurrentFolder,
        ..COMMON
    },
];

fn start(launch: &Launch) -> Value {
    json!({ "command": launch.program, "args": launch.arguments })
}

/// The address under the name that the client has for it, and the headers if there are some.
fn reach(key: &str, remote: &Remote) -> Value {
    let mut entry = Map::new();
    entry.insert(key.to_owned(), json!(remote.url));
    if remote.authorization.is_some() {
        entry.insert("headers".to_owned(), headers(remote));
    }
    Value::Object(entry)
}

fn headers(remote: &Remote) -> Value {
    match &remote.authorization {
        Some(authorization) => json!({ "Authorization": authorization }),
        None => json!({}),
    }
}

/// With the kind of connection in front.
fn typed(kind: &str, entry: Value) -> Value {
    let mut typed = Map::new();
    typed.insert("type".to_owned(), json!(kind));
    if let Value::Object(fields) = entry {
        typed.extend(fields);
    }
    Value::Object(typed)
}

fn with_all_tools(mut entry: Value) -> Value {
    entry["tools"] = json!(["*"]);
    entry
}

/// Continue's file for one server.
fn block(name: &str, entry: Value) -> Value {
    let mut server = Map::new();
    server.insert("name".to_owned(), json!(name));
    if let Value::Object(fields) = entry {
        server.extend(fields);
    }
    json!({ "name": name, "version": "0.0.1", "schema": "v1", "mcpServers": [server] })
}
