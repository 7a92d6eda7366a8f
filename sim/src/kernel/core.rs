//! The kernel's state, and how a call is announced, picked and takes effect. Processes' lives are in `control`, polling in `executor`.

use super::beat::Beat;
use super::control::Control;
use super::inject::{Injected, Injector, Verdict};
use super::latency::Latencies;
use super::process::{Process, StreamKeys};
use super::run::{Listener, Teller};
use super::task::{Task, TaskState, Timer, WaitKey};
use super::timers::Timers;
use super::view::View;
use super::world::World;
use crate::errno::Errno;
use crate::invariant::{Driver, Violation};
use crate::metrics::Observations;
use crate::plan::Plan;
use crate::schedule::{ChaosStrategy, Ready, Strategy};
use crate::seed::{Draw, Path, Seed, Stream};
use crate::sys::Identity;
use crate::sys::call::{Call, Caller, Effect};
use crate::sys::disk::{Disk, Owner};
use crate::sys::net::Network;
use crate::trace::{Body, CallHead, CallKind, Event, Interest, ProcessId, TaskId, TraceHasher};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The scenario's preparation runs alone.
    Setup,
    Chaos,
    Calm,
}

/// A step of a task.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) task: TaskId,
    /// The call that was picked.
    pub(super) kind: CallKind,
    /// As in [`Core`].
    pub(super) has_combinators: bool,
    pub(super) now_ns: u64,
}

/// What comes before the next step.
pub(super) enum Before {
    /// Nothing, or it has been done.
    Nothing,
    Control(Control),
    End,
}

/// The simulated machine and everything the harness knows of it.
pub(crate) struct Core {
    pub(super) seed: Seed,
    pub(super) plan: Rc<Plan>,
    // Not beside `step`: the compiler would read both at once, and wait for the two stores.
    pub(crate) now_ns: u64,
    pub(super) end_ns: u64,
    pub(super) steps_max: u64,
    /// How often a program has said that it begins an operation of the plan.
    pub(super) operations_begun: u64,
    pub(super) step: u64,
    pub(super) phase: Phase,
    pub(crate) disk: Disk,
    pub(crate) network: Network,
    pub(super) processes: Vec<Process>,
    /// Processes that have not ended for good, without daemons.
    pub(super) unfinished: usize,
    pub(super) owners: u32,
    pub(super) next_pid: u32,
    /// PIDs given to bystanders: (PID, start, end), machine times in nanoseconds.
    pub(super) bystanders: Vec<(u32, u64, u64)>,
    pub(super) machine_is_up: bool,
    pub(super) machine_started_ns: u64,
    pub(super) machine_boots: u32,
    pub(super) wall_offset_ns: i64,
    pub(super) tasks: Vec<Task>,
    pub(super) free_tasks: Vec<TaskId>,
    /// Whether some task has awaited a call through a combinator with wakers of its own.
    pub(super) has_combinators: bool,
    pub(super) ready: Vec<Ready>,
    /// Where the picked call was in the ready list. Its entry is no call any more: the task's next call takes the place, or [`Core::settle`].
    pub(super) vacant: Option<usize>,
    pub(super) timers: Timers,
    /// Who waits for what, those who came first before the others.
    pub(super) waiting: Vec<(WaitKey, TaskId)>,
    pub(super) controls: VecDeque<Control>,
    /// Kept for its memory: see [`Core::wait_on`].
    pub(super) late: Vec<(u64, TaskId)>,
    pub(super) injector: Injector,
    pub(super) latencies: &'static Latencies,
    /// By process, of its operation: what its calls' latencies are drawn from. Of no process, where none is drawn.
    pub(super) latency_streams: Vec<Stream>,
    pub(super) stream_keys: &'static StreamKeys,
    pub(super) strategy: Box<dyn Strategy>,
    /// Makes the strategy of the chaos.
    pub(super) chaos_strategy: ChaosStrategy,
    pub(super) steps_before_chaos: u64,
    /// See [`super::run::Outcome::choices`].
    pub(super) choices: Option<u64>,
    /// Whether the strategy may change latencies.
    pub(super) strategy_delays: bool,
    pub(super) hasher: TraceHasher,
    pub(super) driver: Option<Box<Driver>>,
    pub(super) observed: Interest,
    pub(super) listener: Option<Listener>,
    pub(super) teller: Option<Teller>,
    pub(super) beat: Option<Arc<Beat>>,
    pub(super) traced: bool,
    pub(super) observations: RefCell<Observations>,
    pub(super) violations: Vec<Violation>,
    pub(crate) sqlite: crate::sqlite::State,
    /// An empty one, for the memory of its lists.
    pub(super) spare_world: World,
}

impl Core {
    /// Whether `sys` belongs to a live incarnation of its process and to the task that now uses its slot. A process that ends frees the
    /// slots of its tasks first, which ends their generation.
    #[inline]
    pub(crate) fn is_current(&self, sys: &Identity) -> bool {
        self.tasks[sys.task.0 as usize].generation == sys.generation
    }

    /// Whether `sys`'s task has no outstanding call. A dead process has none.
    pub(crate) fn is_idle(&self, sys: &Identity) -> bool {
        !self.is_current(sys) || self.tasks[sys.task.0 as usize].state == TaskState::Running
    }

    /// Whoever uses a task's slot now.
    pub(super) fn identity_of(&self, task: TaskId) -> Identity {
        let slot = &self.tasks[task.0 as usize];
        let Ready { process, ordinal, .. } = slot.call;
        let Process { owner, boot, .. } = self.processes[process.0 as usize];
        Identity { task, generation: slot.generation, process, ordinal, owner, boot }
    }

    /// Whether `sys` belongs to a live incarnation of its process, whichever of its tasks it was made for.
    #[inline]
    pub(crate) fn is_alive(&self, sys: &Identity) -> bool {
        let process = &self.processes[sys.process.0 as usize];
        process.is_live() && process.owner == sys.owner
    }

    #[inline(never)]
    pub(super) fn announce_as(&mut self, polled: TaskId, by: &mut Identity, kind: CallKind, touches: u64, first: u64) {
        *by = self.acting(polled, by);
        if self.is_current(by) {
            self.announce(by, kind, touches, first);
        }
    }

    /// Who makes a call: a file or a `Sys` may have come from another task of the process, which may have ended since.
    #[inline]
    pub(super) fn acting(&self, polled: TaskId, sys: &Identity) -> Identity {
        let Some(slot) = self.tasks.get(polled.0 as usize) else { return *sys };
        let (task, generation) = (polled, slot.generation);
        if slot.call.process != sys.process || (sys.task, sys.generation) == (task, generation) || !self.is_alive(sys) {
            return *sys;
        }
        Identity { task, generation, ordinal: slot.call.ordinal, ..*sys }
    }

    #[inline(always)]
    pub(super) fn announce(&mut self, by: &Identity, kind: CallKind, touches: u64, first: u64) {
        if !matches!(self.tasks[by.task.0 as usize].state, TaskState::Running) {
            self.second_call(by, kind);
        }
        self.announce_call(by.task, by.process, by.ordinal, kind, touches, first);
    }

    #[cold]
    fn second_call(&self, by: &Identity, kind: CallKind) {
        let state = self.tasks[by.task.0 as usize].state;
        panic!(
            "a task may have one outstanding call: it announced `{kind}` while it is {state:?}; spawn a task for the second"
        );
    }

    #[inline(always)]
    pub(super) fn announce_call(
        &mut self,
        task: TaskId,
        process: ProcessId,
        ordinal: u32,
        kind: CallKind,
        object: u64,
        first: u64,
    ) {
        let due_ns = self.now_ns + self.latency(task, process, ordinal, kind, object);
        let slot = &mut self.tasks[task.0 as usize];
        slot.announced_ns = self.now_ns;
        slot.is_counted = false;
        if self.has_combinators {
            slot.waker = None;
        }
        // Field by field, twice: a copy would wait for the stores that it copies.
        slot.call.object = object;
        slot.call.kind = kind;
        slot.call.due_ns = due_ns;
        slot.call.is_again = false;
        if kind == CallKind::Sleep {
            self.sleep_until(task, due_ns.saturating_add(first));
            return;
        }
        // A process that announces is running, never paused: no need of `make_ready`.
        let call = Ready { due_ns, object, task, process, ordinal, kind, is_again: false };
        if let Some(index) = self.vacant.take() {
            slot.state = TaskState::Ready(index);
            self.ready[index] = call;
        } else {
            slot.state = TaskState::Ready(self.ready.len());
            self.ready.push(call);
        }
    }

    /// How long a call takes: drawn, and then the strategy has its say.
    #[inline]
    pub(super) fn latency(
        &mut self,
        task: TaskId,
        process: ProcessId,
        ordinal: u32,
        kind: CallKind,
        object: u64,
    ) -> u64 {
        let drawn_ns = match self.latencies.same_ns() {
            Some(same_ns) => same_ns,
            None => self.latencies.draw(kind, &mut self.latency_streams[process.0 as usize]),
        };
        if self.strategy_delays {
            let due_ns = self.now_ns;
            self.delayed(&Ready { due_ns, object, task, process, ordinal, kind, is_again: false }, drawn_ns)
        } else {
            drawn_ns
        }
    }

    #[cold]
    fn delayed(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        self.strategy.delay(call, drawn_ns)
    }

    pub(super) fn caller(&self, sys: &Identity) -> Caller {
        Caller { task: sys.task, process: sys.process, owner: sys.owner, timed_out: false, interrupted: false }
    }

    #[inline]
    pub(super) fn take_effect<C: Call>(&mut self, sys: &Identity, call: &mut C) -> Poll<Result<C::Value, Errno>> {
        self.tasks[sys.task.0 as usize].state = TaskState::Running;
        if self.injector.watches(sys.process) {
            self.take_judged_effect(sys, call)
        } else {
            self.effect(sys, call, None)
        }
    }

    /// As [`Core::take_effect`], of a process that a fault waits for.
    #[inline(never)]
    fn take_judged_effect<C: Call>(&mut self, sys: &Identity, call: &mut C) -> Poll<Result<C::Value, Errno>> {
        let slot = &mut self.tasks[sys.task.0 as usize];
        let is_retried = std::mem::replace(&mut slot.is_counted, true);
        let (injected, after) = match self.judge(sys.process, &call.header(), is_retried) {
            Verdict::Nothing => (None, None),
            Verdict::Storage(fault) => (Some(fault), None),
            Verdict::After(control) => (None, Some(control)),
            Verdict::Inside(fault, control) => (Some(fault), Some(control)),
            Verdict::Instead(control) => {
                self.controls.push_back(control);
                return Poll::Pending;
            }
            Verdict::Later(by_ns) => {
                self.sleep_until(sys.task, self.now_ns.saturating_add(by_ns));
                return Poll::Pending;
            }
        };
        let poll = self.effect(sys, call, injected);
        self.controls.extend(after);
        poll
    }

    #[inline]
    fn effect<C: Call>(
        &mut self,
        sys: &Identity,
        call: &mut C,
        injected: Option<Injected>,
    ) -> Poll<Result<C::Value, Errno>> {
        let slot = &mut self.tasks[sys.task.0 as usize];
        let (kind, announced_ns) = (slot.call.kind, slot.announced_ns);
        let timed_out = std::mem::take(&mut slot.timed_out);
        let interrupted = std::mem::take(&mut slot.interrupted);
        let caller = Caller { task: sys.task, process: sys.process, owner: sys.owner, timed_out, interrupted };
        let effect = match injected {
            Some(Injected::Fail(errno)) => Effect::Done(Err(errno)),
            injected => call.effect(self, caller, injected),
        };
        match effect {
            Effect::Wait(key, deadline_ns) => {
                self.wait(sys.task, key, deadline_ns);
                self.strategy.waits(&self.tasks[sys.task.0 as usize].call);
                let object = call.header().object;
                self.emit(Some(sys), Body::Blocked { kind, object });
                Poll::Pending
            }
            Effect::Done(result) => {
                self.called(sys, call, &result, announced_ns);
                Poll::Ready(result)
            }
        }
    }

    /// A call has taken effect: its event, and those whom it wakes.
    #[inline]
    pub(super) fn called<C: Call>(
        &mut self,
        sys: &Identity,
        call: &C,
        result: &Result<C::Value, Errno>,
        announced_ns: u64,
    ) {
        let header = call.header();
        let took_ns = self.now_ns - announced_ns;
        let value = result.as_ref().ok();
        if let Some((kind, bytes)) = call.claim() {
            self.note_claim(sys.process, kind);
            self.emit(Some(sys), Body::Claim { kind, bytes });
            return;
        }
        let object = value.and_then(|value| call.object(value)).unwrap_or(header.object);
        let numbers = match result {
            Ok(value) => Ok(call.number(value)),
            Err(errno) => Err(*errno),
        };
        if self.injector.follows_positions() {
            self.note_call(sys.process, header.kind, numbers.is_ok(), header.arguments);
        }
        if header.kind == CallKind::Sync {
            self.observations.get_mut().latency("fsync_ns", took_ns);
        }
        let (kind, arguments, data) = (header.kind, header.arguments, call.data(value));
        let head = CallHead { time_ns: self.now_ns, task: sys.task, process: sys.process, boot: sys.boot, kind };
        self.hasher.call(&head, object, arguments, numbers, data, took_ns);
        if self.is_watched(Interest::call(kind)) {
            // Made in place: a copy would wait for the stores that it copies.
            self.show(
                kind as u32,
                &Event {
                    step: self.step,
                    time_ns: self.now_ns,
                    process: Some(sys.process),
                    task: Some(sys.task),
                    boot: sys.boot,
                    body: Body::Call { kind, object, arguments, result: numbers, data, took_ns },
                },
            );
        }
        while let Some(inode) = self.disk.next_released() {
            self.wake(WaitKey::File(inode));
        }
    }

    /// Hashes an event, and shows it to those who asked for its kind.
    #[inline]
    pub(super) fn emit(&mut self, sys: Option<&Identity>, body: Body<'_>) {
        let event = Event {
            step: self.step,
            time_ns: self.now_ns,
            process: sys.map(|sys| sys.process),
            task: sys.map(|sys| sys.task),
            boot: sys.map_or(0, |sys| sys.boot),
            body,
        };
        self.hasher.event(&event);
        self.show(Interest::of(&event.body).bit(), &event);
    }

    /// As [`Core::emit`], for what the harness does to a process.
    pub(super) fn emit_of(&mut self, process: ProcessId, body: Body<'_>) {
        let boot = self.processes[process.0 as usize].boot;
        let event = Event { step: self.step, time_ns: self.now_ns, process: Some(process), task: None, boot, body };
        self.hasher.event(&event);
        self.show(Interest::of(&event.body).bit(), &event);
    }

    /// Whether somebody wants to see events of a kind. Else none is made.
    #[inline]
    pub(super) fn is_watched(&self, kind: Interest) -> bool {
        self.observed.meets(kind) || self.traced || self.listener.is_some()
    }

    /// Shows an event that has been hashed to those who asked for its kind, given by its number in [`Interest`].
    #[inline]
    pub(super) fn show(&mut self, bit: u32, event: &Event<'_>) {
        if self.observed.has(bit) {
            self.observe(bit, event);
        }
        if self.traced || self.listener.is_some() {
            self.listen(event);
        }
    }

    #[inline(never)]
    fn observe(&mut self, bit: u32, event: &Event<'_>) {
        if self.beat.is_some() {
            return self.observe_told(bit, event);
        }
        let Some(mut driver) = self.driver.take() else { return };
        driver.observe(bit, event, &View::of(self));
        if let Some(violation) = driver.found() {
            self.violations.push(violation);
        }
        self.driver = Some(driver);
    }

    /// As [`Core::observe`], and somebody may look whether invariants come to an end. Without the beat it goes through the same code: what is called from one place
    /// only becomes a part of it.
    #[cold]
    #[inline(never)]
    fn observe_told(&mut self, bit: u32, event: &Event<'_>) {
        let Some(beat) = self.beat.take() else { return };
        beat.judges(true);
        self.observe(bit, event);
        beat.judges(false);
        self.beat = Some(beat);
    }

    /// Tells whoever looks at the beat that invariants begin or end to look at something: what they do is no program's doing.
    #[inline]
    pub(super) fn judges(&self, is_judging: bool) {
        if let Some(beat) = &self.beat {
            beat.judges(is_judging);
        }
    }

    #[cold]
    fn listen(&mut self, event: &Event<'_>) {
        if self.traced {
            // A run that nobody tells has its words from the layer.
            let mut teller = self.teller.take();
            crate::trace::layer::emit(event, &View::of(self), &mut teller);
            self.teller = teller;
        }
        if let Some(mut listener) = self.listener.take() {
            listener(event, &View::of(self));
            self.listener = Some(listener);
        }
    }

    /// A key for something that the tasks of a process share. It is odd, and depends on nothing that another process does.
    pub(crate) fn shared_key(&mut self, sys: &Identity) -> u64 {
        let process = &mut self.processes[sys.process.0 as usize];
        process.shared_keys += 1;
        process.path.child(process.shared_keys).0
    }

    /// The draws of something that the tasks of a process share.
    pub(crate) fn shared_stream(&self, name: &str, key: u64, process: ProcessId) -> Stream {
        let boot = self.processes[process.0 as usize].boot;
        self.seed.stream_of(name, Path(key), u64::from(boot))
    }

    /// A new owner of descriptors and locks: one for each boot of a process.
    pub(super) fn new_owner(&mut self) -> Owner {
        self.owners += 1;
        Owner(self.owners)
    }

    /// Says that a limit was reached. The generic invariant `progress` has no other source.
    pub(super) fn no_progress(&mut self, message: String, role: Option<&'static str>, loss: &'static str) {
        let violation = Violation::new("progress", message).object("run").loss(loss);
        let violation = if let Some(role) = role { violation.role(role) } else { violation };
        self.violations.push(violation.at(self.step, self.now_ns));
    }

    /// Says that a dead process's code doesn't end: the generic invariant `leaves-when-dead`.
    pub(crate) fn does_not_leave(&mut self, process: ProcessId, calls: u32) {
        let Process { name, role, .. } = &self.processes[process.0 as usize];
        let message = format!("{name} went on for {calls} calls after each had told it that it is dead");
        let violation = Violation::new("leaves-when-dead", message).object("process").role(role).loss("endless");
        self.violations.push(violation.at(self.step, self.now_ns));
    }

    /// Picks the next step, unless there is something else to do first: [`Core::before_step`] says what, or does it.
    #[inline(always)]
    pub(super) fn next_step(&mut self) -> Option<Step> {
        self.settle();
        let is_quiet = self.violations.is_empty() & self.controls.is_empty() & (self.unfinished != 0);
        let is_within = (self.step < self.steps_max) & (self.now_ns <= self.end_ns) & !self.ready.is_empty();
        if !(is_quiet & is_within) || self.timers.first_ns().is_some_and(|due_ns| self.is_due(due_ns)) {
            return None;
        }
        Some(self.pick())
    }

    /// Whether a timer goes before every call.
    #[inline]
    fn is_due(&self, due_ns: u64) -> bool {
        due_ns <= self.now_ns || !self.ready.iter().any(|call| call.due_ns < due_ns)
    }

    /// What must happen before the next step. Timers that are due come here.
    #[inline(never)]
    pub(super) fn before_step(&mut self) -> Before {
        self.settle();
        if !self.violations.is_empty() {
            return Before::End;
        }
        if let Some(control) = self.controls.pop_front() {
            return Before::Control(control);
        }
        if self.unfinished == 0 {
            return Before::End;
        }
        if let Some(due_ns) = self.timers.first_ns()
            && self.is_due(due_ns)
        {
            self.now_ns = self.now_ns.max(due_ns);
            match self.timers.pop_first() {
                Some(Timer::Task(task)) => self.timer_due(task),
                Some(timer) => self.kernel_timer_due(timer),
                None => {}
            }
        } else if self.ready.is_empty() || self.step >= self.steps_max || self.now_ns > self.end_ns {
            self.stands_still();
        }
        Before::Nothing
    }

    /// Asks the strategy, and moves the clock.
    #[inline(always)]
    fn pick(&mut self) -> Step {
        self.step += 1;
        let choice = self.strategy.next(&self.ready, self.now_ns);
        let Ready { due_ns, task, kind, .. } = self.ready[choice];
        self.leave_ready(task, kind);
        self.vacant = Some(choice);
        self.now_ns = self.now_ns.max(due_ns);
        self.disk.set_now_ns(self.now_ns);
        Step { task, kind, has_combinators: self.has_combinators, now_ns: self.now_ns }
    }

    /// A fault's own draws: on which side of a call it falls, how much of a write it lets through.
    pub(super) fn fault_stream(&self, id: u32) -> impl Draw + use<> {
        self.seed.stream_of("fault", Path::RUN, u64::from(id))
    }

    /// What the crash keeps that a fault causes. A stream of its own: what a call suffers must not foretell what the disk loses.
    pub(super) fn crash_stream(&self, id: u32) -> impl Draw + use<> {
        self.seed.stream_of("crash", Path::RUN, u64::from(id))
    }
}
