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
        let intended = left.draw(&mut stream);
        Surw { stream, object: drawn.map(|(object, _)| *object), left, intended, candidates: Vec::new() }
    }

    fn touches(&self, call: &Ready) -> bool {
        self.object.is_some() && touched(call.kind, call.object) == self.object
    }
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
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let intended = self.intended;
        candidates.extend((0..ready.len()).filter(|index| {
            let call = &ready[*index];
            intended.is_none() || !self.touches(call) || intended == Some((call.process, call.ordinal))
        }));
        let choice = if candidates.is_empty() {
            // All want to touch it, and nobody of them was meant, or who was meant waits: one is drawn by what is left.
            self.left.pick(ready, &mut self.stream)
        } else {
            candidates[self.stream.below(candidates.len() as u64) as usize]
        };
        self.candidates = candidates;
        let chosen = &ready[choice];
        if self.touches(chosen) {
            self.left.taken(chosen);
            self.intended = self.left.draw(&mut self.stream);
        }
        choice
    }
}
