//! Operations on one project, and what they answer, in the terms of the tools.

use crate::Random;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StoreOperation {
    Write {
        path: String,
        content: String,
        mode: StoreWriteMode,
        offset: i64,
    },
    Delete {
        path: String,
        recursive: bool,
    },
    Rename {
        from: String,
        to: String,
        overwrite: bool,
    },
    Read {
        path: String,
    },
    Stat {
        path: String,
    },
    /// All files of the project, with their sizes.
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreWriteMode {
    Append,
    Overwrite,
    Truncate,
}

impl StoreWriteMode {
    pub fn as_str(self) -> &'static str {
        match self {
            StoreWriteMode::Append => "APPEND",
            StoreWriteMode::Overwrite => "OVERWRITE",
            StoreWriteMode::Truncate => "TRUNCATE",
        }
    }
}

/// What an operation answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StoreAnswer {
    Written(usize),
    Deleted(usize),
    Moved(usize),
    Content(String),
    Nothing,
    File(usize),
    Directory,
    /// Files and their sizes, in the order of their paths.
    Files(Vec<(String, usize)>),
    /// The public code.
    Refused(String),
}

impl StoreOperation {
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            StoreOperation::Write { .. } | StoreOperation::Delete { .. } | StoreOperation::Rename { .. }
        )
    }
}

/// Paths that clash often: files that are directories elsewhere, and names that a pattern language would mistake.
const PATHS: &[&str] = &["/a", "/a_b", "/axb", "/a_b/c", "/axb/c", "/d/e", "/d/f/g", "/d", "/h.txt", "/a-b"];

/// An operation that is as likely to meet another one as to be alone. `number` makes what it writes unique.
pub fn random_operation(random: &mut Random, number: u64) -> StoreOperation {
    let path = |random: &mut Random| PATHS[random.below(PATHS.len())].to_owned();
    match random.below(20) {
        0..=6 => StoreOperation::Write {
            path: path(random),
            content: format!("<{number}>"),
            mode: StoreWriteMode::Append,
            offset: 0,
        },
        7..=8 => StoreOperation::Write {
            path: path(random),
            content: format!("[{number}]"),
            mode: StoreWriteMode::Overwrite,
            offset: random.below(12) as i64,
        },
        9..=10 => StoreOperation::Write {
            path: path(random),
            content: format!("({number})"),
            mode: StoreWriteMode::Truncate,
            offset: 0,
        },
        11 => StoreOperation::Delete { path: path(random), recursive: random.below(2) == 0 },
        12..=13 => {
            StoreOperation::Rename { from: path(random), to: path(random), overwrite: random.below(2) == 0 }
        }
        14..=16 => StoreOperation::Read { path: path(random) },
        17..=18 => StoreOperation::Stat { path: path(random) },
        _ => StoreOperation::List,
    }
}
