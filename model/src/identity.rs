//! Who a process is: a PID alone may have been used again. Everything that outlives its process (lock records, temporary files, queue tickets,
//! rows) carries one of these.

use crate::mutant::{Mutant, is};
use seedstorm_sim::Sys;
use seedstorm_sim::sys::ProcessInfo;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One life of one process: PID, start time and the machine's boot id together are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The PID.
    pub pid: u32,
    /// When the process started, in nanoseconds since the machine's boot (/proc/PID/stat, field 22).
    pub started_ns: u64,
    /// The machine's boot id (/proc/sys/kernel/random/boot_id).
    pub boot_id: u64,
}

impl ProcessIdentity {
    /// The calling process.
    pub fn of(sys: &Sys) -> ProcessIdentity {
        ProcessIdentity { pid: sys.pid(), started_ns: sys.started_ns(), boot_id: sys.boot_id() }
    }

    /// Whether this life still goes on. Death is for ever: what is dead once stays dead, so the answer "no" can't become stale.
    pub async fn is_alive(&self, sys: &Sys, mutant: Option<Mutant>) -> bool {
        // Not knowing is no reason to take something away from it.
        sys.process_info(self.pid).await.map_or(true, |found| self.is_that_of(found, sys.boot_id(), mutant))
    }

    /// Whether what was found at its PID is this life.
    pub(crate) fn is_that_of(&self, found: Option<ProcessInfo>, boot_id: u64, mutant: Option<Mutant>) -> bool {
        match found {
            None => false,
            Some(_) if is(mutant, Mutant::PidReuseIgnored) => true,
            Some(info) => info.started_ns == self.started_ns && boot_id == self.boot_id,
        }
    }
}

/// As it stands in file names: digits and hyphens only.
impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:016x}", self.pid, self.started_ns, self.boot_id)
    }
}

/// The text is no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a process identity: PID, start time and boot id, with hyphens between them")]
pub struct NotAnIdentity;

impl FromStr for ProcessIdentity {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<ProcessIdentity, NotAnIdentity> {
        let mut parts = text.split('-');
        let (Some(pid), Some(started), Some(boot), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NotAnIdentity);
        };
        let pid = pid.parse().map_err(|_| NotAnIdentity)?;
        let started_ns = started.parse().map_err(|_| NotAnIdentity)?;
        let boot_id = u64::from_str_radix(boot, 16).map_err(|_| NotAnIdentity)?;
        Ok(ProcessIdentity { pid, started_ns, boot_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_a_file_name() {
        let identity = ProcessIdentity { pid: 104, started_ns: 12, boot_id: 0xfeed };
        assert_eq!(identity.to_string().parse(), Ok(identity));
        for wrong in ["", "104", "104-12", "104-12-feed-1", "x-12-feed", "104--feed"] {
            assert_eq!(wrong.parse::<ProcessIdentity>(), Err(NotAnIdentity), "{wrong}");
        }
    }
}
