//! How fast a provider is asked: all requests of a run wait together when it is busy or away, and end together when it is
//! of no use to ask again.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{ProviderError, ProviderErrorKind};
use tokio::time::Instant;

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Failures in a row after which the run ends.
const MOST_FAILURES: u32 = 6;

/// Even a provider that says "at once" is not asked in a tight loop.
const SHORTEST_TOLD: Duration = Duration::from_millis(100);

/// A longer time that a provider tells is not waited for: the run ends, and a later one goes on.
const LONGEST_TOLD: Duration = Duration::from_secs(300);

#[derive(Clone)]
pub(crate) struct ProviderPace(Arc<Mutex<PaceState>>);

/// Permission for one request. Requests that fail in the same turn have heard the same thing, which counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProviderTurn(u64);

struct PaceState {
    not_before: Instant,
    turn: u64,
    failures: u32,
    given_up: Option<ProviderError>,
}

impl ProviderPace {
    pub(crate) fn new() -> ProviderPace {
        ProviderPace(Arc::new(Mutex::new(PaceState {
            not_before: Instant::now(),
            turn: 0,
            failures: 0,
            given_up: None,
        })))
    }

    /// Waits until the provider may be asked.
    pub(crate) async fn turn(&self) -> Result<ProviderTurn, ProviderError> {
        loop {
            let not_before = {
                let state = self.lock();
                if let Some(error) = &state.given_up {
                    return Err(error.clone());
                }
                if state.not_before <= Instant::now() {
                    return Ok(ProviderTurn(state.turn));
                }
                state.not_before
            };
            tokio::time::sleep_until(not_before).await;
        }
    }

    pub(crate) fn succeeded(&self) {
        self.lock().failures = 0;
    }

    /// Notes a failure: either the next turn comes later, or there is none.
    pub(crate) fn failed(&self, turn: ProviderTurn, error: ProviderError) -> Result<(), ProviderError> {
        let mut state = self.lock();
        if state.given_up.is_none() && turn != ProviderTurn(state.turn) {
            return Ok(());
        }
        match state.pause(&error.kind) {
            Some(pause) => {
                state.not_before = Instant::now() + pause;
                state.turn += 1;
                Ok(())
            }
            None => {
                state.given_up.get_or_insert_with(|| error.clone());
                Err(error)
            }
        }
    }

    /// Ends the run for this reason.
    pub(crate) fn give_up(&self, error: ProviderError) -> ProviderError {
        self.lock().given_up.get_or_insert_with(|| error.clone());
        error
    }

    fn lock(&self) -> MutexGuard<'_, PaceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PaceState {
    /// How long to wait; not at all where waiting does not help.
    fn pause(&mut self, error: &ProviderErrorKind) -> Option<Duration> {
        match error {
            _ if self.given_up.is_some() => None,
            ProviderErrorKind::Auth
            | ProviderErrorKind::Refused { .. }
            | ProviderErrorKind::Paused { .. } => None,
            ProviderErrorKind::RateLimited { after: Some(told) } => {
                (*told <= LONGEST_TOLD).then_some((*told).max(SHORTEST_TOLD))
            }
            ProviderErrorKind::RateLimited { after: None }
            | ProviderErrorKind::Unreachable { .. }
            | ProviderErrorKind::BadAnswer { .. } => {
                self.failures += 1;
                (self.failures < MOST_FAILURES).then(|| backoff(self.failures, random()))
            }
        }
    }
}

/// Doubles with each failure. `random` (from 0 to 1) spreads it over half of its length, so that processes that failed
/// together do not come back together.
fn backoff(failures: u32, random: f64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
    doubled.mul_f64(0.5 + random / 2.0)
}

/// A number from 0 to 1; the standard library seeds it from the system.
fn random() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ProviderErrorKind) -> ProviderError {
        ProviderError::new("test", kind)
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_are_spread() {
        assert_eq!(backoff(1, 1.0), FIRST_PAUSE);
        assert_eq!(backoff(1, 0.0), FIRST_PAUSE / 2);
        assert_eq!(backoff(3, 1.0), FIRST_PAUSE * 4);
        assert_eq!(backoff(40, 1.0), LONGEST_PAUSE);
        assert!((0..100).map(|_| random()).all(|number| (0.0..=1.0).contains(&number)));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_one_turn_count_once() {
        let pace = ProviderPace::new();
        let unreachable = || error(ProviderErrorKind::Unreachable { reason: String::new() });
        for _ in 1..MOST_FAILURES {
            let turn = pace.turn().await.unwrap();
            for _ in 0..10 {
                pace.failed(turn, unreachable()).unwrap();
            }
        }
        let turn = pace.turn().await.unwrap();
        assert_eq!(pace.failed(turn, unreachable()), Err(unreachable()));
        assert_eq!(pace.turn().await, Err(unreachable()), "and the run is over for all");
    }

    #[tokio::test(start_paused = true)]
    async fn told_times_are_kept_and_absurd_ones_are_not_waited_for() {
        let pace = ProviderPace::new();
        let limited =
            |seconds| error(ProviderErrorKind::RateLimited { after: Some(Duration::from_secs(seconds)) });
        let started = Instant::now();
        for _ in 0..20 {
            let turn = pace.turn().await.unwrap();
            pace.failed(turn, limited(7)).unwrap();
        }
        let turn = pace.turn().await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 140, "however often");
        assert!(pace.failed(turn, limited(86_400)).is_err());
    }
}
