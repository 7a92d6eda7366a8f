//! What an invariant is shown of a crash that might have happened: the disk after it and after the scenario's recovery.

use crate::kernel::Exit;
use crate::sys::disk::Disk;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// How a process of the recovery ended. One that did not end, or that panicked, is a violation of `recovers`, and nobody is asked about the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its name: role, a hyphen, index.
    pub name: String,
    /// Its role.
    pub role: &'static str,
    /// How it ended for good.
    pub exit: Exit,
}

/// What is left after a crash at this very moment and the recovery from it. It never happened: whatever an invariant learns here
/// settles nothing for the run that goes on.
pub struct Survivor<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) processes: &'a [Recovered],
    pub(crate) readings: &'a Readings,
    pub(crate) crashed_ns: u64,
    pub(crate) recovered_ns: u64,
    pub(crate) boot_id: u64,
    pub(crate) durability_is_void: bool,
}

/// What invariants have read from one recovered disk, by the type of the reading.
#[derive(Default)]
pub(crate) struct Readings(RefCell<Vec<(TypeId, Rc<dyn Any>)>>);

impl<'a> Survivor<'a> {
    /// The disk after the recovery: for [`crate::sqlite::inspect`], for reading files and listing them.
    pub fn disk(&self) -> &'a Disk {
        self.disk
    }

    /// How the recovery's processes ended, in the order in which they did. All ended well: see the invariant `recovers`.
    pub fn processes(&self) -> &'a [Recovered] {
        self.processes
    }

    /// Whether the recovery has a process of this name.
    pub fn came_up(&self, process: &str) -> bool {
        self.processes.iter().any(|recovered| recovered.name == process)
    }

    /// When the machine lost power, in simulated nanoseconds since the start of the run. A disk that was met before has been recovered at the
    /// earlier time, and this is that.
    pub fn crashed_ns(&self) -> u64 {
        self.crashed_ns
    }

    /// When the last process of the recovery had ended, in simulated nanoseconds since the start of the run.
    pub fn recovered_ns(&self) -> u64 {
        self.recovered_ns
    }

    /// The machine's boot id during the recovery, as its programs saw it: another than in the run.
    pub fn boot_id(&self) -> u64 {
        self.boot_id
    }

    /// Whether a fault has fired that voids durability. Invariants that rest on it are not asked then.
    pub fn durability_is_void(&self) -> bool {
        self.durability_is_void
    }

    /// What `read` makes of the disk. A disk is judged each time when more has been acknowledged; it is read once for each type of reading.
    pub fn reading<T: 'static>(&self, read: impl FnOnce(&Disk) -> T) -> Rc<T> {
        let key = TypeId::of::<T>();
        let found = self.readings.0.borrow().iter().find(|(kind, _)| *kind == key).map(|(_, found)| found.clone());
        if let Some(found) = found.and_then(|found| found.downcast::<T>().ok()) {
            return found;
        }
        let made = Rc::new(read(self.disk));
        self.readings.0.borrow_mut().push((key, made.clone()));
        made
    }
}
