//! Sessions that ended lately, so that their clients can be told why.

use std::collections::{HashMap, VecDeque};

use model::Identity;

use super::{Expiry, Key};

/// More than clients that come back within minutes; the others do without a reason.
pub(super) const REMEMBERED: usize = 1024;

/// Recently ended sessions, oldest first.
#[derive(Default)]
pub(super) struct Ended {
    order: VecDeque<Key>,
    reasons: HashMap<Key, (Identity, Expiry)>,
}

impl Ended {
    pub(super) fn remember(&mut self, key: Key, owner: Identity, expiry: Expiry) {
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.reasons.remove(&oldest);
        }
        self.order.push_back(key);
        self.reasons.insert(key, (owner, expiry));
    }

    pub(super) fn reason(&self, key: &Key, asked_by: &Identity) -> Option<Expiry> {
        self.reasons.get(key).filter(|(owner, _)| owner == asked_by).map(|(_, expiry)| *expiry)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.order.len(), self.reasons.len());
        self.order.len()
    }
}
