//! How often one address may ask: a token bucket each, in a table that cannot grow.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::MonotonicClock;

use crate::config::RateLimit;

/// Buckets in each half of the table. An address seen again within the last 32,768 others keeps its bucket.
const HALF: usize = 32_768;

pub(crate) struct Limiter {
    /// What one request costs.
    cost: Duration,
    /// How far ahead of the clock a full bucket lets an address run.
    credit: Duration,
    clock: Arc<dyn MonotonicClock>,
    buckets: Mutex<Buckets>,
}

/// For each address the instant at which it will have paid for all it asked.
/// Two halves imitate an LRU list: when the young half is full it becomes the old one, and the old one is dropped.
#[derive(Default)]
struct Buckets {
    young: HashMap<IpAddr, Instant>,
    old: HashMap<IpAddr, Instant>,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit, clock: Arc<dyn MonotonicClock>) -> Limiter {
        let cost = Duration::from_secs(1) / limit.per_second;
        Limiter { cost, credit: cost * (limit.burst - 1), clock, buckets: Mutex::default() }
    }

    /// Whether `address` may ask now. The local user is never limited.
    pub(crate) fn admit(&self, address: IpAddr) -> bool {
        if address.is_loopback() {
            return true;
        }
        let address = bucket_of(address);
        let now = self.clock.now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let paid_at = buckets.take(&address).unwrap_or(now).max(now);
        let admitted = paid_at.duration_since(now) <= self.credit;
        buckets.put(address, if admitted { paid_at + self.cost } else { paid_at });
        admitted
    }
}

impl Buckets {
    fn take(&mut self, address: &IpAddr) -> Option<Instant> {
        self.young.get(address).copied().or_else(|| self.old.remove(address))
    }

    fn put(&mut self, address: IpAddr, paid_at: Instant) {
        if self.young.len() >= HALF && !self.young.contains_key(&address) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(address, paid_at);
    }
}

/// One household has a whole /64 of version 6 addresses.
fn bucket_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Hand(Mutex<Instant>);

    impl MonotonicClock for Hand {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    impl Hand {
        fn advance(&self, by: Duration) {
            *self.0.lock().unwrap() += by;
        }
    }

    fn limiter(per_second: u32, burst: u32) -> (Arc<Hand>, Limiter) {
        let clock = Arc::new(Hand(Mutex::new(Instant::now())));
        (clock.clone(), Limiter::new(RateLimit { per_second, burst }, clock))
    }

    fn admitted(limiter: &Limiter, address: &str, tries: usize) -> usize {
        (0..tries).filter(|_| limiter.admit(address.parse().unwrap())).count()
    }

    #[test]
    fn case_9_burst_then_rate() {
        let (clock, limiter) = limiter(60, 20);
        assert_eq!(admitted(&limiter, "203.0.113.1", 100), 20);
        clock.advance(Duration::from_secs(1));
        assert_eq!(admitted(&limiter, "203.0.113.1", 100), 20);
        clock.advance(Duration::from_millis(100));
        assert_eq!(admitted(&limiter, "203.0.113.1", 100), 6);
        assert_eq!(admitted(&limiter, "203.0.113.2", 100), 20, "another address has its own bucket");
        assert_eq!(admitted(&limiter, "127.0.0.1", 100), 100);
        assert_eq!(admitted(&limiter, "::1", 100), 100);
    }

    #[test]
    fn rate_is_exact_over_time() {
        let (clock, limiter) = limiter(60, 20);
        let mut passed = admitted(&limiter, "203.0.113.1", 50);
        for _ in 0..10_000 {
            clock.advance(Duration::from_millis(10));
            passed += admitted(&limiter, "203.0.113.1", 3);
        }
        assert!((6019..=6021).contains(&passed), "{passed} in 100 s at 60/s and a burst of 20");
    }

    #[test]
    fn version_6_neighbours_share_a_bucket() {
        let (_, limiter) = limiter(1, 1);
        assert_eq!(admitted(&limiter, "2001:db8::1", 1), 1);
        assert_eq!(admitted(&limiter, "2001:db8::2", 1), 0);
        assert_eq!(admitted(&limiter, "2001:db8:0:1::1", 1), 1);
    }

    #[test]
    fn the_table_is_bounded() {
        let (_, limiter) = limiter(1, 1);
        for n in 0..200_000u32 {
            limiter.admit(IpAddr::V4((0x0b00_0000 + n).into()));
        }
        let buckets = limiter.buckets.lock().unwrap();
        assert!(buckets.young.len() <= HALF && buckets.old.len() <= HALF);
    }
}
