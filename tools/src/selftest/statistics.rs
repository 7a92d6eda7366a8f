//! The figures of a self-test: medians of run lengths. Shares are `sim::explore`'s, the geometric mean has a file of its own. What they are taken of is in `trial`.

/// Run lengths: how much was run from one detection (or from the beginning) to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// Those that ended in a detection.
    finished: Vec<u64>,
    /// What has been run since the last detection.
    unfinished: u64,
}

impl Lengths {
    /// Adds a run that took so much.
    pub(crate) fn add(&mut self, amount: u64, is_detection: bool) {
        self.unfinished += amount;
        if is_detection {
            self.finished.push(std::mem::take(&mut self.unfinished));
        }
    }

    /// The median by Kaplan and Meier (1958): the least length within which half of the run lengths end. The one that had not ended when the seeds
    /// were used up counts as longer than what it came to, so a bug that was found once, early, is not taken for one that is found soon. `None` if
    /// not half of them ended.
    pub(crate) fn median(&self) -> Option<u64> {
        let mut lengths = self.finished.clone();
        lengths.sort_unstable();
        let mut not_ended = 1.0;
        for (index, length) in lengths.iter().enumerate() {
            let at_risk = (lengths.len() - index) as f64 + f64::from(u8::from(self.unfinished >= *length));
            not_ended *= 1.0 - 1.0 / at_risk;
            // A half may come out a little above itself.
            if not_ended <= 0.5 + 1e-9 {
                return Some(*length);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(finished: &[u64], unfinished: u64) -> Lengths {
        Lengths { finished: finished.to_vec(), unfinished }
    }

    #[test]
    fn a_length_counts_from_one_detection_to_the_next() {
        let mut counted = Lengths::default();
        for is_detection in [false, false, true, true, false, true, false] {
            counted.add(10, is_detection);
        }
        assert_eq!(counted, lengths(&[30, 10, 20], 10));
        assert_eq!(counted.median(), Some(20));
    }

    #[test]
    fn what_had_not_ended_counts_as_longer() {
        assert_eq!(lengths(&[], 500).median(), None, "never found");
        assert_eq!(lengths(&[], 0).median(), None, "nothing ran");
        assert_eq!(lengths(&[10], 490).median(), Some(10), "one of two ended within 10");
        assert_eq!(lengths(&[300], 200).median(), Some(300));
        assert_eq!(lengths(&[1, 2, 3, 4], 0).median(), Some(2));
        assert_eq!(lengths(&[1, 2, 3, 4], 9).median(), Some(3), "five lengths: the third");
        assert_eq!(lengths(&[10, 400], 90).median(), Some(400), "two of three are longer than 10");
    }
}
