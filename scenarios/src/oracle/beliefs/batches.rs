//! `batches-kept`: what was acknowledged is recorded, but for what was said to be refused; nothing is recorded that nobody asked for; and what is recorded
//! stays. `relabel-bounded`: labelling anew keeps within its bound.

use super::accepted::Accepted;
use super::reading::{Judged, Planned, Reader, Shared};
use seedstorm_model::claims::{Committed, Effect, OperationBegun};
use seedstorm_model::memory::Digest;
use seedstorm_model::tms::well_founded::work_max;
use seedstorm_model::tms::{Batch, Reason, Record, Refusal, Standing, Supersession};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest};

/// No acknowledged batch is lost, none invented.
pub struct BatchesKept {
    reader: Reader,
    acknowledged: Accepted,
    /// All that may be there.
    begun: Accepted,
    /// What was there after the last crash, acknowledged or not.
    settled: Accepted,
}

impl BatchesKept {
    /// Shares the reader's readings.
    pub fn new(reader: &Reader) -> BatchesKept {
        let core: Vec<_> = reader.plan.core.values().cloned().collect();
        BatchesKept {
            reader: reader.clone(),
            acknowledged: Accepted::default(),
            begun: Accepted::of_core(&core),
            settled: Accepted::default(),
        }
    }

    fn violation(&self, message: String, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object("batch").role("agent").loss(loss)
    }

    fn compare(&self, shared: &Shared, settled: &Accepted) -> Result<(), Violation> {
        let nothing = Judged::default();
        let found = match &**shared {
            Ok(Some(judged)) => judged,
            Ok(None) => &nothing,
            // Whether it can be read at all is `database-sound`'s to say.
            Err(_) => return Ok(()),
        };
        let accepted = &found.reading.accepted;
        if let Some(what) = accepted.lacks(&self.acknowledged) {
            return Err(self.violation(format!("{what} was acknowledged, and is lost"), "lost"));
        }
        if let Some(what) = accepted.lacks(settled) {
            return Err(self.violation(format!("{what} had survived a crash, and is lost"), "lost"));
        }
        if let Some(what) = self.begun.lacks(accepted) {
            return Err(self.violation(format!("{what} is there, and nobody asked for it"), "invented"));
        }
        match found.reading.strange.first() {
            None => Ok(()),
            Some(strange) => Err(self.violation(strange.clone(), "changed")),
        }
    }

    /// A refusal is true: a core memory was at stake, or the path goes along supersessions that were recorded.
    fn judge_refusals(&self, batch: &Batch, refused: &[Refusal], shared: &Shared) -> Result<(), Violation> {
        let Ok(Some(judged)) = &**shared else { return Ok(()) };
        let recorded = &judged.reading.accepted.supersessions;
        let plan = &self.reader.plan;
        let is_core = |id: &Digest| plan.beliefs.get(id).is_some_and(|belief| belief.standing == Standing::Core);
        let edges = |id: &Digest| {
            batch.records.iter().filter(|record| record.id() == *id).map(Record::beliefs).collect::<Vec<_>>()
        };
        let is_edge_to_core =
            |id: &Digest| edges(id).iter().any(|edge| edge.len() == 2 && plan.core.contains_key(&edge[1]));
        let is_pretender = |id: &Digest| is_core(id) && !plan.core.contains_key(id);
        let is_pretender_named = |id: &Digest| edges(id).iter().flatten().any(is_pretender);
        for Refusal { id, reason } in refused {
            let is_true = match reason {
                Reason::Cycle(path) => {
                    let is_recorded =
                        |pair: &[Digest]| recorded.contains_key(&Supersession { newer: pair[0], older: pair[1] }.id());
                    path.len() > 1
                        && path.first() == path.last()
                        && Supersession { newer: path[0], older: path[1] }.id() == *id
                        && path[1..].windows(2).all(is_recorded)
                }
                Reason::Core => is_core(id) || is_edge_to_core(id),
                Reason::UnknownBelief => is_pretender_named(id),
                Reason::Empty => false,
            };
            if !is_true {
                return Err(self.violation(format!("{id} was refused for no reason: {reason:?}"), "refused"));
            }
        }
        Ok(())
    }
}

fn planned(plan: &Planned, number: u64) -> Option<&Batch> {
    plan.batches.get(&number)
}

impl Invariant for BatchesKept {
    fn id(&self) -> &'static str {
        "batches-kept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Reader::INTEREST
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::Claim { kind: OperationBegun::KIND, .. } = event.body
            && let Some(OperationBegun { key, .. }) = event.claim()
            && let Some(batch) = planned(&self.reader.plan, key.number)
        {
            self.begun.take(batch, &[]);
            return Ok(());
        }
        if let Body::Claim { kind: Committed::KIND, .. } = event.body
            && let Some(Committed { key, effect: Effect::Ingested { refused, .. }, .. }) = event.claim()
            && let Some(batch) = planned(&self.reader.plan, key.number)
        {
            self.acknowledged.take(batch, &refused);
            self.judge_refusals(batch, &refused, &self.reader.read(view))?;
        }
        let Some(shared) = self.reader.at(event, view) else { return Ok(()) };
        if let Body::MachineCrashed = event.body {
            // What was never acknowledged may be there or not; this settles it. Nothing else does: a copy of the disk shows a commit that its process
            // hasn't come to the end of, and may yet fail in.
            self.compare(&shared, &Accepted::default())?;
            if let Ok(Some(judged)) = &*shared {
                self.settled = judged.reading.accepted.clone();
            }
            return Ok(());
        }
        self.compare(&shared, &self.settled)
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.compare(&self.reader.read(view), &self.settled)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let shared: Shared = survivor.reading(|disk| Judged::of(disk, &self.reader.plan));
        self.compare(&shared, &Accepted::default())
    }
}

/// A batch is labelled at a cost that is bounded by what there is: see [`seedstorm_model::tms::well_founded`].
pub struct RelabelBounded {
    reader: Reader,
}

impl RelabelBounded {
    /// Shares the reader's readings.
    pub fn new(reader: &Reader) -> RelabelBounded {
        RelabelBounded { reader: reader.clone() }
    }
}

impl Invariant for RelabelBounded {
    fn id(&self) -> &'static str {
        "relabel-bounded"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Reader::INTEREST
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Body::Claim { kind: Committed::KIND, .. } = event.body else { return Ok(()) };
        let Some(Committed { effect: Effect::Ingested { relabelled, .. }, .. }) = event.claim() else { return Ok(()) };
        let Ok(Some(judged)) = &*self.reader.read(view) else { return Ok(()) };
        // Records and beliefs never become fewer: what there is now bounds what there was.
        let accepted = &judged.reading.accepted;
        let (atoms, size) = accepted.program_size();
        let (work, touched) = (relabelled.work, relabelled.touched);
        if work <= work_max(atoms, size) && touched <= accepted.beliefs.len() as u64 {
            return Ok(());
        }
        let message = format!("labelling {touched} beliefs took {work}, with {atoms} atoms and a size of {size}");
        Err(Violation::new(self.id(), message).object("batch").role("agent").loss("unbounded"))
    }
}
