//! A belief: immutable, named by its content. What it rests on is in `record`, whether it holds in `label`.

use super::digest::Digest;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How much a belief counts against others, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standing {
    /// Picked up at work.
    Learned,
    /// Laid down for this swarm.
    Axiom,
    /// What the swarm is: it is laid down before anybody works, holds by itself, and nobody can change, supersede, forget or refute it.
    Core,
}

impl Standing {
    /// Every standing.
    pub const ALL: [Standing; 3] = [Standing::Learned, Standing::Axiom, Standing::Core];

    /// Its number in the store.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// The standing of that number.
    pub fn of_number(number: i64) -> Option<Standing> {
        Standing::ALL.into_iter().find(|standing| standing.number() == number)
    }
}

/// A belief: what is believed, with which standing, and since when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Belief {
    /// Its standing.
    pub standing: Standing,
    /// When it was first asserted, in nanoseconds: the assertion's own time, not that of its arrival.
    pub asserted_ns: u64,
    /// What is believed.
    pub text: String,
}

impl Belief {
    /// Its name: the digest of all that it is.
    pub fn id(&self) -> Digest {
        let standing = [self.standing as u8];
        let asserted_ns = self.asserted_ns.to_le_bytes();
        Digest::of("seedstorm 2026 belief", [&standing[..], &asserted_ns[..], self.text.as_bytes()])
    }

    /// Its rank against others.
    pub fn rank(&self) -> Rank {
        self.rank_as(self.id())
    }

    /// Its rank under a name that it had before its text was taken.
    pub(super) fn rank_as(&self, id: Digest) -> Rank {
        Rank { standing: self.standing, asserted_ns: Reverse(self.asserted_ns), id: Reverse(id) }
    }
}

/// Who yields to whom, whatever the order in which they arrived: core over axiom over learned; then what was asserted earlier; then the smaller digest.
/// The greater rank stands. No two beliefs have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The standing.
    pub standing: Standing,
    /// When it was asserted, in nanoseconds; earlier is more.
    pub asserted_ns: Reverse<u64>,
    /// The belief's digest; smaller is more.
    pub id: Reverse<Digest>,
}

impl Rank {
    /// The belief whose rank this is.
    pub fn belief(&self) -> Digest {
        self.id.0
    }

    /// Whether this is a core memory's.
    pub fn is_core(&self) -> bool {
        self.standing == Standing::Core
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_counts_first_then_time_then_content() {
        let rank = |standing, asserted_ns, text: &str| Belief { standing, asserted_ns, text: text.into() }.rank();
        assert!(rank(Standing::Core, 9, "a") > rank(Standing::Axiom, 1, "b"));
        assert!(rank(Standing::Axiom, 9, "a") > rank(Standing::Learned, 1, "b"));
        assert!(rank(Standing::Learned, 1, "a") > rank(Standing::Learned, 2, "b"), "earlier stands");
        let (one, two) = (rank(Standing::Learned, 1, "a"), rank(Standing::Learned, 1, "b"));
        assert_eq!(one > two, one.belief() < two.belief(), "the smaller digest stands");
    }
}
