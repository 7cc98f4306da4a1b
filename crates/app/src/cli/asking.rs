//! Questions on the command line: what is asked for, and where it is looked for.

use clap::{Args, ValueEnum};
use model::{DocType, ErrorCode, Failure, Filter, IndexChoice, Query};

use crate::exit::Exit;

#[derive(Debug, Clone, Args)]
pub(crate) struct AskArgs {
    /// The question
    pub question: String,
    /// Write an answer, or only list what was found
    #[arg(long, value_enum, default_value = "answer")]
    pub mode: AskMode,
    #[command(flatten)]
    pub filters: QueryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum AskMode {
    Answer,
    SearchOnly,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; ext:rs, path:src/, lang:python and -word narrow it
    pub query: String,
    /// Show how each score was calculated
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub filters: QueryArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct OutlineArgs {
    /// The file, relative to the directory or absolute below it
    pub path: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BundleArgs {
    /// The task, in plain words or with names from the code
    pub task: String,
    /// Maximum files
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_files: u64,
    /// Maximum lines in total
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_lines: u64,
    /// Whether to include tests [default: only when the task mentions tests]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub include_tests: Option<bool>,
}

/// Where to look, and for how much.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct QueryArgs {
    /// Passages to return, 1 to 50 [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub k: Option<i64>,
    /// Index to look in: auto, text, code or both
    #[arg(long, value_name = "INDEX", default_value = "auto", value_parser = ["auto", "text", "code", "both"])]
    pub index: String,
    /// Only paths starting with PREFIX
    #[arg(long, value_name = "PREFIX")]
    pub path_prefix: Option<String>,
    /// Only paths that match: * stays within a folder, ** crosses them
    #[arg(long, value_name = "GLOB")]
    pub file_glob: Option<String>,
    /// Only these document types, comma-separated: code, text, md, data, html, pdf, image, audio
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub doc_types: Vec<String>,
}

impl QueryArgs {
    /// The query for the engine. No number means `k_default`; one outside 1 to 50 is refused.
    pub(crate) fn query(&self, text: &str, k_default: usize) -> Result<Query, Exit> {
        let refuse = |code, message: String| Err(Exit::from(Failure::new(code, message)));
        if text.trim().is_empty() {
            return refuse(ErrorCode::MissingField, "the query is empty".into());
        }
        let k = match self.k {
            None => k_default,
            Some(k @ 1..=50) => k as usize,
            Some(k) => return refuse(ErrorCode::InvalidRange, format!("--k is {k}; it goes from 1 to 50")),
        };
        let mut doc_types = Vec::new();
        for name in self.doc_types.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match DocType::parse(name) {
                Some(doc_type) => doc_types.push(doc_type),
                None => {
                    let known: Vec<&str> = DocType::ALL.iter().map(|known| known.as_str()).collect();
                    let message = format!("--doc-types: {name} is not one of {}", known.join(", "));
                    return refuse(ErrorCode::InvalidField, message);
                }
            }
        }
        Ok(Query {
            text: text.into(),
            k,
            index: IndexChoice::parse(&self.index).unwrap_or(IndexChoice::Auto),
            filter: Filter::of_files(self.path_prefix.clone(), self.file_glob.clone(), &doc_types),
        })
    }
}
