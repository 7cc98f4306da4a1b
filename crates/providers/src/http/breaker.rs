//! A circuit breaker: a provider that failed many times in a row is left alone for a while, and then asked by one request.

use std::time::Duration;

/// Failures in a row after which the provider is left alone.
const MOST_FAILURES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(240);
/// What requests are told to wait while one finds out whether the provider is back.
const WHILE_TRYING: Duration = Duration::from_secs(2);

/// Times are those of an [`super::HttpTimer`].
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    state: BreakerState,
}

#[derive(Debug, Default)]
enum BreakerState {
    #[default]
    Closed,
    Open {
        until: Duration,
        pause: Duration,
        reason: String,
    },
    /// One request is under way to find out.
    Trying {
        pause: Duration,
        reason: String,
    },
}

/// Why a request is not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftAlone {
    pub(super) after: Duration,
    pub(super) reason: String,
}

impl Breaker {
    /// Whether a request may be sent now. What is let through has to be followed by exactly one of `succeeded`, `failed` and
    /// `abandoned`.
    pub(super) fn admit(&mut self, now: Duration) -> Result<(), LeftAlone> {
        match &self.state {
            BreakerState::Closed => Ok(()),
            BreakerState::Open { until, pause, reason } if *until <= now => {
                self.state = BreakerState::Trying { pause: *pause, reason: reason.clone() };
                Ok(())
            }
            BreakerState::Open { until, reason, .. } => {
                Err(LeftAlone { after: *until - now, reason: self.describe(reason) })
            }
            BreakerState::Trying { reason, .. } => {
                Err(LeftAlone { after: WHILE_TRYING, reason: self.describe(reason) })
            }
        }
    }

    pub(super) fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    pub(super) fn failed(&mut self, now: Duration, reason: &str) {
        self.failures = self.failures.saturating_add(1);
        let pause = match &self.state {
            BreakerState::Closed if self.failures < MOST_FAILURES => return,
            BreakerState::Closed => FIRST_PAUSE,
            // Sent before the provider was given up.
            BreakerState::Open { .. } => return,
            BreakerState::Trying { pause, .. } => pause.saturating_mul(2).min(LONGEST_PAUSE),
        };
        self.state = BreakerState::Open { until: now + pause, pause, reason: reason.to_owned() };
    }

    /// The request ended without telling whether the provider is there.
    pub(super) fn abandoned(&mut self, now: Duration) {
        if let BreakerState::Trying { pause, reason } = &self.state {
            self.state = BreakerState::Open { until: now, pause: *pause, reason: reason.clone() };
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, BreakerState::Closed)
    }

    fn describe(&self, reason: &str) -> String {
        format!("failed {} times in a row, last with: {reason}", self.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn opened_at(now: Duration) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..MOST_FAILURES {
            assert_eq!(breaker.admit(now), Ok(()));
            breaker.failed(now, "refused");
        }
        breaker
    }

    #[test]
    fn it_opens_after_failures_in_a_row_only() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            for _ in 1..MOST_FAILURES {
                breaker.failed(seconds(0), "x");
            }
            breaker.succeeded();
            assert_eq!(breaker.admit(seconds(0)), Ok(()));
        }
        let left_alone = opened_at(seconds(1)).admit(seconds(2)).unwrap_err();
        assert_eq!(left_alone.after, FIRST_PAUSE - seconds(1));
        assert_eq!(left_alone.reason, "failed 6 times in a row, last with: refused");
    }

    #[test]
    fn one_request_finds_out_and_the_pause_doubles() {
        let mut breaker = opened_at(seconds(0));
        let mut now = FIRST_PAUSE;
        let mut pauses = Vec::new();
        for _ in 0..6 {
            assert_eq!(breaker.admit(now), Ok(()));
            assert_eq!(breaker.admit(now).unwrap_err().after, WHILE_TRYING, "only one is let through");
            breaker.failed(now, "refused");
            let pause = breaker.admit(now).unwrap_err().after;
            pauses.push(pause.as_secs());
            now += pause;
        }
        assert_eq!(pauses, [30, 60, 120, 240, 240, 240]);
        assert_eq!(breaker.admit(now), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.admit(now), Ok(()));
        assert!(!breaker.is_open());
    }

    #[test]
    fn a_request_that_was_given_up_leaves_the_way_to_the_next() {
        let mut breaker = opened_at(seconds(0));
        assert_eq!(breaker.admit(FIRST_PAUSE), Ok(()));
        breaker.abandoned(FIRST_PAUSE);
        assert_eq!(breaker.admit(FIRST_PAUSE), Ok(()));
    }
}
