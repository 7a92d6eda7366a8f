//! Beliefs in SQLite: the base of truth maintenance, read and written by index, so that the cost of a batch follows what it changes. What is decided is
//! in `tms`; operations on beliefs are in `ingest`.

use crate::memory::Digest;
use crate::tms::{
    Base, Belief, Contradiction, Finding, Justification, Kept, KeptContradiction, Label, Rank, Standing, Supersession,
};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::cmp::Reverse;

/// The beliefs of a database, inside a transaction of the caller's.
pub(super) struct Rows<'a> {
    connection: &'a Connection,
    /// Beliefs that were added: they are to be sealed before the transaction ends.
    pub(super) added: Vec<Digest>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(connection: &'a Connection) -> Rows<'a> {
        Rows { connection, added: Vec::new() }
    }

    fn run(&self, sql: &str, parameters: impl Params) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(parameters).map(drop)
    }

    fn has(&self, sql: &str, id: &Digest) -> rusqlite::Result<bool> {
        self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))
    }

    fn all<T>(
        &self,
        sql: &str,
        id: &Digest,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map([id], read)?;
        rows.collect()
    }

    fn digests(&self, sql: &str, id: &Digest) -> rusqlite::Result<Vec<Digest>> {
        self.all(sql, id, |row| row.get(0))
    }
}

impl ToSql for Label {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.number().into())
    }
}

impl FromSql for Label {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Label> {
        let number = value.as_i64()?;
        Label::of_number(number).ok_or(FromSqlError::OutOfRange(number))
    }
}

impl ToSql for Standing {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.number().into())
    }
}

impl FromSql for Standing {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Standing> {
        let number = value.as_i64()?;
        Standing::of_number(number).ok_or(FromSqlError::OutOfRange(number))
    }
}

/// Digests, one after the other, as a row holds them.
struct Digests(Vec<Digest>);

impl FromSql for Digests {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Digests> {
        let bytes = value.as_blob()?;
        let (chunks, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() {
            return Err(FromSqlError::InvalidBlobSize { expected_size: 32, blob_size: rest.len() });
        }
        Ok(Digests(chunks.iter().map(|bytes| Digest(*bytes)).collect()))
    }
}

fn joined(digests: &[Digest]) -> Vec<u8> {
    digests.iter().flat_map(|digest| digest.0).collect()
}

fn justification(row: &Row<'_>) -> rusqlite::Result<Justification> {
    let (Digests(ins), Digests(outs)) = (row.get(1)?, row.get(2)?);
    Ok(Justification::new(row.get(0)?, ins, outs, row.get::<_, String>(3)?))
}

fn contradiction(row: &Row<'_>) -> rusqlite::Result<KeptContradiction> {
    let Digests(members) = row.get(1)?;
    Ok(KeptContradiction { id: row.get(0)?, contradiction: Contradiction::between(members), victim: row.get(2)? })
}

/// What was found of a belief, as its row has it from this column on.
pub(super) fn finding(row: &Row<'_>, first: usize) -> rusqlite::Result<Finding> {
    Ok(Finding {
        label: row.get(first)?,
        support: row.get(first + 1)?,
        taken: row.get(first + 2)?,
        heir: row.get(first + 3)?,
    })
}

impl Base for Rows<'_> {
    type Error = rusqlite::Error;

    fn belief(&mut self, id: &Digest) -> rusqlite::Result<Option<Kept>> {
        let sql = "SELECT standing, asserted_ns, label, is_forgotten, arrived, taken, heir FROM beliefs WHERE id = ?1";
        let kept = |row: &Row<'_>| {
            let asserted_ns = Reverse(row.get::<_, i64>(1)? as u64);
            Ok(Kept {
                rank: Rank { standing: row.get(0)?, asserted_ns, id: Reverse(*id) },
                label: row.get(2)?,
                is_forgotten: row.get(3)?,
                arrival: row.get::<_, i64>(4)? as u64,
                taken: row.get(5)?,
                heir: row.get(6)?,
            })
        };
        self.connection.prepare_cached(sql)?.query_row([id], kept).optional()
    }

    fn justifications_of(&mut self, id: &Digest) -> rusqlite::Result<Vec<Justification>> {
        let sql = "SELECT consequent, ins, outs, source FROM justifications WHERE consequent = ?1 AND is_live = 1";
        self.all(sql, id, justification)
    }

    fn resting_on(&mut self, id: &Digest) -> rusqlite::Result<Vec<Digest>> {
        self.digests("SELECT consequent FROM rests_on WHERE belief = ?1", id)
    }

    fn successors_of(&mut self, id: &Digest) -> rusqlite::Result<Vec<Digest>> {
        self.digests("SELECT newer FROM supersessions WHERE older = ?1 AND is_live = 1", id)
    }

    fn superseded_by(&mut self, id: &Digest) -> rusqlite::Result<Vec<Digest>> {
        self.digests("SELECT older FROM supersessions WHERE newer = ?1 AND is_live = 1", id)
    }

    fn contradictions_with(&mut self, id: &Digest) -> rusqlite::Result<Vec<KeptContradiction>> {
        let sql = "SELECT id, members, victim FROM contradicted_in JOIN contradictions ON id = contradiction WHERE belief = ?1";
        self.all(sql, id, contradiction)
    }

    fn has_record(&mut self, id: &Digest) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM justifications WHERE id = ?1) OR EXISTS (SELECT 1 FROM contradictions WHERE id = ?1)
                     OR EXISTS (SELECT 1 FROM supersessions WHERE id = ?1)";
        self.has(sql, id)
    }

    fn is_retracted(&mut self, id: &Digest) -> rusqlite::Result<bool> {
        self.has("SELECT EXISTS (SELECT 1 FROM retractions WHERE id = ?1)", id)
    }

    fn add_belief(&mut self, id: &Digest, belief: &Belief, finding: &Finding) -> rusqlite::Result<()> {
        let sql = "INSERT INTO beliefs (id, standing, asserted_ns, label, support, taken, heir) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let Finding { label, support, taken, heir } = finding;
        self.run(sql, params![id, belief.standing, belief.asserted_ns as i64, label, support, taken, heir])?;
        self.added.push(*id);
        Ok(())
    }

    fn add_justification(&mut self, id: &Digest, new: &Justification, is_live: bool) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO justifications (id, consequent, ins, outs, source, is_live) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (ins, outs) = (joined(new.ins()), joined(new.outs()));
        self.run(sql, params![id, new.consequent, ins, outs, new.source, is_live])?;
        if is_live {
            for named in new.ins().iter().chain(new.outs()) {
                // One that stands in both lists is named once.
                let sql = "INSERT OR IGNORE INTO rests_on (belief, justification, consequent) VALUES (?1, ?2, ?3)";
                self.run(sql, params![named, id, new.consequent])?;
            }
        }
        Ok(())
    }

    fn add_contradiction(&mut self, new: &KeptContradiction, flag: Label, is_live: bool) -> rusqlite::Result<()> {
        let sql = "INSERT INTO contradictions (id, members, victim, flag, is_live) VALUES (?1, ?2, ?3, ?4, ?5)";
        let members = new.contradiction.members();
        self.run(sql, params![new.id, joined(members), new.victim, flag, is_live])?;
        if is_live {
            for member in members {
                let sql = "INSERT INTO contradicted_in (belief, contradiction) VALUES (?1, ?2)";
                self.run(sql, params![member, new.id])?;
            }
        }
        Ok(())
    }

    fn add_supersession(&mut self, id: &Digest, new: &Supersession, is_live: bool) -> rusqlite::Result<()> {
        let sql = "INSERT INTO supersessions (id, newer, older, is_live) VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![id, new.newer, new.older, is_live])
    }

    fn retract(&mut self, id: &Digest) -> rusqlite::Result<Option<Digest>> {
        self.run("INSERT INTO retractions (id) VALUES (?1)", [id])?;
        let sql = "UPDATE justifications SET is_live = 0 WHERE id = ?1 RETURNING consequent, ins, outs, source";
        let retracted = self.connection.prepare_cached(sql)?.query_row([id], justification).optional()?;
        if let Some(retracted) = retracted {
            for named in retracted.ins().iter().chain(retracted.outs()) {
                self.run("DELETE FROM rests_on WHERE belief = ?1 AND justification = ?2", params![named, id])?;
            }
            return Ok(Some(retracted.consequent));
        }
        let sql = "UPDATE supersessions SET is_live = 0 WHERE id = ?1 RETURNING older";
        let older = self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        if older.is_some() {
            return Ok(older);
        }
        let sql = "UPDATE contradictions SET is_live = 0, flag = 0 WHERE id = ?1 RETURNING id, members, victim";
        let retracted = self.connection.prepare_cached(sql)?.query_row([id], contradiction).optional()?;
        let Some(retracted) = retracted else { return Ok(None) };
        for member in retracted.contradiction.members() {
            self.run("DELETE FROM contradicted_in WHERE belief = ?1 AND contradiction = ?2", params![member, id])?;
        }
        Ok(retracted.victim)
    }

    fn forget(&mut self, id: &Digest) -> rusqlite::Result<()> {
        self.run("UPDATE beliefs SET is_forgotten = 1 WHERE id = ?1", [id])
    }

    fn set_finding(&mut self, id: &Digest, finding: &Finding) -> rusqlite::Result<()> {
        // A row that would stay as it is isn't written.
        let sql = "UPDATE beliefs SET label = ?2, support = ?3, taken = ?4, heir = ?5
                   WHERE id = ?1 AND (label, support, taken, heir) IS NOT (?2, ?3, ?4, ?5)";
        self.run(sql, params![id, finding.label, finding.support, finding.taken, finding.heir])
    }

    fn set_flag(&mut self, id: &Digest, flag: Label) -> rusqlite::Result<()> {
        self.run("UPDATE contradictions SET flag = ?2 WHERE id = ?1 AND flag <> ?2", params![id, flag])
    }
}
