//! The record that says who holds a lock.

use crate::identity::ProcessIdentity;
use seedstorm_sim::{Draw, Sys};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerRecord {
    /// The holder's name, for people.
    pub name: String,
    /// Which life of which process.
    pub process: ProcessIdentity,
    /// Unique for each acquisition: the same process may hold the lock twice in its life.
    pub token: u64,
    /// When it was written, in nanoseconds since the machine's boot. For people: age is no reason to take a lock away.
    pub since_ns: u64,
}

impl OwnerRecord {
    /// A record of the calling process, now.
    pub fn of(sys: &Sys) -> OwnerRecord {
        OwnerRecord {
            name: sys.name(),
            process: ProcessIdentity::of(sys),
            token: sys.entropy().bits(),
            since_ns: sys.monotonic_ns(),
        }
    }
}

impl fmt::Display for OwnerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessIdentity { pid, started_ns, .. } = self.process;
        write!(f, "{} (pid {pid}, started {started_ns} ns after boot; since {} ns)", self.name, self.since_ns)
    }
}
