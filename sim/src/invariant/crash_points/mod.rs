//! Crash points: the moments at which the machine could have died, and what an invariant is shown of each. Carrying it out is the kernel's business
//! (`kernel::crash_points`, `kernel::recovery`).
//!
//! | file | what |
//! |---|---|
//! | `choice` | [`CrashPoints`]: how many points of a run are explored |
//! | `sample` | which ones, when not all |
//! | `survivor` | [`Survivor`]: a disk after a crash and the recovery from it |

mod choice;
mod sample;
mod survivor;

pub use choice::CrashPoints;
pub(crate) use sample::Sample;
pub(crate) use survivor::Readings;
pub use survivor::{Recovered, Survivor};
