//! Bundles.

use std::fs;

use serde_json::{Value, json};

use super::{envelope, repo, result, service};

#[test]
fn r045_to_r048_case_29_bundles() {
    let folder = service();
    for name in ["one", "two", "three"] {
        folder.write(
            &format!("pack/{name}.py"),
            "def quokka():\n    first = 1\n    second = 2\n    return first\n",
        );
    }
    let mut server = repo(&folder);
    let request = json!({ "prompt": "quokka", "budget": { "max_files": 2, "max_total_lines": 8 } });
    let bundle = result(&mut server, "build_context_bundle", request.clone());
    assert_eq!(bundle["totals"], json!({ "selected_files": 2, "selected_lines": 8, "truncated": true }));
    assert_eq!(bundle["audit"]["budget_enforcement"].as_array().unwrap().len(), 1);
    assert!(
        bundle["audit"]["budget_enforcement"][0]
            .as_str()
            .unwrap()
            .starts_with("skipped_file_budget:pack/two.py:1-4")
    );
    assert_eq!(bundle["why_not_selected"]["reason_counts"]["file_budget"], 1);
    assert_eq!(result(&mut server, "build_context_bundle", request), bundle, "the same bytes");
    for (at, selection) in bundle["selections"].as_array().unwrap().iter().enumerate() {
        assert!(selection["rationale"].as_str().unwrap().contains("quokka"), "{selection}");
        assert_eq!(bundle["citations"][at]["path"], selection["path"]);
        assert_eq!(bundle["citations"][at]["selection_index"], at);
    }
    // The symbol that matches, not the smallest of the chunk (defect 6).
    let bundle = result(
        &mut server,
        "build_context_bundle",
        json!({ "prompt": "Where does Service.run count retries?" }),
    );
    let first = &bundle["selections"][0];
    assert_eq!(first["path"], "src/service.py");
    let data = folder.path().join(".repo_mcp");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(data.join("last_bundle.json")).unwrap()).unwrap();
    assert_eq!(kept, bundle);
    let page = fs::read_to_string(data.join("last_bundle.md")).unwrap();
    assert!(
        page.contains("> Where does Service.run count retries?") && page.contains("## src/service.py:"),
        "{page}"
    );
    let log = fs::read_to_string(data.join("audit.jsonl")).unwrap();
    assert!(log.contains("\"prompt_length\":37") && !log.contains("count retries"), "{log}");
    for (arguments, code) in [
        (json!({ "prompt": " " }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "strategy": "llm" }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "budget": { "max_files": 0 } }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "retrieval_mode": "semantic" }), "SEMANTIC_NOT_AVAILABLE"),
    ] {
        assert_eq!(envelope(&mut server, "build_context_bundle", arguments)["error"]["code"], code);
    }
}

#[test]
fn r051_a_bundle_that_cannot_be_kept_is_still_given() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    // Folders where the files should be: nobody can write those, not even root.
    for name in ["last_bundle.json", "last_bundle.md"] {
        fs::create_dir(folder.path().join(".repo_mcp").join(name)).unwrap();
        fs::write(folder.path().join(".repo_mcp").join(name).join("inside"), "").unwrap();
    }
    let answer = envelope(&mut server, "build_context_bundle", json!({ "prompt": "helper" }));
    assert_eq!(answer["ok"], true);
    assert!(answer["warnings"][0].as_str().unwrap().contains("last_bundle.json"), "{answer}");
}
