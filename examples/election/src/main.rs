//! Servers that elect a leader over a network: replication, partitions and several kinds of fault. Copy the folder of this file and begin from it.
//!
//! `server`, `state`, `message` and `client` are the system under test, written as for production; `scenario`, `claims`, `invariants` and `bugs` try it.

mod bugs;
mod claims;
mod client;
mod invariants;
mod message;
mod scenario;
mod server;
mod state;

use std::process::ExitCode;

fn main() -> ExitCode {
    seedstorm::main_with(&[&scenario::Election])
}
