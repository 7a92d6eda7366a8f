//! Quantiles of a latency, as results show them. The histograms that they come from are in `latency`.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Quantiles of a latency in nanoseconds, to three significant digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many were measured.
    pub count: u64,
    /// Half of them took no longer.
    pub p50: u64,
    /// 90 % took no longer.
    pub p90: u64,
    /// 99 % took no longer.
    pub p99: u64,
    /// 99.9 % took no longer.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

impl From<&Histogram<u64>> for Quantiles {
    fn from(histogram: &Histogram<u64>) -> Quantiles {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|quantile| histogram.value_at_quantile(quantile));
        Quantiles { count: histogram.len(), p50, p90, p99, p999, max: histogram.max() }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("none measured");
        }
        let [p50, p90, p99, p999, max] = [self.p50, self.p90, self.p99, self.p999, self.max].map(Nanoseconds);
        write!(f, "p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}, of {}", self.count)
    }
}

/// A duration as people read it: three significant digits and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanoseconds(pub u64);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_ns, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        // Cut off, not rounded: else the longest below a limit could seem to be above it.
        let (whole, thousandths) = (self.0 / unit_ns, self.0 % unit_ns / (unit_ns / 1000));
        match whole {
            0..10 => write!(f, "{whole}.{:02} {unit}", thousandths / 10),
            10..100 => write!(f, "{whole}.{} {unit}", thousandths / 100),
            _ => write!(f, "{whole} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_never_too_long() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (1_239, "1.23 µs"),
            (12_399, "12.3 µs"),
            (999_999, "999 µs"),
            (1_000_000, "1.00 ms"),
            (59_990_000, "59.9 ms"),
            (1_500_000_000, "1.50 s"),
            (86_400_000_000_000, "86400 s"),
        ];
        for (ns, words) in cases {
            assert_eq!(Nanoseconds(ns).to_string(), words);
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut histogram = Histogram::new(3).expect("three digits are possible");
        assert_eq!(Quantiles::from(&histogram).to_string(), "none measured");
        for value in 1..=1000 {
            histogram.record(value).expect("it resizes itself");
        }
        let quantiles = Quantiles::from(&histogram);
        assert_eq!(quantiles, Quantiles { count: 1000, p50: 500, p90: 900, p99: 990, p999: 999, max: 1000 });
        assert_eq!(quantiles.to_string(), "p50 500 ns, p90 900 ns, p99 990 ns, p99.9 999 ns, max 1.00 µs, of 1000");
    }
}
