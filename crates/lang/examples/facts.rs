//! Facts of many files, for comparison with other parsers: paths on standard input, one JSON line each on standard output.
//! With `--time`, only how long it took.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::io::{BufRead, Write};
use std::time::Instant;

use lang::{Language, OutlineLimits, facts};

fn main() {
    let time = std::env::args().any(|argument| argument == "--time");
    let (mut files, mut bytes, mut declarations) = (0, 0, 0);
    let started = Instant::now();
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(source) = std::fs::read_to_string(&path) else { continue };
        let Some(language) = Language::detect(&path, &source) else { continue };
        let found = facts(language, &source, &OutlineLimits::default());
        files += 1;
        bytes += source.len();
        declarations += found.declarations.len();
        if !time {
            let line = serde_json::json!({ "path": path, "facts": found });
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        }
    }
    if time {
        let seconds = started.elapsed().as_secs_f64();
        println!("{files} files, {bytes} bytes, {declarations} declarations, {seconds:.3} s");
    }
}
