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
        // 32 bits are plenty: the bias is below the number of calls / 2³².
        ((u64::from(self.stream.half_bits()) * ready.len() as u64) >> 32) as usize
    }
}
