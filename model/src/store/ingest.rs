//! Operations on beliefs: a batch is one transaction, labels and Merkle root included. How the rows stand is in `beliefs`.

use super::beliefs::{Rows, finding};
use super::connection::Store;
use super::error::{StoreError, Trouble};
use super::transaction::{Attempt, Outcome, Verdict, run_cached};
use crate::claims::{Effect, OperationKey};
use crate::memory::{Digest, seal};
use crate::tms::{Batch, Belief, Finding, Ingested, ingest, lay_down};
use rusqlite::{Connection, OptionalExtension};
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Store {
    /// Takes a batch in, as an operation. The files of the beliefs that it adds are durable.
    pub(crate) async fn ingest(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        batch: Rc<Batch>,
    ) -> Result<Outcome, StoreError> {
        let body = move |attempt: &Attempt<'_>| {
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let take = || {
                let mut rows = Rows::new(attempt.connection);
                let ingested = ingest(&mut rows, &batch, attempt.config.mutant)?;
                let transition = seal(attempt.connection, &rows.added, attempt.now_ns, attempt.config.mutant)?;
                let Ingested { refused, relabelled } = ingested;
                Ok(Effect::Ingested { refused, relabelled, sealed: rows.added, transition })
            };
            take().map(Verdict::Commit).map_err(attempt.trouble("take a batch in"))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// Lays down core memories whose files are durable: there will be no others. Gives whether they are there now.
    pub(crate) async fn lay_down(&mut self, sys: &Sys, core: Rc<[Belief]>) -> Result<bool, StoreError> {
        let mutant = self.config.mutant;
        let laid_down = self.change(sys, "lay down core memories", move |os, connection| {
            let is_done = "SELECT EXISTS (SELECT 1 FROM core_is_laid_down)";
            if connection.query_row(is_done, [], |row| row.get(0))? {
                return Ok(());
            }
            let mut rows = Rows::new(connection);
            lay_down(&mut rows, &core)?;
            seal(connection, &rows.added, os.wall_ns(), mutant)?;
            connection.execute("INSERT INTO core_is_laid_down (is_so) VALUES (1)", []).map(drop)
        });
        Ok(laid_down.await?.is_ok())
    }

    /// What was found of some beliefs, at one moment; `None` for one that isn't known. The outer `None`: the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn findings(
        &mut self,
        sys: &Sys,
        beliefs: Rc<[Digest]>,
    ) -> Result<Option<Vec<Option<Finding>>>, StoreError> {
        let read = move |connection: &Connection| {
            run_cached(connection, "BEGIN DEFERRED")?;
            let found = beliefs.iter().map(|belief| find(connection, belief)).collect::<rusqlite::Result<Vec<_>>>()?;
            run_cached(connection, "COMMIT")?;
            Ok(found)
        };
        let read = self.run(
            sys,
            None,
            Rc::new(move |_, connection| read(connection).map_err(|error| Trouble::of("read findings", error, None))),
        );
        Ok(read.await?.ok())
    }

    /// What stands in the place of a belief: itself, or what superseded it and holds; of several the one of the greatest rank, and so on from there. The
    /// inner `None`: it isn't known. The outer one: the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn current(&mut self, sys: &Sys, belief: Digest) -> Result<Option<Option<Digest>>, StoreError> {
        let read = self.run(
            sys,
            None,
            Rc::new(move |_, connection| {
                // Supersessions have no cycle, so this ends.
                let sql = "WITH RECURSIVE line (id, heir, place) AS (
                             SELECT id, heir, 0 FROM beliefs WHERE id = ?1
                             UNION ALL SELECT beliefs.id, beliefs.heir, place + 1 FROM line JOIN beliefs ON beliefs.id = line.heir
                           ) SELECT id FROM line ORDER BY place DESC LIMIT 1";
                let mut select =
                    connection.prepare_cached(sql).map_err(|error| Trouble::of("find a current belief", error, None))?;
                let found = select.query_row([belief], |row| row.get(0)).optional();
                found.map_err(|error| Trouble::of("find a current belief", error, None))
            }),
        );
        Ok(read.await?.ok())
    }
}

fn find(connection: &Connection, belief: &Digest) -> rusqlite::Result<Option<Finding>> {
    let mut select = connection.prepare_cached("SELECT label, support, taken, heir FROM beliefs WHERE id = ?1")?;
    select.query_row([belief], |row| finding(row, 0)).optional()
}
