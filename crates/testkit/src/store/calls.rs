//! Calls of the tools with all their arguments, good and bad, and what the plain model says that they answer.

use serde_json::{Value, json};

use super::model::StoreModel;
use super::operation::StoreWriteMode;
use crate::Random;

/// A call of a tool on one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreCall {
    Write { path: String, content: String, mode: StoreWriteMode, offset: i64 },
    Delete { path: String, recursive: bool },
    Rename { from: String, to: String, overwrite: bool },
    Read { path: String, offset: i64, length: i64 },
    Stat { path: String },
    List { path: String, depth: i64, limit: i64 },
}

/// Names that a pattern language, a case-blind comparison or a careless cut at a slash would mistake for each other.
const GOOD_PATHS: &[&str] = &[
    "/a", "/A", "/a_b", "/axb", "/a-b", "/a.b", "/a_b/c", "/axb/c", "/a-b/c", "/a.b/c", "/ab", "/a/b",
    "/a/b/c", "/d/e", "/d/f/g", "/d", "/d/e/h", "/...", "/a..b", "/_", "/-",
];

/// Names that nothing takes: wildcards, look-alikes, ways out.
const BAD_PATHS: &[&str] =
    &["/a%b", "/%", "/аb", "/ａ", "/a b", "/a/", "//", "/a/../d", "/./a", "a", "/", "/a\u{200b}", "/a\0"];

impl StoreCall {
    /// As likely to meet another call as to be alone. What it writes carries `marker`.
    pub fn random(random: &mut Random, marker: &str, number: u64) -> StoreCall {
        let path = |random: &mut Random| match random.below(40) {
            0 => (*random.pick(BAD_PATHS)).to_owned(),
            1 => format!("/{}", "l".repeat(509 + random.below(5))),
            2 => String::new(),
            _ => (*random.pick(GOOD_PATHS)).to_owned(),
        };
        let offset = |random: &mut Random| match random.below(12) {
            0 => -1,
            1 => i64::MAX,
            2 => 0,
            _ => random.below(90) as i64,
        };
        match random.below(20) {
            0..=7 => {
                let mode = *random.pick(&[
                    StoreWriteMode::Append,
                    StoreWriteMode::Overwrite,
                    StoreWriteMode::Truncate,
                ]);
                let offset =
                    if mode == StoreWriteMode::Truncate && !random.one_in(8) { 0 } else { offset(random) };
                let filler = *random.pick(&["", "é", "你好", "🦀", "plain words\n", "\0", "ß\r\n"]);
                StoreCall::Write {
                    path: path(random),
                    content: format!("<{marker}{number}{filler}>"),
                    mode,
                    offset,
                }
            }
            8 => StoreCall::Delete { path: path(random), recursive: random.one_in(2) },
            9..=10 => StoreCall::Rename { from: path(random), to: path(random), overwrite: random.one_in(2) },
            11..=14 => {
                let length = if random.one_in(3) { -1 } else { offset(random) - 1 };
                StoreCall::Read { path: path(random), offset: offset(random), length }
            }
            15..=16 => StoreCall::Stat { path: path(random) },
            _ => StoreCall::List {
                path: path(random),
                depth: random.below(6) as i64 - 1,
                limit: random.below(12) as i64 - 1,
            },
        }
    }

    /// The tool and its arguments.
    pub fn request(&self, project: &str) -> (&'static str, Value) {
        match self {
            StoreCall::Write { path, content, mode, offset } => (
                "file_write",
                json!({ "project": project, "path": path, "content": content, "mode": mode.as_str(), "offset": offset }),
            ),
            StoreCall::Delete { path, recursive } => {
                ("file_delete", json!({ "project": project, "path": path, "recursive": recursive }))
            }
            StoreCall::Rename { from, to, overwrite } => (
                "file_rename",
                json!({ "project": project, "from_path": from, "to_path": to, "overwrite": overwrite }),
            ),
            StoreCall::Read { path, offset, length } => {
                ("file_read", json!({ "project": project, "path": path, "offset": offset, "length": length }))
            }
            StoreCall::Stat { path } => ("file_stat", json!({ "project": project, "path": path })),
            StoreCall::List { path, depth, limit } => {
                ("file_list", json!({ "project": project, "path": path, "depth": depth, "limit": limit }))
            }
        }
    }

    /// The part of an answer that the model knows.
    pub fn known(&self, answer: &Value) -> Value {
        if answer["code"].is_string() {
            return json!({ "code": answer["code"] });
        }
        let fields: &[&str] = match self {
            StoreCall::Write { .. } => &["bytes_written", "size"],
            StoreCall::Delete { .. } => &["deleted_count"],
            StoreCall::Rename { .. } => &["moved_count"],
            StoreCall::Read { .. } => &["content", "size"],
            StoreCall::Stat { .. } => &["exists", "type", "size"],
            StoreCall::List { .. } => {
                let entries = answer["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
                let entry =
                    |entry: &Value| json!([entry["path"], entry["name"], entry["type"], entry["size"]]);
                let entries: Vec<Value> = entries.iter().map(entry).collect();
                return json!({ "entries": entries, "has_more": answer["has_more"] });
            }
        };
        fields.iter().map(|name| ((*name).to_owned(), answer[*name].clone())).collect()
    }

    /// What the model answers, in the same shape.
    pub fn expected(&self, model: &mut StoreModel) -> Value {
        let done = match self {
            StoreCall::Write { path, content, mode, offset } => check_file(path).and_then(|()| {
                model.write(path, content, *mode, *offset)?;
                Ok(json!({ "bytes_written": content.len(), "size": model.files[path].len() }))
            }),
            StoreCall::Delete { path, recursive } => check(path).and_then(|()| {
                let before = model.files.len();
                model.delete(path, *recursive)?;
                Ok(json!({ "deleted_count": before - model.files.len() }))
            }),
            StoreCall::Rename { from, to, overwrite } => {
                check(from).and_then(|()| check(to)).and_then(|()| {
                    let moved = moved_count(model, from, to);
                    rename(model, from, to, *overwrite)?;
                    Ok(json!({ "moved_count": moved }))
                })
            }
            StoreCall::Read { path, offset, length } => check_file(path).and_then(|()| {
                if *offset < 0 || *length < -1 {
                    return Err("INVALID_OFFSET");
                }
                let Some(content) = model.files.get(path) else {
                    return Err(if model.is_directory(path) { "IS_DIRECTORY" } else { "NOT_FOUND" });
                };
                let start = (*offset as usize).min(content.len());
                let rest = &content[start..];
                let part = if *length < 0 { rest } else { &rest[..rest.len().min(*length as usize)] };
                Ok(json!({ "content": String::from_utf8_lossy(part), "size": content.len() }))
            }),
            StoreCall::Stat { path } => check(path).map(|()| match model.files.get(path) {
                Some(content) => json!({ "exists": true, "type": "FILE", "size": content.len() }),
                None if path.is_empty() || model.is_directory(path) => {
                    json!({ "exists": true, "type": "DIRECTORY", "size": 0 })
                }
                None => json!({ "exists": false, "type": "", "size": 0 }),
            }),
            StoreCall::List { path, depth, limit } => list(model, path, *depth, *limit),
        };
        done.unwrap_or_else(|code| json!({ "code": code }))
    }
}

fn list(model: &StoreModel, path: &str, depth: i64, limit: i64) -> Result<Value, &'static str> {
    // Only listing takes the root by this name.
    let path = if path == "/" { "" } else { path };
    check(path)?;
    if depth < 0 {
        return Err("INVALID_OFFSET");
    }
    let row = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        match model.files.get(path) {
            Some(content) => json!([path, name, "FILE", content.len()]),
            None => json!([path, name, "DIRECTORY", 0]),
        }
    };
    let is_there = path.is_empty() || model.files.contains_key(path) || model.is_directory(path);
    if !is_there {
        return Err("NOT_FOUND");
    }
    // A file has nothing below it: it is listed itself.
    if depth == 0 || model.files.contains_key(path) {
        return Ok(json!({ "entries": [row(path)], "has_more": false }));
    }
    let mut paths = std::collections::BTreeSet::new();
    for file in model.below(path) {
        let rest = &file[path.len()..];
        let ends = rest.match_indices('/').map(|(at, _)| at).skip(1).chain([rest.len()]);
        paths.extend(ends.take(depth as usize).map(|end| format!("{path}{}", &rest[..end])));
    }
    let limit = if limit <= 0 { 256 } else { limit.min(1024) as usize };
    let has_more = paths.len() > limit;
    let entries: Vec<Value> = paths.iter().take(limit).map(|path| row(path)).collect();
    Ok(json!({ "entries": entries, "has_more": has_more }))
}

/// A move whose targets would be too long moves nothing.
fn rename(model: &mut StoreModel, from: &str, to: &str, overwrite: bool) -> Result<(), &'static str> {
    let mut moved = model.clone();
    moved.rename(from, to, overwrite)?;
    if moved.files.keys().any(|path| check(path).is_err()) {
        return Err("INVALID_PATH");
    }
    *model = moved;
    Ok(())
}

fn moved_count(model: &StoreModel, from: &str, to: &str) -> usize {
    match () {
        () if from == to => 0,
        () if model.files.contains_key(from) => 1,
        () => model.below(from).len(),
    }
}

/// The rules of section 8.2, in the plainest way.
fn check(path: &str) -> Result<(), &'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_segment = |segment: &str| {
        !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(is_plain)
    };
    let is_good = match path.strip_prefix('/') {
        None => path.is_empty(),
        Some(rest) => path.len() <= 512 && rest.split('/').all(is_segment),
    };
    if is_good { Ok(()) } else { Err("INVALID_PATH") }
}

fn check_file(path: &str) -> Result<(), &'static str> {
    if path.is_empty() { Err("INVALID_PATH") } else { check(path) }
}
