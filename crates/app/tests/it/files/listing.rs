//! Lines 90 to 100: `file_list`.

use serde_json::json;

use super::world::paths_of;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

fn some_files(t: &mut Tenant<'_>) {
    for path in ["/b", "/a/x", "/a/y/z", "/c"] {
        t.put(path, "12");
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f090_the_fields_of_entries", |t| {
            t.put("/d/file.txt", "12345");
            let listed = t.ok("file_list", json!({ "path": "/d" }));
            assert_eq!(listed["has_more"], false);
            let entry = &listed["entries"][0];
            assert_eq!((&entry["name"], &entry["path"]), (&json!("file.txt"), &json!("/d/file.txt")));
            assert_eq!((&entry["type"], &entry["size"]), (&json!("FILE"), &json!(5)));
            let stat = t.stat("/d/file.txt");
            assert_eq!(
                (&entry["created_at"], &entry["updated_at"]),
                (&stat["created_at"], &stat["updated_at"])
            );
        }),
        Case::new("f091_a_slash_is_the_root", |t| {
            some_files(t);
            let root = t.ok("file_list", json!({ "path": "" }));
            assert_eq!(t.ok("file_list", json!({ "path": "/" })), root);
            assert_eq!(t.ok("file_list", json!({})), root);
        }),
        Case::new("f092_depth_0_is_the_path_itself", |t| {
            some_files(t);
            let file = t.ok("file_list", json!({ "path": "/b", "depth": 0 }));
            assert_eq!(paths_of(&file), ["/b"]);
            let directory = t.ok("file_list", json!({ "path": "/a", "depth": 0 }));
            assert_eq!(
                (paths_of(&directory), &directory["entries"][0]["type"]),
                (vec!["/a".to_owned()], &json!("DIRECTORY"))
            );
        }),
        Case::new("f093_depth_1_is_the_children", |t| {
            some_files(t);
            assert_eq!(t.paths("", 1), ["/a", "/b", "/c"]);
            assert_eq!(t.paths("/a", 1), ["/a/x", "/a/y"]);
            let by_default = t.ok("file_list", json!({ "path": "/a" }));
            assert_eq!(paths_of(&by_default), ["/a/x", "/a/y"]);
        }),
        Case::new("f093_deeper_levels", |t| {
            some_files(t);
            assert_eq!(t.paths("", 2), ["/a", "/a/x", "/a/y", "/b", "/c"]);
            assert_eq!(t.paths("", 3), ["/a", "/a/x", "/a/y", "/a/y/z", "/b", "/c"]);
            assert_eq!(t.paths("", 1000), t.paths("", 3));
        }),
        Case::new("f093_a_file_is_listed_itself", |t| {
            t.put("/a", "x");
            for depth in [0, 1, 5] {
                assert_eq!(t.paths("/a", depth), ["/a"]);
            }
        }),
        Case::new("f094_a_negative_depth", |t| {
            t.put("/a", "x");
            t.fails("file_list", json!({ "depth": -1 }), "INVALID_OFFSET");
            t.fails("file_list", json!({ "depth": i64::MIN }), "INVALID_OFFSET");
        }),
        Case::new("f095_each_directory_once", |t| {
            for n in 0..5 {
                t.put(&format!("/d/e/{n}"), "x");
            }
            let listed = t.ok("file_list", json!({ "depth": 2 }));
            assert_eq!(paths_of(&listed), ["/d", "/d/e"]);
            for entry in listed["entries"].as_array().unwrap() {
                assert_eq!(
                    (&entry["created_at"], &entry["size"]),
                    (&json!("0001-01-01T00:00:00Z"), &json!(0))
                );
                assert!(entry["updated_at"].as_str() > Some("2000"), "{entry}");
            }
        }),
        Case::new("f039_f095_a_listed_directory_is_as_new_as_its_newest_file", |t| {
            t.put("/d/a", "1");
            t.put("/d/b/c", "2");
            let listed = t.ok("file_list", json!({}));
            assert_eq!(listed["entries"][0]["updated_at"], t.stat("/d/b/c")["updated_at"]);
        }),
        Case::new("f096_in_the_order_of_paths", |t| {
            for path in ["/b", "/a.c", "/a-b", "/a/z", "/a_", "/A", "/0"] {
                t.put(path, "x");
            }
            let listed = t.paths("", 2);
            let mut sorted = listed.clone();
            sorted.sort();
            assert_eq!(listed, sorted);
            assert_eq!(listed, ["/0", "/A", "/a", "/a-b", "/a.c", "/a/z", "/a_", "/b"]);
        }),
        Case::new("f096_directories_stand_where_their_paths_do", |t| {
            for path in ["/a.b/x", "/a/x", "/a-b", "/a.b-c"] {
                t.put(path, "x");
            }
            assert_eq!(t.paths("", 1), ["/a", "/a-b", "/a.b", "/a.b-c"]);
        }),
        Case::new("f097_the_default_and_the_largest_limit", |t| {
            // One file each in directories of one letter, so that few calls make many entries.
            let letters: Vec<char> = ('a'..='z').collect();
            for (n, letter) in letters.iter().enumerate().take(9) {
                let path: String = (0..120).map(|level| format!("/{letter}{level}")).collect();
                t.put(&path, &n.to_string());
            }
            for limit in [json!(null), json!(0), json!(-7)] {
                let mut arguments = json!({ "depth": 200 });
                if !limit.is_null() {
                    arguments["limit"] = limit.clone();
                }
                let listed = t.ok("file_list", arguments);
                assert_eq!((paths_of(&listed).len(), &listed["has_more"]), (256, &json!(true)), "{limit}");
            }
            let all = t.ok("file_list", json!({ "depth": 200, "limit": 100_000 }));
            assert_eq!((paths_of(&all).len(), &all["has_more"]), (1024, &json!(true)));
        }),
        Case::new("f097_f098_a_limit_cuts_and_says_so", |t| {
            some_files(t);
            let cut = t.ok("file_list", json!({ "limit": 2 }));
            assert_eq!(
                (paths_of(&cut), &cut["has_more"]),
                (vec!["/a".to_owned(), "/b".to_owned()], &json!(true))
            );
            let whole = t.ok("file_list", json!({ "limit": 3 }));
            assert_eq!((paths_of(&whole).len(), &whole["has_more"]), (3, &json!(false)));
        }),
        Case::new("f098_every_limit_cuts_the_same_list", |t| {
            for path in ["/a/1", "/a/2", "/a-", "/a.b/c", "/b/c/d", "/e"] {
                t.put(path, "x");
            }
            for depth in 1..4 {
                let whole = t.paths("", depth);
                for limit in 1..=whole.len() {
                    let cut = t.ok("file_list", json!({ "depth": depth, "limit": limit }));
                    assert_eq!(paths_of(&cut), whole[..limit], "depth {depth}, limit {limit}");
                    assert_eq!(cut["has_more"], limit < whole.len(), "depth {depth}, limit {limit}");
                }
            }
        }),
        Case::new("case_34_listing", |t| {
            for path in ["/b", "/a", "/c"] {
                t.put(path, "x");
            }
            let cut = t.ok("file_list", json!({ "limit": 2 }));
            assert_eq!(
                (paths_of(&cut), &cut["has_more"]),
                (vec!["/a".to_owned(), "/b".to_owned()], &json!(true))
            );
            let unknown = t.ok("file_list", json!({ "project": "unknown" }));
            assert_eq!((paths_of(&unknown).len(), &unknown["has_more"]), (0, &json!(false)));
            t.fails("file_list", json!({ "path": "/unknown" }), "NOT_FOUND");
        }),
        Case::new("f099_an_empty_root_and_an_unknown_directory", |t| {
            let root = t.ok("file_list", json!({}));
            assert_eq!(root, json!({ "entries": [], "has_more": false }));
            for depth in [0, 1, 5] {
                t.fails("file_list", json!({ "path": "/nothing", "depth": depth }), "NOT_FOUND");
            }
        }),
        Case::new("f099_a_look_alike_of_a_directory_is_not_found", |t| {
            t.put("/axb/c", "x");
            t.fails("file_list", json!({ "path": "/a_b" }), "NOT_FOUND");
        }),
        Case::new("f100_the_root_itself", |t| {
            t.put("/d/a", "x");
            let root = t.ok("file_list", json!({ "depth": 0 }));
            let entry = &root["entries"][0];
            assert_eq!(
                (&entry["name"], &entry["path"], &entry["type"]),
                (&json!(""), &json!(""), &json!("DIRECTORY"))
            );
            assert_eq!(root["entries"].as_array().map(Vec::len), Some(1));
        }),
        Case::new("f091_only_here_a_slash_is_the_root", |t| {
            for (tool, arguments) in [
                ("file_stat", json!({ "path": "/" })),
                ("file_delete", json!({ "path": "/", "recursive": true })),
                ("file_rename", json!({ "from_path": "/", "to_path": "/a" })),
                ("file_write", json!({ "path": "/", "content": "x" })),
            ] {
                t.fails(tool, arguments, "INVALID_PATH");
            }
        }),
    ]
}
