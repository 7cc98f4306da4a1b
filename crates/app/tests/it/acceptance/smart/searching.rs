//! Finding files from plain questions.

use serde_json::json;
use testkit::{Client, Folder};

use super::{docx, found, indexed, items, pptx, refused, served, smart};

/// Contracts of two vendors, in several years and formats.
fn contracts() -> Folder {
    let folder = Folder::from(
        "
        //- minutes.txt
        The board spoke about the roof and about lunch. Vendor X was not mentioned in 2021.
        //- x_notes.txt
        Contracts of vendor X from 2021, kept as notes.
        ",
    );
    let contract = |vendor: &str, year: u32| {
        docx(&[
            &format!("Contract with vendor {vendor}"),
            &format!("Signed in {year} for cleaning services."),
        ])
    };
    folder.write("a/vendor_x.docx", contract("X", 2021));
    folder.write("a/vendor_x_old.docx", contract("X", 2019));
    folder.write("a/vendor_y.docx", contract("Y", 2021));
    folder.write("b/scope.pptx", pptx(&["Agenda", "Scope of the contract with vendor X, 2021"]));
    folder.write("b/other.pptx", pptx(&["Agenda", "Scope of the contract with vendor Z, 2021"]));
    folder
}

#[test]
fn s017_a_plain_question_finds_just_those() {
    let folder = contracts();
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let question = json!({ "query": "contracts about vendor X from 2021 in ppt or docx" });
    let mut paths = found(&mut server, &folder, question);
    paths.sort_unstable();
    assert_eq!(paths, ["a/vendor_x.docx", "b/scope.pptx"]);
}

#[test]
fn s014_s016_filters() {
    let folder = contracts();
    let mut server = smart(&folder);
    let root = folder.path().to_str().unwrap();
    indexed(&mut server, root);
    let sorted = |mut paths: Vec<String>| {
        paths.sort_unstable();
        paths
    };
    let by_ext = found(&mut server, &folder, json!({ "query": "vendor contract", "exts": ["pptx"] }));
    assert_eq!(sorted(by_ext), ["b/other.pptx", "b/scope.pptx"]);
    let by_year = found(&mut server, &folder, json!({ "query": "contract vendor x", "years": ["2019"] }));
    assert_eq!(by_year, ["a/vendor_x_old.docx"]);
    let within = json!({ "query": "vendor contract", "roots": [format!("{root}/a")] });
    let within = found(&mut server, &folder, within);
    assert!(!within.is_empty() && within.iter().all(|path| path.starts_with("a/")), "{within:?}");
    let outside = json!({ "query": "vendor", "roots": ["/etc"] });
    assert_eq!(refused(&mut server, "searchFiles", outside), "FORBIDDEN");
    for wrong in [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": "  " }),
        json!({ "query": "x", "k": 0 }),
        json!({ "query": "x", "k": 101 }),
        json!({ "query": "x", "offset": -1 }),
        json!({ "query": "x", "years": ["soon"] }),
        json!({ "query": "x", "exts": [""] }),
        json!({ "query": "x", "limit": 3 }),
    ] {
        assert_eq!(refused(&mut server, "searchFiles", wrong.clone()), "BAD_REQUEST", "{wrong}");
    }
}

#[test]
fn s015_case_30_years_in_names_and_in_texts() {
    let folder = Folder::from(
        "
        //- notes.txt
        The budget of 2021 was kept.
        //- later.txt
        The budget of 2022 was kept.
        //- number.txt
        The budget had 120210 lines.
        ",
    );
    folder.write("report_2021.docx", docx(&["The budget, at last."]));
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let mut paths = found(&mut server, &folder, json!({ "query": "budget", "years": ["2021"] }));
    paths.sort_unstable();
    assert_eq!(paths, ["notes.txt", "report_2021.docx"]);
    let mut both = found(&mut server, &folder, json!({ "query": "budget from 2021 to 2022" }));
    both.sort_unstable();
    assert_eq!(both, ["later.txt", "notes.txt", "report_2021.docx"]);
    // Nothing but a filter: everything that passes it.
    let mut alone = found(&mut server, &folder, json!({ "query": "2021" }));
    alone.sort_unstable();
    assert_eq!(alone, ["notes.txt", "report_2021.docx"]);
}

#[test]
fn s017_types_and_years_alone_list_files_and_signs_find_none() {
    let folder = contracts();
    folder.write("c/plan.txt", "The plan of 2020.");
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let mut list = |query: &str| {
        let mut paths = found(&mut server, &folder, json!({ "query": query, "k": 100 }));
        paths.sort_unstable();
        paths
    };
    let all = list("all files");
    assert!(all.len() >= 4, "{all:?}");
    let ending = |endings: &[&str]| -> Vec<String> {
        all.iter().filter(|path| endings.iter().any(|ending| path.ends_with(ending))).cloned().collect()
    };
    for query in ["docx", "all docx files", "list docx files", "all word documents"] {
        assert_eq!(list(query), ending(&[".docx"]), "{query}");
        assert!(!list(query).is_empty());
    }
    assert_eq!(list("pptx"), ending(&[".pptx"]));
    assert_eq!(list("all files from 2020"), ["c/plan.txt"]);
    let both = list("vendor x 2021 ppt docx");
    assert!(
        !both.is_empty() && both.iter().all(|path| path.ends_with(".docx") || path.ends_with(".pptx")),
        "{both:?}"
    );
    for signs in ["🙂", "%", "((("] {
        assert_eq!(list(signs), [""; 0], "{signs}");
    }
}

#[test]
fn s018_items_say_where_what_and_when() {
    let folder = contracts();
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let answer = server.expect("searchFiles", json!({ "query": "scope of the contract with vendor X" }));
    assert_eq!(answer["mcp_version"], "v1.0.0");
    assert_eq!(answer["indexing_complete"], true);
    let item = &answer["items"][0];
    assert_eq!(item["path"], folder.path().join("b/scope.pptx").to_str().unwrap());
    assert_eq!(item["pointer"], "slide 2");
    assert_eq!(item["snippet"], "Scope of the contract with vendor X, 2021");
    assert_eq!(item["ext"], ".pptx");
    let modified = item["modified"].as_str().unwrap();
    assert!(modified.len() == 20 && modified.ends_with('Z') && modified.contains('T'), "{modified}");
    let scores: Vec<f64> =
        answer["items"].as_array().unwrap().iter().map(|item| item["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn s019_pages_over_a_thousand_files_hold_each_file_once() {
    let folder = Folder::empty();
    for number in 0..1050 {
        folder
            .write(&format!("d{}/note{number}.txt", number % 7), format!("The lighthouse of note {number}."));
    }
    for number in 0..50 {
        folder.write(&format!("other/o{number}.txt"), format!("A windmill, number {number}."));
    }
    let server = served(&folder, &[]);
    let mut client = server.client(testkit::Era::Modern);
    indexed(&mut client, folder.path().to_str().unwrap());
    let mut seen = std::collections::BTreeSet::new();
    let mut last = f64::MAX;
    for offset in (0..1200).step_by(100) {
        let page = client.expect("searchFiles", json!({ "query": "lighthouse", "k": 100, "offset": offset }));
        assert_eq!(page["pagination"]["offset"], offset);
        assert_eq!(page["pagination"]["total_estimate"], 1050);
        let paths = items(&page, &folder);
        assert_eq!(page["pagination"]["returned"], paths.len());
        assert_eq!(paths.len(), 1050_usize.saturating_sub(offset).min(100));
        for item in page["items"].as_array().unwrap() {
            let score = item["score"].as_f64().unwrap();
            assert!(score <= last);
            last = score;
            assert!(item["snippet"].as_str().unwrap().contains("lighthouse"));
        }
        for path in paths {
            assert!(seen.insert(path.clone()), "{path} came twice");
        }
    }
    assert_eq!(seen.len(), 1050);
}

#[test]
fn c26_hidden_files_and_excluded_words_are_not_found() {
    let folder = Folder::from(
        "
        //- .hidden/a.txt
        The lighthouse stands.
        //- b.txt
        The lighthouse stands beside the windmill.
        //- c.txt
        The lighthouse stands alone.
        ",
    );
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    assert_eq!(found(&mut server, &folder, json!({ "query": "lighthouse -windmill" })), ["c.txt"]);
    assert_eq!(found(&mut server, &folder, json!({ "query": "lighthouse path:b.txt" })), ["b.txt"]);
}

#[test]
fn s029_a_question_is_rewritten() {
    let folder = contracts();
    let mut server = smart(&folder);
    let answer =
        server.expect("rewriteQuery", json!({ "query": "Find vendor X contracts from 2021 in ppt or docx" }));
    assert_eq!(answer["filters"]["years"], json!(["2021"]));
    let exts = answer["filters"]["exts"].as_array().unwrap();
    assert!(exts.contains(&json!(".docx")) && exts.contains(&json!(".pptx")), "{exts:?}");
    let fts = answer["fts"].as_str().unwrap();
    assert!(fts.contains("vendor") && fts.contains("contracts") && fts.contains("2021"), "{fts}");
    assert!(!answer["notes"].as_str().unwrap().is_empty());
    assert_eq!(refused(&mut server, "rewriteQuery", json!({ "query": " " })), "BAD_REQUEST");
}
