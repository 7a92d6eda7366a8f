//! A base in memory: for tests, for measurements, and for whoever takes the same records in again. The swarm's own is in the store.

use super::base::{Base, Finding, Kept, KeptContradiction};
use super::belief::{Belief, Rank};
use super::ingest::{Ingested, ingest, lay_down};
use super::label::Label;
use super::record::{Batch, Justification, Supersession};
use crate::memory::Digest;
use crate::mutant::Mutant;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

struct Entry {
    rank: Rank,
    finding: Finding,
    is_forgotten: bool,
    arrival: u64,
}

enum Recorded {
    Justification(Justification),
    Contradiction(KeptContradiction, Label),
    Supersession(Supersession),
}

/// Beliefs, records and labels, in memory.
#[derive(Default)]
pub struct Network {
    beliefs: BTreeMap<Digest, Entry>,
    records: BTreeMap<Digest, Recorded>,
    retracted: BTreeSet<Digest>,
    /// By belief: live records, by the part that it has in them.
    justified_by: BTreeMap<Digest, BTreeSet<Digest>>,
    named_in: BTreeMap<Digest, BTreeSet<Digest>>,
    contradicted_by: BTreeMap<Digest, BTreeSet<Digest>>,
    newer_in: BTreeMap<Digest, BTreeSet<Digest>>,
    older_in: BTreeMap<Digest, BTreeSet<Digest>>,
    mutant: Option<Mutant>,
}

impl Network {
    /// A network that knows nothing but these core memories.
    pub fn new(core: &[Belief], mutant: Option<Mutant>) -> Network {
        let mut network = Network { mutant, ..Network::default() };
        never(lay_down(&mut network, core));
        network
    }

    /// Takes a batch in.
    pub fn ingest(&mut self, batch: &Batch) -> Ingested {
        let mutant = self.mutant;
        never(ingest(self, batch, mutant))
    }

    /// The beliefs with what was found of each.
    pub fn findings(&self) -> impl Iterator<Item = (Digest, Finding)> {
        self.beliefs.iter().map(|(id, entry)| (*id, entry.finding))
    }

    /// The label of a belief; out, if it isn't known.
    pub fn label(&self, id: &Digest) -> Label {
        self.beliefs.get(id).map(|entry| entry.finding.label).unwrap_or_default()
    }

    /// The live contradictions: the name of each, its victim, and whether it is flagged.
    pub fn contradictions(&self) -> impl Iterator<Item = (Digest, Option<Digest>, Label)> {
        let live = self.records.iter().filter(|(id, _)| !self.retracted.contains(id));
        live.filter_map(|(id, recorded)| match recorded {
            Recorded::Contradiction(kept, flag) => Some((*id, kept.victim, *flag)),
            _ => None,
        })
    }

    /// Goes through live records of one kind, by an index.
    fn each<'a, T>(
        &'a self,
        index: &'a BTreeMap<Digest, BTreeSet<Digest>>,
        id: &Digest,
        what: impl Fn(&'a Recorded) -> Option<T>,
    ) -> Vec<T> {
        index.get(id).into_iter().flatten().filter_map(|record| self.records.get(record).and_then(&what)).collect()
    }

    fn index(&mut self, id: &Digest, is_live: bool) {
        let Some(recorded) = self.records.get(id) else { return };
        let change = |index: &mut BTreeMap<Digest, BTreeSet<Digest>>, belief: &Digest| {
            let records = index.entry(*belief).or_default();
            if is_live {
                records.insert(*id);
            } else {
                records.remove(id);
            }
        };
        match recorded {
            Recorded::Justification(of) => {
                change(&mut self.justified_by, &of.consequent);
                of.ins().iter().chain(of.outs()).for_each(|named| change(&mut self.named_in, named));
            }
            Recorded::Contradiction(kept, _) => {
                kept.contradiction.members().iter().for_each(|member| change(&mut self.contradicted_by, member));
            }
            Recorded::Supersession(Supersession { newer, older }) => {
                change(&mut self.newer_in, newer);
                change(&mut self.older_in, older);
            }
        }
    }

    fn record(&mut self, id: &Digest, recorded: Recorded, is_live: bool) {
        self.records.insert(*id, recorded);
        if is_live {
            self.index(id, true);
        }
    }
}

fn never<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

impl Base for Network {
    type Error = Infallible;

    fn belief(&mut self, id: &Digest) -> Result<Option<Kept>, Infallible> {
        Ok(self.beliefs.get(id).map(|entry| Kept {
            rank: entry.rank,
            label: entry.finding.label,
            taken: entry.finding.taken,
            heir: entry.finding.heir,
            is_forgotten: entry.is_forgotten,
            arrival: entry.arrival,
        }))
    }

    fn justifications_of(&mut self, id: &Digest) -> Result<Vec<Justification>, Infallible> {
        Ok(self.each(&self.justified_by, id, |recorded| match recorded {
            Recorded::Justification(justification) => Some(justification.clone()),
            _ => None,
        }))
    }

    fn resting_on(&mut self, id: &Digest) -> Result<Vec<Digest>, Infallible> {
        Ok(self.each(&self.named_in, id, |recorded| match recorded {
            Recorded::Justification(justification) => Some(justification.consequent),
            _ => None,
        }))
    }

    fn successors_of(&mut self, id: &Digest) -> Result<Vec<Digest>, Infallible> {
        Ok(self.each(&self.older_in, id, |recorded| match recorded {
            Recorded::Supersession(supersession) => Some(supersession.newer),
            _ => None,
        }))
    }

    fn superseded_by(&mut self, id: &Digest) -> Result<Vec<Digest>, Infallible> {
        Ok(self.each(&self.newer_in, id, |recorded| match recorded {
            Recorded::Supersession(supersession) => Some(supersession.older),
            _ => None,
        }))
    }

    fn contradictions_with(&mut self, id: &Digest) -> Result<Vec<KeptContradiction>, Infallible> {
        Ok(self.each(&self.contradicted_by, id, |recorded| match recorded {
            Recorded::Contradiction(kept, _) => Some(kept.clone()),
            _ => None,
        }))
    }

    fn has_record(&mut self, id: &Digest) -> Result<bool, Infallible> {
        Ok(self.records.contains_key(id))
    }

    fn is_retracted(&mut self, id: &Digest) -> Result<bool, Infallible> {
        Ok(self.retracted.contains(id))
    }

    fn add_belief(&mut self, id: &Digest, belief: &Belief, finding: &Finding) -> Result<(), Infallible> {
        let (rank, finding, arrival) = (belief.rank(), *finding, self.beliefs.len() as u64);
        self.beliefs.insert(*id, Entry { rank, finding, is_forgotten: false, arrival });
        Ok(())
    }

    fn add_justification(&mut self, id: &Digest, new: &Justification, is_live: bool) -> Result<(), Infallible> {
        self.record(id, Recorded::Justification(new.clone()), is_live);
        Ok(())
    }

    fn add_contradiction(&mut self, new: &KeptContradiction, flag: Label, is_live: bool) -> Result<(), Infallible> {
        self.record(&new.id, Recorded::Contradiction(new.clone(), flag), is_live);
        Ok(())
    }

    fn add_supersession(&mut self, id: &Digest, new: &Supersession, is_live: bool) -> Result<(), Infallible> {
        self.record(id, Recorded::Supersession(new.clone()), is_live);
        Ok(())
    }

    fn retract(&mut self, id: &Digest) -> Result<Option<Digest>, Infallible> {
        self.retracted.insert(*id);
        self.index(id, false);
        Ok(match self.records.get_mut(id) {
            None => None,
            Some(Recorded::Justification(justification)) => Some(justification.consequent),
            Some(Recorded::Supersession(supersession)) => Some(supersession.older),
            Some(Recorded::Contradiction(kept, flag)) => {
                *flag = Label::Out;
                kept.victim
            }
        })
    }

    fn forget(&mut self, id: &Digest) -> Result<(), Infallible> {
        if let Some(entry) = self.beliefs.get_mut(id) {
            entry.is_forgotten = true;
        }
        Ok(())
    }

    fn set_finding(&mut self, id: &Digest, finding: &Finding) -> Result<(), Infallible> {
        if let Some(entry) = self.beliefs.get_mut(id) {
            entry.finding = *finding;
        }
        Ok(())
    }

    fn set_flag(&mut self, id: &Digest, new: Label) -> Result<(), Infallible> {
        if let Some(Recorded::Contradiction(_, flag)) = self.records.get_mut(id) {
            *flag = new;
        }
        Ok(())
    }
}
