//! What the swarm shares in SQLite: agents, session state (the board), tasks with their checklists, notes, the days of agents that keep them, which
//! memories are sealed, and what is believed. Documents are files, see `file`; memories are, too, see `memory`.
//!
//! The acknowledgement contract: WAL with synchronous=FULL. Whatever was acknowledged survives the death of its process and of the machine.

mod agents;
mod beliefs;
mod board;
mod checkpoint;
mod connection;
mod days;
mod error;
mod ingest;
mod memories;
mod needs;
mod notes;
mod provision;
mod schema;
mod tasks;
mod transaction;

pub(crate) use agents::Registered;
pub use agents::{AgentStatus, SwarmStatus};
pub use connection::Store;
pub use days::Found;
pub use error::StoreError;
pub use needs::{Cycle, Needed};
pub use tasks::HeldTask;
pub use transaction::Outcome;
pub(crate) use transaction::{Bounds, commit_halfway};
