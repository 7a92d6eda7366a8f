//! Processes that write to one database and say what they committed, and the invariant that judges what they said.

use super::{Said, number, open};
use rusqlite::Connection;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Event, Interest, ProcessId};
use seedstorm_sim::{Exit, Os, Seed, View, World};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the writers use the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) journal: &'static str,
    pub(crate) synchronous: &'static str,
    pub(crate) writers: u32,
    pub(crate) transactions: i64,
}

impl Use {
    /// WAL and FULL, as the model does.
    pub(crate) const WAL: Use = Use { journal: "WAL", synchronous: "FULL", writers: 3, transactions: 8 };
}

/// How often a COMMIT succeeded in a process that had died meanwhile.
pub(crate) static COMMITTED_AFTER_DEATH: AtomicU64 = AtomicU64::new(0);

fn connect(how: Use) -> rusqlite::Result<Connection> {
    let db = open("/db")?;
    db.pragma_update(None, "journal_mode", how.journal)?;
    db.pragma_update(None, "synchronous", how.synchronous)?;
    db.pragma_update(None, "wal_autocheckpoint", 10)?;
    Ok(db)
}

/// Adds the preparation and the writers.
pub(crate) fn add(world: &mut World, how: Use) {
    world.prepare(move |sys| async move {
        let prepared = sys.blocking(move |_| {
            connect(how)?.execute_batch(
                "CREATE TABLE log(who INTEGER, n INTEGER, pad BLOB, PRIMARY KEY(who, n)); CREATE TABLE counter(who INTEGER PRIMARY KEY, n INTEGER)",
            )
        });
        prepared.await.expect("the schema is made");
        Exit::success()
    });
    for who in 0..how.writers {
        world.process("writer", who, move |sys| async move {
            match sys.blocking(move |os| write(os, who, how)).await {
                Ok(()) => Exit::success(),
                Err(error) => Exit::failure(error.to_string()),
            }
        });
    }
}

fn write(os: &Os, who: u32, how: Use) -> rusqlite::Result<()> {
    let db = connect(how)?;
    let done = number(&db, &format!("SELECT coalesce(max(n), 0) FROM log WHERE who = {who}"))?;
    for n in done + 1..=how.transactions {
        os.begin_operation(n as u64);
        let committed = transaction(&db, who, n);
        if committed.is_err() && !db.is_autocommit() {
            let _ = db.execute_batch("ROLLBACK");
        }
        committed?;
        if !os.is_alive() {
            COMMITTED_AFTER_DEATH.fetch_add(1, Ordering::Relaxed);
        }
        // Said even so: what the dead say isn't heard.
        os.claim(&Said(format!("{who} {n}")));
    }
    Ok(())
}

fn transaction(db: &Connection, who: u32, n: i64) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    db.execute("INSERT INTO log VALUES(?, ?, randomblob(? * 200))", (who, n, n % 7))?;
    db.execute("INSERT INTO counter VALUES(?, ?) ON CONFLICT DO UPDATE SET n = excluded.n", (who, n))?;
    db.execute_batch("COMMIT")
}

/// What a database holds that the writers wrote: (who, n) of each row.
pub(crate) fn rows(disk: &Disk) -> Result<Vec<(u32, i64)>, String> {
    inspect(disk, || {
        let look = || -> rusqlite::Result<Result<Vec<(u32, i64)>, String>> {
            let db = open("/db")?;
            let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
            if sound != "ok" {
                return Ok(Err(sound));
            }
            let torn = number(
                &db,
                "SELECT count(*) FROM counter WHERE n <> (SELECT max(n) FROM log WHERE log.who = counter.who)",
            )?;
            if torn != 0 {
                return Ok(Err("half of a transaction".into()));
            }
            let mut all = db.prepare("SELECT who, n FROM log ORDER BY who, n")?;
            let rows: rusqlite::Result<Vec<(u32, i64)>> =
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect();
            rows.map(Ok)
        };
        look().map_err(|error| error.to_string()).and_then(|found| found)
    })
}

/// What the writers said must be in the database: at the end; and, if `images` are taken, in what a power loss at each word would leave.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) images: bool,
    pub(crate) wants_commits_durable: bool,
    pub(crate) said: Vec<(u32, i64)>,
}

impl Kept {
    fn judge(&self, disk: &Disk, when: &str) -> Result<(), Violation> {
        let found = rows(disk).map_err(|wrong| Violation::new("database-sound", format!("{when}: {wrong}")))?;
        match self.said.iter().find(|row| !found.contains(row)) {
            Some(lost) => {
                Err(Violation::new("no-lost-write", format!("{when}: {lost:?} was acknowledged and is gone")))
            }
            None => Ok(()),
        }
    }
}

impl Invariant for Kept {
    fn id(&self) -> &'static str {
        "no-lost-write"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(Said(text)) = event.claim::<Said>() else { return Ok(()) };
        let (who, n) = text.split_once(' ').expect("two numbers");
        self.said.push((who.parse().expect("a number"), n.parse().expect("a number")));
        if self.images {
            let (image, _) = view.disk().crash_image(&mut Seed(event.step).stream("image"));
            self.judge(&image, "after a power loss here")?;
        }
        if self.wants_commits_durable {
            let commit = view.commit_durability(event.process.unwrap_or(ProcessId(0)));
            if !commit.is_some_and(|commit| commit.is_durable) {
                return Err(Violation::new("acknowledged-durable", format!("{text} was acknowledged, and {commit:?}")));
            }
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(view.disk(), "at the end")
    }
}
