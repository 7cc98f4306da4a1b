//! `cargo xtask crash`: the long version of the crash test.

use std::path::Path;
use std::process::Command;

use testkit::scenario::{Crash, crash};

use crate::Args;
use crate::process::{Profile, build, capture};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let plan = Crash {
        kills: args.number("--kills", 200)?,
        files: args.number("--files", 400)?,
        seed: args.number("--seed", 1)? as u64,
    };
    args.done()?;
    let binary = build(Profile::Release)?;
    let report = crash(&binary, &plan, &check, &|line| println!("{line}"))?;
    println!(
        "crash: {} kills at work ({} came too late), {} documents, {} queries: nothing lost, doubled or different",
        report.hits, report.late, report.documents, report.queries
    );
    Ok(())
}

/// Python's SQLite looks at the database, not the one under test.
fn check(database: &Path) -> Result<(), String> {
    const SCRIPT: &str = "\
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
problems = [row[0] for row in database.execute('PRAGMA integrity_check') if row[0] != 'ok']
problems += [str(row) for row in database.execute('PRAGMA foreign_key_check')]
tables = {row[0] for row in database.execute(\"SELECT name FROM sqlite_master WHERE type = 'table'\")}
if 'documents' in tables:
    twice = 'SELECT rel_path FROM documents WHERE NOT deleted GROUP BY rel_path HAVING count(*) > 1'
    problems += [f'{row[0]} is there twice' for row in database.execute(twice)]
print('\\n'.join(problems))
sys.exit(1 if problems else 0)
";
    let done = capture(Command::new("python3").args(["-c", SCRIPT]).arg(database))?;
    if done.code == Some(0) { Ok(()) } else { Err(done.output()) }
}
