//! At which choices of a run whoever's turn it is is skipped: the parameter of the strategy `skips`.

use std::fmt;
use std::str::FromStr;

/// At which choices; the first is 1. A choice that is there twice skips two, one after the other. As text: `3+17`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkipPoints {
    /// In rising order; the rest is 0.
    at: [u32; SkipPoints::MAX],
    count: u8,
}

impl SkipPoints {
    /// The most that there can be.
    pub const MAX: usize = 4;

    /// None.
    pub const NONE: SkipPoints = SkipPoints { at: [0; SkipPoints::MAX], count: 0 };

    /// These and one more, at the last of them or later. `None`: it comes before, or they would be too many.
    pub fn and(mut self, choice: u32) -> Option<SkipPoints> {
        let place = self.at.get_mut(usize::from(self.count))?;
        *place = choice;
        let is_in_order = choice >= self.last();
        self.count += 1;
        (choice > 0 && is_in_order).then_some(self)
    }

    /// All of them, in rising order.
    pub fn all(&self) -> &[u32] {
        &self.at[..usize::from(self.count)]
    }

    /// The last; 0 where there is none.
    pub fn last(&self) -> u32 {
        self.all().last().copied().unwrap_or(0)
    }
}

impl fmt::Display for SkipPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().iter().enumerate().try_for_each(|(index, choice)| match index {
            0 => write!(f, "{choice}"),
            _ => write!(f, "+{choice}"),
        })
    }
}

/// What is no list of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSkipPoints;

impl FromStr for SkipPoints {
    type Err = NoSkipPoints;

    fn from_str(text: &str) -> Result<SkipPoints, NoSkipPoints> {
        text.split('+').try_fold(SkipPoints::NONE, |points, choice| {
            choice.parse().ok().and_then(|choice| points.and(choice)).ok_or(NoSkipPoints)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_rise_and_are_four_at_most() {
        let points: SkipPoints = "3+17+17".parse().expect("three choices");
        assert_eq!((points.all(), points.last(), points.to_string()), (&[3, 17, 17][..], 17, "3+17+17".to_owned()));
        assert_eq!(SkipPoints::NONE.last(), 0);
        for wrong in ["", "0", "17+3", "1+2+3+4+5", "3+", "x", "-1", "4294967296"] {
            assert_eq!(wrong.parse::<SkipPoints>(), Err(NoSkipPoints), "{wrong}");
        }
    }
}
