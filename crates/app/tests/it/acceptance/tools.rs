//! The five tools: their schemas, arguments, answers and citations.

use serde_json::{Value, json};
use testkit::{Client, Era, Folder, ToolReply};

use super::{program, serve, ways_in};

fn library() -> Folder {
    Folder::from(
        "
        //- src/lease.rs
        //! Leases that run out.

        /// Extends a lease that has not run out yet.
        pub fn renew_lease(lease: &mut Lease, now: u64) -> Result<(), Expired> {
            if lease.until < now {
                return Err(Expired);
            }
            lease.until = now + lease.length;
            Ok(())
        }
        //- src/clock.py
        def now():
            return read_monotonic_clock()
        //- docs/guide.md
        # Guide

        A lease has a length. The lighthouse keeper renews it before it runs out.
        //- docs/deep/notes.txt
        The windmill was built in 1893.
        //- 文書/メモ.txt
        全文検索エンジンの設計と実装。
        //- empty.txt
        ",
    )
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn d129_d130_d134_d135_d136_d199_the_list_of_tools() {
    let folder = library();
    let (_server, clients) = ways_in(&folder);
    let mut lists = Vec::new();
    for mut client in clients {
        let reply = client.request("tools/list", json!({}));
        let tools = reply.result()["tools"].as_array().unwrap().clone();
        for name in [
            "search",
            "ask",
            "open_file",
            "list_files",
            "stats",
            "transcribe",
            "annotate",
            "transcribe_and_ask",
            "ask_audio",
        ] {
            let name = format!("dir2mcp.{name}");
            let tool = tools
                .iter()
                .find(|tool| tool["name"] == name.as_str())
                .unwrap_or_else(|| panic!("no {name}"));
            assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{name} {schema}");
                assert_eq!(tool[schema]["additionalProperties"], false, "{name} {schema}");
            }
        }
        assert_eq!(tools.len(), 9, "nothing runs programs or sells");
        assert!(reply.result().get("nextCursor").is_none(), "all tools are on one page");
        lists.push(tools);
    }
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "the list depends on the way in");
}

#[test]
fn d144_d145_d147_d150_d155_d157_the_published_schemas() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let reply = server.client(Era::Modern).request("tools/list", json!({}));
    let tools = reply.result()["tools"].as_array().unwrap();
    let schema = |name: &str| &tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"];
    let properties = |name: &str| keys(&schema(name)["properties"]);
    let filters = ["path_prefix", "file_glob", "doc_types"];
    assert_eq!(properties("dir2mcp.search"), [&["query", "k", "index"], &filters[..]].concat());
    assert_eq!(properties("dir2mcp.ask"), [&["question", "k", "mode", "index"], &filters[..]].concat());
    assert_eq!(
        properties("dir2mcp.open_file"),
        ["rel_path", "start_line", "end_line", "page", "start_ms", "end_ms", "max_chars"]
    );
    assert_eq!(properties("dir2mcp.list_files"), ["path_prefix", "glob", "limit", "offset"]);
    let k = &schema("dir2mcp.search")["properties"]["k"];
    assert_eq!((&k["minimum"], &k["maximum"], &k["default"]), (&json!(1), &json!(50), &json!(10)));
    let chars = &schema("dir2mcp.open_file")["properties"]["max_chars"];
    assert_eq!(
        (&chars["minimum"], &chars["maximum"], &chars["default"]),
        (&json!(200), &json!(50_000), &json!(20_000))
    );
    let limit = &schema("dir2mcp.list_files")["properties"]["limit"];
    assert_eq!(
        (&limit["minimum"], &limit["maximum"], &limit["default"]),
        (&json!(1), &json!(5_000), &json!(200))
    );
}

#[test]
fn d132_d133_wrong_arguments_are_tool_errors() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    for (tool, arguments, expected) in [
        ("search", json!({ "query": "x", "colour": 1 }), "INVALID_FIELD"),
        ("search", json!({}), "MISSING_FIELD"),
        ("search", json!({ "query": "" }), "INVALID_FIELD"),
        ("search", json!({ "query": 7 }), "INVALID_FIELD"),
        ("search", json!({ "query": "x", "k": 0 }), "INVALID_RANGE"),
        ("search", json!({ "query": "x", "k": 51 }), "INVALID_RANGE"),
        ("search", json!({ "query": "x", "k": "ten" }), "INVALID_FIELD"),
        ("search", json!({ "query": "x", "index": "everything" }), "INVALID_FIELD"),
        ("search", json!({ "query": "x", "doc_types": "code" }), "INVALID_FIELD"),
        ("ask", json!({}), "MISSING_FIELD"),
        ("ask", json!({ "question": "x", "mode": "guess" }), "INVALID_FIELD"),
        ("ask", json!({ "question": "x", "colour": 1 }), "INVALID_FIELD"),
        ("open_file", json!({}), "MISSING_FIELD"),
        ("open_file", json!({ "rel_path": "src/lease.rs", "colour": 1 }), "INVALID_FIELD"),
        ("list_files", json!({ "limit": 0 }), "INVALID_RANGE"),
        ("list_files", json!({ "limit": 5001 }), "INVALID_RANGE"),
        ("list_files", json!({ "limit": "x" }), "INVALID_FIELD"),
        ("list_files", json!({ "offset": -1 }), "INVALID_RANGE"),
        ("list_files", json!({ "colour": 1 }), "INVALID_FIELD"),
        ("stats", json!({ "colour": 1 }), "INVALID_FIELD"),
    ] {
        let reply = client.call(&format!("dir2mcp.{tool}"), arguments.clone());
        assert_eq!(reply.code(), Some(expected), "{tool} {arguments}: {}", reply.result);
        let error = &reply.structured()["error"];
        assert!(error["message"].is_string() && error["retryable"] == false, "{tool} {arguments}: {error}");
        assert!(reply.text().starts_with(&format!("ERROR: {expected}: ")), "{}", reply.text());
    }
}

#[test]
fn d109_d143_d145_d146_search_answers() {
    let folder = library();
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        let reply = client.call("dir2mcp.search", json!({ "query": "lighthouse keeper", "k": 3 }));
        assert!(!reply.is_error(), "{}", reply.result);
        let answer = reply.structured();
        for key in keys(answer) {
            assert!(["query", "k", "index_used", "hits", "indexing_complete"].contains(&key), "{key}");
        }
        assert_eq!(answer["query"], "lighthouse keeper");
        assert_eq!(answer["indexing_complete"], true);
        let hit = &answer["hits"][0];
        for key in keys(hit) {
            let known = ["chunk_id", "rel_path", "doc_type", "rep_type", "score", "snippet", "span"];
            assert!(known.contains(&key), "{key}");
        }
        assert_eq!(hit["rel_path"], "docs/guide.md");
        assert_eq!(hit["doc_type"], "md");
        assert_eq!(hit["rep_type"], "raw_text");
        assert!(hit["snippet"].as_str().unwrap().contains("lighthouse keeper"), "{hit}");
        assert_eq!(keys(&hit["span"]), ["kind", "start_line", "end_line"]);
        let cited = format!("[docs/guide.md:L{}-L{}]", hit["span"]["start_line"], hit["span"]["end_line"]);
        assert!(reply.text().contains(&cited), "{cited} is not in {}", reply.text());
    }
}

#[test]
fn d112_the_cited_span_opens_as_it_was_indexed() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    for query in ["renew_lease", "read_monotonic_clock", "windmill", "検索エンジン"] {
        let answer = client.expect("dir2mcp.search", json!({ "query": query, "k": 1 }));
        let hit = &answer["hits"][0];
        let (path, span) = (hit["rel_path"].as_str().unwrap(), &hit["span"]);
        let arguments =
            json!({ "rel_path": path, "start_line": span["start_line"], "end_line": span["end_line"] });
        let opened = client.expect("dir2mcp.open_file", arguments);
        let content = opened["content"].as_str().unwrap();
        assert!(content.contains(query), "{query} is not in {content:?}");
        let lines: Vec<String> = folder.read(path).lines().map(str::to_owned).collect();
        let (start, end) =
            (span["start_line"].as_u64().unwrap() as usize, span["end_line"].as_u64().unwrap() as usize);
        assert_eq!(content.trim_end(), lines[start - 1..end].join("\n").trim_end());
        for line in testkit::passage(&hit["snippet"]).trim_matches(['…', '\n', ' ']).lines() {
            assert!(content.contains(line.trim_matches(['…', ' '])), "{line:?} is not in {content:?}");
        }
        assert_eq!(opened["truncated"], false);
        assert_eq!(&opened["span"], span);
    }
}

#[test]
fn d109_the_index_is_chosen_by_the_query() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut used = |arguments: Value| {
        client.expect("dir2mcp.search", arguments)["index_used"].as_str().unwrap().to_owned()
    };
    for query in ["func main() {}", "use import and ([])", "```\nlet x = 1;\n```", "`handler.go` router.go"] {
        assert_eq!(used(json!({ "query": query })), "code", "{query}");
    }
    for query in ["I love python", "go to the store", "some `inline code`", "fix bug in java { }"] {
        assert_eq!(used(json!({ "query": query })), "text", "{query}");
    }
    assert_eq!(used(json!({ "query": "renew a lease", "doc_types": ["code"] })), "code");
    for index in ["text", "code", "both"] {
        assert_eq!(used(json!({ "query": "lease", "index": index })), index);
    }
}

#[test]
fn d110_both_indices_in_one_answer() {
    let folder = library();
    let server = serve(&folder);
    let answer = server.expect("dir2mcp.search", json!({ "query": "lease", "index": "both", "k": 50 }));
    let hits = answer["hits"].as_array().unwrap();
    let mut ids: Vec<i64> = hits.iter().map(|hit| hit["chunk_id"].as_i64().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "a chunk comes twice");
    let paths: Vec<&str> = hits.iter().map(|hit| hit["rel_path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"src/lease.rs") && paths.contains(&"docs/guide.md"), "{paths:?}");
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
}

#[test]
fn d144_filters() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut paths = |filter: Value| {
        let mut arguments = json!({ "query": "lease windmill lighthouse clock", "index": "both", "k": 50 });
        arguments.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let answer = client.expect("dir2mcp.search", arguments);
        let mut paths: Vec<String> = answer["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["rel_path"].as_str().unwrap().to_owned())
            .collect();
        paths.sort();
        paths.dedup();
        paths
    };
    assert_eq!(paths(json!({ "path_prefix": "docs/" })), ["docs/deep/notes.txt", "docs/guide.md"]);
    assert_eq!(paths(json!({ "file_glob": "docs/*.md" })), ["docs/guide.md"]);
    assert_eq!(paths(json!({ "file_glob": "**/*.txt", "path_prefix": "docs" })), ["docs/deep/notes.txt"]);
    assert_eq!(paths(json!({ "doc_types": ["CODE"] })), ["src/clock.py", "src/lease.rs"]);
    assert!(paths(json!({ "path_prefix": "nowhere/" })).is_empty());
}

#[test]
fn d147_d149_ask_answers_with_citations() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let reply = client.call("dir2mcp.ask", json!({ "question": "When was the windmill built?" }));
    assert!(!reply.is_error(), "{}", reply.result);
    let answer = reply.structured();
    assert_eq!(answer["question"], "When was the windmill built?");
    let text = answer["answer"].as_str().unwrap();
    assert!(text.contains("1893") && text.contains("[docs/deep/notes.txt:L1-L1]"), "{text}");
    assert!(reply.text().contains("[docs/deep/notes.txt:L1-L1]"), "{}", reply.text());
    let citation = &answer["citations"][0];
    assert_eq!(keys(citation), ["chunk_id", "rel_path", "span"]);
    assert_eq!(citation["rel_path"], "docs/deep/notes.txt");

    let hits_only = client.expect("dir2mcp.ask", json!({ "question": "windmill", "mode": "search_only" }));
    assert!(hits_only.get("answer").is_none(), "{hits_only}");
    assert_eq!(hits_only["hits"][0]["rel_path"], "docs/deep/notes.txt");
}

#[test]
fn d150_d152_which_part_is_opened() {
    let folder = library();
    let long: String = (1..=2_000).map(|line| format!("line {line}\n")).collect();
    folder.write("long.txt", &long);
    folder.write("windows.txt", "one\r\ntwo\r\nthree\r\n");
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut open = |arguments: Value| client.call("dir2mcp.open_file", arguments);
    let content = |reply: &ToolReply| reply.structured()["content"].as_str().unwrap_or_default().to_owned();

    let lines =
        |start: u32, end: u32| json!({ "rel_path": "long.txt", "start_line": start, "end_line": end });
    assert_eq!(content(&open(lines(3, 5))).trim_end(), "line 3\nline 4\nline 5");
    assert_eq!(content(&open(lines(1_999, 9_999))).trim_end(), "line 1999\nline 2000");
    assert_eq!(content(&open(lines(5_000, 6_000))), "");
    let windows = open(json!({ "rel_path": "windows.txt", "start_line": 2, "end_line": 2 }));
    assert_eq!(content(&windows).trim_end(), "two");

    let start = open(json!({ "rel_path": "long.txt", "max_chars": 200 }));
    assert_eq!(start.structured()["truncated"], true);
    assert!(content(&start).chars().count() <= 200 && content(&start).starts_with("line 1\n"));
    let whole = open(json!({ "rel_path": "docs/guide.md" }));
    assert_eq!(whole.structured()["truncated"], false);
    assert_eq!(whole.structured()["doc_type"], "md");
    assert_eq!(content(&whole), folder.read("docs/guide.md").trim_end());
    assert_eq!(content(&open(json!({ "rel_path": "empty.txt" }))), "");

    for (arguments, expected) in [
        (json!({ "rel_path": "long.txt", "start_line": 5, "end_line": 3 }), "INVALID_FIELD"),
        (json!({ "rel_path": "long.txt", "page": 1, "start_line": 1, "end_line": 2 }), "INVALID_FIELD"),
        (json!({ "rel_path": "long.txt", "start_ms": 0 }), "DOC_TYPE_UNSUPPORTED"),
        (json!({ "rel_path": "nothing.txt" }), "FILE_NOT_FOUND"),
        (json!({ "rel_path": "docs" }), "DOC_TYPE_UNSUPPORTED"),
    ] {
        assert_eq!(open(arguments.clone()).code(), Some(expected), "{arguments}");
    }
    for arguments in [
        json!({ "rel_path": "long.txt", "max_chars": 100 }),
        json!({ "rel_path": "long.txt", "max_chars": 50_001 }),
        json!({ "rel_path": "long.txt", "start_line": 0, "end_line": 1 }),
    ] {
        assert!(open(arguments.clone()).is_error(), "{arguments}");
    }
}

#[test]
fn d156_files_are_listed_with_their_status() {
    let folder = library();
    folder.write("picture.png", [0x89, b'P', b'N', b'G', 0, 1, 2, 3]);
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let list = client.expect("dir2mcp.list_files", json!({}));
    let files = list["files"].as_array().unwrap();
    assert_eq!(list["total"].as_u64().unwrap(), files.len() as u64);
    let paths: Vec<&str> = files.iter().map(|file| file["rel_path"].as_str().unwrap()).collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(paths, sorted, "files are listed in order");
    assert!(paths.contains(&"picture.png") && paths.contains(&"文書/メモ.txt"), "{paths:?}");
    for file in files {
        assert_eq!(keys(file), ["rel_path", "doc_type", "size_bytes", "mtime_unix", "status", "deleted"]);
        assert_eq!(file["deleted"], false);
        let expected = if file["rel_path"] == "picture.png" { "skipped" } else { "ok" };
        assert_eq!(file["status"], expected, "{file}");
    }
    let page = client.expect("dir2mcp.list_files", json!({ "limit": 2, "offset": 1 }));
    assert_eq!(page["files"].as_array().unwrap()[..], files[1..3]);
    assert_eq!(page["total"], list["total"]);
    let docs = client.expect("dir2mcp.list_files", json!({ "path_prefix": "docs/" }));
    assert_eq!(docs["total"], 2);
    let rust = client.expect("dir2mcp.list_files", json!({ "glob": "**/*.rs" }));
    assert_eq!(rust["files"][0]["rel_path"], "src/lease.rs");
}

#[test]
fn d158_the_statistics() {
    let folder = library();
    let server = serve(&folder);
    let stats = server.expect("dir2mcp.stats", json!({}));
    assert_eq!(keys(&stats), ["root", "state_dir", "protocol_version", "indexing", "models"]);
    assert_eq!(stats["root"], folder.path().to_str().unwrap());
    assert_eq!(stats["state_dir"], folder.state().to_str().unwrap());
    assert_eq!(stats["protocol_version"], "2025-11-25");
    assert_eq!(stats["indexing"]["mode"], "incremental");
    assert!(stats["indexing"]["chunks_total"].as_u64().unwrap() >= 5, "{stats}");
    assert_eq!(stats["indexing"]["chunks_total"], stats["indexing"]["embedded_ok"]);
    assert_eq!(stats["indexing"]["errors"], 0);
}

#[test]
fn the_command_line_gives_the_same_answers() {
    let folder = library();
    let server = serve(&folder);
    let ours = server.expect("dir2mcp.search", json!({ "query": "windmill", "k": 10 }));
    let printed = program(&folder).json(&["search", "windmill", "--json"]);
    assert_eq!(printed["hits"], ours["hits"]);
    let text = program(&folder).run(&["search", "windmill"]).expect(0).stdout;
    assert!(text.contains("docs/deep/notes.txt"), "{text}");
    let text = program(&folder).run(&["ask", "When was the windmill built?"]).expect(0).stdout;
    assert!(text.contains("1893"), "{text}");
}

#[test]
fn no_answer_is_megabytes() {
    let folder = Folder::empty();
    for number in 0..60 {
        folder.write(&format!("long{number}.txt"), format!("needle {}\n", "hay ".repeat(20_000)));
    }
    let server = serve(&folder);
    let reply = server.client(Era::Modern).call("dir2mcp.search", json!({ "query": "needle", "k": 50 }));
    let size = reply.result.to_string().len();
    assert!(size < 200_000, "{size} bytes for 50 hits");
}
