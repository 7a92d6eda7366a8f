//! `swarm-delay`: any announced call with equal chance, but the calls of one kind, or of one process, are now and then delayed hard, so that much happens
//! in a window that is else a few steps wide. Which kind or process, is the seed's: what helps one bug hides another (swarm testing, Groce et al., ISSTA 2012).

use super::by_task::ByTask;
use super::{BITS, Ready, Strategy, bits, earliest, nth_bit};
use crate::seed::{Draw, Seed, Stream};
use crate::trace::{CallKind, ProcessId};

/// How long a delay is, in simulated nanoseconds.
const DELAY_NS: (u64, u64) = (4_000_000, 37_000_000);

/// What is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Kind(CallKind),
    Process(ProcessId),
}

/// At random, with delays.
pub struct SwarmDelay {
    schedule: Stream,
    delays: Stream,
    one_in: u64,
    by_kind: bool,
    target: Option<Target>,
    /// What has been seen of what could be the target.
    seen: Vec<Target>,
    /// The kinds among them, by their bits.
    kinds_seen: u64,
    /// By task: until when its call is held back.
    held: ByTask<u64>,
}

impl SwarmDelay {
    /// The schedule of a seed: one in so many calls of the target is delayed.
    pub fn new(seed: Seed, one_in: u32) -> SwarmDelay {
        let mut delays = seed.stream("delays");
        let by_kind = delays.chance(3, 4);
        SwarmDelay {
            schedule: seed.stream("schedule"),
            delays,
            one_in: u64::from(one_in).max(1),
            by_kind,
            target: None,
            seen: Vec::new(),
            kinds_seen: 0,
            held: ByTask::default(),
        }
    }

    /// Notes what could be the target. The n-th of them becomes it with a chance of 1 in n: then each of those that the run has is as likely.
    fn see(&mut self, call: &Ready) {
        let found = if self.by_kind { Target::Kind(call.kind) } else { Target::Process(call.process) };
        let kind = u64::from(self.by_kind) << call.kind as u64;
        if self.kinds_seen & kind != 0 || self.seen.contains(&found) {
            return;
        }
        self.kinds_seen |= kind;
        self.seen.push(found);
        if self.delays.chance(1, self.seen.len() as u64) {
            self.target = Some(found);
        }
    }

    // Without branches: whether a call is held is as good as random.
    #[inline]
    fn is_held(&self, call: &Ready, now_ns: u64) -> bool {
        let until_ns = self.held.get(call.task).copied().unwrap_or(0);
        (call.due_ns > now_ns) & (until_ns == call.due_ns)
    }

    #[cold]
    fn next_of_many(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        let free = ready.iter().filter(|call| !self.is_held(call, now_ns)).count();
        if free == 0 {
            return earliest(ready);
        }
        let drawn = self.schedule.below(free as u64) as usize;
        let mut free = ready.iter().enumerate().filter(|(_, call)| !self.is_held(call, now_ns));
        free.nth(drawn).map_or_else(|| earliest(ready), |(index, _)| index)
    }
}

impl Strategy for SwarmDelay {
    fn next(&mut self, ready: &[Ready], now_ns: u64) -> usize {
        if ready.len() > BITS {
            return self.next_of_many(ready, now_ns);
        }
        let free = bits(ready, |call| !self.is_held(call, now_ns));
        if free == 0 {
            return earliest(ready);
        }
        nth_bit(free, self.schedule.below(u64::from(free.count_ones())) as u32)
    }

    fn delays(&self) -> bool {
        true
    }

    fn delay(&mut self, call: &Ready, drawn_ns: u64) -> u64 {
        if matches!(call.kind, CallKind::Boot | CallKind::Start | CallKind::Wake) {
            return drawn_ns;
        }
        self.see(call);
        let is_hit = match self.target {
            Some(Target::Kind(kind)) => kind == call.kind,
            Some(Target::Process(process)) => process == call.process,
            None => false,
        };
        if !is_hit || !self.delays.chance(1, self.one_in) {
            self.held.forget(call.task);
            return drawn_ns;
        }
        let delay_ns = drawn_ns + self.delays.between(DELAY_NS.0, DELAY_NS.1);
        *self.held.of(call, || 0) = call.due_ns + delay_ns;
        delay_ns
    }

    fn ended(&mut self, process: ProcessId) {
        self.held.forget_process(process);
    }
}
