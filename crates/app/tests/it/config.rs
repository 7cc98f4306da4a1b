//! The configuration through the binary: where values come from, what is refused, what is kept secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::sandbox::Sandbox;

#[test]
fn d011_d166_flags_over_env_over_file_over_defaults_with_origins() {
    let sandbox = Sandbox::new()
        .file(
            ".dir2mcp.yaml",
            "version: 1\nrag:\n  k_default: 7\nserver:\n  listen: 127.0.0.1:1\n  mcp_path: /file\n",
        )
        .env("DIR2MCP_SERVER_LISTEN", "127.0.0.1:2")
        .env("DIR2MCP_CHAT_MODEL", "from-env");
    let run = sandbox.ok(&["config", "print", "--json", "--mcp-path", "/flag"]);
    let printed = run.json();
    let file = sandbox.root().join(".dir2mcp.yaml");
    for (section, name, value, origin) in [
        ("rag", "max_context_chars", json!(20_000), "default".to_string()),
        ("rag", "k_default", json!(7), format!("file {}:3", file.display())),
        ("server", "listen", json!("127.0.0.1:2"), "env DIR2MCP_SERVER_LISTEN".into()),
        ("mistral", "chat_model", json!("from-env"), "env DIR2MCP_CHAT_MODEL".into()),
        ("server", "mcp_path", json!("/flag"), "flag --mcp-path".into()),
    ] {
        assert_eq!(printed["config"][section][name], value);
        assert_eq!(printed["origins"][format!("{section}.{name}")], json!(origin));
    }
    assert_eq!(printed["config_file"], json!(file));
    assert_eq!(printed["root"], json!(sandbox.root()));

    let text = sandbox.ok(&["config", "print", "--origins"]).stdout;
    let line = text.lines().find(|line| line.contains("k_default")).unwrap();
    assert!(line.ends_with(&format!("# file {}:3", file.display())), "{line}");
    assert!(!sandbox.ok(&["config", "print"]).stdout.contains("# default"));
    assert!(!sandbox.has(".dir2mcp"), "printing creates nothing");
}

#[test]
fn the_printed_configuration_is_a_configuration() {
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", include_str!("specification.yaml"));
    let printed = sandbox.ok(&["config", "print"]).stdout;
    let again = Sandbox::new().file(".dir2mcp.yaml", &printed);
    let comparable =
        |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let (one, two) = (comparable(&printed), comparable(&again.ok(&["config", "print"]).stdout));
    // A relative path becomes absolute once it stands in a file.
    let paths = |text: &str| {
        text.replace(again.root().to_str().unwrap(), "").replace(sandbox.root().to_str().unwrap(), "")
    };
    assert_eq!(paths(&one), paths(&two));
}

#[test]
fn dotenv_files_are_read_below_the_shell() {
    let sandbox = Sandbox::new()
        .file(".env.local", "export DIR2MCP_CHAT_MODEL='local'\n")
        .file(".env", "DIR2MCP_CHAT_MODEL=shared\nDIR2MCP_EMBED_MODEL_TEXT=shared # comment\nDIR2MCP_SERVER_LISTEN=127.0.0.1:5\n")
        .env("DIR2MCP_SERVER_LISTEN", "127.0.0.1:6");
    let printed = sandbox.ok(&["config", "print", "--json"]).json();
    assert_eq!(printed["config"]["mistral"]["chat_model"], "local");
    assert_eq!(printed["config"]["mistral"]["embed_text_model"], "shared");
    assert_eq!(printed["config"]["server"]["listen"], "127.0.0.1:6");
    let origin = printed["origins"]["mistral.chat_model"].as_str().unwrap();
    assert_eq!(origin, format!("env DIR2MCP_CHAT_MODEL in {}", sandbox.root().join(".env.local").display()));

    let unreadable = Sandbox::new().file(".env", "A=1\n");
    fs::write(unreadable.root().join(".env"), [b'A', b'=', 0xff]).unwrap();
    assert!(
        unreadable.fails(2, &["config", "print"]).stderr.starts_with("ERROR: CONFIG_INVALID: cannot read ")
    );
}

#[test]
fn unknown_keys_name_the_nearest_and_all_errors_come_at_once() {
    let sandbox = Sandbox::new()
        .file(".dir2mcp.yaml", "server:\n  listne: x\nrag:\n  k_default: many\nversion: 3\n")
        .env("DIR2MCP_SESSION_MAX_LIFETIME", "5s");
    let run = sandbox.fails(2, &["config", "print"]);
    let file = sandbox.root().join(".dir2mcp.yaml");
    let file = file.display();
    assert_eq!(
        run.stderr,
        format!(
            "ERROR: CONFIG_INVALID: {file}:2: unknown key \"server.listne\"; did you mean \"server.listen\"?\n\
             ERROR: CONFIG_INVALID: {file}:4: rag.k_default: expected a whole number from 1 to 50, found \"many\"\n\
             ERROR: CONFIG_INVALID: {file}:5: version: expected 1, found \"3\"\n\
             ERROR: CONFIG_INVALID: env DIR2MCP_SESSION_MAX_LIFETIME: server.session_max_lifetime: 5s is shorter \
             than server.session_inactivity_timeout (24h), which could then never apply\n"
        )
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn broken_missing_and_misspelt() {
    let broken = Sandbox::new().file(".dir2mcp.yaml", "server: [\n");
    assert!(broken.fails(2, &["config", "print"]).stderr.contains(".dir2mcp.yaml:"));
    let missing = Sandbox::new();
    assert!(missing.fails(2, &["--config", "none.yaml", "config", "print"]).stderr.contains("none.yaml"));
    let misspelt =
        Sandbox::new().env("DIR2MCP_ALLOWED_ORIGIN", "http://x").env("DIR2MCP_SESSION_TIMEOUT", "1h");
    let run = misspelt.ok(&["config", "print"]);
    assert!(run.stderr.contains(
        "WARNING: DIR2MCP_ALLOWED_ORIGIN is not a known variable; did you mean DIR2MCP_ALLOWED_ORIGINS?"
    ));
    assert!(
        run.stderr.contains(
            "WARNING: DIR2MCP_SESSION_TIMEOUT is an old name; use DIR2MCP_SESSION_INACTIVITY_TIMEOUT"
        )
    );
    assert!(run.stdout.contains("session_inactivity_timeout: \"1h\""));
    assert_eq!(misspelt.ok(&["--quiet", "config", "print"]).stderr, "");
}

#[test]
fn d037_d040_d054_a_key_that_is_missing_is_named_and_nothing_is_started() {
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", "embed:\n  provider: mistral\n");
    let lines = "ERROR: CONFIG_INVALID: Missing MISTRAL_API_KEY\nSet env: MISTRAL_API_KEY=...\nOr run: dir2mcp config init\n";
    assert_eq!(sandbox.fails(2, &["--non-interactive", "up"]).stderr, lines);
    // Standard input is no terminal, so nobody is asked either way.
    assert_eq!(sandbox.fails(2, &["up"]).stderr, lines);
    assert!(!sandbox.has(".dir2mcp"), "nothing was started");

    let event = sandbox.fails(2, &["--json", "up"]).json();
    assert_eq!((&event["event"], &event["level"]), (&json!("fatal"), &json!("error")));
    assert_eq!(event["data"]["code"], "CONFIG_INVALID");

    let later = Sandbox::new()
        .file(".dir2mcp.yaml", "embed:\n  provider: mistral\n")
        .env("MISTRAL_API_KEY", "canary");
    let run = later.fails(2, &["up"]);
    assert!(run.stderr.contains("embed.provider: mistral is not available yet"), "{run:?}");
    assert!(!run.all().contains("canary"));
}

#[test]
fn d041_d042_capabilities_switched_on_need_their_keys() {
    for (yaml, name) in [
        ("ingest: {pdf: {mode: ocr}}", "MISTRAL_API_KEY"),
        ("ingest: {images: {mode: ocr_on}}", "MISTRAL_API_KEY"),
        ("ingest: {audio: {mode: on}}", "MISTRAL_API_KEY"),
        ("ingest: {audio: {mode: on}}\nstt: {provider: elevenlabs}", "ELEVENLABS_API_KEY"),
    ] {
        let run = Sandbox::new().file(".dir2mcp.yaml", yaml).fails(2, &["up"]);
        assert!(
            run.stderr.starts_with(&format!("ERROR: CONFIG_INVALID: Missing {name}\n")),
            "{yaml}: {run:?}"
        );
    }
}

#[test]
fn d187_a_secrets_file_that_others_can_read_is_refused() {
    let sandbox = Sandbox::new()
        .file(".dir2mcp.yaml", "embed: {provider: mistral}\n")
        .file(".dir2mcp/secret.env", "MISTRAL_API_KEY=canary\n")
        .mode(".dir2mcp/secret.env", 0o644);
    let run = sandbox.fails(2, &["up"]);
    assert!(run.stderr.contains("chmod 600") && !run.all().contains("canary"), "{run:?}");
}

#[test]
fn d167_d168_d186_m27_secrets_are_named_by_source_and_never_shown() {
    let sandbox = Sandbox::new()
        .file(
            ".dir2mcp.yaml",
            "secrets: {provider: keychain}\nstt: {mistral: {api_key: canary-yaml}, elevenlabs: {api_key: '${EL}'}}\n",
        )
        .file(".env", "EL=canary-dotenv\nDIR2MCP_AUTH_TOKEN=canary-token\n")
        .env("MISTRAL_API_KEY", "canary-shell");
    // A stand-in for the keychain's tool.
    let tool = sandbox.bin().join("secret-tool");
    fs::write(&tool, "#!/bin/sh\necho canary-keychain\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();

    for arguments in [
        &["config", "print"][..],
        &["config", "print", "--origins"],
        &["config", "print", "--json"],
        &["config", "print", "--reference"],
        &["config", "init"],
        &["connect", "generic", "--stdio"],
        &["connect", "generic"],
    ] {
        let run = sandbox.run(arguments);
        assert!(!run.all().contains("canary"), "{arguments:?}: {run:?}");
    }
    let printed = sandbox.ok(&["config", "print", "--json"]).json();
    assert_eq!(printed["config"]["mistral"]["api_key"], "****");
    assert_eq!(printed["origins"]["mistral.api_key"], "env MISTRAL_API_KEY");
    assert_eq!(printed["origins"]["stt.elevenlabs.api_key"], "env EL");
    assert_eq!(printed["secret_sources"]["MISTRAL_API_KEY"], "env");
    assert_eq!(printed["secret_sources"]["DIR2MCP_AUTH_TOKEN"], "env");
    let run = sandbox.ok(&["config", "print"]);
    assert!(run.stderr.contains("stt.mistral.api_key holds a key in plain text"), "{}", run.stderr);

    #[cfg(target_os = "linux")]
    {
        let from_keychain = Sandbox::new().file(".dir2mcp.yaml", "secrets: {provider: keychain}\n");
        fs::copy(&tool, from_keychain.bin().join("secret-tool")).unwrap();
        let printed = from_keychain.ok(&["config", "print", "--json"]).json();
        assert_eq!(printed["secret_sources"]["MISTRAL_API_KEY"], "keychain");
        assert_eq!(printed["config"]["mistral"]["api_key"], "****");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let canary = "canary0123456789abcdef";
    for yaml in [
        format!("security: {{auth: {{mode: {canary}}}}}"),
        format!("server: {{listen: {canary}}}"),
        format!("security: {{auth: {{token_env: 'a.{canary}'}}}}"),
        format!("rag: {{k_default: {canary}}}"),
        format!("mistral: {{base_url: 'https://user:{canary}@host'}}"),
        format!("mistral: {{api_key: [{canary}]}}"),
        format!("mistral:\n  api_key: \"{canary}\n"),
    ] {
        let run = Sandbox::new().file(".dir2mcp.yaml", &yaml).fails(2, &["config", "print"]);
        assert!(!run.all().contains(canary), "{yaml}: {run:?}");
    }
}

#[test]
fn d010_config_init_writes_a_template_and_keeps_what_is_there() {
    let sandbox = Sandbox::new();
    let run = sandbox.ok(&["config", "init"]);
    assert!(
        run.stdout.starts_with("Created: .dir2mcp.yaml\n") && run.stdout.contains("dir2mcp up"),
        "{run:?}"
    );
    let text = sandbox.read(".dir2mcp.yaml");
    assert!(text.contains("version: 1\n") && text.contains("  #listen: \"127.0.0.1:0\"\n"));
    let origins = sandbox.ok(&["config", "print", "--json"]).json();
    assert_eq!(origins["origins"]["server.listen"], "default");

    let again = sandbox.ok(&["config", "init", "--json"]).json();
    assert_eq!((&again["created"], &again["updated"]), (&json!(false), &json!(false)));
    assert_eq!(sandbox.read(".dir2mcp.yaml"), text);

    let fresh = Sandbox::new();
    let created = fresh.ok(&["--json", "config", "init"]).json();
    assert_eq!(
        (&created["path"], &created["created"], &created["updated"]),
        (&json!(".dir2mcp.yaml"), &json!(true), &json!(false))
    );
    assert!(!created["next_steps"].as_array().unwrap().is_empty());

    let broken = Sandbox::new().file(".dir2mcp.yaml", "nonsense: 1\n");
    broken.fails(2, &["config", "init"]);
    assert_eq!(broken.read(".dir2mcp.yaml"), "nonsense: 1\n");
    let elsewhere = Sandbox::new().file("docs/a.md", "a");
    elsewhere.ok(&["config", "init", "--dir", "docs"]);
    assert!(elsewhere.has("docs/.dir2mcp.yaml") && !elsewhere.has(".dir2mcp.yaml"));
}

#[test]
fn d003_d013_d014_d015_where_things_are() {
    let sandbox = Sandbox::new().file("docs/a.md", "a").file("other.yaml", "rag: {k_default: 3}\n");
    let printed = sandbox.ok(&["--dir=docs", "--config", "other.yaml", "config", "print", "--json"]).json();
    assert_eq!(printed["root"], json!(sandbox.root().join("docs")));
    assert_eq!(printed["state_dir"], json!(sandbox.root().join("docs/.dir2mcp")));
    assert_eq!(printed["config"]["rag"]["k_default"], 3);
    let printed = sandbox.ok(&["config", "print", "--json", "--state-dir", "s"]).json();
    assert_eq!(printed["state_dir"], json!(sandbox.root().join("s")));
    let run = sandbox.fails(3, &["--dir", "none", "config", "print"]);
    assert!(
        run.stderr.starts_with("ERROR: ROOT_INACCESSIBLE: cannot read the root directory none: "),
        "{run:?}"
    );
    sandbox.fails(3, &["up", "--dir", "docs/a.md"]);
}

#[test]
fn the_reference_is_made_from_the_table() {
    let text = Sandbox::new().ok(&["config", "print", "--reference"]).stdout;
    assert!(text.starts_with("# Configuration\n"));
    assert!(text.contains("| `server.listen` | `127.0.0.1:0` | `DIR2MCP_SERVER_LISTEN` | `--listen` |"));
}
