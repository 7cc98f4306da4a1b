//! Nothing outside the root is ever reached, by any tool, over any transport, in either era.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use testkit::{Client, Era, Folder};

use super::{serve, ways_in};

/// Lies outside; must never be seen.
const CANARY: &str = "CANARY-outside-the-root";

/// A root `root` with a sibling `root-private`, and links that lead out.
fn besieged() -> Folder {
    let folder = Folder::from("//- docs/inside.txt\nall is well inside\n//- .env.example\nNAME=value\n");
    let private = folder.outside().join("root-private");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("key.txt"), CANARY).unwrap();
    fs::write(folder.outside().join("outside.txt"), CANARY).unwrap();
    folder.link("link-out.txt", "../outside.txt");
    folder.link("link-absolute.txt", folder.outside().join("outside.txt"));
    folder.link("link-dir", "../root-private");
    folder.link("link-chain.txt", "link-out.txt");
    folder.link("link-passwd", "/etc/passwd");
    folder.link("docs/link-inside.txt", "inside.txt");
    folder.link("link-proc", "/proc/self/root/etc/passwd");
    folder
}

#[test]
fn d182_m1_m2_paths_that_lead_out_are_refused() {
    let folder = besieged();
    let outside = folder.outside().join("outside.txt");
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        for path in [
            "../outside.txt",
            "../root-private/key.txt",
            "docs/../../outside.txt",
            "docs/../../root-private/key.txt",
            "./../outside.txt",
            "docs/..",
            "..",
            "/etc/passwd",
            outside.to_str().unwrap(),
            "//etc/passwd",
            "..\\outside.txt",
            "docs\\..\\..\\outside.txt",
            "\\\\host\\share\\x",
            "C:\\Windows\\win.ini",
            "c:/windows/win.ini",
            "link-out.txt",
            "link-absolute.txt",
            "link-dir/key.txt",
            "link-chain.txt",
            "link-passwd",
            "link-proc",
        ] {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert_eq!(reply.code(), Some("PATH_OUTSIDE_ROOT"), "{} {path}: {}", client.name(), reply.result);
            let text = reply.result.to_string();
            assert!(!text.contains(CANARY) && !text.contains("root:x:"), "{} {path}", client.name());
        }
        // Not outside, and not there.
        for path in [
            "%2e%2e/outside.txt",
            "．．/outside.txt",
            "..../outside.txt",
            "docs/INSIDE.TXT",
            "DOCS/inside.txt",
            "~/x",
        ] {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert_eq!(reply.code(), Some("FILE_NOT_FOUND"), "{} {path}: {}", client.name(), reply.result);
        }
        let reply = client.call("dir2mcp.open_file", json!({ "rel_path": "docs/inside.txt\u{0}.png" }));
        assert!(reply.is_error(), "{} NUL: {}", client.name(), reply.result);
        let opened = client.expect("dir2mcp.open_file", json!({ "rel_path": "docs\\inside.txt" }));
        assert_eq!(opened["content"], "all is well inside");
        let linked = client.expect("dir2mcp.open_file", json!({ "rel_path": "docs/link-inside.txt" }));
        assert_eq!(linked["content"], "all is well inside", "a link that stays inside may be opened");
    }
}

#[test]
fn d004_m1_filters_cannot_lead_out() {
    let folder = besieged();
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        for path in ["../", "../root-private/", "/etc/", "..\\", "link-dir/", "docs/../../"] {
            for (tool, arguments) in [
                ("list_files", json!({ "path_prefix": path })),
                ("list_files", json!({ "glob": format!("{path}**") })),
                ("search", json!({ "query": CANARY, "path_prefix": path })),
                ("search", json!({ "query": CANARY, "file_glob": format!("{path}*") })),
                ("ask", json!({ "question": CANARY, "path_prefix": path })),
                ("ask", json!({ "question": CANARY, "file_glob": format!("{path}*") })),
            ] {
                let reply = client.call(&format!("dir2mcp.{tool}"), arguments.clone());
                let at = format!("{} {tool} {arguments}: {}", client.name(), reply.result);
                // The question itself comes back; nothing else may.
                let copies = reply.structured().to_string().matches(CANARY).count();
                assert!(copies <= 1 && !reply.result.to_string().contains("root:x:"), "{at}");
                match reply.code() {
                    Some(code) => assert!(["PATH_OUTSIDE_ROOT", "INVALID_FIELD"].contains(&code), "{at}"),
                    None => assert!(nothing_found(reply.structured()), "{at}"),
                }
            }
        }
    }
}

/// No hit and no file, but for links, which are listed as left out.
fn nothing_found(answer: &Value) -> bool {
    let empty = |key: &str| answer[key].as_array().is_none_or(Vec::is_empty);
    let only_links =
        answer["files"].as_array().is_none_or(|files| files.iter().all(|file| file["status"] == "skipped"));
    empty("hits") && empty("citations") && only_links
}

#[test]
fn d085_m2_links_are_not_followed_while_indexing() {
    let folder = besieged();
    let server = serve(&folder);
    let list = server.expect("dir2mcp.list_files", json!({ "limit": 5000 }));
    for file in list["files"].as_array().unwrap() {
        let path = file["rel_path"].as_str().unwrap();
        assert!(!path.starts_with("link-dir/"), "{path} is listed");
        if path.contains("link-") {
            assert_eq!(file["status"], "skipped", "{file}");
        }
    }
    let answer = server.expect("dir2mcp.search", json!({ "query": "CANARY outside root", "index": "both" }));
    assert!(!answer["hits"].to_string().contains(CANARY), "{answer}");
}

#[test]
fn m2_links_inside_can_be_followed_when_asked_for() {
    let folder = besieged();
    folder.write(".dir2mcp.yaml", "version: 1\ningest:\n  follow_symlinks: true\n");
    let server = serve(&folder);
    let answer = server.expect("dir2mcp.search", json!({ "query": "CANARY outside root", "index": "both" }));
    assert!(!answer["hits"].to_string().contains(CANARY), "{answer}");
    for path in ["link-out.txt", "link-dir/key.txt", "link-passwd"] {
        let reply = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("PATH_OUTSIDE_ROOT"), "{path}");
    }
}

#[test]
fn m3_a_link_swapped_during_the_call() {
    let folder = besieged();
    fs::create_dir(folder.path().join("real")).unwrap();
    folder.write("real/key.txt", "harmless\n");
    let server = serve(&folder);
    let stop = AtomicBool::new(false);
    let swapped = folder.path().join("swapped");
    let (inside, outside) = (folder.path().join("real"), folder.outside().join("root-private"));
    thread::scope(|scope| {
        scope.spawn(|| {
            let temporary = folder.path().join("swapping");
            while !stop.load(Ordering::Relaxed) {
                for target in [&inside, &outside] {
                    let _ = symlink(target, &temporary);
                    let _ = fs::rename(&temporary, &swapped);
                }
            }
        });
        let mut client = server.client(Era::Modern);
        let (mut opened, mut refused) = (0, 0);
        for _ in 0..2_000 {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": "swapped/key.txt" }));
            assert!(!reply.result.to_string().contains(CANARY), "the outside was read");
            if reply.is_error() { refused += 1 } else { opened += 1 }
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(opened + refused, 2_000);
        assert!(refused > 0, "the links were never swapped in time");
    });
}

#[test]
fn the_deny_floor_holds_in_any_case() {
    let folder = besieged();
    for path in [
        ".env",
        ".ENV",
        "deep/.Env",
        "tls.pem",
        "TLS.PEM",
        "a.key",
        "id_rsa",
        "ID_RSA",
        ".git/config",
        "b.pfx",
        "c.p12",
    ] {
        folder.write(path, CANARY);
    }
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        for path in [
            ".env",
            ".ENV",
            "deep/.Env",
            "tls.pem",
            "TLS.PEM",
            "a.key",
            "id_rsa",
            "ID_RSA",
            ".git/config",
            "b.pfx",
            "c.p12",
        ] {
            let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert_eq!(reply.code(), Some("FORBIDDEN"), "{} {path}: {}", client.name(), reply.result);
            assert!(!reply.result.to_string().contains(CANARY), "{path}");
        }
        let answer =
            client.expect("dir2mcp.search", json!({ "query": "CANARY outside root", "index": "both" }));
        assert!(!answer["hits"].to_string().contains(CANARY), "{answer}");
    }
}
