//! Lines 75 to 89: `file_rename`.

use serde_json::json;

use super::deleting::paths_of_jobs;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

fn refused(t: &mut Tenant<'_>, from: &str, to: &str, overwrite: bool) -> String {
    t.refused("file_rename", json!({ "from_path": from, "to_path": to, "overwrite": overwrite }))
}

fn overwriting(t: &mut Tenant<'_>, from: &str, to: &str) -> u64 {
    let moved = t.ok("file_rename", json!({ "from_path": from, "to_path": to, "overwrite": true }));
    moved["moved_count"].as_u64().expect("a count")
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f075_f076_a_file", |t| {
            t.put("/a", "x");
            assert_eq!(t.rename("/a", "/b"), 1);
            assert_eq!(t.paths("", 1), ["/b"]);
            assert_eq!(t.read("/b"), "x");
        }),
        Case::new("f075_f076_f086_a_directory", |t| {
            t.put("/docs/a", "1");
            t.put("/docs/sub/b", "2");
            t.put("/docs-", "3");
            assert_eq!(t.rename("/docs", "/archive/2024"), 2);
            assert_eq!(
                t.paths("", 9),
                [
                    "/archive",
                    "/archive/2024",
                    "/archive/2024/a",
                    "/archive/2024/sub",
                    "/archive/2024/sub/b",
                    "/docs-"
                ]
            );
            assert_eq!((t.read("/archive/2024/a"), t.read("/archive/2024/sub/b")), ("1".into(), "2".into()));
        }),
        Case::new("f086_a_name_that_occurs_again_below", |t| {
            t.put("/a/a/a", "x");
            assert_eq!(t.rename("/a", "/b"), 1);
            assert_eq!(t.paths("", 9), ["/b", "/b/a", "/b/a/a"]);
        }),
        Case::new("f076_an_underscore_is_no_wildcard", |t| {
            for path in ["/a_b/1", "/axb/1", "/a-b/1"] {
                t.put(path, "x");
            }
            assert_eq!(t.rename("/a_b", "/z"), 1);
            assert_eq!(t.paths("", 2), ["/a-b", "/a-b/1", "/axb", "/axb/1", "/z", "/z/1"]);
        }),
        Case::new("f076_new_directories_are_made", |t| {
            t.put("/a", "x");
            t.rename("/a", "/x/y/z");
            assert_eq!(t.paths("", 9), ["/x", "/x/y", "/x/y/z"]);
        }),
        Case::new("f077_the_root_stays", |t| {
            t.put("/a", "x");
            for (from, to) in [("", "/b"), ("/a", ""), ("", "")] {
                assert_eq!(refused(t, from, to, false), "INVALID_PATH", "{from:?} {to:?}");
                assert_eq!(refused(t, from, to, true), "INVALID_PATH", "{from:?} {to:?}");
            }
            assert_eq!(t.paths("", 1), ["/a"]);
        }),
        Case::new("f078_the_same_path", |t| {
            t.put("/a", "x");
            t.put("/d/b", "x");
            let before = t.stat("/a");
            assert_eq!(t.rename("/a", "/a"), 0);
            assert_eq!(t.rename("/d", "/d"), 0);
            assert_eq!(t.rename("/nothing", "/nothing"), 0);
            assert_eq!(t.stat("/a"), before);
        }),
        Case::new("f079_a_source_that_is_not_there", |t| {
            t.put("/a", "x");
            for from in ["/b", "/a/b", "/A"] {
                assert_eq!(refused(t, from, "/c", false), "NOT_FOUND", "{from}");
            }
        }),
        Case::new("f080_a_parent_of_the_target_is_a_file", |t| {
            t.put("/a", "x");
            t.put("/f", "y");
            t.put("/d/e", "z");
            assert_eq!(refused(t, "/a", "/f/a", false), "NOT_DIRECTORY");
            assert_eq!(refused(t, "/a", "/f/g/h", true), "NOT_DIRECTORY");
            assert_eq!(refused(t, "/d", "/f/d", false), "NOT_DIRECTORY");
            assert_eq!(t.paths("", 9), ["/a", "/d", "/d/e", "/f"]);
        }),
        Case::new("f080_a_file_below_itself", |t| {
            t.put("/a", "x");
            assert_eq!(refused(t, "/a", "/a/b", false), "NOT_DIRECTORY");
            assert_eq!(t.read("/a"), "x");
        }),
        Case::new("f081_a_directory_into_itself", |t| {
            t.put("/docs/sub/a", "x");
            for to in ["/docs/sub/new", "/docs/x", "/docs/sub"] {
                assert_eq!(refused(t, "/docs", to, false), "INVALID_PATH", "{to}");
            }
            assert_eq!(t.paths("", 9), ["/docs", "/docs/sub", "/docs/sub/a"]);
        }),
        Case::new("f081_a_directory_beside_itself", |t| {
            t.put("/docs/a", "x");
            assert_eq!(t.rename("/docs", "/docs2"), 1);
            assert_eq!(t.rename("/docs2", "/docs"), 1);
            assert_eq!(t.paths("", 9), ["/docs", "/docs/a"]);
        }),
        Case::new("f081_a_directory_up_into_its_parents_place", |t| {
            t.put("/a/b/c", "x");
            assert_eq!(refused(t, "/a/b", "/a", false), "ALREADY_EXISTS");
            assert_eq!(t.read("/a/b/c"), "x");
        }),
        Case::new("f082_a_target_that_is_there", |t| {
            t.put("/a", "1");
            t.put("/b", "2");
            assert_eq!(refused(t, "/a", "/b", false), "ALREADY_EXISTS");
            assert_eq!((t.read("/a"), t.read("/b")), ("1".into(), "2".into()));
        }),
        Case::new("f083_overwrite_replaces_a_file_by_a_file", |t| {
            t.put("/a", "new");
            t.put("/b", "old");
            assert_eq!(overwriting(t, "/a", "/b"), 1);
            assert_eq!(t.paths("", 1), ["/b"]);
            assert_eq!(t.read("/b"), "new");
        }),
        Case::new("f083_what_was_replaced_is_not_found_any_more", |t| {
            t.put("/a", "daffodils");
            t.put("/b", "hydrangeas");
            overwriting(t, "/a", "/b");
            assert!(t.search("hydrangeas").is_empty());
            assert_eq!(t.found("daffodils"), ["/b"]);
        }),
        Case::new("f084_a_directory_replaces_nothing", |t| {
            t.put("/d/a", "1");
            t.put("/e/b", "2");
            t.put("/f", "3");
            for to in ["/e", "/f"] {
                assert_eq!(refused(t, "/d", to, false), "ALREADY_EXISTS", "{to}");
                assert_eq!(refused(t, "/d", to, true), "ALREADY_EXISTS", "{to}");
            }
            assert_eq!(t.paths("", 9), ["/d", "/d/a", "/e", "/e/b", "/f"]);
        }),
        Case::new("f085_a_file_replaces_no_directory", |t| {
            t.put("/a", "1");
            t.put("/d/b", "2");
            assert_eq!(refused(t, "/a", "/d", false), "ALREADY_EXISTS");
            assert_eq!(refused(t, "/a", "/d", true), "ALREADY_EXISTS");
            assert_eq!(t.paths("", 9), ["/a", "/d", "/d/b"]);
        }),
        Case::new("f085_a_file_takes_the_place_of_a_look_alike", |t| {
            t.put("/axb/c", "x");
            t.put("/a", "1");
            assert_eq!(t.rename("/a", "/a_b"), 1);
            assert_eq!(t.read("/a_b"), "1");
        }),
        Case::new("f087_contents_and_births_are_kept", |t| {
            t.put("/d/a", "content");
            let before = t.stat("/d/a");
            t.rename("/d", "/e");
            let after = t.stat("/e/a");
            assert_eq!((&after["created_at"], &after["size"]), (&before["created_at"], &before["size"]));
            assert!(after["updated_at"].as_str() > before["updated_at"].as_str(), "{after} after {before}");
            assert_eq!(t.read("/e/a"), "content");
        }),
        Case::new("f088_a_move_that_fails_moves_nothing", |t| {
            for n in 0..20 {
                t.put(&format!("/d/{n}"), "x");
            }
            t.put("/e/5", "in the way");
            assert_eq!(refused(t, "/d", "/e", true), "ALREADY_EXISTS");
            assert_eq!(t.paths("/d", 1).len(), 20);
            assert_eq!(t.paths("/e", 1), ["/e/5"]);
        }),
        Case::new("case_37_jobs_for_the_old_and_the_new_paths", |t| {
            t.put("/docs/a", "1");
            t.put("/docs/sub/b", "2");
            assert_eq!(t.rename("/docs", "/archive"), 2);
            assert_eq!(paths_of_jobs(t, "DELETE"), ["/docs/a", "/docs/sub/b"]);
            let made = paths_of_jobs(t, "UPSERT");
            assert!(
                ["/archive/a", "/archive/sub/b"].iter().all(|path| made.contains(&(*path).to_owned())),
                "{made:?}"
            );
        }),
        Case::new("f089_search_follows_a_move_at_once", |t| {
            t.put("/old/a", "rhododendron");
            assert_eq!(t.found("rhododendron"), ["/old/a"]);
            t.rename("/old", "/new");
            assert_eq!(t.found("rhododendron"), ["/new/a"]);
        }),
    ]
}
