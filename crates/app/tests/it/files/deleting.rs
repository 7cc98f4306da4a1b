//! Lines 65 to 74: `file_delete`, and former contents.

use serde_json::{Value, json};

use super::world::{count, tenant_hash};
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

fn delete_all(t: &mut Tenant<'_>, path: &str) -> u64 {
    count(&t.ok("file_delete", json!({ "path": path, "recursive": true }))["deleted_count"])
}

pub(super) fn cases() -> Vec<Case> {
    [deletions(), versions()].into_iter().flatten().collect()
}

fn deletions() -> Vec<Case> {
    vec![
        Case::new("f065_f066_one_file", |t| {
            t.put("/a", "x");
            t.put("/b", "y");
            assert_eq!(t.delete("/a"), 1);
            assert_eq!(t.paths("", 1), ["/b"]);
        }),
        Case::new("f066_the_row_is_only_marked", |t| {
            t.put("/a", "x");
            t.delete("/a");
            let tenant = tenant_hash(&t.key);
            let sql = format!(
                "SELECT path FROM mcp_files WHERE apikey_hash = '{tenant}' AND deleted_at IS NOT NULL"
            );
            assert_eq!(t.world.home.rows(&sql), [["/a"]]);
        }),
        Case::new("f066_recursive_on_a_file_is_that_file", |t| {
            t.put("/a", "x");
            t.put("/ab", "y");
            assert_eq!(delete_all(t, "/a"), 1);
            assert_eq!(t.paths("", 1), ["/ab"]);
        }),
        Case::new("f067_a_directory_is_not_empty", |t| {
            t.put("/d/e/f", "x");
            for path in ["/d", "/d/e"] {
                t.fails("file_delete", json!({ "path": path }), "NOT_EMPTY");
                t.fails("file_delete", json!({ "path": path, "recursive": false }), "NOT_EMPTY");
            }
            assert!(t.exists("/d/e/f"));
        }),
        Case::new("f065_f068_a_directory_with_all_below_it", |t| {
            for path in ["/d/a", "/d/b", "/d/e/f/g", "/d-", "/d.x", "/dd/a"] {
                t.put(path, "x");
            }
            assert_eq!(delete_all(t, "/d"), 3);
            assert_eq!(t.paths("", 9), ["/d-", "/d.x", "/dd", "/dd/a"]);
        }),
        Case::new("f068_an_underscore_is_no_wildcard", |t| {
            for path in ["/a_b/1", "/axb/1", "/a-b/1", "/a.b/1"] {
                t.put(path, "x");
            }
            assert_eq!(delete_all(t, "/a_b"), 1);
            assert_eq!(t.paths("", 1), ["/a-b", "/a.b", "/axb"]);
        }),
        Case::new("f069_nothing_there", |t| {
            t.put("/a", "x");
            for path in ["/b", "/a/b", "/A"] {
                t.fails("file_delete", json!({ "path": path }), "NOT_FOUND");
                t.fails("file_delete", json!({ "path": path, "recursive": true }), "NOT_FOUND");
            }
        }),
        Case::new("f069_the_second_deletion_finds_nothing", |t| {
            t.put("/a", "x");
            t.delete("/a");
            t.fails("file_delete", json!({ "path": "/a" }), "NOT_FOUND");
        }),
        Case::new("f070_f071_the_root_is_not_deleted", |t| {
            t.put("/a", "x");
            for arguments in [json!({}), json!({ "path": "" }), json!({ "path": "", "recursive": true })] {
                t.fails("file_delete", arguments, "PERMISSION_DENIED");
            }
            assert_eq!(t.read("/a"), "x");
        }),
        Case::new("f072_f089_a_job_for_each_removed_path", |t| {
            for path in ["/d/a", "/d/b", "/c"] {
                t.put(path, "x");
            }
            delete_all(t, "/d");
            assert_eq!(paths_of_jobs(t, "DELETE"), ["/d/a", "/d/b"]);
        }),
        Case::new("f074_deletion_is_immediate_everywhere", |t| {
            t.put("/d/a", "unmistakable words");
            assert_eq!(t.found("unmistakable"), ["/d/a"]);
            t.delete("/d/a");
            assert!(t.search("unmistakable").is_empty());
            assert!(!t.exists("/d/a") && !t.exists("/d"));
            assert_eq!(t.paths("", 9), Vec::<String>::new());
            t.fails("file_read", json!({ "path": "/d/a" }), "NOT_FOUND");
        }),
        Case::new("f074_others_of_the_project_stay", |t| {
            t.put("/a", "shared words");
            t.put("/b", "shared words");
            t.delete("/a");
            assert_eq!(t.found("shared"), ["/b"]);
        }),
    ]
}

/// The paths for which there are jobs of a kind, done ones included.
pub(super) fn paths_of_jobs(t: &Tenant<'_>, operation: &str) -> Vec<String> {
    let tenant = tenant_hash(&t.key);
    let sql = format!(
        "SELECT DISTINCT file_path FROM mcp_file_index_jobs \
         WHERE apikey_hash = '{tenant}' AND operation = '{operation}' ORDER BY file_path"
    );
    t.world.home.rows(&sql).into_iter().map(|mut row| row.remove(0)).collect()
}

fn version_list(t: &mut Tenant<'_>, path: &str) -> Vec<Value> {
    t.ok("file_versions", json!({ "path": path }))["versions"].as_array().cloned().expect("versions")
}

fn version_texts(t: &mut Tenant<'_>, path: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for version in version_list(t, path) {
        let read = t.ok("file_version_read", json!({ "path": path, "version": version["version"] }));
        assert_eq!(read["size"], version["size"]);
        texts.push(read["content"].as_str().expect("a content").to_owned());
    }
    texts
}

/// An addition to the specification (5.2): former contents.
fn versions() -> Vec<Case> {
    vec![
        Case::new("f166_the_first_write_leaves_no_version", |t| {
            t.put("/a", "one");
            assert!(version_list(t, "/a").is_empty());
        }),
        Case::new("f166_each_change_leaves_the_content_before_it", |t| {
            t.put("/a", "one");
            t.append("/a", "+");
            t.put("/a", "three");
            assert_eq!(version_texts(t, "/a"), ["one+", "one"]);
        }),
        Case::new("f166_a_deleted_file_can_be_had_back", |t| {
            t.put("/a", "precious");
            t.delete("/a");
            let version = version_list(t, "/a")[0]["version"].clone();
            t.ok("file_restore", json!({ "path": "/a", "version": version }));
            assert_eq!(t.read("/a"), "precious");
            assert_eq!(t.found("precious"), ["/a"]);
        }),
        Case::new("f166_restoring_is_a_change_like_any_other", |t| {
            t.put("/a", "one");
            t.put("/a", "two");
            let version = version_list(t, "/a")[0]["version"].clone();
            let restored = t.ok("file_restore", json!({ "path": "/a", "version": version }));
            assert_eq!(restored["size"], 3);
            assert_eq!(t.read("/a"), "one");
            assert_eq!(version_texts(t, "/a"), ["two", "one"]);
        }),
        Case::new("f166_a_version_that_is_not_there", |t| {
            t.put("/a", "one");
            for version in [0, -1, i64::MAX] {
                t.fails("file_version_read", json!({ "path": "/a", "version": version }), "NOT_FOUND");
                t.fails("file_restore", json!({ "path": "/a", "version": version }), "NOT_FOUND");
            }
        }),
        Case::new("f166_a_version_of_another_path_or_project", |t| {
            t.put("/a", "one");
            t.put("/a", "two");
            let version = version_list(t, "/a")[0]["version"].clone();
            t.put("/b", "other");
            t.fails("file_version_read", json!({ "path": "/b", "version": version }), "NOT_FOUND");
            let elsewhere = json!({ "project": "q", "path": "/a", "version": version });
            t.fails("file_version_read", elsewhere, "NOT_FOUND");
        }),
        Case::new("f166_a_move_takes_the_history_along", |t| {
            t.put("/a", "one");
            t.put("/a", "two");
            t.rename("/a", "/b");
            assert_eq!(version_texts(t, "/b"), ["one"]);
        }),
        Case::new("f166_restoring_meets_the_same_conflicts_as_writing", |t| {
            t.put("/a", "one");
            t.delete("/a");
            let version = version_list(t, "/a")[0]["version"].clone();
            t.put("/a/b", "a directory now");
            t.fails("file_restore", json!({ "path": "/a", "version": version }), "IS_DIRECTORY");
        }),
    ]
}
