//! A question in everyday words as a query for a full-text index, with the filters it speaks of. Without a model.

use model::Failure;
use retrieve::{fts, understand};

use super::Smart;
use super::search::this_year;
use crate::api::Call;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// In the syntax of SQLite's FTS5.
    pub fts: String,
    pub exts: Vec<String>,
    pub years: Vec<String>,
    /// What was done, in a sentence.
    pub notes: String,
}

impl Smart {
    pub async fn rewrite(&self, call: &Call, query: &str) -> Result<Rewritten, Failure> {
        let work = async {
            let understood = understand(query, this_year());
            let (fts, notes) = fts(&understood);
            Ok(Rewritten { fts, exts: understood.exts, years: understood.years, notes })
        };
        self.engines()[0].audited(call, work).await
    }
}
