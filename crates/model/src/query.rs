//! A question as every contract hands it to the engine.

use serde::{Deserialize, Serialize};

use crate::DocType;

crate::document::named!(
    /// Where the caller wants to look.
    IndexChoice {
        Auto = "auto",
        Text = "text",
        Code = "code",
        Both = "both",
    }
);

crate::document::named!(
    /// Where the engine looked.
    IndexUsed {
        Text = "text",
        Code = "code",
        Both = "both",
    }
);

/// Restricts a search or a listing. Empty means everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Plain prefix of the relative path.
    pub path_prefix: Option<String>,
    /// Gitignore-style glob over the whole relative path: `*` stays within a segment, `**` crosses them.
    pub file_glob: Option<String>,
    pub doc_types: Vec<DocType>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    pub text: String,
    pub k: usize,
    pub index: IndexChoice,
    pub filter: Filter,
}
