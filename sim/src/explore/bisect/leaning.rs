//! The sequential probability ratio test (Wald 1945) of a place between two others: which of them is it like? How many runs it gets is decided in `bisect`.

/// How far between the two shares the two hypotheses lie: a quarter from each, so that a place whose own share is nearer than that is told soon.
const INWARDS: f64 = 0.25;

/// The weight of evidence so far.
pub(super) struct Leaning {
    /// The logarithm of how much likelier the runs so far are if the place is like the one after it.
    evidence: f64,
    /// What a run that fails adds.
    failed: f64,
    /// What a run that doesn't adds.
    passed: f64,
    bound: f64,
}

impl Leaning {
    /// Between a place that fails in the share `low` of its runs, and one that fails in `high`. Each way of being wrong has the probability `error`.
    pub(super) fn between(low: f64, high: f64, error: f64) -> Leaning {
        let part = (high - low) * INWARDS;
        let within = |share: f64| share.clamp(0.01, 0.99);
        let (low, high) = (within(low + part), within(high - part));
        Leaning {
            evidence: 0.0,
            failed: (high / low).ln(),
            passed: ((1.0 - high) / (1.0 - low)).ln(),
            bound: ((1.0 - error) / error).ln(),
        }
    }

    /// One more run. Once it is decided nothing changes it.
    pub(super) fn add(&mut self, has_failed: bool) {
        if !self.is_decided() {
            self.evidence += if has_failed { self.failed } else { self.passed };
        }
    }

    /// Whether it is like one of them.
    pub(super) fn is_decided(&self) -> bool {
        self.evidence.abs() >= self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draw;
    use crate::seed::Seed;

    /// The share of tests that decide for the upper side, and the mean number of runs, if the true share is this.
    fn decides(low: f64, high: f64, truly: f64) -> (f64, f64) {
        let mut stream = Seed(7).stream("leaning");
        let (mut upper, mut runs, tests) = (0, 0, 4000);
        for _ in 0..tests {
            let mut leaning = Leaning::between(low, high, 0.01);
            while !leaning.is_decided() {
                leaning.add(stream.below(1 << 20) as f64 / f64::from(1 << 20) < truly);
                runs += 1;
            }
            upper += i32::from(leaning.evidence > 0.0);
        }
        (f64::from(upper) / f64::from(tests), f64::from(runs) / f64::from(tests))
    }

    #[test]
    fn it_is_wrong_no_more_often_than_it_says() {
        for (low, high) in [(0.0, 1.0), (0.1, 0.9), (0.3, 0.7)] {
            let part = (high - low) * INWARDS;
            // At the hypotheses themselves: the worst of what it promises.
            let (wrong, _) = decides(low, high, low + part);
            assert!(wrong <= 0.015, "{low} {high}: {wrong} of those like the lower were taken for the upper");
            let (right, _) = decides(low, high, high - part);
            assert!(right >= 0.985, "{low} {high}: {right}");
        }
    }

    #[test]
    fn what_is_plain_is_told_soon() {
        let (_, runs) = decides(0.0, 1.0, 0.0);
        assert!(runs <= 8.0, "{runs} runs for a place that never fails");
    }
}
