//! Remembers the answers of the current snapshot: the same question over the same index has the same answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Hit, IndexUsed, Query};

/// Enough for the questions a few agents repeat; an answer is a few kilobytes.
const CAPACITY: usize = 256;

/// What is remembered: the hits, not the texts they were cut from.
#[derive(Debug)]
pub(crate) struct RememberedHits {
    pub(crate) index_used: IndexUsed,
    pub(crate) hits: Arc<[Hit]>,
    pub(crate) note: Option<String>,
}

#[derive(Default)]
pub(crate) struct RememberedAnswers {
    inner: Mutex<AnswersBySnapshot>,
}

#[derive(Default)]
struct AnswersBySnapshot {
    /// The number of the snapshot that they are of; later ones have larger numbers.
    snapshot: Option<u64>,
    by_query: HashMap<Query, Arc<RememberedHits>>,
}

impl RememberedAnswers {
    pub(crate) fn get(&self, snapshot: u64, query: &Query) -> Option<Arc<RememberedHits>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.snapshot != Some(snapshot) {
            return None;
        }
        inner.by_query.get(query).cloned()
    }

    pub(crate) fn put(&self, snapshot: u64, query: Query, answer: Arc<RememberedHits>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // An older answer may arrive late; it must not push out the newer ones.
        if inner.snapshot.is_some_and(|held| held > snapshot) {
            return;
        }
        if inner.snapshot != Some(snapshot) || inner.by_query.len() >= CAPACITY {
            inner.by_query.clear();
            inner.snapshot = Some(snapshot);
        }
        inner.by_query.insert(query, answer);
    }
}
