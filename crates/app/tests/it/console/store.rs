//! Files of the store in the page: shown, uploaded, merged, and each tenant's its own.

use serde_json::{Value, json};
use testkit::{Folder, Request, Server};

use super::{ask, get, json_of, post, program, serve};

fn upload(server: &Server, path: &str, bytes: &[u8], more: &[(&str, &str)]) -> testkit::Response {
    let target = format!("/api/files/content?project=notes&path={path}");
    let request =
        more.iter().fold(Request::new("PUT", &target), |request, (name, value)| request.header(name, value));
    server.send(request.body(bytes))
}

#[test]
fn files_are_uploaded_shown_and_saved_again() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let written = upload(&server, "/docs/plan.md", b"# Plan\n", &[("If-None-Match", "*")]);
    assert_eq!(written.status, 200, "{}", written.text());
    let tag = written.header("etag").unwrap().to_owned();
    let seen = ask(&server, "/console/view?source=store.notes&path=docs/plan.md");
    assert_eq!(
        (&seen["kind"], &seen["editable"], &seen["writable"]),
        (&json!("markdown"), &json!(true), &json!(true))
    );
    assert_eq!(format!("\"{}\"", seen["content_hash"].as_str().unwrap()), tag);
    assert_eq!(seen["page"][0][2], "Plan");
    // Somebody else saves; the page's own save is refused.
    assert_eq!(upload(&server, "/docs/plan.md", b"# Theirs\n", &[]).status, 200);
    let conflict = upload(&server, "/docs/plan.md", b"# Mine\n", &[("If-Match", &tag)]);
    assert_eq!(conflict.status, 412, "{}", conflict.text());
    let versions = ask(&server, "/api/files/versions?project=notes&path=/docs/plan.md");
    let id = versions["versions"][0]["version"].as_i64().unwrap_or_else(|| panic!("{versions}"));
    let former = ask(&server, &format!("/console/view?source=store.notes&path=docs/plan.md&version={id}"));
    assert_eq!((&former["page"][0][2], &former["editable"]), (&json!("Plan"), &json!(false)));
    let merged = json_of(&post(
        &server,
        "/console/merge",
        &json!({ "base": "# Plan\n", "theirs": "# Theirs\n", "mine": "# Mine\n" }),
    ));
    assert_eq!((&merged["clean"], &merged["hunks"][0]["kind"]), (&json!(false), &json!("conflict")));
}

#[test]
fn any_bytes_can_be_uploaded_and_fetched_again() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let bytes: Vec<u8> = (0..=255).collect();
    let written = upload(&server, "/blob.dat", &bytes, &[]);
    assert_eq!(written.status, 200, "{}", written.text());
    let raw = get(&server, "/console/raw?source=store.notes&path=blob.dat");
    assert_eq!((raw.status, raw.body), (200, bytes));
    let seen = ask(&server, "/console/view?source=store.notes&path=blob.dat");
    assert_eq!((&seen["kind"], &seen["editable"]), (&json!("none"), &json!(false)));
    let me = ask(&server, "/console/me");
    let most = me["store"]["upload_bytes"].as_u64().unwrap() as usize;
    assert_eq!(upload(&server, "/large.txt", &vec![b'x'; most], &[]).status, 200);
    assert_eq!(upload(&server, "/larger.txt", &vec![b'x'; most + 1], &[]).status, 413);
}

#[test]
fn a_key_of_the_store_opens_its_own_files_only() {
    let folder = Folder::from("//- a.md\n# Canary\n");
    folder.write(".dir2mcp.yaml", "files:\n  auth: keys\n");
    let program = program(&folder).flag("--trust-config");
    let made = program.run(&["keys", "add", "ci"]).expect(0);
    let key = made.stdout.split_whitespace().last().unwrap().to_owned();
    let server = program.serve(&[]);
    server.wait_indexed();
    let as_guest = |request: Request| server.connect().send(&request.bearer(Some(&key))).unwrap();
    let me = json_of(&as_guest(Request::new("GET", "/console/me")));
    assert_eq!(
        (&me["guest"], &me["roots"], &me["caller"]),
        (&json!(true), &json!([]), &json!("key-ci")),
        "{me}"
    );
    assert_ne!(me["store"], Value::Null);
    let put = as_guest(Request::new("PUT", "/api/files/content?project=p&path=/own.md").body("# Own\n"));
    assert_eq!(put.status, 200, "{}", put.text());
    let own = as_guest(Request::new("GET", "/console/view?source=store.p&path=own.md"));
    assert_eq!(own.status, 200, "{}", own.text());
    for target in ["/console/view?source=dir&path=a.md", "/console/raw?source=dir&path=a.md"] {
        let refused = as_guest(Request::new("GET", target));
        assert_eq!(refused.status, 403, "{target}: {}", refused.text());
        assert!(!refused.text().contains("Canary"));
    }
    for target in [
        "/console/status",
        "/console/list?source=dir",
        "/console/files",
        "/console/connect",
        "/console/explain?q=a",
    ] {
        assert_eq!(as_guest(Request::new("GET", target)).status, 401, "{target}");
    }
    // The server's own token has no files in this mode.
    assert_eq!(ask(&server, "/console/me")["store"], Value::Null);
}
