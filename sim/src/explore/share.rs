//! Shares of runs and the intervals that they are known within. Which runs are counted is for the searches to say.

use serde::{Deserialize, Serialize};

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

impl Share {
    /// This share, unless it is of nothing: for those who must not take that for a half.
    pub fn known(self) -> Option<Share> {
        (self.of > 0).then_some(self)
    }

    /// The share itself, from 0 to 1; of nothing, a half: it may be anything.
    pub fn value(self) -> f64 {
        if self.of == 0 { 0.5 } else { self.count as f64 / self.of as f64 }
    }

    /// The 95 % interval by Wilson's score (Wilson 1927); of nothing, everything.
    pub fn interval(self) -> (f64, f64) {
        if self.of == 0 {
            return (0.0, 1.0);
        }
        let (share, n) = (self.value(), self.of as f64);
        let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        // What rounding puts beyond the ends of the scale.
        let low = if self.count == 0 { 0.0 } else { (centre - half).max(0.0) };
        let high = if self.count == self.of { 1.0 } else { (centre + half).min(1.0) };
        (low, high)
    }

    /// Whether its interval lies below the other's, without a common value.
    pub fn is_clearly_below(self, other: Share) -> bool {
        self.interval().1 < other.interval().0
    }

    /// Counts one more.
    pub(super) fn add(&mut self, counts: bool) {
        self.count += u64::from(counts);
        self.of += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_known_ones() {
        // Computed by hand from the formula, to four places.
        for (count, of, low, high) in
            [(5, 10, 0.2366, 0.7634), (1, 500, 0.0004, 0.0112), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0)]
        {
            let found = Share { count, of }.interval();
            assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{count} of {of}: {found:?}");
        }
        assert_eq!(Share::default().interval(), (0.0, 1.0));
        assert_eq!(Share::default().known(), None);
        assert_eq!(Share { count: 0, of: 1 }.known().map(Share::value), Some(0.0));
    }

    #[test]
    fn intervals_that_touch_are_not_apart() {
        assert!(Share { count: 0, of: 20 }.is_clearly_below(Share { count: 20, of: 20 }));
        assert!(!Share { count: 9, of: 20 }.is_clearly_below(Share { count: 11, of: 20 }));
        assert!(!Share { count: 20, of: 20 }.is_clearly_below(Share { count: 0, of: 20 }));
    }
}
