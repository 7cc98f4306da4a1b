//! A temporary folder described by one string.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that disappears with the value. The root lies one level below the temporary directory, so that a
/// test can put things beside it.
#[derive(Debug)]
pub struct Folder {
    outer: TempDir,
    root: PathBuf,
}

impl Folder {
    /// Reads files from a fixture: a line `//- path` starts a file, the lines up to the next header are its
    /// content. Lines may be indented as far as their header is; that indentation is not content.
    ///
    /// ```text
    /// //- src/main.rs
    /// fn main() {}
    /// //- notes.md
    /// # Notes
    /// ```
    pub fn from(fixture: &str) -> Folder {
        let folder = Folder::empty();
        for (path, content) in parse(fixture) {
            folder.write(&path, content);
        }
        folder
    }

    pub fn empty() -> Folder {
        let outer = TempDir::with_prefix("dir2mcp-test-").expect("a temporary directory");
        let root = outer.path().join("root");
        fs::create_dir(&root).expect("a root directory");
        // The binary reports canonical paths; where the temporary directory is itself a link, tests compare.
        let root = root.canonicalize().expect("the root directory exists");
        Folder { outer, root }
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The directory that holds the root.
    pub fn outside(&self) -> &Path {
        self.outer.path()
    }

    /// The default state directory.
    pub fn state(&self) -> PathBuf {
        self.root.join(".dir2mcp")
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let full = self.root.join(path);
        fs::create_dir_all(full.parent().expect("a file has a parent")).expect("the parent directory");
        fs::write(&full, content).unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub fn rename(&self, from: &str, to: &str) {
        let full = self.root.join(to);
        fs::create_dir_all(full.parent().expect("a file has a parent")).expect("the parent directory");
        fs::rename(self.root.join(from), full).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
    }

    /// Makes `path` a symbolic link to `target`, which is taken literally.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        let full = self.root.join(path);
        fs::create_dir_all(full.parent().expect("a link has a parent")).expect("the parent directory");
        std::os::unix::fs::symlink(target, full).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

fn parse(fixture: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut indent = "";
    for line in fixture.lines() {
        let bare = line.trim_start();
        if let Some(path) = bare.strip_prefix("//- ") {
            indent = &line[..line.len() - bare.len()];
            files.push((path.trim().to_owned(), String::new()));
        } else if let Some((_, content)) = files.last_mut() {
            content.push_str(line.strip_prefix(indent).unwrap_or(bare));
            content.push('\n');
        } else {
            assert!(bare.is_empty(), "a fixture starts with a line `//- path`, not {line:?}");
        }
    }
    // The closing quote of an indented fixture leaves a last line of blanks.
    if let Some((_, content)) = files.last_mut()
        && !indent.is_empty()
        && fixture.ends_with(' ')
    {
        content.truncate(content.trim_end_matches([' ', '\n']).len());
        content.push('\n');
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{Folder, parse};

    #[test]
    fn one_string_describes_a_folder() {
        let folder = Folder::from("//- a/b.txt\none\n\n  two\n//- c.md\n# C\n");
        assert_eq!(folder.read("a/b.txt"), "one\n\n  two\n");
        assert_eq!(folder.read("c.md"), "# C\n");
    }

    #[test]
    fn the_indentation_of_the_header_is_not_content() {
        let files = parse(
            "
            //- a.py
            def f():
                return 1
            //- b.txt
            last
            ",
        );
        assert_eq!(files[0], ("a.py".into(), "def f():\n    return 1\n".into()));
        assert_eq!(files[1], ("b.txt".into(), "last\n".into()));
    }
}
