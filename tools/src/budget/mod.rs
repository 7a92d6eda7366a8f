//! Budgets for simulated latencies: what `sweep --latency-budget` demands, and whether a sweep kept to it. Latencies are measured in runs, by `sim::metrics`.

mod baseline;
mod judge;
mod paired;

pub(crate) use baseline::Baseline;
pub(crate) use judge::Judge;
pub(crate) use paired::Ratio;

use crate::duration;
use seedstorm_sim::metrics::{Nanoseconds, Quantiles};
use std::fmt;
use std::str::FromStr;

/// What a latency may be at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The latency, as results show it: `lock-acquire`.
    pub(crate) latency: String,
    /// Which of its quantiles.
    pub(crate) quantile: Quantile,
    /// How much is allowed.
    pub(crate) limit: Limit,
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So long, in simulated nanoseconds, over all runs together.
    Ns(u64),
    /// So many thousandths more than in the runs of the same seeds in the baseline.
    Above(u32),
}

/// A quantile of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

impl Quantile {
    const ALL: [Quantile; 5] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999, Quantile::Max];

    /// Its value, in nanoseconds.
    pub(crate) fn of(self, quantiles: &Quantiles) -> u64 {
        match self {
            Quantile::P50 => quantiles.p50,
            Quantile::P90 => quantiles.p90,
            Quantile::P99 => quantiles.p99,
            Quantile::P999 => quantiles.p999,
            Quantile::Max => quantiles.max,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Quantile::P50 => "p50",
            Quantile::P90 => "p90",
            Quantile::P99 => "p99",
            Quantile::P999 => "p99.9",
            Quantile::Max => "max",
        }
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of a latency as people are shown it, and as a budget has it: `lock-acquire` for `lock_acquire_ns` in the machine output.
pub(crate) fn latency_of(metric: &str) -> String {
    metric.strip_suffix("_ns").unwrap_or(metric).replace('_', "-")
}

const FORM: &str =
    "a budget is LATENCY:QUANTILE=LIMIT, as in lock-acquire:p99=250ms or, against a baseline, lock-acquire:p99=+10%";

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Budget, String> {
        let wrong = |why: String| format!("{why}; {FORM}");
        let (what, limit) = text.split_once('=').ok_or_else(|| wrong("it has no `=`".to_owned()))?;
        let (latency, quantile) = what.split_once(':').ok_or_else(|| wrong(format!("`{what}` names no quantile")))?;
        if latency.is_empty() || !latency.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(wrong(format!("`{latency}` is no name of a latency")));
        }
        let quantile = Quantile::ALL
            .into_iter()
            .find(|known| known.name() == quantile || known.name().replace('.', "") == quantile)
            .ok_or_else(|| wrong(format!("`{quantile}` is no quantile (known: p50, p90, p99, p99.9, max)")))?;
        let limit = match limit.strip_prefix('+') {
            Some(share) => Limit::Above(thousandths(share).map_err(wrong)?),
            None => Limit::Ns(duration::parse(limit)?),
        };
        Ok(Budget { latency: latency.to_owned(), quantile, limit })
    }
}

/// Reads `10%` or `2.5%`.
fn thousandths(text: &str) -> Result<u32, String> {
    let wrong =
        || format!("`+{text}` is no share above the baseline: a percentage with at most one decimal, as in +10%");
    let number = text.strip_suffix('%').ok_or_else(wrong)?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || tenth.len() != 1 || !(whole.to_owned() + tenth).bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    (whole.to_owned() + tenth).parse().map_err(|_| wrong())
}

/// As a command line takes it.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}=", self.latency, self.quantile)?;
        match self.limit {
            Limit::Ns(ns) => f.write_str(&duration::exact(ns)),
            Limit::Above(thousandths) => write!(f, "+{}%", percent(thousandths)),
        }
    }
}

/// As people read it.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Ns(ns) => write!(f, "{}", Nanoseconds(*ns)),
            Limit::Above(thousandths) => write!(f, "{} % above the baseline", percent(*thousandths)),
        }
    }
}

fn percent(thousandths: u32) -> String {
    match (thousandths / 10, thousandths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_written_as_they_are_read() {
        let budget = |latency: &str, quantile, limit| Budget { latency: latency.to_owned(), quantile, limit };
        for (text, expected, written) in [
            (
                "lock-acquire:p99=250ms",
                budget("lock-acquire", Quantile::P99, Limit::Ns(250_000_000)),
                "lock-acquire:p99=250ms",
            ),
            ("fsync:max=0s", budget("fsync", Quantile::Max, Limit::Ns(0)), "fsync:max=0s"),
            ("fsync:p999=1s", budget("fsync", Quantile::P999, Limit::Ns(1_000_000_000)), "fsync:p99.9=1s"),
            ("t:p50=+10%", budget("t", Quantile::P50, Limit::Above(100)), "t:p50=+10%"),
            ("t:p99.9=+0.5%", budget("t", Quantile::P999, Limit::Above(5)), "t:p99.9=+0.5%"),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string(), written);
            assert_eq!(written.parse(), Ok(expected));
        }
    }

    #[test]
    fn what_is_no_budget_is_refused_with_a_reason() {
        for (text, part) in [
            ("", "no `=`"),
            ("lock-acquire:p99", "no `=`"),
            ("lock-acquire=250ms", "names no quantile"),
            (":p99=1s", "no name of a latency"),
            ("lock acquire:p99=1s", "no name of a latency"),
            ("fsync:p95=1s", "`p95` is no quantile"),
            ("fsync:p99=fast", "a duration is"),
            ("fsync:p99=+10", "no share above the baseline"),
            ("fsync:p99=+-1%", "no share above the baseline"),
            ("fsync:p99=+1.25%", "no share above the baseline"),
            ("fsync:p99=-10%", "a duration is"),
        ] {
            let error = text.parse::<Budget>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_latency_has_one_name_in_each_output() {
        assert_eq!(latency_of("lock_acquire_ns"), "lock-acquire");
        assert_eq!(latency_of("transfer"), "transfer");
    }
}
