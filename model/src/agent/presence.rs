//! Who is awake: a shared flock that goes with its holder's life. Whoever wakes while nobody is awake first settles what the dead left in the database.

use super::AgentError;
use super::wake::Tries;
use crate::config::Config;
use crate::file::FileError;
use crate::mutant::{Mutant, is};
use crate::store::Store;
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::{Errno, Sys};

/// An agent's presence: it lasts until it is dropped.
pub(super) struct Presence {
    _side_car: File,
}

impl Presence {
    /// Joins those who are awake. If nobody is, the database has no user: the WAL that is there is what a crash left. It is moved into the database
    /// before anybody builds on it.
    pub(super) async fn enter(sys: &Sys, config: &Config, store: &mut Store) -> Result<Presence, AgentError> {
        let path = format!("{}/awake", config.locks());
        let refused = |step| move |source| FileError::no_effect(step, &path, source);
        let opened = sys.open(&format!("{}/awake", config.locks()), OpenFlags::READ_WRITE.create()).await;
        let side_car = opened.map_err(refused.clone()("open"))?;
        if side_car.try_lock(LockMode::Exclusive).await.is_ok() {
            if is(config.mutant, Mutant::WalDeletedOnRecovery) {
                let _ = sys.unlink(&format!("{}-wal", config.database())).await;
            } else if !store.settle_wal(sys).await? {
                tracing::debug!("the WAL stays as it is");
            }
        }
        let mut tries = Tries::new(sys, "the presence of those who are awake");
        loop {
            match side_car.try_lock(LockMode::Shared).await {
                Ok(()) => return Ok(Presence { _side_car: side_car }),
                // Somebody is settling.
                Err(Errno::WouldBlock) => tries.again(sys).await?,
                Err(source) => return Err(refused("flock")(source).into()),
            }
        }
    }
}
