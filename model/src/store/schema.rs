//! The tables, and their making.

use super::error::Trouble;
use crate::config::Config;
use rusqlite::Connection;

/// The version of the schema (PRAGMA user_version) that a configuration needs; 0 is an empty database.
pub(super) fn version(config: &Config) -> i64 {
    if config.keeps_days { WITH_DAYS } else { WITHOUT_DAYS }
}

const WITHOUT_DAYS: i64 = 1;
const WITH_DAYS: i64 = 2;

/// Identities and random tokens are 64-bit numbers without a sign; SQLite's integers have one. They are stored bit for bit.
const TABLES: &str = "
CREATE TABLE agents (
  name TEXT PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('active', 'stopped')),
  pid INTEGER NOT NULL,
  started_ns INTEGER NOT NULL,
  boot_id INTEGER NOT NULL,
  incarnation INTEGER NOT NULL CHECK (incarnation > 0),
  seen_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The board. Version 0: nobody has written the key yet.
CREATE TABLE session_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 0),
  updated_by TEXT REFERENCES agents (name),
  updated_number INTEGER,
  updated_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  name TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'done')),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  holder TEXT REFERENCES agents (name),
  token INTEGER,
  expires_ns INTEGER,
  CHECK ((state = 'claimed') = (holder IS NOT NULL)),
  CHECK ((state = 'claimed') = (token IS NOT NULL)),
  CHECK ((state = 'claimed') = (expires_ns IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_holder ON tasks (holder);

CREATE TABLE checklist (
  task TEXT NOT NULL REFERENCES tasks (name),
  item INTEGER NOT NULL,
  generation INTEGER,  -- of the claim under which it was ticked; NULL is not ticked
  PRIMARY KEY (task, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  written_ns INTEGER NOT NULL
) STRICT;

-- Operations that have taken effect, and what they did: whoever doesn't know what became of one looks here. In the same transaction as the effect.
CREATE TABLE applied (
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  effect TEXT NOT NULL,  -- JSON
  asked INTEGER NOT NULL,
  applied_ns INTEGER NOT NULL,
  PRIMARY KEY (agent, number)
) STRICT, WITHOUT ROWID;
";

/// What comes with version 2.
const DAYS: &str = "
-- What agents noted down when they introspected or went to sleep.
CREATE TABLE memories (
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  note TEXT NOT NULL,
  text TEXT NOT NULL,
  committed_ns INTEGER NOT NULL,
  PRIMARY KEY (agent, number, note)
) STRICT, WITHOUT ROWID;

-- Who is asleep, and the operation that closed its day. Waking removes the row.
CREATE TABLE sleeps (
  agent TEXT PRIMARY KEY REFERENCES agents (name),
  number INTEGER NOT NULL,
  slept_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

fn found(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Whether the tables are there.
pub(super) fn is_current(connection: &Connection, config: &Config) -> Result<bool, Trouble> {
    let found = found(connection).map_err(|error| Trouble::of("PRAGMA user_version", error, None))?;
    Ok(found >= version(config))
}

/// Makes the tables that are missing, inside a transaction.
pub(super) fn create(connection: &Connection, config: &Config) -> rusqlite::Result<()> {
    let (found, needed) = (found(connection)?, version(config));
    if found >= needed {
        return Ok(());
    }
    if found < WITHOUT_DAYS {
        connection.execute_batch(TABLES)?;
    }
    if needed == WITH_DAYS {
        connection.execute_batch(DAYS)?;
    }
    connection.pragma_update(None, "user_version", needed)
}
