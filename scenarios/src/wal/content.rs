//! What the database of sqlite-wal holds after so many commits, as numbers that can be compared: the clients compute them from what they read, the
//! oracle from what was committed.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

/// The rows of one transaction: each operation has content of its own, in parts of different lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The operation of the plan.
    pub operation: u64,
    /// How many rows it adds to the log.
    pub rows: u64,
    /// The length of the longest of them, in bytes.
    pub bytes: u64,
}

impl Payload {
    /// The length of a part, in bytes.
    pub fn len_bytes(self, part: u64) -> u64 {
        self.bytes * (part + 1) / self.rows.max(1)
    }

    /// A part's content.
    pub fn part(self, part: u64) -> Vec<u8> {
        vec![byte(self.operation, part); self.len_bytes(part) as usize]
    }
}

/// The byte that a part of an operation is made of: another than its neighbours' and than that of most other operations.
fn byte(operation: u64, part: u64) -> u8 {
    (operation.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8 ^ part as u8
}

/// A digest of rows in their order. It needs to tell mistakes apart, not forgeries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest with more at its end.
    #[must_use]
    pub fn and(self, numbers: [u64; 4]) -> Digest {
        let mix = |digest: u64, number: u64| (digest ^ number).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
        Digest(numbers.into_iter().fold(self.0, mix))
    }

    /// The digest of a log with one transaction more.
    #[must_use]
    pub fn and_commit(self, sequence: u64, payload: Payload) -> Digest {
        (0..payload.rows)
            .fold(self, |digest, part| digest.and_part(sequence, payload.operation, part, payload.len_bytes(part)))
    }

    fn and_part(self, sequence: u64, operation: u64, part: u64, len_bytes: u64) -> Digest {
        self.and([sequence, operation, part, len_bytes])
    }

    /// The digest of a log and of the slots.
    #[must_use]
    pub fn and_slot(self, sequence: u64, len_bytes: u64) -> Digest {
        self.and([0, 0, sequence, len_bytes])
    }
}

/// What somebody read of the newest commit, in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newest {
    /// Its number.
    pub sequence: u64,
    /// Whose it was; 0 for nobody's.
    pub operation: u64,
    /// Rows of it in the log.
    pub rows: u64,
    /// Those of them whose content is not what was written.
    pub spoilt: u64,
}

impl Newest {
    /// Reads it. The caller sees to it that it is one transaction.
    ///
    /// # Errors
    /// SQLite's.
    pub fn read(connection: &Connection) -> rusqlite::Result<Newest> {
        let (sequence, operation) = head(connection)?;
        let mut newest = Newest { sequence, operation, rows: 0, spoilt: 0 };
        let mut log = connection
            .prepare_cached("SELECT part, content FROM log WHERE operation = ?1 AND sequence = ?2 ORDER BY part")?;
        let mut rows = log.query([operation as i64, sequence as i64])?;
        while let Some(row) = rows.next()? {
            let part = row.get::<_, i64>(0)? as u64;
            newest.rows += 1;
            newest.spoilt += u64::from(!is_of(row.get_ref(1)?.as_blob()?, operation, part));
        }
        Ok(newest)
    }
}

/// What somebody read in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The number of the last commit.
    pub sequence: u64,
    /// Whose commit it was; 0 for nobody's.
    pub operation: u64,
    /// Rows of the log.
    pub rows: u64,
    /// Rows whose content is not what was written.
    pub spoilt: u64,
    /// Of the log and the slots.
    pub digest: Digest,
}

impl Contents {
    /// Reads everything. The caller sees to it that it is one transaction.
    ///
    /// # Errors
    /// SQLite's.
    pub fn read(connection: &Connection) -> rusqlite::Result<Contents> {
        let (sequence, operation) = head(connection)?;
        let mut contents = Contents { sequence, operation, rows: 0, spoilt: 0, digest: Digest::default() };
        let mut log = connection.prepare_cached("SELECT sequence, operation, part, content FROM log ORDER BY id")?;
        let mut rows = log.query([])?;
        while let Some(row) = rows.next()? {
            let [sequence, operation, part] = [row.get(0)?, row.get(1)?, row.get(2)?].map(|number: i64| number as u64);
            let content = row.get_ref(3)?.as_blob()?;
            contents.rows += 1;
            contents.spoilt += u64::from(!is_of(content, operation, part));
            contents.digest = contents.digest.and_part(sequence, operation, part, content.len() as u64);
        }
        let mut slots = connection.prepare_cached("SELECT sequence, operation, content FROM slots ORDER BY slot")?;
        let mut rows = slots.query([])?;
        while let Some(row) = rows.next()? {
            let [sequence, operation] = [row.get(0)?, row.get(1)?].map(|number: i64| number as u64);
            let content = row.get_ref(2)?.as_blob()?;
            contents.spoilt += u64::from(!is_of(content, operation, 0));
            contents.digest = contents.digest.and_slot(sequence, content.len() as u64);
        }
        Ok(contents)
    }
}

fn is_of(content: &[u8], operation: u64, part: u64) -> bool {
    let byte = byte(operation, part);
    content.iter().all(|found| *found == byte)
}

/// The number of the last commit, and whose it was.
///
/// # Errors
/// SQLite's.
pub fn head(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let mut head = connection.prepare_cached("SELECT sequence, operation FROM head")?;
    head.query_row([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))
}
