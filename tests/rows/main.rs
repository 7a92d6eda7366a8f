//! The fault catalogue, row by row: each test drives a row's exact schedule, shows that the naive way goes wrong in it, and that the model does
//! what the row's *must* says. docs/faults.md lists them.

mod agents;
mod board;
mod bus;
mod file;
mod harness;
mod lock;
mod lock_waits;
mod script;
mod sqlite;
mod tms;
