//! How often a tenant may call: a bucket of calls per tenant that refills with time.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::{ErrorCode, Failure, MonotonicClock, TenantId};

/// `burst` calls at once, then `per_second` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRule {
    pub per_second: f64,
    pub burst: u32,
}

/// A refused call: when the same one would be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRefusal {
    pub wait: Duration,
}

impl RateRefusal {
    /// Whole seconds, for `Retry-After`.
    pub fn wait_seconds(&self) -> u64 {
        self.wait.as_secs() + u64::from(self.wait.subsec_nanos() > 0)
    }
}

impl From<RateRefusal> for Failure {
    fn from(refusal: RateRefusal) -> Failure {
        let milliseconds = refusal.wait.as_micros().div_ceil(1000);
        Failure::new(ErrorCode::RateLimited, format!("too many calls; try again in {milliseconds} ms"))
    }
}

/// The buckets of all tenants that called lately.
///
/// A bucket is one moment: when it will be full again. Calls move it on; it is never further ahead than the burst allows.
/// Of more tenants than are remembered, the one with the fullest bucket is forgotten, which gains it the least.
pub struct TenantRates {
    interval: Duration,
    burst: Duration,
    most_tenants: usize,
    clock: Arc<dyn MonotonicClock>,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    full_at: HashMap<TenantId, Instant>,
    in_order: BTreeSet<(Instant, TenantId)>,
}

impl TenantRates {
    pub fn new(rule: RateRule, most_tenants: usize, clock: Arc<dyn MonotonicClock>) -> TenantRates {
        // A call a day is the least that a rule can mean, and what a rule of nothing comes to.
        let per_second = if rule.per_second.is_finite() { rule.per_second.max(1.0 / 86_400.0) } else { 1e9 };
        let interval = Duration::from_secs_f64(per_second.recip()).max(Duration::from_nanos(1));
        TenantRates {
            interval,
            burst: interval.saturating_mul(rule.burst.max(1)),
            most_tenants: most_tenants.max(1),
            clock,
            buckets: Mutex::default(),
        }
    }

    /// Counts a call, or says how long to wait. A refused call is not counted.
    pub fn take(&self, tenant: TenantId) -> Result<(), RateRefusal> {
        let now = self.clock.now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.full_at.get(&tenant).copied();
        let full_at = known.map_or(now, |at| at.max(now)) + self.interval;
        let ahead = full_at - now;
        if ahead > self.burst {
            return Err(RateRefusal { wait: ahead - self.burst });
        }
        if let Some(known) = known {
            buckets.in_order.remove(&(known, tenant));
        } else if buckets.full_at.len() >= self.most_tenants
            && let Some((_, fullest)) = buckets.in_order.pop_first()
        {
            buckets.full_at.remove(&fullest);
        }
        buckets.full_at.insert(tenant, full_at);
        buckets.in_order.insert((full_at, tenant));
        Ok(())
    }

    /// How many tenants are remembered.
    pub fn tenants(&self) -> usize {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner).full_at.len()
    }
}

impl fmt::Debug for TenantRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantRates").field("interval", &self.interval).field("burst", &self.burst).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct HandClock(Mutex<Instant>);

    impl HandClock {
        fn pass(&self, time: Duration) {
            *self.0.lock().unwrap() += time;
        }
    }

    impl MonotonicClock for HandClock {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    fn rates(per_second: f64, burst: u32, most: usize) -> (Arc<HandClock>, TenantRates) {
        let clock = Arc::new(HandClock(Mutex::new(Instant::now())));
        let rates = TenantRates::new(RateRule { per_second, burst }, most, clock.clone());
        (clock, rates)
    }

    fn tenant(number: u8) -> TenantId {
        TenantId::from_digest([number; 32])
    }

    #[test]
    fn f012_f140_a_tenant_waits_as_long_as_it_is_told() {
        let (clock, rates) = rates(2.0, 3, 10);
        for _ in 0..3 {
            rates.take(tenant(1)).unwrap();
        }
        let refusal = rates.take(tenant(1)).unwrap_err();
        assert_eq!(refusal.wait, Duration::from_millis(500));
        assert_eq!(refusal.wait_seconds(), 1);
        let failure = Failure::from(refusal);
        assert_eq!((failure.code, failure.retryable()), (ErrorCode::RateLimited, true));
        assert!(failure.message.contains("500 ms"), "{failure}");
        // Others are not affected.
        rates.take(tenant(2)).unwrap();
        clock.pass(Duration::from_millis(499));
        assert_eq!(rates.take(tenant(1)).unwrap_err().wait, Duration::from_millis(1));
        clock.pass(refusal.wait - Duration::from_millis(499));
        rates.take(tenant(1)).unwrap();
        // However long it was silent, it has no more than its burst.
        clock.pass(Duration::from_secs(3600));
        assert_eq!((0..10).filter(|_| rates.take(tenant(1)).is_ok()).count(), 3);
    }

    #[test]
    fn only_so_many_tenants_are_remembered() {
        let (_, rates) = rates(1.0, 5, 4);
        for _ in 0..5 {
            rates.take(tenant(0)).unwrap();
        }
        for number in 1..200 {
            rates.take(tenant(number)).unwrap();
            assert!(rates.tenants() <= 4);
        }
        // The one that used up its bucket is the last to be forgotten.
        assert!(rates.take(tenant(0)).is_err());
    }

    #[test]
    fn odd_rules_are_no_panic() {
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300] {
            let (_, rates) = rates(per_second, u32::MAX, 0);
            rates.take(tenant(1)).unwrap();
        }
    }

    proptest! {
        #[test]
        fn no_more_than_burst_and_rate_come_through(steps in prop::collection::vec(0u64..400, 1..200)) {
            let (clock, rates) = rates(10.0, 4, 8);
            let (mut passed, mut let_through) = (0, 0);
            for step in steps {
                clock.pass(Duration::from_millis(step));
                passed += step;
                let_through += u64::from(rates.take(tenant(1)).is_ok());
                prop_assert!(let_through <= 4 + passed / 100);
            }
        }
    }
}
