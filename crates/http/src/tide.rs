//! When a burst of connections and requests is over, so that what served it can be given back.

/// This many connections and requests at once count as a burst.
const BURST: usize = 64;

/// What was seen since the last time to tidy up.
#[derive(Debug, Default)]
pub(crate) struct Tide {
    peak: usize,
    /// Requests of a burst were answered after the last time.
    is_owed: bool,
}

impl Tide {
    /// True while a burst ebbs, each time that a quarter of it is left, and once more when it is over. `most_requests` is
    /// the most there were at once since the last look.
    pub(crate) fn is_time_to_tidy(
        &mut self,
        connections: usize,
        requests: usize,
        most_requests: usize,
    ) -> bool {
        let busy = connections + requests;
        self.peak = self.peak.max(busy).max(most_requests);
        self.is_owed |= most_requests >= BURST;
        let is_ebbing = self.peak >= BURST && busy <= self.peak / 4;
        // Connections may stay open for hours, so they are not waited for.
        let is_over = self.is_owed && requests == 0 && most_requests == 0;
        if is_ebbing || is_over {
            self.peak = busy;
            self.is_owed = is_ebbing && !is_over;
        }
        is_ebbing || is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_requests_of_a_burst_are_tidied_up_after_too() {
        let mut tide = Tide::default();
        assert!(!tide.is_time_to_tidy(500, 500, 500));
        assert!(!tide.is_time_to_tidy(200, 200, 450));
        assert!(tide.is_time_to_tidy(20, 20, 180), "it ebbs");
        assert!(!tide.is_time_to_tidy(1, 1, 40), "the last one is still answered");
        assert!(tide.is_time_to_tidy(0, 0, 0), "it is over");
        assert!(!tide.is_time_to_tidy(0, 0, 0), "once is enough");
    }

    #[test]
    fn connections_that_stay_open_cause_no_work() {
        let mut tide = Tide::default();
        for _ in 0..3 {
            assert!(!tide.is_time_to_tidy(1000, 0, 0));
            assert!(!tide.is_time_to_tidy(1000, 1, 1), "one of them asks now and then");
        }
        assert!(!tide.is_time_to_tidy(1000, 100, 100));
        assert!(tide.is_time_to_tidy(1000, 0, 0), "a burst of requests on them is over");
        assert!(!tide.is_time_to_tidy(1000, 0, 0));
        assert!(tide.is_time_to_tidy(10, 0, 0), "most of them are closed");
    }

    #[test]
    fn a_few_requests_are_no_burst() {
        let mut tide = Tide::default();
        for requests in [1, 0, 20, 3, 0, 0] {
            assert!(!tide.is_time_to_tidy(10, requests, requests));
        }
    }
}
