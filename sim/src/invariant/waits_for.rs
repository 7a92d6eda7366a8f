//! `waits-for-acyclic`: no deadlock. The graph of who waits for whom, over named locks and files, has no cycle.

use super::lock_table::{Change, Hold, LockTable};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::sys::disk::{InodeId, Owner};
use crate::trace::{Body, CallKind, Event, Interest, ProcessId, TaskId};
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeMap;

/// The graph of processes that wait for each other has no cycle.
///
/// It is built from scratch at each new wait: holders change silently (a close, a kill), waits are few, and a graph of waiting processes
/// is small.
#[derive(Default)]
pub struct WaitsForAcyclic {
    table: LockTable,
    /// Tasks blocked on an flock of a file. Byte ranges are left out: whether two conflict is not to be seen from a blocked call's event.
    blocked: BTreeMap<TaskId, (ProcessId, InodeId)>,
}

impl Invariant for WaitsForAcyclic {
    fn id(&self) -> &'static str {
        "waits-for-acyclic"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST.and(Interest::BLOCKED).and(Interest::call(CallKind::Lock))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process else { return Ok(()) };
        match (&event.body, event.task) {
            (Body::Blocked { kind: CallKind::Lock, object }, Some(task)) => {
                self.blocked.insert(task, (process, InodeId(*object)));
                return self.judge(view, process);
            }
            (Body::Call { kind: CallKind::Lock, .. }, Some(task)) => drop(self.blocked.remove(&task)),
            (Body::Ended(_), _) => self.blocked.retain(|_, (waiter, _)| *waiter != process),
            _ => {}
        }
        match self.table.observe(event, view) {
            Change::Waiting(process) => self.judge(view, process),
            _ => Ok(()),
        }
    }
}

impl WaitsForAcyclic {
    /// Looks for a cycle through a process that has just begun to wait: no other wait can have closed one.
    fn judge(&self, view: &View<'_>, newest: ProcessId) -> Result<(), Violation> {
        let mut graph: DiGraphMap<ProcessId, &str> = DiGraphMap::new();
        for (waiter, wait) in &self.table.waits {
            // Another task of the same process may give it back; the one that waits can't.
            let is_in_the_way = |hold: &&Hold| hold.process != *waiter || hold.task == wait.task;
            for hold in self.table.holds.get(&wait.lock).into_iter().flatten().filter(is_in_the_way) {
                graph.add_edge(*waiter, hold.process, wait.lock.as_str());
            }
        }
        if !self.blocked.is_empty() {
            let owners: BTreeMap<Owner, ProcessId> =
                view.processes().map(|process| (process.owner, process.id)).collect();
            // A call that was dropped meanwhile waits no more, and no event says so.
            for (_, (waiter, inode)) in self.blocked.iter().filter(|(task, _)| view.is_waiting(**task)) {
                let holders: Vec<Owner> =
                    view.disk().flock_holders(*inode).into_iter().map(|holder| holder.owner).collect();
                for holder in holders.iter().filter_map(|owner| owners.get(owner)).filter(|holder| *holder != waiter) {
                    graph.add_edge(*waiter, *holder, "a file");
                }
            }
        }
        let Some(cycle) = cycle_through(&graph, newest) else { return Ok(()) };
        let mut message = String::from("deadlock: ");
        for (waiter, holder) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let lock = graph.edge_weight(*waiter, *holder).copied().unwrap_or("?");
            message +=
                &format!("{} waits for `{lock}`, held by {}; ", view.process(*waiter).name, view.process(*holder).name);
        }
        let message = message.trim_end_matches("; ");
        Err(Violation::new(self.id(), message).object("lock").role(view.process(newest).role).loss("deadlock"))
    }
}

/// The nodes of a cycle through `start`, in order.
fn cycle_through(graph: &DiGraphMap<ProcessId, &str>, start: ProcessId) -> Option<Vec<ProcessId>> {
    let back: Vec<ProcessId> = graph.neighbors_directed(start, petgraph::Direction::Incoming).collect();
    back.into_iter()
        .filter_map(|last| petgraph::algo::astar(graph, start, |node| node == last, |_| 1u32, |_| 0))
        .map(|(_, path)| path)
        .min_by_key(|path| (path.len(), path.clone()))
}
