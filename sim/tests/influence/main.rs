//! Influence against a naive account of the same: a whole graph of all events of a recorded trace, and which reaches which.

mod exact;
mod memory;
mod naive;
#[path = "../sqlite_support/mod.rs"]
mod sqlite_support;
mod ways;
mod worlds;
