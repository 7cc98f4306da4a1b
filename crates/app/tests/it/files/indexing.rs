//! Lines 123 to 130: jobs, chunks and their rows.

use serde_json::json;

use super::deleting::paths_of_jobs;
use super::world::tenant_hash;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

/// Rows about the tenant: `where` goes on after the tenant.
fn rows(t: &Tenant<'_>, columns: &str, table: &str, rest: &str) -> Vec<Vec<String>> {
    let tenant = tenant_hash(&t.key);
    t.world.home.rows(&format!("SELECT {columns} FROM {table} WHERE apikey_hash = '{tenant}' {rest}"))
}

fn chunk_count(t: &Tenant<'_>) -> usize {
    rows(t, "id", "mcp_file_chunks", "").len()
}

/// Every chunk is the slice of its file that it says it is.
fn check_chunks(t: &mut Tenant<'_>) {
    let chunks = rows(
        t,
        "file_path, start_byte, end_byte, chunk_content, content_hash, chunk_index",
        "mcp_file_chunks",
        "ORDER BY file_path, chunk_index",
    );
    assert!(!chunks.is_empty());
    for chunk in chunks {
        let (start, end): (i64, i64) = (chunk[1].parse().unwrap(), chunk[2].parse().unwrap());
        let size = t.stat(&chunk[0])["size"].as_i64().expect("a size");
        assert!(0 <= start && start < end && end <= size, "{chunk:?} of {size} bytes");
        assert_eq!(t.range(&chunk[0], start, end - start), chunk[3], "{chunk:?}");
        assert_eq!(chunk[4].len(), 64, "{chunk:?}");
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f123_every_change_leaves_its_jobs", |t| {
            t.put("/a", "one");
            assert_eq!(paths_of_jobs(t, "UPSERT"), ["/a"]);
            t.rename("/a", "/b");
            assert_eq!(paths_of_jobs(t, "DELETE"), ["/a"]);
            assert_eq!(paths_of_jobs(t, "UPSERT"), ["/a", "/b"]);
            t.delete("/b");
            assert_eq!(paths_of_jobs(t, "DELETE"), ["/a", "/b"]);
        }),
        Case::new("f123_f063_a_refused_change_leaves_none", |t| {
            t.refused(
                "file_write",
                json!({ "path": "/a", "content": "x", "mode": "OVERWRITE", "offset": 9 }),
            );
            t.refused("file_delete", json!({ "path": "/a" }));
            t.refused("file_rename", json!({ "from_path": "/a", "to_path": "/b" }));
            assert!(rows(t, "id", "mcp_file_index_jobs", "").is_empty());
        }),
        Case::new("f124_jobs_end_as_done", |t| {
            t.put("/a", "some words");
            t.put("/b", "other words");
            t.delete("/b");
            t.wait_indexed();
            for job in rows(t, "operation, status", "mcp_file_index_jobs", "") {
                assert!(["UPSERT", "DELETE"].contains(&job[0].as_str()), "{job:?}");
                assert_eq!(job[1], "done", "{job:?}");
            }
        }),
        Case::new("f126_many_changes_of_a_file_end_in_its_last_state", |t| {
            for n in 0..12 {
                t.put("/a.md", &format!("state number {n} of the file"));
            }
            t.wait_indexed();
            let chunks = rows(t, "chunk_content", "mcp_file_chunks", "");
            assert_eq!(chunks, [["state number 11 of the file"]]);
        }),
        Case::new("f126_f127_deleted_and_made_again", |t| {
            for n in 0..4 {
                t.put("/a.md", &format!("round {n}"));
                t.delete("/a.md");
            }
            t.put("/a.md", "the last one");
            t.wait_indexed();
            assert_eq!(rows(t, "chunk_content", "mcp_file_chunks", ""), [["the last one"]]);
        }),
        Case::new("f127_a_shorter_file_has_fewer_chunks", |t| {
            t.put("/a.md", &"A sentence of some length, again and again.\n\n".repeat(400));
            t.wait_indexed();
            let many = chunk_count(t);
            assert!(many > 3, "{many}");
            t.put("/a.md", "short");
            t.wait_indexed();
            assert_eq!(chunk_count(t), 1);
            check_chunks(t);
        }),
        Case::new("f127_a_file_that_is_gone_has_no_rows", |t| {
            t.put("/d/a", "words");
            t.put("/d/b", "words");
            t.wait_indexed();
            assert_eq!(chunk_count(t), 2);
            t.ok("file_delete", json!({ "path": "/d", "recursive": true }));
            t.wait_indexed();
            assert_eq!(chunk_count(t), 0);
        }),
        Case::new("f127_a_moved_file_has_its_rows_at_the_new_path", |t| {
            t.put("/a", "words");
            t.wait_indexed();
            t.rename("/a", "/b");
            t.wait_indexed();
            assert_eq!(rows(t, "file_path", "mcp_file_chunks", ""), [["/b"]]);
        }),
        Case::new("f127_an_empty_file_has_no_chunks_and_is_no_trouble", |t| {
            t.put("/a", "");
            t.put("/blank", " \n\t\n");
            t.wait_indexed();
            assert_eq!(chunk_count(t), 0);
            assert!(rows(t, "id", "mcp_file_index_jobs", "AND status = 'failed'").is_empty());
        }),
        Case::new("f129_chunks_slice_their_files_exactly", |t| {
            let accents = "Größe, naïve café, 你好世界 und 🦀 dazu.\n\n".repeat(300);
            t.put("/accents.md", &accents);
            t.put("/one-line.txt", &"äöü ".repeat(3000));
            t.put("/code.rs", &"fn one() {\n    two();\n}\n\n".repeat(400));
            t.put("/crlf.txt", &"a line\r\nanother\r\n\r\n".repeat(400));
            t.wait_indexed();
            check_chunks(t);
        }),
        Case::new("f129_chunks_follow_an_append_and_an_overwrite", |t| {
            t.put("/a.md", &"The first part of the text.\n\n".repeat(200));
            t.wait_indexed();
            t.append("/a.md", &"The second part, with ümlauts.\n\n".repeat(100));
            t.wait_indexed();
            check_chunks(t);
            t.ok(
                "file_write",
                json!({ "path": "/a.md", "content": "OVERWRITTEN", "mode": "OVERWRITE", "offset": 3000 }),
            );
            t.wait_indexed();
            check_chunks(t);
        }),
        Case::new("f130_rows_name_model_and_tokenizer", |t| {
            t.put("/a.md", "several words to be counted");
            t.wait_indexed();
            let tenant = tenant_hash(&t.key);
            let joined = t.world.home.rows(&format!(
                "SELECT e.model, b.tokenizer, b.token_count FROM mcp_file_chunks c \
                 JOIN mcp_file_chunk_embeddings e ON e.chunk_id = c.id \
                 JOIN mcp_file_chunk_bm25 b ON b.chunk_id = c.id WHERE c.apikey_hash = '{tenant}'"
            ));
            assert_eq!(joined.len(), 1, "{joined:?}");
            assert!(!joined[0][0].is_empty() && !joined[0][1].is_empty(), "{joined:?}");
            assert!(joined[0][2].parse::<u32>().unwrap() >= 4, "{joined:?}");
        }),
        Case::new("f128_f131_a_text_that_no_column_takes_is_indexed", |t| {
            t.put("/nul.txt", "before\0after the spinet");
            t.wait_indexed();
            assert!(rows(t, "id", "mcp_file_index_jobs", "AND status = 'failed'").is_empty());
            assert_eq!(t.found("spinet"), ["/nul.txt"]);
        }),
    ]
}
