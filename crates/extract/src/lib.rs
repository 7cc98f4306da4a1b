//! From a file's bytes to the text that is indexed. Synchronous, offline, and never fails: what cannot be
//! read is skipped for a stated reason.
//!
//! [`extract`] is the one entry for documents, [`archive::members`] the one for archives, [`picture::page_pictures`] the
//! one for pictures of pages and [`audio::samples`] the one for recordings. All take bytes and [`Limits`] and give values
//! that can be sent between processes, so that a worker process can run them.

pub mod archive;
pub mod audio;
mod container;
mod diagnostic;
mod extraction;
mod format;
mod formats;
mod limits;
mod page;
pub mod picture;
mod raw_text;
mod sections;
mod sink;
mod table;
mod xml;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use model::SkipReason;

pub use diagnostic::Diagnostic;
pub use extraction::{Extraction, Unit};
pub use format::{Format, sniff};
pub use formats::{headings, row_lines};
pub use limits::{Limit, Limits};
pub use page::is_page;
pub use raw_text::{Extracted, TextRep, raw_text};

use limits::Meter;
use sink::{Halt, Sink};

/// Reads a document. `format` is what [`sniff`] found; `name` serves for messages about a wrong extension.
///
/// Never fails and never panics; what a hostile file can still do within the limits is use memory for what it
/// unpacks and time up to `limits.max_time`, which is why a worker process calls this.
pub fn extract(format: Format, name: &str, bytes: &[u8], limits: &Limits) -> Extraction {
    let refuse = |skip: SkipReason| Extraction {
        format,
        title: None,
        units: Vec::new(),
        parts: 0,
        skip: Some(skip),
        diagnostics: Vec::new(),
        unread_pages: Vec::new(),
    };
    if bytes.len() as u64 > limits.max_input_bytes {
        return refuse(SkipReason::TooLarge { size: bytes.len() as u64, limit: limits.max_input_bytes });
    }
    let run = || {
        let mut sink = Sink::new(format, Rc::new(Meter::new(limits)));
        if let Some(named) = Format::from_name(name).filter(|named| *named != format) {
            sink.note(Diagnostic::WrongName { named, found: format });
        }
        let outcome = formats::reader(format)(bytes, &mut sink);
        finish(sink, outcome)
    };
    // The readers are tested not to panic; the ones they call cannot be proved to.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let detail = "the reader failed on it".to_owned();
        let mut extraction = refuse(SkipReason::Damaged { format: format.to_string(), detail });
        extraction.diagnostics.push(Diagnostic::Failed);
        extraction
    })
}

fn finish(mut sink: Sink, outcome: sink::Outcome) -> Extraction {
    let format = sink.format.to_string();
    let skip = match outcome {
        Ok(()) if sink.units.is_empty() => match sink.diagnostics.iter().find_map(damage) {
            Some(detail) => Some(SkipReason::Damaged { format, detail }),
            None => Some(SkipReason::NoText { format }),
        },
        Ok(()) => None,
        Err(Halt::Skip(reason)) => {
            sink.units.clear();
            Some(named(reason, format))
        }
        Err(Halt::Limit(limit)) => {
            sink.note(Diagnostic::Stopped { limit });
            match limit {
                Limit::Ratio => {
                    sink.units.clear();
                    Some(SkipReason::Refused { format, detail: limit.to_string() })
                }
                _ if !sink.units.is_empty() => None,
                Limit::Time | Limit::Steps => Some(SkipReason::TookTooLong { format }),
                _ => Some(SkipReason::Refused { format, detail: limit.to_string() }),
            }
        }
        Err(Halt::Broken(detail)) if sink.units.is_empty() => Some(SkipReason::Damaged { format, detail }),
        Err(Halt::Broken(detail)) => {
            sink.note(Diagnostic::Damaged { place: "the file".into(), detail });
            None
        }
    };
    Extraction {
        format: sink.format,
        title: sink.title,
        units: sink.units,
        parts: sink.parts,
        skip,
        diagnostics: sink.diagnostics,
        unread_pages: sink.unread_pages,
    }
}

/// What made a document without text be without text.
fn damage(diagnostic: &Diagnostic) -> Option<String> {
    match diagnostic {
        Diagnostic::Damaged { place, detail } => Some(format!("{place}: {detail}")),
        Diagnostic::MissingPart { part } => Some(format!("{part} is missing")),
        Diagnostic::Stopped { limit } => Some(limit.to_string()),
        _ => None,
    }
}

/// A refusal by a container, with the name of the document's format.
fn named(reason: SkipReason, format: String) -> SkipReason {
    match reason {
        SkipReason::Refused { detail, .. } => SkipReason::Refused { format, detail },
        other => other,
    }
}
