//! What runs measured, in a form that can be sent from a worker to its sweep, and merged. What a run records is in `observations`.

use super::{Latencies, Observations};
use crate::plan::{FaultKind, StrategyPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one run, or several, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// How many runs they are of.
    pub runs: u64,
    /// How often each named event happened that must happen sometimes.
    pub coverage: BTreeMap<String, u64>,
    /// How many faults of each kind fired.
    pub faults: BTreeMap<FaultKind, u64>,
    /// Other counts.
    pub counters: BTreeMap<String, u64>,
    /// Simulated latencies. They mean time only under the strategy `timed`: keep strategies apart, as [`ByStrategy`] does.
    pub latencies: BTreeMap<String, Latencies>,
}

impl From<&Observations> for Measurements {
    fn from(observations: &Observations) -> Measurements {
        debug_assert!(observations.is_complete(), "latencies are in their histograms");
        let counts = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<BTreeMap<String, u64>>()
        };
        let latencies =
            observations.latencies.iter().map(|(name, latency)| ((*name).to_owned(), Latencies::from(latency)));
        Measurements {
            runs: 1,
            coverage: counts(&observations.coverage),
            faults: observations.faults.clone(),
            counters: counts(&observations.counters),
            latencies: latencies.collect(),
        }
    }
}

impl Measurements {
    /// Adds those of other runs. The order in which runs are merged makes no difference.
    pub fn merge(&mut self, other: &Measurements) {
        self.runs += other.runs;
        add(&mut self.coverage, &other.coverage);
        add(&mut self.faults, &other.faults);
        add(&mut self.counters, &other.counters);
        for (name, latencies) in &other.latencies {
            self.latencies.entry(name.clone()).or_default().merge(latencies);
        }
    }
}

fn add<K: Ord + Clone>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(key.clone()).or_default() += count;
    }
}

/// What runs measured, by the strategy that they ran under.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByStrategy(BTreeMap<StrategyPlan, Measurements>);

impl ByStrategy {
    /// Adds those of a run, or of several, under one strategy.
    pub fn merge(&mut self, strategy: StrategyPlan, measurements: &Measurements) {
        self.0.entry(strategy).or_default().merge(measurements);
    }

    /// Those under one strategy.
    pub fn under(&self, strategy: StrategyPlan) -> Option<&Measurements> {
        self.0.get(&strategy)
    }

    /// Every strategy that was run, with its measurements.
    pub fn iter(&self) -> impl Iterator<Item = (StrategyPlan, &Measurements)> {
        self.0.iter().map(|(strategy, measurements)| (*strategy, measurements))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draw, Seed};
    use crate::trace::codec;

    /// The measurements of a made-up run.
    fn run(seed: u64) -> Measurements {
        let mut stream = Seed(seed).stream("measurements-test");
        let mut observations = Observations::default();
        for _ in 0..stream.below(200) {
            let bits = stream.below(64);
            observations.latency("lock_acquire_ns", stream.bits() >> bits);
            observations.latency(["fsync_ns", "transaction_ns"][stream.below(2) as usize], stream.below(5));
            observations.cover(["lock_contended", "wal_reset"][stream.below(2) as usize]);
            observations.count("transactions", stream.below(3));
            observations.fault(FaultKind::ALL[stream.below(FaultKind::ALL.len() as u64) as usize]);
        }
        Measurements::from(&observations.complete())
    }

    #[test]
    fn what_is_sent_arrives() {
        for seed in 0..50 {
            let sent = run(seed);
            assert_eq!(codec::decode::<Measurements>(&codec::encode(&sent)).expect("it was encoded"), sent);
            let mut by_strategy = ByStrategy::default();
            by_strategy.merge(StrategyPlan::Timed, &sent);
            by_strategy.merge(StrategyPlan::Random, &run(seed + 1000));
            assert_eq!(codec::decode::<ByStrategy>(&codec::encode(&by_strategy)).expect("it was encoded"), by_strategy);
            assert_eq!(by_strategy.under(StrategyPlan::Timed), Some(&sent));
            assert_eq!(by_strategy.under(StrategyPlan::RoundRobin), None);
        }
    }

    #[test]
    fn quantiles_survive_sending_and_merging() {
        let mut together = Observations::default();
        let mut merged = Measurements::default();
        for seed in 0..20 {
            let mut alone = Observations::default();
            let mut stream = Seed(seed).stream("merge-test");
            for _ in 0..100 {
                let latency_ns = stream.between(100, 50_000_000);
                together.latency("fsync_ns", latency_ns);
                alone.latency("fsync_ns", latency_ns);
            }
            let sent = codec::encode(&Measurements::from(&alone.complete()));
            merged.merge(&codec::decode(&sent).expect("it was encoded"));
        }
        let expected = Measurements::from(&together.complete()).latencies["fsync_ns"].quantiles();
        assert_eq!(merged.latencies["fsync_ns"].quantiles(), expected);
        assert_eq!((merged.runs, expected.count), (20, 2000));
    }

    #[test]
    fn the_order_of_merging_makes_no_difference() {
        let (mut forth, mut back) = (Measurements::default(), Measurements::default());
        for seed in 0..30 {
            forth.merge(&run(seed));
            back.merge(&run(29 - seed));
        }
        assert_eq!(forth, back);
        assert_eq!(codec::encode(&forth), codec::encode(&back));
    }

    #[test]
    fn a_latency_of_any_size_arrives() {
        for latency_ns in [0, 1, 999_999_999, u64::MAX / 2] {
            let mut observations = Observations::default();
            observations.latency("test_ns", latency_ns);
            let sent = Measurements::from(&observations.complete());
            assert_eq!(codec::decode::<Measurements>(&codec::encode(&sent)).expect("it was encoded"), sent);
        }
    }
}
