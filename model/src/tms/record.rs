//! What is recorded of beliefs: justifications, contradictions, supersessions, and their retractions. Each is named by its content, so that whoever
//! records it again, in whatever order, records nothing new.

use super::belief::{Belief, Rank};
use super::digest::digest_of;
use crate::memory::Digest;
use serde::{Deserialize, Serialize};

/// A reason for a belief: it holds if all of `ins` hold and none of `outs` does. With two empty lists it is a premise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Justification {
    /// The belief that it is a reason for.
    pub consequent: Digest,
    /// Beliefs that must be in; sorted, each once.
    ins: Vec<Digest>,
    /// Beliefs that must be out; sorted, each once.
    outs: Vec<Digest>,
    /// Whose word it is. The same reason from two sources is two supports: one may be retracted, and the other stays.
    pub source: String,
}

impl Justification {
    /// A justification; the order of the lists doesn't matter.
    pub fn new(consequent: Digest, ins: Vec<Digest>, outs: Vec<Digest>, source: impl Into<String>) -> Justification {
        Justification { consequent, ins: sorted(ins), outs: sorted(outs), source: source.into() }
    }

    /// A premise: the belief holds because the source says so.
    pub fn premise(belief: Digest, source: impl Into<String>) -> Justification {
        Justification::new(belief, Vec::new(), Vec::new(), source)
    }

    /// Beliefs that must be in.
    pub fn ins(&self) -> &[Digest] {
        &self.ins
    }

    /// Beliefs that must be out.
    pub fn outs(&self) -> &[Digest] {
        &self.outs
    }

    /// Its name.
    pub fn id(&self) -> Digest {
        let counts = [self.ins.len() as u64, self.outs.len() as u64].map(u64::to_le_bytes);
        let beliefs = self.ins.iter().chain(&self.outs).map(|belief| &belief.0[..]);
        let head = [&self.consequent.0[..], self.source.as_bytes(), &counts[0][..], &counts[1][..]];
        digest_of("seedstorm 2026 justification", head.into_iter().chain(beliefs))
    }
}

/// A nogood: its members can't all hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contradiction {
    members: Vec<Digest>,
}

impl Contradiction {
    /// A contradiction between these.
    pub fn between(members: Vec<Digest>) -> Contradiction {
        Contradiction { members: sorted(members) }
    }

    /// Its members, sorted, each once.
    pub fn members(&self) -> &[Digest] {
        &self.members
    }

    /// Its name.
    pub fn id(&self) -> Digest {
        digest_of("seedstorm 2026 contradiction", self.members.iter().map(|member| &member.0[..]))
    }
}

/// The one that is isolated when all members of a contradiction would hold: the weakest by rank. `None` when all are core memories: none of them yields.
pub fn victim(members: impl IntoIterator<Item = Rank>) -> Option<Digest> {
    members.into_iter().min().filter(|weakest| !weakest.is_core()).map(|weakest| weakest.belief())
}

/// A belief replaces another: while the newer one holds, the older one doesn't.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Supersession {
    /// The one that replaces.
    pub newer: Digest,
    /// The one that is replaced.
    pub older: Digest,
}

impl Supersession {
    /// Its name.
    pub fn id(&self) -> Digest {
        digest_of("seedstorm 2026 supersession", [&self.newer.0[..], &self.older.0[..]])
    }
}

/// One thing to record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Record {
    /// A reason for a belief.
    Justify(Justification),
    /// Beliefs that can't all hold.
    Contradict(Contradiction),
    /// A belief in place of another.
    Supersede(Supersession),
    /// The justification, contradiction or supersession of this name doesn't count, from now on and for ever, whether it has been recorded or not: so the
    /// order of a record and its retraction doesn't matter.
    Retract(Digest),
    /// The belief is consolidated away: no justification counts for it, for ever. Its row stays, as a tombstone, and what it said stays sealed.
    /// Consolidating is to assert a summary and to forget what it sums up.
    Forget(Digest),
}

impl Record {
    /// What it is named by: its own digest; for a retraction or a forgetting what it is about.
    pub fn id(&self) -> Digest {
        match self {
            Record::Justify(justification) => justification.id(),
            Record::Contradict(contradiction) => contradiction.id(),
            Record::Supersede(supersession) => supersession.id(),
            Record::Retract(id) | Record::Forget(id) => *id,
        }
    }

    /// The beliefs that it names.
    pub fn beliefs(&self) -> Vec<Digest> {
        match self {
            Record::Justify(Justification { consequent, ins, outs, .. }) => {
                [*consequent].iter().chain(ins).chain(outs).copied().collect()
            }
            Record::Contradict(contradiction) => contradiction.members.clone(),
            Record::Supersede(Supersession { newer, older }) => vec![*newer, *older],
            Record::Retract(_) => Vec::new(),
            Record::Forget(belief) => vec![*belief],
        }
    }
}

/// What is recorded at once: all in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Every belief that a record of the batch names, unless it is known already.
    pub beliefs: Vec<Belief>,
    /// The records, in any order: what comes of them doesn't depend on it, but for which supersession of a cycle is refused.
    pub records: Vec<Record>,
}

fn sorted(mut beliefs: Vec<Digest>) -> Vec<Digest> {
    beliefs.sort_unstable();
    beliefs.dedup();
    beliefs
}
