//! `lock-reclaimed`: nobody times out on a lock that only the dead hold.

use super::lock_table::{Change, LockTable};
use super::{Invariant, Violation};
use crate::kernel::View;
use crate::plan::FaultKind;
use crate::sys::claim::{Exclusion, LockAcquired};
use crate::trace::{Body, Ended, Event, Interest};
use std::collections::BTreeMap;

/// How long a live process may stay between taking a lock and claiming it, in simulated nanoseconds and in time order: a few calls, fsync among them.
const SETTLED_AFTER_NS: u64 = 1_000_000_000;

/// The shortest wait that is judged, in simulated nanoseconds: reclaiming takes a few calls, fsync among them, and a wait may be over before that.
const WAIT_MIN_NS: u64 = 400_000_000;

/// A lock whose holder is dead can be acquired: a wait during which no live process held it doesn't time out.
///
/// A timeout is judged some time later: who had taken the lock just before it has claimed it by then. Judged in time order only, and not while a
/// process is paused, has died or has had a call delayed since: then claims lag behind effects for longer. Leases are left out: they outlive
/// their holders by design.
#[derive(Default)]
pub struct LockReclaimed {
    table: LockTable,
    /// When a lock was last held by a live process, in nanoseconds.
    last_held_ns: BTreeMap<String, u64>,
    /// Whether a lock's last holder held it exclusively.
    is_exclusive: BTreeMap<String, bool>,
    /// Until when claims are known to have lagged behind effects, in nanoseconds.
    unsettled_ns: u64,
    /// By lock: a timeout that no holder explains, so far.
    suspects: BTreeMap<String, (u64, Violation)>,
}

impl Invariant for LockReclaimed {
    fn id(&self) -> &'static str {
        "lock-reclaimed"
    }

    fn interest(&self) -> Interest {
        LockTable::INTEREST.and(Interest::FAULTS)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let lasts_ns = match event.body {
            // Who ends well has said of each lock that it took that it did.
            Body::Ended(Ended::Exited { code: 0, .. }) => None,
            Body::Paused | Body::Resumed | Body::Ended(_) | Body::MachineStarted | Body::CalmBegan => Some(0),
            // The call that is delayed may be a claim: until it is made, who has the lock can't be known.
            Body::Fault { kind: FaultKind::Delay, id } => {
                let fault = view.plan().faults.iter().find(|fault| fault.id == id);
                Some(fault.map_or(0, |fault| fault.for_ns))
            }
            _ => None,
        };
        if let Some(lasts_ns) = lasts_ns {
            self.unsettled_ns = self.unsettled_ns.max(event.time_ns + lasts_ns);
            self.suspects.clear();
        }
        if let Some(acquired) = view.claim::<LockAcquired>(event) {
            self.suspects.remove(&acquired.lock);
            set(&mut self.is_exclusive, &acquired.lock, acquired.exclusion == Exclusion::Holder);
        }
        for lock in self.table.holds.keys() {
            set(&mut self.last_held_ns, lock, event.time_ns);
        }
        // What this event adds is noted at the next: nobody times out on it before.
        let change = self.table.observe(event, view);
        if let Change::TimedOut { by, wait: Some(wait) } = change {
            let is_long = wait.within_ns >= WAIT_MIN_NS;
            let was_held = self.last_held_ns.get(&wait.lock).is_none_or(|at_ns| *at_ns >= wait.since_ns);
            let is_exclusive = self.is_exclusive.get(&wait.lock).copied().unwrap_or(false);
            let somebody_is_paused = view.processes().any(|process| process.is_paused);
            if is_long
                && view.is_timed()
                && !somebody_is_paused
                && self.unsettled_ns < wait.since_ns
                && !was_held
                && is_exclusive
            {
                let process = view.process(by.process);
                let waited_ns = event.time_ns - wait.since_ns;
                let message = format!(
                    "{} timed out on lock `{}` after {waited_ns} ns, and no live process has held it in that time",
                    process.name, wait.lock
                );
                let violation =
                    Violation::new(self.id(), message).object("lock").role(process.role).loss("never-reclaimed");
                self.suspects.entry(wait.lock).or_insert((event.time_ns, violation));
            }
        }
        let is_settled = |(at_ns, _): &(u64, Violation)| event.time_ns > at_ns + SETTLED_AFTER_NS;
        let settled = self.suspects.iter().find(|(_, suspect)| is_settled(suspect)).map(|(lock, _)| lock.clone());
        match settled.and_then(|lock| self.suspects.remove(&lock)) {
            Some((_, violation)) => Err(violation),
            None => Ok(()),
        }
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        // All have ended: nobody is left who could have taken it without saying so.
        self.suspects.pop_first().map_or(Ok(()), |(_, (_, violation))| Err(violation))
    }
}

fn set<T>(of: &mut BTreeMap<String, T>, lock: &String, value: T) {
    match of.get_mut(lock) {
        Some(known) => *known = value,
        None => drop(of.insert(lock.clone(), value)),
    }
}
