//! What is on its way into the store: notes in files of their own, and seals that close a batch of them. What is done with them is in `agent`.
//!
//! A note is written once under a name that says whose it is: writing it again changes nothing. A seal lists what belongs together: from its
//! renaming on the batch is final, and whoever finds it finishes it.

use crate::claims::OperationKey;
use crate::store::HeldTask;
use serde::{Deserialize, Serialize};

/// A note in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedNote {
    /// The operation that it belongs to.
    pub key: OperationKey,
    /// Its name in that operation. It says what the text is about, so that one name never has two texts.
    pub note: String,
    /// How many notes the operation stages; 0 if that isn't fixed.
    pub of: u32,
    /// The text.
    pub text: String,
}

/// A batch that is final.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The operation that sealed it.
    pub key: OperationKey,
    /// Its notes, by operation and name. Those whose files are gone are in the store already.
    pub notes: Vec<(u64, String)>,
    /// The tasks that are to be given back, where a sleep sealed it.
    pub tasks: Vec<(String, HeldTask)>,
    /// Whether it closes the agent's day.
    pub closes_day: bool,
}

/// What the name of a file in the directory of staged things says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StagedName {
    /// Whose it is.
    pub agent: String,
    /// The operation's number.
    pub number: u64,
    /// The note's name; `None` is a seal.
    pub note: Option<String>,
}

impl StagedName {
    /// The name of a note's file.
    pub fn of_note(key: &OperationKey, note: &str) -> StagedName {
        StagedName { agent: key.agent.clone(), number: key.number, note: Some(note.to_owned()) }
    }

    /// The name of a seal's file.
    pub fn of_seal(key: &OperationKey) -> StagedName {
        StagedName { agent: key.agent.clone(), number: key.number, note: None }
    }

    /// Reads a file's name; `None` for what is neither note nor seal: temporary files, and what was put aside.
    pub fn parse(name: &str) -> Option<StagedName> {
        let (agent, rest) = name.split_once('.')?;
        let (number, rest) = rest.split_once('.')?;
        let number = number.parse().ok()?;
        let note = match rest.strip_suffix(".note") {
            Some(note) => Some(note.to_owned()),
            None if rest == "seal" => None,
            None => return None,
        };
        Some(StagedName { agent: agent.to_owned(), number, note })
    }

    /// Its path in that directory.
    pub fn path(&self, directory: &str) -> String {
        let StagedName { agent, number, note } = self;
        match note {
            Some(note) => format!("{directory}/{agent}.{number:020}.{note}.note"),
            None => format!("{directory}/{agent}.{number:020}.seal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let key = OperationKey { agent: "agent-7".into(), number: 41 };
        for name in [StagedName::of_note(&key, "0"), StagedName::of_note(&key, "task-3@2"), StagedName::of_seal(&key)] {
            let path = name.path("/d");
            assert_eq!(StagedName::parse(path.strip_prefix("/d/").expect("in it")), Some(name.clone()));
            assert_eq!(StagedName::parse(&format!("{}.tmp.1-2-3.4", &path[3..])), None, "{path}");
            assert_eq!(StagedName::parse(&format!("{}.corrupt.1-2-3.4", &path[3..])), None, "{path}");
        }
    }
}
