//! One reader per content at a time: a tool call and the background worker, or two calls, must not pay for the same text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use model::ContentHash;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Who reads which content now, and which contents made trouble.
#[derive(Debug, Default)]
pub struct Turns {
    taken: Mutex<HashMap<ContentHash, Weak<AsyncMutex<()>>>>,
    troubles: Mutex<Troubles>,
}

impl Turns {
    /// Waits until nobody else reads this content. The turn lasts until it is dropped.
    pub async fn take(&self, content: ContentHash) -> OwnedMutexGuard<()> {
        let turn = {
            let mut taken = lock(&self.taken);
            taken.retain(|_, turn| turn.strong_count() > 0);
            match taken.get(&content).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    let turn = Arc::new(AsyncMutex::new(()));
                    taken.insert(content, Arc::downgrade(&turn));
                    turn
                }
            }
        };
        turn.lock_owned().await
    }

    pub(super) fn succeeded(&self, content: &ContentHash) {
        let mut troubles = lock(&self.troubles);
        troubles.successes += 1;
        troubles.by_content.remove(content);
    }

    /// Notes that a provider did not answer about a content. Returns how often that happened while it answered about
    /// others: one that is away is no reason to blame a document.
    pub(super) fn failed(&self, content: ContentHash) -> u32 {
        let mut troubles = lock(&self.troubles);
        let successes = troubles.successes;
        let (count, seen) = troubles.by_content.entry(content).or_insert((0, 0));
        if *count == 0 || successes > *seen {
            *count += 1;
        }
        *seen = successes;
        *count
    }

    /// Whether it failed before: such a document comes last.
    pub(super) fn is_in_trouble(&self, content: &ContentHash) -> bool {
        lock(&self.troubles).by_content.contains_key(content)
    }
}

#[derive(Debug, Default)]
struct Troubles {
    /// Contents that were read.
    successes: u64,
    /// How often each failed, and how many had been read when it last did.
    by_content: HashMap<ContentHash, (u32, u64)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ContentHash = ContentHash([1; 32]);
    const TWO: ContentHash = ContentHash([2; 32]);

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let turns = Turns::default();
        let first = turns.take(ONE).await;
        let _other = turns.take(TWO).await;
        let mut second = Box::pin(turns.take(ONE));
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        assert!(futures::poll!(&mut second).is_ready());
    }

    #[test]
    fn a_provider_that_is_away_is_no_documents_fault() {
        let turns = Turns::default();
        assert_eq!([turns.failed(ONE), turns.failed(ONE), turns.failed(ONE)], [1, 1, 1]);
        turns.succeeded(&TWO);
        assert_eq!([turns.failed(ONE), turns.failed(ONE)], [2, 2]);
        turns.succeeded(&ONE);
        assert!(!turns.is_in_trouble(&ONE));
    }
}
