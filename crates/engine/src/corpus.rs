//! `corpus.json`: the summary of the corpus and its indexing, for people and for processes that only read.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use index::Counts;
use model::{DocType, Progress};
use serde::{Deserialize, Serialize};

use crate::state::write;

pub(crate) const FILE: &str = "corpus.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Corpus {
    pub root: String,
    pub profile: Profile,
    pub models: ModelNames,
    pub indexing: Progress,
    /// A digest of all the rest: numbers that do not match it are ignored.
    #[serde(default)]
    check: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Profile {
    pub doc_counts: BTreeMap<String, u64>,
    /// Share of code among the documents that are indexed, between 0 and 1.
    pub code_ratio: f64,
}

/// The models in use, by the names that `corpus.json` and `dir2mcp.stats` show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNames {
    pub embed_text: String,
    pub embed_code: String,
    pub ocr: String,
    pub stt_provider: String,
    pub stt_model: String,
    pub chat: String,
}

impl Corpus {
    pub(crate) fn new(root: &str, counts: &Counts, models: &ModelNames, indexing: Progress) -> Corpus {
        let code = counts.by_type.get(&DocType::Code).copied().unwrap_or(0);
        let textual: u64 =
            counts.by_type.iter().filter(|(kind, _)| kind.is_textual()).map(|(_, count)| count).sum();
        let code_ratio = if textual == 0 { 0.0 } else { code as f64 / textual as f64 };
        let mut corpus = Corpus {
            root: root.to_owned(),
            profile: Profile {
                doc_counts: counts
                    .by_type
                    .iter()
                    .map(|(kind, count)| (kind.as_str().to_owned(), *count))
                    .collect(),
                code_ratio: (code_ratio * 1000.0).round() / 1000.0,
            },
            models: models.clone(),
            indexing,
            check: String::new(),
        };
        corpus.check = corpus.digest();
        corpus
    }

    fn digest(&self) -> String {
        let rest = Corpus { check: String::new(), ..self.clone() };
        // Serialising numbers and strings into memory does not fail.
        let text = serde_json::to_vec(&rest).unwrap_or_default();
        blake3::hash(&text).to_hex()[..16].to_owned()
    }

    pub(crate) fn write(&self, state_dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        text.push('\n');
        write(&state_dir.join(FILE), &text, 0o600)
    }
}

/// What the last writer left in `state_dir`; `None` when there is nothing that can be read.
pub fn read_corpus(state_dir: &Path) -> Option<Corpus> {
    let bytes = std::fs::read(state_dir.join(FILE)).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|corpus: &Corpus| corpus.check == corpus.digest())
}
