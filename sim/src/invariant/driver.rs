//! Asks each invariant about the events that it wants, and drops violations that a fired fault voids.

use super::{Invariant, Violation};
use crate::kernel::View;
use crate::plan::FaultKind;
use crate::trace::{Event, Interest};

/// The invariants of a run.
pub(crate) struct Driver {
    invariants: Vec<(Interest, Box<dyn Invariant>)>,
    voided: Vec<&'static str>,
}

impl Driver {
    pub(crate) fn new(invariants: Vec<Box<dyn Invariant>>) -> Driver {
        let invariants = invariants.into_iter().map(|invariant| (invariant.interest(), invariant)).collect();
        Driver { invariants, voided: Vec::new() }
    }

    /// What at least one of them wants.
    pub(crate) fn interest(&self) -> Interest {
        self.invariants.iter().fold(Interest::NONE, |all, (interest, _)| all.and(*interest))
    }

    /// A fault has fired: what it voids is not judged from now on.
    pub(crate) fn fault_fired(&mut self, kind: FaultKind) {
        self.voided.extend(kind.voids());
    }

    fn is_void(&self, violation: &Violation) -> bool {
        self.voided.contains(&violation.invariant.as_str())
    }

    /// The first violation of an event. All see the event all the same: they keep their own account of the past.
    pub(crate) fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let kind = Interest::of(&event.body);
        let mut first = Ok(());
        for (interest, invariant) in &mut self.invariants {
            if interest.meets(kind)
                && let Err(violation) = invariant.observe(event, view)
                && first.is_ok()
            {
                first = Err(violation.at(event.step, event.time_ns));
            }
        }
        first.or_else(|violation| if self.is_void(&violation) { Ok(()) } else { Err(violation) })
    }

    /// All violations at the end.
    pub(crate) fn finish(&mut self, view: &View<'_>) -> Vec<Violation> {
        let ends: Vec<Violation> = self
            .invariants
            .iter_mut()
            .filter_map(|(_, invariant)| invariant.finish(view).err())
            .map(|violation| violation.at(view.step(), view.now_ns()))
            .collect();
        ends.into_iter().filter(|violation| !self.is_void(violation)).collect()
    }
}
