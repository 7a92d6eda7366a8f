//! A file that names the lock's owner. It exists from the first moment with the whole record in it, and the dead are told from the living by
//! identity, never by age.
//!
//! - *Publishing*: the record is written to a temporary file, made durable, and then linked to the lock's name. link(2) fails if the name is
//!   taken, so it is exclusive, and nobody ever sees half a record.
//! - *Reclaiming*: only one process at a time may take a dead owner's record away, under an flock of its own. Under it the record is read again:
//!   it is still the dead owner's, since nobody else may remove it and nobody can publish over it. So what is removed is what was judged.

use super::way::{Attempt, Attempting, Grant, Way};
use super::{Holder, LockError, LockName, OwnerRecord};
use crate::file::{Damage, FileError, Temporary, read_sealed, remove, seal, unseal, write_durably};
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::claim::Exclusion;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::{Errno, Sys};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The age at which `LiveOwnerReapedByAge` takes a lock away, in nanoseconds.
const OLD_NS: u64 = 250_000_000;

/// `NAME.owner`, with the owner's record in it.
pub struct OwnerFile {
    directory: String,
    /// How long a record must have been unreadable before our eyes until it counts as nobody's.
    grace_ns: u64,
    mutant: Option<Mutant>,
    /// Unreadable records that we have met: since when, in nanoseconds since the machine's boot, and their bytes.
    unreadable: RefCell<BTreeMap<LockName, (u64, Vec<u8>)>>,
}

/// What stands at the lock's name.
enum Found {
    /// Nothing.
    Free,
    /// A record whose owner lives, or may live.
    Held(Holder),
    /// What must go first: the bytes that were judged.
    Stale(Vec<u8>),
}

impl OwnerFile {
    /// Locks in a directory. An unreadable record, which only a damaged disk can leave, counts as stale after `grace_ns`.
    pub fn new(directory: String, grace_ns: u64, mutant: Option<Mutant>) -> OwnerFile {
        OwnerFile { directory, grace_ns, mutant, unreadable: RefCell::default() }
    }

    fn path(&self, lock: &LockName) -> String {
        format!("{}/{lock}.owner", self.directory)
    }

    async fn look(&self, sys: &Sys, lock: &LockName) -> Result<Found, LockError> {
        let Some(bytes) = read_sealed(sys, &self.path(lock)).await.map_err(|error| LockError::of_file(lock, &error))?
        else {
            self.unreadable.borrow_mut().remove(lock);
            return Ok(Found::Free);
        };
        let record: Result<OwnerRecord, Damage> = unseal(&bytes);
        let Ok(record) = record else {
            return Ok(if self.is_past_grace(sys, lock, &bytes) {
                Found::Stale(bytes)
            } else {
                Found::Held(Holder::Unknown)
            });
        };
        let is_old =
            || record.process.boot_id == sys.boot_id() && sys.monotonic_ns().saturating_sub(record.since_ns) > OLD_NS;
        if !record.process.is_alive(sys, self.mutant).await || is(self.mutant, Mutant::LiveOwnerReapedByAge) && is_old()
        {
            return Ok(Found::Stale(bytes));
        }
        Ok(Found::Held(Holder::Process(Box::new(record))))
    }

    /// An unreadable record has no owner whose life could be asked for. It is nobody's once it has stayed the same for the grace: records are
    /// published whole, so no living process is about to complete it.
    fn is_past_grace(&self, sys: &Sys, lock: &LockName, bytes: &[u8]) -> bool {
        if is(self.mutant, Mutant::EmptyOwnerFileIsStale) {
            return true;
        }
        let now_ns = sys.monotonic_ns();
        let mut unreadable = self.unreadable.borrow_mut();
        let (since_ns, seen) = unreadable.entry(lock.clone()).or_insert_with(|| (now_ns, bytes.to_vec()));
        if seen != bytes {
            (*since_ns, *seen) = (now_ns, bytes.to_vec());
        }
        now_ns.saturating_sub(*since_ns) >= self.grace_ns
    }

    /// Publishes our record at the lock's name, if that is free. Gives `None` if somebody was faster.
    async fn publish(&self, sys: &Sys, lock: &LockName) -> Result<Option<Grant>, LockError> {
        let path = self.path(lock);
        let record = seal(&OwnerRecord::of(sys)).map_err(|_| LockError::System {
            lock: lock.clone(),
            step: "encode",
            source: Errno::Invalid,
        })?;
        if is(self.mutant, Mutant::EmptyOwnerFileIsStale) || is(self.mutant, Mutant::OwnerRecordInSecondCall) {
            return match Temporary::at(sys, path).await {
                Ok(file) => write_durably(&file, &record)
                    .await
                    .map(|()| Some(Grant::plain()))
                    .map_err(|error| LockError::of_file(lock, &error)),
                Err(FileError::NoEffect { source: Errno::Exists, .. }) => Ok(None),
                Err(error) => Err(LockError::of_file(lock, &error)),
            };
        }
        let temporary =
            Temporary::beside_as(sys, &path, self.mutant).await.map_err(|error| LockError::of_file(lock, &error))?;
        if let Err(error) = write_durably(&temporary, &record).await {
            temporary.remove(sys).await;
            return Err(LockError::of_file(lock, &error));
        }
        let temporary = temporary.close().await.map_err(|error| LockError::of_file(lock, &error))?;
        match sys.link(&temporary, &path).await {
            Ok(()) => Ok(Some(Grant { left_over: vec![temporary], ..Grant::plain() })),
            Err(error) => {
                remove(sys, &temporary).await;
                if error == Errno::Exists {
                    Ok(None)
                } else {
                    Err(LockError::System { lock: lock.clone(), step: "link", source: error })
                }
            }
        }
    }

    /// Takes a stale record away. Gives whether it is gone; if not, somebody else is at it.
    async fn reclaim(&self, sys: &Sys, lock: &LockName, judged: &[u8]) -> Result<bool, LockError> {
        let refused = |step| move |source| LockError::System { lock: lock.clone(), step, source };
        let path = format!("{}/{lock}.reclaim", self.directory);
        let guard = sys.open(&path, OpenFlags::READ_WRITE.create()).await.map_err(refused("open"))?;
        match guard.try_lock(LockMode::Exclusive).await {
            Ok(()) => {}
            Err(Errno::WouldBlock) => return Ok(false),
            Err(source) => return Err(refused("flock")(source)),
        }
        let now = read_sealed(sys, &self.path(lock)).await.map_err(|error| LockError::of_file(lock, &error))?;
        let is_same =
            now.as_deref() == Some(judged) || is(self.mutant, Mutant::ReclaimWithoutIdentityCheck) && now.is_some();
        if is_same {
            sys.unlink(&self.path(lock)).await.map_err(refused("unlink"))?;
        }
        guard.close().await.map_err(refused("close"))?;
        Ok(is_same)
    }
}

impl Way for OwnerFile {
    fn exclusion(&self) -> Exclusion {
        Exclusion::Holder
    }

    fn attempt<'a>(&'a self, sys: &'a Sys, lock: &'a LockName) -> Attempting<'a, Attempt> {
        Box::pin(async move {
            let took_over = match self.look(sys, lock).await? {
                Found::Held(holder) => return Ok(Attempt::Busy(holder)),
                Found::Stale(judged) if !self.reclaim(sys, lock, &judged).await? => {
                    return Ok(Attempt::Busy(Holder::Unknown));
                }
                Found::Stale(_) => true,
                Found::Free => false,
            };
            Ok(match self.publish(sys, lock).await? {
                Some(grant) => Attempt::Acquired(Grant { took_over, ..grant }),
                None => Attempt::Busy(Holder::Unknown),
            })
        })
    }

    fn release_dead<'a>(&'a self, sys: &'a Sys) -> Attempting<'a, Option<usize>> {
        Box::pin(async move {
            let name = sys.name();
            let mut released = Some(0);
            // What can't be looked at may hold something.
            let Ok(records) = sys.read_dir(&self.directory).await else { return Ok(None) };
            for lock in records.iter().filter_map(|record| LockName::parse(record.strip_suffix(".owner")?)) {
                let Found::Stale(judged) = self.look(sys, &lock).await? else { continue };
                if unseal::<OwnerRecord>(&judged).is_ok_and(|record| record.name == name) {
                    let is_gone = self.reclaim(sys, &lock, &judged).await?;
                    released = released.filter(|_| is_gone).map(|count| count + 1);
                }
            }
            Ok(released)
        })
    }

    fn release<'a>(&'a self, sys: &'a Sys, lock: &'a LockName, _grant: Grant) -> Attempting<'a, ()> {
        // Nobody else may remove a living owner's record, so what stands at the name is ours.
        Box::pin(async move {
            if is(self.mutant, Mutant::MigrationLockKept) && *lock == LockName::migration() {
                return Ok(());
            }
            match sys.unlink(&self.path(lock)).await {
                Ok(()) => Ok(()),
                Err(Errno::NoEntry) => {
                    // Somebody broke that rule. There is nothing left to give back.
                    tracing::error!(%lock, "the owner record was taken away while its owner lived");
                    Ok(())
                }
                Err(source) => Err(LockError::System { lock: lock.clone(), step: "unlink", source }),
            }
        })
    }
}
