//! Recorded decisions, packed: a run of millions of steps may hold as many. What a decision means is in `replay`.

use super::Decision;
use crate::trace::{CallKind, ProcessId};
use serde::{Deserialize, Serialize};

/// Departures from the default rule, by rising step. Each takes four bytes where its numbers are small, and 24 where they are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Decision>", into = "Vec<Decision>")]
pub struct Departures {
    /// A word each: steps since the one before, process, task, kind. Or [`WIDE`], and the same in words of their own. In chunks, all but the last of
    /// which are full: one vector would be copied each time that it grows.
    chunks: Vec<Vec<u32>>,
    count: usize,
    last_step: u64,
}

/// Words of a chunk.
const CHUNK_WORDS: usize = 1 << 14;

/// Says that the five words that follow hold a decision. No narrow word has it: a narrow one's first byte is below 255.
const WIDE: u32 = 0xFF00_0000;

impl Departures {
    /// Adds one. Its step must be above the last one's.
    #[inline]
    pub fn push(&mut self, decision: Decision) {
        let Decision { step, process, ordinal, kind } = decision;
        debug_assert!(step > self.last_step, "departures come by rising step");
        let since = step.wrapping_sub(self.last_step);
        self.last_step = step;
        self.count += 1;
        if since < 0xFF && (process.0 | u32::from(ordinal)) <= 0xFF {
            self.push_word((since as u32) << 24 | process.0 << 16 | u32::from(ordinal) << 8 | u32::from(kind as u8));
        } else {
            self.push_wide(since, process, ordinal, kind);
        }
    }

    #[cold]
    fn push_wide(&mut self, since: u64, process: ProcessId, ordinal: u16, kind: CallKind) {
        let words = [WIDE, since as u32, (since >> 32) as u32, process.0, u32::from(ordinal), u32::from(kind as u8)];
        words.into_iter().for_each(|word| self.push_word(word));
    }

    #[inline]
    fn push_word(&mut self, word: u32) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK_WORDS => chunk.push(word),
            _ => self.push_chunk(word),
        }
    }

    #[cold]
    fn push_chunk(&mut self, word: u32) {
        // A short run has few decisions: its one chunk grows.
        let capacity = if self.chunks.is_empty() { 0 } else { CHUNK_WORDS };
        let mut chunk = Vec::with_capacity(capacity);
        chunk.push(word);
        self.chunks.push(chunk);
    }

    fn word(&self, index: usize) -> Option<u32> {
        self.chunks.get(index / CHUNK_WORDS)?.get(index % CHUNK_WORDS).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, by rising step.
    pub fn iter(&self) -> impl Iterator<Item = Decision> + '_ {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }
}

/// A place in [`Departures`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    word: usize,
    step: u64,
}

impl Cursor {
    /// The decision at the cursor, which moves past it.
    pub(super) fn next(&mut self, departures: &Departures) -> Option<Decision> {
        let word = departures.word(self.word)?;
        let (since, process, ordinal, kind) = if word == WIDE {
            let mut wide = [0; 5];
            for (index, part) in wide.iter_mut().enumerate() {
                *part = departures.word(self.word + 1 + index)?;
            }
            self.word += 6;
            (u64::from(wide[0]) | u64::from(wide[1]) << 32, wide[2], wide[3] as u16, wide[4])
        } else {
            self.word += 1;
            (u64::from(word >> 24), word >> 16 & 0xFF, (word >> 8 & 0xFF) as u16, word & 0xFF)
        };
        self.step += since;
        let kind = *CallKind::ALL.get(kind as usize)?;
        Some(Decision { step: self.step, process: ProcessId(process), ordinal, kind })
    }

    /// The decision at the cursor, which stays.
    pub(super) fn peek(self, departures: &Departures) -> Option<Decision> {
        { self }.next(departures)
    }
}

impl FromIterator<Decision> for Departures {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Departures {
        let mut departures = Departures::default();
        decisions.into_iter().for_each(|decision| departures.push(decision));
        departures
    }
}

impl From<Vec<Decision>> for Departures {
    fn from(decisions: Vec<Decision>) -> Departures {
        decisions.into_iter().collect()
    }
}

impl From<Departures> for Vec<Decision> {
    fn from(departures: Departures) -> Vec<Decision> {
        departures.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_comes_back_whatever_its_size() {
        let mut all = Vec::new();
        let mut step = 0;
        for since in [1; CHUNK_WORDS / 16].into_iter().chain([1, 254, 255, 256, 1 << 31, 1 << 32, 1 << 40, 3]) {
            for process in [0, 255, 256, u32::MAX] {
                for ordinal in [0, 255, 256, u16::MAX] {
                    step += since;
                    let kind = CallKind::ALL[all.len() % CallKind::ALL.len()];
                    all.push(Decision { step, process: ProcessId(process), ordinal, kind });
                }
            }
        }
        let departures: Departures = all.iter().copied().collect();
        assert_eq!((departures.len(), departures.is_empty()), (all.len(), false));
        assert_eq!(departures.iter().collect::<Vec<_>>(), all);
        let mut cursor = Cursor::default();
        for decision in all {
            assert_eq!(cursor.peek(&departures), Some(decision));
            assert_eq!(cursor.next(&departures), Some(decision));
        }
        assert_eq!(cursor.next(&departures), None);
    }
}
