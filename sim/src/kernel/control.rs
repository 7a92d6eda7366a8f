//! Lives of processes and of the machine: boot, end, kill, pause, crash, restart, and the start of the calm phase.

use super::core::{Core, Phase};
use super::executor::{Executor, Stage};
use super::handle::NO_TASK;
use super::process::{Exit, Life, Process, Program, RestartPolicy};
use super::run::panic_text;
use super::task::{Task, TaskState, Timer, WaitKey, WakeState};
use super::world::PREPARATION;
use crate::plan::StrategyPlan;
use crate::schedule::{FirstRun, Ready, Strategy, strategy};
use crate::sys::call::Caller;
use crate::sys::{Identity, Sys};
use crate::trace::{Body, CallHead, CallKind, Ended, Event, Interest, ProcessId, TaskId};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that the harness does between two steps.
pub(crate) enum Control {
    Boot(ProcessId),
    Kill(ProcessId),
    /// SIGTERM, and SIGKILL after so many nanoseconds.
    Terminate(ProcessId, u64),
    Pause(ProcessId, u64),
    Resume(ProcessId),
    /// Power loss, with the id of the fault (it keys the draws) and how long the machine stays down.
    Crash(u32, u64),
    MachineUp,
    JumpClock(i64),
    /// A partition begins: the index of its fault.
    Partition(usize),
    /// SIGKILL; a bystander has the PID for so many nanoseconds.
    ReusePid(ProcessId, u64),
    Calm,
}

impl Executor {
    pub(super) fn control(&mut self, control: Control) {
        match control {
            Control::Boot(process) => self.boot(process),
            Control::Kill(process) => self.kill(process, &Ended::Killed),
            Control::ReusePid(process, for_ns) => {
                let pid = self.kernel.with(|core| core.processes[process.0 as usize].pid);
                self.kill(process, &Ended::Killed);
                self.kernel.with(|core| core.add_bystander(pid, for_ns));
            }
            Control::Crash(id, down_ns) => {
                for process in self.kernel.with(|core| core.live_processes()) {
                    self.kill(process, &Ended::Crashed);
                }
                self.kernel.with(|core| core.power_loss(id, down_ns));
            }
            Control::Terminate(process, grace_ns) => self.kernel.with(|core| core.terminate(process, grace_ns)),
            Control::Pause(process, for_ns) => self.kernel.with(|core| core.pause(process, for_ns)),
            Control::Resume(process) => self.kernel.with(|core| core.resume(process)),
            Control::MachineUp => self.kernel.with(Core::machine_up),
            Control::Calm => self.kernel.with(Core::begin_calm),
            Control::Partition(fault) => self.kernel.with(|core| core.begin_partition(fault)),
            Control::JumpClock(by_ns) => self.kernel.with(|core| {
                core.wall_offset_ns = core.wall_offset_ns.saturating_add(by_ns);
                core.emit(None, Body::ClockJumped(by_ns));
            }),
        }
    }

    fn boot(&mut self, process: ProcessId) {
        let Some((identity, program)) = self.kernel.with(|core| core.boot(process)) else { return };
        let sys = Sys { kernel: self.kernel.clone(), identity };
        // The program's own first lines run at the task's first step, not here.
        self.slot(identity.task).program = Some(Stage::New(program, sys));
    }

    /// Ends a process at once: its locks, descriptors and memory are gone before anything else steps.
    fn kill(&mut self, process: ProcessId, ended: &Ended) {
        let Some(tasks) = self.kernel.with(|core| core.begin_end(process)) else { return };
        self.drop_programs(&tasks);
        self.kernel.with(|core| core.finish_end(process, ended, tasks));
    }

    /// Destructors run here, and C code leaves by its error paths: all their calls are inert by now. One that panics has its process
    /// blamed, and the others go on.
    fn drop_programs(&mut self, tasks: &[TaskId]) {
        for &task in tasks {
            self.drops(task);
            let Some(slot) = self.slots.get_mut(task.0 as usize) else { continue };
            let program = slot.program.take();
            slot.resumable = None;
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(program))) {
                self.kernel.with(|core| core.panicked(Some(task), panic_text(&*panic)));
            }
        }
    }

    /// A task has returned. With the main task its process ends.
    pub(super) fn ended(&mut self, task: TaskId, exit: Exit) {
        if let Some(process) = self.kernel.with(|core| core.task_ended(task)) {
            self.kill(process, &Ended::Exited { code: exit.code, why: exit.why });
        }
    }

    /// Ends everything, so that futures and coroutines leave while the kernel still answers them.
    pub(super) fn shut_down(&mut self) {
        for process in self.kernel.with(|core| core.live_processes()) {
            let tasks = self.kernel.with(|core| core.begin_end(process)).unwrap_or_default();
            self.drop_programs(&tasks);
            self.kernel.with(|core| core.sqlite.after_unwind());
        }
        // A task that was started in a step that panicked holds the kernel, and the kernel holds it.
        drop(self.kernel.take_started());
    }
}

impl Core {
    pub(super) fn live_processes(&self) -> Vec<ProcessId> {
        let live = self.processes.iter().enumerate().filter(|(_, process)| process.is_live());
        live.map(|(index, _)| ProcessId(index as u32)).collect()
    }

    fn new_task(&mut self, process: ProcessId, kind: CallKind) -> Identity {
        let ordinal = self.processes[process.0 as usize].next_ordinal;
        self.processes[process.0 as usize].next_ordinal += 1;
        let call = Ready { due_ns: self.now_ns, object: 0, task: TaskId(0), process, ordinal, kind, is_again: false };
        let task = self.free_tasks.pop().unwrap_or(TaskId(self.tasks.len() as u32));
        if self.tasks.len() == task.0 as usize {
            self.tasks.push(Task::unused(call));
        }
        let slot = &mut self.tasks[task.0 as usize];
        slot.state = TaskState::Running;
        slot.call = Ready { task, ..call };
        let generation = slot.generation;
        let Process { owner, boot, .. } = &self.processes[process.0 as usize];
        let identity = Identity { task, generation, process, ordinal, owner: *owner, boot: *boot };
        self.processes[process.0 as usize].tasks.push(task);
        self.announce_call(task, process, ordinal, kind, 0, 0);
        identity
    }

    /// Starts a task of a process, for another task of it.
    pub(crate) fn spawn(&mut self, by: Caller) -> Identity {
        let parent = self.tasks[by.task.0 as usize].call.ordinal;
        let child = self.new_task(by.process, CallKind::Start);
        self.strategy.spawned(by.process, parent, child.ordinal);
        child
    }

    /// Whether the task that `identity` names has ended.
    pub(crate) fn task_has_ended(&self, identity: &Identity) -> bool {
        self.tasks[identity.task.0 as usize].generation != identity.generation
    }

    pub(super) fn boot(&mut self, id: ProcessId) -> Option<(Identity, Program)> {
        if !self.machine_is_up || self.processes[id.0 as usize].life != Life::Down {
            return None;
        }
        let owner = self.new_owner();
        let pid = self.next_pid;
        self.next_pid += 1;
        let now_ns = self.now_ns;
        let process = &mut self.processes[id.0 as usize];
        process.life = Life::Up;
        process.boot += 1;
        process.pid = pid;
        process.owner = owner;
        process.started_ns = now_ns;
        process.next_ordinal = 0;
        process.shared_keys = 0;
        process.terminating = false;
        let (operation, program) = (process.boot_operation(), process.program.clone()?);
        self.set_operation(id, operation);
        self.strategy.started(id);
        self.emit_of(id, Body::Started { pid });
        Some((self.new_task(id, CallKind::Boot), program))
    }

    /// The event of a task's first step.
    pub(super) fn begin(&mut self, task: TaskId, kind: CallKind) {
        let slot = &mut self.tasks[task.0 as usize];
        let announced_ns = match kind {
            CallKind::Wake => slot.wake_announced_ns,
            _ => {
                slot.state = TaskState::Running;
                slot.announced_ns
            }
        };
        let (process, took_ns) = (slot.call.process, self.now_ns - announced_ns);
        let boot = self.processes[process.0 as usize].boot;
        // An event of its process, which touches nothing.
        let head = CallHead { time_ns: self.now_ns, task: NO_TASK, process, boot, kind };
        self.hasher.call(&head, 0, [0; 2], Ok(0), &[], took_ns);
        if self.is_watched(Interest::call(kind)) {
            let body = Body::Call { kind, object: 0, arguments: [0; 2], result: Ok(0), data: &[], took_ns };
            let (step, time_ns) = (self.step, self.now_ns);
            self.show(kind as u32, &Event { step, time_ns, process: Some(process), task: None, boot, body });
        }
    }

    /// Frees a task's slot. Gives the process whose main task it was.
    pub(super) fn task_ended(&mut self, task: TaskId) -> Option<ProcessId> {
        let Ready { process, ordinal, .. } = self.tasks[task.0 as usize].call;
        if ordinal == 0 {
            return Some(process);
        }
        self.free_task(task);
        let tasks = &mut self.processes[process.0 as usize].tasks;
        if let Some(place) = tasks.iter().position(|other| *other == task) {
            tasks.remove(place);
        }
        None
    }

    fn free_task(&mut self, task: TaskId) {
        self.withdraw(task);
        self.take_wake(task);
        let slot = &mut self.tasks[task.0 as usize];
        let generation = slot.generation;
        slot.generation += 1;
        slot.state = TaskState::Free;
        slot.wake = WakeState::None;
        self.free_tasks.push(task);
        self.wake(WaitKey::Task(task, generation));
    }

    /// The first half of an end: the process is dead, what it held is released. Its futures still exist.
    fn begin_end(&mut self, id: ProcessId) -> Option<Vec<TaskId>> {
        if !self.processes[id.0 as usize].is_live() {
            return None;
        }
        let tasks = std::mem::take(&mut self.processes[id.0 as usize].tasks);
        for &task in &tasks {
            // A stale identity: what the futures still announce, withdraw or close has no effect.
            self.free_task(task);
        }
        let process = &mut self.processes[id.0 as usize];
        process.life = Life::Down;
        let owner = process.owner;
        process.positions = 0;
        process.locks_claimed = 0;
        self.sqlite.before_unwind(owner);
        self.disk.release_owner(owner);
        self.network.release_owner(owner);
        self.timers.retain(|timer| !matches!(timer, Timer::Kill(of, _) | Timer::Resume(of, _) if of == id));
        Some(tasks)
    }

    /// The second half: futures are gone; the event, those whom it wakes, and the restart.
    fn finish_end(&mut self, id: ProcessId, ended: &Ended, mut tasks: Vec<TaskId>) {
        // What the first half gave comes back for its memory.
        tasks.clear();
        self.processes[id.0 as usize].tasks = tasks;
        self.sqlite.after_unwind();
        self.strategy.ended(id);
        self.emit_of(id, Body::Ended(ended));
        self.drop_unread();
        while let Some(inode) = self.disk.next_released() {
            self.wake(WaitKey::File(inode));
        }
        let now_ns = self.now_ns;
        let process = &mut self.processes[id.0 as usize];
        let succeeded = matches!(ended, Ended::Exited { code: 0, .. });
        match process.restart {
            RestartPolicy::OnFailure { first_ns, last_ns } if !succeeded => {
                let back_off_ns = first_ns.saturating_mul(1 << process.failures.min(20)).min(last_ns);
                process.failures += 1;
                if *ended != Ended::Crashed {
                    self.timers.insert(now_ns + back_off_ns, Timer::Restart(id));
                }
            }
            _ => {
                process.life = Life::Done;
                self.unfinished -= usize::from(!process.is_daemon);
                if self.phase == Phase::Setup {
                    self.prepared(ended);
                }
            }
        }
    }

    /// The preparation has ended: everything else starts, unless it failed.
    fn prepared(&mut self, ended: &Ended) {
        if let Ended::Exited { code: 1.., why } = ended {
            self.no_progress(format!("the preparation failed: {why}"), Some(PREPARATION), "preparation");
            return;
        }
        self.phase = Phase::Chaos;
        self.start_all();
    }

    /// Starts every process that has not started, and the clocks of the faults and of the calm phase.
    pub(super) fn start_all(&mut self) {
        for (id, process) in self.processes.iter().enumerate() {
            if process.life == Life::Down {
                self.controls.push_back(Control::Boot(ProcessId(id as u32)));
            }
        }
        self.timers.insert(self.plan.chaos_ns.max(self.now_ns), Timer::Calm);
        for (due_ns, fault) in self.injector.timed() {
            self.timers.insert(due_ns.max(self.now_ns), Timer::Fault(fault));
        }
        self.steps_before_chaos = self.step;
        let strategy = self.chaos_strategy.begin();
        self.follow(strategy);
    }

    pub(super) fn kernel_timer_due(&mut self, timer: Timer) {
        let is_boot = |core: &Core, id: ProcessId, boot: u32| core.processes[id.0 as usize].boot == boot;
        match timer {
            Timer::Calm => self.controls.push_back(Control::Calm),
            Timer::MachineUp => self.controls.push_back(Control::MachineUp),
            Timer::Fault(fault) => self.fault_due(fault),
            Timer::Evict(inode) => {
                self.disk.evict(inode);
            }
            Timer::Kill(id, boot) if is_boot(self, id, boot) => self.controls.push_back(Control::Kill(id)),
            Timer::Resume(id, boot) if is_boot(self, id, boot) => self.controls.push_back(Control::Resume(id)),
            Timer::Deliver(flight) => self.deliver(flight),
            Timer::Heal(fault) => self.heal(fault),
            Timer::Restart(id) => self.controls.push_back(Control::Boot(id)),
            Timer::Kill(..) | Timer::Resume(..) | Timer::Task(_) => {}
        }
    }

    fn terminate(&mut self, id: ProcessId, grace_ns: u64) {
        let process = &mut self.processes[id.0 as usize];
        if !process.is_live() || process.terminating {
            return;
        }
        process.terminating = true;
        let boot = process.boot;
        self.timers.insert(self.now_ns.saturating_add(grace_ns), Timer::Kill(id, boot));
        self.emit_of(id, Body::TerminationRequested);
        self.interrupt(id);
    }

    fn pause(&mut self, id: ProcessId, for_ns: u64) {
        if self.processes[id.0 as usize].life != Life::Up {
            return;
        }
        self.processes[id.0 as usize].life = Life::Paused;
        for task in self.processes[id.0 as usize].tasks.clone() {
            self.hold(task);
        }
        let boot = self.processes[id.0 as usize].boot;
        self.timers.insert(self.now_ns.saturating_add(for_ns), Timer::Resume(id, boot));
        self.emit_of(id, Body::Paused);
    }

    fn resume(&mut self, id: ProcessId) {
        if self.processes[id.0 as usize].life != Life::Paused {
            return;
        }
        self.processes[id.0 as usize].life = Life::Up;
        self.emit_of(id, Body::Resumed);
        for task in self.processes[id.0 as usize].tasks.clone() {
            self.release(task);
        }
    }

    fn power_loss(&mut self, id: u32, down_ns: u64) {
        self.machine_is_up = false;
        let mut draw = self.crash_stream(id);
        let report = self.disk.crash(&mut draw);
        self.observations.get_mut().crashed(&report);
        self.sqlite.power_loss();
        self.bystanders.clear();
        self.timers.retain(|timer| !matches!(timer, Timer::Restart(_)));
        self.timers.insert(self.now_ns.saturating_add(down_ns), Timer::MachineUp);
        self.lose_messages();
        self.emit(None, Body::MachineCrashed);
    }

    fn machine_up(&mut self) {
        if self.machine_is_up {
            return;
        }
        self.machine_is_up = true;
        self.machine_boots += 1;
        self.machine_started_ns = self.now_ns;
        self.next_pid = super::world::FIRST_PID;
        self.emit(None, Body::MachineStarted);
        for (id, process) in self.processes.iter().enumerate() {
            if process.life == Life::Down {
                self.controls.push_back(Control::Boot(ProcessId(id as u32)));
            }
        }
    }

    fn follow(&mut self, strategy: Box<dyn Strategy>) {
        self.choices = self.choices.or(self.strategy.choices());
        self.strategy = strategy;
        self.strategy_delays = self.strategy.delays();
    }

    /// Faults stop, everything comes up, time goes in order.
    fn begin_calm(&mut self) {
        self.phase = Phase::Calm;
        self.injector.stop();
        self.end_ns = self.now_ns.saturating_add(self.plan.calm_ns);
        self.timers.retain(|timer| {
            !matches!(
                timer,
                Timer::Fault(_)
                    | Timer::Restart(_)
                    | Timer::MachineUp
                    | Timer::Resume(..)
                    | Timer::Kill(..)
                    | Timer::Heal(_)
            )
        });
        // Who was asked to end and has not done so may stay: the SIGKILL would be a fault of the chaos.
        self.processes.iter_mut().for_each(|process| process.terminating = false);
        self.follow(strategy(StrategyPlan::Timed, self.seed, &FirstRun::None));
        self.emit(None, Body::CalmBegan);
        self.calm_network();
        let lives: Vec<Life> = self.processes.iter().map(|process| process.life).collect();
        for (id, life) in lives.into_iter().enumerate() {
            match life {
                Life::Paused => self.controls.push_back(Control::Resume(ProcessId(id as u32))),
                Life::Down if self.machine_is_up => self.controls.push_back(Control::Boot(ProcessId(id as u32))),
                _ => {}
            }
        }
        if !self.machine_is_up {
            self.controls.push_back(Control::MachineUp);
        }
    }

    fn add_bystander(&mut self, pid: u32, for_ns: u64) {
        let now_ns = self.now_ns;
        self.bystanders.retain(|(_, _, until_ns)| *until_ns > now_ns);
        self.bystanders.push((pid, now_ns + 1, now_ns.saturating_add(for_ns)));
    }
}
