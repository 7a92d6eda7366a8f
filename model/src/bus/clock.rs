//! Vector clocks whose entries belong to lives of agents: merging, ticking, comparing, pruning. How they are written down is in `encoding`, where they are kept in
//! `journal`.
//!
//! An entry of a life that is over, and of which everybody has all events, may be pruned: instead of it the clock says that every life of that agent below a number
//! is past. A pruned entry is greater than any number, so a comparison never takes what is past for what is unknown.

use seedstorm_sim::sys::claim::signal::{ClockReading, Life};

/// A vector clock (Fidge 1988, Mattern 1989), keyed by life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// By life: its last event that is in the past. Sorted; none of a pruned life; none is 0.
    pub(super) counters: Vec<(Life, u64)>,
    /// By agent: its lives below this number are past as a whole. Sorted; none is 0.
    pub(super) pruned_below: Vec<(u32, u32)>,
}

impl Clock {
    /// The number of a life's last event that is in the past; 0 where nothing is known of it, or all of it.
    pub fn counter(&self, life: Life) -> u64 {
        self.counters.binary_search_by_key(&life, |(of, _)| *of).map_or(0, |at| self.counters[at].1)
    }

    /// Whether all of a life is past.
    pub fn is_pruned(&self, life: Life) -> bool {
        life.incarnation < self.pruned_below(life.agent)
    }

    /// Lives of this agent below this number are past as a whole.
    fn pruned_below(&self, agent: u32) -> u32 {
        self.pruned_below.binary_search_by_key(&agent, |(of, _)| *of).map_or(0, |at| self.pruned_below[at].1)
    }

    /// Whether an event of a life is in the past, or is the present.
    pub fn knows(&self, life: Life, counter: u64) -> bool {
        self.is_pruned(life) || self.counter(life) >= counter
    }

    /// Whether everything that this clock knows is known to the other.
    pub fn is_within(&self, other: &Clock) -> bool {
        let pruned = self.pruned_below.iter().all(|(agent, below)| other.pruned_below(*agent) >= *below);
        pruned && self.counters.iter().all(|(life, counter)| other.knows(*life, *counter))
    }

    /// Whether the event of this clock came before the other's.
    pub fn is_before(&self, other: &Clock) -> bool {
        self.is_within(other) && !other.is_within(self)
    }

    /// Sets an entry that has risen.
    pub(super) fn raise(&mut self, life: Life, counter: u64) {
        if self.is_pruned(life) {
            return;
        }
        match self.counters.binary_search_by_key(&life, |(of, _)| *of) {
            Ok(at) => self.counters[at].1 = self.counters[at].1.max(counter),
            Err(at) => self.counters.insert(at, (life, counter)),
        }
    }

    /// The next event of a life.
    pub(super) fn tick(&mut self, life: Life) -> u64 {
        let counter = self.counter(life) + 1;
        self.raise(life, counter);
        counter
    }

    /// Takes over what another clock knows; what rises by it is raised in `risen`, too.
    pub(super) fn merge(&mut self, other: &Clock, risen: &mut Clock) {
        for &(agent, below) in &other.pruned_below {
            if self.pruned_below(agent) < below {
                self.prune(agent, below);
                risen.prune(agent, below);
            }
        }
        let mut at = 0;
        for &(life, counter) in &other.counters {
            while at < self.counters.len() && self.counters[at].0 < life {
                at += 1;
            }
            let is_there = self.counters.get(at).is_some_and(|(of, _)| *of == life);
            if is_there && self.counters[at].1 < counter {
                self.counters[at].1 = counter;
            } else if !is_there && !self.is_pruned(life) {
                self.counters.insert(at, (life, counter));
            } else {
                continue;
            }
            risen.raise(life, counter);
        }
    }

    /// Takes over what another clock says, also where it knows less. For a planted bug.
    pub(super) fn overwrite(&mut self, other: &Clock, risen: &mut Clock) {
        self.merge(other, risen);
        for &(life, counter) in &other.counters {
            if let Ok(at) = self.counters.binary_search_by_key(&life, |(of, _)| *of) {
                self.counters[at].1 = counter;
            }
        }
    }

    /// All lives of an agent below a number are past as a whole.
    pub(super) fn prune(&mut self, agent: u32, below: u32) {
        match self.pruned_below.binary_search_by_key(&agent, |(of, _)| *of) {
            Ok(at) => self.pruned_below[at].1 = self.pruned_below[at].1.max(below),
            Err(at) => self.pruned_below.insert(at, (agent, below)),
        }
        self.forget(agent, below);
    }

    /// Drops the entries of an agent's lives below a number.
    pub(super) fn forget(&mut self, agent: u32, below: u32) {
        self.counters.retain(|(life, _)| life.agent != agent || life.incarnation >= below);
    }

    /// Whether it has entries of two lives of one agent: then one of them is over.
    pub(super) fn has_lives_that_are_over(&self) -> bool {
        self.counters.windows(2).any(|pair| pair[0].0.agent == pair[1].0.agent)
    }

    /// The clock, as claims state it.
    pub fn reading(&self) -> ClockReading {
        ClockReading { counters: self.counters.clone(), pruned_below: self.pruned_below.clone() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use seedstorm_sim::{Draw, Seed, Stream};

    /// A clock of a few lives of three agents, with entries and pruned lives as drawn.
    pub(in crate::bus) fn drawn(stream: &mut Stream) -> Clock {
        let mut clock = Clock::default();
        for agent in 1..=3 {
            if stream.chance(1, 4) {
                clock.prune(agent, stream.between(1, 3) as u32);
            }
            for incarnation in 1..=3 {
                if stream.chance(1, 2) {
                    clock.raise(Life { agent, incarnation }, stream.between(1, 1 << stream.clone().below(40)));
                }
            }
        }
        clock
    }

    fn merged(one: &Clock, other: &Clock) -> (Clock, Clock) {
        let (mut both, mut risen) = (one.clone(), Clock::default());
        both.merge(other, &mut risen);
        (both, risen)
    }

    #[test]
    fn clocks_are_a_partial_order_and_merging_is_their_least_upper_bound() {
        let mut stream = Seed(1).stream("clocks");
        for _ in 0..3000 {
            let [one, two, three] = [(); 3].map(|()| drawn(&mut stream));
            assert!(one.is_within(&one) && !one.is_before(&one));
            assert!(!(one.is_before(&two) && two.is_before(&one)));
            if one.is_before(&two) && two.is_before(&three) {
                assert!(one.is_before(&three));
            }
            if one.is_within(&two) && two.is_within(&one) {
                assert_eq!(one, two, "what knows the same is the same");
            }
            let (both, risen) = merged(&one, &two);
            assert!(one.is_within(&both) && two.is_within(&both));
            assert_eq!(both, merged(&two, &one).0);
            assert_eq!(merged(&both, &three).0, merged(&one, &merged(&two, &three).0).0);
            assert_eq!(merged(&one, &one).0, one);
            assert_eq!(merged(&one, &risen).0, both, "what has risen is all that has changed");
            let (above, _) = merged(&both, &three);
            assert!(both.is_within(&above));
            if one.is_within(&three) && two.is_within(&three) {
                assert!(both.is_within(&three));
            }
        }
    }

    #[test]
    fn a_tick_is_after_what_was_and_pruning_keeps_descent() {
        let mut stream = Seed(2).stream("clocks");
        for _ in 0..1000 {
            let before = drawn(&mut stream);
            let own = Life { agent: 4, incarnation: 1 };
            let mut after = before.clone();
            assert_eq!(after.tick(own), 1);
            assert!(before.is_before(&after));
            let mut pruned = after.clone();
            for agent in 1..=3 {
                pruned.prune(agent, 4);
            }
            assert_eq!(pruned.counters, [(own, 1)]);
            assert!(before.is_before(&pruned), "{before:?} and {pruned:?}");
            assert!(!pruned.is_within(&before));
            let mut forgot = after.clone();
            (1..=3).for_each(|agent| forgot.forget(agent, 4));
            if !before.counters.is_empty() {
                assert!(!before.is_before(&forgot), "without a trace it looks concurrent");
            }
            pruned.raise(Life { agent: 1, incarnation: 2 }, 9);
            assert_eq!(pruned.counters.len(), 1, "what is pruned gets no entry again");
        }
    }
}
