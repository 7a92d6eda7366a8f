//! What the clients of sqlite-wal tell the outside that they believe. Each claim names the operation of the plan that it belongs to: that says whose
//! connection it is, too.

use super::content::{Contents, Newest};
use seedstorm_sim::sys::claim::Claim;
use serde::{Deserialize, Serialize};

macro_rules! claims {
    ($($kind:literal => $name:ident,)*) => { $(impl Claim for $name { const KIND: &'static str = $kind; })* };
}

claims! {
    "wal-begun" => Begun,
    "wal-writing" => Writing,
    "wal-found" => Found,
    "wal-committed" => Committed,
    "wal-unsettled" => Unsettled,
    "wal-peeked" => Peeked,
    "wal-looked" => Looked,
    "wal-checkpointed" => Checkpointed,
    "wal-retried" => Retried,
    "wal-damaged" => Damaged,
}

/// A client is about to try an operation, perhaps again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Which.
    pub operation: u64,
}

/// A writer holds the write lock, has made all its changes, and will commit next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Which operation.
    pub operation: u64,
    /// The number that its commit will have: one more than that of the last one that it saw.
    pub sequence: u64,
    /// Whose commit it saw as the last one; 0 for nobody's.
    pub after: u64,
}

/// A writer holds the write lock, and has found that an earlier try of its operation has taken effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which operation.
    pub operation: u64,
    /// The number of the commit that it found.
    pub sequence: u64,
}

/// The acknowledgement: COMMIT has returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Which operation.
    pub operation: u64,
    /// The number of the commit that has its effect.
    pub sequence: u64,
    /// Whether an earlier try had taken effect. What was committed then only makes that durable.
    pub was_found: bool,
}

/// COMMIT has failed: whether it took effect is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsettled {
    /// Which operation.
    pub operation: u64,
}

/// A client has read the newest commit, in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peeked {
    /// Which operation.
    pub operation: u64,
    /// What it read.
    pub newest: Newest,
}

/// A client has read everything in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Which operation.
    pub operation: u64,
    /// What it read.
    pub contents: Contents,
    /// Whether it had read everything before, in the same transaction.
    pub again: bool,
}

/// A checkpoint has returned (sqlite.org/pragma.html#pragma_wal_checkpoint).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpointed {
    /// Which operation.
    pub operation: u64,
    /// Whether somebody held it up.
    pub was_busy: bool,
    /// Frames in the WAL; `None` where there is no WAL.
    pub frames: Option<u64>,
    /// Frames of it that are in the database now.
    pub moved: Option<u64>,
}

/// An attempt came to nothing, and will be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// Which operation.
    pub operation: u64,
    /// Whether somebody else was at it; else the disk failed.
    pub was_busy: bool,
}

/// SQLite, or what it returned, says that the database is damaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Which operation; 0 while a connection is opened.
    pub operation: u64,
    /// In SQLite's words.
    pub why: String,
}
