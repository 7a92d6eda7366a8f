//! What runs measured: coverage, faults, counters and histograms of simulated latencies. No wall clock.

mod latency;
mod measurements;
mod observations;
mod quantiles;

pub use latency::Latencies;
pub use measurements::{ByStrategy, Measurements};
pub use observations::Observations;
pub use quantiles::{Nanoseconds, Quantiles};
