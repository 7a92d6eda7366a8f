//! Asks each invariant about the events that it wants, and drops violations that a fired fault voids.

use super::{Invariant, Recovered, Survivor, Violation};
use crate::kernel::View;
use crate::plan::FaultKind;
use crate::trace::{Body, Event, Interest};

/// The invariants of a run.
pub(crate) struct Driver {
    invariants: Vec<Box<dyn Invariant>>,
    /// What each of them wants.
    interests: Vec<Interest>,
    /// Which of them want an event, by the bit of its kind.
    wanting: Vec<usize>,
    /// Where those of a bit end, and those of the next begin.
    ends: [u32; u64::BITS as usize + 1],
    /// Whether a fault has fired that voids durability.
    durability_is_void: bool,
    /// The kinds of claim that are acknowledgements to one of them.
    acknowledgements: Vec<&'static str>,
    /// How many acknowledgements there were.
    acknowledged: u64,
    /// The kind of the last one.
    last_acknowledged: &'static str,
    found: Found,
}

impl Driver {
    pub(crate) fn new(mut invariants: Vec<Box<dyn Invariant>>) -> Driver {
        let mut driver = Driver {
            invariants: Vec::new(),
            interests: Vec::new(),
            wanting: Vec::new(),
            ends: [0; u64::BITS as usize + 1],
            durability_is_void: false,
            acknowledgements: Vec::new(),
            acknowledged: 0,
            last_acknowledged: "",
            found: Found::default(),
        };
        driver.begin_again(&mut invariants);
        driver
    }

    /// Makes it that of a run that begins, and gives the invariants of the last one in exchange.
    pub(crate) fn begin_again(&mut self, invariants: &mut Vec<Box<dyn Invariant>>) {
        // Each by its name, so that none can be forgotten.
        let Driver {
            invariants: invariants_place,
            interests,
            wanting,
            ends,
            durability_is_void,
            acknowledgements,
            acknowledged,
            last_acknowledged,
            found,
        } = self;
        *durability_is_void = false;
        acknowledgements.clear();
        acknowledgements
            .extend(invariants.iter().filter_map(|invariant| invariant.acknowledgements()).flatten().copied());
        *acknowledged = 0;
        *last_acknowledged = "";
        found.0 = None;
        let wanted = invariants.iter().map(|invariant| invariant.interest());
        // Sorting them is a part of a short run's time, and runs that follow each other mostly have the same.
        if !interests.iter().copied().eq(wanted.clone()) {
            interests.clear();
            interests.extend(wanted);
            let all = interests.iter().fold(Interest::NONE, |all, interest| all.and(*interest));
            wanting.clear();
            for bit in 0..u64::BITS {
                if all.has(bit) {
                    wanting.extend((0..interests.len()).filter(|index| interests[*index].has(bit)));
                }
                ends[bit as usize + 1] = wanting.len() as u32;
            }
        }
        std::mem::swap(invariants_place, invariants);
    }

    /// What at least one of them wants.
    pub(crate) fn interest(&self) -> Interest {
        let own = if self.acknowledgements.is_empty() { Interest::NONE } else { Interest::CLAIMS };
        self.interests.iter().fold(own, |all, interest| all.and(*interest))
    }

    /// How many acknowledgements there have been.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The kind of claim that the last acknowledgement was.
    pub(crate) fn last_acknowledged(&self) -> &'static str {
        self.last_acknowledged
    }

    /// Whether a fault has fired that voids durability.
    pub(crate) fn durability_is_void(&self) -> bool {
        self.durability_is_void
    }

    /// Those that judge survivors now: what is void is not asked.
    fn judges(&self) -> impl Iterator<Item = &dyn Invariant> {
        let judges = self.invariants.iter().map(|invariant| &**invariant);
        judges.filter(|invariant| {
            invariant.acknowledgements().is_some() && !(self.durability_is_void && invariant.rests_on_durability())
        })
    }

    /// Whether somebody judges survivors now.
    pub(crate) fn judges_survivors(&self) -> bool {
        self.judges().next().is_some()
    }

    /// The first violation that a crash now would lead to.
    pub(crate) fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judges().try_for_each(|invariant| invariant.survived(survivor))
    }

    /// What is violated by a recovery in which a process ended badly, if anybody knows more of it than that.
    pub(crate) fn unrecovered(&self, failed: &Recovered) -> Result<(), Violation> {
        self.judges().try_for_each(|invariant| invariant.unrecovered(failed))
    }

    /// A fault has fired: what it voids is not judged from now on.
    pub(crate) fn fault_fired(&mut self, kind: FaultKind) {
        self.durability_is_void |= kind.voids_durability();
    }

    /// Shows an event to those who want it. All of them see it, whatever the first says: they keep their own account of the past.
    #[inline]
    pub(crate) fn observe(&mut self, bit: u32, event: &Event<'_>, view: &View<'_>) {
        let [begin, end] = [self.ends[bit as usize], self.ends[bit as usize + 1]];
        for &index in &self.wanting[begin as usize..end as usize] {
            if let Err(violation) = self.invariants[index].observe(event, view) {
                self.found.note(violation, &*self.invariants[index], self.durability_is_void, event);
            }
        }
        if Interest::CLAIMS.has(bit) {
            self.count_acknowledgement(event);
        }
    }

    #[inline(never)]
    fn count_acknowledgement(&mut self, event: &Event<'_>) {
        if let Body::Claim { kind, .. } = event.body
            && let Some(kind) = self.acknowledgements.iter().find(|known| **known == kind)
        {
            self.acknowledged += 1;
            self.last_acknowledged = kind;
        }
    }

    /// The first violation of the last event.
    #[inline]
    pub(crate) fn found(&mut self) -> Option<Violation> {
        if self.found.0.is_some() { self.found.0.take() } else { None }
    }

    /// All violations at the end.
    pub(crate) fn finish(&mut self, view: &View<'_>) -> Vec<Violation> {
        let void = self.durability_is_void;
        self.invariants
            .iter_mut()
            .filter_map(|invariant| invariant.finish(view).err().filter(|_| !(void && invariant.rests_on_durability())))
            .map(|violation| violation.at(view.step(), view.now_ns()))
            .collect()
    }
}

/// The first violation of an event.
#[derive(Default)]
struct Found(Option<Violation>);

impl Found {
    #[cold]
    #[inline(never)]
    fn note(&mut self, violation: Violation, of: &dyn Invariant, durability_is_void: bool, event: &Event<'_>) {
        if self.0.is_none() && !(durability_is_void && of.rests_on_durability()) {
            self.0 = Some(violation.at(event.step, event.time_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fires(&'static str, bool);

    impl Invariant for Fires {
        fn id(&self) -> &'static str {
            self.0
        }

        fn rests_on_durability(&self) -> bool {
            self.1
        }

        fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
            Err(Violation::new(self.0, "fires"))
        }
    }

    #[test]
    fn what_is_void_hides_nothing_else() {
        let mut driver = Driver::new(vec![Box::new(Fires("durable", true)), Box::new(Fires("other", false))]);
        assert!(!driver.durability_is_void);
        driver.fault_fired(FaultKind::IoError);
        assert!(!driver.durability_is_void, "a failed read or write is told to the caller, and loses nothing");
        driver.fault_fired(FaultKind::LyingSync);
        assert!(driver.durability_is_void);
        assert_eq!(driver.invariants.iter().filter(|invariant| invariant.rests_on_durability()).count(), 1);
    }
}
