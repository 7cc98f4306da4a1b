//! Lines 49 to 64: `file_write`, and what guards a change.

use serde_json::{Value, json};

use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

fn write(t: &mut Tenant<'_>, path: &str, content: &str, mode: &str, offset: i64) -> Value {
    t.ok("file_write", json!({ "path": path, "content": content, "mode": mode, "offset": offset }))
}

fn refused(t: &mut Tenant<'_>, path: &str, mode: &str, offset: i64) -> String {
    t.refused("file_write", json!({ "path": path, "content": "x", "mode": mode, "offset": offset }))
}

pub(super) fn cases() -> Vec<Case> {
    [modes(), conflicts(), guards()].into_iter().flatten().collect()
}

fn modes() -> Vec<Case> {
    vec![
        Case::new("f049_bytes_written_is_the_payload", |t| {
            assert_eq!(write(t, "/a", "hello", "APPEND", 0)["bytes_written"], 5);
            assert_eq!(write(t, "/a", "é", "APPEND", 0)["bytes_written"], 2);
            assert_eq!(write(t, "/a", "", "APPEND", 0)["bytes_written"], 0);
            assert_eq!(write(t, "/a", "yo", "OVERWRITE", 0)["bytes_written"], 2);
        }),
        Case::new("case_31_append_overwrite_truncate", |t| {
            assert_eq!(write(t, "/a", "hello", "APPEND", 0)["bytes_written"], 5);
            assert_eq!(t.read("/a"), "hello");
            assert_eq!(write(t, "/a", "yo", "OVERWRITE", 0)["bytes_written"], 2);
            assert_eq!(t.read("/a"), "yollo");
            assert_eq!(write(t, "/a", "new", "TRUNCATE", 0)["bytes_written"], 3);
            assert_eq!(t.read("/a"), "new");
        }),
        Case::new("case_32_conflicts_of_files_and_directories", |t| {
            t.put("/dir/file.txt", "x");
            t.fails("file_write", json!({ "path": "/dir", "content": "x" }), "IS_DIRECTORY");
            t.fails("file_read", json!({ "path": "/dir" }), "IS_DIRECTORY");
            t.put("/f", "x");
            t.fails("file_write", json!({ "path": "/f/x", "content": "x" }), "NOT_DIRECTORY");
        }),
        Case::new("case_33_offsets", |t| {
            t.put("/a", "12345");
            assert_eq!(refused(t, "/a", "OVERWRITE", 99), "INVALID_OFFSET");
            write(t, "/a", "6", "OVERWRITE", 5);
            assert_eq!(t.read("/a"), "123456");
            assert_eq!(refused(t, "/a", "TRUNCATE", 1), "INVALID_OFFSET");
            assert_eq!(t.range("/a", 99, -1), "");
        }),
        Case::new("f050_append_is_the_default", |t| {
            t.append("/a", "one");
            t.append("/a", "two");
            assert_eq!(t.read("/a"), "onetwo");
        }),
        Case::new("f007_f050_modes_in_any_case", |t| {
            write(t, "/a", "one", "append", 0);
            write(t, "/a", "1", "Overwrite", 0);
            assert_eq!(t.read("/a"), "1ne");
            write(t, "/a", "x", "tRUNCATE", 0);
            assert_eq!(t.read("/a"), "x");
        }),
        Case::new("f051_append_ignores_the_offset", |t| {
            t.put("/a", "one");
            write(t, "/a", "two", "APPEND", 0);
            write(t, "/a", "!", "APPEND", 1);
            write(t, "/a", "?", "APPEND", 999);
            assert_eq!(t.read("/a"), "onetwo!?");
        }),
        Case::new("f052_truncate_makes_the_content_the_whole_file", |t| {
            t.put("/a", "a long content");
            write(t, "/a", "short", "TRUNCATE", 0);
            assert_eq!(t.read("/a"), "short");
            write(t, "/a", "", "TRUNCATE", 0);
            assert_eq!(t.stat("/a")["size"], 0);
        }),
        Case::new("f052_truncate_takes_no_offset", |t| {
            t.put("/a", "kept");
            for offset in [1, 4, 100] {
                assert_eq!(refused(t, "/a", "TRUNCATE", offset), "INVALID_OFFSET");
            }
            assert_eq!(refused(t, "/new", "TRUNCATE", 1), "INVALID_OFFSET");
            assert_eq!(t.read("/a"), "kept");
            assert!(!t.exists("/new"));
        }),
        Case::new("f053_overwrite_keeps_what_lies_behind", |t| {
            t.put("/a", "0123456789");
            write(t, "/a", "abc", "OVERWRITE", 3);
            assert_eq!(t.read("/a"), "012abc6789");
            write(t, "/a", "", "OVERWRITE", 5);
            assert_eq!(t.read("/a"), "012abc6789");
        }),
        Case::new("f009_f053_overwrite_counts_bytes", |t| {
            t.put("/a", "äöü");
            write(t, "/a", "oe", "OVERWRITE", 2);
            assert_eq!(t.read("/a"), "äoeü");
        }),
        Case::new("f054_overwrite_may_reach_beyond_the_end", |t| {
            t.put("/a", "12345");
            write(t, "/a", "abc", "OVERWRITE", 4);
            assert_eq!(t.read("/a"), "1234abc");
        }),
        Case::new("f055_a_negative_offset_whatever_the_mode", |t| {
            t.put("/a", "kept");
            for mode in ["APPEND", "OVERWRITE", "TRUNCATE"] {
                assert_eq!(refused(t, "/a", mode, -1), "INVALID_OFFSET", "{mode}");
                assert_eq!(refused(t, "/a", mode, i64::MIN), "INVALID_OFFSET", "{mode}");
            }
            assert_eq!(t.read("/a"), "kept");
        }),
        Case::new("f056_overwrite_behind_the_end", |t| {
            t.put("/a", "12345");
            for offset in [6, 99, i64::MAX] {
                assert_eq!(refused(t, "/a", "OVERWRITE", offset), "INVALID_OFFSET");
            }
            assert_eq!(t.read("/a"), "12345");
            write(t, "/a", "6", "OVERWRITE", 5);
            assert_eq!(t.read("/a"), "123456");
        }),
        Case::new("f056_overwrite_of_a_file_that_is_not_there", |t| {
            assert_eq!(refused(t, "/a", "OVERWRITE", 1), "INVALID_OFFSET");
            assert!(!t.exists("/a"));
            write(t, "/a", "new", "OVERWRITE", 0);
            assert_eq!(t.read("/a"), "new");
        }),
        Case::new("f057_an_unknown_mode", |t| {
            for mode in ["", "WRITE", "append ", "A"] {
                assert_eq!(refused(t, "/a", mode, 0), "INVALID_OFFSET", "{mode:?}");
            }
            assert!(!t.exists("/a"));
        }),
    ]
}

fn conflicts() -> Vec<Case> {
    vec![
        Case::new("f058_a_directory_is_not_written", |t| {
            t.put("/d/e/f", "x");
            for path in ["/d", "/d/e"] {
                for mode in ["APPEND", "OVERWRITE", "TRUNCATE"] {
                    assert_eq!(refused(t, path, mode, 0), "IS_DIRECTORY", "{path} {mode}");
                }
            }
            assert_eq!(t.paths("", 9), ["/d", "/d/e", "/d/e/f"]);
        }),
        Case::new("f058_a_look_alike_of_a_directory_is_written", |t| {
            t.put("/axb/c", "x");
            t.put("/a-b/c", "x");
            t.put("/a_b", "a file");
            t.put("/a.b", "a file");
            t.put("/ax", "a file");
            assert_eq!(t.read("/a_b"), "a file");
        }),
        Case::new("f059_a_parent_that_is_a_file", |t| {
            t.put("/f", "x");
            for path in ["/f/x", "/f/x/y/z"] {
                assert_eq!(refused(t, path, "APPEND", 0), "NOT_DIRECTORY", "{path}");
            }
            t.put("/g/h", "x");
            assert_eq!(refused(t, "/g/h/i", "TRUNCATE", 0), "NOT_DIRECTORY");
            assert_eq!(t.paths("", 9), ["/f", "/g", "/g/h"]);
        }),
        Case::new("f059_a_look_alike_of_a_parent_is_none", |t| {
            t.put("/a_b", "x");
            t.put("/axb/c", "below another name");
            t.put("/a_", "x");
            t.put("/a_bc/d", "below a longer name");
            assert_eq!(t.read("/axb/c"), "below another name");
        }),
        Case::new("f060_files_and_parents_are_made", |t| {
            t.append("/a/b/c/d.txt", "x");
            assert_eq!(t.paths("", 9), ["/a", "/a/b", "/a/b/c", "/a/b/c/d.txt"]);
        }),
        Case::new("f061_the_root_is_not_written", |t| {
            for mode in ["APPEND", "OVERWRITE", "TRUNCATE"] {
                assert_eq!(refused(t, "", mode, 0), "INVALID_PATH", "{mode}");
            }
        }),
        Case::new("f062_the_birth_is_kept_and_the_change_noted", |t| {
            t.put("/a", "one");
            let first = t.stat("/a");
            let mut last = first["updated_at"].clone();
            for mode in ["APPEND", "OVERWRITE", "TRUNCATE"] {
                write(t, "/a", "two", mode, 0);
                let now = t.stat("/a");
                assert_eq!(now["created_at"], first["created_at"], "{mode}");
                assert!(now["updated_at"].as_str() > last.as_str(), "{mode}: {now} after {last}");
                last = now["updated_at"].clone();
            }
        }),
        Case::new("f063_f123_a_refused_write_leaves_nothing_behind", |t| {
            t.put("/d/f", "kept");
            let before = t.ok("file_list", json!({ "depth": 9 }));
            let jobs = jobs(t);
            for (path, mode, offset) in
                [("/d", "APPEND", 0), ("/d/f/g", "APPEND", 0), ("/d/f", "OVERWRITE", 99)]
            {
                refused(t, path, mode, offset);
            }
            assert_eq!(t.ok("file_list", json!({ "depth": 9 })), before);
            assert_eq!(jobs, self::jobs(t));
        }),
        Case::new("f064_a_deleted_path_starts_anew", |t| {
            t.put("/a", "old");
            let old = t.stat("/a");
            t.delete("/a");
            t.append("/a", "new");
            let new = t.stat("/a");
            assert_eq!(t.read("/a"), "new");
            assert!(new["created_at"].as_str() > old["created_at"].as_str(), "{new} after {old}");
        }),
        Case::new("f064_a_path_may_be_deleted_and_made_many_times", |t| {
            for round in 0..4 {
                t.put("/a", &round.to_string());
                assert_eq!(t.read("/a"), round.to_string());
                t.delete("/a");
            }
            assert!(!t.exists("/a"));
        }),
    ]
}

/// How many jobs there are for the tenant.
fn jobs(t: &Tenant<'_>) -> String {
    let tenant = super::world::tenant_hash(&t.key);
    let sql = format!("SELECT count(*) FROM mcp_file_index_jobs WHERE apikey_hash = '{tenant}'");
    t.world.home.rows(&sql)[0][0].clone()
}

fn guards() -> Vec<Case> {
    vec![
        Case::new("f117_the_same_change_under_the_same_key_happens_once", |t| {
            let arguments = json!({ "path": "/a", "content": "x", "idempotency_key": "k1" });
            let first = t.ok("file_write", arguments.clone());
            assert_eq!(t.ok("file_write", arguments.clone()), first);
            assert_eq!(t.again().ok("file_write", arguments), first);
            assert_eq!(t.read("/a"), "x");
            t.ok("file_write", json!({ "path": "/a", "content": "x", "idempotency_key": "k2" }));
            assert_eq!(t.read("/a"), "xx");
        }),
        Case::new("f117_a_key_of_another_change_is_refused", |t| {
            t.ok("file_write", json!({ "path": "/a", "content": "x", "idempotency_key": "k" }));
            t.refused("file_write", json!({ "path": "/a", "content": "y", "idempotency_key": "k" }));
            t.refused("file_write", json!({ "path": "/b", "content": "x", "idempotency_key": "k" }));
            assert_eq!(t.read("/a"), "x");
            assert!(!t.exists("/b"));
        }),
        Case::new("f117_a_deletion_under_a_key_answers_the_same_twice", |t| {
            t.put("/a", "x");
            let arguments = json!({ "path": "/a", "idempotency_key": "d" });
            assert_eq!(t.ok("file_delete", arguments.clone())["deleted_count"], 1);
            assert_eq!(t.ok("file_delete", arguments)["deleted_count"], 1);
            t.put("/a", "again");
            t.ok("file_delete", json!({ "path": "/a", "idempotency_key": "d" }));
            assert_eq!(t.read("/a"), "again", "the change of that key has happened already");
        }),
        Case::new("f117_a_move_under_a_key_happens_once", |t| {
            t.put("/a", "x");
            let arguments = json!({ "from_path": "/a", "to_path": "/b", "idempotency_key": "m" });
            assert_eq!(t.ok("file_rename", arguments.clone())["moved_count"], 1);
            assert_eq!(t.ok("file_rename", arguments)["moved_count"], 1);
            assert_eq!(t.paths("", 1), ["/b"]);
        }),
        Case::new("f117_keys_have_bounds", |t| {
            for key in [String::new(), "k".repeat(201)] {
                let arguments = json!({ "path": "/a", "content": "x", "idempotency_key": key });
                t.fails("file_write", arguments, "INVALID_QUERY");
            }
            t.ok("file_write", json!({ "path": "/a", "content": "x", "idempotency_key": "k".repeat(200) }));
        }),
        Case::new("f121_a_change_that_expects_another_content_is_refused", |t| {
            let written = t.put("/a", "one");
            t.put("/a", "two");
            let stale = written["content_hash"].clone();
            let arguments =
                json!({ "path": "/a", "content": "three", "mode": "TRUNCATE", "expected_hash": stale });
            t.fails("file_write", arguments, "PRECONDITION_FAILED");
            t.fails("file_delete", json!({ "path": "/a", "expected_hash": stale }), "PRECONDITION_FAILED");
            assert_eq!(t.read("/a"), "two");
            let current = t.stat("/a")["content_hash"].clone();
            let arguments =
                json!({ "path": "/a", "content": "three", "mode": "TRUNCATE", "expected_hash": current });
            t.ok("file_write", arguments);
            assert_eq!(t.read("/a"), "three");
        }),
        Case::new("f121_a_file_that_must_be_new", |t| {
            let arguments = json!({ "path": "/a", "content": "x", "must_be_new": true });
            t.ok("file_write", arguments.clone());
            t.fails("file_write", arguments, "PRECONDITION_FAILED");
            assert_eq!(t.read("/a"), "x");
        }),
        Case::new("f121_a_digest_that_is_none", |t| {
            let arguments = json!({ "path": "/a", "content": "x", "expected_hash": "nonsense" });
            t.fails("file_write", arguments, "INVALID_QUERY");
        }),
    ]
}
