//! Scans, photos and recordings flow into the same index: found by a question about what they say, with page or time.

use std::path::Path;

use serde_json::json;
use testkit::Folder;

use super::{QUESTIONS, assert_all_are_found, media_folder, mistral, program, wait_read, with_mistral};

#[test]
fn d094_d095_d105_d107_with_a_service_each_file_is_found_by_what_it_says() {
    let (folder, mistral) = (media_folder(), mistral());
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_read(&server);
    assert_all_are_found(&server, &QUESTIONS);
    let models = &server.expect("dir2mcp.stats", json!({}))["models"];
    assert_eq!(
        (&models["embed_text"], &models["embed_code"], &models["ocr"], &models["stt_model"], &models["chat"]),
        (
            &json!("mistral-embed"),
            &json!("codestral-embed"),
            &json!("mistral-ocr-latest"),
            &json!("voxtral-mini-latest"),
            &json!("mistral-small-2506")
        )
    );
    let confined = server.wait_for_event("server_started");
    assert!(!confined["data"]["confinement"].as_str().unwrap().contains("does not"), "{confined}");
    server.stop().expect(0);
    // What was paid for once is kept.
    let counts = mistral.counts();
    let again = with_mistral(&folder, &mistral).serve(&[]);
    wait_read(&again);
    assert_all_are_found(&again, &QUESTIONS[..1]);
    assert_eq!(mistral.counts().ocr_calls, counts.ocr_calls);
    assert_eq!(mistral.counts().stt_calls, counts.stt_calls);
}

/// The search path with the programs of this machine.
fn search_path() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn d094_with_tesseract_alone_scans_are_found_and_the_rest_says_what_would_read_it() {
    let folder = media_folder();
    let program = program(&folder).env("PATH", &search_path()).env("DIR2MCP_TTS_PROVIDER", "off");
    let server = program.serve(&[]);
    wait_read(&server);
    assert_all_are_found(&server, &QUESTIONS[..3]);
    let ocr = server.expect("dir2mcp.stats", json!({}))["models"]["ocr"].as_str().unwrap().to_owned();
    assert!(ocr.starts_with("tesseract-"), "{ocr}");
    let skipped = program.run(&["status", "--skipped"]).expect(0).stdout;
    assert!(skipped.contains("talk.wav") && skipped.contains("dir2mcp extras add speech"), "{skipped}");
}

#[test]
fn a_rebuild_reads_again_what_it_is_asked_to() {
    let (folder, mistral) = (media_folder(), mistral());
    let program = with_mistral(&folder, &mistral);
    program.index();
    let first = mistral.counts();
    let paid = || {
        let counts = mistral.counts();
        (counts.pages - first.pages, counts.stt_calls - first.stt_calls)
    };
    program.run(&["reindex"]).expect(0);
    assert_eq!(paid(), (0, 0), "what was read is taken over");
    program.clone().env("DIR2MCP_INGEST_AUDIO_CACHE", "false").run(&["reindex"]).expect(0);
    assert_eq!(paid(), (0, first.stt_calls));
    let newer = program.env("DIR2MCP_MISTRAL_OCR_MODEL", "mistral-ocr-2512");
    newer.run(&["reindex", "--reread"]).expect(0);
    assert_eq!(paid(), (first.pages, 2 * first.stt_calls));
    let models: Vec<_> = mistral.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert!(models.contains(&json!("mistral-ocr-2512")), "{models:?}");
    let server = newer.serve(&[]);
    wait_read(&server);
    assert_all_are_found(&server, &QUESTIONS);
    assert_eq!(paid(), (first.pages, 2 * first.stt_calls));
}

#[test]
fn without_anything_every_affected_file_names_its_remedy() {
    let folder = media_folder();
    let program = program(&folder);
    program.index();
    let skipped = program.run(&["status", "--skipped"]).expect(0).stdout;
    for (file, remedy) in [
        ("scan.pdf", "dir2mcp extras add ocr"),
        ("photo.jpg", "dir2mcp extras add ocr"),
        ("talk.wav", "dir2mcp extras add speech"),
    ] {
        let line = skipped.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{skipped}"));
        assert!(line.contains(remedy), "{line}");
    }
    let found = program.json(&["search", "windmill", "--json"]);
    assert_eq!(found["hits"][0]["rel_path"], "guide.md");
}

/// Where the extras that tests fetch are kept between runs: they are pinned by digest.
fn extras() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-extras")
}

#[test]
fn d094_d095_with_extras_alone_each_file_is_found_by_what_it_says() {
    let folder = media_folder();
    // npm and pip want their own places; nothing else of the caller's environment is needed.
    let home = std::env::var("HOME").unwrap();
    let program = program(&folder)
        .env("DIR2MCP_EXTRAS_DIR", extras().to_str().unwrap())
        .env("PATH", &search_path())
        .env("HOME", &home);
    let added = program.start(&["extras", "add", "ocr", "speech"]);
    assert!(added.output_ends(testkit::DEADLINE * 10), "the extras were not fetched");
    added.wait().expect(0);
    let listed = program.json(&["extras", "list", "--json"]);
    for name in ["ocr", "speech"] {
        let extra = listed["extras"].as_array().unwrap().iter().find(|extra| extra["name"] == name).unwrap();
        assert_eq!(extra["state"], "installed", "{listed}");
    }
    // Without Tesseract on the search path.
    let alone = program.env("PATH", "/nonexistent");
    // Models are slow where nothing is optimised.
    alone.index();
    let server = alone.serve(&[]);
    wait_read(&server);
    assert_all_are_found(&server, &QUESTIONS);
}

#[test]
fn a_wrong_package_file_is_refused() {
    let folder = Folder::from("//- a.md\nx\n");
    folder.write("wrong.whl", b"not a wheel");
    let done = program(&folder).run(&["extras", "add", "ocr", "--from", "wrong.whl"]).expect(1);
    assert!(done.stderr.starts_with("ERROR: EXTRA_FAILED: "), "{}", done.output());
    let unknown = program(&folder).run(&["extras", "add", "nonsense"]).expect(2);
    assert!(unknown.stderr.contains("ocr, speech"), "{}", unknown.output());
    let removed = program(&folder).run(&["extras", "remove", "ocr"]).expect(0);
    assert_eq!(removed.stdout, "ocr was not installed\n");
}
