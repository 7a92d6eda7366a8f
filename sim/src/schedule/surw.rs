//! `surw`: selectively uniform (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). The seed draws one thing that several tasks touch; the orders in which
//! they touch it are about equally likely, and everything else goes at random.

use super::footprint::kinds_that_touch;
use super::step_counts::{Steps, TaskKey, Touched};
use super::urw::Left;
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the touches of one thing that are left.
pub struct Surw {
    stream: Stream,
    thing: Thing,
    left: Left,
    /// Whether somebody has touched it since `intended` was drawn.
    is_touched: bool,
    /// Who touches it next, whether it is there already or not; `None`: as far as one knows all is done, and nobody is held back.
    intended: Option<TaskKey>,
}

impl Surw {
    /// The schedule of a seed, by what a first run has counted.
    pub(super) fn new(seed: Seed, shared: &[Touched]) -> Surw {
        let mut stream = seed.stream("schedule");
        let drawn = draw_object(shared, &mut stream);
        let touches = drawn.map_or(&[][..], |drawn| &drawn.tasks);
        let left = Left::new(touches.iter().map(|(task, times)| Steps::of(*task, *times)));
        let thing = drawn.map_or(Thing::NONE, |drawn| Thing::new(drawn.object));
        Surw { stream, thing, left, is_touched: true, intended: None }
    }
}

/// Something that several tasks touch.
#[derive(Clone, Copy)]
struct Thing {
    object: u64,
    /// The kinds of call that touch it, by their bits: to look them up for each ready call at each step would be half of what a step costs.
    kinds: u64,
}

impl Thing {
    fn new(object: u64) -> Thing {
        Thing { object, kinds: kinds_that_touch(object) }
    }

    /// Nothing: no call touches it.
    const NONE: Thing = Thing { object: 0, kinds: 0 };

    #[inline]
    fn is_touched_by(self, call: &Ready) -> bool {
        (call.object == self.object) & (self.kinds >> call.kind as u64 & 1 == 1)
    }
}

/// A task in one number.
#[inline]
fn number((process, ordinal): TaskKey) -> u64 {
    u64::from(process.0) << 32 | u64::from(ordinal)
}

impl Surw {
    /// The calls that are not held back, a bit for each.
    // Without branches: whether a call is held is as good as random, and a processor that guesses wrong loses more time than the rest takes.
    #[inline]
    fn free(&self, calls: &[Ready]) -> u64 {
        let (thing, is_somebody_meant) = (self.thing, self.intended.is_some());
        let meant = self.intended.map_or(0, number);
        calls.iter().rev().fold(0, |free, call| {
            let is_held =
                thing.is_touched_by(call) & is_somebody_meant & (number((call.process, call.ordinal)) != meant);
            free << 1 | u64::from(!is_held)
        })
    }

    /// One of the calls that are not held back; `None`: all are.
    #[inline]
    fn pick_free(&mut self, ready: &[Ready]) -> Option<usize> {
        if ready.len() > u64::BITS as usize {
            return self.pick_free_of_many(ready);
        }
        let free = self.free(ready);
        let drawn = self.drawn_of(free.count_ones())?;
        Some(nth_bit(free, drawn))
    }

    #[cold]
    fn pick_free_of_many(&mut self, ready: &[Ready]) -> Option<usize> {
        let words: Vec<u64> = ready.chunks(u64::BITS as usize).map(|calls| self.free(calls)).collect();
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

/// The place of the n-th of the bits that are set.
#[inline]
fn nth_bit(mut bits: u64, nth: u32) -> usize {
    (0..nth).for_each(|_| bits &= bits - 1);
    bits.trailing_zeros() as usize
}

/// What is touched most, has most orders: a thing's chance is how often it is touched.
fn draw_object<'a>(shared: &'a [Touched], stream: &mut Stream) -> Option<&'a Touched> {
    let mut drawn = stream.below(shared.iter().map(|object| object.times).sum());
    shared.iter().find(|object| {
        let is_it = drawn < object.times;
        drawn = drawn.wrapping_sub(object.times);
        is_it
    })
}

impl Strategy for Surw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let thing = self.thing;
        if std::mem::take(&mut self.is_touched) {
            let again = ready.iter().filter(|call| call.is_again && thing.is_touched_by(call));
            let again = again.map(|call| (call.process, call.ordinal));
            self.intended = self.left.draw(again, &mut self.stream);
        }
        let choice = match self.pick_free(ready) {
            Some(choice) => choice,
            // All want to touch it, and nobody of them was meant, or who was meant waits: one is drawn by what is left.
            None => self.left.pick(ready, &mut self.stream),
        };
        let chosen = &ready[choice];
        if thing.is_touched_by(chosen) {
            self.left.taken(chosen);
            self.is_touched = true;
        }
        choice
    }
}
