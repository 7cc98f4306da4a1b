//! Remembers how answers were worded: agents repeat questions, and wording an answer costs more than finding it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::SearchResults;
use model::Hit;

use crate::tool::ToolOutput;

/// As many as the engine remembers answers.
const CAPACITY: usize = 256;

/// Hits come from the engine as one shared list per question and generation: the same list is the same answer.
#[derive(Default)]
pub(super) struct Rendered {
    by_hits: Mutex<HashMap<(usize, bool), WordedAnswer>>,
}

struct WordedAnswer {
    /// Kept, so that no other list can take this one's place in memory.
    _hits: Arc<[Hit]>,
    output: ToolOutput,
}

impl Rendered {
    pub(super) fn get(
        &self,
        answer: &SearchResults,
        render: impl FnOnce(&SearchResults) -> ToolOutput,
    ) -> ToolOutput {
        let key = (Arc::as_ptr(&answer.hits).addr(), answer.indexing_complete);
        let lock = || self.by_hits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = lock().get(&key) {
            return entry.output.clone();
        }
        let output = render(answer);
        // Empty lists have no place of their own.
        if !answer.hits.is_empty() {
            let mut by_hits = lock();
            if by_hits.len() >= CAPACITY {
                by_hits.clear();
            }
            by_hits.insert(key, WordedAnswer { _hits: Arc::clone(&answer.hits), output: output.clone() });
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use model::IndexUsed;
    use serde_json::json;

    use super::super::hits::tests::sample_hit;
    use super::*;

    fn answer(path: &str, indexing_complete: bool) -> SearchResults {
        let hits = Arc::new([sample_hit(path)]);
        SearchResults {
            query: "q".into(),
            k: 1,
            index_used: IndexUsed::Text,
            hits,
            indexing_complete,
            note: None,
        }
    }

    fn output(text: &str) -> ToolOutput {
        ToolOutput::new(text.into(), json!({}))
    }

    #[test]
    fn an_answer_is_worded_once() {
        let rendered = Rendered::default();
        let one = answer("a", true);
        assert_eq!(rendered.get(&one, |_| output("one")), output("one"));
        assert_eq!(rendered.get(&one.clone(), |_| panic!("again")), output("one"));
        let meanwhile = SearchResults { indexing_complete: false, ..one.clone() };
        assert_eq!(rendered.get(&meanwhile, |_| output("two")), output("two"));
        assert_eq!(rendered.get(&answer("a", true), |_| output("three")), output("three"));
    }

    #[test]
    fn it_does_not_grow_without_bound() {
        let rendered = Rendered::default();
        for _ in 0..3 * CAPACITY {
            rendered.get(&answer("a", true), |_| output("x"));
            assert!(rendered.by_hits.lock().unwrap().len() <= CAPACITY);
        }
    }
}
