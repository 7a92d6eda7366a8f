//! Primitives between the tasks of one process: mutex, condition variable, channel, atomic cell. Each operation is a system call, so a
//! step: the schedule decides who goes first. Between processes there are files, locks on files, and messages.
//!
//! Each handle is cheap to clone; a clone is the same primitive. All tasks of the process that made it may use it. What it holds is
//! memory: it dies with the process, and nothing of it is left at the next boot. After the process's death no destructor of a guard or a
//! handle has an effect.
//!
//! An operation's `object` in the trace is the primitive's key. Keys come from the process's path and from how many primitives this boot
//! has made before, so that another process's doings change none.

mod cell;
mod channel;
mod condition;
mod mutex;

pub use cell::{AtomicCell, CellNumber, CellValue};
pub use channel::{Closed, Receiver, Sender, channel};
pub use condition::{Condition, Waited};
pub use mutex::{Mutex, MutexGuard};

use super::Sys;

/// What every primitive has: its maker's `Sys`, through which it makes its calls, and its key.
#[derive(Clone)]
struct Place {
    sys: Sys,
    key: u64,
}

impl Place {
    fn new(sys: &Sys) -> Place {
        Place { sys: sys.clone(), key: sys.kernel.with(|core| core.shared_key(&sys.identity)) }
    }
}
