//! How much longer something took than before, by pairs of runs of the same seeds: what a seed has drawn makes no difference then.

use seedstorm_sim::{Draw, Seed};
use serde::{Deserialize, Serialize};

/// A ratio by pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ratio {
    /// How many pairs there were.
    pub(crate) pairs: u64,
    /// The geometric mean of now over before.
    pub(crate) ratio: f64,
    /// The ends of its 95 % interval, by resampling the pairs.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
}

/// So often are the pairs drawn anew.
const RESAMPLES: usize = 2_000;

/// With fewer pairs an interval says nothing.
pub(crate) const PAIRS_MIN: usize = 10;

/// The ratio of pairs (before, now) in nanoseconds; `None` of too few. The same pairs give the same interval.
pub(crate) fn ratio(pairs: &[(u64, u64)]) -> Option<Ratio> {
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    // Below a nanosecond nothing is told apart.
    let ln = |ns: u64| (ns.max(1) as f64).ln();
    let logarithms: Vec<f64> = pairs.iter().map(|(before, now)| ln(*now) - ln(*before)).collect();
    let count = logarithms.len();
    let mean = |sum: f64| (sum / count as f64).exp();
    let mut stream = Seed(0).stream("budget-pairs");
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| mean((0..count).map(|_| logarithms[stream.below(count as u64) as usize]).sum()))
        .collect();
    resampled.sort_by(f64::total_cmp);
    let at = |share: f64| resampled[(share * (RESAMPLES - 1) as f64).round() as usize];
    Some(Ratio { pairs: count as u64, ratio: mean(logarithms.iter().sum()), low: at(0.025), high: at(0.975) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_the_same_for_sure() {
        let pairs: Vec<(u64, u64)> = (0..20).map(|index| (index * 1_000, index * 1_000)).collect();
        assert_eq!(ratio(&pairs), Some(Ratio { pairs: 20, ratio: 1.0, low: 1.0, high: 1.0 }));
        assert_eq!(ratio(&pairs[..PAIRS_MIN - 1]), None);
    }

    #[test]
    fn the_interval_holds_what_pairs_were_drawn_around() {
        // Seeds differ by a factor of a million, and a pair by a half at most; in the middle it has become longer by a tenth.
        let mut inside = 0;
        for trial in 0..100 {
            let mut stream = Seed(trial).stream("paired-test");
            let pairs: Vec<(u64, u64)> = (0..60)
                .map(|_| {
                    let before = stream.between(1_000, 1_000_000_000) as f64;
                    let noise = (stream.between(0, 1_000) as f64 / 1_000.0 - 0.5) * 0.8;
                    (before as u64, (before * 1.1 * noise.exp()) as u64)
                })
                .collect();
            let told = ratio(&pairs).expect("enough pairs");
            assert!(told.low < told.ratio && told.ratio < told.high && told.high - told.low < 0.2, "{told:?}");
            inside += u32::from(told.low < 1.1 && 1.1 < told.high);
        }
        assert!((88..=100).contains(&inside), "{inside} of 100");
    }
}
