//! What comes first, and that it does not depend on how much is asked for.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::{Client, Era, Folder};

use super::{program, serve};

fn paths(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].as_str().unwrap()).collect()
}

/// Prose and code that share their words.
fn shelf() -> Folder {
    let folder = Folder::empty();
    let words = ["lease", "renewal", "broker", "window", "ledger", "ticket", "harbour", "signal"];
    for number in 0..40 {
        let word = |step: usize| words[(number * step + step) % words.len()];
        let prose = format!(
            "# The {} of the {}\n\nA {} asks for a {} before the {} ends. Number {number}.\n",
            word(1),
            word(3),
            word(5),
            word(7),
            word(2)
        );
        folder.write(&format!("notes/{number:02}.md"), prose);
        let code = format!(
            "def {}_{}(value):\n    \"\"\"Makes a {} of the {}.\"\"\"\n    return value + {number}\n",
            word(2),
            word(5),
            word(1),
            word(4)
        );
        folder.write(&format!("src/part_{number:02}.py"), code);
    }
    folder
}

#[test]
fn the_hits_for_k_are_the_first_of_those_for_more() {
    let folder = shelf();
    let server = serve(&folder);
    let client = RefCell::new(server.client(Era::Modern));
    let word = prop::sample::select(vec![
        "lease",
        "renewal of the ticket",
        "broker_window",
        "\"asks for\"",
        "where is ledger_signal defined",
        "makes a harbour",
        "signal",
        "the",
    ]);
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(words in prop::collection::vec(word, 1..3), k in 1usize..50)| {
        let answer = |k: usize| {
            let arguments = json!({ "query": words.join(" "), "k": k });
            client.borrow_mut().expect("dir2mcp.search", arguments)
        };
        let (few, many) = (answer(k), answer(50));
        let (few_hits, many_hits) = (few["hits"].as_array().unwrap(), many["hits"].as_array().unwrap());
        prop_assert_eq!(few_hits.len(), many_hits.len().min(k));
        prop_assert_eq!(few_hits.as_slice(), &many_hits[..few_hits.len()]);
        prop_assert_eq!(&few["index_used"], &many["index_used"]);
    });
}

#[test]
fn an_automatic_choice_of_index_hides_nothing() {
    let folder = Folder::empty();
    let mut readme = String::from("# Runner\n\n");
    for number in 0..200 {
        readme.push_str(&format!(
            "Section {number} explains how the runner counts the tests and prints their results.\n\n"
        ));
    }
    folder.write("README.md", readme);
    folder.write("lib/trap.bash", "# Keeps the trace of a failed command.\nrunner_debug_trap() {\n  caller 0\n  runner_stack_trace+=(\"$BASH_SOURCE\")\n}\n");
    folder.write("lib/count.bash", "count_tests() {\n  grep -c '^@test' \"$1\"\n}\n");
    let server = serve(&folder);
    for query in ["how is the stack trace of a failed command kept", "where is runner_stack_trace set"] {
        let answer = server.expect("dir2mcp.search", json!({ "query": query, "k": 3 }));
        assert!(paths(&answer).contains(&"lib/trap.bash"), "{query}: {:?}", paths(&answer));
        assert_ne!(answer["index_used"], "text", "{query}");
    }
}

/// A project where names are defined in files that rankings like to lower.
fn project() -> Folder {
    let uses: String =
        (0..30).map(|n| format!("let serializer_{n} = Serializer::new(Visitor, load_all());\n")).collect();
    let folder = Folder::from(
        "
        //- src/ser/mod.rs
        //! Serialization.
        //!
        //! Documentation.
        //! More of it.
        //! And more.

        /// Writes values.
        pub trait Serializer: Sized {
            fn finish(self);
        }
        //- pkg/__init__.py
        # The package.
        from .parts import *

        def load_all():
            return []
        //- web/index.ts
        export * from './parts';

        export interface Visitor { visit(): void }
        //- src/test_rig.rs
        pub struct TestRig { pub name: String }
        //- include/sched.h
        struct task_state {
            int pid;
        };
        //- kernel/fork.c
        struct task_state;
        static int copy(struct task_state *a, struct task_state *b)
        {
            return a->pid == b->pid;
        }
        //- kernel/exit.c
        void leave(struct task_state *task_state) { struct task_state *t = task_state; }
        ",
    );
    folder.write("src/serializer.rs", &uses);
    folder.write("src/visitor.rs", format!("use crate::Visitor;\n{uses}"));
    folder.write(
        "src/rig.rs",
        "use crate::TestRig;\nfn a(rig: TestRig) -> TestRig { rig }\nfn b(rig: TestRig) {}\n",
    );
    folder
}

#[test]
fn a_definition_of_the_queried_name_comes_first() {
    let folder = project();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    for (name, path) in [
        ("Serializer", "src/ser/mod.rs"),
        ("Visitor", "web/index.ts"),
        ("load_all", "pkg/__init__.py"),
        ("TestRig", "src/test_rig.rs"),
        ("struct task_state", "include/sched.h"),
        ("finish Serializer", "src/ser/mod.rs"),
        ("where is Visitor defined", "web/index.ts"),
        ("Serializer::finish", "src/ser/mod.rs"),
    ] {
        for k in [1, 10] {
            let answer = client.expect("dir2mcp.search", json!({ "query": name, "k": k }));
            assert_eq!(paths(&answer)[0], path, "{name}, k {k}: {:?}", paths(&answer));
        }
    }
}

#[test]
fn r043_every_hit_for_an_identifier_holds_it() {
    let folder = project();
    let mut server = program(&folder).stdio(&["--tools", "dir2mcp,repo"]).connect(Era::Modern);
    server.wait_indexed();
    let answer = server.expect("repo.search", json!({ "query": "load_all", "mode": "bm25", "top_k": 10 }));
    let hits = answer["result"]["hits"].as_array().unwrap();
    assert_eq!(hits[0]["path"], "pkg/__init__.py");
    for hit in hits {
        assert!(folder.read(hit["path"].as_str().unwrap()).contains("load_all"), "{hit}");
    }
    let found = server.expect("dir2mcp.search", json!({ "query": "task_state", "k": 50 }));
    for path in paths(&found) {
        assert!(folder.read(path).contains("task_state"), "{path}");
    }
}

#[test]
fn what_stands_word_for_word_comes_first() {
    let folder = Folder::empty();
    for number in 0..30 {
        folder.write(
            &format!("src/reactor_{number}.rs"),
            format!("/// The reactor of the runtime is running when it is called.\npub fn reactor_{number}() {{ running(); }}\n"),
        );
        folder.write(
            &format!("advisories/{number}.md"),
            format!(
                "# CVE-2025-{}\n\nA flaw. See also CVE-2024-313{number:02} of the year 2025.\n",
                1000 + number
            ),
        );
        folder.write(
            &format!("notes/{number}.md"),
            "The words are exact, and these exact quoted words are others.\n",
        );
    }
    folder.write(
        "src/context.rs",
        "pub fn enter() {\n    panic!(\n        \"there is no guard around, \\\n         it must be called from the context of a runtime\"\n    );\n}\n",
    );
    folder.write("advisories/wanted.md", "# Notes\n\nThis is about CVE-2025-31337 and nothing else.\n");
    folder.write("notes/wanted.md", "Here the quoted exact words stand.\n");
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut first = |query: &str, k: usize| {
        let answer = client.expect("dir2mcp.search", json!({ "query": query, "k": k }));
        paths(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for k in [1, 3, 10] {
        let message = "there is no guard around, it must be called from the context of a runtime";
        assert_eq!(first(message, k)[0], "src/context.rs");
        assert_eq!(first(&format!("thread 'main' panicked at x.rs:1:1: {message}"), k)[0], "src/context.rs");
        assert_eq!(first("CVE-2025-31337", k)[0], "advisories/wanted.md");
        assert_eq!(first("\"quoted exact words\"", k), ["notes/wanted.md"], "quotes mean the phrase");
    }
}

#[test]
fn prose_and_code_are_weighed_by_the_same_measure() {
    let folder = Folder::from(
        "
        //- mail/acme.eml
        From: a@example.com
        To: b@example.com
        Subject: Agreement with Acme

        Acme wants to terminate the agreement at the end of the month.
        //- mail/lunch.eml
        From: a@example.com
        To: b@example.com
        Subject: Lunch

        Soup on Monday.
        ",
    );
    let library: String = (0..2_000)
        .map(|n| {
            format!("function part{n}(element, agreement) {{\n  return element.terminate || {n};\n}}\n\n")
        })
        .collect();
    folder.write("web/library.js", library);
    let server = serve(&folder);
    let answer = server.expect("dir2mcp.search", json!({ "query": "Acme agreement terminate", "k": 5 }));
    assert_eq!(paths(&answer)[0], "mail/acme.eml");
}

#[test]
fn texts_that_are_nearly_the_same_do_not_fill_the_list() {
    let licence = |holder: &str, width: usize| {
        let text = format!(
            "Copyright {holder}. Permission is hereby granted, free of charge, to any person obtaining a copy of this software \
             and associated documentation files, to deal in the software without restriction, including without limitation the \
             rights to use, copy, modify, merge, publish, distribute, sublicense, and sell copies of the software, and to permit \
             persons to whom the software is furnished to do so, subject to the following conditions: the above copyright notice \
             and this permission notice shall be included in all copies or substantial portions of the software."
        );
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            if lines.last().unwrap().len() + word.len() > width {
                lines.push(String::new());
            }
            let line = lines.last_mut().unwrap();
            line.push_str(word);
            line.push(' ');
        }
        lines.join("\n")
    };
    let folder =
        Folder::from("//- docs/rights.md\nWho may use copies of the software, and with what permission.\n");
    for (number, holder) in ["2011 Ann", "2015 Bob and others", "2019 Cid", "2023 Dee"].iter().enumerate() {
        folder.write(&format!("packages/{number}/LICENSE"), licence(holder, 60 + 10 * number));
    }
    let server = serve(&folder);
    let query = json!({ "query": "permission to use copies of the software", "k": 5 });
    let answer = server.expect("dir2mcp.search", query);
    let found = paths(&answer);
    assert_eq!(found.len(), 5, "none is hidden");
    assert!(found[..2].contains(&"docs/rights.md"), "{found:?}");
}

#[test]
fn s014_a_word_that_only_chooses_does_not_shut_out_the_subject() {
    let folder = Folder::from(
        "
        //- a/contract_roof.txt
        Contract with the roofer. The roof is repaired in spring.
        //- a/contract_lift.txt
        Contract with the lift company.
        //- a/contract_tea.txt
        Contract about tea, renewed each year.
        //- b/old_car.txt
        The old car was sold. It was the last one, old and red, a year ago. Old text.
        //- b/roof_photo.txt
        The roof from above.
        ",
    );
    let server = serve(&folder);
    let mut stdio = program(&folder)
        .state_dir(&folder.outside().join("smart"))
        .stdio(&["--tools", "dir2mcp,smart"])
        .connect(Era::Modern);
    stdio.wait_indexed();
    for query in ["old contracts", "last year's contracts", "recent contracts"] {
        let answer = server.expect("dir2mcp.search", json!({ "query": query, "k": 3 }));
        assert!(
            paths(&answer).iter().all(|path| path.starts_with("a/contract")),
            "{query}: {:?}",
            paths(&answer)
        );
    }
    let found = stdio.expect("searchFiles", json!({ "query": "old contracts" }));
    let items = found["items"].as_array().unwrap();
    let contracts =
        items.iter().filter(|item| item["path"].as_str().unwrap().contains("/a/contract")).count();
    assert_eq!(contracts, 3, "{found}");
    let answer = server.expect("dir2mcp.search", json!({ "query": "text files about the roof", "k": 2 }));
    let mut roof = paths(&answer);
    roof.sort_unstable();
    assert_eq!(roof, ["a/contract_roof.txt", "b/roof_photo.txt"]);
}

#[test]
fn s018_each_copy_of_a_handbook_shows_its_best_passage() {
    let folder = Folder::empty();
    for (edition, team) in ["2021", "2022", "2023"].iter().zip(["Harbour", "Airport", "Railway"]) {
        let mut text = format!("# Handbook of the {team}, edition {edition}\n\n");
        for chapter in 0..40 {
            // Each edition words its chapters in its own way ...
            text.push_str(&format!(
                "## Chapter {chapter} of the {team}\n\nHolidays are planned by the {team} in {edition}. "
            ));
            text.push_str(&format!("Forms {chapter} are kept by {team} staff. ").repeat(12));
            text.push_str("\n\n");
            if chapter == 25 {
                // ... but for this one.
                text.push_str("## Parental leave\n\nParental leave lasts fourteen months and is asked for seven weeks before it begins, ");
                text.push_str("in writing, at the office. It may be split into three parts. The office answers within two weeks, ");
                text.push_str("and keeps the post open for as long as the leave lasts.\n\n");
            }
        }
        folder.write(&format!("handbook_{edition}.md"), text);
    }
    let mut server = program(&folder).stdio(&["--tools", "dir2mcp,smart"]).connect(Era::Modern);
    server.wait_indexed();
    let found = server.expect("searchFiles", json!({ "query": "how long does parental leave last" }));
    let items = found["items"].as_array().unwrap();
    assert_eq!(items.len(), 3, "{found}");
    for item in items {
        assert!(item["snippet"].as_str().unwrap().to_lowercase().contains("parental leave"), "{item}");
    }
}
