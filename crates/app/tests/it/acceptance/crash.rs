//! The short version of `cargo xtask crash`.

use std::path::Path;

use testkit::scenario::{Crash, crash};

use super::BINARY;

#[test]
fn killing_while_indexing_loses_nothing() {
    let plan = Crash { kills: 5, files: 80, seed: 23 };
    let report = crash(BINARY.as_ref(), &plan, &check, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.hits, 5);
}

/// What is wrong with a database after a crash.
fn check(path: &Path) -> Result<(), String> {
    let text = |error: rusqlite::Error| format!("{}: {error}", path.display());
    let database = rusqlite::Connection::open(path).map_err(text)?;
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(text)?;
    if verdict != "ok" {
        return Err(verdict);
    }
    let tables: i64 = database
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE name IN ('documents', 'chunks', 'spans')",
            [],
            |row| row.get(0),
        )
        .map_err(text)?;
    if tables < 3 {
        return Ok(()); // Killed before there was anything to keep.
    }
    for (problem, query) in [
        (
            "a document twice",
            "SELECT count(*) FROM (SELECT 1 FROM documents WHERE NOT deleted GROUP BY rel_path HAVING count(*) > 1)",
        ),
        (
            "a live representation of a dead document",
            "SELECT count(*) FROM representations r JOIN documents d USING (doc_id) WHERE d.deleted AND NOT r.deleted",
        ),
        (
            "a live chunk of a dead representation",
            "SELECT count(*) FROM chunks c JOIN representations r USING (rep_id) WHERE r.deleted AND NOT c.deleted",
        ),
        (
            "a chunk twice",
            "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE NOT deleted GROUP BY rep_id, ordinal HAVING count(*) > 1)",
        ),
        (
            "a live chunk without a span",
            "SELECT count(*) FROM chunks c WHERE NOT c.deleted AND NOT EXISTS (SELECT 1 FROM spans s WHERE s.chunk_id = c.chunk_id)",
        ),
    ] {
        let count: i64 = database.query_row(query, [], |row| row.get(0)).map_err(text)?;
        if count > 0 {
            return Err(format!("{problem}: {count} times"));
        }
    }
    Ok(())
}
