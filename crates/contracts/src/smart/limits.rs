//! How often a client may call a tool within a minute.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::{Caller, ErrorCode, Failure, Via};

const MINUTE: Duration = Duration::from_secs(60);

/// Clients remembered at a time; beyond it those that have not called for a minute are forgotten.
const MANY: usize = 10_000;

/// Calls within a minute, by tool; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteLimits {
    pub search_files: u32,
    pub open_file: u32,
    pub summarize_results: u32,
    /// The limits hold for the parent process on standard input, too.
    pub stdio: bool,
}

impl MinuteLimits {
    fn of(&self, tool: &str) -> u32 {
        match tool {
            "searchFiles" => self.search_files,
            "openFile" => self.open_file,
            "summarizeResults" => self.summarize_results,
            _ => 0,
        }
    }
}

/// The calls of the last minute. Each is remembered by its time: a bucket that fills up again would let the sixty-first
/// call of a minute pass.
pub(super) struct CallLimits {
    limits: MinuteLimits,
    calls: Mutex<HashMap<(Caller, &'static str), VecDeque<Instant>>>,
}

impl CallLimits {
    pub(super) fn new(limits: MinuteLimits) -> CallLimits {
        CallLimits { limits, calls: Mutex::default() }
    }

    pub(super) fn admit(&self, caller: &Caller, tool: &'static str, now: Instant) -> Result<(), Failure> {
        let limit = self.limits.of(tool) as usize;
        let exempt = match caller.via {
            Via::Http => false,
            Via::Cli => true,
            Via::Stdio => !self.limits.stdio,
        };
        if limit == 0 || exempt {
            return Ok(());
        }
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MANY {
            all.retain(|_, calls| calls.back().is_some_and(|last| now.duration_since(*last) < MINUTE));
        }
        let calls = all.entry((caller.clone(), tool)).or_default();
        while calls.front().is_some_and(|first| now.duration_since(*first) >= MINUTE) {
            calls.pop_front();
        }
        if calls.len() < limit {
            calls.push_back(now);
            return Ok(());
        }
        let wait = calls.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.duration_since(*first)));
        let message = format!("more than {limit} calls of {tool} within a minute");
        Err(Failure::new(ErrorCode::RateLimitExceeded, message)
            .hint(format!("Try again in {} s.", wait.as_secs() + 1)))
    }
}

#[cfg(test)]
mod tests {
    use model::Identity;

    use super::*;

    fn http(last_octet: u8) -> Caller {
        Caller::http(Identity::new("token"), [203, 0, 113, last_octet].into())
    }

    #[test]
    fn s033_the_call_after_the_last_one_of_a_minute_is_refused() {
        let limits = MinuteLimits { search_files: 60, open_file: 2, summarize_results: 20, stdio: false };
        let limits = CallLimits::new(limits);
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for call in 0..60 {
            assert!(limits.admit(&http(1), "searchFiles", at(call / 2)).is_ok(), "{call}");
        }
        let refused = limits.admit(&http(1), "searchFiles", at(59)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::RateLimitExceeded);
        assert_eq!(refused.hint.as_deref(), Some("Try again in 2 s."));
        assert!(limits.admit(&http(2), "searchFiles", at(59)).is_ok(), "another client");
        assert!(limits.admit(&http(1), "openFile", at(59)).is_ok(), "another tool");
        assert!(limits.admit(&http(1), "searchFiles", at(60)).is_ok(), "the first one is a minute old");
        assert!(limits.admit(&http(1), "searchFiles", at(60)).is_ok());
        assert!(limits.admit(&http(1), "searchFiles", at(60)).is_err());
        for _ in 0..100 {
            assert!(limits.admit(&Caller::stdio(), "searchFiles", at(60)).is_ok());
            assert!(limits.admit(&http(1), "listRoots", at(60)).is_ok());
        }
    }
}
