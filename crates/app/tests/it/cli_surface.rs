//! The command line through the binary: help, exit codes, and the commands that need no index.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use crate::sandbox::Sandbox;

#[test]
fn d006_to_d018_help() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("help", sandbox.ok(&["--help"]).stdout);
    insta::assert_snapshot!("help_up", sandbox.ok(&["up", "--help"]).stdout);
    insta::assert_snapshot!("help_search", sandbox.ok(&["search", "--help"]).stdout);
    for command in ["stdio", "index", "reindex", "status", "ask", "config", "connect", "version"] {
        let help = sandbox.ok(&[command, "--help"]).stdout;
        assert!(help.contains("Usage: dir2mcp "), "{help}");
        assert!(!help.contains("conformance"), "{help}");
    }
}

#[test]
fn d012_version() {
    let sandbox = Sandbox::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(sandbox.ok(&["version"]).stdout, format!("dir2mcp {version}\n"));
    assert_eq!(sandbox.ok(&["--version"]).stdout, format!("dir2mcp {version}\n"));
    let json = sandbox.ok(&["version", "--json"]).json();
    assert_eq!(json["version"], version);
    assert!(json["mcp_protocol_versions"].as_array().unwrap().contains(&json!("2025-11-25")));
}

#[test]
fn d029_what_cannot_be_understood_ends_with_2() {
    let sandbox = Sandbox::new();
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["up", "--frobnicate"],
        &["up", "--listen"],
        &["up", "--listen", "nowhere"],
        &["up", "--mcp-path", "mcp"],
        &["up", "--tls-cert", "c.pem"],
        &["up", "--tools", "nonsense"],
        &["up", "--allowed-origins", "*"],
        &["up", "--x402", "maybe"],
        &["up", "--x402-network", "mainnet"],
        &["up", "--x402-price", "-1"],
        &["stdio", "--tools", "repo"],
        &["ask"],
        &["ask", "--mode", "guess", "why?"],
        &["search", "--index", "all", "x"],
        &["connect", "emacs"],
        &["connect", "claude", "--stdio", "--show-token"],
    ] {
        let run = sandbox.fails(2, arguments);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{arguments:?}: {run:?}");
    }
    assert!(!sandbox.has(".dir2mcp"), "nothing was started");
}

#[test]
fn d028_questions_that_are_out_of_bounds_end_with_1() {
    let sandbox = Sandbox::new();
    for (arguments, code) in [
        (&["ask", "--k", "51", "why?"][..], "INVALID_RANGE"),
        (&["search", "--doc-types", "movie", "x"], "INVALID_FIELD"),
        (&["ask", " "], "MISSING_FIELD"),
    ] {
        let run = sandbox.fails(1, arguments);
        assert!(run.stderr.starts_with(&format!("ERROR: {code}: ")), "{arguments:?}: {run:?}");
    }
}

#[test]
fn d022_a_token_on_the_command_line_is_refused_and_not_repeated() {
    let sandbox = Sandbox::new();
    for token in ["canary-0123456789abcdef", "Bearer canary-0123456789abcdef", "canary", "token:canary"] {
        let run = sandbox.fails(2, &["up", "--auth", token]);
        assert!(run.stderr.contains("auto, none or file:PATH") && !run.all().contains("canary"), "{run:?}");
        let json = sandbox.fails(2, &["up", "--json", &format!("--auth={token}")]);
        assert!(!json.all().contains("canary"), "{json:?}");
    }
}

#[test]
fn d021_case_5_public_without_a_token_is_refused_before_any_bind() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["up", "--public", "--auth", "none"][..],
        &["up", "--public", "--auth", "  none "],
        &["--non-interactive", "up", "--auth=none", "--public"],
        &["up", "--listen", "0.0.0.0:0", "--auth", "none"],
    ] {
        let run = sandbox.fails(2, arguments);
        assert!(
            run.stderr.starts_with("ERROR: CONFIG_INVALID: ") && run.stderr.contains("--force-insecure"),
            "{run:?}"
        );
    }
    // A file that came with the folder cannot insist.
    let from_file =
        Sandbox::new().file(".dir2mcp.yaml", "server: {public: true}\nsecurity: {auth: {mode: none}}\n");
    from_file.fails(2, &["up"]);
    let insisted =
        sandbox.ok(&["config", "print", "--json", "--public", "--auth", "none", "--force-insecure"]);
    assert_eq!(insisted.json()["config"]["server"]["public"], true);
    assert!(insisted.stderr.contains("there is no token"), "{insisted:?}");
}

#[test]
fn d024_d025_d190_payments_are_not_available_yet() {
    let sandbox = Sandbox::new();
    for mode in ["on", "required"] {
        let run = sandbox.fails(2, &["up", "--x402", mode]);
        assert!(run.stderr.contains("not available yet"), "{run:?}");
    }
    let accepted = sandbox.ok(&[
        "config",
        "print",
        "--json",
        "--x402=off",
        "--x402-facilitator-url=https://f.example",
        "--x402-resource-base-url=https://r.example",
        "--x402-network=eip155:84532",
        "--x402-price=1000",
        "--x402-scheme=upto",
        "--x402-asset=0xabc",
        "--x402-pay-to=0xdef",
        "--x402-tools-call-enabled",
    ]);
    let policy = &accepted.json()["config"]["x402"]["route_policy"]["tools_call"];
    assert_eq!(
        (&policy["enabled"], &policy["price"], &policy["scheme"]),
        (&json!(true), &json!("1000"), &json!("upto"))
    );
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.command(&["config", "print"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn connect_by_stdio_names_this_program_and_this_directory() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_dir2mcp");
    let claude = sandbox.ok(&["connect", "claude", "--stdio"]).stdout;
    assert!(claude.contains(&format!("claude mcp add dir2mcp -- {program} stdio --dir ")), "{claude}");
    for client in ["claude", "codex", "cursor", "vscode", "generic"] {
        let json = sandbox.ok(&["connect", client, "--stdio", "--json"]).json();
        assert_eq!((&json["client"], &json["transport"]), (&json!(client), &json!("stdio")));
        for step in json["steps"].as_array().unwrap().iter().filter(|step| step["format"] == "json") {
            let config: serde_json::Value = serde_json::from_str(step["text"].as_str().unwrap()).unwrap();
            let servers = config.get("mcpServers").or(config.get("servers")).unwrap();
            assert_eq!(servers["dir2mcp"]["args"], json!(["stdio", "--dir", sandbox.root()]));
            assert_eq!(servers["dir2mcp"]["command"], program);
        }
    }
}

#[test]
fn connect_needs_a_server_that_runs() {
    let sandbox = Sandbox::new();
    let run = sandbox.fails(1, &["connect", "cursor"]);
    assert!(run.stderr.starts_with("ERROR: NOT_RUNNING: no server runs for "), "{run:?}");
    assert!(run.stderr.contains("dir2mcp up") && run.stderr.contains("--stdio"));
    // A server that was killed leaves its file behind.
    let stale =
        Sandbox::new().file(".dir2mcp/connection.json", &connection(i32::MAX as u32, json!({})).to_string());
    stale.fails(1, &["connect", "cursor"]);
    let damaged = Sandbox::new().file(".dir2mcp/connection.json", "{");
    assert!(damaged.fails(1, &["connect", "cursor"]).stderr.contains("connection.json"));
}

#[test]
fn connect_refers_to_the_token_and_shows_it_on_demand() {
    let sandbox = Sandbox::new()
        .file(".dir2mcp/secret.token", "canary0123456789\n")
        .mode(".dir2mcp/secret.token", 0o600);
    let token = sandbox.root().join(".dir2mcp/secret.token");
    let file = connection(std::process::id(), json!({ "token_source": "secret.token", "token_file": token }));
    let sandbox = sandbox.file(".dir2mcp/connection.json", &file.to_string());
    for client in ["claude", "codex", "cursor", "vscode", "generic"] {
        let run = sandbox.ok(&["connect", client]);
        assert!(
            run.stdout.contains("http://127.0.0.1:52143/mcp") && !run.all().contains("canary"),
            "{run:?}"
        );
        assert!(run.stderr.contains("the port changes"), "{run:?}");
    }
    for client in ["claude", "cursor", "vscode", "generic"] {
        let run = sandbox.ok(&["connect", client, "--show-token"]);
        assert!(run.stdout.contains("Bearer canary0123456789"), "{run:?}");
    }
    let fixed = sandbox.file(".dir2mcp.yaml", "server: {listen: '127.0.0.1:52143'}\n");
    assert_eq!(fixed.ok(&["connect", "claude"]).stderr, "");
}

#[test]
fn d010_d036_d039_the_wizard_asks_and_never_echoes_a_key() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["config", "init"]);
    terminal.answer("server.listen [127.0.0.1:0]: ", "127.0.0.1:8087");
    terminal.answer("ingest.gitignore [true]: ", "");
    terminal.answer("ingest.max_file_mb [20]: ", "far too many");
    terminal.answer("ingest.max_file_mb [20]: ", "50");
    terminal.answer("MISTRAL_API_KEY [none]: ", "canary-0123456789");
    terminal.answer("ELEVENLABS_API_KEY [none]: ", "");
    let screen = terminal.finish();
    assert!(!screen.contains("canary"), "{screen}");
    assert!(screen.contains("127.0.0.1:8087"), "what is no secret is echoed: {screen}");
    assert!(screen.contains("Created: .dir2mcp.yaml"), "{screen}");

    let config = sandbox.read(".dir2mcp.yaml");
    assert!(
        config.contains("  listen: \"127.0.0.1:8087\"\n") && config.contains("  max_file_mb: 50\n"),
        "{config}"
    );
    assert!(!config.contains("canary"));
    assert_eq!(sandbox.read(".dir2mcp/secret.env"), "MISTRAL_API_KEY='canary-0123456789'\n");
    let printed = sandbox.ok(&["config", "print", "--json"]).json();
    assert_eq!(printed["secret_sources"]["MISTRAL_API_KEY"], "file");

    // On a terminal too, --non-interactive asks nothing.
    let silent = Sandbox::new();
    let screen = Terminal::start(&silent, &["--non-interactive", "config", "init"]).finish();
    assert!(screen.contains("Created: .dir2mcp.yaml") && !screen.contains("Enter keeps"), "{screen}");
}

fn connection(pid: u32, more: serde_json::Value) -> serde_json::Value {
    let mut file = json!({
        "transport": "mcp_streamable_http",
        "url": "http://127.0.0.1:52143/mcp",
        "token_source": "none",
        "server": { "pid": pid, "started": "2026-02-25T12:34:56.789Z" },
    });
    for (name, value) in more.as_object().unwrap() {
        file[name] = value.clone();
    }
    file
}

/// The program on a terminal of its own.
struct Terminal {
    child: std::process::Child,
    master: File,
    output: mpsc::Receiver<Vec<u8>>,
    screen: String,
    seen: usize,
}

impl Terminal {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = || fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let mut command = sandbox.command(arguments);
        let child = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().unwrap();
        drop(command);
        let master = File::from(master);
        let mut reader = master.try_clone().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends with an error once the child has closed its side.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { child, master, output, screen: String::new(), seen: 0 }
    }

    /// Waits for the question and types a line.
    fn answer(&mut self, question: &str, line: &str) {
        while !self.screen[self.seen..].contains(question) {
            assert!(self.read(), "waiting for {question:?}: {}", self.screen);
        }
        self.seen = self.screen.len();
        self.master.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads to the end; the program must have succeeded.
    fn finish(mut self) -> String {
        while self.read() {}
        assert!(self.child.wait().unwrap().success(), "{}", self.screen);
        self.screen
    }

    fn read(&mut self) -> bool {
        match self.output.recv_timeout(Duration::from_secs(60)) {
            Ok(bytes) => {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
                true
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => false,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the program waits: {}", self.screen),
        }
    }
}
