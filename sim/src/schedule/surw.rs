//! `surw`: selectively uniform (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). The seed draws what counts: everything that several tasks touch, or one
//! such thing. The orders in which it is touched are about equally likely, and everything else goes at random.

use super::step_counts::{StepCounts, Steps, TaskKey};
use super::urw::Left;
use super::{Ready, Strategy, nth_bit};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the touches that are left of what counts.
pub struct Surw {
    stream: Stream,
    what: What,
    left: Left,
    /// Whether somebody has touched what counts since `intended` was drawn.
    is_touched: bool,
    /// Who touches it next, whether it is there already or not; `None`: as far as one knows all is done, and nobody is held back.
    intended: Option<TaskKey>,
}

/// What counts.
struct What {
    counts: StepCounts,
    /// Where among the things that tasks share the only one is; [`ALL`]: all of them count.
    only: u32,
}

const ALL: u32 = u32::MAX;

impl What {
    #[inline]
    fn is_touched_by(&self, call: &Ready) -> bool {
        let (is_shared, thing) = self.counts.shared().touched(call);
        is_shared & ((self.only == ALL) | (self.only == thing))
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
        let only = one.map_or(ALL, |one| one as u32);
        Surw { stream, what: What { counts, only }, left, is_touched: true, intended: None }
    }
}

/// A task in one number.
#[inline]
fn number((process, ordinal): TaskKey) -> u64 {
    u64::from(process.0) << 32 | u64::from(ordinal)
}

/// In lists that are no longer all calls are looked at.
const SHORT: usize = 6;
/// In others so many are drawn first, one after the other, until one is not held back: of those that aren't, each is as likely as by looking at all.
const TRIES: usize = 3;

impl Surw {
    /// The calls that are not held back while a task is meant, a bit for each.
    // Without branches: whether a call is held is as good as random, and a processor that guesses wrong loses more time than the rest takes.
    #[inline]
    fn free(&self, calls: &[Ready], meant: u64) -> u64 {
        calls.iter().rev().fold(0, |free, call| free << 1 | u64::from(!self.is_held(call, meant)))
    }

    #[inline]
    fn is_held(&self, call: &Ready, meant: u64) -> bool {
        self.what.is_touched_by(call) & (number((call.process, call.ordinal)) != meant)
    }

    /// One of the calls that are not held back; `None`: all are.
    #[inline]
    fn pick_free(&mut self, ready: &[Ready]) -> Option<usize> {
        let any = ready.len() as u32;
        let Some(meant) = self.intended.map(number) else { return self.drawn_of(any).map(|drawn| drawn as usize) };
        if ready.len() > SHORT {
            for _ in 0..TRIES {
                let drawn = self.drawn_of(any)? as usize;
                if !self.is_held(&ready[drawn], meant) {
                    return Some(drawn);
                }
            }
        }
        if ready.len() > u64::BITS as usize {
            return self.pick_free_of_many(ready, meant);
        }
        let free = self.free(ready, meant);
        let drawn = self.drawn_of(free.count_ones())?;
        Some(nth_bit(free, drawn))
    }

    #[cold]
    fn pick_free_of_many(&mut self, ready: &[Ready], meant: u64) -> Option<usize> {
        let words: Vec<u64> = ready.chunks(u64::BITS as usize).map(|calls| self.free(calls, meant)).collect();
        let mut drawn = self.drawn_of(words.iter().map(|word| word.count_ones()).sum())?;
        for (index, word) in words.into_iter().enumerate() {
            if drawn < word.count_ones() {
                return Some(index * u64::BITS as usize + nth_bit(word, drawn));
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

impl Strategy for Surw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        if std::mem::take(&mut self.is_touched) {
            let again = ready.iter().filter(|call| call.is_again && self.what.is_touched_by(call));
            let again = again.map(|call| (call.process, call.ordinal));
            self.intended = self.left.draw(again, &mut self.stream);
        }
        let choice = match self.pick_free(ready) {
            Some(choice) => choice,
            // All want to touch it, and nobody of them was meant, or who was meant waits: one is drawn by what is left.
            None => self.left.pick(ready, &mut self.stream),
        };
        let chosen = &ready[choice];
        if self.what.is_touched_by(chosen) {
            self.left.taken(chosen);
            self.is_touched = true;
        }
        choice
    }
}
