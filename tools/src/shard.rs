//! A shard: one machine's share of a sweep's seeds. How a range of seeds is written is in `seeds`; how shards come together again, in `merge`.

use crate::seeds::Seeds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Each `count`-th seed of a range, from the `index`-th on; the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub(crate) struct Shard {
    index: u64,
    count: u64,
}

#[derive(Deserialize)]
struct Stored {
    index: u64,
    count: u64,
}

impl TryFrom<Stored> for Shard {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Shard, String> {
        let Stored { index, count } = stored;
        Shard::new(index, count).ok_or_else(|| wrong(&format!("{index}/{count}")))
    }
}

fn wrong(text: &str) -> String {
    format!(
        "`{text}` is no shard; allowed: K/N, the K-th of N shards, with whole numbers from 1/1 on and K at most N, as in 2/4"
    )
}

/// As a command line takes it.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let number = |part: &str| part.trim().parse::<u64>().ok();
        let parts = text.split_once('/').and_then(|(index, count)| Some((number(index)?, number(count)?)));
        parts.and_then(|(index, count)| Shard::new(index, count)).ok_or_else(|| wrong(text))
    }
}

impl Shard {
    /// The only one of a sweep that isn't shared out.
    pub(crate) const WHOLE: Shard = Shard { index: 1, count: 1 };

    /// The `index`-th of `count`, if there is such a one.
    pub(crate) fn new(index: u64, count: u64) -> Option<Shard> {
        (1..=count).contains(&index).then_some(Shard { index, count })
    }

    /// How many shards there are.
    pub(crate) fn count(self) -> u64 {
        self.count
    }

    /// How many of the seeds it has.
    pub(crate) fn len(self, seeds: Seeds) -> u64 {
        seeds.count.saturating_sub(self.index - 1).div_ceil(self.count)
    }

    /// Its seed after so many others. There must be so many.
    pub(crate) fn nth(self, seeds: Seeds, index: u64) -> u64 {
        seeds.first + (self.index - 1) + self.count * index
    }

    /// Whether it has the seed.
    pub(crate) fn has(self, seeds: Seeds, seed: u64) -> bool {
        seeds.has(seed) && (seed - seeds.first) % self.count == self.index - 1
    }

    /// The range of which the same shard has just what is left when so many of its seeds are done: it begins later by so many rounds of all shards.
    pub(crate) fn after(self, seeds: Seeds, done: u64) -> Seeds {
        seeds.after(done.saturating_mul(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds_of(shard: Shard, seeds: Seeds) -> Vec<u64> {
        (0..shard.len(seeds)).map(|index| shard.nth(seeds, index)).collect()
    }

    #[test]
    fn shards_are_disjoint_and_together_all() {
        for (first, len) in [(0, 10), (7, 1), (3, 0), (u64::MAX - 8, 9)] {
            let seeds = Seeds { first, count: len };
            for count in 1..=12 {
                let shards = (1..=count).map(|index| Shard::new(index, count).expect("a shard"));
                let mut all: Vec<u64> = shards.flat_map(|shard| seeds_of(shard, seeds)).collect();
                all.sort_unstable();
                assert_eq!(all, (0..len).map(|index| first + index).collect::<Vec<_>>(), "{seeds}, {count}");
            }
        }
    }

    #[test]
    fn what_is_left_is_of_the_same_shard() {
        let (shard, seeds) = (Shard::new(2, 4).expect("a shard"), Seeds { first: 5, count: 30 });
        let all = seeds_of(shard, seeds);
        assert_eq!(all, [6, 10, 14, 18, 22, 26, 30, 34]);
        for done in 0..=9 {
            let left = seeds_of(shard, shard.after(seeds, done));
            assert_eq!(left, all[all.len().min(done as usize)..], "{done}");
        }
        assert!(all.iter().all(|seed| shard.has(seeds, *seed)));
        assert!(![2, 5, 7, 38].iter().any(|seed| shard.has(seeds, *seed)));
    }

    #[test]
    fn shards_are_written_as_they_are_read() {
        for text in ["1/1", "4/4", "2/18446744073709551615"] {
            assert_eq!(text.parse::<Shard>().expect("a shard").to_string(), text);
        }
        for text in ["0/4", "5/4", "x", "1/0", "1", "/", "1/", "-1/4", "1/4/4", "1.0/4"] {
            let error = text.parse::<Shard>().expect_err(text);
            assert!(error.contains("allowed: K/N"), "{error}");
        }
        assert!(serde_json::from_str::<Shard>("{\"index\":0,\"count\":4}").is_err());
    }
}
