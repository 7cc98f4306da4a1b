//! Counts files and lines against the budget, and records why each omitted item was left out.

use std::collections::BTreeSet;

/// Why a candidate is not in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    FileBudget,
    LineBudget,
    /// Nothing to show: the file is gone, withheld, or empty where the search found it.
    ZeroLines,
}

impl Skip {
    pub fn as_str(self) -> &'static str {
        match self {
            Skip::FileBudget => "file_budget",
            Skip::LineBudget => "line_budget",
            Skip::ZeroLines => "zero_lines",
        }
    }
}

/// A candidate that was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Skipped {
    pub reason: Skip,
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub score: f32,
}

pub(super) struct Budget {
    max_files: usize,
    lines_left: usize,
    files: BTreeSet<String>,
}

impl Budget {
    pub(super) fn new(max_files: usize, max_lines: usize) -> Budget {
        Budget { max_files, lines_left: max_lines, files: BTreeSet::new() }
    }

    pub(super) fn lines_left(&self) -> usize {
        self.lines_left
    }

    /// Takes the lines, or says which budget they exceed.
    pub(super) fn take(&mut self, path: &str, lines: usize) -> Result<(), Skip> {
        if !self.files.contains(path) && self.files.len() >= self.max_files {
            return Err(Skip::FileBudget);
        }
        if lines > self.lines_left {
            return Err(Skip::LineBudget);
        }
        self.lines_left -= lines;
        self.files.insert(path.to_owned());
        Ok(())
    }
}
