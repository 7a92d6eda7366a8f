//! What happened to the WAL beside a checkpoint, in order: who held the checkpoint lock, who started the WAL over meanwhile, who committed. A violation tells
//! it; nothing is judged here.

use std::collections::VecDeque;
use std::fmt::Write;

/// Something that happened to the WAL.
struct Happening {
    step: u64,
    who: String,
    what: String,
}

/// The last checkpoint beside which somebody started the WAL over.
#[derive(Default)]
pub(super) struct Story {
    /// What has happened since the checkpoint that is going on began.
    running: VecDeque<Happening>,
    /// Who holds the checkpoint lock.
    checkpointer: Option<String>,
    was_reset: bool,
    last: VecDeque<Happening>,
}

/// So many happenings of one checkpoint are told, the latest.
const TOLD_MAX: usize = 24;

impl Story {
    /// Somebody has taken the checkpoint lock.
    pub(super) fn checkpoint_begins(&mut self, step: u64, who: String) {
        self.running.clear();
        self.was_reset = false;
        self.checkpointer = Some(who.clone());
        self.add(step, who, "begins a checkpoint".into());
    }

    /// Somebody has done something to the WAL.
    pub(super) fn add(&mut self, step: u64, who: String, what: String) {
        if self.checkpointer.is_none() {
            return;
        }
        if self.running.len() == TOLD_MAX {
            self.running.pop_front();
        }
        self.running.push_back(Happening { step, who, what });
    }

    /// Somebody has written the WAL's header: it begins anew. Gives whether another was at a checkpoint.
    pub(super) fn reset(&mut self, step: u64, who: String) -> bool {
        let is_beside = self.checkpointer.as_ref().is_some_and(|checkpointer| *checkpointer != who);
        self.was_reset |= is_beside;
        self.add(step, who, "starts the WAL over".into());
        is_beside
    }

    /// The checkpoint lock is free again.
    pub(super) fn checkpoint_ends(&mut self, step: u64, why: &str) {
        let Some(who) = self.checkpointer.clone() else { return };
        self.add(step, who, why.into());
        self.checkpointer = None;
        if std::mem::take(&mut self.was_reset) {
            self.last = std::mem::take(&mut self.running);
        }
    }

    /// The story in lines, for the end of a message; nothing where there is none.
    pub(super) fn told(&self) -> String {
        let happenings = if self.was_reset { &self.running } else { &self.last };
        if happenings.is_empty() {
            return String::new();
        }
        let mut told = "\nThe last checkpoint beside which the WAL was started over:".to_owned();
        for Happening { step, who, what } in happenings {
            // Writing to a string can't fail.
            let _ = write!(told, "\n  step {step:<6} {who} {what}");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_checkpoint_with_a_reset_beside_it_is_told() {
        let mut story = Story::default();
        story.checkpoint_begins(1, "a".into());
        assert!(story.reset(2, "b".into()));
        story.add(3, "b".into(), "commits".into());
        story.checkpoint_ends(4, "ends it");
        story.checkpoint_begins(5, "b".into());
        assert!(!story.reset(6, "b".into()), "its own");
        story.checkpoint_ends(7, "ends it");
        let told = story.told();
        // An empty line ends the message before it, then comes the headline.
        assert_eq!(told.lines().skip(2).count(), 4, "{told}");
        assert!(told.contains("step 2      b starts the WAL over"), "{told}");
        assert!(!told.contains("step 6"), "{told}");
    }
}
