//! What an extraction left out or found odd, for the people who wonder why something is not found.

use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::limits::Limit;

/// Said in the log and in the status of the document; the document is searchable all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Diagnostic {
    #[error("the name says {named}, the content is {found}; it was read as {found}, rename the file")]
    WrongName { named: Format, found: Format },
    #[error("reading stopped early: {limit}; what came before is searchable, split the file to get the rest")]
    Stopped { limit: Limit },
    #[error(
        "{place} is damaged ({detail}); what could be read is searchable, save the file anew to get the rest"
    )]
    Damaged { place: String, detail: String },
    #[error("{part} is missing in the file")]
    MissingPart { part: String },
    #[error("{pages} of {of} pages have no text layer; they need OCR")]
    PagesWithoutText { pages: u32, of: u32 },
    #[error(
        "{count} characters of page {page} are in a font that does not say what its glyphs mean; OCR can tell"
    )]
    UnknownGlyphs { page: u32, count: u32 },
    #[error("some bytes had no meaning in {encoding} and were replaced")]
    LossyText { encoding: String },
    #[error("the attachment {name} was not read; save it beside the message to have it searched")]
    Attachment { name: String },
    #[error("the reader gave up on this file; report it with the file if it is not secret")]
    Failed,
}
