//! Outlines of many files, for comparison with other programs: paths on standard input, one JSON line each on
//! standard output. With `--time`, only how long it took, and with `--each` also how long each file took, in
//! microseconds; with `--outline`, without references.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lang::{Language, OutlineLimits, parse};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let time = args.iter().any(|arg| arg == "--time");
    let each = args.iter().any(|arg| arg == "--each");
    let uses = args.iter().any(|arg| arg == "--uses");
    let wanted =
        if args.iter().any(|arg| arg == "--outline") { 0 } else { OutlineLimits::default().max_references };
    let limits = OutlineLimits { max_references: wanted, ..OutlineLimits::default() };
    let threads = args
        .iter()
        .position(|arg| arg == "--threads")
        .and_then(|at| args.get(at + 1)?.parse().ok())
        .unwrap_or(2);
    let paths: Vec<String> = std::io::stdin().lock().lines().map_while(Result::ok).collect();
    let next = AtomicUsize::new(0);
    let (bytes, symbols) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Ok(source) = std::fs::read(path) else { continue };
                    let source = String::from_utf8(source)
                        .unwrap_or_else(|bad| bad.as_bytes().iter().map(|byte| char::from(*byte)).collect());
                    let Some(language) = Language::detect(path, &source) else { continue };
                    bytes.fetch_add(source.len(), Ordering::Relaxed);
                    let begun = Instant::now();
                    let parsed = parse(language, &source, &limits);
                    if each {
                        let shortfall = parsed.shortfall.as_ref().map(ToString::to_string);
                        println!(
                            "{} {} {path} {}",
                            begun.elapsed().as_micros(),
                            source.len(),
                            shortfall.unwrap_or_default()
                        );
                    }
                    symbols.fetch_add(parsed.symbols.len(), Ordering::Relaxed);
                    if !time {
                        let line = serde_json::json!({
                            "path": path,
                            "language": language.name(),
                            "shortfall": parsed.shortfall.as_ref().map(ToString::to_string),
                            "symbols": parsed.symbols,
                            "references": if uses { parsed.references.iter().map(|r| format!("{}:{} {:?} {} {:?} {:?}", r.line, r.column, r.kind, r.name, r.qualifier, r.within)).collect::<Vec<_>>() } else { Vec::new() },
                            "imports": if uses { parsed.imports.iter().map(|r| format!("{r:?}")).collect::<Vec<_>>() } else { Vec::new() },
                        });
                        let _ = writeln!(std::io::stdout().lock(), "{line}");
                    }
                }
            });
        }
    });
    if time {
        let seconds = started.elapsed().as_secs_f64();
        let (bytes, symbols) = (bytes.into_inner(), symbols.into_inner());
        println!("{} files, {bytes} bytes, {symbols} symbols, {seconds:.3} s", paths.len());
    }
}
