//! `damage-named`: a verification names each memory whose file is damaged, and nothing that is whole.

use super::database::Auditor;
use super::memories::{is_whole, memory_at};
use super::seal_true::SealAccount;
use seedstorm_model::claims::{Committed, MemoriesVerified};
use seedstorm_model::memory::{Damaged, Digest};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use std::collections::BTreeSet;

/// What a crash has damaged of sealed memories is named by whoever verifies them, and nothing else is. Not even a lying fsync is an excuse.
pub struct DamageNamed {
    auditor: Auditor,
    acknowledged: BTreeSet<Digest>,
    /// Sealed when the machine last came down, and without a whole file since then.
    damaged: BTreeSet<Digest>,
    /// As `damaged`, and healed since: a verification may have met it before.
    healed: BTreeSet<Digest>,
    /// What the last crash has left of the database isn't what was acknowledged: nobody can say which memories it still knows.
    is_database_unsure: bool,
}

impl DamageNamed {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> DamageNamed {
        let (acknowledged, damaged, healed) = Default::default();
        DamageNamed { auditor, acknowledged, damaged, healed, is_database_unsure: false }
    }

    fn violation(&self, message: String, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object("memory").role("agent").loss(loss)
    }

    fn crashed(&mut self, view: &View<'_>) {
        let reading = self.auditor.read(view);
        self.healed.clear();
        match &*reading {
            Ok(Some(audit)) if audit.problems.is_empty() => {
                let sealed = audit.sealed.keys().copied();
                self.damaged = sealed.filter(|memory| !is_whole(memory, view.disk())).collect();
                let is_lost = |memory: &Digest| !audit.sealed.contains_key(memory);
                self.is_database_unsure |= self.acknowledged.iter().any(is_lost);
            }
            _ => self.is_database_unsure = true,
        }
    }

    fn verified(&self, verified: &MemoriesVerified, view: &View<'_>) -> Result<(), Violation> {
        if self.is_database_unsure {
            return Ok(());
        }
        let named: BTreeSet<Digest> = verified.damaged.iter().filter_map(|damaged| memory_at(&damaged.path)).collect();
        if let Some(memory) = self.damaged.difference(&named).next() {
            return Err(
                self.violation(format!("memory {memory} is damaged, and a verification didn't name it"), "missed")
            );
        }
        let is_known = |memory: &Digest| self.damaged.contains(memory) || self.healed.contains(memory);
        let is_explained = |damaged: &&Damaged| memory_at(&damaged.path).is_some_and(|memory| is_known(&memory));
        let mut unexplained = verified.damaged.iter().filter(|damaged| !is_explained(damaged));
        match unexplained.find(|damaged| !self.is_broken(damaged, view)) {
            // Where the roots themselves are untrue the alarm is right, and whose fault that is, is for `seal-true` to say.
            Some(damaged) if self.roots_are_true(view) => {
                let message = format!("a verification named {}, which is whole: {}", damaged.path, damaged.what);
                Err(self.violation(message, "invented"))
            }
            _ => Ok(()),
        }
    }

    /// Whether it is a sealed memory whose file isn't whole, though no crash has hit it: that is for `memories-kept` to say.
    fn is_broken(&self, damaged: &Damaged, view: &View<'_>) -> bool {
        let Some(memory) = memory_at(&damaged.path) else { return false };
        let reading = self.auditor.read(view);
        matches!(&*reading, Ok(Some(audit)) if audit.sealed.contains_key(&memory)) && !is_whole(&memory, view.disk())
    }

    /// Whether what is stored is in itself as it was sealed, whatever anybody has claimed of it.
    fn roots_are_true(&self, view: &View<'_>) -> bool {
        let reading = self.auditor.read(view);
        matches!(&*reading, Ok(Some(audit)) if SealAccount::default().read(audit).is_ok())
    }
}

impl Invariant for DamageNamed {
    fn id(&self) -> &'static str {
        "damage-named"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES).and(Interest::call(CallKind::Rename))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::MachineCrashed => self.crashed(view),
            Body::Claim { kind: Committed::KIND, .. } => {
                if let Some(committed) = view.claim::<Committed>(event)
                    && let Some((memories, _)) = committed.effect.sealed()
                {
                    self.acknowledged.extend(memories);
                }
            }
            Body::Claim { kind: MemoriesVerified::KIND, .. } => {
                if let Some(verified) = view.claim::<MemoriesVerified>(event) {
                    if !self.damaged.is_empty() && !verified.damaged.is_empty() {
                        view.cover("memory_damage_named");
                    }
                    return self.verified(&verified, view);
                }
            }
            Body::Call { kind: CallKind::Rename, result: Ok(_), data, .. } if !self.damaged.is_empty() => {
                let to = data.split(|byte| *byte == 0).nth(1).and_then(|path| std::str::from_utf8(path).ok());
                if let Some(memory) = to.and_then(memory_at)
                    && self.damaged.remove(&memory)
                {
                    self.healed.insert(memory);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
