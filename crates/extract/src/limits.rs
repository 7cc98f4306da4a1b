//! How much one document may cost, and the meter that everything here runs on.

use std::cell::Cell;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The bounds of one extraction. Small enough to be sent to a worker process along with the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Larger files are not looked at.
    pub max_input_bytes: u64,
    /// Text beyond this is left out.
    pub max_output_chars: u64,
    pub max_units: u32,
    /// Members of one archive, and parts of one document that is an archive.
    pub max_members: u32,
    /// Bytes of one member or part, unpacked.
    pub max_member_bytes: u64,
    /// Bytes of all members or parts together, unpacked, those of inner archives included.
    pub max_total_bytes: u64,
    /// Unpacked bytes for each packed one. Asked only of what unpacks to more than 16 MiB: a small sheet of equal rows
    /// packs as well as a bomb and is harmless.
    pub max_ratio: u64,
    /// Archives in archives, messages in messages.
    pub max_depth: u32,
    /// Elements, groups or objects within each other.
    pub max_nesting: u32,
    /// Tokens, objects and operators read: the same stop on every machine.
    pub max_steps: u64,
    /// The stop that depends on the machine, looked at every few thousand steps.
    pub max_time: Option<Duration>,
    /// Pixels of a picture that is given to a recogniser. A larger one is made smaller.
    pub max_picture_pixels: u64,
    /// Memory that decoding one picture may take, as its header says. One that takes more is refused before.
    pub max_picture_bytes: u64,
    /// Seconds of one recording; what follows is left out.
    pub max_recording_seconds: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_input_bytes: 256 << 20,
            max_output_chars: 32 << 20,
            max_units: 100_000,
            max_members: 20_000,
            max_member_bytes: 128 << 20,
            max_total_bytes: 1 << 30,
            max_ratio: 200,
            max_depth: 4,
            max_nesting: 256,
            max_steps: 400_000_000,
            max_time: Some(Duration::from_secs(60)),
            max_picture_pixels: 40_000_000,
            max_picture_bytes: 384 << 20,
            max_recording_seconds: 24 * 60 * 60,
        }
    }
}

/// Which bound was met. What was read before stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    #[error("more text than a document may give")]
    OutputChars,
    #[error("more parts than a document may have")]
    Units,
    #[error("more members than an archive may have")]
    Members,
    #[error("more bytes in one part than a document may unpack")]
    MemberBytes,
    #[error("more bytes in all parts than a document may unpack")]
    TotalBytes,
    #[error("more unpacked bytes for each packed one than an honest file has")]
    Ratio,
    #[error("archives in archives deeper than is looked into")]
    Depth,
    #[error("elements within elements deeper than any program writes")]
    Nesting,
    #[error("more work than a document may cost")]
    Steps,
    #[error("more time than a document may take")]
    Time,
}

/// Counts what an extraction has cost so far.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    steps: Cell<u64>,
    look_at: Cell<u64>,
    unpacked: Cell<u64>,
    started: Cell<Instant>,
}

impl Meter {
    /// Steps between two looks at the clock.
    const LOOK_EVERY: u64 = 4096;

    pub(crate) fn new(limits: &Limits) -> Meter {
        Meter {
            limits: limits.clone(),
            steps: Cell::new(0),
            look_at: Cell::new(Self::LOOK_EVERY),
            unpacked: Cell::new(0),
            started: Cell::new(Instant::now()),
        }
    }

    /// Counts from here: the limits hold for each of several pieces of work.
    pub(crate) fn restart(&self) {
        self.steps.set(0);
        self.look_at.set(Self::LOOK_EVERY);
        self.unpacked.set(0);
        self.started.set(Instant::now());
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Pays for `steps` of work.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), Limit> {
        let spent = self.steps.get().saturating_add(steps);
        self.steps.set(spent);
        if spent < self.look_at.get() {
            return Ok(());
        }
        self.look_at.set(spent.saturating_add(Self::LOOK_EVERY));
        if spent > self.limits.max_steps {
            return Err(Limit::Steps);
        }
        match self.limits.max_time {
            Some(most) if self.started.get().elapsed() > most => Err(Limit::Time),
            _ => Ok(()),
        }
    }

    /// How many bytes the next part may unpack to, given its packed size.
    pub(crate) fn allowance(&self, packed: u64) -> (u64, Limit) {
        let ratio = self.ratio_allowance(packed);
        let total = self.limits.max_total_bytes.saturating_sub(self.unpacked.get());
        let bounds = [
            (self.limits.max_member_bytes, Limit::MemberBytes),
            (ratio, Limit::Ratio),
            (total, Limit::TotalBytes),
        ];
        bounds.into_iter().min_by_key(|(bytes, _)| *bytes).unwrap_or((0, Limit::TotalBytes))
    }

    /// How many bytes `packed` ones may become before they are taken for a bomb.
    pub(crate) fn ratio_allowance(&self, packed: u64) -> u64 {
        packed.saturating_mul(self.limits.max_ratio).max(16 << 20)
    }

    /// Counts unpacked bytes against the total.
    pub(crate) fn unpack(&self, bytes: u64) -> Result<(), Limit> {
        self.unpacked(bytes);
        if self.unpacked.get() > self.limits.max_total_bytes { Err(Limit::TotalBytes) } else { Ok(()) }
    }

    pub(crate) fn unpacked(&self, bytes: u64) {
        self.unpacked.set(self.unpacked.get().saturating_add(bytes));
    }

    pub(crate) fn nesting(&self, depth: usize) -> Result<(), Limit> {
        if depth > self.limits.max_nesting as usize { Err(Limit::Nesting) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Limits, Meter};

    #[test]
    fn the_meter_stops_near_its_limit() {
        let meter = Meter::new(&Limits { max_steps: 10_000, max_time: None, ..Limits::default() });
        let spent = (0..100_000).position(|_| meter.spend(1).is_err()).unwrap();
        assert!((10_000..20_000).contains(&spent), "{spent}");
        assert_eq!(meter.spend(u64::MAX), Err(Limit::Steps));
    }

    #[test]
    fn the_tightest_bound_is_named() {
        let meter = Meter::new(&Limits::default());
        assert_eq!(meter.allowance(10), (16 << 20, Limit::Ratio));
        assert_eq!(meter.allowance(u64::MAX).1, Limit::MemberBytes);
        meter.unpacked(1 << 30);
        assert_eq!(meter.allowance(10), (0, Limit::TotalBytes));
    }
}
