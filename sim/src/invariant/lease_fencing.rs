//! `lease-fencing`: no write with an older token takes effect after a newer one's.

use super::{Invariant, Violation};
use crate::kernel::View;
use crate::sys::claim::FencedWrite;
use crate::trace::{Body, Event, Interest};
use std::collections::BTreeMap;

/// In each resource's own order of writes, fencing tokens never fall (Kleppmann 2016, "How to do distributed locking").
#[derive(Default)]
pub struct LeaseFencing {
    /// By resource and sequence: the token.
    writes: BTreeMap<String, BTreeMap<u64, u64>>,
}

/// Writes kept for each resource: a claim may come late, but not by more writes than there can be writers between effect and claim.
const KEPT_MAX: usize = 1024;

impl Invariant for LeaseFencing {
    fn id(&self) -> &'static str {
        "lease-fencing"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body {
            // Nobody is left who could write with an old token, and a write that was not durable may give its place to another.
            self.writes.clear();
        }
        let role = event.process.map_or("-", |process| view.process(process).role);
        let Some(FencedWrite { resource, token, sequence }) = event.claim() else { return Ok(()) };
        let writes = self.writes.entry(resource.clone()).or_default();
        let before = writes.range(..sequence).next_back().filter(|(_, before)| **before > token);
        // One place given twice: whichever came second didn't look at the first.
        let same = writes.get(&sequence).filter(|other| **other != token).map(|other| (*other).max(token));
        let after = writes.range(sequence + 1..).next().filter(|(_, after)| **after < token);
        let wrong = match (before, after, same) {
            (Some((at, newer)), ..) => Some((*at, *newer, sequence, token)),
            (None, Some((at, older)), _) => Some((sequence, token, *at, *older)),
            (None, None, Some(newer)) => Some((sequence, newer, sequence, token.min(writes[&sequence]))),
            (None, None, None) => None,
        };
        writes.insert(sequence, token);
        if writes.len() > KEPT_MAX {
            writes.pop_first();
        }
        let Some((first, newer, second, older)) = wrong else { return Ok(()) };
        let message = format!(
            "`{resource}` took write {second} with token {older} after write {first} with token {newer}: a lease that had passed to another"
        );
        Err(Violation::new(self.id(), message).object("lease").role(role).loss("stale-write"))
    }
}
