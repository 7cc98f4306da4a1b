//! The index: how it is cut, refreshed and searched, and that it answers alike however it was built.

use serde_json::{Value, json};
use testkit::{Era, Folder, StdioServer};

use super::{envelope, program, repo, repo_with, result, service, strings};

#[test]
fn r023_r024_case_26_windows_of_lines_with_stable_ids() {
    let folder = Folder::empty();
    let lines =
        |changed: u32| -> String {
            (1..=500)
                .map(|n| {
                    if n == changed {
                        "common_changed = 0\n".into()
                    } else {
                        format!("common_{n:03} = {n}\n")
                    }
                })
                .collect()
        };
    folder.write("long.py", lines(0));
    let mut server = repo(&folder);
    let hits = |server: &mut StdioServer| {
        result(server, "refresh_index", json!({}));
        let found = result(server, "search", json!({ "query": "common" }));
        let mut hits: Vec<(u64, u64, String)> = (found["hits"].as_array().unwrap().iter())
            .map(|hit| {
                let id = hit["chunk_id"].as_str().unwrap().to_owned();
                (hit["start_line"].as_u64().unwrap(), hit["end_line"].as_u64().unwrap(), id)
            })
            .collect();
        hits.sort();
        hits
    };
    let first = hits(&mut server);
    let ranges: Vec<(u64, u64)> = first.iter().map(|(start, end, _)| (*start, *end)).collect();
    assert_eq!(ranges, [(1, 200), (171, 370), (341, 500)]);
    drop(server);
    let mut server = repo_with(&folder, &["--data-dir", folder.outside().join("other").to_str().unwrap()]);
    assert_eq!(hits(&mut server), first, "the same ids in a fresh index");
    folder.write("long.py", lines(10));
    let changed = hits(&mut server);
    assert_ne!(changed[0].2, first[0].2);
    assert_eq!(changed[1..], first[1..]);
}

/// The files that the specification names, and Python whose lines are long.
#[test]
fn r023_texts_and_settings_are_cited_by_the_same_windows() {
    let folder = Folder::empty();
    for extension in ["md", "rst", "toml", "yaml", "yml", "json", "ini", "cfg"] {
        let text: String = (1..=500).map(|n| format!("common_{n:03} = entry of the file {n}\n")).collect();
        folder.write(&format!("long.{extension}"), text);
    }
    let wide: String = (1..=500).map(|n| format!("common_{n:03} = '{}'\n", "wide ".repeat(30))).collect();
    folder.write("wide.py", wide);
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    let mut ranges = |path: &str| {
        let queries: Vec<String> = (1..=500).step_by(23).map(|n| format!("common_{n:03}")).collect();
        let mut ranges = std::collections::BTreeSet::new();
        for query in queries {
            let found =
                result(&mut server, "search", json!({ "query": query, "file_glob": path, "top_k": 5 }));
            for hit in found["hits"].as_array().unwrap() {
                ranges.insert((hit["start_line"].as_u64().unwrap(), hit["end_line"].as_u64().unwrap()));
            }
        }
        ranges.into_iter().collect::<Vec<_>>()
    };
    for extension in ["md", "rst", "toml", "yaml", "yml", "json", "ini", "cfg"] {
        let path = format!("long.{extension}");
        assert_eq!(ranges(&path), [(1, 200), (171, 370), (341, 500)], "{path}");
    }
    let wide = ranges("wide.py");
    assert!(wide.len() > 1 && wide.windows(2).all(|pair| pair[1].0 <= pair[0].1 - 29), "{wide:?}");
    let status = result(&mut server, "status", json!({}));
    assert_eq!(status["chunking_summary"]["lines"], 200);
}

/// The globs keep out of the index and nothing else, and replace their defaults.
#[test]
fn r014_r019_what_the_globs_leave_out_can_be_opened_and_the_key_replaces_its_defaults() {
    let folder = Folder::from("//- src/a.py\nx = 'zeppelin'\n");
    for path in ["build/b.py", "coverage/c.py", "target/d.py", "dist/e.py", "docs/f.py"] {
        folder.write(path, "x = 'zeppelin'\n");
    }
    let found = |server: &mut StdioServer| {
        result(server, "refresh_index", json!({}));
        let found = result(server, "search", json!({ "query": "zeppelin" }));
        let mut paths = strings(&found["hits"], "path");
        paths.sort();
        paths
    };
    let mut server = repo(&folder);
    assert_eq!(found(&mut server), ["docs/f.py", "src/a.py"]);
    for path in ["build/b.py", "coverage/c.py", "target/d.py", "dist/e.py"] {
        let opened = result(&mut server, "open_file", json!({ "path": path }));
        assert_eq!(opened["numbered_lines"][0]["text"], "x = 'zeppelin'", "{path}");
    }
    drop(server);
    folder.write("repo_mcp.toml", "[index]\nexclude_globs = [\"docs/**\"]\n");
    let mut server = repo(&folder);
    assert_eq!(found(&mut server), ["build/b.py", "coverage/c.py", "dist/e.py", "src/a.py", "target/d.py"]);
}

/// A second server reads the first one's index; what it is asked to refresh, it waits for.
#[test]
fn r044_a_second_server_counts_what_changed_too() {
    let folder = Folder::from("//- a.py\nx = 1\n");
    let mut first = repo(&folder);
    result(&mut first, "refresh_index", json!({}));
    let mut second = repo(&folder);
    folder.write("b.py", "y = 2\n");
    folder.write("c.py", "z = 3\n");
    folder.remove("a.py");
    let done = result(&mut second, "refresh_index", json!({}));
    let counts = [&done["added"], &done["updated"], &done["removed"]].map(|count| count.as_u64().unwrap());
    assert_eq!(counts, [2, 0, 1]);
}

#[test]
fn r026_r044_refresh_counts_what_changed() {
    let folder = service();
    let mut server = repo(&folder);
    let counts = |server: &mut StdioServer, arguments: Value| {
        let done = result(server, "refresh_index", arguments);
        assert!(done["duration_ms"].is_u64() && done["timestamp"].is_string());
        [&done["added"], &done["updated"], &done["removed"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(counts(&mut server, json!({})), [4, 0, 0]);
    assert_eq!(counts(&mut server, json!({})), [0, 0, 0]);
    folder.write("src/util.py", "def helper(item):\n    return 'zeppelin'\n");
    folder.write("src/more.py", "x = 1\n");
    folder.remove("README.md");
    assert_eq!(counts(&mut server, json!({})), [1, 1, 1]);
    assert_eq!(
        strings(&result(&mut server, "search", json!({ "query": "zeppelin" }))["hits"], "path"),
        ["src/util.py"]
    );
    assert_eq!(result(&mut server, "search", json!({ "query": "lighthouse" }))["hits"], json!([]));
    assert_eq!(counts(&mut server, json!({ "force": true })), [0, 4, 0]);
    drop(server);
    // The count goes on where the last server left it.
    folder.write("src/more.py", "y = 2\n");
    let mut server = repo(&folder);
    assert_eq!(counts(&mut server, json!({})), [0, 1, 0]);
}

#[test]
fn r043_r055_case_27_search_is_ranked_cited_and_repeatable() {
    let folder = service();
    for name in ["b/same.py", "a/same.py"] {
        folder.write(name, "def twin():\n    return 'porcupine'\n");
    }
    let mut server = repo(&folder);
    let first = result(&mut server, "search", json!({ "query": "porcupine" }));
    assert_eq!(strings(&first["hits"], "path")[0], "a/same.py");
    assert_eq!(result(&mut server, "search", json!({ "query": "porcupine" })), first);
    let hit = &first["hits"][0];
    assert_eq!((&hit["start_line"], &hit["end_line"]), (&json!(1), &json!(2)));
    assert!(hit["snippet"].as_str().unwrap().contains("porcupine"), "the snippet shows the match");
    assert_eq!(hit["matched_terms"], json!(["porcupine"]));
    let found = result(&mut server, "search", json!({ "query": "helper item" }));
    let scores: Vec<f64> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.len() > 2 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let prefixed = |prefix: &str| json!({ "query": "helper", "path_prefix": prefix });
    let slashed = result(&mut server, "search", prefixed("src/"));
    assert!(strings(&slashed["hits"], "path").iter().all(|path| path.starts_with("src/")));
    for same in ["src\\", "./src/"] {
        assert_eq!(result(&mut server, "search", prefixed(same)), slashed, "{same}");
    }
    let globbed = result(&mut server, "search", json!({ "query": "helper", "file_glob": "tests/**" }));
    assert_eq!(strings(&globbed["hits"], "path"), ["tests/test_util.py"]);
    for mode in ["semantic", "hybrid"] {
        let refused = envelope(&mut server, "search", json!({ "query": "helper", "mode": mode }));
        assert_eq!(refused["error"]["code"], "SEMANTIC_NOT_AVAILABLE");
    }
    drop(server);
    let mut server = repo_with(&folder, &["--semantic"]);
    for mode in ["semantic", "hybrid"] {
        let found = result(&mut server, "search", json!({ "query": "helper", "mode": mode }));
        assert!(!found["hits"].as_array().unwrap().is_empty(), "{mode}");
    }
}

/// Acceptance: the same bytes whatever the number of threads and however the index came to be.
#[test]
fn r055_the_same_bytes_however_the_index_was_built() {
    let files: Vec<(String, String)> = (0..40)
        .map(|n| {
            (
                format!("pkg/mod_{n:02}.py"),
                format!("class Worker{n}:\n    def drain_{n}(self):\n        return shared_pool({n})\n"),
            )
        })
        .collect();
    let questions = [
        ("search", json!({ "query": "shared pool worker" })),
        ("references", json!({ "symbol": "shared_pool" })),
        ("find_definition", json!({ "symbol": "drain_7" })),
        ("build_context_bundle", json!({ "prompt": "drain the shared pool of Worker7" })),
        ("outline", json!({ "path": "pkg/mod_07.py" })),
    ];
    let mut answers: Vec<Vec<Value>> = Vec::new();
    for (threads, stepwise) in [("1", false), ("8", false), ("8", true)] {
        let folder = Folder::empty();
        let launch = || {
            program(&folder)
                .env("DIR2MCP_INGEST_THREADS", threads)
                .stdio(&["--tools", "repo"])
                .connect(Era::Legacy)
        };
        let mut server = launch();
        if stepwise {
            for (path, _) in &files {
                folder.write(path, "def shared_pool(): pass\n");
            }
            result(&mut server, "refresh_index", json!({}));
            for chunk in files.chunks(7) {
                chunk.iter().for_each(|(path, text)| folder.write(path, text));
                result(&mut server, "refresh_index", json!({}));
            }
            drop(server);
            server = launch();
        } else {
            files.iter().for_each(|(path, text)| folder.write(path, text));
        }
        result(&mut server, "refresh_index", json!({}));
        answers.push(
            questions.iter().map(|(tool, arguments)| result(&mut server, tool, arguments.clone())).collect(),
        );
    }
    assert_eq!(answers[0], answers[1], "1 and 8 threads");
    assert_eq!(answers[0], answers[2], "at once and step by step");
}

/// The repository tools alone show other files than the rest: in a state directory that all tools use, neither makes the
/// other read again.
#[test]
fn a_shared_state_directory_is_not_read_again_for_other_tools() {
    let folder = Folder::from(
        "//- .gitignore\n*.gen.py\n//- a.py\ndef pelican(): pass\n//- b.gen.py\ndef pelican(): pass\n",
    );
    let state = folder.outside().join("shared");
    let all = program(&folder).state_dir(&state);
    all.index();
    let repo = || all.stdio(&["--tools", "repo"]).connect(Era::Legacy);
    let mut server = repo();
    assert_eq!(result(&mut server, "refresh_index", json!({}))["added"], 2, "git's rules do not count");
    drop(server);
    let again = all.index();
    assert!(again.output().contains("(0 read now"), "{}", again.output());
    let found = all.run(&["search", "pelican", "--json"]).expect(0);
    assert!(!found.output().contains("b.gen.py"), "{}", found.output());
    let refreshed = result(&mut repo(), "refresh_index", json!({}));
    assert_eq!((&refreshed["added"], &refreshed["updated"]), (&json!(0), &json!(0)), "{refreshed}");
}
