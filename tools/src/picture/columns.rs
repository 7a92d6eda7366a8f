//! Events in columns, as the page holds them: whole numbers, and words taken apart into a pattern and the numbers in it, since most events differ in these alone.

use super::classes::Class;
use std::collections::BTreeMap;

/// Stands in a pattern for a number. No event's words have it.
pub(super) const HOLE: char = '\u{1}';

/// Longer numbers stay in the pattern: scripts count exactly to 2⁵³ only.
const DIGITS_MAX: usize = 15;

/// Words that were seen, by number.
#[derive(Default)]
pub(super) struct Table {
    numbers: BTreeMap<String, u32>,
    words: Vec<String>,
}

impl Table {
    /// The number of some words.
    pub(super) fn number(&mut self, words: &str) -> u32 {
        if let Some(number) = self.numbers.get(words) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.numbers.insert(words.to_owned(), number);
        self.words.push(words.to_owned());
        number
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }
}

/// One event, as the page holds it.
pub(super) struct Row<'a> {
    pub(super) step: u64,
    pub(super) time_ns: u64,
    /// The process's number; one more than the last for the machine.
    pub(super) lane: u32,
    /// The kind's name, and its class.
    pub(super) kind: (&'a str, Class),
    pub(super) words: &'a str,
}

/// Events, column by column.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) steps: Vec<u64>,
    pub(super) times_ns: Vec<u64>,
    pub(super) lanes: Vec<u32>,
    pub(super) kinds: Vec<u32>,
    pub(super) patterns: Vec<u32>,
    /// Where the numbers of each event's words begin; one more at the end.
    numbers_from: Vec<usize>,
    pub(super) numbers: Vec<u64>,
    pub(super) kind_table: Table,
    pub(super) classes: Vec<Class>,
    pub(super) pattern_table: Table,
}

impl Columns {
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn push(&mut self, row: &Row<'_>) {
        self.steps.push(row.step);
        self.times_ns.push(row.time_ns);
        self.lanes.push(row.lane);
        let kind = self.kind_table.number(row.kind.0);
        if kind as usize == self.classes.len() {
            self.classes.push(row.kind.1);
        }
        self.kinds.push(kind);
        self.numbers_from.push(self.numbers.len());
        let pattern = take_apart(row.words, &mut self.numbers);
        self.patterns.push(self.pattern_table.number(&pattern));
    }

    /// Forgets the first `count` events; the tables stay.
    pub(super) fn drop_first(&mut self, count: usize) {
        let numbers = self.numbers_from.get(count).copied().unwrap_or(self.numbers.len());
        self.numbers.drain(..numbers);
        self.numbers_from.drain(..count);
        self.numbers_from.iter_mut().for_each(|from| *from -= numbers);
        self.steps.drain(..count);
        self.times_ns.drain(..count);
        self.lanes.drain(..count);
        self.kinds.drain(..count);
        self.patterns.drain(..count);
    }

    /// Forgets patterns that no event has any more.
    pub(super) fn forget_unused_patterns(&mut self) {
        let before = std::mem::take(&mut self.pattern_table);
        for pattern in &mut self.patterns {
            *pattern = self.pattern_table.number(&before.words[*pattern as usize]);
        }
    }

    /// The words of an event, put together again.
    pub(super) fn words(&self, row: usize) -> String {
        let mut numbers = self.numbers[self.numbers_from[row]..].iter();
        let mut words = String::new();
        for part in self.pattern_table.words()[self.patterns[row] as usize].chars() {
            match part {
                HOLE => words.push_str(&numbers.next().map(u64::to_string).unwrap_or_default()),
                part => words.push(part),
            }
        }
        words
    }

    /// The class of an event.
    pub(super) fn class(&self, row: usize) -> Class {
        self.classes[self.kinds[row] as usize]
    }

    /// The kind of an event.
    pub(super) fn kind(&self, row: usize) -> &str {
        &self.kind_table.words()[self.kinds[row] as usize]
    }
}

/// The pattern of some words; their numbers go to the end of `numbers`. What is written as no number would be stays.
fn take_apart(words: &str, numbers: &mut Vec<u64>) -> String {
    let mut pattern = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let digits_end = rest[start..].find(|character: char| !character.is_ascii_digit());
        let (before, from_digits) = rest.split_at(start);
        let (digits, after) = from_digits.split_at(digits_end.unwrap_or(from_digits.len()));
        pattern.push_str(before);
        let is_plain = digits.len() <= DIGITS_MAX && (digits == "0" || !digits.starts_with('0'));
        match digits.parse() {
            Ok(number) if is_plain => {
                pattern.push(HOLE);
                numbers.push(number);
            }
            _ => pattern.push_str(digits),
        }
        rest = after;
    }
    pattern.push_str(rest);
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(words: &[&str]) -> Columns {
        let mut columns = Columns::default();
        for words in words {
            columns.push(&Row { step: 1, time_ns: 2, lane: 0, kind: ("read", Class::Files), words });
        }
        columns
    }

    #[test]
    fn words_come_back_as_they_were() {
        let words = [
            "pwrite /swarm/state.db-wal 24 bytes at 4096",
            "pwrite /swarm/state.db-wal 4096 bytes at 4120",
            "",
            "007 and 0 and 00 and 12345678901234567890",
            "999999999999999 then 1000000000000000",
            "é5ü",
        ];
        let mut columns = columns(&words);
        for (row, words) in words.iter().enumerate() {
            assert_eq!(columns.words(row), *words);
        }
        assert_eq!(columns.patterns[0], columns.patterns[1], "they differ in numbers alone");
        columns.drop_first(2);
        assert_eq!((columns.len(), columns.words(1).as_str()), (4, words[3]));
        let patterns = columns.pattern_table.words().len();
        columns.forget_unused_patterns();
        assert_eq!((columns.pattern_table.words().len(), columns.words(1).as_str()), (patterns - 1, words[3]));
    }
}
