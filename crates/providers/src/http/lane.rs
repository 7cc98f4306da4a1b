//! What the requests to one provider share: how many may be under way, when the next one is welcome, and the breaker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::ProviderErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::breaker::Breaker;
use super::timer::HttpTimer;

pub(super) struct Lane {
    permits: Arc<Semaphore>,
    state: Mutex<LaneState>,
}

#[derive(Default)]
struct LaneState {
    not_before: Duration,
    breaker: Breaker,
}

/// Permission for one request. What the request shows about the provider is noted in it.
pub(super) struct Pass {
    lane: Arc<Lane>,
    timer: Arc<dyn HttpTimer>,
    is_settled: bool,
    _permit: OwnedSemaphorePermit,
}

impl Lane {
    pub(super) fn new(requests: usize) -> Arc<Lane> {
        let permits = Arc::new(Semaphore::new(requests.max(1)));
        Arc::new(Lane { permits, state: Mutex::default() })
    }

    /// Waits until a request is welcome, but not longer than `patience`.
    pub(super) async fn enter(
        self: &Arc<Self>,
        timer: &Arc<dyn HttpTimer>,
        patience: Duration,
    ) -> Result<Pass, ProviderErrorKind> {
        let until = timer.elapsed() + patience;
        let permit = loop {
            let not_before = self.lock().not_before;
            let now = timer.elapsed();
            if not_before > until {
                return Err(ProviderErrorKind::RateLimited { after: Some(not_before - now) });
            }
            if not_before > now {
                timer.sleep(not_before - now).await;
                continue;
            }
            let permit = Arc::clone(&self.permits).acquire_owned().await.expect("never closed");
            // A request that was under way meanwhile may have been told to wait.
            if self.lock().not_before <= timer.elapsed() {
                break permit;
            }
        };
        self.lock().breaker.admit(timer.elapsed()).map_err(|left_alone| ProviderErrorKind::Paused {
            after: left_alone.after,
            reason: left_alone.reason,
        })?;
        Ok(Pass { lane: Arc::clone(self), timer: Arc::clone(timer), is_settled: false, _permit: permit })
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// The provider answered, if only with a refusal.
    pub(super) fn answered(&mut self) {
        self.is_settled = true;
        self.lane.lock().breaker.succeeded();
    }

    /// The provider wants no request for a while.
    pub(super) fn told_to_wait(&mut self, pause: Duration) {
        self.answered();
        let not_before = self.timer.elapsed() + pause;
        let mut state = self.lane.lock();
        state.not_before = state.not_before.max(not_before);
    }

    /// No answer came. Whether asking once more makes sense.
    pub(super) fn failed(&mut self, reason: &str) -> bool {
        self.is_settled = true;
        let mut state = self.lane.lock();
        state.breaker.failed(self.timer.elapsed(), reason);
        !state.breaker.is_open()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.is_settled {
            self.lane.lock().breaker.abandoned(self.timer.elapsed());
        }
    }
}
