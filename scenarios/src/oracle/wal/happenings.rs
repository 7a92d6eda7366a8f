//! What must happen sometimes under sqlite-wal, read off claims and SQLite's own locks, so that a sweep can show that it went where bugs live; and the story of
//! the WAL that violations tell. It judges nothing.

use super::story::Story;
use crate::wal::claims::{Begun, Checkpointed, Committed, Looked, Retried, Unsettled, Writing};
use crate::wal::workload::connection_of;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Ended, Event, Interest, ProcessId, TaskId};
use seedstorm_sim::{Plan, View};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a sweep of a hundred seeds must show.
pub const COVERAGE: &[&str] = &[
    "busy_retried",
    "checkpoint_beside_writer",
    "checkpoint_held_up",
    "index_rebuilt",
    "power_loss_recovered",
    "retry_found_effect",
    "snapshot_held_over_checkpoint",
    "taken_back_by_power_loss",
    "unknown_commit_gone",
    "unknown_commit_stood",
    "wal_reset",
    "wal_reset_beside_checkpoint",
    "work_after_kill",
];

/// Bytes of a WAL's header; no frame is as short.
const WAL_HEADER_BYTES: u64 = 32;

/// The lock of whoever rebuilds the wal-index (`WAL_RECOVER_LOCK`).
const RECOVER: usize = 2;

/// A connection, as the harness sees it: a task of a process.
type Connection = (ProcessId, TaskId);

/// Notes what must happen sometimes.
pub struct Happenings {
    story: Rc<RefCell<Story>>,
    has_several_connections: bool,
    /// Who holds each slot of the wal-index.
    slots: [BTreeSet<Connection>; SharedLockCall::SLOTS],
    /// WALs whose header has been written.
    headed: BTreeSet<u64>,
    /// Which connection a task is.
    connections: BTreeMap<TaskId, u64>,
    /// Operations that are about to commit.
    writing: BTreeMap<u64, ProcessId>,
    /// Of these, those whose COMMIT failed or whose process died.
    in_doubt: BTreeSet<u64>,
    /// Readers that hold a snapshot: whether a checkpoint has ended meanwhile.
    held: BTreeMap<u64, bool>,
    /// Pages that the running checkpoint has written into the database.
    moved: u64,
    was_killed: BTreeSet<ProcessId>,
    was_crashed: bool,
    /// Whether the machine's preparation is over: the first life of any client has begun.
    is_prepared: bool,
}

impl Happenings {
    pub(super) fn new(plan: &Plan, story: Rc<RefCell<Story>>) -> Happenings {
        Happenings {
            story,
            has_several_connections: plan.setting_u64("connections", 1) > 1,
            slots: Default::default(),
            headed: BTreeSet::new(),
            connections: BTreeMap::new(),
            writing: BTreeMap::new(),
            in_doubt: BTreeSet::new(),
            held: BTreeMap::new(),
            moved: 0,
            was_killed: BTreeSet::new(),
            was_crashed: false,
            is_prepared: false,
        }
    }

    fn name(&self, (process, task): Connection, view: &View<'_>) -> String {
        let name = view.process(process).name;
        match self.connections.get(&task).filter(|_| self.has_several_connections) {
            Some(connection) => format!("{name}, connection {connection},"),
            None => name.to_owned(),
        }
    }

    fn locked(&mut self, step: u64, who: Connection, call: SharedLockCall, view: &View<'_>) {
        const WRITE: usize = SharedLockCall::WRITE;
        const CHECKPOINT: usize = SharedLockCall::CHECKPOINT;
        let had = self.slots[CHECKPOINT].contains(&who);
        for holders in self.slots.iter_mut().skip(call.first).take(call.count) {
            if call.releases {
                holders.remove(&who);
            } else {
                holders.insert(who);
            }
        }
        let another = |slot: usize| self.slots[slot].iter().any(|holder| *holder != who);
        let locks = |slot: usize| !call.releases && call.first == slot;
        if locks(WRITE) && another(CHECKPOINT) || locks(CHECKPOINT) && another(WRITE) {
            view.cover("checkpoint_beside_writer");
        }
        if self.is_prepared && locks(RECOVER) {
            view.cover("index_rebuilt");
        }
        if locks(CHECKPOINT) {
            self.moved = 0;
            let name = self.name(who, view);
            self.story.borrow_mut().checkpoint_begins(step, name);
        } else if had && !self.slots[CHECKPOINT].contains(&who) {
            self.checkpoint_ends(step, &format!("ends the checkpoint: {} pages written into the database", self.moved));
        }
    }

    fn checkpoint_ends(&mut self, step: u64, why: &str) {
        self.held.values_mut().for_each(|over| *over = true);
        self.story.borrow_mut().checkpoint_ends(step, why);
    }

    fn claimed(&mut self, kind: &str, event: &Event<'_>, who: Connection, view: &View<'_>) {
        match kind {
            Begun::KIND => {
                if let Some(Begun { operation }) = event.claim() {
                    self.connections.insert(who.1, connection_of(operation));
                    self.held.remove(&operation);
                }
            }
            Writing::KIND => {
                let Some(Writing { operation, after, .. }) = event.claim() else { return };
                if self.in_doubt.remove(&after) {
                    view.cover("unknown_commit_stood");
                }
                if self.in_doubt.remove(&operation) {
                    // It has looked for its earlier try, and found nothing.
                    view.cover("unknown_commit_gone");
                }
                self.writing.insert(operation, who.0);
            }
            Committed::KIND => {
                if let Some(committed) = event.claim() {
                    self.committed(&committed, event.step, who, view);
                }
            }
            Retried::KIND => {
                if let Some(Retried { was_busy: true, .. }) = event.claim() {
                    view.cover("busy_retried");
                }
            }
            Unsettled::KIND => {
                if let Some(Unsettled { operation }) = event.claim() {
                    self.in_doubt.insert(operation);
                }
            }
            Checkpointed::KIND => {
                let Some(Checkpointed { was_busy, frames, moved, .. }) = event.claim() else { return };
                if was_busy || moved < frames {
                    view.cover("checkpoint_held_up");
                }
            }
            Looked::KIND => match event.claim() {
                Some(Looked { operation, again: false, .. }) => drop(self.held.insert(operation, false)),
                Some(Looked { operation, again: true, .. }) if self.held.remove(&operation) == Some(true) => {
                    view.cover("snapshot_held_over_checkpoint");
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn committed(&mut self, committed: &Committed, step: u64, who: Connection, view: &View<'_>) {
        let Committed { operation, sequence, was_found } = *committed;
        self.writing.remove(&operation);
        if self.in_doubt.remove(&operation) && was_found {
            view.cover("unknown_commit_stood");
        }
        if was_found {
            view.cover("retry_found_effect");
        }
        if self.was_crashed {
            view.cover("power_loss_recovered");
        }
        if self.was_killed.contains(&who.0) {
            view.cover("work_after_kill");
        }
        let name = self.name(who, view);
        self.story.borrow_mut().add(step, name, format!("has committed operation {operation} as commit {sequence}"));
    }

    fn ended(&mut self, process: ProcessId, how: &Ended, step: u64) {
        let held_checkpoint = self.slots[SharedLockCall::CHECKPOINT].iter().any(|(holder, _)| *holder == process);
        self.slots.iter_mut().for_each(|holders| holders.retain(|(holder, _)| *holder != process));
        if held_checkpoint {
            self.checkpoint_ends(step, "dies in the checkpoint");
        }
        let writing = std::mem::take(&mut self.writing);
        let (dead, others) = writing.into_iter().partition(|(_, writer)| *writer == process);
        self.writing = others;
        let dead: BTreeMap<u64, ProcessId> = dead;
        self.in_doubt.extend(dead.into_keys());
        if *how == Ended::Killed {
            self.was_killed.insert(process);
        }
    }
}

impl Invariant for Happenings {
    fn id(&self) -> &'static str {
        "wal-happenings"
    }

    fn only_counts(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        let calls = Interest::call(CallKind::SharedLock).and(Interest::call(CallKind::WriteAt));
        Interest::CLAIMS.and(Interest::LIVES).and(calls).and(Interest::call(CallKind::Unfetch))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match (&event.body, event.process) {
            (Body::MachineCrashed, _) => {
                self.was_crashed = true;
                self.held.clear();
            }
            (Body::Ended(how), Some(process)) => self.ended(process, how, event.step),
            _ => {}
        }
        let (Some(process), Some(task)) = (event.process, event.task) else { return Ok(()) };
        let who = (process, task);
        match event.body {
            Body::Call { kind: CallKind::SharedLock, arguments, result: Ok(_), .. } => {
                self.locked(event.step, who, SharedLockCall::of(arguments), view);
            }
            Body::Call { kind: CallKind::WriteAt, object, arguments: [0, WAL_HEADER_BYTES], result: Ok(_), .. } => {
                let name = self.name(who, view);
                if self.story.borrow_mut().reset(event.step, name) {
                    view.cover("wal_reset_beside_checkpoint");
                }
                if !self.headed.insert(object) {
                    view.cover("wal_reset");
                }
            }
            Body::Call { kind: CallKind::WriteAt, object, .. }
                if self.slots[SharedLockCall::CHECKPOINT].contains(&who) && !self.headed.contains(&object) =>
            {
                self.moved += 1;
            }
            Body::Call { kind: CallKind::Unfetch, .. } if self.slots[SharedLockCall::CHECKPOINT].contains(&who) => {
                let name = self.name(who, view);
                self.story.borrow_mut().add(
                    event.step,
                    name,
                    "has read in the WAL's index how much there is to move".into(),
                );
            }
            Body::Claim { kind, .. } => {
                self.is_prepared |= kind == Begun::KIND;
                self.claimed(kind, event, who, view);
            }
            _ => {}
        }
        Ok(())
    }
}
