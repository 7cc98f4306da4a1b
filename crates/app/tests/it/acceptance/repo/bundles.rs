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
fn r047_a_bundle_holds_what_the_prompt_names() {
    let folder = service();
    let filler: String =
        (0..40).map(|n| format!("    def step_{n}(self):\n        return {n}\n\n")).collect();
    folder.write(
        "engine/machine.py",
        format!("class Machine:\n{filler}    def wind_down(self):\n        return self.brake\n"),
    );
    folder.write("engine/other.py", "def wind_down():\n    return 1\n");
    folder.write("notes/plain.txt", "Nothing that anybody asks for.\n".repeat(40));
    let machines: String =
        (0..30).map(|n| format!("- {n}: the machine may wind down, see the machine\n")).collect();
    folder.write("CHANGELOG.md", machines);
    let mut server = repo(&folder);
    let mut excerpts = |prompt: &str| {
        let budget = json!({ "max_files": 2, "max_total_lines": 60 });
        let bundle =
            result(&mut server, "build_context_bundle", json!({ "prompt": prompt, "budget": budget }));
        assert!(bundle["totals"]["selected_lines"].as_u64().unwrap() <= 60);
        bundle["selections"].as_array().unwrap().clone()
    };
    for prompt in [
        "Why does Machine.wind_down return the brake?",
        "explain `Machine::wind_down()`",
        "machine Machine#wind_down",
    ] {
        let found = excerpts(prompt);
        let holds = |each: &Value| {
            each["path"] == "engine/machine.py"
                && each["excerpt"].as_str().unwrap().contains("return self.brake")
        };
        assert!(found.iter().any(holds), "{prompt}: {found:?}");
    }
    for prompt in
        ["what is wrong with notes/plain.txt in the machine", "the machine in ./notes/plain.txt:3 winds down"]
    {
        let found = excerpts(prompt);
        assert!(found.iter().any(|each| each["path"] == "notes/plain.txt"), "{prompt}: {found:?}");
    }
}

#[test]
fn r045_no_tests_means_none() {
    let folder = service();
    for path in [
        "pack/_tests/alpha.py",
        "java/AlphaTest.java",
        "java/TestAlpha.java",
        "web/alpha.spec.ts",
        "vendor/x/tests/alpha.py",
    ] {
        folder.write(path, "quokka quokka quokka\n");
    }
    folder.write("pack/alpha.py", "def quokka():\n    return 1\n");
    let mut server = repo(&folder);
    let request = json!({ "prompt": "quokka test", "include_tests": false });
    let bundle = result(&mut server, "build_context_bundle", request);
    let paths: Vec<&str> =
        bundle["selections"].as_array().unwrap().iter().map(|each| each["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["pack/alpha.py"]);
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
