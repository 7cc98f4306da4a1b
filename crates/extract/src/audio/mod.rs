//! Recordings for those who write down what is said: one channel of 16,000 numbers a second, given piece by piece.
//!
//! The bytes may be hostile: a worker process calls this.

mod decode;
mod resample;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use model::SkipReason;
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::limits::{Limit, Limits, Meter};
use crate::sink::{Halt, Outcome, broken};
use decode::Recording;

/// Samples of one second.
pub const SAMPLE_RATE: u32 = 16_000;

/// Samples that are given at once, but for the last ones.
pub const CHUNK_SAMPLES: usize = 10 * SAMPLE_RATE as usize;

/// What a recording is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingInfo {
    /// Such as `mp3`, `vorbis` or `pcm_s16le`.
    pub codec: String,
    /// As it is stored.
    pub sample_rate: u32,
    pub channels: u32,
    /// As the file says; after decoding, as it was heard. None where the file does not say.
    pub duration_ms: Option<u64>,
    /// It can be decoded here. One that cannot may still be sent to a provider as it is.
    pub decodable: bool,
    /// Pieces that made no sense and were left out.
    pub damaged_packets: u32,
}

/// What a recording says of itself.
pub fn probe(format: Format, name: &str, bytes: &[u8], limits: &Limits) -> Result<RecordingInfo, SkipReason> {
    let meter = Meter::new(limits);
    guarded(format, || Ok(Recording::open(format, name, bytes, &meter)?.info()))
}

/// Decodes a recording: mono, [`SAMPLE_RATE`] numbers a second from -1 to 1, [`CHUNK_SAMPLES`] at once, until `visit` breaks
/// off: then there is nothing to tell of it. The limits of time hold for each chunk.
pub fn samples(
    format: Format,
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    visit: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
) -> Result<Option<RecordingInfo>, SkipReason> {
    let meter = Meter::new(limits);
    guarded(format, || Recording::open(format, name, bytes, &meter)?.decode(visit))
}

/// The decoders are tested not to panic; the libraries they use cannot be proved to.
fn guarded<T>(format: Format, run: impl FnOnce() -> Outcome<T>) -> Result<T, SkipReason> {
    let done = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| broken("the reader failed on it"));
    let format = format.to_string();
    done.map_err(|halt| match halt {
        Halt::Skip(reason) => reason,
        Halt::Limit(Limit::Time | Limit::Steps) => SkipReason::TookTooLong { format },
        Halt::Limit(limit) => SkipReason::Refused { format, detail: limit.to_string() },
        Halt::Broken(detail) => SkipReason::Damaged { format, detail },
    })
}
