//! The folder that the everyday questions are about: files written by hand in `eval/everyday/corpus.txt`, turned into the
//! documents their names say, among several hundred generated ones that speak of the same things.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::build::{deck, document, printed, workbook};

use super::others::others;

/// Lays the folder out and says where it is. It is made anew whenever it is asked for: it takes less than a second.
pub(super) fn lay_out(fixture: &Path, folder: &Path, among_others: bool) -> Result<PathBuf, String> {
    let text = fs::read_to_string(fixture).map_err(|error| format!("{}: {error}", fixture.display()))?;
    let _ = fs::remove_dir_all(folder);
    let generated = if among_others { others() } else { Vec::new() };
    for (path, content) in written(&text).into_iter().chain(generated) {
        let full = folder.join(&path);
        let bytes = made(&path, &content);
        let parent = full.parent().ok_or("a file has a folder")?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&full, bytes))
            .map_err(|error| format!("{}: {error}", full.display()))?;
    }
    Ok(folder.to_owned())
}

/// The files of the fixture: a line `//- path` begins each.
fn written(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("//- "), files.last_mut()) {
            (Some(path), _) => files.push((path.to_owned(), String::new())),
            (None, Some((_, content))) => {
                content.push_str(line);
                content.push('\n');
            }
            (None, None) => {}
        }
    }
    files
}

/// The bytes of a file: a document where its name says so, made from the text.
fn made(path: &str, content: &str) -> Vec<u8> {
    match path.rsplit('.').next().unwrap_or_default() {
        "xlsx" => {
            let rows = |text: &str| -> Vec<Vec<String>> {
                text.lines()
                    .map(|row| row.split(" | ").map(|cell| cell.trim().to_owned()).collect())
                    .collect()
            };
            let sheets: Vec<_> = parts(content).into_iter().map(|(name, text)| (name, rows(&text))).collect();
            workbook(&sheets)
        }
        "pptx" => {
            let slides: Vec<_> = parts(content)
                .into_iter()
                .map(|(title, text)| {
                    let (notes, body): (Vec<&str>, Vec<&str>) =
                        text.lines().partition(|line| line.starts_with("notes: "));
                    (title, body.join(" "), notes.join(" ").replace("notes: ", ""))
                })
                .collect();
            deck(&slides)
        }
        "pdf" => {
            let pages: Vec<Vec<String>> = parts(content)
                .into_iter()
                .map(|(_, text)| text.lines().map(str::to_owned).collect())
                .collect();
            printed(&pages)
        }
        "docx" => document(content),
        _ => content.as_bytes().to_vec(),
    }
}

/// The parts that lines `== name` begin.
fn parts(content: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in content.lines() {
        match (line.strip_prefix("== "), parts.last_mut()) {
            (Some(name), _) => parts.push((name.to_owned(), String::new())),
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    parts
}
