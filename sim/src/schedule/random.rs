//! `random`: any announced call, with equal chance, whatever its due time.

use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};

/// Any announced call, with equal chance.
pub struct Random {
    stream: Stream,
}

impl Random {
    /// The schedule of a seed.
    pub fn new(seed: Seed) -> Random {
        Random { stream: seed.stream("schedule") }
    }
}

impl Strategy for Random {
    #[inline]
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        self.stream.below(ready.len() as u64) as usize
    }
}
