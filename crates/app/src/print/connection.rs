//! How to reach the running server: the block on the terminal, the `connection` event, `connection.json`.
//! None of them holds the token.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use engine::state_dir::Belonging;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::safe::escape_json;
use super::style::{self, Ink};
use super::{reach, safe};
use crate::config::files;
use crate::config::settings::{Listen, ServerSettings};
use crate::secrets::token::TokenSource;

/// The name of the file in the state directory: how to reach the server that was started last.
const FILE_NAME: &str = "connection.json";

/// A copy for each server that runs, by its process: several may serve the same folder.
const SERVERS: &str = "servers";

#[derive(Debug, Clone)]
pub(crate) struct ConnectionNote {
    pub url: String,
    /// Further URLs of a server that listens on every address of this machine.
    pub other_urls: Vec<String>,
    /// Where such a server listens: an address for all.
    pub listens_on_all: Option<SocketAddr>,
    pub protocol_version: String,
    pub token: TokenSource,
    /// The port was chosen by the user, so that it is the same after the next start.
    pub port_is_fixed: bool,
    /// The address of the web page, where it is served.
    pub console: Option<String>,
}

impl ConnectionNote {
    /// For a server that listens on `bound`. The host stays the one that was configured, so that a name is shown as such;
    /// but no client can connect to `0.0.0.0`, so an address of this machine replaces it. The port is the real one.
    pub(crate) fn new(server: &ServerSettings, bound: SocketAddr, token: TokenSource) -> ConnectionNote {
        let scheme = if server.tls.is_some() { "https" } else { "http" };
        let mut urls = reach::hosts(server).into_iter().map(|host| {
            let address = Listen { host, port: bound.port() };
            format!("{scheme}://{address}{}", server.mcp_path)
        });
        let url = urls.next().unwrap_or_default();
        let page = url.strip_suffix(&server.mcp_path).map(|origin| format!("{origin}/"));
        ConnectionNote {
            console: page.filter(|_| server.console),
            url,
            other_urls: urls.collect(),
            listens_on_all: Some(bound).filter(|bound| bound.ip().is_unspecified()),
            protocol_version: server.protocol_version.clone(),
            token,
            port_is_fixed: server.listen.port != 0,
        }
    }

    /// The data of the `connection` event.
    pub(crate) fn event(&self) -> Value {
        let mut data = self.common("<token>");
        if let TokenSource::Env { name } = &self.token {
            data.insert("token_env".into(), json!(name));
        }
        if let Some(path) = self.token.path() {
            data.insert("token_file".into(), json!(path.to_string_lossy()));
        }
        Value::Object(data)
    }

    /// Writes `connection.json` into the state directory.
    pub(crate) fn write(&self, state_dir: &Path, started: Timestamp) -> io::Result<()> {
        let mut data = self.event();
        data["headers"] = Value::Object(self.headers(&format!("<token-from-{}>", self.token.word())));
        data["session"] = json!({
            "uses_mcp_session_id": true,
            "header_name": "MCP-Session-Id",
            "assigned_on_initialize": true,
        });
        data["console"] = json!(self.console);
        data["server"] = json!({
            "pid": std::process::id(),
            "started": started.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            "version": env!("CARGO_PKG_VERSION"),
            "port_is_fixed": self.port_is_fixed,
        });
        let text = serde_json::to_string_pretty(&data).map_err(io::Error::other)?;
        let text = format!("{}\n", escape_json(&text));
        let servers = state_dir.join(SERVERS);
        files::prepare_folder(&servers)?;
        files::write(&servers.join(format!("{}.json", std::process::id())), &text, 0o600)?;
        files::write(&state_dir.join(FILE_NAME), &text, 0o600)
    }

    /// Says that this server has stopped. Another one that still runs gets its `connection.json` back.
    pub(crate) fn withdraw(state_dir: &Path) {
        let own = std::process::id();
        let _ = std::fs::remove_file(state_dir.join(SERVERS).join(format!("{own}.json")));
        let written = SavedConnection::read(state_dir);
        if written.is_some_and(|saved| saved.server.is_some_and(|server| server.pid == own))
            && let Some((_, text)) = SavedConnection::others(state_dir).pop()
        {
            // If this fails, the other server is still found by its own file.
            let _ = files::write(&state_dir.join(FILE_NAME), &text, 0o600);
        }
    }

    /// The block that `up` prints.
    pub(crate) fn block(&self) -> String {
        let auth = match &self.token {
            TokenSource::None => "none (whoever reaches this address may call)".into(),
            TokenSource::Env { name } => format!("Bearer (source=env, from {name})"),
            TokenSource::Keychain => "Bearer (source=keychain)".into(),
            TokenSource::SecretToken { path } => {
                format!("Bearer (source=secret.token, from {})", safe(&path.to_string_lossy()))
            }
            TokenSource::File { path, flag } => {
                let from = if *flag { "--auth file:" } else { "" };
                format!("Bearer (source=file, from {from}{})", safe(&path.to_string_lossy()))
            }
        };
        let look = style::out();
        let mut text = format!("{}\n", look.paint(Ink::Heading, "MCP endpoint:"));
        let _ = writeln!(text, "  URL:    {}", look.paint(Ink::Path, &safe(&self.url)));
        for url in &self.other_urls {
            let _ = writeln!(text, "  Also:   {}", look.paint(Ink::Path, &safe(url)));
        }
        let _ = writeln!(text, "  Auth:   {auth}");
        let _ = writeln!(text, "  Headers:");
        for (name, value) in self.headers("<token>") {
            let _ = writeln!(text, "    {name}: {}", value.as_str().unwrap_or_default());
        }
        let _ = writeln!(text, "    MCP-Session-Id: (assigned after initialize response)");
        text
    }

    fn common(&self, placeholder: &str) -> Map<String, Value> {
        let mut data = Map::new();
        data.insert("transport".into(), json!("mcp_streamable_http"));
        data.insert("url".into(), json!(self.url));
        if let Some(address) = self.listens_on_all {
            data.insert("other_urls".into(), json!(self.other_urls));
            data.insert("listen".into(), json!(address.to_string()));
        }
        data.insert("headers".into(), Value::Object(self.headers(placeholder)));
        data.insert("token_source".into(), json!(self.token.word()));
        data
    }

    fn headers(&self, placeholder: &str) -> Map<String, Value> {
        let mut headers = Map::new();
        headers.insert("MCP-Protocol-Version".into(), json!(self.protocol_version));
        if self.token != TokenSource::None {
            headers.insert("Authorization".into(), json!(format!("Bearer {placeholder}")));
        }
        headers
    }
}

/// What `connection.json` says of a server that runs, or ran.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedConnection {
    pub url: String,
    pub token_source: String,
    pub token_file: Option<PathBuf>,
    pub token_env: Option<String>,
    /// The address of the web page.
    #[serde(default)]
    pub console: Option<String>,
    pub server: Option<SavedServer>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedServer {
    pub pid: u32,
    #[serde(default)]
    pub port_is_fixed: bool,
    /// UTC, so that the order of the texts is that of the times.
    #[serde(default)]
    pub started: String,
}

impl SavedConnection {
    /// The server that runs, unless the state directory came along with the folder: its author could have written any
    /// address.
    pub(crate) fn of(state_dir: &Path, belonging: Belonging) -> Option<SavedConnection> {
        match belonging {
            Belonging::Own => SavedConnection::running(state_dir),
            Belonging::Adopted => None,
        }
    }

    /// A server that runs now: the one that was started last, if it can be told.
    pub(crate) fn running(state_dir: &Path) -> Option<SavedConnection> {
        SavedConnection::read(state_dir)
            .filter(SavedConnection::is_running)
            .or_else(|| SavedConnection::others(state_dir).pop().map(|(saved, _)| saved))
    }

    /// What `connection.json` says; one that cannot be read says nothing.
    fn read(state_dir: &Path) -> Option<SavedConnection> {
        let file = files::read(&state_dir.join(FILE_NAME)).ok()?;
        serde_json::from_str(&file.text).ok()
    }

    /// All servers that run, the newest last, each with its text. The files of those that were killed are removed.
    fn others(state_dir: &Path) -> Vec<(SavedConnection, String)> {
        let mut found = Vec::new();
        for path in files::list(&state_dir.join(SERVERS)) {
            let Ok(file) = files::read(&path) else { continue };
            match serde_json::from_str::<SavedConnection>(&file.text) {
                Ok(saved) if saved.is_running() => found.push((saved, file.text)),
                _ => {
                    let _ = std::fs::remove_file(&path);
                }
            }
        }
        let started = |saved: &SavedConnection| saved.server.as_ref().map(|server| server.started.clone());
        found.sort_by_key(|(saved, _)| started(saved));
        found
    }

    /// True where the next start will have the same address.
    pub(crate) fn port_is_fixed(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.port_is_fixed)
    }

    /// True where the process that wrote it still exists.
    fn is_running(&self) -> bool {
        let pid = self.server.as_ref().and_then(|server| i32::try_from(server.pid).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        // A process of another user cannot be signalled, but it is there.
        pid.is_some_and(|pid| {
            !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(token: TokenSource) -> ConnectionNote {
        ConnectionNote {
            url: "http://127.0.0.1:52143/mcp".into(),
            other_urls: Vec::new(),
            listens_on_all: None,
            protocol_version: "2025-11-25".into(),
            token,
            port_is_fixed: true,
            console: None,
        }
    }

    #[test]
    fn d044_d045_the_block_of_the_specification() {
        let file = TokenSource::File { path: "/run/secrets/dir2mcp.token".into(), flag: true };
        assert_eq!(
            connection(file).block(),
            "MCP endpoint:\n\
             \x20 URL:    http://127.0.0.1:52143/mcp\n\
             \x20 Auth:   Bearer (source=file, from --auth file:/run/secrets/dir2mcp.token)\n\
             \x20 Headers:\n\
             \x20   MCP-Protocol-Version: 2025-11-25\n\
             \x20   Authorization: Bearer <token>\n\
             \x20   MCP-Session-Id: (assigned after initialize response)\n"
        );
        let own = connection(TokenSource::SecretToken { path: "/r/.dir2mcp/secret.token".into() }).block();
        assert!(own.contains("  Auth:   Bearer (source=secret.token, from /r/.dir2mcp/secret.token)\n"));
        let none = connection(TokenSource::None).block();
        assert!(none.contains("Auth:   none") && !none.contains("Authorization"));
    }

    #[test]
    fn d052_d053_the_connection_event() {
        let file = TokenSource::File { path: "/run/secrets/dir2mcp.token".into(), flag: true };
        assert_eq!(
            connection(file).event(),
            json!({
                "transport": "mcp_streamable_http",
                "url": "http://127.0.0.1:52143/mcp",
                "headers": {"MCP-Protocol-Version": "2025-11-25", "Authorization": "Bearer <token>"},
                "token_source": "file",
                "token_file": "/run/secrets/dir2mcp.token",
            })
        );
        let env = connection(TokenSource::Env { name: "DIR2MCP_AUTH_TOKEN".into() }).event();
        assert_eq!((&env["token_source"], &env["token_env"]), (&json!("env"), &json!("DIR2MCP_AUTH_TOKEN")));
        let none = connection(TokenSource::None).event();
        assert_eq!(none["token_source"], "none");
        assert!(none["headers"].get("Authorization").is_none());
    }

    #[test]
    fn d056_d066_connection_json() {
        let dir = tempfile::tempdir().unwrap();
        let token = TokenSource::SecretToken { path: dir.path().join("secret.token") };
        connection(token).write(dir.path(), "2026-02-25T12:34:56.789Z".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("connection.json")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["transport"], "mcp_streamable_http");
        assert_eq!(value["token_source"], "secret.token");
        assert_eq!(
            value["headers"],
            json!({"MCP-Protocol-Version": "2025-11-25", "Authorization": "Bearer <token-from-secret.token>"})
        );
        assert_eq!(
            value["session"],
            json!({"uses_mcp_session_id": true, "header_name": "MCP-Session-Id", "assigned_on_initialize": true})
        );
        let saved = SavedConnection::read(dir.path()).unwrap();
        assert_eq!(saved.token_file, Some(dir.path().join("secret.token")));
        assert_eq!(value["server"]["started"], "2026-02-25T12:34:56.789Z");
        assert!(saved.is_running());
        let nobody = SavedServer { pid: i32::MAX as u32, port_is_fixed: true, started: String::new() };
        let gone = SavedConnection { server: Some(nobody), ..saved };
        assert!(!gone.is_running());
        assert!(SavedConnection::read(&dir.path().join("none")).is_none());
        // A file that cannot be read, or that a server which is gone wrote last, is no reason not to find this one.
        for text in
            ["{ broken", &text.replace(&format!("\"pid\": {}", std::process::id()), "\"pid\": 2147483647")]
        {
            std::fs::write(dir.path().join("connection.json"), text).unwrap();
            assert!(SavedConnection::running(dir.path()).is_some(), "{text}");
        }
        ConnectionNote::withdraw(dir.path());
        assert!(SavedConnection::running(dir.path()).is_none());
    }
}
