//! What happened before what, as the harness knows it: two relations, kept apart. `influence` is what may have influenced what, by any way that there is
//! between processes: for the causal past of a violation, and for pictures.

mod clock;
mod files;
pub mod influence;
mod names;

pub use clock::{Past, Stamp};
pub use influence::{Influence, happened_before};
