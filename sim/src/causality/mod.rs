//! What happened before what, as the harness knows it: two relations, kept apart. `influence` is what may have influenced what, by any way that there is
//! between processes: for the causal past of a violation, and for pictures. `signals` is the true order of signals: program order and recovery within an
//! agent, and send → acknowledged delivery; against it a model's vector clocks are held.

mod clock;
mod files;
pub mod influence;
mod names;
pub mod signals;

pub use clock::{Past, Stamp};
pub use influence::{Influence, happened_before};
