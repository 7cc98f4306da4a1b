//! Questions made of the words of a tree, each asked once: no answer is remembered from the one before.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Random;

/// Larger files are mostly data.
const MAX_BYTES: u64 = 1_000_000;

/// Distinct queries of two to six words: by turns neighbours on one line, and words from anywhere in one file.
pub(crate) fn of_tree(tree: &Path, count: usize) -> Result<Vec<String>, String> {
    let files = files(tree)?;
    let mut random = Random::new(17);
    let mut seen = HashSet::new();
    let mut queries = Vec::with_capacity(count);
    for _ in 0..count * 100 {
        if queries.len() == count || files.is_empty() {
            break;
        }
        let file = random.pick(&files);
        let small = std::fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_BYTES);
        let Some(text) = small.then(|| std::fs::read_to_string(file).ok()).flatten() else { continue };
        let wanted = 2 + random.below(5);
        let query = if queries.len() % 2 == 0 {
            let lines: Vec<Vec<&str>> = text.lines().map(words).filter(|line| line.len() >= wanted).collect();
            if lines.is_empty() {
                continue;
            }
            let line = random.pick(&lines);
            let start = random.below(line.len() - wanted + 1);
            line[start..start + wanted].join(" ")
        } else {
            let words = words(&text);
            if words.len() < wanted {
                continue;
            }
            (0..wanted).map(|_| *random.pick(&words)).collect::<Vec<_>>().join(" ")
        };
        if seen.insert(query.to_lowercase()) {
            queries.push(query);
        }
    }
    if queries.len() < count {
        return Err(format!("{} has words for {} queries only", tree.display(), queries.len()));
    }
    Ok(queries)
}

/// What ripgrep would search, in a fixed order.
fn files(tree: &Path) -> Result<Vec<PathBuf>, String> {
    let output = Command::new("rg").args(["--files", "-0"]).arg(tree).output().map_err(crate::text)?;
    let mut files: Vec<PathBuf> = output
        .stdout
        .split(|byte| *byte == 0)
        .filter_map(|path| std::str::from_utf8(path).ok())
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect();
    files.sort();
    Ok(files)
}

/// Identifiers and words, neither single letters nor encoded data.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| (3..=30).contains(&word.len()) && word.starts_with(char::is_alphabetic))
        .collect()
}
