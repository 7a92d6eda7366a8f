//! `waits-for-acyclic`: no deadlock. The graph of who waits for whom, over named locks and files, has no cycle.

use super::lock_table::{Change, Hold, LockTable, Who};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::sys::disk::{InodeId, Owner};
use crate::trace::{Body, CallKind, Event, Interest, ProcessId, TaskId};
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeMap;

/// The graph of tasks that wait for each other has no cycle. Whoever has claimed a lock is taken to be who gives it back; a file's lock is its process's, so
/// that it is waited for in vain only if all tasks of that process wait.
///
/// It is built from scratch at each new wait: holders change silently (a close, a kill), waits are few, and a graph of waiting tasks is small.
#[derive(Default)]
pub struct WaitsForAcyclic {
    table: LockTable,
    /// Tasks blocked on an flock of a file. Byte ranges are left out: whether two conflict is not to be seen from a blocked call's event.
    blocked: BTreeMap<TaskId, (Who, InodeId)>,
}

impl Invariant for WaitsForAcyclic {
    fn id(&self) -> &'static str {
        "waits-for-acyclic"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST.and(Interest::BLOCKED).and(Interest::call(CallKind::Lock))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match (&event.body, event.task) {
            (Body::Blocked { kind: CallKind::Lock, object }, Some(task)) => {
                let Some(waiter) = Who::of(event, view) else { return Ok(()) };
                self.blocked.insert(task, (waiter, InodeId(*object)));
                return self.judge(view, waiter);
            }
            (Body::Call { kind: CallKind::Lock, .. }, Some(task)) => drop(self.blocked.remove(&task)),
            (Body::Ended(_), _) => self.blocked.retain(|_, (waiter, _)| Some(waiter.process) != event.process),
            _ => {}
        }
        match self.table.observe(event, view) {
            Change::Waiting(waiter) => self.judge(view, waiter),
            _ => Ok(()),
        }
    }
}

impl WaitsForAcyclic {
    /// Looks for a cycle through a task that has just begun to wait: no other wait can have closed one.
    fn judge(&self, view: &View<'_>, newest: Who) -> Result<(), Violation> {
        let mut graph: DiGraphMap<Who, &str> = DiGraphMap::new();
        for (waiter, wait) in &self.table.waits {
            // Another task of the same process may give it back; the one that waits can't.
            let is_in_the_way = |hold: &&Hold| hold.by.process != waiter.process || hold.by == *waiter;
            for hold in self.table.holds.get(&wait.lock).into_iter().flatten().filter(is_in_the_way) {
                graph.add_edge(*waiter, hold.by, wait.lock.as_str());
            }
        }
        if !self.blocked.is_empty() {
            let owners: BTreeMap<Owner, ProcessId> =
                view.processes().map(|process| (process.owner, process.id)).collect();
            // A call that was dropped meanwhile waits no more, and no event says so.
            for (_, (waiter, inode)) in self.blocked.iter().filter(|(task, _)| view.is_waiting(**task)) {
                let holders = view.disk().flock_holders(*inode).into_iter();
                let holders = holders.filter_map(|holder| owners.get(&holder.owner));
                for holder in holders.filter(|holder| **holder != waiter.process) {
                    for who in self.who_all_wait(*holder, view) {
                        graph.add_edge(*waiter, who, "a file");
                    }
                }
            }
        }
        let Some(cycle) = cycle_through(&graph, newest) else { return Ok(()) };
        let mut message = String::from("deadlock: ");
        let name = |who: &Who| view.process(who.process).name;
        for (waiter, holder) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let lock = graph.edge_weight(*waiter, *holder).copied().unwrap_or("?");
            message += &format!("{} waits for `{lock}`, held by {}; ", name(waiter), name(holder));
        }
        let message = message.trim_end_matches("; ");
        let role = view.process(newest.process).role;
        Err(Violation::new(self.id(), message).object("lock").role(role).loss("deadlock"))
    }

    /// A process's tasks, if all of them wait; none, if one of them goes on, or will by itself when its deadline comes.
    fn who_all_wait(&self, process: ProcessId, view: &View<'_>) -> Vec<Who> {
        let has_deadline = |who: &Who| {
            let mut waits = view.waiting().filter(|wait| (wait.process, wait.ordinal) == (who.process, who.ordinal));
            waits.any(|wait| wait.deadline_ns.is_some())
        };
        let waits = |task: &TaskId| {
            let who = Who { process, ordinal: view.ordinal(*task)? };
            let is_waiting = view.is_waiting(*task) && !has_deadline(&who);
            (is_waiting || self.table.waits.contains_key(&who)).then_some(who)
        };
        view.tasks(process).iter().map(waits).collect::<Option<_>>().unwrap_or_default()
    }
}

/// The nodes of a cycle through `start`, in order.
fn cycle_through(graph: &DiGraphMap<Who, &str>, start: Who) -> Option<Vec<Who>> {
    let back: Vec<Who> = graph.neighbors_directed(start, petgraph::Direction::Incoming).collect();
    back.into_iter()
        .filter_map(|last| petgraph::algo::astar(graph, start, |node| node == last, |_| 1u32, |_| 0))
        .map(|(_, path)| path)
        .min_by_key(|path| (path.len(), path.clone()))
}
