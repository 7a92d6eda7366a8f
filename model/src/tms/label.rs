//! Labels: the three values of the well-founded semantics.

use serde::{Deserialize, Serialize};

/// Whether a belief holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Label {
    /// It doesn't: nothing supports it that is founded.
    #[default]
    Out,
    /// It does.
    In,
    /// It rests on its own absence, through a loop: neither.
    Undecided,
}

impl Label {
    /// Every label.
    pub const ALL: [Label; 3] = [Label::Out, Label::In, Label::Undecided];

    /// Its number in the store.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// The label of that number.
    pub fn of_number(number: i64) -> Option<Label> {
        Label::ALL.into_iter().find(|label| label.number() == number)
    }

    /// Whether both hold, in Kleene's strong logic: out if one is out, in if both are in.
    pub fn and(self, other: Label) -> Label {
        match (self, other) {
            (Label::Out, _) | (_, Label::Out) => Label::Out,
            (Label::In, Label::In) => Label::In,
            _ => Label::Undecided,
        }
    }
}
