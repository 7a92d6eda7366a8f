//! The arguments of `sweep`.

use super::{ArtifactArguments, BudgetArguments, CheckArguments, DrawArguments, JunitArguments, WatchArguments};
use crate::duration;
use crate::seeds::{self, Seeds};
use crate::shard::Shard;
use clap::Args;
use std::fmt;

/// Which share runs twice where nothing is said.
const DETERMINISM: &str = "2%";

/// How long a seed may take where nothing is said.
pub(super) const SEED_TIMEOUT: &str = "5m";

/// Run many seeds.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Which scenarios: `all`, or names with commas between them (see `list scenarios`).
    #[arg(long, value_name = "all|A,B", default_value = "all")]
    pub(crate) scenarios: String,

    /// Which seeds, without the last; `A..=B` is with it. `A` alone is that one seed, while `selftest` takes a number alone for so many seeds: `0..A` is that everywhere.
    #[arg(long, value_name = "A..B", value_parser = seeds::parse)]
    pub(crate) seeds: Seeds,

    /// Run the K-th of N shards only: each N-th of the seeds, beginning with the K-th. The N shards are disjoint and together all seeds, so N machines can share a
    /// sweep; `merge` puts together what they write with `--json`. What must happen sometimes is judged there, since it is a property of the whole.
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,

    /// How many worker processes; without this, one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// Stop after so many failing seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_failures: Option<u64>,

    /// The share of seeds that run twice, the second time in a fresh process; at least one seed, unless it is 0%.
    #[arg(long, value_name = "PERCENT", default_value = DETERMINISM, value_parser = Share::parse)]
    pub(crate) determinism: Share,

    /// How much real time a seed may take before its worker is ended.
    #[arg(long, value_name = "5m", default_value = SEED_TIMEOUT, value_parser = positive_duration)]
    pub(crate) seed_timeout: u64,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// How long simulated latencies may be.
    #[command(flatten)]
    pub(crate) budget: BudgetArguments,

    /// Where failures are kept.
    #[command(flatten)]
    pub(crate) artifacts: ArtifactArguments,

    /// Print one JSON line for each seed, and a last one with the summary.
    #[arg(long)]
    pub(crate) json: bool,

    /// Where pages of CI read results.
    #[command(flatten)]
    pub(crate) junit: JunitArguments,

    /// What is checked.
    #[command(flatten)]
    pub(crate) check: CheckArguments,

    /// How plans are drawn.
    #[command(flatten)]
    pub(crate) draw: DrawArguments,
}

impl SweepArguments {
    /// The words of a command line that runs other seeds in the same way.
    pub(crate) fn words(&self, seeds: Seeds) -> Vec<String> {
        let mut words =
            ["sweep", "--scenarios", &self.scenarios, "--seeds", &seeds.to_string()].map(str::to_owned).to_vec();
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(shard) = self.shard {
            add("--shard", shard.to_string());
        }
        if let Some(jobs) = self.jobs {
            add("--jobs", jobs.to_string());
        }
        if let Some(max) = self.max_failures {
            add("--max-failures", max.to_string());
        }
        if self.determinism.to_string() != DETERMINISM {
            add("--determinism", self.determinism.to_string());
        }
        if duration::parse(SEED_TIMEOUT) != Ok(self.seed_timeout) {
            add("--seed-timeout", duration::exact(self.seed_timeout));
        }
        words.extend(
            [
                self.watch.words(),
                self.budget.words(),
                self.artifacts.words(),
                self.junit.words(),
                self.check.words(),
                self.draw.words(),
            ]
            .concat(),
        );
        if self.json {
            words.push("--json".to_owned());
        }
        words
    }
}

pub(super) fn positive_duration(text: &str) -> Result<u64, String> {
    match duration::parse(text)? {
        0 => Err("it must be longer than nothing; a duration is a number and a unit (ns, us, ms, s, m, h), as in 30s"
            .to_owned()),
        ns => Ok(ns),
    }
}

/// A share, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(u32);

/// As a command line takes it.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 10_000, self.0 % 10_000);
        match fraction {
            0 => write!(f, "{whole}%"),
            fraction => write!(f, "{whole}.{}%", format!("{fraction:04}").trim_end_matches('0')),
        }
    }
}

impl Share {
    const WHOLE: u32 = 1_000_000;

    /// Nothing of it.
    pub(crate) const NONE: Share = Share(0);

    /// Reads `2%` or `0.5%`.
    ///
    /// # Errors
    /// What would be right.
    pub(crate) fn parse(text: &str) -> Result<Share, String> {
        let wrong = || {
            format!("`{text}` is no share; it is a percentage from 0% to 100%, with at most four decimals, as in 2%")
        };
        let number = text.trim().strip_suffix('%').unwrap_or(text.trim());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.len() > 4
            || whole.is_empty()
            || !(whole.to_owned() + fraction).bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(wrong());
        }
        let millionths = format!("{whole}{fraction:0<4}").parse::<u32>().map_err(|_| wrong())?;
        if millionths > Share::WHOLE { Err(wrong()) } else { Ok(Share(millionths)) }
    }

    /// Whether the `index`-th of `count` things belongs to the share. They are spread evenly, the first of each stretch is not taken, and a
    /// share above nothing takes at least one.
    pub(crate) fn takes(self, index: u64, count: u64) -> bool {
        let taken_until = |end: u64| u128::from(end) * u128::from(self.0) / u128::from(Share::WHOLE);
        if self.0 > 0 && taken_until(count) == 0 {
            return index + 1 == count;
        }
        taken_until(index + 1) > taken_until(index)
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    fn taken(share: &str, count: u64) -> Vec<u64> {
        let share = Share::parse(share).expect("a share");
        (0..count).filter(|index| share.takes(*index, count)).collect()
    }

    #[test]
    fn a_share_is_spread_and_never_empty() {
        assert_eq!(taken("2%", 2000).len(), 40);
        assert_eq!(taken("2%", 100), [49, 99]);
        assert_eq!(taken("2%", 10), [9]);
        assert_eq!(taken("2%", 1), [0]);
        assert_eq!(taken("0.0001%", 3), [2]);
        assert_eq!(taken("100%", 4), [0, 1, 2, 3]);
        assert!(taken("0%", 1000).is_empty());
        assert_eq!(taken("50", 4), [1, 3]);
    }

    #[test]
    fn a_share_is_written_as_it_is_read() {
        for text in ["0%", "2%", "100%", "0.5%", "0.0001%", "12.3456%", "7.05%"] {
            assert_eq!(Share::parse(text).expect("a share").to_string(), text);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", "%", "101%", "-1%", "1.23456%", "two", "1.2.3%", ".5%", "+1%"] {
            assert!(Share::parse(text).is_err(), "{text}");
        }
    }
}
