//! Who can't go on any more: tasks that wait, each for what only others of them could give. A cycle among them is `waits_for`'s to find.

use super::lock_table::{LockTable, Who};
use crate::kernel::{View, Waiting};
use crate::sys::disk::InodeId;
use crate::trace::{CallKind, ProcessId};
use std::collections::BTreeSet;

/// The largest set of waiting tasks in which each waits for something that nobody outside of it can give. Kills and power losses, which free a process's
/// locks, are not counted on. Where it isn't to be seen who would give it, anybody may: what is in the set is stuck, not all that is stuck is in it.
pub(super) struct Stuck {
    tasks: BTreeSet<Who>,
}

impl Stuck {
    pub(super) fn of(table: &LockTable, view: &View<'_>) -> Stuck {
        // Whoever has a deadline goes on by itself when it comes.
        let calls: Vec<(Who, Waiting)> = view
            .waiting()
            .filter(|wait| wait.deadline_ns.is_none())
            .map(|wait| (Who { process: wait.process, ordinal: wait.ordinal }, wait))
            .collect();
        let in_calls = calls.iter().map(|(who, _)| *who);
        let mut stuck = Stuck { tasks: in_calls.chain(table.waits.keys().copied()).collect() };
        loop {
            let waits_in_vain = |who: &Who| {
                let mut own_calls = calls.iter().filter(|(caller, _)| caller == who);
                stuck.waits_for_lock(*who, table) || own_calls.any(|(_, wait)| stuck.is_call_in_vain(wait, view))
            };
            let left: BTreeSet<Who> = stuck.tasks.iter().copied().filter(waits_in_vain).collect();
            if left.len() == stuck.tasks.len() {
                return stuck;
            }
            stuck.tasks = left;
        }
    }

    /// Whether no task of a process can go on. One that has no tasks is not stuck.
    pub(super) fn is_whole(&self, process: ProcessId, view: &View<'_>) -> bool {
        let is_stuck = |ordinal| self.tasks.contains(&Who { process, ordinal });
        let tasks = view.tasks(process);
        !tasks.is_empty() && tasks.iter().all(|task| view.ordinal(*task).is_some_and(is_stuck))
    }

    /// The tasks of a process that can't go on.
    pub(super) fn tasks_of(&self, process: ProcessId) -> impl Iterator<Item = Who> {
        self.tasks.iter().copied().filter(move |who| who.process == process)
    }

    /// Whether a task waits for a named lock of one that can't go on.
    fn waits_for_lock(&self, who: Who, table: &LockTable) -> bool {
        let Some(wait) = table.waits.get(&who) else { return false };
        let mut holds = table.holds.get(&wait.lock).into_iter().flatten();
        holds.any(|hold| hold.is_in_the_way_of(who) && self.tasks.contains(&hold.by))
    }

    fn is_call_in_vain(&self, wait: &Waiting, view: &View<'_>) -> bool {
        let process = wait.process;
        let is_another_stuck = |owner| {
            view.processes()
                .any(|holder| holder.owner == owner && holder.id != process && self.is_whole(holder.id, view))
        };
        match wait.kind {
            CallKind::Lock => {
                let holders = view.disk().flock_holders(InodeId(wait.object));
                holders.iter().any(|holder| is_another_stuck(holder.owner))
            }
            // Which of the ranges are in its way is not to be seen.
            CallKind::RangeLock => {
                let own = view.process(process).owner;
                let mut others = view.disk().range_locks(InodeId(wait.object)).iter().filter(|lock| lock.owner != own);
                others.clone().next().is_some() && others.all(|lock| is_another_stuck(lock.owner))
            }
            CallKind::Join => {
                self.tasks.iter().any(|who| (who.process, u64::from(who.ordinal)) == (process, wait.object))
            }
            // Any task of its process may be the one that unlocks, notifies or sends.
            CallKind::Mutex | CallKind::Condition | CallKind::Channel => self.is_whole(process, view),
            CallKind::Receive => {
                let mut processes = view.processes();
                view.messages_in_flight() == 0
                    && processes.all(|sender| sender.is_done || self.is_whole(sender.id, view))
            }
            _ => false,
        }
    }
}
