//! Generated source trees: the same seed gives the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use crate::Random;

const WORDS: &[&str] = &[
    "account", "batch", "buffer", "cache", "channel", "cluster", "column", "commit", "config", "cursor",
    "deadline", "decode", "deliver", "encode", "entry", "event", "filter", "fragment", "gateway", "handler",
    "index", "invoice", "journal", "kernel", "ledger", "lease", "limit", "merge", "message", "node",
    "offset", "order", "packet", "parser", "pending", "policy", "queue", "quorum", "range", "record",
    "registry", "replica", "request", "retry", "route", "schema", "segment", "session", "shard", "signal",
    "snapshot", "socket", "stream", "table", "tenant", "token", "transfer", "tuple", "vector", "window",
    "worker", "yield",
];

/// A tree of small source and prose files in nested directories.
#[derive(Debug, Clone)]
pub struct Tree {
    pub files: usize,
    /// Mean number of functions or paragraphs in a file; the size follows from it.
    pub parts: usize,
    pub seed: u64,
}

impl Tree {
    /// Writes the tree below `root` and returns its paths.
    pub fn write(&self, root: &Path) -> io::Result<Vec<String>> {
        let mut paths = Vec::with_capacity(self.files);
        for number in 0..self.files {
            let (path, content) = self.file(number, 0);
            let full = root.join(&path);
            fs::create_dir_all(full.parent().expect("files of the tree have a parent"))?;
            fs::write(full, content)?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// One file of the tree: its path, and its content at a version.
    pub fn file(&self, number: usize, version: u64) -> (String, String) {
        let mut random = Random::new(self.seed ^ (number as u64) << 20);
        let area = WORDS[number % 7 * 8 % WORDS.len()];
        let name = random.pick(WORDS);
        let kind = ["rs", "py", "md", "go", "txt"][number % 5];
        let path = format!("{area}/part{}/{name}_{number}.{kind}", number / 50);
        let mut content = Random::new(self.seed ^ (number as u64) << 20 ^ version.wrapping_mul(0x5851_f42d));
        (path, text(&mut content, kind, number, version, self.parts))
    }

    /// A word that occurs in one file of the tree only.
    pub fn mark(number: usize) -> String {
        let mut mark = String::from("mark");
        for digit in number.to_string().bytes() {
            mark.push((b'k' + digit - b'0') as char);
        }
        mark.push('q');
        mark
    }

    /// Questions whose answers depend on many files.
    pub fn queries(&self) -> Vec<String> {
        let mut random = Random::new(self.seed ^ 0xabcd);
        let mut queries: Vec<String> =
            (0..8).map(|_| format!("{} {}", random.pick(WORDS), random.pick(WORDS))).collect();
        queries.extend((0..4).map(|_| Tree::mark(random.below(self.files))));
        queries.push("fn lease_renew(session) {}".into());
        queries.push("how are pending invoices delivered to the ledger".into());
        queries
    }
}

fn text(random: &mut Random, kind: &str, number: usize, version: u64, parts: usize) -> String {
    let mut text = String::new();
    let mark = Tree::mark(number);
    let count = parts / 2 + random.below(parts.max(1)) + 1;
    for part in 0..count {
        let (a, b, c) = (random.pick(WORDS), random.pick(WORDS), random.pick(WORDS));
        let value = random.below(10_000);
        let written = match kind {
            "rs" => writeln!(
                text,
                "/// Brings the {a} of a {b} up to date.\npub fn {a}_{b}_{part}({c}: &mut {b}) -> u64 {{\n    \
                 let {a} = {c}.{a}({value});\n    {c}.{b}.push({a});\n    {a} + {version}\n}}\n"
            ),
            "py" => writeln!(
                text,
                "def {a}_{b}_{part}({c}):\n    \"\"\"Moves the {a} into its {b}.\"\"\"\n    \
                 {a} = {c}.{b}({value})\n    return {a} + {version}\n"
            ),
            "go" => writeln!(
                text,
                "// {a}{part} keeps the {b}.\nfunc {a}{part}({c} *{b}) error {{\n\t{a} := {c}.{b}({value})\n\t\
                 return {a}.Close({version})\n}}\n"
            ),
            "md" => writeln!(
                text,
                "## The {a} of the {b}\n\nEvery {a} has a {b} and at most {value} of {c}. Version {version}.\n"
            ),
            _ => writeln!(
                text,
                "The {a} was sent to the {b} after {value} tries.\nNo {c} was pending ({version}).\n"
            ),
        };
        written.expect("writing to a string cannot fail");
        if part == count / 2 {
            let comment = match kind {
                "rs" | "go" => "//",
                "py" => "#",
                _ => "-",
            };
            writeln!(text, "{comment} {mark} is the mark of file {number}, version {version}\n")
                .expect("writing to a string cannot fail");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn the_same_seed_gives_the_same_tree() {
        let tree = Tree { files: 10, parts: 4, seed: 7 };
        assert_eq!(tree.file(3, 0), tree.file(3, 0));
        assert_ne!(tree.file(3, 0).1, tree.file(3, 1).1);
        assert_eq!(tree.file(3, 0).0, tree.file(3, 1).0);
        assert!(tree.file(3, 5).1.contains(&Tree::mark(3)));
    }
}
