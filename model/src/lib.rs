//! The system under test: an agent-swarm state engine on file locks, atomically replaced files and SQLite, written as for production. It reaches
//! the world only through [`seedstorm_sim::sys`] and does not know that it is simulated.
//!
//! Start at [`agent`]: an agent wakes, works, stops. What it works with: [`store`] (SQLite), [`file`](mod@file) (documents), [`lock`] (named locks), [`memory`] (sealed memories), [`bus`] (signals). [`claims`]
//! is what it tells the outside that it believes; [`mutant`] are bugs to plant.

pub mod agent;
pub mod bus;
pub mod claims;
pub mod config;
pub mod file;
pub mod identity;
pub mod lock;
pub mod memory;
pub mod mutant;
pub mod store;
pub mod tms;
