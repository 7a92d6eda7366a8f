//! Which crash points a run explores, when not all: drawn from the seed by a stream of its own, without knowing how many there will be.

use crate::seed::{Draw, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Points of one operation are close together: this many are passed by at most once an operation has been chosen.
const PASSED_MAX: u64 = 16;

/// Without operations nothing tells how far a run has come: then up to two to this power are passed by, small numbers as often as great ones.
const PASSED_BITS_MAX: u64 = 10;

/// A program that never says which operation it is in counts as one operation for so many points.
const POINTS_OF_SILENCE: u64 = 64;

/// Chooses points as they come. How far a run has come it sees by the plan's operations that have been begun, so that points of its end are as likely as
/// those of its beginning.
pub(crate) struct Sample {
    /// The operations to wait for, the first one last, each with the points to be passed by then.
    waiting: Vec<(u64, u64)>,
    /// The numbers of points from which on one is to be explored.
    due: BinaryHeap<Reverse<u64>>,
    seen: u64,
}

impl Sample {
    /// Draws for a run of so many operations.
    pub(crate) fn draw(count: u32, operations: u64, seed: Seed) -> Sample {
        let mut stream = seed.stream("crash-points");
        let mut waiting: Vec<(u64, u64)> = (0..count)
            .map(|_| match operations {
                0 => {
                    let bits = stream.below(PASSED_BITS_MAX + 1);
                    (0, stream.below(1 << bits))
                }
                _ => (stream.below(operations), stream.below(PASSED_MAX)),
            })
            .collect();
        waiting.sort_unstable_by(|one, other| other.cmp(one));
        Sample { waiting, due: BinaryHeap::new(), seen: 0 }
    }

    /// Whether the point that has come now is explored. `begun`: how many operations have been.
    pub(crate) fn takes(&mut self, begun: u64) -> bool {
        let progress = begun.max(self.seen / POINTS_OF_SILENCE);
        while let Some((_, passed)) = self.waiting.pop_if(|(operation, _)| *operation <= progress) {
            self.due.push(Reverse(self.seen + passed));
        }
        let is_due = self.due.peek().is_some_and(|Reverse(from)| *from <= self.seen);
        if is_due {
            self.due.pop();
        }
        self.seen += 1;
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;
    use crate::seed::Seed;

    /// The points that are taken of a run with so many operations of so many points each.
    fn taken(seed: u64, count: u32, operations: u64, points_each: u64) -> Vec<u64> {
        let mut sample = Sample::draw(count, operations, Seed(seed));
        (0..operations * points_each).filter(|point| sample.takes(point / points_each + 1)).collect()
    }

    #[test]
    fn every_part_of_a_run_is_as_likely() {
        for points_each in [1, 5, 40] {
            let total = 200 * points_each;
            let mut quarters = [0u32; 4];
            for seed in 0..500 {
                for point in taken(seed, 4, 200, points_each) {
                    quarters[(point * 4 / total) as usize] += 1;
                }
            }
            let all: u32 = quarters.iter().sum();
            assert!(all > 1800, "{points_each} points each: {all} of 2000 were taken");
            for share in quarters {
                assert!((all / 5..all * 3 / 10).contains(&share), "{points_each} points each: {quarters:?}");
            }
        }
    }

    #[test]
    fn a_run_without_operations_is_sampled_too() {
        let first_ten = |seed| {
            let mut sample = Sample::draw(4, 0, Seed(seed));
            (0..10).filter(|_| sample.takes(0)).count()
        };
        let explored: usize = (0..200).map(first_ten).sum();
        assert!((200..800).contains(&explored), "{explored} of 2000 points");
    }

    #[test]
    fn silent_programs_do_not_end_it() {
        let mut sample = Sample::draw(4, 20, Seed(3));
        assert_eq!((0..2000).filter(|_| sample.takes(0)).count(), 4, "nobody says that it begins an operation");
    }
}
