//! Making room: which sessions are dropped when the table is full, and which are put to sleep when too many are awake.

use std::time::{Duration, Instant};

use super::{OpenSessions, SessionTable, TableFull};

/// Once the table is full, a session that was never used after its handshake may be dropped after this long…
const UNUSED_IDLE: Duration = Duration::from_secs(2);
/// …and one that was used, after this long.
const USED_IDLE: Duration = Duration::from_secs(5 * 60);

impl OpenSessions {
    /// Drops the longest unused sessions, those that were never used first. Many at once, so that a flood of handshakes
    /// does not pay for a search each time.
    pub(super) fn make_room(&self, table: &mut SessionTable, now: Instant) -> Result<(), TableFull> {
        let retry = |until: Instant| TableFull {
            retry_after: until.saturating_duration_since(now).as_secs().saturating_add(1).min(60),
        };
        if let Some(until) = table.full_until.filter(|until| now < *until) {
            return Err(retry(until));
        }
        table.full_until = None;
        let mut soonest = now + USED_IDLE;
        let mut droppable = Vec::new();
        for session in table.sessions.values() {
            let state = session.state();
            if state.open > 0 {
                continue;
            }
            let at = state.seen + if state.used { USED_IDLE } else { UNUSED_IDLE };
            if at <= now {
                droppable.push((state.used, state.seen, session.clone()));
            } else {
                soonest = soonest.min(at);
            }
        }
        if droppable.is_empty() {
            // Not for long: sessions that are in use now may be left alone in a moment.
            let until = soonest.min(now + Duration::from_secs(1));
            table.full_until = Some(until);
            return Err(retry(until));
        }
        let count = (self.limits.max_sessions / 16).clamp(1, droppable.len());
        droppable.sort_unstable_by_key(|(used, seen, _)| (*used, *seen));
        for (_, _, session) in &droppable[..count] {
            table.remove(session);
            session.state().stop_worker();
        }
        tracing::info!(count, reason = "capacity", "idle sessions ended");
        Ok(())
    }

    /// Puts the longest idle eighth of the awake sessions to sleep.
    pub(super) fn send_to_sleep(&self, table: &mut SessionTable) {
        let mut idle: Vec<_> = table
            .awake
            .values()
            .filter_map(|session| {
                let state = session.state();
                (state.open == 0).then(|| (state.seen, session.clone()))
            })
            .collect();
        idle.sort_unstable_by_key(|(seen, _)| *seen);
        for (_, session) in idle.iter().take((self.limits.max_awake / 8).max(1)) {
            table.awake.remove(&session.key);
            session.state().stop_worker();
        }
    }
}
