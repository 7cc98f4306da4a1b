//! When a failed request is sent again.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// A time that a provider tells and that is longer than this is not believed.
const LONGEST_TOLD: Duration = Duration::from_secs(24 * 3600);

/// How often a request is sent, and the pauses between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is sent at most, the first time included.
    pub tries: u32,
    /// The pause after the first failure. It doubles with each further one.
    pub first_pause: Duration,
    /// No pause is longer, whatever the provider says: a longer one is left to the caller.
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            tries: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// The pause after so many failures. `random` (from 0 to 1) spreads it over half of its length, so that processes that
    /// failed together do not come back together.
    pub(super) fn pause(&self, failures: u32, random: f64) -> Duration {
        let doubled = self.first_pause.saturating_mul(1 << failures.saturating_sub(1).min(16));
        doubled.min(self.longest_pause).mul_f64(0.5 + random / 2.0)
    }
}

/// A number from 0 to 1; the standard library seeds it from the system.
pub(super) fn random() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

/// When the provider wants to be asked again: `retry-after-ms`, or `Retry-After` as seconds or as a date.
pub(super) fn told_pause(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = if let Some(number) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        number / 1000.0
    } else {
        let text = text("retry-after")?;
        match text.parse::<f64>() {
            Ok(seconds) => seconds,
            Err(_) => {
                let date = jiff::fmt::rfc2822::parse(text).ok()?;
                let until = SystemTime::from(date.timestamp());
                until.duration_since(now).unwrap_or_default().as_secs_f64()
            }
        }
    };
    if seconds.is_nan() {
        return None;
    }
    Duration::try_from_secs_f64(seconds.max(0.0)).ok().filter(|told| *told <= LONGEST_TOLD)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn told(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        // 2015-10-21 07:27:30
        told_pause(&headers, UNIX_EPOCH + Duration::from_secs(1_445_412_450))
    }

    #[test]
    fn a_provider_says_when_it_wants_to_be_asked_again() {
        assert_eq!(told("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(told("retry-after", " 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(told("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(told("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(told("retry-after", "Wed, 21 Oct 2015 07:20:00 GMT"), Some(Duration::ZERO));
    }

    #[test]
    fn nonsense_is_no_time() {
        for value in ["soon", "", "NaN", "inf", "1e300", "99999999"] {
            assert_eq!(told("retry-after", value), None, "{value}");
        }
        assert_eq!(told("retry-after", "-3"), Some(Duration::ZERO));
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let policy = RetryPolicy {
            tries: 9,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(6),
        };
        let pauses: Vec<u64> = (1..=5).map(|failures| policy.pause(failures, 1.0).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 6, 6]);
        assert_eq!(policy.pause(2, 0.0), Duration::from_secs(1));
    }
}
