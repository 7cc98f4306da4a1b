//! A question as every contract hands it to the engine.

use serde::{Deserialize, Serialize};

use crate::Filter;

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

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    pub text: String,
    pub k: usize,
    pub index: IndexChoice,
    pub filter: Filter,
}
