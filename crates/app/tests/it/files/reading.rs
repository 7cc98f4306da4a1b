//! Lines 41 to 48: `file_read`.

use serde_json::json;

use super::Case;

pub(super) const SETTINGS: &str = "";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f041_the_content_and_its_encoding", |t| {
            t.put("/a", "hello");
            let read = t.ok("file_read", json!({ "path": "/a" }));
            assert_eq!((&read["content"], &read["content_encoding"]), (&json!("hello"), &json!("utf-8")));
        }),
        Case::new("f042_minus_one_reads_to_the_end", |t| {
            t.put("/a", "hello");
            assert_eq!(t.range("/a", 0, -1), "hello");
            assert_eq!(t.range("/a", 2, -1), "llo");
        }),
        Case::new("f042_a_length_of_zero_reads_nothing", |t| {
            t.put("/a", "hello");
            assert_eq!(t.range("/a", 0, 0), "");
            assert_eq!(t.range("/a", 3, 0), "");
        }),
        Case::new("f042_a_length_beyond_the_end_reads_to_the_end", |t| {
            t.put("/a", "hello");
            assert_eq!(t.range("/a", 3, 100), "lo");
            assert_eq!(t.range("/a", 0, i64::MAX), "hello");
            assert_eq!(t.range("/a", 4, i64::MAX), "o");
        }),
        Case::new("f043_at_the_end_and_beyond_there_is_nothing", |t| {
            t.put("/a", "hello");
            for offset in [5, 6, 99, i64::MAX] {
                assert_eq!(t.range("/a", offset, -1), "", "{offset}");
                assert_eq!(t.range("/a", offset, 10), "", "{offset}");
            }
        }),
        Case::new("f044_a_negative_offset", |t| {
            t.put("/a", "hello");
            t.fails("file_read", json!({ "path": "/a", "offset": -1 }), "INVALID_OFFSET");
            t.fails("file_read", json!({ "path": "/a", "offset": i64::MIN }), "INVALID_OFFSET");
        }),
        Case::new("f044_a_length_below_minus_one", |t| {
            t.put("/a", "hello");
            t.fails("file_read", json!({ "path": "/a", "length": -2 }), "INVALID_OFFSET");
            t.fails("file_read", json!({ "path": "/a", "length": i64::MIN }), "INVALID_OFFSET");
        }),
        Case::new("f045_a_directory_is_not_read", |t| {
            t.put("/d/a", "x");
            t.fails("file_read", json!({ "path": "/d" }), "IS_DIRECTORY");
        }),
        Case::new("f045_f046_a_look_alike_of_a_directory_is_not_found", |t| {
            t.put("/axb/c", "x");
            t.fails("file_read", json!({ "path": "/a_b" }), "NOT_FOUND");
        }),
        Case::new("f046_nothing_there", |t| {
            t.put("/a", "x");
            for path in ["/b", "/a/b", "/A"] {
                t.fails("file_read", json!({ "path": path }), "NOT_FOUND");
            }
        }),
        Case::new("f046_f074_a_deleted_file_is_not_found", |t| {
            t.put("/a", "x");
            t.delete("/a");
            t.fails("file_read", json!({ "path": "/a" }), "NOT_FOUND");
        }),
        Case::new("f047_the_root_is_not_read", |t| {
            t.fails("file_read", json!({ "path": "" }), "INVALID_PATH");
            t.put("/a", "x");
            t.fails("file_read", json!({ "path": "" }), "INVALID_PATH");
        }),
        Case::new("f047_a_slash_is_not_the_root_here", |t| {
            t.fails("file_read", json!({ "path": "/" }), "INVALID_PATH");
            t.fails("file_stat", json!({ "path": "/" }), "INVALID_PATH");
        }),
        Case::new("f048_the_ranges_of_passages_can_be_read", |t| {
            let text: String =
                (0..200).map(|n| format!("Paragraph {n} speaks of zeppelins — again.\n\n")).collect();
            t.put("/zeppelin.md", &text);
            let hits = t.search_with(json!({ "query": "zeppelins", "limit": 20 }));
            assert!(hits.len() > 1, "{hits:?}");
            for hit in hits {
                let (start, end) = (
                    hit["file_seek_start_bytes"].as_i64().unwrap(),
                    hit["file_seek_end_bytes"].as_i64().unwrap(),
                );
                assert_eq!(
                    t.range("/zeppelin.md", start, end - start),
                    hit["chunk_content"].as_str().unwrap()
                );
            }
        }),
        Case::new("f009_f041_a_cut_character_is_replaced_and_said_so", |t| {
            t.put("/a", "é");
            let read = t.ok("file_read", json!({ "path": "/a", "offset": 1 }));
            assert_eq!((&read["content"], &read["is_lossy"]), (&json!("\u{fffd}"), &json!(true)));
            let whole = t.ok("file_read", json!({ "path": "/a" }));
            assert!(whole["is_lossy"].is_null(), "{whole}");
        }),
        Case::new("f009_f041_every_offset_of_a_file_reads_exactly", |t| {
            let text = "abcdefghijklmnopqrstuvwxyz";
            t.put("/a", text);
            for offset in 0..=26 {
                assert_eq!(t.range("/a", offset, 5), &text[offset as usize..(offset as usize + 5).min(26)]);
            }
        }),
        Case::new("f042_numbers_may_be_written_as_json_likes", |t| {
            t.put("/a", "hello");
            let read = t.ok("file_read", json!({ "path": "/a", "offset": 1.0, "length": 2e0 }));
            assert_eq!(read["content"], "el");
        }),
    ]
}
