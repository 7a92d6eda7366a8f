//! What stands in the database of beliefs and records, read by SQL of the oracles' own on a copy of the disk, and what should follow from it.

use super::accepted::{Accepted, Expected};
use crate::oracle::audit::each;
use crate::oracle::paths::DATABASE;
use crate::oracle::reading::PerEvent;
use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, OpenFlags, Row};
use seedstorm_model::claims::{Committed, Effect};
use seedstorm_model::memory::Digest;
use seedstorm_model::mutant::Mutant;
use seedstorm_model::tms::{Batch, Belief, Contradiction, Finding, Justification, Label, Supersession};
use seedstorm_sim::View;
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, Event, Interest};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The bit of the tables of beliefs in the version of the schema.
const BELIEFS: i64 = 8;

/// A contradiction's own columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContradiction {
    /// Who yields.
    pub victim: Option<Digest>,
    /// Whether it is flagged.
    pub flag: Label,
}

/// What stands in the database at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What was recorded.
    pub accepted: Accepted,
    /// By belief: what the engine found.
    pub findings: BTreeMap<Digest, Finding>,
    /// By live contradiction.
    pub contradictions: BTreeMap<Digest, StoredContradiction>,
    /// Rows that say something else than what was asked for.
    pub strange: Vec<String>,
}

/// A reading, and what follows from what was recorded by the naive labeller.
#[derive(Debug, Default)]
pub struct Judged {
    /// What stands there.
    pub reading: Reading,
    /// What should stand there.
    pub expected: Expected,
}

/// What a plan says of beliefs.
#[derive(Debug, Default)]
pub struct Planned {
    /// Every belief that it names.
    pub beliefs: BTreeMap<Digest, Belief>,
    /// The core memories that are laid down.
    pub core: BTreeMap<Digest, Belief>,
    /// By operation: the batch.
    pub batches: BTreeMap<u64, Batch>,
    /// A planted bug of the engine that takes the same records in again: for tests. In a run that one has none.
    pub mutant: Option<Mutant>,
}

impl Judged {
    /// Reads the database of a disk. `None` when there is none yet.
    ///
    /// # Errors
    /// SQLite's own words, when it can't be read.
    pub fn of(disk: &Disk, planned: &Planned) -> Result<Option<Judged>, String> {
        if disk.inode_of(DATABASE).is_none() {
            return Ok(None);
        }
        let reading = inspect(disk, || Reading::read(planned).map_err(|error| error.to_string()))?;
        Ok(reading.map(|reading| Judged { expected: reading.accepted.expected(), reading }))
    }
}

impl Reading {
    fn read(planned: &Planned) -> rusqlite::Result<Option<Reading>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(DATABASE, flags)?;
        connection.execute_batch("BEGIN")?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version & BELIEFS == 0 {
            return Ok(None);
        }
        let mut reading = Reading::default();
        reading.read_beliefs(&connection, planned)?;
        reading.read_records(&connection)?;
        Ok(Some(reading))
    }

    fn read_beliefs(&mut self, connection: &Connection, planned: &Planned) -> rusqlite::Result<()> {
        let sql = "SELECT id, standing, asserted_ns, is_forgotten, label, support, taken, heir FROM beliefs";
        each(connection, sql, |row| {
            let id: Digest = row.get(0)?;
            let found = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)? as u64);
            match planned.beliefs.get(&id) {
                Some(belief) if found == (belief.standing as i64, belief.asserted_ns) => {
                    self.accepted.beliefs.insert(id, belief.clone());
                }
                Some(belief) => self.strange.push(format!("the row of {belief:?} has {found:?}")),
                None => self.strange.push(format!("{id} is a belief, and nobody asked for it")),
            }
            if row.get(3)? {
                self.accepted.forgotten.insert(id);
            }
            self.findings.insert(
                id,
                Finding { label: label(row, 4)?, support: label(row, 5)?, taken: label(row, 6)?, heir: row.get(7)? },
            );
            Ok(())
        })
    }

    fn read_records(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let retractions = "SELECT id FROM retractions";
        each(connection, retractions, |row| {
            self.accepted.retracted.insert(row.get(0)?);
            Ok(())
        })?;
        let mut named: Vec<(Digest, bool, Digest)> = Vec::new();
        let sql = "SELECT id, consequent, ins, outs, source, is_live FROM justifications";
        each(connection, sql, |row| {
            let (ins, outs) = (digests(row, 2)?, digests(row, 3)?);
            let found = Justification::new(row.get(1)?, ins, outs, row.get::<_, String>(4)?);
            named.push((row.get(0)?, row.get(5)?, found.id()));
            self.accepted.justifications.insert(row.get(0)?, found);
            Ok(())
        })?;
        let sql = "SELECT id, members, victim, flag, is_live FROM contradictions";
        each(connection, sql, |row| {
            let (id, found) = (row.get(0)?, Contradiction::between(digests(row, 1)?));
            let is_live: bool = row.get(4)?;
            named.push((id, is_live, found.id()));
            self.accepted.contradictions.insert(id, found);
            if is_live {
                self.contradictions.insert(id, StoredContradiction { victim: row.get(2)?, flag: label(row, 3)? });
            }
            Ok(())
        })?;
        each(connection, "SELECT id, newer, older, is_live FROM supersessions", |row| {
            let found = Supersession { newer: row.get(1)?, older: row.get(2)? };
            named.push((row.get(0)?, row.get(3)?, found.id()));
            self.accepted.supersessions.insert(row.get(0)?, found);
            Ok(())
        })?;
        for (id, is_live, name) in named {
            if id != name {
                self.strange.push(format!("the record {id} says what {name} should"));
            }
            if is_live == self.accepted.retracted.contains(&id) {
                self.strange.push(format!("the record {id} is retracted and counts, or isn't and doesn't"));
            }
        }
        Ok(())
    }
}

fn label(row: &Row<'_>, column: usize) -> rusqlite::Result<Label> {
    Label::column_result(row.get_ref(column)?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, Box::new(error)))
}

fn digests(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<Digest>> {
    let bytes: Vec<u8> = row.get(column)?;
    Ok(bytes.as_chunks::<32>().0.iter().map(|bytes| Digest(*bytes)).collect())
}

/// What a shared reading is: `Err` when the database can't be read, which is for `database-sound` to say.
pub type Shared = Rc<Result<Option<Judged>, String>>;

/// Reads the database once for all who judge it at the same event.
#[derive(Clone)]
pub struct Reader {
    /// What the plan says.
    pub plan: Rc<Planned>,
    last: PerEvent<Shared>,
}

impl Reader {
    /// The events at which there is something to judge.
    pub const INTEREST: Interest = Interest::CLAIMS.and(Interest::LIVES);

    /// A reader for a run of this plan.
    pub fn new(plan: Planned) -> Reader {
        Reader { plan: Rc::new(plan), last: PerEvent::default() }
    }

    /// What stands in the database, if this event is the acknowledgement of a batch or the machine's crash.
    pub fn at(&self, event: &Event<'_>, view: &View<'_>) -> Option<Shared> {
        let is_due = match event.body {
            Body::MachineCrashed => true,
            Body::Claim { kind: Committed::KIND, .. } => {
                self.last.is_there(view)
                    || matches!(event.claim(), Some(Committed { effect: Effect::Ingested { .. }, .. }))
            }
            _ => false,
        };
        is_due.then(|| self.read(view))
    }

    /// What stands in the database now.
    pub fn read(&self, view: &View<'_>) -> Shared {
        self.last.at(view, |_| Rc::new(Judged::of(view.disk(), &self.plan)))
    }
}
