//! Extracts the files that are named and prints one line of JSON for each: the path, the time it took in
//! milliseconds, and what came out. `cargo xtask documents` compares that with what others read.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::ops::ControlFlow;
use std::time::Instant;

use extract::archive::{Mode, members};
use extract::{Limits, extract, sniff};
use serde_json::json;

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        let started = Instant::now();
        let found = sniff(&path, &bytes);
        let result = match found {
            None => json!(null),
            Some(format) if format.is_archive() => {
                let mut entries = Vec::new();
                let mut visit = |entry| {
                    entries.push(entry);
                    ControlFlow::Continue(())
                };
                let walked = members(format, &path, &bytes, &Limits::default(), Mode::Deep, &mut visit);
                json!({ "archive": walked, "entries": entries.len() })
            }
            Some(format) => json!(extract(format, &path, &bytes, &Limits::default())),
        };
        let took = started.elapsed().as_secs_f64() * 1000.0;
        println!("{}", json!({ "path": path, "milliseconds": took, "result": result }));
    }
}
