//! Lines 29 to 32, 97 and 104 with limits that the operator has set.

use serde_json::json;

use super::world::paths_of;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "\
max_payload_bytes: 100
max_file_bytes: 150
max_project_bytes: 400
max_tenant_bytes: 700
list_limit_default: 3
list_limit_max: 5
versions_kept: 2
version_retention_days: 0
search:
  limit_default: 2
  limit_max: 3
";

fn refused(t: &mut Tenant<'_>, path: &str, bytes: usize, mode: &str) -> String {
    t.refused("file_write", json!({ "path": path, "content": "x".repeat(bytes), "mode": mode }))
}

/// Fills the project with files of 100 bytes.
fn fill(t: &mut Tenant<'_>, files: usize) {
    for n in 0..files {
        t.put(&format!("/full{n}"), &"x".repeat(100));
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f029_f032_a_payload_over_the_limit", |t| {
            t.put("/a", &"x".repeat(100));
            assert_eq!(refused(t, "/b", 101, "TRUNCATE"), "PAYLOAD_TOO_LARGE");
            assert_eq!(refused(t, "/b", 5000, "APPEND"), "PAYLOAD_TOO_LARGE");
            assert!(!t.exists("/b"));
        }),
        Case::new("f029_the_limit_counts_bytes", |t| {
            let arguments = json!({ "path": "/a", "content": "é".repeat(51) });
            t.fails("file_write", arguments, "PAYLOAD_TOO_LARGE");
            t.put("/a", &"é".repeat(50));
        }),
        Case::new("f030_f032_a_file_over_the_limit", |t| {
            t.put("/a", &"x".repeat(100));
            t.append("/a", &"y".repeat(50));
            assert_eq!(refused(t, "/a", 1, "APPEND"), "PAYLOAD_TOO_LARGE");
            let beyond = json!({ "path": "/a", "content": "zz", "mode": "OVERWRITE", "offset": 149 });
            t.fails("file_write", beyond, "PAYLOAD_TOO_LARGE");
            assert_eq!(t.stat("/a")["size"], 150);
            t.ok("file_write", json!({ "path": "/a", "content": "z", "mode": "OVERWRITE", "offset": 149 }));
        }),
        Case::new("f031_f032_a_project_over_its_quota", |t| {
            fill(t, 4);
            assert_eq!(refused(t, "/more", 1, "APPEND"), "QUOTA_EXCEEDED");
            assert_eq!(refused(t, "/full0", 1, "APPEND"), "QUOTA_EXCEEDED");
            assert!(!t.exists("/more"));
        }),
        Case::new("f031_the_old_size_of_the_file_is_discounted", |t| {
            fill(t, 4);
            t.put("/full0", &"y".repeat(100));
            assert_eq!(t.read("/full0"), "y".repeat(100));
            t.ok(
                "file_write",
                json!({ "path": "/full0", "content": "zz", "mode": "OVERWRITE", "offset": 10 }),
            );
        }),
        Case::new("f031_an_empty_file_needs_no_room", |t| {
            fill(t, 4);
            t.put("/empty", "");
            assert!(t.exists("/empty"));
        }),
        Case::new("f031_deleting_and_shortening_make_room", |t| {
            fill(t, 4);
            t.delete("/full0");
            t.put("/a", &"x".repeat(100));
            t.put("/a", "short");
            t.put("/b", &"x".repeat(95));
            assert_eq!(refused(t, "/c", 1, "APPEND"), "QUOTA_EXCEEDED");
        }),
        Case::new("f031_what_was_replaced_by_a_move_makes_room", |t| {
            fill(t, 4);
            t.ok("file_rename", json!({ "from_path": "/full0", "to_path": "/full1", "overwrite": true }));
            t.put("/a", &"x".repeat(100));
        }),
        Case::new("f031_each_project_has_a_quota_of_its_own", |t| {
            fill(t, 4);
            t.ok("file_write", json!({ "project": "q", "path": "/a", "content": "x".repeat(100) }));
        }),
        Case::new("f012_f031_each_tenant_has_a_quota_of_its_own", |t| {
            fill(t, 4);
            fill(&mut t.stranger(), 4);
        }),
        Case::new("f031_a_tenant_over_its_quota", |t| {
            fill(t, 4);
            t.project = "q".into();
            fill(t, 3);
            assert_eq!(refused(t, "/more", 1, "APPEND"), "QUOTA_EXCEEDED");
            t.delete("/full0");
            t.append("/more", "x");
        }),
        Case::new("f031_restoring_needs_room_too", |t| {
            t.put("/a", &"x".repeat(100));
            t.put("/a", "");
            fill(t, 4);
            let version = t.ok("file_versions", json!({ "path": "/a" }))["versions"][0]["version"].clone();
            t.fails("file_restore", json!({ "path": "/a", "version": version }), "QUOTA_EXCEEDED");
        }),
        Case::new("f097_f151_the_operators_limits_of_lists", |t| {
            for n in 0..7 {
                t.put(&format!("/{n}"), "x");
            }
            let listed = t.ok("file_list", json!({}));
            assert_eq!((paths_of(&listed).len(), &listed["has_more"]), (3, &json!(true)));
            let listed = t.ok("file_list", json!({ "limit": 100 }));
            assert_eq!((paths_of(&listed).len(), &listed["has_more"]), (5, &json!(true)));
        }),
        Case::new("f104_f152_the_operators_limits_of_searches", |t| {
            for n in 0..5 {
                t.put(&format!("/{n}"), "a dulcimer");
            }
            assert_eq!(t.search("dulcimer").len(), 2);
            assert_eq!(t.search_with(json!({ "query": "dulcimer", "limit": 100 })).len(), 3);
        }),
        // Older ones go when the store tidies up, at once or later.
        Case::new("f166_the_newest_versions_stay", |t| {
            for n in 0..6 {
                t.put("/a", &n.to_string());
            }
            let versions = t.ok("file_versions", json!({ "path": "/a" }));
            let versions = versions["versions"].as_array().expect("versions");
            assert!((2..=5).contains(&versions.len()), "{versions:?}");
            for (version, wanted) in versions.iter().zip(["4", "3"]) {
                let read = t.ok("file_version_read", json!({ "path": "/a", "version": version["version"] }));
                assert_eq!(read["content"], wanted);
            }
        }),
    ]
}
