//! Where tokens are in the dictionaries of the segments, remembered once they were asked for.
//!
//! A look-up walks one dictionary per segment, and a question looks each of its words up again and again: in text and
//! in code, for its forms, and with the words of its best passages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::schema::Field;

use super::gather::Part;
use super::view::{SegmentView, unpanicked};

/// Remembered tokens of each part; together some megabytes.
const MAX_KNOWN: usize = 16_384;

/// The postings of a token in one segment.
pub(super) struct Posting {
    /// The number of the segment.
    pub(super) segment: usize,
    pub(super) info: TermInfo,
}

/// What is remembered of one view's segments.
#[derive(Default)]
pub(super) struct Terms {
    body: Mutex<HashMap<Box<str>, Arc<[Posting]>>>,
    path: Mutex<HashMap<Box<str>, Arc<[Posting]>>>,
    defines: Mutex<HashMap<Box<str>, Arc<[Posting]>>>,
}

impl Terms {
    /// The postings of a token in those segments that have it; true if a segment could not be read.
    pub(super) fn of(
        &self,
        segments: &[Arc<SegmentView>],
        part: Part,
        token: &str,
    ) -> (Arc<[Posting]>, bool) {
        let known = match part {
            Part::Body => &self.body,
            Part::Path => &self.path,
            Part::Defines => &self.defines,
        };
        if let Some(postings) = known.lock().unwrap_or_else(PoisonError::into_inner).get(token) {
            return (postings.clone(), false);
        }
        // Only the bytes of the term are looked at, so any field does.
        let term = Term::from_field_text(Field::from_field_id(0), token);
        let mut postings = Vec::new();
        let mut damaged = false;
        for (segment, view) in segments.iter().enumerate() {
            match unpanicked(|| Ok(view.reader(part).get_term_info(&term)?)) {
                Ok(Some(info)) => postings.push(Posting { segment, info }),
                Ok(None) => {}
                Err(error) => {
                    // The rest of the index still answers.
                    tracing::warn!(%error, "a segment of the lexical index cannot be read");
                    damaged = true;
                }
            }
        }
        let postings: Arc<[Posting]> = postings.into();
        if !damaged {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(token.into(), postings.clone());
        }
        (postings, damaged)
    }
}
