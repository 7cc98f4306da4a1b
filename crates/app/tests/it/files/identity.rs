//! Lines 1 to 14: what a file is, and whose it is.

use serde_json::json;
use testkit::{Client, Request};

use super::Case;
use super::world::tenant_hash;

pub(super) const SETTINGS: &str = "";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f001_each_project_is_a_root_of_its_own", |t| {
            t.put("/a", "of p");
            t.ok("file_write", json!({ "project": "q", "path": "/a", "content": "of q" }));
            assert_eq!(t.read("/a"), "of p");
            assert_eq!(t.ok("file_read", json!({ "project": "q", "path": "/a" }))["content"], "of q");
            t.ok("file_delete", json!({ "project": "q", "path": "/a" }));
            assert_eq!(t.read("/a"), "of p");
        }),
        Case::new("f001_projects_differ_by_case_and_by_every_character", |t| {
            for project in ["P", "p.", "p-", "p_", "pp"] {
                t.ok("file_write", json!({ "project": project, "path": "/a", "content": project }));
            }
            t.put("/a", "p");
            for project in ["P", "p.", "p-", "p_", "pp", "p"] {
                assert_eq!(
                    t.ok("file_read", json!({ "project": project, "path": "/a" }))["content"],
                    project
                );
            }
        }),
        Case::new("f002_the_tenant_is_the_digest_of_the_key", |t| {
            t.put("/a", "mine");
            let digest = tenant_hash(&t.key);
            let sql = format!("SELECT path FROM mcp_files WHERE apikey_hash = '{digest}'");
            assert_eq!(t.world.home.rows(&sql), [["/a"]]);
        }),
        Case::new("f003_directories_come_and_go_with_their_files", |t| {
            t.put("/d/e/f", "x");
            assert_eq!(t.stat("/d")["type"], "DIRECTORY");
            assert_eq!(t.stat("/d/e")["type"], "DIRECTORY");
            t.delete("/d/e/f");
            assert!(!t.exists("/d") && !t.exists("/d/e"));
            assert_eq!(t.paths("", 9), Vec::<String>::new());
        }),
        Case::new("f003_a_directory_that_was_emptied_may_become_a_file", |t| {
            t.put("/d/f", "x");
            t.delete("/d/f");
            t.put("/d", "now a file");
            assert_eq!(t.stat("/d")["type"], "FILE");
        }),
        Case::new("f003_no_directory_is_stored", |t| {
            t.put("/d/e/f", "x");
            let digest = tenant_hash(&t.key);
            let sql = format!("SELECT path FROM mcp_files WHERE apikey_hash = '{digest}'");
            assert_eq!(t.world.home.rows(&sql), [["/d/e/f"]]);
        }),
        Case::new("f004_the_path_is_the_identity", |t| {
            t.put("/a", "first");
            t.rename("/a", "/b");
            t.put("/a", "second");
            assert_eq!((t.read("/a"), t.read("/b")), ("second".into(), "first".into()));
        }),
        Case::new("f004_paths_differ_by_case", |t| {
            t.put("/Readme.md", "upper");
            t.put("/readme.md", "lower");
            assert_eq!((t.read("/Readme.md"), t.read("/readme.md")), ("upper".into(), "lower".into()));
            assert_eq!(t.paths("", 1), ["/Readme.md", "/readme.md"]);
        }),
        Case::new("f005_the_root_exists_without_files_and_with_them", |t| {
            let root = t.stat("");
            assert_eq!((&root["exists"], &root["type"]), (&json!(true), &json!("DIRECTORY")));
            t.put("/a", "x");
            assert_eq!(t.stat("")["type"], "DIRECTORY");
        }),
        Case::new("f006_the_seven_tools_are_there", |t| {
            let listed = t.client.request("tools/list", json!({}));
            let tools = listed.result()["tools"].as_array().expect("tools");
            for name in ["stat", "read", "write", "delete", "rename", "list", "search"] {
                let name = format!("file_{name}");
                let tool = tools.iter().find(|tool| tool["name"] == name.as_str());
                let tool = tool.unwrap_or_else(|| panic!("no {name}"));
                assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
                assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
            }
            let foreign = |tool: &&serde_json::Value| {
                tool["name"].as_str().is_some_and(|name| name.contains("dir2mcp"))
            };
            assert!(
                !tools.iter().any(|tool| foreign(&tool)),
                "the endpoint of the store serves the store alone"
            );
        }),
        Case::new("f006_reading_tools_say_that_they_only_read", |t| {
            let listed = t.client.request("tools/list", json!({}));
            for tool in listed.result()["tools"].as_array().expect("tools") {
                let name = tool["name"].as_str().expect("a name");
                let reads = [
                    "file_stat",
                    "file_read",
                    "file_list",
                    "file_search",
                    "file_versions",
                    "file_version_read",
                ];
                let is_reading = reads.contains(&name);
                assert_eq!(tool["annotations"]["readOnlyHint"], is_reading, "{name}");
            }
        }),
        Case::new("f007_the_types_are_file_and_directory", |t| {
            t.put("/d/f", "x");
            assert_eq!(
                (t.stat("/d")["type"].clone(), t.stat("/d/f")["type"].clone()),
                (json!("DIRECTORY"), json!("FILE"))
            );
            let listed = t.ok("file_list", json!({ "depth": 2 }));
            let types: Vec<_> =
                listed["entries"].as_array().unwrap().iter().map(|e| e["type"].clone()).collect();
            assert_eq!(types, [json!("DIRECTORY"), json!("FILE")]);
        }),
        Case::new("f008_times_are_utc_and_directories_have_the_zero_time", |t| {
            t.put("/d/f", "x");
            let (file, directory) = (t.stat("/d/f"), t.stat("/d"));
            for time in [&file["created_at"], &file["updated_at"], &directory["updated_at"]] {
                let time = time.as_str().expect("a time");
                assert!(time.starts_with("20") && time.ends_with('Z') && time.contains('T'), "{time}");
            }
            assert_eq!(directory["created_at"], "0001-01-01T00:00:00Z");
            assert_eq!(t.stat("/nothing")["created_at"], "0001-01-01T00:00:00Z");
        }),
        Case::new("f009_offsets_are_bytes", |t| {
            t.put("/a", "é你🦀z");
            assert_eq!(t.stat("/a")["size"], 10);
            assert_eq!(t.range("/a", 0, 2), "é");
            assert_eq!(t.range("/a", 2, 3), "你");
            assert_eq!(t.range("/a", 5, 4), "🦀");
            assert_eq!(t.range("/a", 9, -1), "z");
        }),
        Case::new("f009_ranges_end_before_their_end", |t| {
            t.put("/a", "0123456789");
            assert_eq!(t.range("/a", 2, 3), "234");
            assert_eq!(t.range("/a", 9, 1), "9");
            assert_eq!(t.range("/a", 10, 1), "");
        }),
        Case::new("f010_tools_take_no_credential", |t| {
            for name in ["apikey", "api_key", "token", "authorization", "tenant", "apikey_hash"] {
                let reply = t.request("file_stat", json!({ "path": "", name: "other" }));
                assert_eq!(reply.error_code(), Some(-32602), "{name}: {reply:?}");
            }
        }),
        Case::new("f010_a_credential_in_the_url_is_none", |t| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
            let target = format!("/mcp/files?apikey={}", t.key);
            let response = t.world.server.connect().send(&Request::post(&target, &body)).expect("an answer");
            assert_eq!(response.status, 401, "{}", response.text());
        }),
        Case::new("f011_the_name_a_client_gives_itself_changes_nothing", |t| {
            t.put("/a", "mine");
            let mut other = t.stranger();
            let mut request = other.client.message(
                "tools/call",
                json!({ "name": "file_stat", "arguments": { "project": "p", "path": "/a" } }),
            );
            request["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(t.key);
            let envelope =
                other.client.envelope(&request).header("X-User", &t.key).header("X-Api-Key", &t.key);
            let reply = other.client.connection.send(&envelope).expect("an answer").reply().expect("a reply");
            assert_eq!(reply["result"]["structuredContent"]["exists"], false, "{reply}");
        }),
        Case::new("f012_f014_the_same_path_of_two_keys_is_two_files", |t| {
            let mut other = t.stranger();
            t.put("/a.txt", "first");
            other.put("/a.txt", "second");
            assert_eq!((t.read("/a.txt"), other.read("/a.txt")), ("first".into(), "second".into()));
            other.delete("/a.txt");
            assert_eq!(t.read("/a.txt"), "first");
        }),
        Case::new("f012_f014_others_files_look_as_if_they_were_not_there", |t| {
            let mut other = t.stranger();
            t.put("/d/a.txt", "secret");
            other.fails("file_read", json!({ "path": "/d/a.txt" }), "NOT_FOUND");
            other.fails("file_delete", json!({ "path": "/d/a.txt" }), "NOT_FOUND");
            other.fails("file_delete", json!({ "path": "/d", "recursive": true }), "NOT_FOUND");
            other.fails("file_rename", json!({ "from_path": "/d", "to_path": "/e" }), "NOT_FOUND");
            other.fails("file_list", json!({ "path": "/d" }), "NOT_FOUND");
            assert!(!other.exists("/d/a.txt") && !other.exists("/d"));
            assert_eq!(other.paths("", 9), Vec::<String>::new());
            assert_eq!(t.read("/d/a.txt"), "secret");
        }),
        Case::new("f012_f014_a_refusal_says_the_same_whether_another_tenant_has_the_file_or_not", |t| {
            let mut other = t.stranger();
            t.put("/there", "secret");
            let about = |other: &mut super::Tenant<'_>, path: &str| {
                let said = other.call("file_read", json!({ "path": path })).structured().to_string();
                said.replace(path, "PATH")
            };
            assert_eq!(about(&mut other, "/there"), about(&mut other, "/elsewhere"));
        }),
        Case::new("f012_f014_others_directories_are_in_nobodys_way", |t| {
            let mut other = t.stranger();
            t.put("/d/a", "x");
            t.put("/f", "x");
            other.put("/d", "a file here");
            other.put("/f/below", "a directory here");
            assert_eq!(other.paths("", 2), ["/d", "/f", "/f/below"]);
        }),
        Case::new("f012_the_versions_of_others_are_not_to_be_had", |t| {
            t.put("/a", "old");
            t.put("/a", "new");
            let versions = t.ok("file_versions", json!({ "path": "/a" }));
            let version = versions["versions"][0]["version"].clone();
            assert!(version.is_number(), "{versions}");
            let mut other = t.stranger();
            other.fails("file_version_read", json!({ "path": "/a", "version": version }), "NOT_FOUND");
            other.fails("file_restore", json!({ "path": "/a", "version": version }), "NOT_FOUND");
            other.put("/a", "theirs");
            other.fails("file_version_read", json!({ "path": "/a", "version": version }), "NOT_FOUND");
        }),
        Case::new("f012_idempotency_keys_are_the_tenants_own", |t| {
            let mut other = t.stranger();
            for tenant in [t, &mut other] {
                tenant.ok("file_write", json!({ "path": "/a", "content": "x", "idempotency_key": "k" }));
                assert_eq!(tenant.read("/a"), "x");
            }
        }),
    ]
}
