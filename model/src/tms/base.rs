//! What the engine needs of whoever keeps beliefs and records: small reads by index, and writes. `network` keeps them in memory, the store in SQLite.

use super::belief::{Belief, Rank};
use super::label::Label;
use super::record::{Contradiction, Justification, Supersession};
use crate::memory::Digest;

/// A belief as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its rank.
    pub rank: Rank,
    /// Whether it holds.
    pub label: Label,
    /// Whether its place is taken, as [`Finding::taken`].
    pub taken: Label,
    /// What stands in its place, as [`Finding::heir`].
    pub heir: Option<Digest>,
    /// Whether it was consolidated away.
    pub is_forgotten: bool,
    /// Its place in the order of arrival. Nothing may depend on it.
    pub arrival: u64,
}

/// A contradiction as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptContradiction {
    /// Its name.
    pub id: Digest,
    /// Which.
    pub contradiction: Contradiction,
    /// The member that is isolated; `None` if all are core memories.
    pub victim: Option<Digest>,
}

/// What relabelling has found of a belief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Whether it holds.
    pub label: Label,
    /// Whether a justification of it holds, isolated, superseded or not.
    pub support: Label,
    /// Whether its place is taken: by itself, or by what supersedes it, directly or through others.
    pub taken: Label,
    /// What stands in its place: of those that supersede it, directly or through others, and hold, the one of the greatest rank.
    pub heir: Option<Digest>,
}

/// A keeper of beliefs and records. *Live* is what isn't retracted.
pub trait Base {
    /// What can go wrong in keeping.
    type Error;

    /// A belief.
    fn belief(&mut self, id: &Digest) -> Result<Option<Kept>, Self::Error>;
    /// The live justifications of a belief.
    fn justifications_of(&mut self, id: &Digest) -> Result<Vec<Justification>, Self::Error>;
    /// The beliefs that have a live justification which names this one.
    fn resting_on(&mut self, id: &Digest) -> Result<Vec<Digest>, Self::Error>;
    /// The beliefs that supersede this one, live.
    fn successors_of(&mut self, id: &Digest) -> Result<Vec<Digest>, Self::Error>;
    /// The beliefs that this one supersedes, live.
    fn superseded_by(&mut self, id: &Digest) -> Result<Vec<Digest>, Self::Error>;
    /// The live contradictions that have this belief as a member.
    fn contradictions_with(&mut self, id: &Digest) -> Result<Vec<KeptContradiction>, Self::Error>;
    /// Whether a justification, contradiction or supersession of this name has been recorded.
    fn has_record(&mut self, id: &Digest) -> Result<bool, Self::Error>;
    /// Whether this name has been retracted.
    fn is_retracted(&mut self, id: &Digest) -> Result<bool, Self::Error>;

    /// Keeps a belief that wasn't known.
    fn add_belief(&mut self, id: &Digest, belief: &Belief, finding: &Finding) -> Result<(), Self::Error>;
    /// Keeps a justification that wasn't recorded.
    fn add_justification(&mut self, id: &Digest, new: &Justification, is_live: bool) -> Result<(), Self::Error>;
    /// Keeps a contradiction that wasn't recorded, and whether it is flagged.
    fn add_contradiction(&mut self, new: &KeptContradiction, flag: Label, is_live: bool) -> Result<(), Self::Error>;
    /// Keeps a supersession that wasn't recorded.
    fn add_supersession(&mut self, id: &Digest, new: &Supersession, is_live: bool) -> Result<(), Self::Error>;
    /// Notes a retraction, and gives the belief whose definition it changes, if one's does: the consequent, the victim, the one that was superseded. A
    /// contradiction that is retracted isn't flagged.
    fn retract(&mut self, id: &Digest) -> Result<Option<Digest>, Self::Error>;
    /// Marks a belief as consolidated away.
    fn forget(&mut self, id: &Digest) -> Result<(), Self::Error>;
    /// Keeps what was found of a belief.
    fn set_finding(&mut self, id: &Digest, finding: &Finding) -> Result<(), Self::Error>;
    /// Flags a contradiction: in if all members but the victim hold, and the victim has support, superseded or not.
    fn set_flag(&mut self, id: &Digest, flag: Label) -> Result<(), Self::Error>;
}
