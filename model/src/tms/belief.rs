//! A belief: immutable, named by its content. What it rests on is in `record`, whether it holds in `label`.

use crate::memory::Digest;
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
    /// Its bytes as a memory: a line of the standing's number and the time, then the text.
    pub fn encode(&self) -> Vec<u8> {
        format!("{} {}\n{}", self.standing.number(), self.asserted_ns, self.text).into_bytes()
    }

    /// Reads a memory's bytes; `None` if they are no belief's.
    pub fn decode(bytes: &[u8]) -> Option<Belief> {
        let (head, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let (standing, asserted_ns) = head.split_once(' ')?;
        let standing = Standing::of_number(standing.parse().ok()?)?;
        let belief = Belief { standing, asserted_ns: asserted_ns.parse().ok()?, text: text.to_owned() };
        // One belief, one form.
        (belief.encode() == bytes).then_some(belief)
    }

    /// Its name: the digest of its bytes.
    pub fn id(&self) -> Digest {
        Digest::of(&self.encode())
    }

    /// Its rank against others.
    pub fn rank(&self) -> Rank {
        Rank { standing: self.standing, asserted_ns: Reverse(self.asserted_ns), id: Reverse(self.id()) }
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
    fn a_belief_is_read_as_it_was_written() {
        let belief = Belief { standing: Standing::Axiom, asserted_ns: 7, text: "a\nb".into() };
        assert_eq!(Belief::decode(&belief.encode()), Some(belief));
        for bytes in [&b"1 7"[..], b"3 7\nx", b"01 7\nx", b"1 +7\nx", b"1 7 \nx"] {
            assert_eq!(Belief::decode(bytes), None);
        }
    }

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
