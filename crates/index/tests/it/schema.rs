//! The catalog as the specification describes it, and how strangers are treated.

use index::{Access, BoughtKind, BoughtPart, IndexError};
use model::{DocStatus, DocType};

use crate::support::{State, apply, delete, hash, produced, put, unread};

fn columns(state: &State, table: &str) -> Vec<String> {
    let sql = state.sql();
    let mut statement = sql.prepare("SELECT name FROM pragma_table_xinfo(?1)").unwrap();
    statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn has(state: &State, table: &str, wanted: &[&str]) {
    let found = columns(state, table);
    for name in wanted {
        assert!(found.iter().any(|column| column == name), "{table}.{name}: {found:?}");
    }
}

#[test]
fn d058_d059_files_are_where_they_belong() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha"), put("a.rs", "beta")]);
    index.publish().unwrap();
    for name in ["meta.sqlite", "vectors_text.hnsw", "vectors_code.hnsw", "lexical/meta.json"] {
        assert!(state.dir.join(name).is_file(), "{name}");
    }
}

#[test]
fn d070_documents() {
    let state = State::new();
    let index = state.writer();
    let wanted = [
        "doc_id",
        "rel_path",
        "source_type",
        "doc_type",
        "size_bytes",
        "mtime_unix",
        "content_hash",
        "status",
        "error",
        "reason_code",
        "reason_json",
        "deleted",
        "root_id",
        "mtime_ns",
        "inode",
        "generation",
    ];
    has(&state, "documents", &wanted);
    apply(&index, vec![put("dir/a.md", "alpha")]);
    let row: (String, String, String, i64, String, i64) = state
        .sql()
        .query_row(
            "SELECT rel_path, source_type, doc_type, mtime_unix, status, length(content_hash) FROM documents",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
        )
        .unwrap();
    assert_eq!(row, ("dir/a.md".into(), "file".into(), "md".into(), 1_700_000_000, "ok".into(), 32));
    let again = state.beside().execute(
        "INSERT INTO documents (root_id, rel_path, source_type, doc_type, size_bytes, mtime_unix, mtime_ns, inode, status, generation) \
         VALUES (0, 'dir/a.md', 'file', 'md', 0, 0, 0, 0, 'ok', 1)",
        [],
    );
    assert!(again.is_err(), "rel_path is unique in its root");
}

/// The specification's column is there for other programs; what is stored is the code and the facts.
#[test]
fn d102_a_reason_is_a_code_and_facts() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![unread("a.md"), put("b.md", "beta")]);
    let rows: Vec<(Option<String>, Option<String>, Option<String>)> = state
        .sql()
        .prepare("SELECT reason_code, reason_json, error FROM documents ORDER BY rel_path")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let json = r#"{"why":"not_tried","detail":"unreadable"}"#;
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(rows[0], (some("EXTRACT_FAILED"), some(json), Some(format!("EXTRACT_FAILED: {json}"))));
    assert_eq!(rows[1], (None, None, None));
    // Facts of a later version of the same format: the code is still known.
    state
        .beside()
        .execute("UPDATE documents SET reason_json = '{\"why\":\"dull\"}' WHERE reason_code IS NOT NULL", [])
        .unwrap();
    let reason = index.document("a.md").unwrap().unwrap().document.reason.unwrap();
    assert_eq!(reason.code(), model::ErrorCode::ExtractFailed);
}

#[test]
fn d071_d074_d075_representations_chunks_and_spans() {
    let state = State::new();
    let index = state.writer();
    has(
        &state,
        "representations",
        &["rep_id", "doc_id", "rep_type", "rep_hash", "created_unix", "meta_json", "deleted"],
    );
    has(
        &state,
        "chunks",
        &[
            "chunk_id",
            "rep_id",
            "ordinal",
            "text",
            "text_hash",
            "tokens_est",
            "index_kind",
            "embedding_status",
            "embedding_error",
            "deleted",
        ],
    );
    has(&state, "spans", &["chunk_id", "span_kind", "start", "end", "extra_json"]);
    apply(&index, vec![put("a.rs", "alpha\n\nbeta\ngamma")]);
    let sql = state.sql();
    let row: (String, String, i64, i64, String) = sql
        .query_row(
            "SELECT c.index_kind, c.embedding_status, s.start, s.\"end\", s.span_kind \
             FROM chunks c JOIN spans s USING (chunk_id) WHERE c.ordinal = 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )
        .unwrap();
    assert_eq!(row, ("code".into(), "ok".into(), 3, 4, "lines".into()));
    let key: i64 = sql
        .query_row(
            "SELECT count(*) FROM pragma_table_info('chunks') WHERE name = 'chunk_id' AND pk = 1",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(key, 1);
    let broken: i64 =
        sql.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(broken, 0);
    has(&state, "embeddings", &["model", "text_hash", "vector"]);
    has(&state, "outlines", &["doc_id", "content_hash", "packed"]);
}

#[test]
fn d076_settings() {
    let state = State::new();
    let index = state.writer();
    let get = |key: &str| index.setting(key).unwrap().unwrap_or_else(|| panic!("{key} exists"));
    assert_eq!(get("protocol_version"), "2025-11-25");
    assert_eq!(get("index_format_version"), "5");
    assert_eq!(get("embed_text_model"), "buckets-1");
    assert_eq!(get("embed_code_dim"), "24");
    assert_eq!(get("corpus_id").len(), 32);
    for key in ["ocr_model", "stt_provider", "stt_model", "chat_model", "embed_text_dim", "embed_code_model"]
    {
        get(key);
    }
    index.set_setting("chat_model", "some-model").unwrap();
    assert_eq!(get("chat_model"), "some-model");
    let mode: String = state.sql().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn corpus_ids_differ_and_stay() {
    let (one, two) = (State::new(), State::new());
    let id = one.writer().setting("corpus_id").unwrap();
    assert_ne!(id, two.writer().setting("corpus_id").unwrap());
    assert_eq!(id, one.writer().setting("corpus_id").unwrap());
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let state = State::new();
    apply(&state.writer(), vec![put("a.md", "alpha")]);
    state.edit("UPDATE settings SET value = '6' WHERE key = 'index_format_version'");
    let before = std::fs::read(state.dir.join("meta.sqlite")).unwrap();
    for access in [Access::Writer, Access::Reader] {
        match state.try_open(access) {
            Err(IndexError::Newer { found: 6, supported: 5 }) => {}
            other => panic!("{:?}", other.err()),
        }
    }
    assert!(std::fs::read(state.dir.join("meta.sqlite")).unwrap() == before);
}

/// Format 1 had a table of symbols that nothing filled, and no outlines; format 2 had no checksums; format 3 had sentences as
/// reasons, and nothing of what was extracted.
#[test]
fn an_older_format_is_migrated_and_keeps_what_it_holds() {
    for version in [1, 2, 3] {
        migrates_from(version);
    }
}

fn migrates_from(version: u32) {
    let state = State::new();
    apply(&state.writer(), vec![put("a.md", "alpha"), unread("b.pdf")]);
    let outlines = match version {
        1 => "DROP TABLE outlines; CREATE TABLE symbols (symbol_id INTEGER PRIMARY KEY);",
        _ => "",
    };
    let sentence = "NO_TEXT: the pdf file holds no text; a scan needs OCR (ingest.pdf.mode)";
    state.edit(&format!(
        "{outlines} DROP TABLE produced_texts; DROP TABLE bought_parts; DROP TABLE unread_parts; \
         ALTER TABLE documents DROP COLUMN error; ALTER TABLE documents DROP COLUMN reason_code; \
         ALTER TABLE documents DROP COLUMN reason_json; ALTER TABLE documents ADD COLUMN error TEXT; \
         UPDATE documents SET error = '{sentence}', status = 'skipped' WHERE rel_path = 'b.pdf'; \
         UPDATE settings SET value = '{version}' WHERE key = 'index_format_version';"
    ));
    if version < 3 {
        state.unseal();
    }
    let shown = |index: &index::Index| {
        let row = index.document("b.pdf").unwrap().unwrap();
        (row.status, row.document.reason.unwrap().to_string())
    };
    let reader = state.try_open(Access::Reader).unwrap();
    assert_eq!(shown(&reader), (DocStatus::Skipped, sentence.to_owned()));
    assert_eq!(reader.produced_text(&hash("alpha"), "x").unwrap(), None);
    assert_eq!(reader.outlines(&["a.md".to_owned()], "x").unwrap(), [None], "a reader does not migrate");
    drop(reader);
    let index = state.writer();
    assert_eq!(index.replaced(), None);
    assert_eq!(index.setting("index_format_version").unwrap().as_deref(), Some("5"));
    assert!(index.document("a.md").unwrap().is_some());
    assert_eq!(shown(&index), (DocStatus::Skipped, sentence.to_owned()), "until the file is looked at again");
    let known = index.known_files().unwrap();
    assert_eq!((known["b.pdf"].inode, known["b.pdf"].mtime_ns % 10), (0, 0), "which the next scan does");
    assert_eq!(known["a.md"].inode, 7, "and not for those that can be searched");
    apply(&index, vec![produced("c.pdf", "alpha\n\nbeta", "extract-1")]);
    assert!(index.produced_text(&hash("alpha\n\nbeta"), "extract-1").unwrap().is_some());
    index.verify().unwrap();
    assert_eq!(index.unoutlined(model::DocId(0), 10).unwrap().len(), 2);
    has(&state, "outlines", &["doc_id", "content_hash", "packed"]);
}

/// Format 4 kept nothing of what was recognised, and did not know what is unread.
#[test]
fn format_4_is_migrated_and_keeps_what_it_holds() {
    let state = State::new();
    apply(&state.writer(), vec![put("a.md", "alpha"), produced("c.pdf", "beta", "extract-1")]);
    state.edit(
        "DROP TABLE bought_parts; DROP TABLE unread_parts; \
         UPDATE settings SET value = '4' WHERE key = 'index_format_version';",
    );
    let reader = state.try_open(Access::Reader).unwrap();
    assert!(reader.bought_parts(&hash("alpha"), BoughtKind::Annotation).unwrap().is_empty());
    assert_eq!(reader.counts().unwrap().unread, 0, "a reader does not migrate");
    drop(reader);
    let index = state.writer();
    assert_eq!(index.replaced(), None);
    assert_eq!(index.setting("index_format_version").unwrap().as_deref(), Some("5"));
    assert!(index.produced_text(&hash("beta"), "extract-1").unwrap().is_some());
    let part = BoughtPart { producer: "m".to_owned(), part: 0, text: "kept".to_owned() };
    index.keep_parts("a.md", &hash("alpha"), BoughtKind::Annotation, std::slice::from_ref(&part)).unwrap();
    assert_eq!(index.bought_parts(&hash("alpha"), BoughtKind::Annotation).unwrap(), [part]);
    index.verify().unwrap();
}

/// The catalog of a small folder as version 0.4.0 wrote it: two documents that can be searched, and three that cannot.
#[test]
fn a_catalog_that_an_older_program_wrote_is_migrated() {
    let state = State::new();
    std::fs::create_dir_all(&state.dir).unwrap();
    let packed = include_bytes!("../fixtures/format-3.sqlite.zst");
    std::fs::write(state.catalog(), zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let reasons = |index: &index::Index| -> Vec<(String, DocStatus, Option<String>)> {
        let (_, rows) = index.list(&|_| true, 10, 0).unwrap();
        let shown = |row: index::DocumentRow| {
            (row.path.clone(), row.status, row.reason.as_ref().map(ToString::to_string))
        };
        rows.into_iter().map(shown).collect()
    };
    let damaged = "EXTRACT_FAILED: the docx file is damaged (the zip directory is missing); open it in its own program \
                   and save it again";
    let link = "SYMLINK_SKIPPED: a symbolic link is not followed (ingest.follow_symlinks)";
    let expected = [
        ("broken.docx", DocStatus::Error, Some(damaged)),
        ("data.bin", DocStatus::Skipped, Some("BINARY_SKIPPED: the content is binary")),
        ("letter.docx", DocStatus::Ok, None),
        ("link", DocStatus::Skipped, Some(link)),
        ("notes.md", DocStatus::Ok, None),
    ]
    .map(|(path, status, reason)| (path.to_owned(), status, reason.map(str::to_owned)));
    assert_eq!(reasons(&state.reader()), expected, "by a reader, which changes nothing");
    let index = state.writer();
    assert_eq!(index.replaced(), None);
    assert_eq!(reasons(&index), expected);
    assert!(index.list(&|_| true, 10, 0).unwrap().1.iter().all(|row| row.status == row.document.status()));
    index.repair(&|_, _| {}).unwrap();
    assert_eq!(
        crate::support::paths(&crate::support::lexical(&index.snapshot(), "heron", None)),
        ["notes.md"]
    );
    index.check().unwrap();
    index.verify().unwrap();
    drop(index);
    assert_eq!(reasons(&state.writer()), expected, "once is enough");
}

/// A newer program reads more out of a text than the one that made its outline.
#[test]
fn outlines_by_other_rules_are_made_anew() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha")]);
    index.outline_by("1").unwrap();
    let missing = index.unoutlined(model::DocId(0), 10).unwrap();
    index.put_outlines(&[(missing[0].doc_id, missing[0].content_hash, model::Outline::default())]).unwrap();
    index.set_outlined_up_to(index.generation()).unwrap();
    let paths = ["a.md".to_owned()];
    index.outline_by("1").unwrap();
    assert!(index.outlines(&paths, "x").unwrap()[0].is_some());
    assert_eq!(index.unoutlined(model::DocId(0), 10).unwrap(), []);
    index.outline_by("2").unwrap();
    assert_eq!(index.outlines(&paths, "x").unwrap(), [None]);
    assert_eq!(index.unoutlined(model::DocId(0), 10).unwrap(), missing);
}

/// Facts are kept by the content they were made of, in a table that is only there once somebody wants them.
#[test]
fn facts_are_kept_by_their_content() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.py", "alpha"), put("b.py", "beta")]);
    assert_eq!(columns(&state, "facts"), Vec::<String>::new());
    assert_eq!(index.documents_with_facts().unwrap(), []);
    let paths = ["a.py".to_owned(), "b.py".to_owned()];
    assert_eq!(index.facts(&paths).unwrap(), [None, None]);
    index.facts_by("1").unwrap();
    let missing = index.without_facts(model::DocId(0), 10).unwrap();
    assert_eq!(missing.len(), 2);
    let facts = model::FileFacts { language: "python".into(), ..model::FileFacts::default() };
    let rows: Vec<_> = missing.iter().map(|row| (row.doc_id, row.content_hash, facts.clone())).collect();
    index.put_facts(&rows).unwrap();
    index.set_facts_up_to(index.generation()).unwrap();
    assert_eq!(index.facts(&paths).unwrap(), [Some(facts.clone()), Some(facts.clone())]);
    // Another content has none yet; a file that is gone has none any more.
    apply(&index, vec![put("a.py", "another"), delete("b.py")]);
    assert_eq!(index.facts(&paths).unwrap(), [None, None]);
    assert_eq!(index.documents_with_facts().unwrap(), []);
    assert_eq!(index.without_facts(model::DocId(0), 10).unwrap().len(), 1);
    index.set_facts_up_to(index.generation()).unwrap();
    let left: i64 = state.sql().query_row("SELECT count(*) FROM facts", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
    index.facts_by("2").unwrap();
    let left: i64 = state.sql().query_row("SELECT count(*) FROM facts", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "made by other rules");
}

#[test]
fn an_index_that_is_not_there_is_missing() {
    let state = State::new();
    assert!(matches!(state.try_open(Access::Reader), Err(IndexError::Missing { .. })));
    assert!(!state.dir.exists());
    // A file in the way of the directory cannot be written to.
    std::fs::write(&state.dir, "in the way").unwrap();
    assert!(matches!(state.try_open(Access::Writer), Err(IndexError::NotWritable { .. })));
}

#[test]
fn counts_tell_what_is_there() {
    let state = State::new();
    let index = state.writer();
    apply(&index, vec![put("a.md", "alpha\n\nbeta"), put("b.rs", "gamma"), put("c.md", "delta")]);
    apply(&index, vec![unread("d.md"), delete("c.md")]);
    assert_eq!(index.counts().unwrap().embedded, 0, "no vector can be found before it is published");
    index.publish().unwrap();
    let counts = index.counts().unwrap();
    assert_eq!((counts.documents, counts.deleted), (3, 1));
    assert_eq!((counts.by_type[&DocType::Md], counts.by_type[&DocType::Code]), (2, 1));
    assert_eq!((counts.by_status[&DocStatus::Ok], counts.by_status[&DocStatus::Error]), (2, 1));
    assert_eq!((counts.representations, counts.chunks, counts.deleted_chunks), (2, 3, 1));
    assert_eq!((counts.embedded, counts.embedding_errors), (3, 0));
}
