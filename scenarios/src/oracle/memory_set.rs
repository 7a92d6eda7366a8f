//! The Merkle root of a set of memories by its definition, written for the checks and apart from the engine's: of a set, not of a sequence of insertions.
//!
//! The hash of one memory is BLAKE3 of a 0 and its digest. That of more: of a 1, how many first bits they share (two bytes, the high one first), the hash of
//! those that go on with a 0, and the hash of those that go on with a 1. That of none is BLAKE3 of a 2.

use seedstorm_model::memory::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// A set of memories. What adding one costs depends on how many it shares its first bits with, not on how many there are.
#[derive(Clone, Debug, Default)]
pub struct MemorySet {
    members: BTreeSet<Digest>,
    /// Of each subset that shares so many first bits, and no more: its hash.
    hashes: BTreeMap<(u32, Digest), Digest>,
}

impl MemorySet {
    /// Adds a memory. Gives whether it is new.
    pub fn insert(&mut self, memory: Digest) -> bool {
        let is_new = self.members.insert(memory);
        if is_new && let (Some(first), Some(last)) = (self.members.first(), self.members.last()) {
            self.hash(*first, *last, &memory);
        }
        is_new
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.members.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The root.
    pub fn root(&self) -> Digest {
        match (self.members.first(), self.members.last()) {
            (Some(first), Some(last)) => self.known(*first, *last).unwrap_or_else(|| hash_of(&[&[0], &first.0])),
            _ => hash_of(&[&[2]]),
        }
    }

    fn known(&self, first: Digest, last: Digest) -> Option<Digest> {
        let shared = shared_bits(first, last);
        self.hashes.get(&(shared, front(first, shared, false))).copied()
    }

    /// The hash of the members from `first` to `last`, which are all that share what these two share. What doesn't hold `added` is as it was.
    fn hash(&mut self, first: Digest, last: Digest, added: &Digest) -> Digest {
        if first == last {
            return hash_of(&[&[0], &first.0]);
        }
        if !(first..=last).contains(added)
            && let Some(known) = self.known(first, last)
        {
            return known;
        }
        let shared = shared_bits(first, last);
        let middle = front(first, shared, true);
        let end = self.members.range(..middle).next_back().copied().unwrap_or(first);
        let start = self.members.range(middle..).next().copied().unwrap_or(last);
        let [zeros, ones] = [self.hash(first, end, added), self.hash(start, last, added)];
        let hash = hash_of(&[&[1], &(shared as u16).to_be_bytes(), &zeros.0, &ones.0]);
        self.hashes.insert((shared, front(first, shared, false)), hash);
        hash
    }
}

fn hash_of(parts: &[&[u8]]) -> Digest {
    Digest::of(&parts.concat())
}

/// How many first bits two digests share.
fn shared_bits(one: Digest, other: Digest) -> u32 {
    let differs = one.0.iter().zip(other.0).position(|(one, other)| *one != other);
    differs.map_or(256, |at| at as u32 * 8 + (one.0[at] ^ other.0[at]).leading_zeros())
}

/// The least digest that has these first bits, and then a 1 if `and_one`.
fn front(digest: Digest, bits: u32, and_one: bool) -> Digest {
    let mut front = Digest([0; 32]);
    for bit in 0..bits as usize {
        front.0[bit / 8] |= digest.0[bit / 8] & 0x80 >> (bit % 8);
    }
    if and_one && bits < 256 {
        front.0[bits as usize / 8] |= 0x80 >> (bits % 8);
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> Digest {
        Digest::of(&number.to_le_bytes())
    }

    /// The definition, word for word.
    fn by_definition(members: &[Digest]) -> Digest {
        match members {
            [] => hash_of(&[&[2]]),
            [one] => hash_of(&[&[0], &one.0]),
            [first, ..] => {
                let shared = members.iter().map(|member| shared_bits(*first, *member)).min().unwrap_or(256);
                let bit = |member: &&Digest| member.0[shared as usize / 8] & 0x80 >> (shared % 8) != 0;
                let (ones, zeros): (Vec<Digest>, Vec<Digest>) = members.iter().partition(bit);
                let shared = (shared as u16).to_be_bytes();
                hash_of(&[&[1], &shared, &by_definition(&zeros).0, &by_definition(&ones).0])
            }
        }
    }

    #[test]
    fn a_root_that_grew_is_the_root_by_definition() {
        let (mut set, mut members) = (MemorySet::default(), Vec::new());
        assert_eq!(set.root(), by_definition(&members));
        for number in 0..200 {
            members.push(digest(number * 7 % 200));
            assert!(set.insert(digest(number * 7 % 200)));
            assert_eq!((set.root(), set.len()), (by_definition(&members), members.len() as u64), "{number}");
        }
        assert!(!set.insert(digest(3)) && set.root() == by_definition(&members));
        assert_eq!(set.hashes.len(), 199, "nothing is kept that isn't of use");
    }
}
