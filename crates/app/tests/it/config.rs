//! The configuration through the binary: where values come from, what is refused, what is kept secret.

use std::fs;

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
    assert!(line.ends_with(&format!("# file {}:3 | widens: no", file.display())), "{line}");
    let listen = text.lines().find(|line| line.contains("  listen: ")).unwrap();
    assert!(listen.ends_with("# env DIR2MCP_SERVER_LISTEN | widens: all but port 0 of loopback"), "{listen}");
    assert!(!sandbox.ok(&["config", "print"]).stdout.contains("# default"));
    assert!(!sandbox.has(".dir2mcp"), "printing creates nothing");
}

#[test]
fn the_printed_configuration_is_a_configuration() {
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", include_str!("specification.yaml")).trusting();
    let printed = sandbox.ok(&["config", "print"]).stdout;
    let again = Sandbox::new().file(".dir2mcp.yaml", &printed).trusting();
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
fn keys_of_providers_are_read_from_dotenv_files_below_the_shell() {
    let sandbox = Sandbox::new()
        .file(".env.local", "export MISTRAL_API_KEY='canary-local'\n")
        .file(".env", "MISTRAL_API_KEY=canary-shared\nELEVENLABS_API_KEY=canary # comment\n");
    let printed = sandbox.ok(&["config", "print", "--json"]);
    assert_eq!(printed.stderr, "");
    for name in ["MISTRAL_API_KEY", "ELEVENLABS_API_KEY"] {
        assert_eq!(printed.json()["secret_sources"][name], "env");
    }

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
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", "embed:\n  provider: mistral\n").trusting();
    let file = sandbox.root().join(".dir2mcp.yaml");
    let lines = format!(
        "ERROR: CONFIG_INVALID: Missing MISTRAL_API_KEY\nSet env: MISTRAL_API_KEY=...\nOr run: dir2mcp config init\n\
         It is needed by embed.provider: mistral ({}:2)\n",
        file.display()
    );
    assert_eq!(sandbox.fails(2, &["--non-interactive", "up"]).stderr, lines);
    // Standard input is no terminal, so nobody is asked either way.
    assert_eq!(sandbox.fails(2, &["up"]).stderr, lines);
    assert!(!sandbox.has(".dir2mcp"), "nothing was started");

    let event = sandbox.fails(2, &["--json", "up"]).json();
    assert_eq!((&event["event"], &event["level"]), (&json!("fatal"), &json!("error")));
    assert_eq!(event["data"]["code"], "CONFIG_INVALID");
}

#[test]
fn d041_d042_capabilities_switched_on_need_their_keys_where_there_is_something_to_read() {
    for (yaml, file, name, setting) in [
        ("ingest: {pdf: {mode: ocr}}", "a.pdf", "MISTRAL_API_KEY", "ingest.pdf.mode: ocr"),
        ("ingest: {images: {mode: ocr_on}}", "a.png", "MISTRAL_API_KEY", "ingest.images.mode: ocr_on"),
        ("ingest: {audio: {mode: on}}", "a.mp3", "MISTRAL_API_KEY", "ingest.audio.mode: on"),
        (
            "ingest: {audio: {mode: on}}\nstt: {provider: elevenlabs}",
            "a.mp3",
            "ELEVENLABS_API_KEY",
            "ingest.audio.mode: on",
        ),
    ] {
        let sandbox = Sandbox::new().file(".dir2mcp.yaml", yaml).file("a.md", "text").trusting();
        sandbox.ok(&["index"]);
        let run = sandbox.file(&format!("deep/{file}"), "x").fails(2, &["up"]);
        assert!(
            run.stderr.starts_with(&format!("ERROR: CONFIG_INVALID: Missing {name}\n")),
            "{yaml}: {run:?}"
        );
        assert!(run.stderr.contains(&format!("It is needed by {setting} (")), "{run:?}");
    }
}

#[test]
fn d041_the_templates_of_the_specification_and_of_the_wizard_start() {
    let specified =
        Sandbox::new().file(".dir2mcp.yaml", include_str!("specification.yaml")).file("a.md", "text");
    specified.ok(&["trust"]);
    specified.ok(&["index"]);
    let own = Sandbox::new().file("a.md", "text").file("a.pdf", "x");
    own.ok(&["config", "init"]);
    own.ok(&["index"]);
}

#[test]
fn a_model_that_nothing_uses_is_said() {
    let sandbox = Sandbox::new().file("a.md", "text").env("DIR2MCP_CHAT_MODEL", "x");
    let run = sandbox.ok(&["index"]);
    assert!(run.stderr.contains("env DIR2MCP_CHAT_MODEL has no effect: "), "{run:?}");
}

#[test]
fn a_glob_or_an_expression_that_is_none_is_refused_when_it_is_read() {
    for (yaml, key) in [
        ("security: {path_excludes: ['a[']}", "security.path_excludes: \"a[\" is not a glob"),
        ("security: {secret_patterns: [default, '(']}", "security.secret_patterns: \"(\" is not a usable"),
    ] {
        let run = Sandbox::new().file(".dir2mcp.yaml", yaml).fails(2, &["config", "print"]);
        assert!(run.stderr.contains(&format!(".dir2mcp.yaml:1: {key}")), "{run:?}");
    }
}

#[test]
fn d083_d090_excludes_are_added_to_the_defaults() {
    let sandbox = Sandbox::new()
        .file(".dir2mcp.yaml", "security: {path_excludes: ['**/priv/**']}\n")
        .file("node_modules/x/a.md", "lighthouse")
        .file("dist/b.md", "lighthouse")
        .file("priv/c.md", "lighthouse")
        .file("d.md", "lighthouse");
    let paths = |sandbox: &Sandbox| {
        let hits = sandbox.ok(&["search", "lighthouse", "--json"]).json()["hits"].clone();
        let mut paths: Vec<String> =
            hits.as_array().unwrap().iter().map(|hit| hit["rel_path"].as_str().unwrap().to_owned()).collect();
        paths.sort();
        paths
    };
    assert_eq!(paths(&sandbox), ["d.md"]);
    // Taking a default back widens.
    let back = sandbox.file(".dir2mcp.yaml", "security: {path_excludes: ['**/priv/**', '!**/dist/**']}\n");
    back.fails(2, &["search", "lighthouse"]);
    assert_eq!(paths(&back.trusting()), ["d.md", "dist/b.md"]);
}

#[test]
fn d168_a_key_in_the_keychain_is_recorded_as_such() {
    let sandbox = Sandbox::new().file("a.md", "text");
    sandbox.keychain("canary-keychain");
    let run = sandbox.run_until_started();
    assert!(!run.contains("canary"), "{run}");
    let snapshot = sandbox.read(".dir2mcp/.dir2mcp.yaml.snapshot");
    assert!(snapshot.contains("  MISTRAL_API_KEY: keychain\n"), "{snapshot}");
    assert!(snapshot.contains("  DIR2MCP_AUTH_TOKEN: file\n") && !snapshot.contains("canary"), "{snapshot}");
}

#[test]
fn d187_a_secrets_file_that_others_can_read_is_refused() {
    let sandbox = Sandbox::new()
        .file(".dir2mcp.yaml", "embed: {provider: mistral}\n")
        .file(".dir2mcp/secret.env", "MISTRAL_API_KEY=canary\n")
        .mode(".dir2mcp/secret.env", 0o644)
        .trusting();
    // Said even where nothing has asked for a key yet.
    let printed = sandbox.ok(&["config", "print"]);
    assert!(printed.stderr.contains("secret.env may be read by others (mode 0644)"), "{printed:?}");
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
        .env("MISTRAL_API_KEY", "canary-shell")
        .trusting();
    sandbox.keychain("canary-keychain");

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
    #[cfg(target_os = "linux")]
    assert_eq!(printed["secret_sources"]["DIR2MCP_AUTH_TOKEN"], "keychain", "not that of the folder's .env");
    let run = sandbox.ok(&["config", "print"]);
    assert!(run.stderr.contains("stt.mistral.api_key holds a key in plain text"), "{}", run.stderr);

    #[cfg(target_os = "linux")]
    {
        let from_keychain =
            Sandbox::new().file(".dir2mcp.yaml", "secrets: {provider: keychain}\n").trusting();
        from_keychain.keychain("canary-keychain");
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
        for sandbox in [Sandbox::new(), Sandbox::new().trusting()] {
            let run = sandbox.file(".dir2mcp.yaml", &yaml).fails(2, &["config", "print"]);
            assert!(!run.all().contains(canary), "{yaml}: {run:?}");
        }
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
    let named = Sandbox::new();
    let run = named.ok(&["config", "init", "--config", "new.yaml"]);
    assert!(run.stdout.starts_with("Created: new.yaml\n") && named.has("new.yaml"), "{run:?}");
    assert!(!named.has(".dir2mcp.yaml"));
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
    assert!(text.contains(
        "| `server.listen` | `127.0.0.1:0` | all but port 0 of loopback | `DIR2MCP_SERVER_LISTEN` | `--listen` |"
    ));
    let keys = Sandbox::new().ok(&["config", "print", "--reference", "--json"]).json();
    let listen = keys["keys"].as_array().unwrap().iter().find(|key| key["key"] == "server.listen").unwrap();
    assert_eq!((&listen["default"], &listen["flag"]), (&json!("127.0.0.1:0"), &json!("--listen")));
    assert_eq!(listen["widens"], "all but port 0 of loopback");
}
