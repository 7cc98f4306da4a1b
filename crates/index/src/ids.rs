//! Maps keyed by chunk ids. The ids are hashes already: hashing them again would be most of a lookup's cost.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type IdMap<V> = HashMap<i64, V, BuildHasherDefault<IdHasher>>;
pub(crate) type IdSet = HashSet<i64, BuildHasherDefault<IdHasher>>;

#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i64((*byte).into());
        }
    }

    fn write_i64(&mut self, id: i64) {
        // The table takes the low bits for the place and the high bits for a first comparison; an id has only
        // 53 of them.
        self.0 = (self.0 ^ id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
