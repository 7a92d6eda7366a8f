//! The kernel's tests, at the observable level: small worlds, and what their traces, disks and outcomes show. Nothing of the kernel's
//! inside is reached. SQLite and blocking code have tests of their own.

mod support;

mod beats;
mod budgets;
mod claims;
mod clocks;
mod determinism;
mod faults;
mod independence;
mod kill;
mod lives;
mod machine;
mod message_faults;
mod messages;
mod pause;
mod ready;
mod replay;
mod schedule;
mod skips;
mod strategies;
mod sync;
mod tasks;
mod triggers;
mod wakers;
