//! `wal-effect-once`: an operation that is tried again, because nobody knows what became of it, takes effect once all the same.

use super::audit::{Audit, Auditor, Reading};
use crate::wal::claims::{Committed, Looked, Peeked, Writing};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::trace::{Body, Event, Interest};
use std::collections::{BTreeMap, BTreeSet};

/// No operation is two commits.
pub struct WalEffectOnce {
    auditor: Auditor,
    /// By operation: the number of the commit that somebody saw. A power loss may take it back.
    seen: BTreeMap<u64, u64>,
}

impl WalEffectOnce {
    pub(super) fn new(auditor: Auditor) -> WalEffectOnce {
        WalEffectOnce { auditor, seen: BTreeMap::new() }
    }

    fn violation(&self, operation: u64) -> Violation {
        let message = format!("operation {operation} was committed twice");
        Violation::new(self.id(), message).object("operation").role("agent").loss("doubled")
    }

    fn judge(&self, reading: &Reading) -> Result<(), Violation> {
        // Whether it can be read at all is for `wal-commits-kept` to say.
        let Ok(audit) = reading else { return Ok(()) };
        let mut once = BTreeSet::new();
        let twice = audit.commits.iter().find(|operation| !once.insert(**operation));
        twice.map_or(Ok(()), |operation| Err(self.violation(*operation)))
    }
}

impl Invariant for WalEffectOnce {
    fn id(&self) -> &'static str {
        "wal-effect-once"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body {
            self.seen.clear();
            return Ok(());
        }
        let seen = if let Some(Writing { sequence, after, .. }) = event.claim() {
            (after, sequence - 1)
        } else if let Some(Looked { contents, .. }) = event.claim() {
            (contents.operation, contents.sequence)
        } else if let Some(Peeked { newest, .. }) = event.claim() {
            (newest.operation, newest.sequence)
        } else if let Some(Committed { operation, sequence, .. }) = event.claim() {
            (operation, sequence)
        } else {
            return Ok(());
        };
        let (operation, sequence) = seen;
        let first = *self.seen.entry(operation).or_insert(sequence);
        if operation != 0 && first != sequence { Err(self.violation(operation)) } else { Ok(()) }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(&self.auditor.read(view))
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(&survivor.reading(Audit::of))
    }
}
