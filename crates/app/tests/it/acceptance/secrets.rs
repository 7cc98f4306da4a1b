//! A secret in a file, a header or the environment never comes out again.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{Client, Era, Folder, Request};

use super::{program, ways_in};

/// Strings that the secret rules know, put together here so that no scanner takes this file for a leak.
fn canaries() -> Vec<(&'static str, String, String)> {
    let words = "qzjkvwxbqzjkvwxbqzjkvwxbqzjk";
    let mixed = "q7z9k2v4w6x8b1q3z5k7v9w2x4b6q8z1";
    vec![
        ("docs/aws.txt", format!("{}{}", "AKI", "AQZJKVWXBQZJKVWXB"), "key id: ".into()),
        ("docs/token.txt", words.to_owned(), format!("{} = ", "token")),
        ("src/stripe.py", format!("{}{mixed}", "sk_"), "key = \"".into()),
        ("conf/api.yaml", format!("{}{mixed}", "api_"), "key: ".into()),
        (
            "logs/jwt.log",
            format!("{}{mixed}.eyJ{mixed}.{mixed}", "eyJ"),
            format!("{}: {} ", "Authorization", "Bearer"),
        ),
    ]
}

fn folder_with_secrets() -> (Folder, Vec<String>) {
    let folder = Folder::from("//- plain.md\n# Plain\n\nThe lighthouse has no secrets.\n");
    let mut secrets = Vec::new();
    for (path, secret, context) in canaries() {
        let quote = if context.ends_with('"') { "\"" } else { "" };
        folder.write(path, format!("the lighthouse keeps\n{context}{secret}{quote}\nto itself\n"));
        secrets.push(secret);
    }
    let floor = "floorcanary0123456789".to_owned();
    for path in [".env", "certs/server.pem", "keys/id_rsa", ".git/config"] {
        folder.write(path, format!("lighthouse {floor}\n"));
    }
    secrets.push(floor);
    (folder, secrets)
}

fn assert_clean(what: &str, bytes: &[u8], secrets: &[String]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in secrets {
        assert!(!text.contains(secret.as_str()), "{what} holds the secret {}…", &secret[..6]);
    }
}

fn assert_clean_files(directory: &Path, secrets: &[String]) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_clean_files(&path, secrets);
        } else {
            assert_clean(&path.display().to_string(), &fs::read(&path).unwrap(), secrets);
        }
    }
}

#[test]
fn d086_d151_d186_m27_secrets_in_files_stay_there() {
    let (folder, secrets) = folder_with_secrets();
    let (server, clients) = ways_in(&folder);
    let paths: Vec<&str> = canaries().iter().map(|(path, ..)| *path).collect();
    for mut client in clients {
        let mut calls = vec![
            ("search", json!({ "query": "lighthouse keeps to itself", "index": "both", "k": 50 })),
            ("ask", json!({ "question": "What does the lighthouse keep?" })),
            ("list_files", json!({ "limit": 5000 })),
            ("stats", json!({})),
        ];
        for path in &paths {
            calls.push(("open_file", json!({ "rel_path": path })));
            calls.push(("open_file", json!({ "rel_path": path, "start_line": 1, "end_line": 1 })));
        }
        for (tool, arguments) in calls {
            let reply = client.call(&format!("dir2mcp.{tool}"), arguments.clone());
            assert_clean(&format!("{tool} {arguments}"), reply.result.to_string().as_bytes(), &secrets);
            if tool == "open_file" {
                assert_eq!(reply.code(), Some("FORBIDDEN"), "{arguments}: {}", reply.result);
            }
        }
        let answer =
            client.expect("dir2mcp.search", json!({ "query": "lighthouse", "index": "both", "k": 50 }));
        let found: Vec<_> =
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].clone()).collect();
        assert_eq!(found, ["plain.md"], "only the plain file is found");
        // Parts of a secret find nothing either.
        for secret in &secrets {
            let answer = client.expect("dir2mcp.search", json!({ "query": secret, "index": "both" }));
            assert!(!answer["hits"].to_string().contains(secret.as_str()));
        }
    }
    let done = server.stop();
    assert_clean("the output of up", done.output().as_bytes(), &secrets);
    for arguments in [
        &["status"][..],
        &["status", "--json", "--files"],
        &["search", "lighthouse", "--json"],
        &["ask", "What does the lighthouse keep?"],
        &["config", "print"],
        &["index"],
        &["reindex"],
    ] {
        let done = program(&folder).run(arguments);
        assert_clean(&format!("the output of {arguments:?}"), done.output().as_bytes(), &secrets);
    }
    assert_clean_files(&folder.state(), &secrets);
}

#[test]
fn d016_d188_custom_patterns_and_excludes_hold_for_every_access() {
    let folder = Folder::from(
        "
        //- .dir2mcp.yaml
        version: 1
        security:
          path_excludes:
            - \"**/private/**\"
          secret_patterns:
            - \"swordfish-[0-9]+\"
        //- private/a.txt
        nothing special
        //- deep/private/b.txt
        nothing special
        //- word.txt
        the word is swordfish-42 today
        //- plain.txt
        the word is not here
        ",
    );
    // The built-in rules are replaced, which is for the user to agree to.
    program(&folder).run(&["trust"]).expect(0);
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        for path in ["private/a.txt", "deep/private/b.txt", "word.txt"] {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert_eq!(reply.code(), Some("FORBIDDEN"), "{path}: {}", reply.result);
        }
        client.expect("dir2mcp.open_file", json!({ "rel_path": "plain.txt" }));
        let answer = client.expect("dir2mcp.search", json!({ "query": "word nothing special", "k": 50 }));
        let found: Vec<_> =
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].clone()).collect();
        assert_eq!(found, ["plain.txt"]);
    }
}

#[test]
fn a_file_that_gains_a_secret_leaves_the_index() {
    let (_, secret, _) = canaries().remove(2);
    let folder = Folder::from("//- notes.txt\nthe lighthouse was here\n");
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    folder.write("notes.txt", format!("the lighthouse was here\nkey = {secret}\n"));
    let find = json!({ "query": "lighthouse", "k": 5 });
    server.poll("the file to leave the index", |client| {
        client.expect("dir2mcp.search", find.clone())["hits"].as_array().unwrap().is_empty().then_some(())
    });
    let done = server.stop().expect(0);
    assert_clean("the output of up", done.output().as_bytes(), std::slice::from_ref(&secret));
    assert_clean_files(&folder.state(), &[secret]);
}

#[test]
fn d168_d186_m27_credentials_are_never_written_or_printed() {
    let folder = Folder::from("//- a.txt\nhello\n");
    let token = format!("tokencanary{}", "z".repeat(32));
    let key = format!("keycanary{}", "y".repeat(32));
    let program = program(&folder).env("DIR2MCP_AUTH_TOKEN", &token).env("ELEVENLABS_API_KEY", &key);
    let server = program.serve(&[]);
    let secrets = [token.clone(), key.clone()];
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    for request in [
        Request::post("/mcp", &hello).bearer(Some(&token)),
        Request::post("/mcp", &hello).bearer(Some(&format!("{token}x"))),
        Request::post("/mcp", &json!({ "token": token })).bearer(Some(&token)),
        Request::new("GET", "/nothing").bearer(Some(&token)),
    ] {
        let response = server.connect().send(&request).unwrap();
        assert_clean(&format!("the answer to {}", request.method), &response.body, &secrets);
    }
    let printed = server.stop().output();
    assert_clean("the output of up", printed.as_bytes(), &secrets);
    for arguments in [&["config", "print"][..], &["config", "print", "--origins"], &["status", "--json"]] {
        assert_clean(&format!("{arguments:?}"), program.run(arguments).output().as_bytes(), &secrets);
    }
    assert_clean_files(&folder.state(), &secrets);
    let snapshot = fs::read_to_string(folder.state().join(".dir2mcp.yaml.snapshot")).unwrap();
    assert!(snapshot.contains("env"), "the snapshot tells where secrets come from:\n{snapshot}");
}

#[test]
fn m13_the_own_token_lives_in_one_file() {
    let folder = Folder::from("//- a.txt\nhello\n");
    let server = program(&folder).serve(&[]);
    let token = server.token.clone().unwrap();
    server.client(Era::Modern).expect("dir2mcp.stats", json!({}));
    let done = server.stop().expect(0);
    assert_clean("the output of up", done.output().as_bytes(), std::slice::from_ref(&token));
    fs::remove_file(folder.state().join("secret.token")).unwrap();
    assert_clean_files(&folder.state(), &[token]);
}

/// Drawn values, put together here so that no scanner takes this file for a leak.
fn held_back() -> Vec<(&'static str, String)> {
    let (short, long) = (["kX7", "m2Qz9"].concat(), ["q7Zk2", "Vw6Xb1Qz5Kv9Wx4Bq8Zt"].concat());
    vec![
        (".pypirc", format!("[pypi]\nusername = jo\npassword = {short}\n")),
        (".docker/config.json", format!("{{\"auths\": {{\"x\": {{\"auth\": \"{long}\"}}}}}}\n")),
        (".kube/config", format!("users:\n- user:\n    token: {long}\n")),
        ("web/.htpasswd", format!("jo:{short}\n")),
        ("home/.netrc", format!("machine x login jo password {short}\n")),
        ("wp-config.php", format!("<?php\ndefine('DB_PASSWORD', '{short}');\n")),
        ("config/database.yml", format!("production:\n  password: {short}\n")),
        ("conf/app.ini", format!("[db]\npassword = {short}\n")),
        ("conf/app.properties", format!("db.password={short}\n")),
        ("conf/urls.txt", format!("postgres://app:{short}@db1.shop.io/main\n")),
        ("keys/signing.json", format!("{{\"kty\": \"oct\", \"k\": \"{long}\"}}\n")),
        ("conf/token.txt", format!("token={}\n", ["1234567890", "1234567890123"].concat())),
        ("conf/phrase.txt", format!("token: {}\n", ["correct-horse", "battery-staple-x9"].join("-"))),
        ("conf/key.txt", format!("{}{}\n", "sk_", "abcdefghijklmnopqrstuvwxyz012345")),
    ]
}

#[test]
fn d086_credential_files_and_passwords_are_held_back() {
    let folder = Folder::from("//- plain.md\nThe lighthouse has no secrets.\n");
    for (path, text) in held_back() {
        folder.write(path, format!("{text}lighthouse\n"));
    }
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    for (path, _) in held_back() {
        let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("FORBIDDEN"), "{path}: {}", reply.result);
    }
    let answer = client.expect("dir2mcp.search", json!({ "query": "lighthouse", "index": "both", "k": 50 }));
    let found: Vec<_> =
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].clone()).collect();
    assert_eq!(found, ["plain.md"]);
}

#[test]
fn d088_a_refusal_names_the_line_and_the_owner_can_allow_it() {
    let line = format!("token = {}", ["q7Zk2Vw6Xb1Q", "z5Kv9Wx4Bq8Zt"].concat());
    let folder = Folder::from("//- plain.md\nThe lighthouse has no secrets.\n");
    folder.write("notes/a.txt", format!("the lighthouse\nhas one\n{line}\n"));
    folder.write("notes/b.txt", format!("the lighthouse\n{line}\n{}\n", line.replace("q7Z", "q8Z")));
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    let reply = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "notes/a.txt" }));
    assert!(reply.text().contains("line 3") && reply.text().contains("token-assignment"), "{}", reply.text());
    server.stop().expect(0);
    let listed = program(&folder).run(&["status", "--files"]).expect(0).stdout;
    assert!(
        listed.contains("line 3 matches the secret rule") && listed.contains("security.allow"),
        "{listed}"
    );

    // By the line: another credential in the second file still counts. By the path: nothing does.
    let digest = String::from_utf8(
        std::process::Command::new("sh")
            .args(["-c", "sed -n 3p notes/a.txt | tr -d '\\n' | sha256sum | cut -c1-24"])
            .current_dir(folder.path())
            .output()
            .unwrap()
            .stdout,
    )
    .unwrap();
    let config = folder.outside().join("allow.yaml");
    for (entry, open, refused) in [
        (format!("sha256:{}", digest.trim()), vec!["notes/a.txt"], vec!["notes/b.txt"]),
        ("notes/**".into(), vec!["notes/a.txt", "notes/b.txt"], vec![]),
    ] {
        fs::write(&config, format!("version: 1\nsecurity:\n  allow: [\"{entry}\"]\n")).unwrap();
        let server = program(&folder).serve(&["--config", config.to_str().unwrap()]);
        server.wait_indexed();
        let mut client = server.client(Era::Modern);
        for path in open {
            let opened = client.expect("dir2mcp.open_file", json!({ "rel_path": path }));
            assert!(opened["content"].as_str().unwrap().contains("lighthouse"));
        }
        for path in refused {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert!(reply.text().contains("line 3"), "{}", reply.text());
        }
        server.stop().expect(0);
    }
}

#[test]
fn d087_examples_in_manuals_pass_unless_the_level_is_strict() {
    let key =
        format!("    SECRET_KEY = '{}'", "192b9bdd22ab9ed4".repeat(2) + "d12e236c78afcb9a393ec15f71bbf5dc");
    let folder = Folder::empty();
    folder.write("docs/config.rst", format!("Configuration\n=============\n\nThe lighthouse::\n\n{key}\n"));
    let path = json!({ "rel_path": "docs/config.rst" });
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    server.expect("dir2mcp.open_file", path.clone());
    server.stop().expect(0);
    let config = folder.outside().join("strict.yaml");
    fs::write(&config, "version: 1\nsecurity:\n  secret_level: strict\n").unwrap();
    let server = program(&folder).serve(&["--config", config.to_str().unwrap()]);
    server.wait_indexed();
    let reply = server.client(Era::Modern).call("dir2mcp.open_file", path);
    assert_eq!(reply.code(), Some("FORBIDDEN"), "{}", reply.result);
}
