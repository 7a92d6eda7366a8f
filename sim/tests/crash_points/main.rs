//! Crash points: what they find, what a recovery that fails comes to, and that the run notices nothing of them.

mod apart;
mod beats;
mod finds;
mod recoveries;
mod support;
