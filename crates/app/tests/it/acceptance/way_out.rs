//! What leaves a tool, whichever it is: no hidden character, and from the smart tools no personal data. The folder is full
//! of hostile names and texts, and every string of every answer is looked at, so a tool that is added is looked at too.

use std::fs;

use serde_json::{Value, json};
use testkit::build::{docx, xlsx_named};
use testkit::{Client, Era, Folder, StdioServer};

use super::program;

/// An escape sequence, a link for a terminal, a control code of the upper half, text that runs backwards, tags, a space
/// without width.
const HOSTILE: [&str; 6] = [
    "\u{1b}[31m",
    "\u{1b}]8;;http://evil.example\u{7}x\u{1b}]8;;\u{7}",
    "\u{9b}2J",
    "\u{202e}gnp",
    "\u{e0049}\u{e0047}",
    "\u{200b}\u{feff}",
];

/// Built here, so that no scanner takes it for somebody's.
fn personal() -> Vec<String> {
    vec![
        ["jane.doe", "example.com"].join("@"),
        ["+49 30", "98765430"].join(" "),
        ["030", "7654321"].join(" "),
        ["DE89 3704 0044", "0532 0130 00"].join(" "),
        ["4111 1111", "1111 1111"].join(" "),
    ]
}

fn folder() -> Folder {
    let folder = Folder::empty();
    let all = HOSTILE.concat();
    folder.write("plain.md", format!("# Lighthouse {all}\n\nThe lighthouse keeper {all} lights the lamp.\n"));
    folder.write(
        &format!("src/lamp{}.py", HOSTILE[0]),
        format!("def lighthouse():\n    \"\"\"The lamp {all} of the lighthouse.\"\"\"\n    return 'lamp {all}'\n\nclass Keeper:\n    lamp = lighthouse()\n"),
    );
    folder.write("src/use.py", "from lamp import lighthouse\n\nlamp = lighthouse()\n");
    folder.write(&format!("notes{}{}.txt", HOSTILE[3], HOSTILE[4]), format!("lighthouse {all} notes\n"));
    let personal = personal();
    let [mail, phone, local, iban, card] = &personal[..] else { unreachable!() };
    let heading =
        |text: &str| format!("<w:p><w:pPr><w:pStyle w:val='H1'/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>");
    let text = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let body = [
        heading(&format!("Call {phone} or {mail}")),
        text("The lighthouse contract is kept by the harbour master."),
        heading("Other things"),
        text("Nothing of interest here."),
    ];
    folder.write("contract.docx", docx(&body.concat()));
    let rows = "<sheetData><row r='1'><c r='A1' t='s'><v>0</v></c></row></sheetData>";
    folder.write("staff.xlsx", xlsx_named(mail, rows, &["lighthouse staff list"]));
    folder.write(
        "staff.csv",
        format!("id,phone,name,account\n17,{local},lighthouse Anna,{iban}\n18,{card},Bert,\n"),
    );
    let (before, after) = local.split_once(' ').unwrap();
    folder.write(
        "wrapped.txt",
        format!("The lighthouse office has the number Tel. {before}\n{after}, ask for Anna.\n"),
    );
    folder.write(&format!("people/{mail}.txt"), "lighthouse letters of a person\n");
    folder
}

/// Every string of a value, its keys among them.
fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            found.push(key);
            strings(value, found);
        }),
        _ => {}
    }
}

fn assert_visible(what: &str, text: &str) {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    assert_eq!(text.chars().find(|c| hidden(*c)), None, "{what}: {text:?}");
}

fn assert_blanked(what: &str, text: &str) {
    let plain: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for item in personal() {
        assert!(!plain.contains(&item), "{what} shows {item}: {text}");
    }
}

/// Calls every tool of a set and hands each string of its answers to the check.
fn walk(server: &mut StdioServer, calls: &[(&str, Value)], check: &dyn Fn(&str, &str)) {
    let listed = server.request("tools/list", json!({}));
    for tool in listed.result()["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(calls.iter().any(|(called, _)| *called == name), "no call of {name} in this test: add one");
    }
    for (tool, arguments) in calls {
        let reply = server.call(tool, arguments.clone());
        let mut found = Vec::new();
        strings(&reply.result, &mut found);
        let what = format!("{tool} {arguments}");
        found.iter().for_each(|text| check(&what, text));
        // A text that is JSON says no more than it shows.
        if let Ok(inner) = serde_json::from_str::<Value>(&reply.text()) {
            let mut found = Vec::new();
            strings(&inner, &mut found);
            found.iter().for_each(|text| check(&what, text));
        }
    }
}

#[test]
fn m25_no_hidden_character_leaves_any_tool() {
    let folder = folder();
    let mut server = program(&folder).stdio(&["--tools", "dir2mcp,repo,smart"]).connect(Era::Legacy);
    server.wait_indexed();
    let hostile = HOSTILE.concat();
    let path = |name: &str| format!("{}/{name}", folder.path().display());
    let odd = format!("src/lamp{}.py", HOSTILE[0]);
    let notes = format!("notes{}{}.txt", HOSTILE[3], HOSTILE[4]);
    let calls = [
        ("dir2mcp.search", json!({ "query": "lighthouse lamp", "k": 20 })),
        ("dir2mcp.search", json!({ "query": format!("lamp {hostile}") })),
        ("dir2mcp.ask", json!({ "question": "What does the lighthouse keeper do?" })),
        ("dir2mcp.open_file", json!({ "rel_path": "plain.md" })),
        ("dir2mcp.open_file", json!({ "rel_path": odd })),
        ("dir2mcp.open_file", json!({ "rel_path": format!("gone{hostile}.md") })),
        ("dir2mcp.list_files", json!({})),
        ("dir2mcp.stats", json!({})),
        ("dir2mcp.transcribe", json!({ "rel_path": format!("gone{hostile}.wav") })),
        ("dir2mcp.annotate", json!({ "rel_path": odd, "schema_json": { "title": hostile } })),
        (
            "dir2mcp.transcribe_and_ask",
            json!({ "rel_path": format!("gone{hostile}.wav"), "question": hostile }),
        ),
        ("dir2mcp.ask_audio", json!({ "question": format!("Who keeps the lamp {hostile}?") })),
        ("repo.status", json!({})),
        ("repo.list_files", json!({})),
        ("repo.open_file", json!({ "path": odd, "start_line": 1, "end_line": 9 })),
        ("repo.open_file", json!({ "path": format!("gone{hostile}.md"), "start_line": 1, "end_line": 9 })),
        ("repo.outline", json!({ "path": odd })),
        ("repo.search", json!({ "query": "lighthouse lamp" })),
        ("repo.find_definition", json!({ "symbol": "lighthouse" })),
        ("repo.references", json!({ "symbol": "lighthouse" })),
        ("repo.refresh_index", json!({})),
        (
            "repo.build_context_bundle",
            json!({ "prompt": format!("how does the lighthouse {hostile} light its lamp") }),
        ),
        ("repo.audit_log", json!({})),
        ("listRoots", json!({})),
        ("indexFolder", json!({ "root": path("") })),
        ("searchFiles", json!({ "query": "lighthouse lamp notes" })),
        ("openFile", json!({ "path": path(&notes) })),
        ("openFile", json!({ "path": path("plain.md"), "pointer": format!("section '{hostile}'") })),
        (
            "summarizeResults",
            json!({ "query": hostile, "results": [{ "path": path(&notes), "snippet": format!("lamp {hostile}") }] }),
        ),
        ("rewriteQuery", json!({ "query": format!("lamp {hostile} in pdf") })),
    ];
    walk(&mut server, &calls, &assert_visible);
    for name in ["last_bundle.md", "last_bundle.json", "audit.jsonl"] {
        let kept = fs::read_to_string(folder.state().join(name)).unwrap();
        assert!(!kept.is_empty());
        assert_visible(name, &kept);
    }
    // A name that was spelled out is taken as it was shown, and as it is.
    let listed = server.expect("dir2mcp.list_files", json!({ "path_prefix": "src/lamp" }));
    let shown = listed["files"][0]["rel_path"].as_str().unwrap();
    assert_eq!(shown, "src/lamp\\u{1b}[31m.py");
    for name in [shown, odd.as_str()] {
        let opened = server.expect("dir2mcp.open_file", json!({ "rel_path": name }));
        assert!(opened["content"].as_str().unwrap().starts_with("def lighthouse"), "{opened}");
    }
}

#[test]
fn s003_s032_nothing_personal_leaves_the_smart_tools() {
    let folder = folder();
    let mut server = program(&folder).stdio(&["--tools", "smart"]).connect(Era::Legacy);
    let root = folder.path().to_str().unwrap();
    server.expect("indexFolder", json!({ "root": root }));
    let answer = server.expect("searchFiles", json!({ "query": "lighthouse", "k": 50 }));
    let personal = personal();
    let [mail, phone, ..] = &personal[..] else { unreachable!() };
    let mut calls = vec![
        ("listRoots", json!({})),
        ("indexFolder", json!({ "root": root })),
        ("searchFiles", json!({ "query": "lighthouse", "k": 50 })),
        (
            "summarizeResults",
            json!({ "query": mail, "results": answer["items"].as_array().unwrap().iter().map(|item| json!({ "path": item["path"], "snippet": item["snippet"] })).collect::<Vec<_>>() }),
        ),
        ("summarizeResults", json!({ "query": phone, "results": [] })),
        ("rewriteQuery", json!({ "query": format!("letters to {mail} or {phone}") })),
        ("openFile", json!({ "path": format!("{root}/gone/{mail}") })),
        ("openFile", json!({ "path": format!("{root}/staff.xlsx"), "pointer": format!("sheet '{mail}'") })),
    ];
    let items = answer["items"].as_array().unwrap();
    assert!(items.len() >= 6, "{answer}");
    for item in items {
        // What was shown leads to the same place.
        let opened = server.expect("openFile", json!({ "path": item["path"], "pointer": item["pointer"] }));
        let preview = opened["preview"].as_str().unwrap();
        assert!(preview.to_lowercase().contains("lighthouse"), "{item} opens {opened}");
        calls.push(("openFile", json!({ "path": item["path"], "pointer": item["pointer"] })));
        calls.push(("openFile", json!({ "path": item["path"] })));
    }
    walk(&mut server, &calls, &assert_blanked);
    let pointers: Vec<&str> = items.iter().map(|item| item["pointer"].as_str().unwrap()).collect();
    assert!(
        pointers.iter().any(|pointer| pointer.contains("section 'Call [PHONE] or [EMAIL]'")),
        "{pointers:?}"
    );
    assert!(pointers.iter().any(|pointer| pointer.contains("sheet '[EMAIL]'")), "{pointers:?}");
    let audit = fs::read_to_string(folder.state().join("audit.jsonl")).unwrap();
    assert_blanked("the audit log", &audit);
    assert!(audit.contains("openFile") && !audit.contains(" near "), "{audit}");
}
