//! A folder is served, not obeyed: which source may set which key, seen from outside.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// What a repository could bring along to open the machine, a key each.
const HOSTILE: &[(&str, &str)] = &[
    ("workspace.roots", "workspace: {roots: [/etc]}"),
    ("server.tools", "server: {tools: [dir2mcp, smart]}"),
    ("security.auth.mode", "security: {auth: {mode: none}}"),
    ("security.allowed_origins", "security: {allowed_origins: ['http://evil.example']}"),
    ("server.allowed_hosts", "server: {allowed_hosts: [evil.example]}"),
    ("server.trusted_proxies", "server: {trusted_proxies: [0.0.0.0/0]}"),
    ("server.listen", "server: {listen: '127.0.0.1:4711'}"),
    ("server.listen", "server: {listen: '0.0.0.0:0'}"),
    ("server.public", "server: {public: true}"),
    ("security.secret_patterns", "security: {secret_patterns: []}"),
    ("security.path_excludes", "security: {path_excludes: ['!**/.netrc']}"),
    ("mistral.base_url", "mistral: {base_url: 'https://evil.example'}"),
    ("mistral.api_key", "mistral: {api_key: written-out-by-a-stranger}"),
    ("openai.base_url", "openai: {base_url: 'https://evil.example/v1'}"),
    ("embed.provider", "embed: {provider: mistral}"),
    ("chat.provider", "chat: {provider: openai}"),
    ("command.ocr", "command: {ocr: [/bin/sh, -c, id]}"),
    ("ocr.tesseract_path", "ocr: {tesseract_path: ./tesseract}"),
    ("providers.allowed_hosts", "providers: {allowed_hosts: [evil.example]}"),
    ("extras.dir", "extras: {dir: ./models}"),
    ("repo.data_dir", "repo: {data_dir: /tmp/elsewhere}"),
    ("x402.route_policy.tools_call.pay_to", "x402: {route_policy: {tools_call: {pay_to: evil}}}"),
    ("secrets.keychain.service", "secrets: {keychain: {service: other-program}}"),
    ("mistral.api_key", "mistral: {api_key: '${AWS_SECRET_ACCESS_KEY}'}"),
    ("rag.k_default", "rag: {k_default: '${NUMBER}'}"),
];

fn hostile(yaml: &str) -> Sandbox {
    Sandbox::new()
        .file(".dir2mcp.yaml", &format!("{yaml}\n"))
        .file("a.md", "lighthouse")
        .env("AWS_SECRET_ACCESS_KEY", "canary-aws")
        .env("NUMBER", "3")
}

#[test]
fn d004_d166_what_widens_in_a_folder_s_own_file_is_refused_by_every_command() {
    for (key, yaml) in HOSTILE {
        let sandbox = hostile(yaml);
        for arguments in [
            &["up"][..],
            &["stdio"],
            &["search", "lighthouse"],
            &["ask", "lighthouse"],
            &["index"],
            &["status"],
            &["roots"],
            &["config", "print"],
            &["config", "init"],
            &["connect", "generic", "--stdio"],
            &["--dir", ".", "bundle", "x"],
        ] {
            let run = sandbox.fails(2, arguments);
            assert!(run.stderr.starts_with("ERROR: CONFIG_INVALID: "), "{run:?}");
            for part in [format!("{key} (line 1").as_str(), "dir2mcp trust ", "--trust-config"] {
                assert!(run.stderr.contains(part), "{yaml} {arguments:?}: {part} in {run:?}");
            }
            assert!(!run.all().contains("canary"), "{run:?}");
        }
        assert!(!sandbox.has(".dir2mcp"), "nothing was started");
        let event = sandbox.fails(2, &["--json", "up"]).json();
        assert_eq!(event["data"]["code"], "CONFIG_INVALID");
    }
}

#[test]
fn the_user_s_word_makes_it_count() {
    let yaml = "server: {listen: '127.0.0.1:4711'}";
    let listen = |run: Run| run.json()["config"]["server"]["listen"].clone();
    let print = ["config", "print", "--json"];

    // For one run, by the flag or by naming the file.
    let sandbox = hostile(yaml);
    assert_eq!(listen(sandbox.ok(&[&print[..], &["--trust-config"]].concat())), "127.0.0.1:4711");
    assert_eq!(listen(sandbox.ok(&[&print[..], &["--config", ".dir2mcp.yaml"]].concat())), "127.0.0.1:4711");
    sandbox.fails(2, &print);
    let named = hostile(yaml).env("DIR2MCP_CONFIG", ".dir2mcp.yaml");
    assert_eq!(listen(named.ok(&print)), "127.0.0.1:4711");

    // For good, as it is now.
    let run = sandbox.ok(&["trust"]);
    assert!(run.stdout.contains(".dir2mcp.yaml\n  server.listen (line 1): 127.0.0.1:4711\n"), "{run:?}");
    assert_eq!(listen(sandbox.ok(&print)), "127.0.0.1:4711");
    let store = sandbox.home().join(".config/dir2mcp/trust.json");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = sandbox.ok(&["trust", "--list"]).stdout;
    assert!(listed.contains(sandbox.root().to_str().unwrap()) && listed.contains("unchanged"), "{listed}");

    // A changed file is another file.
    let sandbox = sandbox.file(".dir2mcp.yaml", "server: {listen: '127.0.0.1:4712'}\n");
    sandbox.fails(2, &print);
    assert!(sandbox.ok(&["trust", "--list"]).stdout.contains("changed since"));
    sandbox.ok(&["trust", "."]);
    assert_eq!(listen(sandbox.ok(&print)), "127.0.0.1:4712");
    let removed = sandbox.ok(&["trust", "--remove", "--json"]).json();
    assert_eq!(removed["removed"].as_array().unwrap().len(), 1);
    sandbox.fails(2, &print);
    assert_eq!(sandbox.ok(&["trust", "--list"]).stdout, "No file is trusted.\n");

    // What the user writes through the program is trusted as it was written.
    let written = Sandbox::new().file("docs/a.md", "a");
    written.ok(&["roots", "add", "docs"]);
    written.ok(&["roots", "add", "/usr"]);
    let roots = written.ok(&["roots", "--json"]).json();
    assert_eq!(roots["roots"].as_array().unwrap().len(), 3, "{roots}");
    // A file that is there already is not trusted by the way.
    let before = hostile("server: {public: true}");
    before.fails(2, &["roots", "add", "/usr"]);
    // Not even where a stronger source hides what it wants.
    let hidden = hostile("server:\n  listen: '0.0.0.0:1'").env("DIR2MCP_SERVER_LISTEN", "127.0.0.1:0");
    hidden.ok(&["config", "init"]);
    hidden.ok(&["roots", "add", "/usr"]);
    assert_eq!(hidden.ok(&["trust", "--list"]).stdout, "No file is trusted.\n");
}

#[test]
fn what_narrows_always_counts() {
    for (yaml, section, name, value) in [
        ("ingest: {max_file_mb: 5}", "ingest", "max_file_mb", json!(5)),
        ("server: {rate_limit: {rps: 3}, read_only: true}", "server", "read_only", json!(true)),
        (
            "security: {secret_patterns: [default, swordfish]}",
            "security",
            "secret_patterns",
            json!(["default", "swordfish"]),
        ),
        ("embed: {provider: builtin}", "embed", "provider", json!("builtin")),
        ("ingest: {archives: {mode: off}, pdf: {mode: off}}", "ingest", "gitignore", json!(true)),
        ("server: {listen: '127.0.0.1:0', tools: [dir2mcp]}", "server", "listen", json!("127.0.0.1:0")),
    ] {
        let printed = hostile(yaml).ok(&["config", "print", "--json"]).json();
        assert_eq!(printed["config"][section][name], value, "{yaml}");
    }
    // What a stronger source sets anyway is no wish of the file's.
    let sandbox = hostile("server: {listen: '0.0.0.0:1'}");
    assert_eq!(
        sandbox.ok(&["config", "print", "--json", "--listen", "127.0.0.1:7"]).json()["config"]["server"]["listen"],
        "127.0.0.1:7"
    );
}

#[test]
fn d004_d013_d166_a_dotenv_file_cannot_turn_the_server_around() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("private.md"), "the lighthouse keeper's diary").unwrap();
    let there = elsewhere.path().to_str().unwrap();
    let sandbox = Sandbox::new().file("a.md", "a lighthouse of our own").file(
        ".env",
        &format!(
            "DIR2MCP_DIR={there}\nDIR2MCP_SECURITY_AUTH_MODE=none\nDIR2MCP_STATE_DIR={there}/state\n\
             DIR2MCP_CONFIG={there}/c.yaml\nDIR2MCP_WORKSPACE_ROOTS={there}\nDIR2MCP_AUTH_TOKEN=known-to-the-author-0123\n\
             XDG_CONFIG_HOME={there}\nHOME={there}\nDATABASE_URL=x\n"
        ),
    );
    let found = sandbox.ok(&["search", "lighthouse", "--json"]);
    let hits = &found.json()["hits"];
    assert_eq!(hits.as_array().unwrap().len(), 1);
    assert_eq!(hits[0]["rel_path"], "a.md");
    for name in ["DIR2MCP_DIR", "DIR2MCP_SECURITY_AUTH_MODE", "DIR2MCP_STATE_DIR", "DIR2MCP_AUTH_TOKEN"] {
        assert!(found.stderr.contains(&format!("WARNING: {name} in ")), "{found:?}");
    }
    assert!(
        !found.stderr.contains("DATABASE_URL") && !found.stderr.contains("known-to-the-author"),
        "{found:?}"
    );
    let started = sandbox.run_until_started();
    assert!(started.contains("\"token_source\":\"secret.token\""), "{started}");
    assert_ne!(sandbox.read(".dir2mcp/secret.token").trim(), "known-to-the-author-0123");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1, "nothing was written there");
}

#[test]
fn the_user_s_own_file_may_set_everything_and_the_folder_s_may_narrow_it() {
    let sandbox = Sandbox::new().file(".dir2mcp.yaml", "ingest: {max_file_mb: 30}\n");
    let folder = sandbox.home().join(".config/dir2mcp");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), "server: {listen: '127.0.0.1:4711'}\ningest: {max_file_mb: 50}\n")
        .unwrap();
    let printed = sandbox.ok(&["config", "print", "--json"]).json();
    assert_eq!(printed["config"]["server"]["listen"], "127.0.0.1:4711");
    assert_eq!(printed["config"]["ingest"]["max_file_mb"], 30);
    let wider = sandbox.file(".dir2mcp.yaml", "ingest: {max_file_mb: 51}\n");
    wider.fails(2, &["config", "print"]);
}

#[test]
fn r019_a_repository_s_own_file_cannot_move_its_data_directory() {
    let sandbox =
        Sandbox::new().file("repo_mcp.toml", "data_dir = \"/tmp/elsewhere\"\n").file("a.py", "x = 1\n");
    let run = sandbox.fails(2, &["bundle", "x"]);
    assert!(run.stderr.contains("repo_mcp.toml") && run.stderr.contains("repo.data_dir (line 1)"), "{run:?}");
    let limits =
        Sandbox::new().file("repo_mcp.toml", "[limits]\nmax_open_lines = 600\n").file("a.py", "x = 1\n");
    limits.ok(&["bundle", "x"]);
}

/// A value of a key that goes beyond its default, one that does not, as YAML; none where there is no such value.
fn samples(key: &Value) -> (Option<String>, Option<String>) {
    let default = &key["default"];
    let expected = key["expected"].as_str().unwrap();
    let number = default.as_u64();
    let another = || match expected {
        "true or false" => (!default.as_bool().unwrap()).to_string(),
        "a file path" => "/tmp/other".into(),
        _ if key["key"].as_str().unwrap().ends_with("url") => "https://other.example".into(),
        _ if key["key"] == "x402.route_policy.tools_call.network" => "eip155:1".into(),
        _ if key["key"] == "x402.route_policy.tools_call.price" => "'7'".into(),
        _ if key["key"] == "security.auth.token_env" => "OTHER_TOKEN".into(),
        "a list of texts" => "[other]".into(),
        _ if expected.starts_with("a whole number") => (number.unwrap() + 1).to_string(),
        _ => match expected.strip_prefix("one of ") {
            Some(choices) => {
                choices.split(", ").find(|choice| *choice != default.as_str().unwrap()).unwrap().into()
            }
            None => "other".into(),
        },
    };
    match key["widens"].as_str().unwrap() {
        "no" => (None, None),
        "any other value" => (Some(another()), None),
        "larger" if expected.starts_with("megabytes") => (Some("{pdf: 21}".into()), Some("{pdf: 19}".into())),
        "larger" | "larger, or 0" if expected.starts_with("a duration") => match default.as_str().unwrap() {
            "0" => (None, Some("25h".into())),
            _ => (Some("48h".into()), Some("1h".into())),
        },
        // There is no limit by default, so every limit narrows.
        "larger, or 0" if number == Some(0) => (None, Some("7".into())),
        "larger, or 0" => (Some("0".into()), number.map(|number| (number - 1).to_string())),
        "larger" => {
            let limit = expected.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
            let more = number.filter(|number| *number < limit).map(|number| (number + 1).to_string());
            (more, number.map(|number| (number - 1).to_string()))
        }
        "true" => match default.as_bool() {
            Some(true) => (None, Some("false".into())),
            _ => (Some("true".into()), Some("false".into())),
        },
        "false" => match default.as_bool() {
            Some(true) => (Some("false".into()), Some("true".into())),
            _ => (None, Some("false".into())),
        },
        "more items" => {
            let more = match key["key"].as_str().unwrap() {
                "server.tools" => "[dir2mcp, repo]",
                "security.allowed_origins" => "['http://localhost', 'https://other.example']",
                "server.trusted_proxies" => "[10.0.0.0/8]",
                "workspace.roots" => "[/usr]",
                _ => "[other.example]",
            };
            (Some(more.into()), None)
        }
        "fewer items" => (Some("[]".into()), Some("[default, own]".into())),
        "items with !" => (Some("['!**/dist/**']".into()), Some("['**/own/**']".into())),
        "all but port 0 of loopback" => (Some("'127.0.0.1:4711'".into()), Some("'localhost:0'".into())),
        "a key, or a reference to another variable" => {
            let own = key["environment"][0].as_str().unwrap();
            (Some("'${OTHER}'".into()), Some(format!("'${{{own}}}'")))
        }
        ranked => {
            let groups: Vec<Vec<&str>> =
                ranked.split(" < ").map(|group| group.split(" or ").collect()).collect();
            let at = groups.iter().position(|group| group.contains(&default.as_str().unwrap())).unwrap();
            let pick = |at: usize| groups.get(at).map(|group| group[0].to_owned());
            (pick(at + 1), at.checked_sub(1).and_then(pick))
        }
    }
}

/// Every key from every source, as the published table says.
#[test]
fn every_key_from_every_source_is_as_the_table_says() {
    let reference = Sandbox::new().ok(&["config", "print", "--reference", "--json"]).json();
    let keys = reference["keys"].as_array().unwrap();
    let documented = include_str!("../../../../docs/configuration.md");
    let refused = |run: &Run, path: &str| {
        run.code == 2
            && run.stderr.contains("is not trusted to set")
            && run.stderr.contains(&format!(" {path} (line "))
    };
    let nested = |path: &str, value: &str| {
        let names: Vec<&str> = path.split('.').collect();
        let mut text = String::new();
        for (depth, name) in names.iter().enumerate() {
            text.push_str(&format!("{}{name}:", "  ".repeat(depth)));
            text.push_str(if depth + 1 == names.len() { " " } else { "\n" });
        }
        text + value + "\n"
    };
    let mut tried = 0;
    for key in keys {
        let path = key["key"].as_str().unwrap();
        let row = documented.lines().find(|line| line.starts_with(&format!("| `{path}` |"))).unwrap();
        assert!(row.contains(&format!(" | {} | ", key["widens"].as_str().unwrap())), "{row}");
        let (wide, narrow) = samples(key);
        for (value, widens) in [(wide, true), (narrow, false)] {
            let Some(value) = value else { continue };
            tried += 1;
            let yaml = nested(path, &value);
            let sandbox = || Sandbox::new().env("OTHER", "x");
            let print = ["config", "print"];
            let found = sandbox().file(".dir2mcp.yaml", &yaml);
            assert_eq!(refused(&found.run(&print), path), widens, "{yaml}: {:?}", found.run(&print));
            if !widens {
                continue;
            }
            let never = |run: Run| assert!(!refused(&run, path), "{yaml}: {run:?}");
            never(found.run(&["config", "print", "--trust-config"]));
            never(found.run(&["config", "print", "--config", ".dir2mcp.yaml"]));
            let own = sandbox();
            let folder = own.home().join(".config/dir2mcp");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.yaml"), &yaml).unwrap();
            never(own.run(&print));
            let plain = value.trim_matches(['\'', '[', ']']).replace("', '", ",");
            for name in key["environment"].as_array().unwrap() {
                let name = name.as_str().unwrap();
                never(sandbox().env(name, &plain).run(&print));
                // A dotenv file sets nothing at all, but for the keys of providers.
                let dotenv = sandbox().file(".env", &format!("{name}={plain}\n"));
                let printed = dotenv.ok(&["config", "print", "--json"]);
                let origin = printed.json()["origins"][path].as_str().unwrap().to_owned();
                let is_key = key["expected"] == "a text such as ${MISTRAL_API_KEY}";
                assert_eq!(origin == "default", !is_key, "{name}: {origin}");
                assert_eq!(printed.stderr.contains(&format!("{name} in ")), !is_key, "{printed:?}");
            }
        }
    }
    assert!(tried > 60, "{tried}");
}
