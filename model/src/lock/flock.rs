//! flock(2) on a side-car. The kernel releases it with its holder's life, so there is nothing to reclaim.
//!
//! The side-car is made once and never renamed or removed. A lock on the data file itself would be a lock on an inode that the next atomic
//! replace takes out of the name: two holders.

use super::way::{Attempt, Attempting, Grant, Way};
use super::{Holder, LockError, LockName, OwnerRecord};
use crate::file::{replace_volatile, seal};
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::claim::Exclusion;
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::{Errno, Sys};
use std::future::Future;
use std::pin::Pin;

/// Bytes that hold any owner record.
const RECORD_BYTES_MAX: usize = 512;

/// flock(2) on `NAME.lock`.
pub struct Flock {
    directory: String,
    mutant: Option<Mutant>,
}

impl Flock {
    /// Locks in a directory.
    pub fn new(directory: String, mutant: Option<Mutant>) -> Flock {
        Flock { directory, mutant }
    }

    fn path(&self, lock: &LockName) -> String {
        format!("{}/{lock}.lock", self.directory)
    }

    async fn open(&self, sys: &Sys, lock: &LockName) -> Result<File, LockError> {
        let path = self.path(lock);
        let opened = sys.open(&path, OpenFlags::READ_WRITE.create()).await;
        opened.map_err(|source| LockError::System { lock: lock.clone(), step: "open", source })
    }
}

impl Way for Flock {
    fn exclusion(&self) -> Exclusion {
        Exclusion::Holder
    }

    fn attempt<'a>(&'a self, sys: &'a Sys, lock: &'a LockName) -> Attempting<'a, Attempt> {
        Box::pin(async move {
            let side_car = self.open(sys, lock).await?;
            match side_car.try_lock(LockMode::Exclusive).await {
                Ok(()) => Ok(Attempt::Acquired(Grant { side_car: Some(side_car), ..Grant::plain() })),
                Err(Errno::WouldBlock) => Ok(Attempt::Busy(holder(&side_car).await)),
                Err(source) => Err(LockError::System { lock: lock.clone(), step: "flock", source }),
            }
        })
    }

    fn settle<'a>(
        &'a self,
        sys: &'a Sys,
        lock: &'a LockName,
        grant: &'a mut Grant,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let Some(side_car) = &grant.side_car else { return };
            if let Ok(record) = seal(&OwnerRecord::of(sys)) {
                if is(self.mutant, Mutant::SideCarReplaced) {
                    let path = self.path(lock);
                    let _ = replace_volatile(sys, &path, &path, &record).await;
                    return;
                }
                // In place, and not durable: nobody decides anything by it, it only gives a timeout a name.
                let _ = side_car.write_at(&record, 0).await;
            }
        })
    }

    fn release<'a>(&'a self, _sys: &'a Sys, lock: &'a LockName, grant: Grant) -> Attempting<'a, ()> {
        Box::pin(async move {
            let Some(side_car) = grant.side_car else { return Ok(()) };
            // The lock goes with the open file description.
            side_car.close().await.map_err(|source| LockError::System { lock: lock.clone(), step: "close", source })
        })
    }
}

/// Who holds it, by the holder's own word. For a moment after an acquisition that is still the last holder.
async fn holder(side_car: &File) -> Holder {
    let mut buffer = [0; RECORD_BYTES_MAX];
    let read = side_car.read_at(&mut buffer, 0).await.unwrap_or(0);
    crate::file::unseal_front(&buffer[..read]).map_or(Holder::Unknown, |record| Holder::Process(Box::new(record)))
}
