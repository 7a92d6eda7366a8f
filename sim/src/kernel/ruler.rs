//! Sees what runs on one thread do to what std and madsim keep for it: how hash maps are seeded, and madsim's chance. Neither tells, but of two threads that
//! began alike the n-th draw of one is the n-th draw of the other: a ruler holds the draws that are to come.

use super::run::{RunError, SELF_CONTAINED_SEED, on_fresh_thread, runtime};
use std::hash::{BuildHasher, RandomState};

/// What std makes of a number with a hash map that is made now: each is seeded a little differently.
fn hash_map() -> u64 {
    RandomState::new().hash_one(0u64)
}

/// A draw from madsim's chance, in a simulation.
fn chance() -> u64 {
    madsim::rand::random()
}

/// Draws that a thread will make, and how many of them it has made.
struct Ruler {
    draw: fn() -> u64,
    draws: Vec<u64>,
    made: usize,
}

impl Ruler {
    fn of(draw: fn() -> u64, length: usize) -> Ruler {
        Ruler { draw, draws: (0..length).map(|_| draw()).collect(), made: 0 }
    }

    /// Makes a draw, and says how many there have been. None beyond the ruler's end.
    fn make(&mut self) -> Option<usize> {
        let drawn = (self.draw)();
        let since = self.draws[self.made..].iter().position(|draw| *draw == drawn);
        // Of what comes after the end nothing is known any more.
        self.made = since.map_or(self.draws.len(), |since| self.made + since + 1);
        since.map(|_| self.made)
    }
}

/// The rulers of a thread to come.
pub(super) struct Rulers {
    hash_maps: Ruler,
    chance: Ruler,
}

/// The rulers of a thread that has begun.
pub(super) struct Begun(Rulers);

/// The most that is left unused at a ruler's end: no run that touches nothing needs as much.
const LEFT_MAX: usize = 256;

/// How threads with rulers begin: madsim seeds a thread's hash maps with its first runtime there.
fn begin_thread() {
    drop(runtime(SELF_CONTAINED_SEED));
}

impl Rulers {
    /// Makes rulers of a length, on a thread that ends with that.
    pub(super) fn made_apart(length: usize) -> Result<Rulers, RunError> {
        on_fresh_thread(|| {
            begin_thread();
            let hash_maps = Ruler::of(hash_map, length);
            let chance = runtime(SELF_CONTAINED_SEED).block_on(async { Ruler::of(chance, length) });
            Ok(Rulers { hash_maps, chance })
        })
    }

    /// Begins a fresh thread, and lays the rulers to it.
    pub(super) fn begin(self) -> Result<Begun, RunError> {
        begin_thread();
        let mut begun = Begun(self);
        match begun.0.hash_maps.make() {
            Some(1) => Ok(begun),
            _ => Err(RunError::Other("hash maps of this build are seeded in a way that can't be foretold".to_owned())),
        }
    }
}

impl Begun {
    /// Whether the rulers are long enough for another run.
    pub(super) fn has_room(&self) -> bool {
        [&self.0.hash_maps, &self.0.chance].iter().all(|ruler| ruler.draws.len() - ruler.made > LEFT_MAX)
    }

    /// Does something, and counts the hash maps that it made. None: too many to count.
    pub(super) fn hash_maps<T>(&mut self, work: impl FnOnce() -> T) -> (T, Option<usize>) {
        let before = self.0.hash_maps.make();
        let made = work();
        let after = self.0.hash_maps.make();
        (made, before.zip(after).map(|(before, after)| after - before - 1))
    }

    /// A new simulation's chance begins anew. Before it others may have made hash maps: whatever it was is past.
    pub(super) fn enters_simulation(&mut self) {
        self.0.hash_maps.make();
        self.0.chance.made = 0;
        self.0.chance.make();
    }

    /// Does something in a simulation, and gives what came of it, if it made no hash map and drew nothing from madsim's chance since the last look:
    /// [`Begun::enters_simulation`], or this.
    pub(super) fn untouched<T>(&mut self, work: impl FnOnce() -> T) -> Option<T> {
        let Rulers { hash_maps, chance } = &mut self.0;
        let next = [hash_maps.made + 1, chance.made + 1];
        let made = work();
        ([hash_maps.make(), chance.make()] == next.map(Some)).then_some(made)
    }
}
