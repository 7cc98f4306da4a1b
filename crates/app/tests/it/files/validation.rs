//! Lines 15 to 34: which names, contents and arguments are taken.

use serde_json::{Value, json};

use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

/// Paths that nothing takes, each with the line that forbids it.
const BAD_PATHS: &[(&str, &str, &str)] = &[
    ("f019", "without_a_slash", "a"),
    ("f019", "relative_with_a_slash", "a/b"),
    ("f020", "ends_with_a_slash", "/a/"),
    ("f021", "empty_segment", "/a//b"),
    ("f021", "two_slashes", "//"),
    ("f022", "parent_segment", "/a/../b"),
    ("f022", "parent_at_the_end", "/a/.."),
    ("f022", "parent_of_the_root", "/.."),
    ("f022", "own_segment", "/a/./b"),
    ("f022", "only_itself", "/."),
    ("f023", "nul", "/a\0b"),
    ("f023", "delete_character", "/a\u{7f}"),
    ("f023", "line_feed", "/a\nb"),
    ("f023", "escape", "/a\u{1b}[31m"),
    ("f024", "chinese", "/你好"),
    ("f024", "umlaut", "/ä"),
    ("f024", "full_width_letter", "/ａ"),
    ("f024", "cyrillic_look_alike", "/аbc"),
    ("f024", "percent", "/a%b"),
    ("f024", "asterisk", "/a*b"),
    ("f024", "backslash", "/a\\b"),
    ("f024", "colon", "/a:b"),
    ("f024", "question_mark", "/a?b"),
    ("f024", "quote", "/a'b"),
    ("f024", "tilde", "/~"),
    ("f024", "plus", "/a+b"),
    ("f025", "blank", "/a b"),
    ("f025", "blank_at_the_end", "/a "),
    ("f025", "tab", "/a\tb"),
    ("f025", "no_break_space", "/a\u{a0}b"),
    ("f025", "zero_width_space", "/a\u{200b}b"),
];

const GOOD_PATHS: &[(&str, &str)] = &[
    ("one_letter", "/a"),
    ("all_kinds", "/A-z_0.9/B"),
    ("hidden", "/.hidden"),
    ("three_dots", "/..."),
    ("two_dots_within", "/a..b"),
    ("dot_at_the_end", "/a."),
    ("only_a_dash", "/-"),
    ("only_an_underscore", "/_"),
    ("deep", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"),
    ("like_an_option", "/--help"),
];

const BAD_PROJECTS: &[(&str, &str)] = &[
    ("empty", ""),
    ("blank_within", "bad space"),
    ("chinese", "项目"),
    ("slash", "a/b"),
    ("percent", "a%b"),
    ("line_feed", "a\n"),
    ("full_width", "Ａ"),
    ("at_sign", "a@b"),
    ("nul", "a\0"),
    ("asterisk_and_more", "*a"),
];

const GOOD_PROJECTS: &[(&str, &str)] =
    &[("all_kinds", "A-z_0.9"), ("dots", ".."), ("dash", "-"), ("underscore", "a_b"), ("digit", "0")];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (line, what, path) in BAD_PATHS {
        cases.push(Case::new(format!("{line}_f026_path_{what}"), move |t| refused_everywhere(t, path)));
    }
    cases.push(Case::new("f018_f026_path_of_513_bytes", |t| {
        refused_everywhere(t, &format!("/{}", "a".repeat(512)));
    }));
    cases.push(Case::new("f018_path_of_512_bytes", |t| taken(t, &format!("/{}", "a".repeat(511)))));
    cases.push(Case::new("f018_a_move_to_paths_that_are_too_long_moves_nothing", |t| {
        let (long, short) = (format!("/{}", "b".repeat(500)), "/d/file-name-of-20-chars");
        t.put(short, "x");
        t.fails("file_rename", json!({ "from_path": "/d", "to_path": long }), "INVALID_PATH");
        assert_eq!(t.read(short), "x");
    }));
    for (what, path) in GOOD_PATHS {
        cases.push(Case::new(format!("f024_path_{what}_is_taken"), move |t| taken(t, path)));
    }
    for (what, project) in BAD_PROJECTS {
        cases.push(Case::new(format!("f016_f017_project_{what}"), move |t| bad_project(t, project)));
    }
    cases.push(Case::new("f015_f017_project_of_129_characters", |t| bad_project(t, &"a".repeat(129))));
    cases.push(Case::new("f017_f116_only_searching_takes_the_asterisk", |t| {
        for (tool, arguments) in calls_at("/a", &json!("*")) {
            if tool != "file_search" {
                t.fails(tool, arguments, "INVALID_PATH");
            }
        }
    }));
    cases.push(Case::new("f015_project_of_128_characters", |t| good_project(t, &"a".repeat(128))));
    for (what, project) in GOOD_PROJECTS {
        cases
            .push(Case::new(format!("f015_f016_project_{what}_is_taken"), move |t| good_project(t, project)));
    }
    for (what, encoding) in [("upper_case", "UTF-8"), ("lower_case", "utf-8"), ("mixed_case", "Utf-8")] {
        cases.push(Case::new(format!("f027_encoding_in_{what}"), move |t| {
            t.ok("file_write", json!({ "path": "/a", "content": "é", "content_encoding": encoding }));
            let read = t.ok("file_read", json!({ "path": "/a" }));
            assert_eq!((&read["content"], &read["content_encoding"]), (&json!("é"), &json!("utf-8")));
        }));
    }
    for (what, encoding) in
        [("latin", "iso-8859-1"), ("base64", "base64"), ("utf_16", "utf-16"), ("empty", "")]
    {
        cases.push(Case::new(format!("f027_f028_encoding_{what}_is_refused"), move |t| {
            let arguments = json!({ "path": "/a", "content": "eA==", "content_encoding": encoding });
            t.fails("file_write", arguments, "INVALID_QUERY");
            assert!(!t.exists("/a"));
        }));
    }
    cases.extend(contents());
    cases.extend(arguments());
    cases
}

fn contents() -> Vec<Case> {
    let exact: &[(&str, &str)] = &[
        ("nul_and_controls", "a\0b\u{1}c\u{7f}"),
        ("line_ends", "a\r\nb\rc\nd\n\n"),
        ("no_line_end", "x"),
        ("beyond_the_basic_plane", "🦀𝕏\u{10ffff}"),
        ("byte_order_mark", "\u{feff}x"),
        ("combining_characters", "e\u{301} \u{1f468}\u{200d}\u{1f469}"),
        ("quotes_and_backslashes", "\"'\\ \\u0041 ${x} {{y}}"),
        ("statement", "'); DROP TABLE mcp_files; --"),
        ("blanks_around", "  \n\t x \t\n "),
        ("empty", ""),
    ];
    let mut cases = Vec::new();
    for (what, content) in exact {
        cases.push(Case::new(format!("f028_f034_content_{what}_is_kept_to_the_byte"), move |t| {
            let written = t.put("/a", content);
            assert_eq!(written["bytes_written"], content.len());
            assert_eq!(t.read("/a"), *content);
            assert_eq!(t.stat("/a")["size"], content.len());
        }));
    }
    cases.push(Case::new("f033_f034_a_large_file_is_kept_to_the_byte", |t| {
        let line = "All work and no play makes a long file.\n";
        let content = line.repeat(20_000);
        t.put("/large.txt", &content);
        assert_eq!(t.stat("/large.txt")["size"], content.len());
        assert_eq!(t.range("/large.txt", 799_960, 40), line);
        assert!(t.read("/large.txt") == content, "every byte comes back");
        assert_eq!(t.range("/large.txt", 800_000, -1), "");
    }));
    cases.push(Case::new("f034_the_size_is_that_of_the_bytes_after_every_mode", |t| {
        for (mode, offset, content, size) in [
            ("APPEND", 0, "äb", 3),
            ("OVERWRITE", 3, "ö", 5),
            ("OVERWRITE", 0, "xyz", 5),
            ("TRUNCATE", 0, "ü", 2),
        ] {
            let arguments = json!({ "path": "/a", "content": content, "mode": mode, "offset": offset });
            let written = t.ok("file_write", arguments);
            assert_eq!(written["size"], size, "{mode}");
            assert_eq!(t.stat("/a")["size"], size, "{mode}");
            assert_eq!(t.read("/a").len(), size, "{mode}");
        }
    }));
    cases
}

/// What the schemas of the tools forbid is no call at all (6.2 #22).
fn arguments() -> Vec<Case> {
    let wrong: &[(&str, &str, Value)] = &[
        ("read_without_a_path", "file_read", json!({})),
        ("write_without_content", "file_write", json!({ "path": "/a" })),
        ("write_without_a_path", "file_write", json!({ "content": "x" })),
        ("rename_without_a_target", "file_rename", json!({ "from_path": "/a" })),
        ("search_without_a_query", "file_search", json!({})),
        ("a_path_that_is_a_number", "file_stat", json!({ "path": 7 })),
        ("content_that_is_an_object", "file_write", json!({ "path": "/a", "content": {} })),
        ("an_offset_that_is_a_text", "file_read", json!({ "path": "/a", "offset": "0" })),
        ("an_offset_that_is_no_whole_number", "file_read", json!({ "path": "/a", "offset": 0.5 })),
        ("recursive_that_is_a_text", "file_delete", json!({ "path": "/a", "recursive": "yes" })),
        ("an_argument_that_no_tool_has", "file_stat", json!({ "path": "/a", "follow": true })),
        ("a_project_that_is_null", "file_stat", json!({ "project": null })),
    ];
    let wrong = wrong.iter().cloned().map(|(what, tool, arguments)| {
        Case::new(format!("f140_f141_{what}_is_a_protocol_error"), move |t| {
            let reply = t.request(tool, arguments.clone());
            assert_eq!(reply.error_code(), Some(-32602), "{reply:?}");
            assert!(!t.exists("/a"));
        })
    });
    let unknown = Case::new("f006_a_tool_that_is_not_there_is_a_protocol_error", |t| {
        for name in ["file_chmod", "dir2mcp.search", "FILE_STAT"] {
            let reply = t.request(name, json!({}));
            assert_eq!(reply.error_code(), Some(-32602), "{name:?}: {reply:?}");
        }
    });
    wrong.chain([unknown]).collect()
}

/// A call of every tool at a path.
fn calls_at(path: &str, project: &Value) -> Vec<(&'static str, Value)> {
    vec![
        ("file_stat", json!({ "project": project, "path": path })),
        ("file_read", json!({ "project": project, "path": path })),
        ("file_write", json!({ "project": project, "path": path, "content": "x" })),
        ("file_delete", json!({ "project": project, "path": path })),
        ("file_delete", json!({ "project": project, "path": path, "recursive": true })),
        ("file_rename", json!({ "project": project, "from_path": path, "to_path": "/ok" })),
        ("file_rename", json!({ "project": project, "from_path": "/ok", "to_path": path })),
        ("file_rename", json!({ "project": project, "from_path": path, "to_path": path })),
        ("file_list", json!({ "project": project, "path": path })),
        ("file_versions", json!({ "project": project, "path": path })),
        ("file_version_read", json!({ "project": project, "path": path, "version": 1 })),
        ("file_restore", json!({ "project": project, "path": path, "version": 1 })),
    ]
}

fn refused_everywhere(t: &mut Tenant<'_>, path: &str) {
    t.put("/ok", "x");
    for (tool, arguments) in calls_at(path, &json!("p")) {
        t.fails(tool, arguments, "INVALID_PATH");
    }
    assert_eq!(t.paths("", 9), ["/ok"], "nothing was made, moved or deleted");
}

fn taken(t: &mut Tenant<'_>, path: &str) {
    assert!(!t.exists(path));
    t.put(path, "one");
    t.append(path, " two");
    assert_eq!(t.read(path), "one two");
    assert_eq!(t.stat(path)["type"], "FILE");
    assert!(t.paths("", 64).contains(&path.to_owned()));
    let name = path.rsplit('/').next().expect("a name");
    let itself = t.ok("file_list", json!({ "path": path, "depth": 0 }));
    assert_eq!(itself["entries"][0]["name"], name);
    assert_eq!(t.rename(path, "/moved"), 1);
    assert_eq!(t.rename("/moved", path), 1);
    assert_eq!(t.delete(path), 1);
    assert!(!t.exists(path));
}

fn bad_project(t: &mut Tenant<'_>, project: &str) {
    for (tool, arguments) in calls_at("/a", &json!(project)) {
        t.fails(tool, arguments, "INVALID_PATH");
    }
    t.fails("file_search", json!({ "project": project, "query": "x" }), "INVALID_PATH");
}

fn good_project(t: &mut Tenant<'_>, project: &str) {
    project.clone_into(&mut t.project);
    taken(t, "/a");
    t.put("/b", "quite remarkable words");
    assert_eq!(t.found("remarkable"), ["/b"]);
}
