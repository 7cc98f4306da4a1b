//! The command line as people type it.

use std::collections::BTreeSet;

use clap::CommandFactory;
use model::IndexChoice;

use super::asking::QueryArgs;
use super::*;
use crate::config::keys::TABLE;

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn d019_to_d026_every_flag_of_the_table_is_a_flag_of_up() {
    let command = Cli::command();
    let up = command.find_subcommand("up").unwrap();
    // The one key of the table that every command takes.
    let everywhere = command.get_arguments().filter(|arg| arg.get_long() == Some("roots"));
    let arguments = up.get_arguments().chain(everywhere);
    let flags: BTreeSet<String> =
        arguments.filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect();
    let known: BTreeSet<String> =
        TABLE.iter().flat_map(|spec| spec.flag).map(|flag| flag.to_string()).collect();
    // What is said once for a run and is no setting.
    let own = ["--force-insecure", "--key", "--project", "--x402-facilitator-token"].map(String::from);
    assert_eq!(flags, known.into_iter().chain(own).collect());
}

#[test]
fn d013_to_d018_global_flags_go_before_and_after() {
    for arguments in [
        ["--dir", "a", "--json", "--quiet", "--non-interactive", "--state-dir=s", "--config", "c", "up"],
        ["up", "--dir", "a", "--json", "--quiet", "--non-interactive", "--state-dir=s", "--config", "c"],
    ] {
        let global = Cli::try_parse_from(["dir2mcp"].iter().chain(&arguments)).unwrap().global;
        assert!(global.json && global.quiet && global.non_interactive);
        assert_eq!(global.dir, Some("a".into()));
        assert_eq!((global.state_dir, global.config), (Some("s".into()), Some("c".into())));
    }
}

#[test]
fn flags_with_an_optional_value() {
    assert_eq!(UpArgs::parse_for_tests(&[]).x402_tools_call_enabled, None);
    let enabled = |flag| UpArgs::parse_for_tests(&[flag]).x402_tools_call_enabled;
    assert_eq!(enabled("--x402-tools-call-enabled"), Some(true));
    assert_eq!(enabled("--x402-tools-call-enabled=false"), Some(false));
    let files = |arguments: &[&str]| match Cli::try_parse_from(["dir2mcp", "status"].iter().chain(arguments))
    {
        Ok(Cli { command: Command::Status(args), .. }) => args.files,
        other => panic!("{other:?}"),
    };
    assert_eq!(files(&[]), None);
    assert_eq!(files(&["--files"]), Some("**".into()));
    assert_eq!(files(&["--files", "*.md"]), Some("*.md".into()));
}

#[test]
fn queries_are_bounded() {
    let query =
        |arguments: &[&str]| match Cli::try_parse_from(["dir2mcp", "ask", "why?"].iter().chain(arguments)) {
            Ok(Cli { command: Command::Ask(args), .. }) => args.filters.query(&args.question, 7),
            other => panic!("{other:?}"),
        };
    assert_eq!(query(&[]).unwrap().k, 7);
    for k in ["0", "-3"] {
        assert_eq!(query(&["--k", k]).unwrap_err().label, "INVALID_RANGE");
    }
    assert_eq!(query(&["--k", "50"]).unwrap().k, 50);
    assert_eq!(query(&["--k", "51"]).unwrap_err().label, "INVALID_RANGE");
    let full = query(&[
        "--index",
        "both",
        "--path-prefix",
        "docs/",
        "--doc-types",
        "md, code",
        "--file-glob",
        "*.md",
    ]);
    let full = full.unwrap();
    assert_eq!(full.index, IndexChoice::Both);
    assert_eq!(full.filter.doc_types(), ["md", "code"]);
    assert_eq!(query(&["--doc-types", "movie"]).unwrap_err().label, "INVALID_FIELD");
    assert_eq!(QueryArgs::default().query(" ", 7).unwrap_err().label, "MISSING_FIELD");
}
