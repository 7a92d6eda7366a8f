//! The one fault injector: decides at each timer and each watched call whether a planned fault fires. The vocabulary is in `plan`.

use super::control::Control;
use super::core::Core;
use super::process::Life;
use super::task::Timer;
use crate::errno::Errno;
use crate::plan::{FaultKind, FaultPlan, Position, Trigger};
use crate::seed::Draw;
use crate::sqlite::SharedLockCall;
use crate::sys::call::Header;
use crate::sys::claim::{Claim, LockAcquired, LockReleased};
use crate::sys::disk::InodeId;
use crate::sys::file::CREATED_EXCLUSIVELY;
use crate::sys::net::{MessageFaults, Sides};
use crate::trace::{Body, CallKind, ProcessId};

/// A storage fault, as the call that it hits sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Injected {
    /// The call fails and has no effect.
    Fail(Errno),
    /// A write takes in a part: which, is drawn from the bits.
    Short { bits: u64 },
    /// fsync fails, and what it should have kept counts as clean. When reads stop showing it, is drawn from the bits.
    SyncFails { bits: u64 },
    /// fsync says yes and does nothing.
    SyncLies,
    /// The write's sectors reach the disk in part at the crash that follows at once.
    Torn,
}

/// What the injector says of a call.
pub(super) enum Verdict {
    Nothing,
    /// It meets a storage fault.
    Storage(Injected),
    /// It takes effect, then something happens.
    After(Control),
    /// It takes effect in part, then something happens.
    Inside(Injected, Control),
    /// Something happens, and the call never took effect.
    Instead(Control),
    /// It takes so many nanoseconds longer.
    Later(u64),
}

struct Armed {
    plan: FaultPlan,
    process: Option<ProcessId>,
    /// Of a partition.
    sides: Option<Sides>,
    /// Calls counted towards the trigger.
    counted: u64,
    /// Its time has come; it waits for a call that it can hit.
    due: bool,
    fired: bool,
    /// Its own place among the faults.
    index: usize,
}

#[derive(Default)]
pub(super) struct Injector {
    faults: Vec<Armed>,
    /// By process: faults that wait for a call of it.
    watched: Vec<Vec<usize>>,
    /// Whether any process has ever had one.
    watches_some: bool,
    follows_positions: bool,
    messages: MessageFaults,
}

impl Injector {
    /// Arms a plan's faults. `resolve` finds a process by its name.
    ///
    /// # Errors
    /// Which fault is wrong, and what is allowed.
    pub(super) fn new(
        plans: &[FaultPlan],
        processes: usize,
        resolve: impl Fn(&str) -> Option<ProcessId>,
    ) -> Result<Injector, String> {
        let mut injector = Injector::default();
        if !plans.is_empty() {
            injector.watched.resize(processes, Vec::new());
        }
        for plan in plans {
            let kind = plan.kind.name();
            let process = match &plan.process {
                None => None,
                Some(name) => Some(
                    resolve(name).ok_or_else(|| format!("fault {} ({kind}): no process is named `{name}`", plan.id))?,
                ),
            };
            let refuse = |problem: String| format!("fault {} ({kind}): {problem}", plan.id);
            plan.check().map_err(refuse)?;
            let between = plan.between.as_ref().map(|between| Sides::of(between, processes, &resolve));
            let sides = between.transpose().map_err(refuse)?;
            if plan.kind.hits_messages() {
                injector.messages.arm(plan, process, sides);
                continue;
            }
            let by_call = !matches!(plan.when, Trigger::AtNs(_));
            injector.follows_positions |= matches!(plan.when, Trigger::While { .. });
            if let Some(process) = process.filter(|_| by_call || plan.kind.needs_call()) {
                injector.watched[process.0 as usize].push(injector.faults.len());
                injector.watches_some = true;
            }
            injector.faults.push(Armed {
                plan: plan.clone(),
                process,
                sides,
                counted: 0,
                due: false,
                fired: false,
                index: injector.faults.len(),
            });
        }
        Ok(injector)
    }

    #[inline]
    pub(super) fn watches(&self, process: ProcessId) -> bool {
        self.watches_some && !self.watched[process.0 as usize].is_empty()
    }

    #[inline]
    pub(super) fn follows_positions(&self) -> bool {
        self.follows_positions
    }

    /// The faults that fire by time: (time, which).
    pub(super) fn timed(&self) -> Vec<(u64, usize)> {
        let timed = |(index, fault): (usize, &Armed)| match fault.plan.when {
            Trigger::AtNs(at_ns) => Some((at_ns, index)),
            _ => None,
        };
        self.faults.iter().enumerate().filter_map(timed).collect()
    }

    /// No fault fires from now on.
    pub(super) fn stop(&mut self) {
        self.watched.iter_mut().for_each(Vec::clear);
        self.watches_some = false;
        self.follows_positions = false;
    }

    /// The faults that hit messages. In the calm nobody asks for them.
    pub(super) fn messages(&mut self) -> &mut MessageFaults {
        &mut self.messages
    }

    /// A partition: its id, whom it cuts, and for how many nanoseconds.
    pub(super) fn partition(&self, index: usize) -> Option<(u32, Sides, u64)> {
        let Armed { plan, sides, .. } = self.faults.get(index)?;
        Some((plan.id, sides.clone()?, plan.for_ns))
    }

    /// Counts a call towards the triggers of its process's faults; gives the first that fires. A call that had to wait, or was delayed,
    /// has been counted when it tries again.
    fn count(&mut self, process: ProcessId, header: &Header, positions: u8, is_retried: bool) -> Option<usize> {
        let call = header.kind;
        let mut firing = None;
        for &index in &self.watched[process.0 as usize] {
            let fault = &mut self.faults[index];
            let (counts, nth) = match fault.plan.when {
                Trigger::AtNs(_) => (false, u64::from(!fault.due)),
                Trigger::Call { kind, nth } => (kind == call && !is_retried, nth),
                Trigger::While { position, nth } => (positions & position.bit() != 0 && !is_retried, nth),
                // Weather is of messages only, and these are judged when they are sent.
                Trigger::Weather { .. } => (false, 0),
            };
            fault.counted += u64::from(counts);
            let in_place = counts || matches!(fault.plan.when, Trigger::AtNs(_));
            if firing.is_none()
                && in_place
                && fault.counted >= nth
                && fault.plan.kind.can_hit_call(call, header.arguments)
            {
                firing = Some(index);
            }
        }
        if let Some(index) = firing {
            self.faults[index].fired = true;
            self.watched[process.0 as usize].retain(|other| *other != index);
        }
        firing
    }
}

impl Core {
    /// A fault's time has come.
    pub(super) fn fault_due(&mut self, index: usize) {
        if self.injector.faults[index].plan.kind.needs_call() {
            self.injector.faults[index].due = true;
            return;
        }
        if self.injector.faults[index].fired || !self.can_happen(&self.injector.faults[index]) {
            return;
        }
        self.injector.faults[index].fired = true;
        if let Some(control) = self.injector.faults[index].control() {
            self.fired(index);
            self.controls.push_back(control);
        }
    }

    /// Whether a fault would change anything now. One aimed at a process that is down, or at a machine that is, never fires.
    fn can_happen(&self, fault: &Armed) -> bool {
        if let Some(sides) = &fault.sides {
            return sides.have_any();
        }
        let Some(process) = fault.process.map(|process| &self.processes[process.0 as usize]) else {
            return self.machine_is_up;
        };
        match fault.plan.kind {
            FaultKind::Pause => process.life == Life::Up,
            FaultKind::Terminate => process.is_live() && !process.terminating,
            FaultKind::ClockJump | FaultKind::MachineCrash => self.machine_is_up,
            _ => process.is_live(),
        }
    }

    /// What happens to a call of a watched process.
    #[cold]
    pub(super) fn judge(&mut self, process: ProcessId, header: &Header, is_retried: bool) -> Verdict {
        let call = header.kind;
        let positions = self.processes[process.0 as usize].positions;
        let Some(index) = self.injector.count(process, header, positions, is_retried) else { return Verdict::Nothing };
        if !self.can_happen(&self.injector.faults[index]) {
            return Verdict::Nothing;
        }
        self.fired(index);
        let fault = &self.injector.faults[index];
        let mut draw = self.fault_stream(fault.plan.id);
        let control = fault.control();
        match (fault.plan.kind, control) {
            (FaultKind::IoError, _) => Verdict::Storage(Injected::Fail(Errno::Io)),
            (FaultKind::NoSpace, _) => Verdict::Storage(Injected::Fail(Errno::NoSpace)),
            (FaultKind::ShortWrite, _) => Verdict::Storage(Injected::Short { bits: draw.bits() }),
            (FaultKind::FailedSync, _) => Verdict::Storage(Injected::SyncFails { bits: draw.bits() }),
            (FaultKind::LyingSync, _) => Verdict::Storage(Injected::SyncLies),
            (FaultKind::Delay, _) => Verdict::Later(fault.plan.for_ns),
            (FaultKind::TornWrite, _) => {
                Verdict::Inside(Injected::Torn, Control::Crash(fault.plan.id, fault.plan.for_ns))
            }
            (FaultKind::Pause | FaultKind::Terminate | FaultKind::ClockJump | FaultKind::Partition, Some(control)) => {
                Verdict::After(control)
            }
            (_, Some(control)) => {
                let before_claim = matches!(
                    fault.plan.when,
                    Trigger::While { position: Position::BetweenEffectAndClaim | Position::BetweenTempAndRename, .. }
                );
                let writes = matches!(call, CallKind::Write | CallKind::WriteAt);
                match draw.below(3) {
                    _ if before_claim => Verdict::Instead(control),
                    0 if writes => Verdict::Inside(Injected::Short { bits: draw.bits() }, control),
                    1 => Verdict::Instead(control),
                    _ => Verdict::After(control),
                }
            }
            (_, None) => Verdict::Nothing,
        }
    }

    /// The pages that a failed fsync left in the cache go, some time later.
    pub(crate) fn evict_later(&mut self, inode: InodeId, bits: u64) {
        let in_ns = bits % EVICTION_NS_MAX;
        self.timers.insert(self.now_ns + in_ns, Timer::Evict(inode));
    }

    fn fired(&mut self, index: usize) {
        let Armed { plan, process, .. } = &self.injector.faults[index];
        let (kind, id, process) = (plan.kind, plan.id, *process);
        self.fault_counts(kind);
        match process {
            Some(process) => self.emit_of(process, Body::Fault { kind, id }),
            None => self.emit(None, Body::Fault { kind, id }),
        }
    }

    /// A fault of a kind has fired: it is counted, and what it voids isn't judged any more.
    pub(super) fn fault_counts(&mut self, kind: FaultKind) {
        self.observations.get_mut().fault(kind);
        if let Some(driver) = self.driver.as_deref_mut() {
            driver.fault_fired(kind);
        }
    }

    /// Keeps a process's positions true after a call of it.
    pub(super) fn note_call(&mut self, process: ProcessId, kind: CallKind, succeeded: bool, arguments: [u64; 2]) {
        let positions = &mut self.processes[process.0 as usize].positions;
        let (temp, transaction) = (Position::BetweenTempAndRename.bit(), Position::InTransaction.bit());
        match kind {
            _ if !succeeded => {}
            CallKind::Open if arguments[0] & CREATED_EXCLUSIVELY != 0 => *positions |= temp,
            CallKind::Rename => *positions = *positions & !temp | Position::BetweenEffectAndClaim.bit(),
            CallKind::Unlink => *positions &= !temp,
            CallKind::SharedLock => {
                let call = SharedLockCall::of(arguments);
                if call.first == SharedLockCall::WRITE && call.releases {
                    *positions = *positions & !transaction | Position::BetweenEffectAndClaim.bit();
                } else if call.first == SharedLockCall::WRITE && call.excludes {
                    *positions |= transaction;
                }
            }
            _ => {}
        }
    }

    pub(super) fn note_claim(&mut self, process: ProcessId, kind: &'static str) {
        let process = &mut self.processes[process.0 as usize];
        process.positions &= !Position::BetweenEffectAndClaim.bit();
        if kind == LockAcquired::KIND {
            process.locks_claimed += 1;
        } else if kind == LockReleased::KIND {
            process.locks_claimed = process.locks_claimed.saturating_sub(1);
        }
        if process.locks_claimed > 0 {
            process.positions |= Position::HoldingLock.bit();
        } else {
            process.positions &= !Position::HoldingLock.bit();
        }
    }
}

/// How long, at most, reads go on showing what a failed fsync didn't keep, in simulated nanoseconds.
const EVICTION_NS_MAX: u64 = 2_000_000_000;

impl Armed {
    fn control(&self) -> Option<Control> {
        let FaultPlan { id, kind, for_ns, by_ns, .. } = self.plan;
        Some(match (kind, self.process) {
            (FaultKind::Kill, Some(process)) => Control::Kill(process),
            (FaultKind::Terminate, Some(process)) => Control::Terminate(process, for_ns),
            (FaultKind::Pause, Some(process)) => Control::Pause(process, for_ns),
            (FaultKind::PidReuse, Some(process)) => Control::ReusePid(process, for_ns),
            (FaultKind::MachineCrash, _) => Control::Crash(id, for_ns),
            (FaultKind::ClockJump, _) => Control::JumpClock(by_ns),
            (FaultKind::Partition, _) => Control::Partition(self.index),
            _ => return None,
        })
    }
}
