//! The command line through the binary: help, exit codes, and the commands that need no index.

use std::io::Read;
use std::process::Stdio;

use serde_json::json;

use crate::pty::Terminal;
use crate::sandbox::Sandbox;

#[test]
fn d006_to_d018_help() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("help", sandbox.ok(&["--help"]).stdout);
    insta::assert_snapshot!("help_up", sandbox.ok(&["up", "--help"]).stdout);
    insta::assert_snapshot!("help_search", sandbox.ok(&["search", "--help"]).stdout);
    for command in [
        "stdio", "index", "reindex", "status", "ask", "config", "connect", "version", "open", "doctor",
        "clean", "man",
    ] {
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
        (&["search", "--k", "0", "x"], "INVALID_RANGE"),
        (&["search", "--k", "-1", "x"], "INVALID_RANGE"),
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
fn d010_d036_d039_the_wizard_asks_and_never_echoes_a_key() {
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", "version: 1\nembed:\n  provider: mistral\n");
    let mut terminal = Terminal::start(&sandbox, &["config", "init"]);
    // The file was there already, and names a provider: that is for the user to agree to.
    terminal.answer("is not trusted to set embed.provider (line 3)", "");
    let screen = terminal.ends(2);
    assert!(screen.contains("CONFIG_INVALID") && !screen.contains("server.listen ["), "{screen}");
    let mut terminal = Terminal::start(&sandbox, &["config", "init"]);
    terminal.answer("Do you trust this file? [y/N] ", "y");
    terminal.answer("server.listen [127.0.0.1:0]: ", "127.0.0.1:8087");
    terminal.answer("ingest.gitignore [true]: ", "yes");
    terminal.answer("ingest.max_file_mb [20]: ", "far too many");
    terminal.answer("ingest.max_file_mb [20]: ", "50");
    terminal.answer("Use a service: none, mistral or openai [as it is]: ", "");
    terminal.answer("MISTRAL_API_KEY [none]: ", "canary-0123456789");
    let screen = terminal.finish();
    assert!(!screen.contains("canary") && !screen.contains("ELEVENLABS"), "{screen}");
    assert!(screen.contains("127.0.0.1:8087"), "what is no secret is echoed: {screen}");
    assert!(
        screen.contains("MISTRAL_API_KEY is in ") && screen.contains("Updated: .dir2mcp.yaml"),
        "{screen}"
    );

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
