//! What the database says of signals, read by SQL of the oracles' own on a copy of the disk. What must stand there is judged in `survival`.

use crate::oracle::paths::DATABASE;
use rusqlite::{Connection, OpenFlags};
use seedstorm_model::bus::{Clock, decode};
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::claim::signal::{Life, SignalId};
use seedstorm_sim::sys::disk::Disk;
use std::collections::{BTreeMap, BTreeSet};

/// The bit of the schema's version that stands for the tables of signals.
const WITH_SIGNALS: i64 = 4;

/// The content of the tables of signals.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// By member: the rows of its clock.
    pub(super) clocks: BTreeMap<u32, Vec<Clock>>,
    /// Rows of queues: (recipient, signal).
    pub(super) queued: BTreeSet<(u32, SignalId)>,
    /// By recipient and life of the sender: how many signals have taken effect, and what they said.
    pub(super) effects: BTreeMap<(u32, Life), (u64, u64)>,
    /// Rows of clocks that aren't clocks.
    pub(super) unreadable: Vec<String>,
}

impl Stored {
    /// Reads the database of a disk. `None` when there is none, or when nobody exchanges signals there.
    ///
    /// # Errors
    /// SQLite's own words, when it can't be read.
    pub(super) fn of(disk: &Disk) -> Result<Option<Stored>, String> {
        if disk.inode_of(DATABASE).is_none() {
            return Ok(None);
        }
        inspect(disk, || Stored::read().map_err(|error| error.to_string()))
    }

    /// Whether a member's clock knows of an event.
    pub(super) fn knows(&self, member: u32, life: Life, counter: u64) -> bool {
        self.clocks.get(&member).is_some_and(|rows| rows.iter().any(|row| row.knows(life, counter)))
    }

    /// What a member's clock knows of a life: its last event, 0 if nothing; `None`: all of it is past.
    pub(super) fn known_of(&self, member: u32, life: Life) -> Option<u64> {
        let rows = self.clocks.get(&member).map_or(&[][..], Vec::as_slice);
        if rows.iter().any(|row| row.is_pruned(life)) {
            return None;
        }
        Some(rows.iter().map(|row| row.counter(life)).max().unwrap_or(0))
    }

    fn read() -> rusqlite::Result<Option<Stored>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(DATABASE, flags)?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version & WITH_SIGNALS == 0 {
            return Ok(None);
        }
        let mut stored = Stored::default();
        let mut select = connection.prepare("SELECT member, number, clock FROM clock_journal")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let member = row.get(0)?;
            match decode(row.get_ref(2)?.as_blob()?) {
                Ok(clock) => stored.clocks.entry(member).or_default().push(clock),
                Err(why) => {
                    stored.unreadable.push(format!("row {} of member {member}: {why}", row.get::<_, i64>(1)?));
                }
            }
        }
        let mut select = connection.prepare("SELECT recipient, sender, incarnation, sequence FROM signal_queue")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let sender = Life { agent: row.get(1)?, incarnation: row.get(2)? };
            let signal = SignalId { sender, sequence: row.get::<_, i64>(3)? as u64 };
            stored.queued.insert((row.get(0)?, signal));
        }
        let mut select =
            connection.prepare("SELECT recipient, sender, incarnation, signals, digest FROM signal_effects")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let sender = Life { agent: row.get(1)?, incarnation: row.get(2)? };
            let effect = (row.get::<_, i64>(3)? as u64, row.get::<_, i64>(4)? as u64);
            stored.effects.insert((row.get(0)?, sender), effect);
        }
        Ok(Some(stored))
    }
}
