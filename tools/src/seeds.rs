//! Ranges of seeds as a command line gives them, and a seed for who names none. Drawing from a seed is the business of `sim`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Seeds from `first`, so many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Seeds {
    /// The first.
    pub(crate) first: u64,
    /// How many.
    pub(crate) count: u64,
}

/// As a command line takes them.
impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seeds { first, count } = self;
        match first.checked_add(*count) {
            Some(end) => write!(f, "{first}..{end}"),
            // The last seed of all is among them, and no number comes after it.
            None => write!(f, "{first}..={}", u64::MAX),
        }
    }
}

impl From<Seeds> for String {
    fn from(seeds: Seeds) -> String {
        seeds.to_string()
    }
}

impl TryFrom<String> for Seeds {
    type Error = String;

    fn try_from(text: String) -> Result<Seeds, String> {
        parse(&text)
    }
}

impl Seeds {
    /// Whether the seed is one of them.
    pub(crate) fn has(self, seed: u64) -> bool {
        seed.checked_sub(self.first).is_some_and(|after| after < self.count)
    }

    /// Whether all of the others are among them.
    pub(crate) fn hold(self, others: Seeds) -> bool {
        let end = |seeds: Seeds| u128::from(seeds.first) + u128::from(seeds.count);
        self.first <= others.first && end(others) <= end(self)
    }

    /// The same seeds, each once, in as few ranges as there can be, in order.
    pub(crate) fn union(mut ranges: Vec<Seeds>) -> Vec<Seeds> {
        ranges.retain(|range| range.count > 0);
        ranges.sort_unstable();
        let mut union: Vec<Seeds> = Vec::new();
        for range in ranges {
            match union.last_mut() {
                // From its beginning to the end of whichever goes further. All seeds there are would be one too many to count: no range has them.
                Some(last) if range.first - last.first <= last.count => {
                    last.count = last.count.max((range.first - last.first).saturating_add(range.count));
                }
                _ => union.push(range),
            }
        }
        union
    }

    /// Those that are left without the first ones.
    pub(crate) fn after(self, done: u64) -> Seeds {
        let done = done.min(self.count);
        Seeds { first: self.first.saturating_add(done), count: self.count - done }
    }
}

/// Reads `A..B` (without B), `A..=B`, or one seed `A`.
///
/// # Errors
/// What is wrong with the text, and what would be right.
pub(crate) fn parse(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| {
        part.trim().parse::<u64>().map_err(|_| {
            format!(
                "`{part}` is no seed; a range of seeds is A..B (without B) or A..=B, with numbers from 0 to {}",
                u64::MAX
            )
        })
    };
    let (first, end) = match (text.split_once("..="), text.split_once("..")) {
        (Some((first, last)), _) => (number(first)?, u128::from(number(last)?) + 1),
        (None, Some((first, end))) => (number(first)?, u128::from(number(end)?)),
        (None, None) => (number(text)?, u128::from(number(text)?) + 1),
    };
    let count = end
        .checked_sub(u128::from(first))
        .ok_or_else(|| format!("`{text}` runs backwards; the smaller seed comes first, as in 0..1000"))?;
    let count = u64::try_from(count).map_err(|_| format!("`{text}` holds more seeds than any sweep can run"))?;
    Ok(Seeds { first, count })
}

/// Reads `A..B` or `A..=B`, or a number: so many seeds, from 0 on.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_range_or_count(text: &str) -> Result<Seeds, String> {
    match text.trim().parse() {
        Ok(count) => Ok(Seeds { first: 0, count }),
        Err(_) => parse(text),
    }
}

/// Reads one seed.
///
/// # Errors
/// What would be right.
pub(crate) fn parse_one(text: &str) -> Result<u64, String> {
    let seed = text.trim().parse();
    seed.map_err(|_| format!("`{text}` is no seed; allowed: a whole number in decimal digits, from 0 to {}", u64::MAX))
}

/// A seed that nobody has chosen. Short, so that it is easily read and typed.
pub(crate) fn anything() -> u64 {
    // std keys these hashers from the operating system's entropy.
    RandomState::new().build_hasher().finish() & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (text, first, count) in [
            ("0..2000", 0, 2000),
            ("5..=5", 5, 1),
            ("7", 7, 1),
            ("3..3", 3, 0),
            ("18446744073709551615..=18446744073709551615", u64::MAX, 1),
            ("0..18446744073709551615", 0, u64::MAX),
        ] {
            let seeds = Seeds { first, count };
            assert_eq!(parse(text), Ok(seeds), "{text}");
            assert_eq!(parse(&seeds.to_string()), Ok(seeds), "{seeds}");
        }
        let left = Seeds { first: 5, count: 10 }.after(3);
        assert_eq!((left.to_string().as_str(), left.after(20).to_string().as_str()), ("8..15", "15..15"));
    }

    #[test]
    fn ranges_come_together() {
        let range = |first, end: u64| Seeds { first, count: end - first };
        let given = vec![range(20, 30), range(0, 10), range(5, 12), range(12, 15), range(3, 3), range(21, 22)];
        assert_eq!(Seeds::union(given), [range(0, 15), range(20, 30)]);
        assert!(range(0, 10).hold(range(3, 10)) && range(0, 10).hold(range(7, 7)) && !range(0, 10).hold(range(3, 11)));
        assert!(range(3, 5).has(4) && !range(3, 5).has(5) && !range(3, 5).has(2));
    }

    #[test]
    fn a_number_alone_may_mean_how_many() {
        assert_eq!(parse_range_or_count("40"), Ok(Seeds { first: 0, count: 40 }));
        assert_eq!(parse_range_or_count("40..50"), Ok(Seeds { first: 40, count: 10 }));
        assert!(parse_range_or_count("many").is_err());
    }

    #[test]
    fn one_seed_is_a_decimal_number() {
        assert_eq!(parse_one("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "0x10", "-1", "1e3", "18446744073709551616"] {
            let error = parse_one(text).expect_err(text);
            assert!(error.contains("decimal") && error.contains("18446744073709551615"), "{error}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_a_reason() {
        for (text, part) in [
            ("", "is no seed"),
            ("a..b", "`a` is no seed"),
            ("0..", "is no seed"),
            ("..5", "is no seed"),
            ("-1..5", "`-1` is no seed"),
            ("9..3", "backwards"),
            ("0..18446744073709551616", "is no seed"),
            ("0..=18446744073709551615", "more seeds"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
