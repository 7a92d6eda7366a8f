//! How long to sleep before the next attempt. Whole numbers only; the draws come from the caller's own entropy, so that waiters spread.

use crate::mutant::{Mutant, is};
use seedstorm_sim::Draw;

/// How waiters back off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackoffPolicy {
    /// Doubles; half of it is drawn ("equal jitter", Brooker 2015, "Exponential backoff and jitter").
    Exponential,
    /// Anything up to the doubled time ("full jitter").
    FullJitter,
    /// Anything from the shortest to three times the last ("decorrelated jitter").
    DecorrelatedJitter,
    /// A queue of tickets: whose turn it isn't only looks at the queue.
    FairQueue,
}

/// The shortest back-off, in nanoseconds.
const FIRST_NS: u64 = 5_000_000;
/// The longest.
const LAST_NS: u64 = 250_000_000;
/// The longest look at a queue in which it is not our turn.
const TURN_NS: u64 = 20_000_000;
/// What `FixedBackoffConvoy` sleeps.
const CONVOY_NS: u64 = LAST_NS;

impl BackoffPolicy {
    /// Every policy.
    pub const ALL: [BackoffPolicy; 4] = [
        BackoffPolicy::Exponential,
        BackoffPolicy::FullJitter,
        BackoffPolicy::DecorrelatedJitter,
        BackoffPolicy::FairQueue,
    ];

    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            BackoffPolicy::Exponential => "exponential",
            BackoffPolicy::FullJitter => "full-jitter",
            BackoffPolicy::DecorrelatedJitter => "decorrelated-jitter",
            BackoffPolicy::FairQueue => "fair-queue",
        }
    }

    /// The policy of that name.
    pub fn parse(name: &str) -> Option<BackoffPolicy> {
        BackoffPolicy::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// The back-off of one wait.
#[derive(Clone, Debug)]
pub struct Backoff {
    policy: BackoffPolicy,
    first_ns: u64,
    last_ns: u64,
    /// The upper end of the next draw of the doubling policies.
    ceiling_ns: u64,
    previous_ns: u64,
    is_fixed: bool,
}

impl Backoff {
    /// A wait begins.
    pub fn new(policy: BackoffPolicy, mutant: Option<Mutant>) -> Backoff {
        Backoff { is_fixed: is(mutant, Mutant::FixedBackoffConvoy), ..Backoff::between(policy, FIRST_NS, LAST_NS) }
    }

    /// For something that is held for a few calls only.
    pub fn short() -> Backoff {
        Backoff::between(BackoffPolicy::DecorrelatedJitter, FIRST_NS / 20, LAST_NS / 20)
    }

    fn between(policy: BackoffPolicy, first_ns: u64, last_ns: u64) -> Backoff {
        Backoff { policy, first_ns, last_ns, ceiling_ns: first_ns, previous_ns: first_ns, is_fixed: false }
    }

    /// How long to sleep now, in nanoseconds.
    pub fn next_ns(&mut self, draw: &mut impl Draw) -> u64 {
        if self.is_fixed {
            return CONVOY_NS;
        }
        let ceiling_ns = self.ceiling_ns;
        self.ceiling_ns = (ceiling_ns * 2).min(self.last_ns);
        match self.policy {
            BackoffPolicy::Exponential => ceiling_ns / 2 + draw.below(ceiling_ns / 2 + 1),
            BackoffPolicy::FullJitter => draw.below(ceiling_ns + 1),
            BackoffPolicy::DecorrelatedJitter => {
                let drawn_ns = draw.between(self.first_ns, self.previous_ns * 3).min(self.last_ns);
                self.previous_ns = drawn_ns;
                drawn_ns
            }
            BackoffPolicy::FairQueue => draw.between(TURN_NS / 4, TURN_NS),
        }
    }

    /// As [`Backoff::next_ns`], but not longer than what is left of the wait.
    pub fn next_within_ns(&mut self, left_ns: u64, draw: &mut impl Draw) -> u64 {
        let next_ns = self.next_ns(draw);
        if self.is_fixed { next_ns } else { next_ns.min(left_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::Seed;

    fn sleeps(policy: BackoffPolicy, seed: u64, count: usize) -> Vec<u64> {
        let (mut backoff, mut stream) = (Backoff::new(policy, None), Seed(seed).stream("backoff-test"));
        (0..count).map(|_| backoff.next_ns(&mut stream)).collect()
    }

    #[test]
    fn each_policy_stays_in_its_range() {
        for seed in 0..200 {
            let mut ceiling_ns = FIRST_NS;
            for (half, full) in sleeps(BackoffPolicy::Exponential, seed, 12).into_iter().zip(sleeps(
                BackoffPolicy::FullJitter,
                seed,
                12,
            )) {
                assert!((ceiling_ns / 2..=ceiling_ns).contains(&half), "{half} of {ceiling_ns}");
                assert!(full <= ceiling_ns, "{full} of {ceiling_ns}");
                ceiling_ns = (ceiling_ns * 2).min(LAST_NS);
            }
            let mut previous_ns = FIRST_NS;
            for slept_ns in sleeps(BackoffPolicy::DecorrelatedJitter, seed, 30) {
                assert!(
                    (FIRST_NS..=(previous_ns * 3).min(LAST_NS)).contains(&slept_ns),
                    "{slept_ns} after {previous_ns}"
                );
                previous_ns = slept_ns;
            }
            assert!(
                sleeps(BackoffPolicy::FairQueue, seed, 5)
                    .iter()
                    .all(|slept_ns| (TURN_NS / 4..=TURN_NS).contains(slept_ns))
            );
        }
    }

    #[test]
    fn fifty_waiters_spread() {
        for policy in BackoffPolicy::ALL {
            let mut wakes: Vec<u64> = (0..50).map(|seed| sleeps(policy, seed, 4).iter().sum()).collect();
            wakes.sort_unstable();
            wakes.dedup();
            assert_eq!(wakes.len(), 50, "{}: nobody wakes together with another", policy.name());
        }
    }

    #[test]
    fn the_last_sleep_ends_with_the_wait() {
        let (mut backoff, mut stream) =
            (Backoff::new(BackoffPolicy::Exponential, None), Seed(1).stream("backoff-test"));
        assert_eq!(backoff.next_within_ns(1000, &mut stream), 1000);
        let mut convoy = Backoff::new(BackoffPolicy::Exponential, Some(Mutant::FixedBackoffConvoy));
        assert_eq!(convoy.next_within_ns(1000, &mut stream), CONVOY_NS);
    }

    #[test]
    fn policies_are_found_by_name() {
        assert!(BackoffPolicy::ALL.iter().all(|policy| BackoffPolicy::parse(policy.name()) == Some(*policy)));
    }
}
