//! Making the database, and the keys and tasks that a swarm begins with.

use super::connection::Store;
use super::error::StoreError;
use super::schema;
use rusqlite::params;
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Store {
    /// Whether the tables are there; `None`: the store can't be reached now. A database that isn't there is made, empty.
    pub(crate) async fn has_schema(&mut self, sys: &Sys) -> Result<Option<bool>, StoreError> {
        let config = self.config.clone();
        let current = self.run(sys, None, Rc::new(move |_, connection| schema::is_current(connection, &config)));
        Ok(current.await?.ok())
    }

    /// Makes the tables, unless they are there. Call it under the lock of migration. Gives whether they are there now.
    pub(crate) async fn create_schema(&mut self, sys: &Sys) -> Result<bool, StoreError> {
        let config = self.config.clone();
        let created = self.change(sys, "create the tables", move |_, connection| schema::create(connection, &config));
        Ok(created.await?.is_ok())
    }

    /// Adds keys and tasks, each task with so many items, unless they are there. Gives whether they are there now.
    pub(crate) async fn provision(
        &mut self,
        sys: &Sys,
        keys: &[String],
        tasks: &[String],
        items: u64,
    ) -> Result<bool, StoreError> {
        let (keys, tasks) = (keys.to_vec(), tasks.to_vec());
        let provisioned = self.change(sys, "provision", move |os, connection| {
            let now_ns = os.wall_ns() as i64;
            let mut add = connection.prepare(
                "INSERT OR IGNORE INTO session_state (key, value, version, updated_ns) VALUES (?1, '', 0, ?2)",
            )?;
            for key in &keys {
                add.execute(params![key, now_ns])?;
            }
            let mut add =
                connection.prepare("INSERT OR IGNORE INTO tasks (name, state, generation) VALUES (?1, 'open', 0)")?;
            let mut add_item = connection.prepare("INSERT OR IGNORE INTO checklist (task, item) VALUES (?1, ?2)")?;
            for task in &tasks {
                add.execute([task])?;
                for item in 0..items {
                    add_item.execute(params![task, item as i64])?;
                }
            }
            Ok(())
        });
        Ok(provisioned.await?.is_ok())
    }
}
