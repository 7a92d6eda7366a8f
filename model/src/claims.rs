//! What the engine tells the outside that it believes: the claims that oracles judge. Locks' claims are `seedstorm_sim`'s own.

use crate::identity::ProcessIdentity;
use crate::memory::{Damaged, Digest, Transition};
use crate::tms::{Refusal, Relabelled};
use seedstorm_sim::sys::claim::Claim;
use serde::{Deserialize, Serialize};

macro_rules! claims {
    ($($kind:literal => $name:ident,)*) => { $(impl Claim for $name { const KIND: &'static str = $kind; })* };
}

claims! {
    "operation-begun" => OperationBegun,
    "committed" => Committed,
    "snapshot-read" => SnapshotRead,
    "outcome-unknown" => OutcomeUnknown,
    "refused" => Refused,
    "busy-retried" => BusyRetried,
    "document-saved" => DocumentSaved,
    "document-loaded" => DocumentLoaded,
    "checkpointed" => Checkpointed,
    "note-staged" => NoteStaged,
    "awake" => Awake,
    "memories-verified" => MemoriesVerified,
    "status-seen" => StatusSeen,
}

/// An operation's identity: who asked for it, and its number among what that agent asked for. The same over retries and restarts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperationKey {
    /// The agent's name.
    pub agent: String,
    /// The operation's number.
    pub number: u64,
}

/// An agent is about to try an operation (again). From here on its effect may appear, even if nothing more is ever claimed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationBegun {
    /// Which.
    pub key: OperationKey,
    /// `board-write`, `board-read`, `task-claim`, `task-check`, `note`, …
    pub kind: String,
}

/// A key of the board as a transaction saw it or left it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BoardVersion {
    /// The board's key.
    pub key: String,
    /// Its version; 0 is absent.
    pub version: u64,
}

/// What a committed transaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// It wrote the board.
    Board {
        /// The versions that it read.
        reads: Vec<BoardVersion>,
        /// The versions that it made.
        writes: Vec<BoardVersion>,
    },
    /// It claimed a task.
    TaskClaimed {
        /// The task.
        task: String,
        /// The claim's generation: one more at each claim of the task.
        generation: u64,
        /// The token that proves the claim.
        token: u64,
        /// Whether it took over an expired claim.
        took_over: bool,
    },
    /// It ticked an item of a task's checklist.
    ItemChecked {
        /// The task.
        task: String,
        /// The item's number.
        item: u64,
        /// The claim's generation under which it did.
        generation: u64,
    },
    /// It gave a task back or completed it.
    TaskLeft {
        /// The task.
        task: String,
        /// The claim's generation that it ended.
        generation: u64,
        /// Whether the task is done.
        is_done: bool,
    },
    /// It appended a note.
    NoteAppended {
        /// The digest of its text: the operation's record need not hold the text once more. See [`Effect::of_note`].
        digest: u64,
    },
    /// It registered an agent, or changed its status.
    AgentNoted {
        /// The status.
        status: String,
    },
    /// It said what a task needs.
    NeedsSet {
        /// The task.
        task: String,
        /// What it needs from then on.
        needed: Vec<String>,
    },
    /// It put what an agent had staged into the store.
    Introspected {
        /// How many notes: they are named by their numbers from 0.
        notes: u32,
    },
    /// It sealed a memory.
    Remembered {
        /// The memory.
        memory: Digest,
        /// The transition that did it. Another may have sealed the same memory before.
        transition: Transition,
    },
    /// It took a batch of beliefs and records in.
    Ingested {
        /// What was refused of it.
        refused: Vec<Refusal>,
        /// What labelling anew came to.
        relabelled: Relabelled,
        /// The memories of the beliefs that were new.
        sealed: Vec<Digest>,
        /// The transition that sealed them.
        transition: Transition,
    },
    /// It closed an agent's day: its notes are in the store, its tasks are open, and it is asleep.
    Slept,
}

impl Effect {
    /// The memories that it sealed, among them some that were sealed already, and the transition.
    pub fn sealed(&self) -> Option<(&[Digest], Transition)> {
        match self {
            Effect::Remembered { memory, transition } => Some((std::slice::from_ref(memory), *transition)),
            Effect::Ingested { sealed, transition, .. } => Some((sealed, *transition)),
            _ => None,
        }
    }

    /// What appending a note of this text does.
    pub fn of_note(text: &str) -> Effect {
        Effect::NoteAppended { digest: digest_of(text) }
    }
}

/// The digest of a text, as claims and records hold it.
pub fn digest_of(text: &str) -> u64 {
    twox_hash::XxHash3_64::oneshot(text.as_bytes())
}

/// Acknowledged: the operation's transaction is committed, and a crash of any kind will not undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Which operation.
    pub key: OperationKey,
    /// What it did.
    pub effect: Effect,
    /// Whether this acknowledgement was found by looking up an earlier try, not made by a commit just now.
    pub was_found: bool,
}

/// A read of several keys of the board in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRead {
    /// Which operation.
    pub key: OperationKey,
    /// What it saw.
    pub reads: Vec<BoardVersion>,
}

/// A commit failed in a way that leaves open whether it took effect. The agent will look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeUnknown {
    /// Which operation.
    pub key: OperationKey,
    /// What went wrong.
    pub why: String,
}

/// An operation ended without effect, by design: a claim that another won, a task that is not the agent's any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Which operation.
    pub key: OperationKey,
    /// Why: `lost-race`, `not-holder`, `no-task`, `disk-full`, `lock-timeout`, …; or the cycle that it would have closed.
    pub why: String,
}

/// The database was busy, and the transaction is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyRetried {
    /// Which operation.
    pub key: OperationKey,
    /// The attempt that failed; the first is 1.
    pub attempt: u32,
}

/// A document was replaced, durably.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentSaved {
    /// Its path.
    pub path: String,
    /// Its revision: one more at each save under the document's lock.
    pub revision: u64,
}

/// A document was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentLoaded {
    /// Its path.
    pub path: String,
    /// Its revision; `None` when it is absent.
    pub revision: Option<u64>,
    /// Where a corrupt one was moved to; `None` when it was whole or absent.
    pub quarantined: Option<String>,
}

/// A checkpoint has run, as far as it could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpointed {
    /// Which operation.
    pub key: OperationKey,
    /// Whether readers or writers kept it from finishing.
    pub was_busy: bool,
    /// Frames in the WAL.
    pub wal_frames: u64,
    /// Frames of them that are in the database by now.
    pub moved_frames: u64,
}

/// Acknowledged: a note is in a file of its own, durably. Whatever happens to its agent, it comes into the store, at the agent's next wake at the latest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NoteStaged {
    /// The operation that it belongs to.
    pub key: OperationKey,
    /// Its name in that operation.
    pub note: String,
    /// The digest of its text: see [`digest_of`].
    pub digest: u64,
}

/// The sealed memories were compared with their tree, and their files with their names, as they were at some moments of the operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoriesVerified {
    /// Which operation.
    pub key: OperationKey,
    /// The newest transition at that time; `None`: what stands in the database can't be read.
    pub transition: Option<Transition>,
    /// What isn't as it was sealed, by path.
    pub damaged: Vec<Damaged>,
}

/// An agent is awake: whatever an earlier life left half done has been finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awake {
    /// The agent's name.
    pub agent: String,
}

/// What an agent is, as far as one can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentState {
    /// Its process is alive and has not said that it ends.
    Working,
    /// Its process has died without saying so.
    Dead,
    /// It has closed its day, durably, by the operation of this number.
    Asleep(u64),
    /// It has stopped, and closed no day.
    Stopped,
}

/// An agent in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSeen {
    /// Its name.
    pub agent: String,
    /// What it is.
    pub state: AgentState,
    /// Its last life.
    pub process: ProcessIdentity,
}

/// The status of a swarm, as it was at some moment of the operation. What it says of sleepers is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSeen {
    /// Which operation.
    pub key: OperationKey,
    /// The agents, by name.
    pub agents: Vec<AgentSeen>,
}
