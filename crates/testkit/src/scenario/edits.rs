//! A watched folder is edited again and again; then its index answers like a fresh one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::Answers;
use crate::{Client, Era, Folder, Program, Random, Server, Tree};

#[derive(Debug, Clone)]
pub struct Edits {
    pub edits: usize,
    pub files: usize,
    pub seed: u64,
}

#[derive(Debug)]
pub struct EditsReport {
    pub edits: usize,
    pub documents: usize,
    pub queries: usize,
    /// From the last edit until the answers were those of a fresh index.
    pub settled: std::time::Duration,
}

pub fn edits(binary: &Path, plan: &Edits, tell: &dyn Fn(&str)) -> Result<EditsReport, String> {
    let folder = Folder::empty();
    let tree = Tree { files: plan.files, parts: 6, seed: plan.seed };
    tree.write(folder.path()).map_err(|error| error.to_string())?;
    let server = Program::new(binary, &folder).state_dir(&folder.outside().join("state")).serve(&[]);
    server.wait_indexed();

    let mut editor = Editor {
        folder: &folder,
        tree: &tree,
        random: Random::new(plan.seed),
        files: (0..plan.files).map(|number| (tree.file(number, 0).0, number)).collect(),
        version: 0,
    };
    for count in 1..=plan.edits {
        editor.edit();
        // Some edits are given the time to be seen alone, the others pile up.
        if editor.random.one_in(8) {
            editor.settle(&server, count);
        }
        if count % 100 == 0 {
            tell(&format!("{count} edits, {} files", editor.files.len()));
        }
    }
    let last = Instant::now();
    editor.settle(&server, plan.edits + 1);

    let queries = tree.queries();
    let fresh = Program::new(binary, &folder).state_dir(&folder.outside().join("fresh"));
    fresh.index();
    let fresh = Answers::of(&fresh, &queries);
    let mut difference = None;
    let deadline = Instant::now() + crate::DEADLINE;
    let mut client = server.client(Era::Modern);
    while Instant::now() < deadline {
        difference = Answers::ask(&mut client, &queries).difference(&fresh);
        if difference.is_none() {
            let settled = last.elapsed();
            let documents = fresh.documents.len();
            return Ok(EditsReport { edits: plan.edits, documents, queries: queries.len(), settled });
        }
    }
    Err(format!(
        "after {} edits (seed {}) the watched index differs: {}",
        plan.edits,
        plan.seed,
        difference.unwrap_or_default()
    ))
}

struct Editor<'a> {
    folder: &'a Folder,
    tree: &'a Tree,
    random: Random,
    /// Path to the number that its content is made from.
    files: BTreeMap<String, usize>,
    version: u64,
}

impl Editor<'_> {
    fn edit(&mut self) {
        self.version += 1;
        let paths: Vec<String> = self.files.keys().cloned().collect();
        let path = self.random.pick(&paths).clone();
        let number = self.files[&path];
        let content = self.tree.file(number, self.version).1;
        match self.random.below(10) {
            0..=2 => self.folder.write(&path, content),
            3 => self.folder.write(&path, self.folder.read(&path) + "\nOne more line about the ledger.\n"),
            // As editors save: a new file takes the old one's name.
            4 => {
                self.folder.write(".swap.tmp", content);
                self.folder.rename(".swap.tmp", &path);
            }
            5 if self.files.len() > self.tree.files / 2 => {
                self.folder.remove(&path);
                self.files.remove(&path);
            }
            6 => {
                let new = format!("moved/{}/{}", self.random.below(5), path.replace('/', "-"));
                if !self.files.contains_key(&new) && new.len() < 120 {
                    self.folder.rename(&path, &new);
                    self.files.remove(&path);
                    self.files.insert(new, number);
                }
            }
            7 => {
                let new = format!("deep/{}/{}/new_{}.py", self.random.below(4), self.version, self.version);
                self.folder.write(&new, content);
                self.files.insert(new, number);
            }
            8 if self.version.is_multiple_of(5) => self.rename_directory(&path),
            // Saved without a change.
            _ => self.folder.write(&path, self.folder.read(&path)),
        }
    }

    fn rename_directory(&mut self, path: &str) {
        let Some((directory, _)) = path.rsplit_once('/') else { return };
        let new = format!("folder{}", self.version);
        self.folder.rename(directory, &new);
        let inside: Vec<String> =
            self.files.keys().filter(|path| path.starts_with(&format!("{directory}/"))).cloned().collect();
        for path in inside {
            let number = self.files.remove(&path).expect("just listed");
            self.files.insert(path.replacen(directory, &new, 1), number);
        }
    }

    /// Writes a file and waits until it is found: events come in order, so the edits before it have been seen.
    fn settle(&mut self, server: &Server, count: usize) {
        let mark = format!("{}settled", Tree::mark(self.tree.files + count));
        let _ = fs::remove_file(self.folder.path().join("settled.txt"));
        self.folder.write("settled.txt", format!("{mark}\n"));
        self.files.insert("settled.txt".into(), 0);
        server.poll("an edit to be searchable", |client| {
            let answer = client.expect("dir2mcp.search", json!({ "query": mark, "k": 1, "index": "text" }));
            answer["hits"][0]["snippet"].as_str().is_some_and(|text| text.contains(&mark)).then_some(())
        });
    }
}
