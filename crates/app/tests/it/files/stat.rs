//! Lines 35 to 40: `file_stat`.

use serde_json::json;

use super::Case;

pub(super) const SETTINGS: &str = "";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f035_the_five_fields", |t| {
            t.put("/a", "12345");
            let stat = t.stat("/a");
            let names = ["exists", "type", "size", "created_at", "updated_at"];
            for name in names {
                assert!(!stat[name].is_null(), "{name}: {stat}");
            }
        }),
        Case::new("f036_nothing_there_is_no_failure", |t| {
            for path in ["/nope", "/nope/deeper", "/a.b"] {
                let stat = t.stat(path);
                assert_eq!((&stat["exists"], &stat["size"]), (&json!(false), &json!(0)), "{stat}");
                assert_eq!(stat["type"], "");
            }
        }),
        Case::new("f036_below_a_file_there_is_nothing", |t| {
            t.put("/a", "x");
            assert!(!t.exists("/a/b"));
        }),
        Case::new("f036_a_deleted_file_is_not_there", |t| {
            t.put("/a", "x");
            t.delete("/a");
            assert!(!t.exists("/a"));
        }),
        Case::new("f037_a_file_with_its_metadata", |t| {
            t.put("/d/a", "12345");
            let stat = t.stat("/d/a");
            assert_eq!((&stat["type"], &stat["size"]), (&json!("FILE"), &json!(5)));
            assert!(stat["created_at"].as_str() <= stat["updated_at"].as_str(), "{stat}");
        }),
        Case::new("f037_an_empty_file_is_a_file", |t| {
            t.put("/a", "");
            let stat = t.stat("/a");
            assert_eq!(
                (&stat["exists"], &stat["type"], &stat["size"]),
                (&json!(true), &json!("FILE"), &json!(0))
            );
        }),
        Case::new("f038_a_directory_is_what_has_files_below_it", |t| {
            t.put("/a/b/c", "x");
            for path in ["/a", "/a/b"] {
                assert_eq!(t.stat(path)["type"], "DIRECTORY", "{path}");
            }
        }),
        Case::new("f038_a_beginning_of_a_name_is_no_directory", |t| {
            t.put("/abc/d", "x");
            assert!(!t.exists("/ab") && !t.exists("/a"));
        }),
        Case::new("f038_an_underscore_is_no_wildcard", |t| {
            t.put("/axb/c", "x");
            assert!(!t.exists("/a_b"));
            t.put("/a_b/c", "x");
            assert_eq!(t.stat("/a_b")["type"], "DIRECTORY");
        }),
        Case::new("f038_a_dot_is_no_wildcard", |t| {
            t.put("/a-b/c", "x");
            assert!(!t.exists("/a.b"));
        }),
        Case::new("f039_a_directory_has_no_size_and_no_birth", |t| {
            t.put("/d/a", "12345");
            let stat = t.stat("/d");
            assert_eq!((&stat["size"], &stat["created_at"]), (&json!(0), &json!("0001-01-01T00:00:00Z")));
        }),
        Case::new("f039_a_directory_is_as_new_as_its_newest_file", |t| {
            t.put("/d/a", "1");
            t.put("/d/e/b", "2");
            let newest = t.stat("/d/e/b")["updated_at"].clone();
            assert_eq!(t.stat("/d")["updated_at"], newest);
            t.append("/d/a", "3");
            let newest = t.stat("/d/a")["updated_at"].clone();
            assert_eq!(t.stat("/d")["updated_at"], newest);
            t.delete("/d/a");
            let newest = t.stat("/d/e/b")["updated_at"].clone();
            assert_eq!(t.stat("/d")["updated_at"], newest);
        }),
        Case::new("f040_without_a_path_it_is_the_root", |t| {
            let root = t.ok("file_stat", json!({}));
            assert_eq!(root["type"], "DIRECTORY");
            t.put("/d/a", "x");
            let newest = t.stat("/d/a")["updated_at"].clone();
            assert_eq!(t.ok("file_stat", json!({}))["updated_at"], newest);
        }),
        Case::new("f035_the_digest_changes_with_the_content_only", |t| {
            t.put("/a", "same");
            t.put("/b", "same");
            let digest = t.stat("/a")["content_hash"].clone();
            assert_eq!(digest.as_str().map(str::len), Some(64));
            assert_eq!(t.stat("/b")["content_hash"], digest);
            t.rename("/b", "/c");
            assert_eq!(t.stat("/c")["content_hash"], digest);
            t.append("/c", "!");
            assert_ne!(t.stat("/c")["content_hash"], digest);
        }),
    ]
}
