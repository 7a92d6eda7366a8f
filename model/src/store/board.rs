//! The board: keys with values and versions. A write reads what it changes, in the transaction that changes it.

use super::connection::Store;
use super::error::{Remedy, StoreError, Trouble};
use super::transaction::run_cached;
use super::transaction::{Attempt, Outcome, Verdict};
use crate::claims::{BoardVersion, Effect, OperationKey, SnapshotRead};
use crate::mutant::{Mutant, is};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_sim::{Draw, Sys};
use std::rc::Rc;

/// A key as it was read.
struct Entry {
    key: String,
    version: u64,
    /// How many writes the value has seen: it stands at the value's front, so that a lost one is missing there.
    writes: u64,
}

impl Entry {
    fn read(connection: &Connection, key: &str) -> rusqlite::Result<Entry> {
        let mut select = connection.prepare_cached("SELECT version, value FROM session_state WHERE key = ?1")?;
        // The value isn't copied: of a long one only the front is of use.
        let found = select.query_row([key], |row| {
            let writes = row.get_ref(1)?.as_str()?.split(' ').next().and_then(|count| count.parse().ok());
            Ok((row.get::<_, i64>(0)? as u64, writes.unwrap_or(0)))
        });
        let (version, writes) = found.optional()?.unwrap_or_default();
        Ok(Entry { key: key.to_owned(), version, writes })
    }

    /// The version that a change of what was read makes.
    fn change(&self, attempt: &Attempt<'_>, bytes: usize) -> rusqlite::Result<BoardVersion> {
        let (agent, number) = (&attempt.key.agent, attempt.key.number);
        let value = padded(format!("{} {agent}#{number}", self.writes + 1), bytes);
        let version = self.version + 1;
        let mut upsert = attempt.connection.prepare_cached(
            "INSERT INTO session_state (key, value, version, updated_by, updated_number, updated_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, updated_by = excluded.updated_by,
               updated_number = excluded.updated_number, updated_ns = excluded.updated_ns",
        )?;
        upsert.execute(params![self.key, value, version as i64, agent, number as i64, attempt.now_ns as i64])?;
        Ok(BoardVersion { key: self.key.clone(), version })
    }

    fn version(&self) -> BoardVersion {
        BoardVersion { key: self.key.clone(), version: self.version }
    }
}

/// A text of so many bytes, or longer if it must be.
pub(super) fn padded(mut text: String, bytes: usize) -> String {
    if text.len() + 1 < bytes {
        text.push(' ');
        text.push_str(&".".repeat(bytes - text.len()));
    }
    text
}

fn read_all(connection: &Connection, keys: &[String]) -> rusqlite::Result<Vec<Entry>> {
    keys.iter().map(|key| Entry::read(connection, key)).collect()
}

impl Store {
    /// Reads keys of the board and writes them anew, in one transaction.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn write_board(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        keys: &[String],
        bytes: usize,
    ) -> Result<Outcome, StoreError> {
        let keys: Rc<[String]> = keys.into();
        let body = move |attempt: &Attempt<'_>| {
            let trouble = attempt.trouble("write the board");
            let read = || read_all(attempt.connection, &keys).map_err(&trouble);
            let early = if is(attempt.config.mutant, Mutant::BoardLostUpdate) { Some(read()?) } else { None };
            if let Some(effect) = attempt.begin()? {
                return Ok(Verdict::Found(effect));
            }
            let entries = match early {
                Some(entries) => entries,
                None => read()?,
            };
            let reads = entries.iter().map(Entry::version).collect();
            let writes =
                entries.iter().map(|entry| entry.change(attempt, bytes)).collect::<Result<_, _>>().map_err(&trouble)?;
            Ok(Verdict::Commit(Effect::Board { reads, writes }))
        };
        self.write(sys, key, Rc::new(body)).await
    }

    /// Reads keys of the board as they were at one moment, with pauses in between. Gives what it saw; `None` if it didn't get to it.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn read_board(
        &mut self,
        sys: &Sys,
        key: &OperationKey,
        keys: &[String],
    ) -> Result<Result<Vec<BoardVersion>, &'static str>, StoreError> {
        let (keys, own_key, config): (Rc<[String]>, _, _) = (keys.into(), key.clone(), self.config.clone());
        let read = self
            .run(
                sys,
                Some(key),
                Rc::new(move |os, connection| {
                    let trouble = |error| Trouble::of("read the board", error, None);
                    // A reader has no write lock to wait for, and its snapshot begins with its first read.
                    run_cached(connection, "BEGIN DEFERRED").map_err(trouble)?;
                    let since_ns = os.monotonic_ns();
                    let mut reads = Vec::new();
                    for (index, key) in keys.iter().enumerate() {
                        if index > 0 && config.reader_pause_ns > 0 {
                            // It pauses in the first half of its time only, and has the other half to come to its end.
                            let left_ns = (config.reader_age_ns_max / 2).saturating_sub(os.monotonic_ns() - since_ns);
                            // A sleep that a signal cuts short is a shorter one.
                            let _ = os.sleep(os.entropy().below(config.reader_pause_ns + 1).min(left_ns));
                        }
                        reads.push(Entry::read(connection, key).map_err(trouble)?.version());
                        // However it came about: a slow disk, or a process that was stopped.
                        if os.monotonic_ns() - since_ns > config.reader_age_ns_max {
                            return Err(Trouble::busy("keep a snapshot"));
                        }
                    }
                    if !is(config.mutant, Mutant::SnapshotLeftOpen) {
                        run_cached(connection, "COMMIT").map_err(trouble)?;
                    }
                    os.claim(&SnapshotRead { key: own_key.clone(), reads: reads.clone() });
                    Ok(reads)
                }),
            )
            .await?;
        Ok(read.map_err(|trouble| if trouble.remedy == Remedy::Again { "busy" } else { "io-error" }))
    }
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn values_have_the_length_that_was_asked_for() {
        assert_eq!(padded("3 a#1".into(), 10), "3 a#1 ....");
        assert_eq!(padded("3 a#1".into(), 2), "3 a#1");
        assert_eq!(padded("3 a#1".into(), 6), "3 a#1");
    }
}
