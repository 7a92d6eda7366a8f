//! What an agent can be asked to do, as plain data, and what came of it.

use crate::tms::Batch;

/// One operation that an agent is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its number: unique among what this agent is ever asked for. To ask again for the same, use the same number.
    pub number: u64,
    /// What to do.
    pub kind: WorkKind,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Read keys of the board and write them anew, in one transaction.
    BoardWrite {
        /// The keys.
        keys: Vec<String>,
        /// About how long each value is.
        bytes: usize,
    },
    /// Read keys of the board as they are at one moment.
    BoardRead {
        /// The keys.
        keys: Vec<String>,
    },
    /// Claim a task.
    TaskClaim {
        /// The task.
        task: String,
    },
    /// Tick an item of the checklist of a task that this agent has claimed.
    TaskCheck {
        /// The task.
        task: String,
        /// The item.
        item: u64,
    },
    /// Say what a task needs: tasks that must be done before it can be claimed.
    TaskNeeds {
        /// The task.
        task: String,
        /// What it needs from now on.
        needed: Vec<String>,
    },
    /// Leave a task that this agent has claimed.
    TaskLeave {
        /// The task.
        task: String,
    },
    /// Append a note.
    Note {
        /// About how long it is.
        bytes: usize,
    },
    /// Load a document, change it, and save it, under its lock.
    Document {
        /// The document.
        name: String,
        /// How long its text is then.
        bytes: usize,
    },
    /// Move SQLite's WAL into the database.
    Checkpoint,
    /// Write down what was learned: stage notes in files, seal them, commit them to the store, release the files.
    Introspect {
        /// How many notes.
        notes: u32,
        /// About how long each is.
        bytes: usize,
    },
    /// Close the day: hand over what the agent holds, and be asleep. Wake it before it is asked for anything else.
    Sleep,
    /// Remember a text: keep it in a file of its own, under the seal of all memories.
    Remember {
        /// The text. The same text is the same memory, whoever remembers it.
        text: String,
    },
    /// Take a batch of beliefs and records in.
    Ingest {
        /// The batch.
        batch: Batch,
    },
    /// Compare all memories with what was sealed.
    Verify,
    /// Say what each agent of the swarm is.
    Status,
}

impl WorkKind {
    /// The kind's name, as in plans and claims.
    pub const fn name(&self) -> &'static str {
        match self {
            WorkKind::BoardWrite { .. } => "board-write",
            WorkKind::BoardRead { .. } => "board-read",
            WorkKind::TaskClaim { .. } => "task-claim",
            WorkKind::TaskCheck { .. } => "task-check",
            WorkKind::TaskNeeds { .. } => "task-needs",
            WorkKind::TaskLeave { .. } => "task-leave",
            WorkKind::Note { .. } => "note",
            WorkKind::Document { .. } => "document",
            WorkKind::Checkpoint => "checkpoint",
            WorkKind::Introspect { .. } => "introspect",
            WorkKind::Sleep => "sleep",
            WorkKind::Remember { .. } => "remember",
            WorkKind::Ingest { .. } => "ingest",
            WorkKind::Verify => "verify",
            WorkKind::Status => "status",
        }
    }
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It has taken effect, and no crash undoes it.
    Acknowledged,
    /// It has not taken effect and will not.
    Refused,
    /// Nobody knows yet. Ask again with the same number.
    Unanswered,
}
