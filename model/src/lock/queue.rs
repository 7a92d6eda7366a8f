//! A queue of tickets before a lock, so that nobody is overtaken without bound. It only says who may try: what excludes is the lock.
//!
//! A ticket is a directory whose name holds its number and its owner's identity: made in one call, complete from the first moment, and used once.

use super::{LockError, LockName};
use crate::identity::ProcessIdentity;
use crate::mutant::Mutant;
use seedstorm_sim::{Draw, Errno, Sys};

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Ticket {
    row: String,
    name: String,
}

impl Ticket {
    /// Joins the end of a lock's queue.
    pub(super) async fn join(sys: &Sys, directory: &str, lock: &LockName) -> Result<Ticket, LockError> {
        let refused = |step| move |source| LockError::System { lock: lock.clone(), step, source };
        let row = format!("{directory}/{lock}.queue");
        let waiting = match sys.read_dir(&row).await {
            Ok(waiting) => waiting,
            Err(Errno::NoEntry) => {
                match sys.mkdir(&row).await {
                    Ok(()) | Err(Errno::Exists) => {}
                    Err(source) => return Err(refused("mkdir")(source)),
                }
                Vec::new()
            }
            Err(source) => return Err(refused("readdir")(source)),
        };
        // Two that join at once may draw the same number; the rest of the name then decides, for everybody alike.
        let number = waiting.last().and_then(|name| number_of(name)).map_or(0, |last| last + 1);
        let name = format!("{number:012}.{}.{:016x}", ProcessIdentity::of(sys), sys.entropy().bits());
        sys.mkdir(&format!("{row}/{name}")).await.map_err(refused("mkdir"))?;
        Ok(Ticket { row, name })
    }

    /// Whether everybody before us has gone. Tickets of the dead are removed.
    pub(super) async fn is_first(&self, sys: &Sys, lock: &LockName, mutant: Option<Mutant>) -> Result<bool, LockError> {
        let names = sys.read_dir(&self.row).await;
        let names = names.map_err(|source| LockError::System { lock: lock.clone(), step: "readdir", source })?;
        for name in names.iter().take_while(|name| **name < self.name) {
            match owner_of(name) {
                Some(owner) if owner.is_alive(sys, mutant).await => return Ok(false),
                _ => drop(sys.rmdir(&format!("{}/{name}", self.row)).await),
            }
        }
        Ok(true)
    }

    /// Leaves the queue. What can't be removed now is removed after our death by those behind us.
    pub(super) async fn leave(self, sys: &Sys) {
        if let Err(error) = sys.rmdir(&format!("{}/{}", self.row, self.name)).await {
            tracing::debug!(ticket = self.name, %error, "a ticket stays");
        }
    }
}

fn number_of(name: &str) -> Option<u64> {
    name.split_once('.')?.0.parse().ok()
}

fn owner_of(name: &str) -> Option<ProcessIdentity> {
    name.split('.').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_tells_its_number_and_owner() {
        let owner = ProcessIdentity { pid: 7, started_ns: 99, boot_id: 3 };
        let name = format!("{:012}.{owner}.{:016x}", 41, 5);
        assert_eq!((number_of(&name), owner_of(&name)), (Some(41), Some(owner)));
        assert_eq!((number_of("something"), owner_of("something")), (None, None));
    }
}
