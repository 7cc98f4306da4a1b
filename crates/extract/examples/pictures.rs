//! Takes pictures of the pages of the files that are named and prints one line of JSON for each page: its number, whether
//! the text layer lacks its words, where the picture comes from, and the time it took in milliseconds. With `--to FOLDER` first,
//! the pictures are kept there; with `--unread` first, only the pages that need one are looked at.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use extract::picture::page_pictures;
use extract::{Limits, extract, sniff};
use serde_json::json;

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let (mut folder, mut only_unread) = (None, false);
    while let Some(option) = args.next_if(|arg| arg.starts_with("--")) {
        match option.as_str() {
            "--to" => folder = args.next().map(PathBuf::from),
            "--unread" => only_unread = true,
            other => return eprintln!("{other} is no option"),
        }
    }
    for (number, path) in args.enumerate() {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        let Some(format) = sniff(&path, &bytes) else { continue };
        let limits = Limits::default();
        let extraction = extract(format, &path, &bytes, &limits);
        let pages: Vec<u32> = match only_unread {
            true => extraction.unread_pages.clone(),
            false => (1..=extraction.parts).collect(),
        };
        let mut started = Instant::now();
        page_pictures(format, &bytes, &pages, &limits, &mut |page, picture| {
            let took = started.elapsed().as_secs_f64() * 1000.0;
            let is_unread = extraction.unread_pages.contains(&page);
            let told = match &picture {
                Ok(picture) => {
                    json!({ "kind": picture.kind, "width": picture.width, "height": picture.height, "bytes": picture.png.len() })
                }
                Err(reason) => json!({ "error": reason.to_string() }),
            };
            println!(
                "{}",
                json!({ "path": path, "page": page, "unread": is_unread, "milliseconds": took, "picture": told })
            );
            if let (Some(folder), Ok(picture)) = (&folder, picture)
                && let Err(error) = std::fs::write(folder.join(format!("{number}-{page}.png")), picture.png)
            {
                eprintln!("{error}");
            }
            started = Instant::now();
            ControlFlow::Continue(())
        });
    }
}
