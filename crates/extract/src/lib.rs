//! From a file's bytes to the text that is indexed. Synchronous, offline, and never fails: what cannot be
//! read is skipped for a stated reason.

mod raw_text;

pub use raw_text::{Extracted, TextRep, raw_text};
