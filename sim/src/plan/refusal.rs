//! What can't be in a plan, and where it is. Which line of a file that is, `reading` finds.

use std::fmt;
use thiserror::Error;

/// Something in a plan that can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}")]
pub struct Refusal {
    /// Where it is.
    pub place: Place,
    /// What is wrong with it.
    pub why: Why,
}

/// A place in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A key of the plan itself.
    Key(&'static str),
    /// A setting.
    Setting(String),
    /// A key of an operation, or of its arguments.
    Operation {
        /// The operation's id.
        id: u64,
        /// The key; `None` is the whole operation.
        key: Option<String>,
    },
    /// A key of a fault.
    Fault {
        /// The fault's id.
        id: u32,
        /// The key; `None` is the whole fault.
        key: Option<&'static str>,
    },
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A value that is not possible.
    Value {
        /// The value.
        value: String,
        /// What would have been possible.
        allowed: String,
    },
    /// A key that nobody knows.
    Unknown {
        /// The key.
        key: String,
        /// What there is, with commas between.
        allowed: String,
    },
    /// Anything else, in words.
    Words(String),
}

impl Refusal {
    /// A value that is not possible at a place, and what is allowed.
    pub fn value(place: Place, value: impl Into<String>, allowed: impl Into<String>) -> Refusal {
        Refusal { place, why: Why::Value { value: value.into(), allowed: allowed.into() } }
    }

    /// A key that nobody knows, and what there is.
    pub fn unknown(place: Place, key: impl Into<String>, allowed: impl Into<String>) -> Refusal {
        Refusal { place, why: Why::Unknown { key: key.into(), allowed: allowed.into() } }
    }

    /// Anything else that is wrong at a place.
    pub fn words(place: Place, words: impl Into<String>) -> Refusal {
        Refusal { place, why: Why::Words(words.into()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Key(key) => f.write_str(key),
            Place::Setting(key) => write!(f, "settings.{key}"),
            Place::Operation { id, key: None } => write!(f, "operation {id}"),
            Place::Operation { id, key: Some(key) } => write!(f, "operation {id}, {key}"),
            Place::Fault { id, key: None } => write!(f, "fault {id}"),
            Place::Fault { id, key: Some(key) } => write!(f, "fault {id}, {key}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Value { value, allowed } => write!(f, "`{value}` is not possible; allowed: {allowed}"),
            Why::Unknown { key, allowed } => write!(f, "there is no `{key}`; allowed: {allowed}"),
            Why::Words(words) => f.write_str(words),
        }
    }
}
