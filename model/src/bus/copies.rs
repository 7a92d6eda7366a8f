//! Copies of signals that have come over the network and wait for their delivery: a bounded buffer. What finds it full is dropped; it is in the durable queue, and a poll
//! reads it there.

use super::signal::Signal;
use seedstorm_sim::sys::claim::signal::SignalId;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

#[derive(Default)]
pub(super) struct Copies {
    by_id: BTreeMap<SignalId, Rc<Signal>>,
    /// Those of which it has been said that they are held back.
    held_back: BTreeSet<SignalId>,
    /// Whether one has come since they were looked at last.
    has_news: bool,
}

impl Copies {
    /// Takes a copy, unless so many are there already.
    pub(super) fn put(&mut self, signal: Signal, copies_max: usize) {
        if self.by_id.len() < copies_max || self.by_id.contains_key(&signal.id) {
            self.has_news |= self.by_id.insert(signal.id, Rc::new(signal)).is_none();
        }
    }

    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    /// What is in hand.
    pub(super) fn all(&self) -> BTreeMap<SignalId, Rc<Signal>> {
        self.by_id.clone()
    }

    /// They have been looked at: what waits in no queue has been delivered earlier, by another copy of it or by a poll. Gives those that are held back and of which
    /// nobody has been told yet.
    pub(super) fn settle(&mut self, is_waiting: impl Fn(&SignalId) -> bool, held_back: &[SignalId]) -> Vec<SignalId> {
        self.has_news = false;
        self.by_id.retain(|id, _| is_waiting(id));
        self.held_back.retain(|id| self.by_id.contains_key(id));
        held_back.iter().copied().filter(|id| self.by_id.contains_key(id) && self.held_back.insert(*id)).collect()
    }
}
