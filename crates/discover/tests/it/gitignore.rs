//! Ignore files: the walk against git itself, and the examination of single paths against the walk.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use discover::{Examined, Examiner, FoundEntry, WalkOptions, examine};
use model::IgnoreRule;
use proptest::prelude::*;

use crate::fixture::{Fixture, OPTIONS, everything_below, rel};

/// A git with no configuration, looking at directories that are not its own.
struct Git(tempfile::TempDir);

impl Git {
    /// None where git is not installed.
    fn find() -> Option<Git> {
        let home = tempfile::tempdir().unwrap();
        let git = Git(home);
        git.command().args(["init", "-q", "--bare"]).arg(git.0.path().join("repo")).status().ok()?;
        Some(git)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.0.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// The files that git would not ignore.
    fn kept(&self, dir: &Path) -> BTreeSet<String> {
        let repo = format!("--git-dir={}", self.0.path().join("repo").display());
        let output = self
            .command()
            .current_dir(dir)
            .args([&repo, "--work-tree=.", "ls-files", "-o", "-z", "--exclude-per-directory=.gitignore"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let listed = String::from_utf8(output.stdout).unwrap();
        listed.split_terminator('\0').map(str::to_owned).collect()
    }
}

fn kept(fixture: &Fixture) -> BTreeSet<String> {
    let (files, others) = fixture.listed();
    files.into_iter().chain(others.into_keys()).collect()
}

/// A tree: files, links, and ignore files in some of its directories.
#[derive(Debug, Clone)]
struct Forest {
    files: Vec<String>,
    links: Vec<String>,
    ignores: Vec<(String, String)>,
}

fn name() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &[
        "a", "b", "ab", "c.o", "d.log", "x y", "e ", "#h", "!n", "[z]", "é", "-", "a\\b", "{a,b}", "A", ".h",
    ];
    prop::sample::select(NAMES).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..5).prop_map(|parts| parts.join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "a",
        "b",
        "ab",
        "c",
        "d",
        ".o",
        ".log",
        "*",
        "*",
        "**",
        "***",
        "?",
        "/",
        "/",
        "/",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-d]",
        "[[:alpha:]]",
        "[[:punct:]x]",
        "[]]",
        "[a-",
        "[[:x:]]",
        "\\",
        " ",
        "!",
        "#",
        "é",
        "{a,b}",
        "x y",
        "-",
        "\\ ",
        "\\#",
        "**/",
        "/**",
    ];
    let glued = prop::collection::vec(prop::sample::select(PIECES), 1..6).prop_map(|parts| parts.concat());
    // Patterns close to real paths, so that many match.
    let near = (path(), prop::sample::select(&["", "!", "/", "!/", "**/"][..]), any::<bool>())
        .prop_map(|(path, front, dir)| format!("{front}{path}{}", if dir { "/" } else { "" }));
    prop_oneof![3 => glued, 2 => near, 1 => Just("*".to_owned()), 1 => Just("!*/".to_owned())]
}

fn forest() -> impl Strategy<Value = Forest> {
    let lines = prop::collection::vec(pattern(), 1..8).prop_map(|lines| lines.join("\n"));
    let place = prop_oneof![2 => Just(String::new()), 3 => path()];
    (
        prop::collection::vec(path(), 1..24),
        prop::collection::vec(path(), 0..2),
        prop::collection::vec((place, lines), 1..4),
    )
        .prop_map(|(files, links, ignores)| Forest { files, links, ignores })
}

/// Plants as much of a forest as can stand below `place`: a path cannot be a file and a directory.
fn plant(fixture: &Fixture, place: &str, forest: &Forest, ignore_file: &str) {
    let path = |rel: &str| fixture.path(place).join(rel);
    for (dir, lines) in &forest.ignores {
        let dir = path(dir);
        if std::fs::create_dir_all(&dir).is_ok() {
            let _ = std::fs::write(dir.join(ignore_file), lines);
        }
    }
    for file in &forest.files {
        let file = path(file);
        if std::fs::create_dir_all(file.parent().unwrap()).is_ok() {
            let _ = std::fs::write(file, "");
        }
    }
    for link in &forest.links {
        let link = path(link);
        if std::fs::create_dir_all(link.parent().unwrap()).is_ok() {
            let _ = std::os::unix::fs::symlink("a", link);
        }
    }
}

/// A part of the usual number of cases (`PROPTEST_CASES`), for tests whose cases are large.
fn cases(part: u32) -> u32 {
    ProptestConfig::default().cases.div_ceil(part)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(32), ..ProptestConfig::default() })]

    // Many forests at once, because starting git is the slow part.
    #[test]
    fn d084_the_walk_keeps_what_git_keeps(forests in prop::collection::vec(forest(), 32)) {
        if let Some(git) = Git::find() {
            let fixture = Fixture::new("");
            for (number, forest) in forests.iter().enumerate() {
                plant(&fixture, &number.to_string(), forest, ".gitignore");
            }
            let (ours, theirs) = (kept(&fixture), git.kept(fixture.dir.path()));
            let difference: Vec<_> = ours.symmetric_difference(&theirs).collect();
            prop_assert!(difference.is_empty(), "{:?}", difference);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(4), ..ProptestConfig::default() })]

    #[test]
    fn a_path_examined_alone_is_decided_as_in_the_walk(forest in forest(), dotignore in any::<bool>()) {
        let fixture = Fixture::new("");
        plant(&fixture, "", &forest, if dotignore { ".ignore" } else { ".gitignore" });
        let kept = kept(&fixture);
        let alone = WalkOptions { threads: 1, ..OPTIONS };
        let found = fixture.walk_with(&alone).unwrap();
        let found = found.iter().filter(|found| !matches!(found, FoundEntry::Ignored { .. })).count();
        prop_assert_eq!(found, kept.len(), "whatever the order");
        let mut examiner = Examiner::new(&fixture.guard, &OPTIONS);
        for path in everything_below(fixture.dir.path()) {
            let examined = examiner.examine(&rel(&path));
            prop_assert_eq!(&examined, &examine(&fixture.guard, &OPTIONS, &rel(&path)));
            let is_kept = matches!(examined, Examined::File(_) | Examined::Skipped { .. });
            prop_assert_eq!(is_kept, kept.contains(&path), "{} is {:?}", path, examined);
        }
    }
}

#[test]
fn d084_every_printable_byte_against_every_kind_of_bracket() {
    let Some(git) = Git::find() else { return };
    let fixture = Fixture::new("");
    for byte in
        (b'!'..=b'~').chain([b' ', b'\t', 0x0B, 0x0C, 0x1F, 0x7F]).filter(|byte| !b"./".contains(byte))
    {
        fixture.write(&(byte as char).to_string(), "x");
    }
    let patterns = [
        "[[:alnum:]]",
        "[[:alpha:]]",
        "[[:blank:]]",
        "[[:cntrl:]]",
        "[[:digit:]]",
        "[[:graph:]]",
        "[[:lower:]]",
        "[[:print:]]",
        "[[:punct:]]",
        "[[:space:]]",
        "[[:upper:]]",
        "[[:xdigit:]]",
        "[^[:alnum:]]",
        "[![:space:]a-f]",
        "[a-]",
        "[-a]",
        "[]a]",
        "[]-a]",
        "[!]a]",
        "[a\\]b]",
        "[\\]-a]",
        "[+--]",
        "[!-~]",
        "[z-a]",
        "[a-\\z]",
        "[[:alpha]",
        "[[:]",
        "[[::]]",
        "[[:alpha:",
        "[a-c-e]",
        "[[-\\]]",
        "\\[",
        "\\*",
        "\\",
        "\\\\",
        "?",
        "[[:digit:]-z]",
        "[a-[:digit:]]",
        "[",
        "[]",
        "[!]",
        "[^]",
        "*[",
        "[\t ]",
        "{a,b}",
        "\u{e9}",
    ];
    for pattern in patterns {
        fixture.write(".gitignore", pattern);
        assert_eq!(kept(&fixture), git.kept(fixture.dir.path()), "{pattern:?}");
    }
}

#[test]
fn d083_d090_excluded_directories_are_not_entered() {
    let fixture = Fixture::new(
        "
//- .git/config
//- node_modules/a/index.js
//- sub/node_modules/b.js
//- dist/out.js
//- .dir2mcp/meta.sqlite
//- .hidden/kept.txt
//- src/main.rs
",
    );
    assert_eq!(fixture.files(), [".hidden/kept.txt", "src/main.rs"]);
    let path = rel("node_modules/a/index.js");
    let rule = IgnoreRule::PathExcludes { pattern: "**/node_modules/**".into() };
    assert_eq!(examine(&fixture.guard, &OPTIONS, &path), Examined::Ignored { rule: Some(rule) });
    assert_eq!(examine(&fixture.guard, &OPTIONS, &rel("src")), Examined::Directory);
    assert_eq!(examine(&fixture.guard, &OPTIONS, &rel("src/none.rs")), Examined::Gone);
    assert_eq!(examine(&fixture.guard, &OPTIONS, &rel("src/main.rs/x")), Examined::Gone);
}

#[test]
fn d084_gitignore_can_be_switched_off() {
    let fixture = Fixture::new(
        "
//- .gitignore
*.log
//- .ignore
*.tmp
//- a.log
//- a.tmp
//- a.txt
",
    );
    assert_eq!(fixture.files(), [".gitignore", ".ignore", "a.txt"]);
    let off = WalkOptions { gitignore: false, ..OPTIONS };
    assert_eq!(
        fixture.walk_with(&off).unwrap().iter().filter(|found| matches!(found, FoundEntry::File(_))).count(),
        4,
        "the log is back, the .ignore file still counts"
    );
    assert!(matches!(examine(&fixture.guard, &off, &rel("a.log")), Examined::File(_)));
    let rule = IgnoreRule::IgnoreFile { file: ".ignore".into(), line: 1, pattern: "*.tmp".into() };
    assert_eq!(examine(&fixture.guard, &off, &rel("a.tmp")), Examined::Ignored { rule: Some(rule) });
}

#[test]
fn nothing_above_the_root_is_read() {
    let outer = tempfile::tempdir().unwrap();
    std::fs::write(outer.path().join(".gitignore"), "*").unwrap();
    std::fs::create_dir(outer.path().join("root")).unwrap();
    std::fs::write(outer.path().join("root/a.txt"), "x").unwrap();
    let root = policy::Root::open(&outer.path().join("root")).unwrap();
    let policy = policy::Policy::new(policy::PolicyConfig::default()).unwrap();
    let guard = policy::Guard::new(root.into(), policy.into());
    assert!(matches!(examine(&guard, &OPTIONS, &rel("a.txt")), Examined::File(_)));
}
