//! What must happen sometimes in an avalanche: read off the database as it stands, off what changed since the last look, and off claims. It judges nothing.

use super::accepted::Accepted;
use super::reading::{Judged, Reader, Shared};
use seedstorm_model::claims::{Committed, Effect, OperationBegun, Refused};
use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{Justification, Label, Reason, Refusal, Relabelled};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Ended, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Where a process is.
#[derive(Default)]
struct Place {
    is_ingesting: bool,
    holds_write_lock: bool,
}

/// Notes what an avalanche must reach sometimes.
pub struct AvalancheCoverage {
    reader: Reader,
    places: BTreeMap<ProcessId, Place>,
    last: Option<Shared>,
}

impl AvalancheCoverage {
    /// Shares the reader's readings.
    pub fn new(reader: &Reader) -> AvalancheCoverage {
        AvalancheCoverage { reader: reader.clone(), places: BTreeMap::new(), last: None }
    }

    fn claimed(&mut self, event: &Event<'_>, process: ProcessId, kind: &str, view: &View<'_>) {
        let place = self.places.entry(process).or_default();
        match kind {
            OperationBegun::KIND => {
                place.is_ingesting = event.claim().is_some_and(|begun: OperationBegun| begun.kind == "ingest");
            }
            Committed::KIND | Refused::KIND => place.is_ingesting = false,
            _ => {}
        }
        if kind != Committed::KIND {
            return;
        }
        let Some(Committed { effect: Effect::Ingested { refused, relabelled, .. }, .. }) = event.claim() else {
            return;
        };
        self.refused(&refused, view);
        let shared = self.reader.read(view);
        if let Ok(Some(now)) = &*shared {
            stands(now, &relabelled, view);
            if let Some(last) = &self.last
                && let Ok(Some(before)) = &**last
            {
                changed(before, now, view);
            }
        }
        self.last = Some(shared);
    }

    fn refused(&self, refused: &[Refusal], view: &View<'_>) {
        for refusal in refused {
            match &refusal.reason {
                Reason::Core => view.cover("core_attack_refused"),
                Reason::Cycle(_) => view.cover("supersedes_cycle_refused"),
                _ => {}
            }
        }
    }
}

impl Invariant for AvalancheCoverage {
    fn id(&self) -> &'static str {
        "avalanche-coverage"
    }

    fn only_counts(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Reader::INTEREST.and(Interest::call(CallKind::SharedLock))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process else {
            if let Body::MachineCrashed = event.body {
                // What comes next is no change of a batch's.
                self.last = None;
            }
            return Ok(());
        };
        match &event.body {
            Body::Call { kind: CallKind::SharedLock, arguments, result: Ok(_), .. } => {
                let call = SharedLockCall::of(*arguments);
                if call.first == SharedLockCall::WRITE {
                    self.places.entry(process).or_default().holds_write_lock = call.excludes;
                }
            }
            Body::Claim { kind, .. } => self.claimed(event, process, kind, view),
            Body::Ended(ended) => {
                let place = self.places.remove(&process).unwrap_or_default();
                if **ended == Ended::Killed && place.is_ingesting && place.holds_write_lock {
                    view.cover("batch_killed_midway");
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What can be seen at one moment.
fn stands(now: &Judged, relabelled: &Relabelled, view: &View<'_>) {
    let Judged { reading, expected } = now;
    let label = |id: &Digest| reading.findings.get(id).map(|finding| finding.label).unwrap_or_default();
    // Out by its isolation, and not because something supersedes it.
    let is_kept_out =
        |victim: &Digest| reading.findings.get(victim).is_some_and(|it| it.label == Label::Out && it.heir.is_none());
    let is_isolated =
        reading.contradictions.values().any(|it| it.flag == Label::In && it.victim.as_ref().is_some_and(is_kept_out));
    let undecided = |id: &Digest| expected.findings.get(id).is_some_and(|found| found.label == Label::Undecided);
    let is_odd = relabelled.odd_loops.iter().any(|odd_loop| !odd_loop.is_empty() && odd_loop.iter().all(undecided));
    let mut holding: BTreeMap<&Digest, u32> = BTreeMap::new();
    for edge in reading.accepted.live_supersessions().filter(|edge| label(&edge.newer) == Label::In) {
        *holding.entry(&edge.older).or_default() += 1;
    }
    let is_fork = holding
        .iter()
        .any(|(older, count)| *count > 1 && reading.findings.get(older).is_some_and(|found| found.heir.is_some()));
    for (name, is_so) in [
        ("contradiction_isolated", is_isolated),
        ("odd_loop_reported", is_odd),
        ("fork_resolved", is_fork),
        ("positive_loop_dropped", would_hold_themselves_up(&reading.accepted, &label)),
    ] {
        if is_so {
            view.cover(name);
        }
    }
}

fn is_satisfied(justification: &Justification, label: &impl Fn(&Digest) -> Label) -> bool {
    justification.ins().iter().all(|belief| label(belief) == Label::In)
        && justification.outs().iter().all(|belief| label(belief) == Label::Out)
}

/// Whether there are beliefs that are out and unsuperseded, and would all be in if they were: each has a reason that asks for nothing but them and what is in.
fn would_hold_themselves_up(accepted: &Accepted, label: &impl Fn(&Digest) -> Label) -> bool {
    let superseded: BTreeSet<&Digest> = accepted.live_supersessions().map(|edge| &edge.older).collect();
    let yielding: BTreeSet<Digest> =
        accepted.live_contradictions().filter_map(|(_, contradiction)| accepted.yields(contradiction)).collect();
    let is_free = |id: &&Digest| label(id) == Label::Out && !superseded.contains(id) && !yielding.contains(*id);
    let mut candidates: BTreeSet<Digest> = accepted.beliefs.keys().filter(is_free).copied().collect();
    loop {
        let holds = |justification: &&Justification| {
            let ins = justification.ins().iter();
            ins.clone().all(|belief| label(belief) == Label::In || candidates.contains(belief))
                && ins.clone().any(|belief| candidates.contains(belief))
                && justification.outs().iter().all(|belief| label(belief) == Label::Out && !candidates.contains(belief))
        };
        let held: BTreeSet<Digest> = accepted
            .live_justifications()
            .filter(holds)
            .map(|justification| justification.consequent)
            .filter(|consequent| candidates.contains(consequent))
            .collect();
        if held.len() == candidates.len() {
            return !held.is_empty();
        }
        candidates = held;
    }
}

/// What can be seen between two moments.
fn changed(before: &Judged, now: &Judged, view: &View<'_>) {
    let (earlier, later) = (&before.reading, &now.reading);
    let was = |id: &Digest| earlier.findings.get(id).map(|finding| finding.label).unwrap_or_default();
    let is = |id: &Digest| later.findings.get(id).map(|finding| finding.label).unwrap_or_default();
    let falls = |id: &Digest| was(id) == Label::In && is(id) != Label::In;
    for id in later.accepted.retracted.difference(&earlier.accepted.retracted) {
        let Some(retracted) = earlier.accepted.justifications.get(id) else { continue };
        let consequent = &retracted.consequent;
        if !is_satisfied(retracted, &was) || was(consequent) != Label::In {
            continue;
        }
        if is(consequent) == Label::In {
            let held = |other: &Justification| {
                other.consequent == *consequent && is_satisfied(other, &is) && is_satisfied(other, &was)
            };
            if later.accepted.live_justifications().any(held) {
                view.cover("other_support_kept");
            }
        } else {
            let rested = |other: &Justification| {
                other.ins().contains(consequent) && other.consequent != *consequent && falls(&other.consequent)
            };
            if earlier.accepted.live_justifications().any(rested) {
                view.cover("retraction_cascaded");
            }
        }
    }
}
