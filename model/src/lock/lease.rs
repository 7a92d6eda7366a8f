//! A lease: whoever holds it may be overtaken when it has run out, and then what it protects refuses its old token.
//!
//! Each acquisition makes the next file of a row, `NAME.leases/TOKEN`: the highest number is the lease in force, and that number is its fencing
//! token. link(2) lets one process make each file. The highest file is never removed, so tokens never fall. A slow process may still make a
//! file that others have long left behind; it looks again before it believes that it holds the lease.

use super::way::{Attempt, Attempting, Grant, Way};
use super::{Holder, LockError, LockName, OwnerRecord};
use crate::file::{Temporary, create_directory, read_sealed, remove, replace_volatile, seal, unseal, write_durably};
use crate::mutant::Mutant;
use seedstorm_sim::sys::claim::Exclusion;
use seedstorm_sim::{Errno, Sys};
use serde::{Deserialize, Serialize};

/// A lease with a fencing token.
pub struct Lease {
    directory: String,
    lasts_ns: u64,
    mutant: Option<Mutant>,
}

/// What stands in a lease's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    owner: OwnerRecord,
    /// Until when, by the wall clock of whoever looks. Clocks differ: hence the token.
    until_ns: u64,
    is_released: bool,
}

impl Lease {
    /// Leases in a directory that last so many nanoseconds.
    pub fn new(directory: String, lasts_ns: u64, mutant: Option<Mutant>) -> Lease {
        Lease { directory, lasts_ns, mutant }
    }

    fn row(&self, lock: &LockName) -> String {
        format!("{}/{lock}.leases", self.directory)
    }

    /// The tokens of a row, falling.
    async fn tokens(&self, sys: &Sys, lock: &LockName) -> Result<Vec<u64>, LockError> {
        let row = self.row(lock);
        let names = match sys.read_dir(&row).await {
            Ok(names) => names,
            Err(Errno::NoEntry) => {
                create_directory(sys, &row).await.map_err(|error| LockError::of_file(lock, &error))?;
                Vec::new()
            }
            Err(source) => return Err(LockError::System { lock: lock.clone(), step: "readdir", source }),
        };
        let mut tokens: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        tokens.sort_unstable_by(|left, right| right.cmp(left));
        Ok(tokens)
    }

    /// The lease of a token, unless it may be taken over. A damaged record is nobody's: the token protects what the lease can't.
    async fn in_force(&self, sys: &Sys, lock: &LockName, token: u64) -> Result<Option<OwnerRecord>, LockError> {
        let bytes =
            read_sealed(sys, &self.path(lock, token)).await.map_err(|error| LockError::of_file(lock, &error))?;
        let record = bytes.and_then(|bytes| unseal::<Record>(&bytes).ok());
        let Some(record) = record.filter(|record| !record.is_released && record.until_ns > sys.wall_ns()) else {
            return Ok(None);
        };
        let lives = record.owner.process.is_alive(sys, self.mutant).await;
        Ok(lives.then_some(record.owner))
    }

    fn path(&self, lock: &LockName, token: u64) -> String {
        format!("{}/{token:020}", self.row(lock))
    }

    fn record(&self, sys: &Sys, is_released: bool) -> Record {
        Record { owner: OwnerRecord::of(sys), until_ns: sys.wall_ns().saturating_add(self.lasts_ns), is_released }
    }

    /// Makes the file of a token, durably: a crash must not let tokens fall. Gives whether we made it.
    async fn make(&self, sys: &Sys, lock: &LockName, token: u64) -> Result<bool, LockError> {
        let path = self.path(lock, token);
        let record = sealed(lock, &self.record(sys, false))?;
        let temporary =
            Temporary::beside(sys, &self.row(lock)).await.map_err(|error| LockError::of_file(lock, &error))?;
        if let Err(error) = write_durably(&temporary, &record).await {
            temporary.remove(sys).await;
            return Err(LockError::of_file(lock, &error));
        }
        let temporary = temporary.close().await.map_err(|error| LockError::of_file(lock, &error))?;
        let linked = sys.link(&temporary, &path).await;
        remove(sys, &temporary).await;
        match linked {
            Ok(()) => {}
            Err(Errno::Exists) => return Ok(false),
            Err(source) => return Err(LockError::System { lock: lock.clone(), step: "link", source }),
        }
        if let Err(source) = sys.sync_dir(&self.row(lock)).await {
            remove(sys, &path).await;
            return Err(LockError::System { lock: lock.clone(), step: "fsync", source });
        }
        Ok(true)
    }
}

impl Way for Lease {
    fn exclusion(&self) -> Exclusion {
        Exclusion::FencingToken
    }

    fn attempt<'a>(&'a self, sys: &'a Sys, lock: &'a LockName) -> Attempting<'a, Attempt> {
        Box::pin(async move {
            let newest = self.tokens(sys, lock).await?.first().copied().unwrap_or(0);
            if newest > 0
                && let Some(owner) = self.in_force(sys, lock, newest).await?
            {
                return Ok(Attempt::Busy(Holder::Process(Box::new(owner))));
            }
            let token = newest + 1;
            if !self.make(sys, lock, token).await? {
                return Ok(Attempt::Busy(Holder::Unknown));
            }
            let tokens = self.tokens(sys, lock).await?;
            if tokens.first() != Some(&token) {
                // While we were slow, others took the lease, and removed the file whose place ours has now.
                remove(sys, &self.path(lock, token)).await;
                return Ok(Attempt::Busy(Holder::Unknown));
            }
            let left_over = tokens[1..].iter().map(|older| self.path(lock, *older)).collect();
            Ok(Attempt::Acquired(Grant { token: Some(token), took_over: newest > 0, left_over, ..Grant::plain() }))
        })
    }

    /// Marks our lease as released. If it was overtaken, the mark stands behind newer ones, and the next holder removes it.
    fn release<'a>(&'a self, sys: &'a Sys, lock: &'a LockName, grant: Grant) -> Attempting<'a, ()> {
        Box::pin(async move {
            let Some(token) = grant.token else { return Ok(()) };
            let record = sealed(lock, &self.record(sys, true))?;
            if let Err(error) = replace_volatile(sys, &self.row(lock), &self.path(lock, token), &record).await {
                // It runs out by itself.
                tracing::debug!(%lock, token, %error, "a lease was not marked as released");
            }
            Ok(())
        })
    }
}

fn sealed(lock: &LockName, record: &Record) -> Result<Vec<u8>, LockError> {
    seal(record).map_err(|_| LockError::System { lock: lock.clone(), step: "encode", source: Errno::Invalid })
}
