//! The system under test: an agent-swarm state engine on file locks, atomically replaced files and SQLite, written as for production. It reaches
//! the world only through [`seedstorm_sim::sys`] and does not know that it is simulated.

pub mod claims;
