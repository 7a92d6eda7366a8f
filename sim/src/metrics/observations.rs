//! What one run measures while it goes on. What can be sent and merged is in `measurements`. No wall clock.

use super::Measurements;
use crate::plan::FaultKind;
use crate::sys::disk::CrashReport;
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Significant decimal digits of a latency.
pub(super) const DIGITS: u8 = 3;

/// What a run measured.
#[derive(Default)]
pub struct Observations {
    /// How often each named event happened that must happen sometimes.
    pub coverage: BTreeMap<&'static str, u64>,
    /// How many faults of each kind fired.
    pub faults: BTreeMap<FaultKind, u64>,
    /// Other counts.
    pub counters: BTreeMap<&'static str, u64>,
    /// Simulated latencies in nanoseconds. They mean time only under the strategy `timed`.
    pub latencies: BTreeMap<&'static str, Histogram<u64>>,
    /// Latencies that are not in their histograms yet.
    unrecorded: Vec<(&'static str, u64)>,
}

/// So many latencies are kept before they go into their histograms.
const UNRECORDED_MAX: usize = 1 << 12;

impl fmt::Debug for Observations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Measurements::from(self).fmt(f)
    }
}

impl Observations {
    /// Whether nothing has been measured.
    pub(crate) fn is_empty(&self) -> bool {
        let Observations { coverage, faults, counters, latencies, unrecorded } = self;
        coverage.is_empty() && faults.is_empty() && counters.is_empty() && latencies.is_empty() && unrecorded.is_empty()
    }

    pub(crate) fn cover(&mut self, name: &'static str) {
        *self.coverage.entry(name).or_default() += 1;
    }

    pub(crate) fn count(&mut self, name: &'static str, by: u64) {
        *self.counters.entry(name).or_default() += by;
    }

    pub(crate) fn fault(&mut self, kind: FaultKind) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub(crate) fn latency(&mut self, name: &'static str, latency_ns: u64) {
        self.unrecorded.push((name, latency_ns));
        if self.unrecorded.len() == UNRECORDED_MAX {
            self.record_latencies();
        }
    }

    /// Puts the latencies into their histograms. The longest come first: a histogram grows for each that is longer than those before, and a short run's few
    /// would make it grow more often than anything else does.
    fn record_latencies(&mut self) {
        self.unrecorded.sort_unstable_by_key(|(_, latency_ns)| Reverse(*latency_ns));
        for (name, latency_ns) in self.unrecorded.drain(..) {
            let histogram = self.latencies.entry(name).or_insert_with(|| {
                Histogram::new(DIGITS).expect("between 0 and 5 significant digits are always possible")
            });
            // Not `saturating_record`: that one never resizes, it clamps.
            histogram.record(latency_ns).expect("a histogram that resizes itself takes any value");
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.unrecorded.is_empty()
    }

    /// What was measured, complete.
    pub(crate) fn complete(mut self) -> Observations {
        self.record_latencies();
        self
    }

    pub(crate) fn crashed(&mut self, report: &CrashReport) {
        self.count("crash_operations_kept", report.kept as u64);
        self.count("crash_operations_lost", report.lost as u64);
        self.count("crash_writes_torn", report.torn as u64);
        if report.lost > 0 {
            self.cover("power_loss_lost_unsynced");
        }
        if report.torn > 0 {
            self.cover("power_loss_tore_write");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Observations;

    #[test]
    fn a_latency_is_kept_whatever_its_size() {
        let mut observations = Observations::default();
        for latency_ns in [3, 5_000_000, u64::MAX / 4] {
            observations.latency("test_ns", latency_ns);
            observations = observations.complete();
            let histogram = &observations.latencies["test_ns"];
            assert!(histogram.equivalent(histogram.max(), latency_ns), "{} for {latency_ns}", histogram.max());
        }
    }
}
