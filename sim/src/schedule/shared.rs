//! What several tasks touch, and which of it a call touches. That is asked for each ready call at each step: where things are few, it takes one look and no branch.

use super::Ready;
use super::footprint::{KINDS_ON_OBJECTS, NOTHING, key};
use super::step_counts::TaskKey;
use std::collections::BTreeMap;

/// Something that several tasks have touched.
#[derive(Debug, PartialEq)]
pub(super) struct Touched {
    pub(super) object: u64,
    /// How often, by all tasks together.
    pub(super) times: u64,
    /// How often each did, by rising task.
    pub(super) tasks: Vec<(TaskKey, u64)>,
}

impl Touched {
    pub(super) fn new(object: u64, tasks: Vec<(TaskKey, u64)>) -> Touched {
        Touched { object, times: tasks.iter().map(|(_, times)| times).sum(), tasks }
    }
}

/// All of it.
#[derive(Debug)]
pub(super) struct Shared {
    things: Vec<Touched>,
    /// How often each task has touched any of it, by rising task.
    tasks: Vec<(TaskKey, u64)>,
    /// Where each thing is in `things`, by its key: at the place of its hash, or one of the next few.
    slots: Vec<Slot>,
    multiplier: u64,
    shift: u32,
    /// So many slots are looked at.
    probes: usize,
    /// One slot is enough, and no names are among the things: then an object is its own key.
    is_plain: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    /// The kinds of call that touch the thing, by their bits.
    kinds: u64,
    thing: u32,
}

/// No call has this key.
const EMPTY: Slot = Slot { key: NOTHING - 1, kinds: 0, thing: 0 };

/// So many slots for each thing at least: in so much room few things are in each other's way.
const ROOM: usize = 8;
/// So many multipliers are tried, for one that puts no two things in one place.
const TRIALS: u64 = 64;

impl Shared {
    pub(super) fn new(things: Vec<Touched>) -> Shared {
        let mut tasks: BTreeMap<TaskKey, u64> = BTreeMap::new();
        for (task, times) in things.iter().flat_map(|thing| &thing.tasks) {
            *tasks.entry(*task).or_default() += times;
        }
        let bits = (things.len() * ROOM).next_power_of_two().trailing_zeros();
        let shift = (u64::BITS - bits).min(u64::BITS - 1);
        let placed = |trial: u64| {
            // Odd, and as good as drawn (Vigna's SplitMix64 goes by such steps).
            let multiplier = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * trial + 1) | 1;
            let (slots, probes) = put(&things, multiplier, shift);
            (probes, multiplier, slots)
        };
        let mut best = placed(0);
        for trial in 1..TRIALS {
            if best.0 == 1 {
                break;
            }
            let other = placed(trial);
            if other.0 < best.0 {
                best = other;
            }
        }
        let (probes, multiplier, slots) = best;
        let is_plain = probes == 1 && things.iter().all(|thing| thing.object != 0);
        Shared { things, tasks: tasks.into_iter().collect(), slots, multiplier, shift, probes, is_plain }
    }

    pub(super) fn things(&self) -> &[Touched] {
        &self.things
    }

    /// How often each task has touched any of it, by rising task.
    pub(super) fn tasks(&self) -> &[(TaskKey, u64)] {
        &self.tasks
    }

    /// Whether the call touches any of it, and where that is in `things`.
    #[inline(always)]
    pub(super) fn touched(&self, call: &Ready) -> (bool, u32) {
        if !self.is_plain {
            return self.looked_for(call);
        }
        let slot = &self.slots[place(call.object, self.multiplier, self.shift)];
        ((slot.key == call.object) & (slot.kinds >> call.kind as u64 & 1 == 1), slot.thing)
    }

    #[inline(never)]
    fn looked_for(&self, call: &Ready) -> (bool, u32) {
        let key = key(call);
        let first = place(key, self.multiplier, self.shift);
        let slots = &self.slots[first..first + self.probes];
        slots.iter().fold((false, 0), |(is_touched, thing), slot| {
            let is_it = slot.key == key;
            (is_touched | is_it, if is_it { slot.thing } else { thing })
        })
    }
}

#[inline(always)]
fn place(key: u64, multiplier: u64, shift: u32) -> usize {
    (key.wrapping_mul(multiplier) >> shift) as usize
}

/// The things in their slots, each in the first free one from its place on, and how far the farthest is.
fn put(things: &[Touched], multiplier: u64, shift: u32) -> (Vec<Slot>, usize) {
    // Whoever looks never looks past the end.
    let mut slots = vec![EMPTY; (1 << (u64::BITS - shift)) + things.len() + 1];
    let mut probes = 1;
    for (index, thing) in things.iter().enumerate() {
        let first = place(thing.object, multiplier, shift);
        let free = slots[first..].iter().position(|slot| slot.key == EMPTY.key).unwrap_or(0);
        slots[first + free] = Slot { key: thing.object, kinds: KINDS_ON_OBJECTS, thing: index as u32 };
        probes = probes.max(free + 1);
    }
    (slots, probes)
}

impl Default for Shared {
    fn default() -> Shared {
        Shared::new(Vec::new())
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        self.things == other.things
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{CallKind, ProcessId, TaskId};

    fn call(kind: CallKind, object: u64) -> Ready {
        let (task, process) = (TaskId(0), ProcessId(0));
        Ready { due_ns: 0, object, task, process, ordinal: 0, kind, is_again: false }
    }

    fn shared(objects: impl Iterator<Item = u64>) -> Shared {
        Shared::new(objects.map(|object| Touched::new(object, vec![((ProcessId(0), 0), 2)])).collect())
    }

    #[test]
    fn calls_are_told_from_each_other_however_many_things_there_are() {
        for count in [0, 1, 2, 7, 100, 3_000] {
            let object = |index: u64| index * index * 977 + 5;
            let shared = shared((0..count).map(object));
            for index in 0..count {
                let thing = shared.touched(&call(CallKind::WriteAt, object(index)));
                assert_eq!(thing, (true, index as u32), "{count}");
            }
            for call in [call(CallKind::WriteAt, 6), call(CallKind::WriteAt, 0), call(CallKind::Yield, object(0))] {
                assert!(!shared.touched(&call).0, "{count}: {call:?}");
            }
            assert!(shared.probes <= 8, "{count}: {}", shared.probes);
        }
    }

    #[test]
    fn all_names_are_one_thing() {
        let shared = shared([0, 9].into_iter());
        assert_eq!(shared.touched(&call(CallKind::Open, 77)), (true, 0));
        assert_eq!(shared.touched(&call(CallKind::Rename, 0)), (true, 0));
        assert_eq!(shared.touched(&call(CallKind::Write, 9)), (true, 1));
    }
}
