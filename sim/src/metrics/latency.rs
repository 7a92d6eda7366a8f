//! A histogram of latencies that can be sent and merged. What a run records is in `observations`.

use super::Quantiles;
use super::observations::DIGITS;
use hdrhistogram::Histogram;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Latencies in nanoseconds, to three significant digits. Serialised as the pairs (value, how often) that occur, so that an empty one takes
/// no space, and as the same bytes on every machine.
#[derive(Clone, PartialEq)]
pub struct Latencies(Histogram<u64>);

impl fmt::Debug for Latencies {
    /// A histogram's own form is thousands of zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Latencies({})", self.quantiles())
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies(Histogram::new(DIGITS).expect("between 0 and 5 significant digits are always possible"))
    }
}

impl From<&Histogram<u64>> for Latencies {
    fn from(histogram: &Histogram<u64>) -> Latencies {
        Latencies(histogram.clone())
    }
}

impl Latencies {
    /// Adds those of another run.
    pub fn merge(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("a histogram that resizes itself takes any other of the same digits");
    }

    /// Their quantiles.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles::from(&self.0)
    }

    /// The histogram, for other questions.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl Serialize for Latencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        pairs.collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut latencies = Latencies::default();
        for (value_ns, count) in pairs {
            latencies.0.record_n(value_ns, count).map_err(D::Error::custom)?;
        }
        Ok(latencies)
    }
}
