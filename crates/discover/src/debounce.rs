//! Gathers single file events into changes worth acting on. Pure: the time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use model::RelPath;

/// A change is told once nothing more has happened for this long…
pub(crate) const QUIET: Duration = Duration::from_millis(80);
/// …or once the first event is this old.
pub(crate) const LONGEST: Duration = Duration::from_millis(300);
/// A file that is written to and not closed, a log, is told this often.
pub(crate) const WRITING: Duration = Duration::from_secs(2);
/// Rescans are at least this far apart: each may be the work of seconds.
pub(crate) const BETWEEN_RESCANS: Duration = Duration::from_secs(1);
/// More paths than this at once are cheaper to find by a scan.
pub(crate) const MAX_PATHS: usize = 5_000;

/// What gathered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gathered {
    Paths(BTreeSet<RelPath>),
    Rescan,
}

#[derive(Debug, Default)]
pub(crate) struct Debounce {
    paths: BTreeSet<RelPath>,
    /// Files written to and not closed yet, since when.
    writing: BTreeMap<RelPath, Instant>,
    rescan: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    last_rescan: Option<Instant>,
}

impl Debounce {
    /// Something happened to a path and is over.
    pub(crate) fn changed(&mut self, path: RelPath, now: Instant) {
        if self.rescan {
            return;
        }
        self.stir(now);
        self.writing.remove(&path);
        self.paths.insert(path);
        self.bound(now);
    }

    /// A path was written to; more is likely to follow until it is closed.
    pub(crate) fn written(&mut self, path: RelPath, now: Instant) {
        if self.rescan || self.paths.contains(&path) {
            return;
        }
        self.writing.entry(path).or_insert(now);
        self.bound(now);
    }

    /// Single paths no longer tell what happened.
    pub(crate) fn rescan(&mut self, now: Instant) {
        self.stir(now);
        self.rescan = true;
        self.paths.clear();
        self.writing.clear();
    }

    pub(crate) fn wants_rescan(&self) -> bool {
        self.rescan
    }

    /// When [`Debounce::take`] will have something to give, if nothing else happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return self.writing.values().min().map(|since| *since + WRITING);
        };
        let settled = (last + QUIET).min(first + LONGEST);
        Some(match self.last_rescan {
            Some(before) if self.rescan => settled.max(before + BETWEEN_RESCANS),
            _ => settled,
        })
    }

    /// What is due by now.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Gathered> {
        if self.due()? > now {
            return None;
        }
        self.first = None;
        self.last = None;
        if std::mem::take(&mut self.rescan) {
            self.last_rescan = Some(now);
            return Some(Gathered::Rescan);
        }
        let mut paths = std::mem::take(&mut self.paths);
        paths.extend(self.writing.extract_if(.., |_, since| *since + WRITING <= now).map(|(path, _)| path));
        Some(Gathered::Paths(paths))
    }

    fn stir(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn bound(&mut self, now: Instant) {
        if self.paths.len() > MAX_PATHS || self.writing.len() > MAX_PATHS {
            self.rescan(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::{Duration, Instant};

    use model::RelPath;

    use super::{BETWEEN_RESCANS, Debounce, Gathered, LONGEST, MAX_PATHS, QUIET, WRITING};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn paths(texts: &[&str]) -> Option<Gathered> {
        Some(Gathered::Paths(texts.iter().map(|text| path(text)).collect::<BTreeSet<_>>()))
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_saved_file_is_told_after_the_quiet_time() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        assert_eq!((debounce.due(), debounce.take(start)), (None, None));
        debounce.written(path("a"), start);
        debounce.changed(path("a"), start + ms(1));
        assert_eq!(debounce.due(), Some(start + ms(1) + QUIET));
        assert_eq!(debounce.take(start + QUIET), None);
        assert_eq!(debounce.take(start + ms(1) + QUIET), paths(&["a"]));
        assert_eq!(debounce.due(), None);
    }

    #[test]
    fn a_stream_of_events_is_cut_into_pieces() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for step in 0..10 {
            debounce.changed(path(&format!("f{step}")), start + ms(40 * step));
        }
        assert_eq!(debounce.due(), Some(start + LONGEST));
        assert!(debounce.take(start + LONGEST).is_some());
    }

    #[test]
    fn an_open_log_is_told_now_and_then() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for step in 0..100 {
            debounce.written(path("log"), start + ms(10 * step));
        }
        assert_eq!(debounce.due(), Some(start + WRITING));
        // Another file does not make the log come earlier.
        debounce.changed(path("a"), start + ms(1000));
        assert_eq!(debounce.take(start + ms(1000) + QUIET), paths(&["a"]));
        assert_eq!(debounce.take(start + WRITING), paths(&["log"]));
        assert_eq!(debounce.due(), None);
    }

    #[test]
    fn a_burst_becomes_one_rescan() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for step in 0..=MAX_PATHS {
            debounce.changed(path(&format!("f{step}")), start);
        }
        assert!(debounce.wants_rescan());
        debounce.changed(path("late"), start + ms(10));
        assert_eq!(debounce.take(start + QUIET), Some(Gathered::Rescan));
        assert_eq!(debounce.due(), None);
    }

    #[test]
    fn rescans_keep_their_distance_but_paths_do_not_wait() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        debounce.rescan(start);
        assert_eq!(debounce.take(start + QUIET), Some(Gathered::Rescan));
        debounce.changed(path("a"), start + ms(100));
        assert_eq!(debounce.take(start + ms(100) + QUIET), paths(&["a"]));
        debounce.rescan(start + ms(200));
        assert_eq!(debounce.due(), Some(start + QUIET + BETWEEN_RESCANS));
    }
}
