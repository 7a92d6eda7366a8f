//! Explicit checkpoints: moving the WAL into the database, as far as readers allow.

use super::connection::Store;
use super::error::{Remedy, StoreError, Trouble};
use crate::claims::{Checkpointed, OperationKey};
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Store {
    /// Checkpoints in the configured mode (sqlite.org/pragma.html#pragma_wal_checkpoint). A checkpoint that readers or writers held up is no
    /// failure: it says how far it came. The inner error is why it didn't run.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn checkpoint(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
    ) -> Result<Result<Checkpointed, &'static str>, StoreError> {
        let own_key = key.clone();
        let pragma = format!("PRAGMA wal_checkpoint({})", self.config.checkpoint.name());
        let done = self
            .run(
                sys,
                Some(key),
                Rc::new(move |os, connection| {
                    let done = connection.query_row(&pragma, [], |row| {
                        // -1: there is no WAL.
                        let frames = |index| row.get::<_, i64>(index).map(|frames| u64::try_from(frames).unwrap_or(0));
                        Ok((row.get::<_, i64>(0)? != 0, frames(1)?, frames(2)?))
                    });
                    let (was_busy, wal_frames, moved_frames) =
                        done.map_err(|error| Trouble::of("checkpoint", error, None))?;
                    let progress = Checkpointed { key: own_key.clone(), was_busy, wal_frames, moved_frames };
                    os.claim(&progress);
                    Ok(progress)
                }),
            )
            .await?;
        Ok(done.map_err(|trouble| if trouble.remedy == Remedy::Again { "busy" } else { "io-error" }))
    }
}
