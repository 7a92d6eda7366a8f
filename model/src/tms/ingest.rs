//! Taking a batch in: what is accepted, what is refused and why, and the labels afterwards. Does no I/O of its own: it works on a [`Base`].

use super::base::{Base, Finding, KeptContradiction};
use super::belief::Standing;
use super::label::Label;
use super::record::{Batch, Contradiction, Justification, Record, Supersession, victim};
use super::relabel::{Changed, Relabelled, relabel};
use super::supersession::Supersedes;
use crate::memory::Digest;
use crate::mutant::{Mutant, is};
use serde::{Deserialize, Serialize};

/// Why a belief or a record was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// It would change, supersede or forget a core memory, or make a new one.
    Core,
    /// It would close a cycle of supersessions: the path, from a belief on and back to it.
    Cycle(Vec<Digest>),
    /// It names a belief that isn't known and isn't in the batch.
    UnknownBelief,
    /// A contradiction between nobody.
    Empty,
}

/// What was refused of a batch. The rest is accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refusal {
    /// The name of the belief or record; of a forgetting the belief that stays.
    pub id: Digest,
    /// Why.
    pub reason: Reason,
}

/// What came of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// What was refused.
    pub refused: Vec<Refusal>,
    /// What labelling anew came to.
    pub relabelled: Relabelled,
}

/// Takes a batch in. Beliefs and records that are known already stay as they are.
///
/// # Errors
/// The base's own.
pub fn ingest<B: Base>(base: &mut B, batch: &Batch, mutant: Option<Mutant>) -> Result<Ingested, B::Error> {
    let mut intake =
        Intake { base, mutant, changed: Changed::default(), supersedes: Supersedes::default(), refused: Vec::new() };
    for belief in &batch.beliefs {
        let id = belief.id();
        if intake.base.belief(&id)?.is_none() {
            if belief.standing == Standing::Core {
                intake.refuse(id, Reason::Core);
                continue;
            }
            intake.base.add_belief(&id, belief, &Finding::default())?;
        }
    }
    for record in &batch.records {
        intake.take(record)?;
        if is(mutant, Mutant::BatchEndsAtRefusal) && !intake.refused.is_empty() {
            break;
        }
    }
    let Intake { base, mut changed, refused, .. } = intake;
    changed.beliefs.extend(changed.by_retraction.iter().copied());
    let relabelled = relabel(base, &changed, mutant)?;
    Ok(Ingested { refused, relabelled })
}

/// Lays down core memories. They hold by themselves, from now on.
///
/// # Errors
/// The base's own.
pub fn lay_down<B: Base>(base: &mut B, core: &[super::belief::Belief]) -> Result<(), B::Error> {
    for belief in core.iter().filter(|belief| belief.standing == Standing::Core) {
        let id = belief.id();
        if base.belief(&id)?.is_none() {
            base.add_belief(
                &id,
                belief,
                &Finding { label: Label::In, support: Label::In, taken: Label::In, heir: None },
            )?;
        }
    }
    Ok(())
}

struct Intake<'a, B> {
    base: &'a mut B,
    mutant: Option<Mutant>,
    changed: Changed,
    supersedes: Supersedes,
    refused: Vec<Refusal>,
}

impl<B: Base> Intake<'_, B> {
    fn refuse(&mut self, id: Digest, reason: Reason) {
        self.refused.push(Refusal { id, reason });
    }

    /// Whether the store itself guards core memories.
    fn guards_core(&self) -> bool {
        !is(self.mutant, Mutant::CoreGuardOnlyInCaller)
    }

    fn is_core(&mut self, id: &Digest) -> Result<bool, B::Error> {
        Ok(self.base.belief(id)?.is_some_and(|kept| kept.rank.is_core()))
    }

    fn take(&mut self, record: &Record) -> Result<(), B::Error> {
        let id = record.id();
        let is_refused = self.refused.iter().any(|refusal| refusal.id == id);
        if is_refused && !matches!(record, Record::Retract(_)) {
            // Said twice: the answer is the same.
            return Ok(());
        }
        for belief in record.beliefs() {
            if self.base.belief(&belief)?.is_none() {
                self.refuse(id, Reason::UnknownBelief);
                return Ok(());
            }
        }
        match record {
            Record::Justify(justification) => self.justify(id, justification),
            Record::Contradict(contradiction) => self.contradict(id, contradiction),
            Record::Supersede(supersession) => self.supersede(id, supersession),
            Record::Retract(_) => {
                if !self.base.is_retracted(&id)?
                    && let Some(redefined) = self.base.retract(&id)?
                {
                    self.changed.by_retraction.insert(redefined);
                    // It may have been a supersession that this batch has met.
                    self.supersedes = Supersedes::default();
                }
                Ok(())
            }
            Record::Forget(belief) => self.forget(belief),
        }
    }

    fn justify(&mut self, id: Digest, new: &Justification) -> Result<(), B::Error> {
        if self.base.has_record(&id)? {
            return Ok(());
        }
        let is_live = !self.base.is_retracted(&id)?;
        self.base.add_justification(&id, new, is_live)?;
        if is_live {
            self.changed.beliefs.insert(new.consequent);
        }
        Ok(())
    }

    fn contradict(&mut self, id: Digest, new: &Contradiction) -> Result<(), B::Error> {
        if new.members().is_empty() {
            self.refuse(id, Reason::Empty);
            return Ok(());
        }
        if self.base.has_record(&id)? {
            return Ok(());
        }
        let mut members = Vec::with_capacity(new.members().len());
        for member in new.members() {
            members.extend(self.base.belief(member)?);
        }
        let ranks = members.iter().map(|kept| kept.rank);
        let victim = if is(self.mutant, Mutant::ContradictionByArrival) {
            let ordinary = members.iter().filter(|kept| !kept.rank.is_core());
            ordinary.max_by_key(|kept| (kept.arrival, kept.rank.id)).map(|kept| kept.rank.belief())
        } else if self.guards_core() {
            victim(ranks)
        } else {
            ranks.min().map(|weakest| weakest.belief())
        };
        let is_live = !self.base.is_retracted(&id)?;
        // Between core memories it stands: nobody yields, and all of them hold.
        let flag = if victim.is_none() && is_live { Label::In } else { Label::Out };
        let kept = KeptContradiction { id, contradiction: new.clone(), victim };
        self.base.add_contradiction(&kept, flag, is_live)?;
        if let Some(victim) = victim
            && is_live
        {
            self.changed.beliefs.insert(victim);
        }
        Ok(())
    }

    fn supersede(&mut self, id: Digest, new: &Supersession) -> Result<(), B::Error> {
        if self.base.has_record(&id)? {
            return Ok(());
        }
        if self.guards_core() && self.is_core(&new.older)? {
            self.refuse(id, Reason::Core);
            return Ok(());
        }
        let is_live = !self.base.is_retracted(&id)?;
        if is_live
            && !is(self.mutant, Mutant::SupersedesCycleAccepted)
            && let Some(path) = self.supersedes.add(self.base, new)?
        {
            self.refuse(id, Reason::Cycle(path));
            return Ok(());
        }
        self.base.add_supersession(&id, new, is_live)?;
        if is_live {
            self.changed.beliefs.insert(new.older);
        }
        Ok(())
    }

    fn forget(&mut self, belief: &Digest) -> Result<(), B::Error> {
        // With the planted bug this one request is guarded, and nothing else.
        if self.is_core(belief)? {
            self.refuse(*belief, Reason::Core);
            return Ok(());
        }
        if self.base.belief(belief)?.is_some_and(|kept| !kept.is_forgotten) {
            self.base.forget(belief)?;
            self.changed.by_retraction.insert(*belief);
        }
        Ok(())
    }
}
