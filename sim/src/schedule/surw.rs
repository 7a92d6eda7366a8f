//! `surw`: selectively uniform (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). The seed draws what counts: everything that several tasks touch, or one
//! such thing. The orders in which it is touched are about equally likely, and everything else goes at random.

use super::footprint::{KINDS_ON_OBJECTS, NOTHING};
use super::step_counts::{StepCounts, Steps, TaskKey};
use super::urw::Left;
use super::{BITS, Ready, Strategy, bits, nth_bit};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the touches that are left of what counts.
pub struct Surw {
    stream: Stream,
    what: What,
    left: Left,
    /// Who touches it next, whether it is there already or not; [`NOBODY`]: as far as one knows all is done, and nobody is held back.
    intended: u64,
    /// Who was meant when it was touched last: and is still, where that call has to wait.
    intended_before: u64,
    /// Steps since then.
    untouched: u32,
}

/// What counts.
struct What {
    /// The only object, if there is one and it is no name: then it alone is compared.
    object: Option<u64>,
    /// The objects, if they are few and none is a name: the others are [`NOTHING`].
    few: Option<[u64; FEW_THINGS]>,
    counts: StepCounts,
    /// Where among the things that tasks share the only one is; [`ALL`]: all of them count.
    only: u32,
}

const ALL: u32 = u32::MAX;

/// So many things, or fewer, are compared one by one: in short programs, where one thing counts, and in many others.
const FEW_THINGS: usize = 3;

impl What {
    // Asked for each ready call at each step. `IS_ONE`: there is an `object`.
    #[inline(always)]
    fn is_touched_by<const IS_ONE: bool>(&self, call: &Ready) -> bool {
        if IS_ONE {
            return (self.object.unwrap_or(NOTHING) == call.object) & (KINDS_ON_OBJECTS >> call.kind as u64 & 1 == 1);
        }
        match &self.few {
            Some(objects) => {
                let is_one = objects.iter().fold(false, |is_one, object| is_one | (*object == call.object));
                is_one & (KINDS_ON_OBJECTS >> call.kind as u64 & 1 == 1)
            }
            None => self.looked_for(call),
        }
    }

    #[inline(never)]
    fn looked_for(&self, call: &Ready) -> bool {
        let (is_shared, thing) = self.counts.shared().touched(call);
        is_shared & ((self.only == ALL) | (self.only == thing))
    }

    /// Of the things that tasks share all, or the only one.
    fn new(counts: StepCounts, one: Option<usize>) -> What {
        let things = counts.shared().things();
        let counted = one.map_or(things, |one| &things[one..=one]);
        let are_few = counted.len() <= FEW_THINGS && counted.iter().all(|thing| thing.object != 0);
        let few = are_few.then(|| {
            let mut objects = [NOTHING; FEW_THINGS];
            objects.iter_mut().zip(counted).for_each(|(object, thing)| *object = thing.object);
            objects
        });
        let object = (few.is_some() && counted.len() == 1).then(|| counted[0].object);
        What { object, few, counts, only: one.map_or(ALL, |one| one as u32) }
    }
}

/// In so many seeds of [`SEEDS`] all that tasks share counts, in the others one thing. Bugs that need more than one thing in a certain order are found by the
/// former in half the schedules (`tools/peers`: deadlocks, ABA, writers that are met between two writes), those that hang on one among many by the latter.
const SEEDS_OF_ALL: u64 = 3;
const SEEDS: u64 = 4;

impl Surw {
    /// The schedule of a seed, by what a first run has counted.
    pub(super) fn new(seed: Seed, counts: StepCounts) -> Surw {
        let mut stream = seed.stream("schedule");
        let shared = counts.shared();
        // What is touched most, has most orders: a thing's chance is how often it is touched.
        let mut drawn = stream.below(shared.things().iter().map(|thing| thing.times).sum());
        let one = shared.things().iter().position(|thing| {
            let is_it = drawn < thing.times;
            drawn = drawn.wrapping_sub(thing.times);
            is_it
        });
        let one = one.filter(|_| !stream.chance(SEEDS_OF_ALL, SEEDS));
        let touches = one.map_or(shared.tasks(), |one| shared.things()[one].tasks.as_slice());
        let left = Left::new(touches.iter().map(|(task, times)| Steps::of(*task, *times)));
        let intended = intended(&left, &mut stream);
        Surw { stream, what: What::new(counts, one), left, intended, intended_before: intended, untouched: 0 }
    }
}

/// A call's task.
#[inline(always)]
fn task(call: &Ready) -> TaskKey {
    (call.process, call.ordinal)
}

/// A task in one number.
#[inline(always)]
fn number((process, ordinal): TaskKey) -> u64 {
    u64::from(process.0) << 32 | u64::from(ordinal)
}

/// Draws who touches next, of those that have some left.
#[inline(always)]
fn intended(left: &Left, stream: &mut Stream) -> u64 {
    left.draw(stream).map_or(NOBODY, number)
}

/// No task's number.
const NOBODY: u64 = u64::MAX;

/// After so many steps in which nothing that counts was touched nobody is held back any more: who is meant may wait for one of them, while another asks again and
/// again whether he is done.
const PATIENCE: u32 = 1_000;

/// In lists that are no longer all calls are looked at.
const SHORT: usize = 6;
/// In others so many are drawn first, one after the other, until one is not held back: of those that aren't, each is as likely as by looking at all.
const TRIES: usize = 3;

impl Surw {
    #[inline(always)]
    fn is_held<const IS_ONE: bool>(&self, call: &Ready) -> bool {
        self.what.is_touched_by::<IS_ONE>(call) & (number(task(call)) != self.intended)
    }

    /// The next step, where few calls are ready.
    #[inline]
    fn next_of_few<const IS_ONE: bool>(&mut self, ready: &[Ready]) -> usize {
        let all = FEW >> (SHORT - ready.len());
        let free = match self.intended {
            NOBODY => all,
            _ => bits(ready, |call| !self.is_held::<IS_ONE>(call)),
        } as usize;
        match self.drawn_of(u32::from(COUNTS[free])) {
            Some(drawn) => usize::from(NTH[free][drawn as usize]),
            None => self.left.pick(ready, &mut self.stream),
        }
    }

    /// The same, where many are.
    // Apart: it would take the registers of the other.
    #[inline(never)]
    fn next_of_many(&mut self, ready: &[Ready]) -> usize {
        match self.pick_free(ready) {
            Some(choice) => choice,
            None => self.left.pick(ready, &mut self.stream),
        }
    }

    /// One of the calls that are not held back; `None`: all are.
    #[inline]
    fn pick_free(&mut self, ready: &[Ready]) -> Option<usize> {
        let any = ready.len() as u32;
        if self.intended == NOBODY {
            return self.drawn_of(any).map(|drawn| drawn as usize);
        }
        for _ in 0..TRIES {
            let drawn = self.drawn_of(any)? as usize;
            if !self.is_held::<false>(&ready[drawn]) {
                return Some(drawn);
            }
        }
        if ready.len() > BITS {
            return self.pick_free_of_more(ready);
        }
        let free = bits(ready, |call| !self.is_held::<false>(call));
        let drawn = self.drawn_of(free.count_ones())?;
        Some(nth_bit(free, drawn))
    }

    #[cold]
    fn pick_free_of_more(&mut self, ready: &[Ready]) -> Option<usize> {
        let words: Vec<u64> =
            ready.chunks(BITS).map(|calls| bits(calls, |call| !self.is_held::<false>(call))).collect();
        let mut drawn = self.drawn_of(words.iter().map(|word| word.count_ones()).sum())?;
        for (index, word) in words.into_iter().enumerate() {
            if drawn < word.count_ones() {
                return Some(index * BITS + nth_bit(word, drawn));
            }
            drawn -= word.count_ones();
        }
        None
    }

    /// One of so many; `None`: there is none, and nothing is drawn.
    #[inline]
    fn drawn_of(&mut self, count: u32) -> Option<u32> {
        (count > 0).then(|| ((u64::from(self.stream.half_bits()) * u64::from(count)) >> 32) as u32)
    }
}

/// A bit for each call of a short list.
const FEW: u64 = (1 << SHORT) - 1;
/// How many of the bits of a short list are set, by these bits.
static COUNTS: [u8; 1 << SHORT] = {
    let (mut counts, mut bits) = ([0; 1 << SHORT], 0);
    while bits < counts.len() {
        counts[bits] = bits.count_ones() as u8;
        bits += 1;
    }
    counts
};
/// As [`nth_bit`], by the bits of a short list: how often one goes round there can't be guessed.
static NTH: [[u8; SHORT]; 1 << SHORT] = {
    let (mut places, mut bits) = ([[0; SHORT]; 1 << SHORT], 0usize);
    while bits < places.len() {
        let mut nth = 0;
        while nth < bits.count_ones() {
            places[bits][nth as usize] = nth_bit(bits as u64, nth) as u8;
            nth += 1;
        }
        bits += 1;
    }
    places
};

impl Strategy for Surw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        if self.what.object.is_some() { self.next_by::<true>(ready) } else { self.next_by::<false>(ready) }
    }

    fn waits(&mut self, call: &Ready) {
        if self.what.is_touched_by::<false>(call) {
            self.left.not_taken(call);
            self.intended = self.intended_before;
        }
    }
}

impl Surw {
    #[inline(always)]
    fn next_by<const IS_ONE: bool>(&mut self, ready: &[Ready]) -> usize {
        // Where all want to touch what counts, and nobody of them was meant, or who was meant waits, one is drawn by what is left.
        let choice = match ready.len() {
            // There is nothing to draw.
            1 => 0,
            ..=SHORT => self.next_of_few::<IS_ONE>(ready),
            _ => self.next_of_many(ready),
        };
        let call = &ready[choice];
        if self.what.is_touched_by::<IS_ONE>(call) {
            self.left.taken(call);
            self.intended_before = self.intended;
            self.intended = intended(&self.left, &mut self.stream);
            self.untouched = 0;
        } else {
            self.untouched += 1;
            if self.untouched == PATIENCE {
                self.intended = NOBODY;
            }
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::Touched;
    use super::*;
    use crate::trace::{CallKind, ProcessId, TaskId};

    fn call(ordinal: u32, kind: CallKind, object: u64, is_again: bool) -> Ready {
        Ready { due_ns: 0, object, task: TaskId(ordinal), process: ProcessId(0), ordinal, kind, is_again }
    }

    /// Counts of so many things, the names among them if one of them is to be 0.
    fn counts(things: u64, first: u64) -> StepCounts {
        let tasks = |object| vec![((ProcessId(0), 0), 2 + object), ((ProcessId(0), 1), 3)];
        StepCounts::of((first..first + things).map(|object| Touched::new(object, tasks(object))).collect())
    }

    #[test]
    fn few_things_are_told_as_many_are() {
        for (things, first) in [(1, 1), (2, 1), (3, 4), (3, 0), (4, 1), (9, 0)] {
            let ones = (0..things as usize).map(Some);
            for one in ones.chain([None]) {
                let what = What::new(counts(things, first), one);
                for (object, kind) in (0..12).flat_map(|object| CallKind::ALL.iter().map(move |kind| (object, *kind))) {
                    let call = call(0, kind, object, false);
                    let is_touched = what.looked_for(&call);
                    assert_eq!(what.is_touched_by::<false>(&call), is_touched, "{things} {first} {one:?} {call:?}");
                    if what.object.is_some() {
                        assert_eq!(what.is_touched_by::<true>(&call), is_touched, "{things} {first} {one:?} {call:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_short_list_is_picked_from_as_a_long_one_is() {
        let mut draws = Seed(1).stream("surw-test");
        for _ in 0..3_000 {
            let ready: Vec<Ready> = (0..=draws.below(SHORT as u64 - 1) as u32)
                .map(|ordinal| {
                    let kind = if draws.chance(2, 3) { CallKind::Mutex } else { CallKind::Yield };
                    call(ordinal, kind, draws.below(4), draws.chance(1, 4))
                })
                .collect();
            let seed = Seed(draws.bits());
            let [mut few, mut many] = [0, 1].map(|_| Surw::new(seed, counts(2, 1)));
            few.intended = number((ProcessId(0), draws.below(3) as u32));
            many.intended = few.intended;
            // What is drawn of a long list differs, and so does what comes of it: but not that nobody else touches.
            for choice in [few.next_of_few::<false>(&ready), many.next_of_many(&ready)] {
                let all_are_held = ready.iter().all(|call| few.is_held::<false>(call));
                assert!(!few.is_held::<false>(&ready[choice]) || all_are_held, "{ready:?}");
            }
        }
    }
}
