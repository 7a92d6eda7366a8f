//! `seal-true`: the root after each transition is that of the memories that are sealed by then, as it is claimed and as it is stored.

use super::audit::Audit;
use super::database::Auditor;
use super::memory_set::MemorySet;
use seedstorm_model::claims::{Committed, MemoriesVerified};
use seedstorm_model::memory::{Digest, Transition};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest};
use std::collections::BTreeMap;

/// The account of all transitions: of their memories, and of the roots that these make. It goes by the transitions' numbers, since claims come in any
/// order, and some never.
#[derive(Clone, Debug, Default)]
pub struct SealAccount {
    /// The memories of all transitions up to the last that is checked.
    set: MemorySet,
    /// The roots after these: the first is after transition 1.
    roots: Vec<Digest>,
    /// Claimed, and one before it isn't known yet.
    early: BTreeMap<u64, (Vec<Digest>, Transition)>,
}

impl SealAccount {
    /// Takes a claim: that a transition sealed these memories, among them some that were sealed already.
    ///
    /// # Errors
    /// What is wrong with the root.
    pub fn claim(&mut self, memories: &[Digest], made: Transition) -> Result<(), String> {
        if made.number <= self.roots.len() as u64 {
            return self.compare(made);
        }
        let other = self.early.insert(made.number, (memories.to_vec(), made));
        if let Some((_, other)) = other.filter(|(_, other)| *other != made) {
            return Err(format!(
                "transition {} was claimed with root {} and with root {}",
                made.number, other.root, made.root
            ));
        }
        while let Some((memories, made)) = self.early.remove(&(self.roots.len() as u64 + 1)) {
            self.check(&memories, made)?;
        }
        Ok(())
    }

    /// Compares what is said of a transition with what is known of it, if anything is.
    ///
    /// # Errors
    /// What is wrong with the root.
    pub fn compare(&self, said: Transition) -> Result<(), String> {
        let index = (said.number as usize).checked_sub(1);
        match index.and_then(|index| self.roots.get(index)) {
            Some(root) if *root != said.root => {
                Err(format!("the root after transition {} is said to be {}, and is {root}", said.number, said.root))
            }
            _ => Ok(()),
        }
    }

    /// The next transition.
    fn check(&mut self, memories: &[Digest], made: Transition) -> Result<(), String> {
        for memory in memories {
            self.set.insert(*memory);
        }
        let (root, count) = (self.set.root(), self.set.len());
        self.roots.push(root);
        if (made.root, made.memories) != (root, count) {
            let Transition { number, root: said, memories } = made;
            return Err(format!(
                "transition {number} has root {said} over {memories} memories, and should have {root} over {count}"
            ));
        }
        Ok(())
    }

    /// Takes what is stored: all transitions, those that nobody has claimed too.
    ///
    /// # Errors
    /// What is wrong with a root.
    pub fn read(&mut self, audit: &Audit) -> Result<(), String> {
        let mut sealed: BTreeMap<u64, Vec<Digest>> = BTreeMap::new();
        for (memory, transition) in &audit.sealed {
            sealed.entry(*transition).or_default().push(*memory);
        }
        for (stored, number) in audit.transitions.iter().zip(1..) {
            if stored.number != number {
                return Err(format!("transition {} is stored where {number} should be", stored.number));
            }
            self.claim(sealed.get(&number).map_or(&[], Vec::as_slice), *stored)?;
        }
        let (claimed, stored) = (self.roots.len().max(self.last_early()), audit.transitions.len());
        if claimed > stored {
            return Err(format!("transition {claimed} was acknowledged, and the last that is stored is {stored}"));
        }
        Ok(())
    }

    fn last_early(&self) -> usize {
        self.early.last_key_value().map_or(0, |(number, _)| *number as usize)
    }
}

/// The root is true after each transition. What a crash has left of transitions that nobody acknowledged counts from then on.
pub struct SealTrue {
    auditor: Auditor,
    account: SealAccount,
}

impl SealTrue {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> SealTrue {
        SealTrue { auditor, account: SealAccount::default() }
    }

    /// As [`SealTrue::new`], where the first transition seals these before anybody works, and claims nothing.
    pub fn after(auditor: Auditor, laid_down: impl IntoIterator<Item = Digest>) -> SealTrue {
        let mut account = SealAccount::default();
        for memory in laid_down {
            account.set.insert(memory);
        }
        account.roots.push(account.set.root());
        SealTrue { auditor, account }
    }

    fn judge(&self, judged: Result<(), String>) -> Result<(), Violation> {
        judged.map_err(|message| Violation::new(self.id(), message).object("merkle-root").role("agent").loss("untrue"))
    }

    /// Judges what is stored, and settles nothing.
    fn compare(&self, reading: Option<&Result<Option<Audit>, String>>) -> Result<(), Violation> {
        match reading {
            Some(Ok(Some(audit))) => self.judge(self.account.clone().read(audit)),
            _ => Ok(()),
        }
    }

    fn settle(&mut self, view: &View<'_>) -> Result<(), Violation> {
        // Whether the database is there and can be read is for others to say.
        let reading = self.auditor.read(view);
        let Ok(Some(audit)) = &*reading else { return Ok(()) };
        let judged = self.account.read(audit);
        self.judge(judged)
    }
}

impl Invariant for SealTrue {
    fn id(&self) -> &'static str {
        "seal-true"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::MachineCrashed => self.settle(view),
            Body::Claim { kind: Committed::KIND, .. } => {
                let Some(committed) = view.claim::<Committed>(event) else { return Ok(()) };
                let Some((memories, transition)) = committed.effect.sealed() else { return Ok(()) };
                let judged = self.account.claim(memories, transition);
                self.judge(judged)
            }
            Body::Claim { kind: MemoriesVerified::KIND, .. } => match view.claim(event).as_deref() {
                Some(MemoriesVerified { transition, damaged, .. }) => {
                    // A later crash may take it back, if nobody has acknowledged it: what isn't known yet is judged when it is.
                    self.judge(transition.map_or(Ok(()), |transition| self.account.compare(transition)))?;
                    // Whoever finds something wrong gives a reason to look what is stored now.
                    let reading = (!damaged.is_empty()).then(|| self.auditor.read(view));
                    self.compare(reading.as_deref())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.settle(view)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.compare(Some(&*survivor.reading(Audit::of)))
    }
}
