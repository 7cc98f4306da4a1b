//! Lines 101 to 116: `file_search`.

use serde_json::{Value, json};

use super::world::tenant_hash;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

pub(super) fn cases() -> Vec<Case> {
    [answers(), scopes(), index_and_deletion()].into_iter().flatten().collect()
}

/// Ten files that all speak of the same thing, at lengths of their own.
fn many_files(t: &mut Tenant<'_>, count: usize) {
    for n in 0..count {
        t.put(
            &format!("/n{n:02}.md"),
            &format!("harpsichord number {n}. {}", "Filler words here. ".repeat(n)),
        );
    }
}

fn project_of(hit: &Value) -> &str {
    hit["project"].as_str().unwrap_or("")
}

fn answers() -> Vec<Case> {
    vec![
        Case::new("f101_the_fields_of_passages", |t| {
            t.put("/d/a.md", "A quiet harpsichord in the corner.");
            let hits = t.search("harpsichord");
            assert_eq!(hits.len(), 1, "{hits:?}");
            let hit = &hits[0];
            assert_eq!(hit["file_path"], "/d/a.md");
            assert_eq!((&hit["file_seek_start_bytes"], &hit["file_seek_end_bytes"]), (&json!(0), &json!(34)));
            assert_eq!(hit["chunk_content"], "A quiet harpsichord in the corner.");
            assert!(hit["score"].as_f64().is_some_and(f64::is_finite), "{hit}");
            assert_eq!(hit["is_full_file"], true);
        }),
        Case::new("f101_a_passage_of_a_longer_file_is_not_the_whole", |t| {
            let text = format!(
                "{}\n\nThe harpsichord.\n\n{}",
                "Something else. ".repeat(400),
                "More of it. ".repeat(400)
            );
            t.put("/long.md", &text);
            let hits = t.search("harpsichord");
            assert_eq!(hits[0]["is_full_file"], false, "{hits:?}");
            let (start, end) = (
                hits[0]["file_seek_start_bytes"].as_u64().unwrap(),
                hits[0]["file_seek_end_bytes"].as_u64().unwrap(),
            );
            assert_eq!(&text[start as usize..end as usize], hits[0]["chunk_content"].as_str().unwrap());
            assert!(hits[0]["chunk_content"].as_str().unwrap().contains("harpsichord"));
        }),
        Case::new("f102_an_empty_query", |t| {
            t.put("/a", "x");
            for query in ["", " ", "\t\n ", "\u{a0}"] {
                t.fails("file_search", json!({ "query": query }), "INVALID_QUERY");
            }
        }),
        Case::new("f102_a_query_of_signs_is_answered", |t| {
            t.put("/a", "plain words");
            for query in ["?", "%", "_", "'", "\"", "(", "a:b", "-", "* OR 1=1 --", "\0", "&|!<->"] {
                t.search(query);
            }
        }),
        Case::new("f102_a_query_of_100_kb_is_answered", |t| {
            t.put("/a", "needle");
            t.search(&"needle ".repeat(15_000));
        }),
        Case::new("f104_five_unless_said", |t| {
            many_files(t, 10);
            assert_eq!(t.search("harpsichord").len(), 5);
            for limit in [0, -3] {
                assert_eq!(
                    t.search_with(json!({ "query": "harpsichord", "limit": limit })).len(),
                    5,
                    "{limit}"
                );
            }
        }),
        Case::new("f104_twenty_at_most", |t| {
            many_files(t, 24);
            assert_eq!(t.search_with(json!({ "query": "harpsichord", "limit": 1 })).len(), 1);
            assert_eq!(t.search_with(json!({ "query": "harpsichord", "limit": 20 })).len(), 20);
            assert_eq!(t.search_with(json!({ "query": "harpsichord", "limit": 1000 })).len(), 20);
        }),
        Case::new("f105_the_best_first", |t| {
            many_files(t, 8);
            let scores: Vec<f64> = t
                .search_with(json!({ "query": "harpsichord number", "limit": 20 }))
                .iter()
                .map(|hit| hit["score"].as_f64().unwrap())
                .collect();
            assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
        }),
        Case::new("f105_the_file_that_says_more_comes_first", |t| {
            t.put("/much.md", "zither tuning: how a zither is tuned, string by string");
            t.put("/little.md", "In passing they mentioned a zither while the rest of the letter told of the weather, the harvest, a broken cart and many other things that nobody wanted to know.");
            assert_eq!(t.found("zither tuning")[0], "/much.md");
        }),
        Case::new("f105_the_same_question_has_the_same_answer", |t| {
            many_files(t, 6);
            t.wait_indexed();
            assert_eq!(t.search("harpsichord filler"), t.search("harpsichord filler"));
        }),
        Case::new("f108_names_are_found_by_their_parts", |t| {
            t.put("/src/user.rs", "fn fetch_user_profile(id: u64) -> Profile { todo() }\n");
            t.put("/src/other.rs", "fn unrelated() {}\n");
            for query in ["fetch_user_profile", "user profile", "fetchUserProfile"] {
                assert_eq!(t.found(query)[0], "/src/user.rs", "{query}");
            }
        }),
        Case::new("f108_words_without_blanks_between_them_are_found", |t| {
            t.put("/zh.md", "文件存储服务支持多租户隔离。");
            t.put("/ja.md", "検索エンジンの設計について。");
            t.put("/en.md", "Nothing of the kind.");
            assert_eq!(t.found("多租户")[0], "/zh.md");
            assert_eq!(t.found("検索")[0], "/ja.md");
        }),
        Case::new("f108_other_scripts_and_accents_are_found", |t| {
            t.put("/ru.md", "Хранилище файлов для агентов");
            t.put("/de.md", "Die Übergröße der Straße");
            assert_eq!(t.found("хранилище")[0], "/ru.md");
            assert_eq!(t.found("übergröße")[0], "/de.md");
        }),
        Case::new("f108_f112_inflected_words_are_found", |t| {
            t.put("/a.md", "The migrations were applied twice.");
            t.put("/b.md", "A recipe for soup.");
            assert_eq!(t.found("migration")[0], "/a.md");
        }),
        Case::new("f108_the_path_counts_too", |t| {
            t.put("/billing/invoice.md", "Text about something.");
            t.put("/other.md", "Text about something.");
            assert_eq!(t.found("invoice")[0], "/billing/invoice.md");
        }),
        Case::new("f101_nothing_found_is_no_failure", |t| {
            assert!(t.search("anything").is_empty());
            assert!(t.search_with(json!({ "project": "empty", "query": "anything" })).is_empty());
        }),
    ]
}

fn scopes() -> Vec<Case> {
    vec![
        Case::new("f103_a_prefix_is_a_beginning_of_the_path", |t| {
            for path in ["/docs/a", "/documents/b", "/do", "/other/docs"] {
                t.put(path, "a clavichord");
            }
            let mut found = |prefix: &str| {
                let hits =
                    t.search_with(json!({ "query": "clavichord", "path_prefix": prefix, "limit": 20 }));
                let mut paths: Vec<String> =
                    hits.iter().map(|hit| hit["file_path"].as_str().unwrap().to_owned()).collect();
                paths.sort();
                paths
            };
            assert_eq!(found("/do"), ["/do", "/docs/a", "/documents/b"]);
            assert_eq!(found("/docs"), ["/docs/a"]);
            assert_eq!(found("/docs/"), ["/docs/a"]);
            assert_eq!(found("/"), ["/do", "/docs/a", "/documents/b", "/other/docs"]);
            assert_eq!(found(""), found("/"));
            assert_eq!(found("docs"), Vec::<String>::new());
        }),
        Case::new("f103_signs_of_patterns_are_plain_characters", |t| {
            for path in ["/a_b", "/axb", "/a.b"] {
                t.put(path, "a clavichord");
            }
            let mut found =
                |prefix: &str| t.search_with(json!({ "query": "clavichord", "path_prefix": prefix })).len();
            assert_eq!(found("/a_"), 1);
            assert_eq!(found("/a."), 1);
            for pattern in ["/a%", "%", "_", "/a*", "/A", "/a\\"] {
                assert_eq!(found(pattern), 0, "{pattern}");
            }
        }),
        Case::new("f103_a_prefix_holds_before_and_after_indexing", |t| {
            t.put("/in/a", "a clavichord");
            t.put("/out/b", "a clavichord");
            let found = |t: &mut Tenant<'_>| {
                t.search_with(json!({ "query": "clavichord", "path_prefix": "/in" }))
                    .iter()
                    .map(|hit| hit["file_path"].clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(found(t), ["/in/a"]);
            t.wait_indexed();
            assert_eq!(found(t), ["/in/a"]);
        }),
        Case::new("f116_all_projects_of_the_caller", |t| {
            for project in ["one", "two", "three"] {
                t.ok("file_write", json!({ "project": project, "path": "/a", "content": "an ocarina" }));
            }
            let hits = t.search_with(json!({ "project": "*", "query": "ocarina" }));
            let mut projects: Vec<&str> = hits.iter().map(project_of).collect();
            projects.sort_unstable();
            assert_eq!(projects, ["one", "three", "two"]);
        }),
        Case::new("f116_the_project_is_named_only_where_all_are_searched", |t| {
            t.put("/a", "an ocarina");
            assert!(t.search("ocarina")[0].get("project").is_none());
            assert_eq!(project_of(&t.search_with(json!({ "project": "*", "query": "ocarina" }))[0]), "p");
        }),
        Case::new("f116_a_prefix_over_all_projects", |t| {
            for (project, path) in [("one", "/in/a"), ("two", "/in/b"), ("two", "/out/c")] {
                t.ok("file_write", json!({ "project": project, "path": path, "content": "an ocarina" }));
            }
            let hits = t.search_with(json!({ "project": "*", "query": "ocarina", "path_prefix": "/in" }));
            assert_eq!(hits.len(), 2, "{hits:?}");
        }),
        Case::new("case_35_searching_never_crosses", |t| {
            let mut other = t.stranger();
            t.put("/a.txt", "the bandoneon of the first");
            other.put("/a.txt", "the bandoneon of the second");
            t.wait_indexed();
            other.wait_indexed();
            for project in ["p", "*"] {
                let hits =
                    t.search_with(json!({ "project": project, "query": "bandoneon second", "limit": 20 }));
                assert_eq!(hits.len(), 1, "{hits:?}");
                assert_eq!(hits[0]["chunk_content"], "the bandoneon of the first");
            }
        }),
        Case::new("f012_f116_words_of_others_weigh_nothing", |t| {
            t.put("/a", "marimba and vibraphone");
            t.put("/b", "marimba and glockenspiel");
            t.wait_indexed();
            let before = t.search("marimba vibraphone");
            let mut other = t.stranger();
            for n in 0..10 {
                other.put(&format!("/{n}"), "vibraphone vibraphone vibraphone");
            }
            other.wait_indexed();
            assert_eq!(t.search("marimba vibraphone"), before);
        }),
        Case::new("f001_one_project_does_not_see_another", |t| {
            t.ok("file_write", json!({ "project": "q", "path": "/a", "content": "a theremin" }));
            assert!(t.search("theremin").is_empty());
        }),
    ]
}

fn index_and_deletion() -> Vec<Case> {
    vec![
        Case::new("f107_what_was_written_is_found_at_once", |t| {
            for n in 0..5 {
                let word = format!("sousaphone{n}");
                t.put(&format!("/{n}"), &word);
                assert_eq!(t.found(&word)[0], format!("/{n}"));
            }
        }),
        Case::new("f107_what_was_replaced_is_not_found", |t| {
            t.put("/a", "first a euphonium");
            t.wait_indexed();
            assert_eq!(t.found("euphonium"), ["/a"]);
            t.put("/a", "then a bugle");
            assert!(
                t.search_with(json!({ "query": "euphonium" }))
                    .iter()
                    .all(|hit| !hit["chunk_content"].as_str().unwrap().contains("euphonium"))
            );
            assert_eq!(t.found("bugle"), ["/a"]);
            t.wait_indexed();
            assert!(
                t.search("euphonium")
                    .iter()
                    .all(|hit| !hit["chunk_content"].as_str().unwrap().contains("euphonium"))
            );
        }),
        Case::new("f106_case_39_a_deleted_file_is_not_found_before_the_index_knows", |t| {
            for n in 0..5 {
                t.put("/a", &format!("mellotron {n}"));
                t.delete("/a");
                assert!(t.search("mellotron").is_empty());
            }
        }),
        Case::new("f106_an_indexed_file_is_not_found_once_deleted", |t| {
            t.put("/d/a", "a mellotron");
            t.put("/d/b", "a mellotron");
            t.wait_indexed();
            assert_eq!(t.search("mellotron").len(), 2);
            t.ok("file_delete", json!({ "path": "/d", "recursive": true }));
            assert!(t.search("mellotron").is_empty());
            t.wait_indexed();
            assert!(t.search("mellotron").is_empty());
        }),
        Case::new("f106_f064_a_path_that_was_made_anew_shows_the_new_only", |t| {
            t.put("/a", "an old mellotron");
            t.wait_indexed();
            t.delete("/a");
            t.put("/a", "a new clavinet");
            t.wait_indexed();
            let texts: Vec<Value> =
                t.search("mellotron clavinet").iter().map(|hit| hit["chunk_content"].clone()).collect();
            assert_eq!(texts, ["a new clavinet"]);
        }),
        Case::new("f115_only_what_was_returned_is_marked_as_served", |t| {
            for n in 0..4 {
                t.put(&format!("/{n}"), &format!("celesta number {n}"));
            }
            t.wait_indexed();
            assert_eq!(served(t), 0);
            t.search_with(json!({ "query": "celesta", "limit": 1 }));
            t.until("one chunk is marked", |t| served(t) == 1);
            t.search_with(json!({ "query": "celesta", "limit": 3 }));
            t.until("three chunks are marked", |t| served(t) == 3);
        }),
        Case::new("f033_f107_large_files_are_indexed_too", |t| {
            let text = format!(
                "{}\n\nThe only carillon.\n\n{}",
                "Nothing but filler. ".repeat(20_000),
                "And more. ".repeat(20_000)
            );
            t.put("/large.md", &text);
            t.wait_indexed();
            let hits = t.search("carillon");
            assert!(hits[0]["chunk_content"].as_str().unwrap().contains("carillon"), "{hits:?}");
        }),
    ]
}

fn served(t: &Tenant<'_>) -> usize {
    let tenant = tenant_hash(&t.key);
    let sql = format!(
        "SELECT count(*) FROM mcp_file_chunks WHERE apikey_hash = '{tenant}' AND last_served_at IS NOT NULL"
    );
    t.world.home.rows(&sql)[0][0].parse().expect("a count")
}
