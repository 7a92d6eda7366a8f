//! `surw`: selectively uniform (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025). The seed draws one thing that several tasks touch; the orders in which
//! they touch it are about equally likely, and everything else goes at random.

use super::footprint::touched;
use super::step_counts::{TaskKey, Touched};
use super::urw::Left;
use super::{Ready, Strategy};
use crate::seed::{Draw, Seed, Stream};

/// A walk by the touches of one thing that are left.
pub struct Surw {
    stream: Stream,
    /// The thing; `None`: nobody shares anything.
    object: Option<u64>,
    left: Left,
    /// Whether somebody has touched it since `intended` was drawn.
    is_touched: bool,
    /// Who touches it next, whether it is there already or not; `None`: as far as one knows all is done, and nobody is held back.
    intended: Option<TaskKey>,
    /// Indexes into the ready calls; kept for its memory.
    candidates: Vec<usize>,
}

impl Surw {
    /// The schedule of a seed, by what a first run has counted.
    pub(super) fn new(seed: Seed, shared: &[Touched]) -> Surw {
        let mut stream = seed.stream("schedule");
        let drawn = draw_object(shared, &mut stream);
        let left = Left::new(drawn.map_or(&[], |(_, tasks)| tasks));
        let object = drawn.map(|(object, _)| *object);
        Surw { stream, object, left, is_touched: true, intended: None, candidates: Vec::new() }
    }
}

/// Whether a call touches the thing.
#[inline]
fn touches(object: Option<u64>, call: &Ready) -> bool {
    object == Some(call.object) && touched(call.kind, call.object) == object
}

/// What is touched most, has most orders: a thing's chance is how often it is touched.
fn draw_object<'a>(shared: &'a [Touched], stream: &mut Stream) -> Option<&'a Touched> {
    let touches = |(_, tasks): &Touched| tasks.iter().map(|(_, count)| count).sum::<u64>();
    let mut drawn = stream.below(shared.iter().map(touches).sum());
    shared.iter().find(|object| {
        let is_it = drawn < touches(object);
        drawn = drawn.wrapping_sub(touches(object));
        is_it
    })
}

impl Strategy for Surw {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let object = self.object;
        if std::mem::take(&mut self.is_touched) {
            let again = ready.iter().filter(|call| call.is_again && touches(object, call));
            let again = again.map(|call| (call.process, call.ordinal));
            self.intended = self.left.draw(again, &mut self.stream);
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for (index, call) in ready.iter().enumerate() {
            let is_held =
                touches(object, call) && self.intended.is_some_and(|intended| intended != (call.process, call.ordinal));
            if !is_held {
                candidates.push(index);
            }
        }
        let choice = if candidates.is_empty() {
            // All want to touch it, and nobody of them was meant, or who was meant waits: one is drawn by what is left.
            self.left.pick(ready, &mut self.stream)
        } else {
            candidates[((u64::from(self.stream.half_bits()) * candidates.len() as u64) >> 32) as usize]
        };
        self.candidates = candidates;
        let chosen = &ready[choice];
        if touches(object, chosen) {
            self.left.taken(chosen);
            self.is_touched = true;
        }
        choice
    }
}
