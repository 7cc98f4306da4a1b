//! The lines that a task needs, out of a whole repository, within a budget.

mod budget;
mod deterministic;
mod keywords;
mod named;
mod ranges;

use model::{Failure, Symbol};

pub use budget::{Skip, Skipped};
pub use deterministic::Deterministic;
pub use keywords::keywords;
pub use named::{NamedSymbol, declares};

/// What a bundle is for, and how large it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub prompt: String,
    pub max_files: usize,
    pub max_lines: usize,
    /// `None` takes tests where the prompt speaks of them.
    pub include_tests: Option<bool>,
    /// Passages asked for with the whole prompt; each keyword asks for a quarter.
    pub hits: usize,
}

/// Puts a bundle together. One that asks a model would be another implementation of it, for the same callers.
pub trait Bundler {
    fn bundle(&self, task: &Task, repository: &dyn Repository) -> Result<Bundle, Failure>;
}

/// What a bundler may ask of the repository: all of it under the current policy.
pub trait Repository {
    /// The best passages, best first.
    fn search(&self, text: &str, k: usize) -> Result<Vec<Passage>, Failure>;

    /// A file as it is now; `None` where it is gone or may not be read.
    fn source(&self, path: &str) -> Option<Source>;

    /// The files whose paths are this one or end with it, at most `most`.
    fn called(&self, path: &str, most: usize) -> Result<Vec<String>, Failure>;

    /// The files that declare a name, at most `most`.
    fn declaring(&self, symbol: &NamedSymbol, most: usize) -> Result<Vec<String>, Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Source {
    pub text: String,
    /// Empty where the language is not known.
    pub symbols: Vec<Symbol>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bundle {
    /// The prompt and its keywords, as they were searched for.
    pub queries: Vec<String>,
    pub selections: Vec<Selection>,
    /// Passages found by all searches, and how many different ones.
    pub found: usize,
    pub distinct: usize,
    pub skipped: Vec<Skipped>,
    /// Files that were found, but match too little beside the others to be worth their lines.
    pub weak: usize,
}

impl Bundle {
    pub fn lines(&self) -> usize {
        self.selections.iter().map(Selection::lines).sum()
    }

    pub fn files(&self) -> usize {
        let mut paths: Vec<&str> = self.selections.iter().map(|selection| selection.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.len()
    }
}

/// One excerpt, and why it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub path: String,
    /// Lines from 1, both included.
    pub start_line: u32,
    pub end_line: u32,
    pub excerpt: String,
    pub score: f32,
    /// The search that found the file best.
    pub source_query: String,
    pub why: SelectionReason,
}

impl Selection {
    pub fn lines(&self) -> usize {
        (self.end_line + 1 - self.start_line) as usize
    }
}

/// What an excerpt has to do with the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectionReason {
    /// The words of the prompt that occur in the excerpt, sorted.
    pub matched_terms: Vec<String>,
    /// The declarations that the excerpt was aligned to: kind and qualified name.
    pub symbols: Vec<(String, String)>,
    /// The names of the prompt that are declared here.
    pub defines: Vec<String>,
    /// The declaration is longer than what is shown of it.
    pub is_part: bool,
    /// The whole file, because it is short.
    pub whole_file: bool,
    /// The prompt names the file or the declaration outright.
    pub named: bool,
}

impl SelectionReason {
    /// The same for a reader.
    pub fn rationale(&self) -> String {
        let mut parts = Vec::new();
        if self.named {
            parts.push("named in the prompt".to_owned());
        }
        if !self.defines.is_empty() {
            parts.push(format!("defines {}", self.defines.join(", ")));
        }
        let matched = match self.matched_terms.as_slice() {
            [] => None,
            terms => Some(format!("matches {}", terms.join(", "))),
        };
        let place = match self.symbols.as_slice() {
            _ if self.whole_file => "a short file, whole".to_owned(),
            [] => "the passage around the matches".to_owned(),
            symbols => {
                let part = if self.is_part { "part of " } else { "" };
                let names: Vec<String> =
                    symbols.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
                format!("{part}{}", names.join(", "))
            }
        };
        parts.extend(matched);
        parts.push(place);
        parts.join("; ")
    }
}
