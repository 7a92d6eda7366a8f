//! `waits-for-acyclic`: no deadlock. The graph of who waits for whom, over named locks and files, has no cycle.

use super::lock_table::{Change, LockTable, Who};
use super::stuck::Stuck;
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::sys::disk::{InodeId, Owner};
use crate::trace::{Body, CallKind, Event, Interest, ProcessId, TaskId};
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeMap;
use std::iter::once;

/// The graph of tasks that wait for each other has no cycle. Whoever has claimed a lock is taken to be who gives it back; a file's lock is its process's, so
/// that it is waited for in vain only if no task of that process can go on (`stuck`). That may come about by a wait for something else, a message or another
/// task, so these are looked at while somebody waits for a file.
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
            (Body::Blocked { .. }, Some(_)) if !self.blocked.is_empty() => {
                let Some(waiter) = Who::of(event, view) else { return Ok(()) };
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
    /// Looks for a cycle through a task that has just begun to wait, and for one that its wait has closed by leaving no task of its process that goes on.
    fn judge(&self, view: &View<'_>, newest: Who) -> Result<(), Violation> {
        let mut graph: DiGraphMap<Who, &str> = DiGraphMap::new();
        for (waiter, wait) in &self.table.waits {
            let holds = self.table.holds.get(&wait.lock).into_iter().flatten();
            for hold in holds.filter(|hold| hold.is_in_the_way_of(*waiter)) {
                graph.add_edge(*waiter, hold.by, wait.lock.as_str());
            }
        }
        if !self.blocked.is_empty() {
            let stuck = Stuck::of(&self.table, view);
            let owners: BTreeMap<Owner, ProcessId> =
                view.processes().map(|process| (process.owner, process.id)).collect();
            // A call that was dropped meanwhile waits no more, and no event says so.
            for (_, (waiter, inode)) in self.blocked.iter().filter(|(task, _)| view.is_waiting(**task)) {
                let holders = view.disk().flock_holders(*inode).into_iter();
                let holders = holders.filter_map(|holder| owners.get(&holder.owner));
                for holder in holders.filter(|holder| **holder != waiter.process && stuck.is_whole(**holder, view)) {
                    for who in stuck.tasks_of(*holder) {
                        graph.add_edge(*waiter, who, "a file");
                    }
                }
            }
        }
        let beside = graph.nodes().filter(|who| who.process == newest.process && *who != newest);
        let Some(cycle) = once(newest).chain(beside).find_map(|start| cycle_through(&graph, start)) else {
            return Ok(());
        };
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
}

/// The nodes of a cycle through `start`, in order.
fn cycle_through(graph: &DiGraphMap<Who, &str>, start: Who) -> Option<Vec<Who>> {
    let back: Vec<Who> = graph.neighbors_directed(start, petgraph::Direction::Incoming).collect();
    back.into_iter()
        .filter_map(|last| petgraph::algo::astar(graph, start, |node| node == last, |_| 1u32, |_| 0))
        .map(|(_, path)| path)
        .min_by_key(|path| (path.len(), path.clone()))
}
