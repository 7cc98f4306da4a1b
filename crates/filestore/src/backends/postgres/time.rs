//! Times between the store and PostgreSQL, both of microseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::entry::StoreTime;

pub(crate) fn to_system_time(time: StoreTime) -> SystemTime {
    let distance = Duration::from_micros(time.0.unsigned_abs());
    if time.0 >= 0 { UNIX_EPOCH + distance } else { UNIX_EPOCH - distance }
}

pub(crate) fn to_store_time(time: SystemTime) -> StoreTime {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => StoreTime(after.as_micros() as i64),
        Err(before) => StoreTime(-(before.duration().as_micros() as i64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_both_ways() {
        for micros in [0, 1, -1, 1_700_000_000_123_456, -62_135_596_800_000_000] {
            assert_eq!(to_store_time(to_system_time(StoreTime(micros))), StoreTime(micros));
        }
    }
}
