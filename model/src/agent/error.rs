//! What an agent can't handle: it ends then, and whoever runs it starts it again.

use crate::file::FileError;
use crate::identity::ProcessIdentity;
use crate::lock::LockError;
use crate::store::StoreError;

/// Why an agent ends.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The store, in a way that no retry heals.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// A lock: a mistake in the order of acquisition, or a lock that can't be given back.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file that is needed to begin with.
    #[error("a file: {0}")]
    File(#[from] FileError),
    /// Something that is needed to begin with stays out of reach.
    #[error("{what} was out of reach for {waited_ns} ns")]
    OutOfReach {
        /// What.
        what: &'static str,
        /// For how long it was tried.
        waited_ns: u64,
    },
    /// Another process of this agent's name is alive.
    #[error("agent `{name}` is running already, as pid {}", .process.pid)]
    AlreadyRunning {
        /// The name.
        name: String,
        /// The other.
        process: ProcessIdentity,
    },
    /// A stored clock isn't one: its own, which has been put aside, or that of a signal in its queue, which stays there. Nothing is delivered until somebody
    /// has seen to it.
    #[error("the stored clock of `{name}` is refused: {why}")]
    ClockRefused {
        /// The agent's name.
        name: String,
        /// Why.
        why: String,
    },
    /// A later life of this agent exchanges signals.
    #[error("a later life of agent `{name}` has begun")]
    Superseded {
        /// The agent's name.
        name: String,
    },
    /// The process was asked to end before the agent was awake.
    #[error("asked to end")]
    Terminating,
}

impl AgentError {
    /// The exit code of a process that ends with it (sysexits.h; 128 and SIGTERM, as shells count).
    pub const fn exit_code(&self) -> u8 {
        match self {
            AgentError::Lock(LockError::TimedOut { .. }) => 75,
            AgentError::Terminating | AgentError::Lock(LockError::Terminating { .. }) => 128 + 15,
            _ => 70,
        }
    }
}
