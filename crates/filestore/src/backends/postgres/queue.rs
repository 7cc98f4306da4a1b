//! Lines up the changes of one project within this process, so that waiting for each other takes no connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use crate::project::ProjectScope;

/// First come, first served, per project.
#[derive(Default)]
pub(crate) struct ProjectQueue(Mutex<HashMap<ProjectScope, Arc<Turn<()>>>>);

impl ProjectQueue {
    /// A turn, unless the deadline comes first.
    pub(crate) async fn wait(&self, scope: &ProjectScope, deadline: Instant) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut turns = lock(&self.0);
            if turns.len() >= 1024 {
                // Whoever waits or works holds another reference.
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(scope.clone()).or_default())
        };
        timeout_at(deadline, turn.lock_owned()).await.ok()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
