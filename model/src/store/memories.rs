//! Sealed memories in the store: sealing one as an operation, the account of all for whoever verifies them, and which files nobody has sealed.

use super::connection::Store;
use super::error::{Remedy, StoreError, Trouble};
use super::transaction::{Attempt, Outcome, Verdict, run_cached};
use crate::claims::{Effect, OperationKey};
use crate::memory::{Account, Digest, is_sealed, read_account, seal};
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, params};
use seedstorm_sim::{Os, Sys};
use std::rc::Rc;

impl Store {
    /// Seals a memory whose file is durable, as an operation.
    pub(crate) async fn remember(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        memory: Digest,
    ) -> Result<Outcome, StoreError> {
        let body = move |attempt: &Attempt<'_>| {
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let sealed = seal(attempt.connection, &[memory], attempt.now_ns, attempt.config.mutant);
            let transition = sealed.map_err(attempt.trouble("seal a memory"))?;
            Ok(Verdict::Commit(Effect::Remembered { memory, transition }))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// What the store says of its memories at one moment; what can't be read because it is damaged is a fault in it. The inner error is why it couldn't be
    /// had now.
    pub(crate) async fn account(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
    ) -> Result<Result<Account, &'static str>, StoreError> {
        let is_torn = is(self.config.mutant, Mutant::AccountReadInPieces);
        let read = move |connection: &Connection| {
            if is_torn {
                return read_account(connection);
            }
            run_cached(connection, "BEGIN DEFERRED")?;
            let account = read_account(connection)?;
            run_cached(connection, "COMMIT")?;
            Ok(account)
        };
        let account = self.run(
            sys,
            Some(key),
            Rc::new(move |_, connection| {
                read(connection).or_else(|error| match Trouble::of("read the account", error, None) {
                    // No retry heals it: something is there that nobody can have written.
                    Trouble { remedy: Remedy::None, source, .. } => Ok(Account::unreadable(&source)),
                    trouble => Err(trouble),
                })
            }),
        );
        let why = |trouble: Trouble| if trouble.remedy == Remedy::Again { "busy" } else { "io-error" };
        Ok(account.await?.map_err(why))
    }

    /// Those of some memories that aren't sealed, as a look finds it; `None`: the store can't be reached now.
    pub(crate) async fn unsealed(
        &mut self,
        sys: &Sys,
        memories: Rc<[Digest]>,
    ) -> Result<Option<Vec<Digest>>, StoreError> {
        let read = self.run(
            sys,
            None,
            Rc::new(move |_, connection| {
                not_sealed(connection, &memories).map_err(|error| Trouble::of("look for orphans", error, None))
            }),
        );
        Ok(read.await?.ok())
    }

    /// As [`Store::unsealed`], in a transaction that writes and is committed: see [`crate::memory::Sweeping::remove`]. None is given where the account is
    /// damaged: a memory whose row was hit is no orphan.
    pub(crate) async fn unsealed_for_good(
        &mut self,
        sys: &Sys,
        sweeper: &str,
        memories: Rc<[Digest]>,
    ) -> Result<Option<Vec<Digest>>, StoreError> {
        let sweeper = sweeper.to_owned();
        let change = move |os: &Os, connection: &Connection| {
            let mut see = connection.prepare_cached("UPDATE agents SET seen_ns = ?2 WHERE name = ?1")?;
            see.execute(params![sweeper, os.wall_ns() as i64])?;
            let account = read_account(connection)?;
            Ok(if account.is_sound() { account.without_sealed(&memories) } else { Vec::new() })
        };
        Ok(self.change(sys, "look for orphans", change).await?.ok())
    }
}

fn not_sealed(connection: &Connection, memories: &[Digest]) -> rusqlite::Result<Vec<Digest>> {
    let mut unsealed = Vec::new();
    for memory in memories {
        if !is_sealed(connection, memory)? {
            unsealed.push(*memory);
        }
    }
    Ok(unsealed)
}
