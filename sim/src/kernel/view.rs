//! What invariants and listeners may see of the machine. They can't change it.

use super::core::{Core, Phase};
use super::process::Life;
use super::task::TaskState;
use crate::plan::Plan;
use crate::schedule::Ready;
use crate::sqlite::{CommitDurability, WalLocks};
use crate::sys::claim::{Claim, decode};
use crate::sys::disk::{Disk, InodeId, Owner};
use crate::sys::net::MailboxKey;
use crate::trace::{Body, Event, ProcessId, TaskId};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// The machine, as an observer sees it.
pub struct View<'a> {
    pub(super) core: &'a Core,
    /// The claim that is shown, once somebody has read it, and the step that made it.
    claim: RefCell<Option<(u64, Rc<dyn Any>)>>,
}

/// A process, as an observer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessView<'a> {
    /// Which.
    pub id: ProcessId,
    /// Its name: role, a hyphen, index.
    pub name: &'a str,
    /// Its role.
    pub role: &'static str,
    /// Its number among those of its role.
    pub index: u32,
    /// Its PID in this boot.
    pub pid: u32,
    /// Its boot; 0 before the first.
    pub boot: u32,
    /// Whose descriptors and locks it has on the disk.
    pub owner: Owner,
    /// Whether it is up, paused included.
    pub is_live: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether it has ended for good.
    pub is_done: bool,
}

impl<'a> View<'a> {
    pub(super) fn of(core: &'a Core) -> View<'a> {
        View { core, claim: RefCell::new(None) }
    }

    /// The claim's body, if the event that is shown with this view is a claim of kind `C`: as [`Event::claim`], decoded once for all who ask.
    pub fn claim<C: Claim + 'static>(&self, event: &Event<'_>) -> Option<Rc<C>> {
        let Body::Claim { kind, bytes } = event.body else { return None };
        if kind != C::KIND {
            return None;
        }
        let mut kept = self.claim.borrow_mut();
        if let Some((step, claim)) = &*kept
            && *step == event.step
            && let Ok(claim) = Rc::clone(claim).downcast()
        {
            return Some(claim);
        }
        let claim: Rc<C> = Rc::new(decode(bytes)?);
        *kept = Some((event.step, claim.clone()));
        Some(claim)
    }

    /// Simulated time since the start of the run, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns
    }

    /// How many events there have been, with the one that is shown. What was read of the machine holds until there is another: a loss of power is one, and
    /// no step.
    pub fn events(&self) -> u64 {
        self.core.hasher.events()
    }

    /// The number of the running step.
    pub fn step(&self) -> u64 {
        self.core.step
    }

    /// The plan.
    pub fn plan(&self) -> &'a Plan {
        &self.core.plan
    }

    /// Whether the calm phase has begun.
    pub fn is_calm(&self) -> bool {
        self.core.phase == Phase::Calm
    }

    /// Whether steps go in time order now: only then do latencies and fairness mean anything.
    pub fn is_timed(&self) -> bool {
        self.is_calm() || self.core.plan.strategy == crate::plan::StrategyPlan::Timed
    }

    /// The machine's boot id, as programs see it: another after each machine crash.
    pub fn boot_id(&self) -> u64 {
        self.core.boot_id()
    }

    /// The simulated disk. [`Disk::visible_read`] is what a program would read of a file now.
    pub fn disk(&self) -> &'a Disk {
        &self.core.disk
    }

    /// A process.
    pub fn process(&self, id: ProcessId) -> ProcessView<'a> {
        let process = &self.core.processes[id.0 as usize];
        ProcessView {
            id,
            name: &process.name,
            role: process.role,
            index: process.index,
            pid: process.pid,
            boot: process.boot,
            owner: process.owner,
            is_live: process.is_live(),
            is_paused: process.life == Life::Paused,
            is_done: process.life == Life::Done,
        }
    }

    /// Every process, in the order in which the scenario made them.
    pub fn processes(&self) -> impl Iterator<Item = ProcessView<'a>> {
        (0..self.core.processes.len()).map(|index| self.process(ProcessId(index as u32)))
    }

    /// The last transaction that a process has committed to a SQLite WAL in this boot, and whether it was durable when the write lock was
    /// released. `None` if there was none; a database in rollback mode has none.
    pub fn commit_durability(&self, id: ProcessId) -> Option<CommitDurability> {
        self.core.sqlite.commit_of(self.core.processes[id.0 as usize].owner)
    }

    /// Who holds which lock of a SQLite wal-index, by the inode of its `-shm` file: the object of `shm-lock` events.
    pub fn wal_locks(&self, shared_inode: InodeId) -> WalLocks {
        WalLocks::of(&self.core.disk, shared_inode)
    }

    /// The calls that are announced and may be picked, in no order that means anything.
    pub fn ready(&self) -> impl Iterator<Item = &'a Ready> {
        let (calls, vacant) = (&self.core.ready, self.core.vacant);
        calls.iter().enumerate().filter(move |(index, _)| Some(*index) != vacant).map(|(_, call)| call)
    }

    /// A task's number within its process and boot; the main task is 0. `None`: no task has this slot now.
    pub fn ordinal(&self, task: TaskId) -> Option<u32> {
        let slot = self.core.tasks.get(task.0 as usize)?;
        (slot.state != TaskState::Free).then_some(slot.call.ordinal)
    }

    /// The tasks that a process has now.
    pub fn tasks(&self, id: ProcessId) -> &'a [TaskId] {
        &self.core.processes[id.0 as usize].tasks
    }

    /// Whether a task waits: for a lock, a message, another task.
    pub fn is_waiting(&self, task: TaskId) -> bool {
        self.core.tasks.get(task.0 as usize).is_some_and(|task| matches!(task.state, TaskState::Waiting { .. }))
    }

    /// Whether a partition cuts messages of one process to another off now.
    pub fn is_cut(&self, from: ProcessId, to: ProcessId) -> bool {
        self.core.network.cut_by(from, MailboxKey::new(to, 0)).is_some()
    }

    /// How many messages are under way, copies included.
    pub fn messages_in_flight(&self) -> usize {
        self.core.network.in_flight()
    }

    /// Counts an event that must happen sometimes: see [`crate::plan::Scenario::coverage`].
    pub fn cover(&self, name: &'static str) {
        self.core.observations.borrow_mut().cover(name);
    }

    /// Counts something for the result's metrics.
    pub fn count(&self, name: &'static str, by: u64) {
        self.core.observations.borrow_mut().count(name, by);
    }

    /// Records a simulated latency in nanoseconds for the result's metrics. A name is of small letters, digits and underlines, and ends with its unit:
    /// `transfer_ns`. People and latency budgets have it with hyphens and without the unit: `transfer`. Two names must not come to the same.
    pub fn latency(&self, name: &'static str, latency_ns: u64) {
        self.core.observations.borrow_mut().latency(name, latency_ns);
    }
}
