//! The model: which transactions are committed, in their order, and which may be. It looks at no disk; what it is told comes from clients' claims and
//! from audits.

use crate::wal::connection::payload;
use crate::wal::content::{Contents, Digest, Newest, Payload};
use crate::wal::schema::Synchronous;
use seedstorm_sim::Plan;
use std::collections::BTreeMap;

/// A transaction that somebody has seen, or that was acknowledged.
struct Commit {
    operation: u64,
    /// Operations that had tried to be this commit, and may have left whole frames in the WAL: only a power loss can bring one of them back, when
    /// it takes the one that overwrote it.
    others: Vec<u64>,
    /// Of the log up to here.
    digest: Digest,
    /// Rows of the log up to here.
    rows: u64,
}

/// What has been committed.
pub(super) struct History {
    payloads: BTreeMap<u64, Payload>,
    slots: u64,
    synchronous: Synchronous,
    commits: Vec<Commit>,
    /// Operations that may be the next commit: each held the write lock, and was about to commit. Who was killed at it, or whose COMMIT failed, may have
    /// left a whole transaction in the WAL, which a recovery brings to light, until another has overwritten it.
    candidates: Vec<u64>,
    /// By operation: how many commits were known when its last attempt began.
    begun: BTreeMap<u64, u64>,
    /// The greatest number of a commit that was acknowledged.
    acknowledged: u64,
    /// So many commits were in the WAL when a checkpoint began that moved all of it.
    checkpointed: u64,
}

/// What was wrong, in words.
type Wrong = String;

impl History {
    pub(super) fn new(plan: &Plan) -> History {
        let writes = plan.operations.iter().filter(|operation| operation.kind == "write");
        History {
            payloads: writes.map(|operation| (operation.id, payload(operation))).collect(),
            slots: plan.setting_u64("slots", 1).max(1),
            synchronous: Synchronous::of(plan),
            commits: Vec::new(),
            candidates: Vec::new(),
            begun: BTreeMap::new(),
            acknowledged: 0,
            checkpointed: 0,
        }
    }

    /// How many commits are known.
    pub(super) fn known(&self) -> u64 {
        self.commits.len() as u64
    }

    /// How many commits a power loss must leave.
    pub(super) fn promised(&self) -> u64 {
        match self.synchronous {
            Synchronous::Full => self.acknowledged,
            Synchronous::Normal => self.checkpointed,
        }
    }

    /// The greatest number of a commit that was acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// An attempt at an operation begins.
    pub(super) fn begin(&mut self, operation: u64) {
        self.begun.insert(operation, self.known());
    }

    /// A writer that holds the write lock sees so many commits, the last of them this operation's, and will add its own.
    pub(super) fn writing(&mut self, operation: u64, sequence: u64, after: u64) -> Result<(), Wrong> {
        // Under the lock nobody else commits: it must see all.
        self.seen(sequence - 1, after, self.known())?;
        if !self.candidates.contains(&operation) {
            self.candidates.push(operation);
        }
        Ok(())
    }

    /// A commit is acknowledged.
    pub(super) fn committed(&mut self, operation: u64, sequence: u64) -> Result<(), Wrong> {
        if self.known() + 1 == sequence && self.candidates.contains(&operation) {
            self.adopt(operation);
        }
        let found = sequence.checked_sub(1).and_then(|index| self.commits.get(index as usize));
        if found.is_none_or(|found| found.operation != operation) {
            let instead = found.map_or_else(String::new, |found| format!(": operation {} is", found.operation));
            return Err(format!(
                "operation {operation} was acknowledged as commit {sequence}, and is not that{instead}"
            ));
        }
        self.acknowledged = self.acknowledged.max(sequence);
        Ok(())
    }

    /// An operation has read the newest commit.
    pub(super) fn peeked(&mut self, operation: u64, newest: &Newest) -> Result<(), Wrong> {
        let least = self.begun.get(&operation).copied().unwrap_or(0);
        self.seen(newest.sequence, newest.operation, least)?;
        let rows = if newest.operation == 0 { 0 } else { self.payload(newest.operation).rows };
        if (newest.rows, newest.spoilt) == (rows, 0) {
            return Ok(());
        }
        let Newest { sequence, rows: found, spoilt, .. } = newest;
        // Whole rows of an operation that was committed twice: `wal-effect-once` says so.
        if *spoilt == 0 && rows > 0 && *found > rows && found.is_multiple_of(rows) {
            return Ok(());
        }
        Err(format!("commit {sequence} has {found} rows, {spoilt} of them not what was written, where {rows} belong"))
    }

    /// An operation has read everything.
    pub(super) fn looked(&mut self, operation: u64, contents: &Contents) -> Result<(), Wrong> {
        let least = self.begun.get(&operation).copied().unwrap_or(0);
        self.seen(contents.sequence, contents.operation, least)?;
        self.compare(contents)
    }

    /// A checkpoint of an operation has moved the whole WAL.
    pub(super) fn checkpointed(&mut self, operation: u64) {
        let least = self.begun.get(&operation).copied().unwrap_or(0);
        self.checkpointed = self.checkpointed.max(least);
    }

    /// Somebody saw so many commits, the last of them of this operation, and must have seen so many at least.
    fn seen(&mut self, sequence: u64, operation: u64, least: u64) -> Result<(), Wrong> {
        if sequence < least {
            return Err(format!("{sequence} commits were to be seen, where {least} had been made"));
        }
        if sequence == self.known() + 1 && self.candidates.contains(&operation) {
            self.adopt(operation);
        }
        let expected = match sequence {
            0 => Some(0),
            _ => self.commits.get(sequence as usize - 1).map(|commit| commit.operation),
        };
        match expected {
            Some(expected) if expected == operation => Ok(()),
            Some(expected) => {
                Err(format!("commit {sequence} was of operation {expected}, and is of operation {operation} now"))
            }
            None => Err(format!("commit {sequence} of operation {operation} is there, and nobody made it")),
        }
    }

    fn adopt(&mut self, operation: u64) {
        let mut others = std::mem::take(&mut self.candidates);
        others.retain(|other| *other != operation);
        let (digest, rows) = self.commits.last().map_or_else(Default::default, |last| (last.digest, last.rows));
        let payload = self.payload(operation);
        let (digest, rows) = (digest.and_commit(self.known() + 1, payload), rows + payload.rows);
        self.commits.push(Commit { operation, others, digest, rows });
    }

    fn payload(&self, operation: u64) -> Payload {
        self.payloads.get(&operation).copied().unwrap_or(Payload { operation, rows: 0, bytes: 0 })
    }

    /// What was read, against what the commits up to there wrote.
    fn compare(&self, contents: &Contents) -> Result<(), Wrong> {
        let operations: Vec<u64> =
            self.commits.iter().take(contents.sequence as usize).map(|commit| commit.operation).collect();
        let (digest, rows) = match operations.len() {
            0 => (Digest::default(), 0),
            count => (self.commits[count - 1].digest, self.commits[count - 1].rows),
        };
        self.compare_with(contents, &operations, digest, rows)
    }

    fn compare_with(&self, contents: &Contents, operations: &[u64], digest: Digest, rows: u64) -> Result<(), Wrong> {
        let count = operations.len() as u64;
        let slot = |digest: Digest, slot: u64| {
            // The last commit that overwrote it: the greatest number up to the count that leaves this remainder.
            let last = count.saturating_sub((count + self.slots - slot) % self.slots);
            let payload = last.checked_sub(1).map(|index| self.payload(operations[index as usize]));
            digest.and_slot(last, payload.map_or(0, |payload| payload.len_bytes(0)))
        };
        let expected = (0..self.slots).fold(digest, slot);
        if (contents.rows, contents.spoilt, contents.digest) == (rows, 0, expected) {
            return Ok(());
        }
        let Contents { rows: found, spoilt, .. } = contents;
        let what = match found == &rows {
            true => format!("{spoilt} rows are not what was written, or some are out of date"),
            false => format!("the log has {found} rows, where {rows} belong"),
        };
        Err(format!("after {count} commits {what}"))
    }

    /// Whether these operations are what the commits may have come to, and what was read is what they wrote. `least`: so many commits must be there, and
    /// none of these may be another.
    pub(super) fn may_be(&self, contents: &Contents, operations: &[u64], least: u64) -> Result<(), Wrong> {
        let count = operations.len() as u64;
        if contents.sequence != count {
            return Err(format!("the head says {} commits, and the log has rows of {count}", contents.sequence));
        }
        if count < least {
            return Err(format!("{count} commits are there, where {least} were to stay"));
        }
        for (sequence, operation) in (1..).zip(operations) {
            let is_it = match self.commits.get(sequence as usize - 1) {
                Some(commit) if sequence <= least => commit.operation == *operation,
                Some(commit) => commit.operation == *operation || commit.others.contains(operation),
                None => sequence == self.known() + 1 && self.candidates.contains(operation),
            };
            if !is_it {
                return Err(format!("commit {sequence} is of operation {operation}, which is none that it can be"));
            }
        }
        let (mut digest, mut rows) = (Digest::default(), 0);
        for (sequence, operation) in (1..).zip(operations) {
            let payload = self.payload(*operation);
            (digest, rows) = (digest.and_commit(sequence, payload), rows + payload.rows);
        }
        self.compare_with(contents, operations, digest, rows)
    }

    /// After a power loss these are the commits, and none that is not among them ever will be: what might have been the next one is, or is not.
    pub(super) fn settle(&mut self, operations: &[u64]) {
        self.candidates.clear();
        self.begun.clear();
        self.commits.clear();
        for operation in operations {
            self.adopt(*operation);
        }
        self.acknowledged = self.acknowledged.min(self.known());
        self.checkpointed = self.checkpointed.min(self.known());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        History {
            payloads: (1..9).map(|operation| (operation, Payload { operation, rows: 1, bytes: 3 })).collect(),
            slots: 2,
            synchronous: Synchronous::Full,
            commits: Vec::new(),
            candidates: Vec::new(),
            begun: BTreeMap::new(),
            acknowledged: 0,
            checkpointed: 0,
        }
    }

    #[test]
    fn an_unknown_commit_is_settled_by_whoever_sees_it_or_overwrites_it() {
        let mut seen = history();
        seen.writing(1, 1, 0).expect("the first");
        seen.writing(2, 2, 1).expect("it took effect");
        assert_eq!(seen.known(), 1);
        let mut gone = history();
        gone.writing(1, 1, 0).expect("the first");
        gone.writing(2, 1, 0).expect("it did not take effect");
        gone.committed(2, 1).expect("another did");
        gone.committed(1, 1).expect_err("then it can't be acknowledged");
    }

    #[test]
    fn a_writer_sees_all_and_a_reader_what_was_there_when_it_began() {
        let mut history = history();
        history.writing(1, 1, 0).expect("the first");
        history.begin(7);
        history.committed(1, 1).expect("it is acknowledged");
        let nothing = Contents {
            sequence: 0,
            operation: 0,
            rows: 0,
            spoilt: 0,
            digest: Digest::default().and_slot(0, 0).and_slot(0, 0),
        };
        history.looked(7, &nothing).expect("it began before");
        history.begin(8);
        history.looked(8, &nothing).expect_err("it began after");
        history.writing(2, 1, 0).expect_err("a writer can't be behind");
        history.writing(2, 3, 5).expect_err("nobody made these");
    }

    #[test]
    fn a_power_loss_may_bring_back_who_was_overwritten_but_nobody_else() {
        let mut history = history();
        history.synchronous = Synchronous::Normal;
        history.writing(1, 1, 0).expect("the first");
        history.writing(2, 1, 0).expect("over it");
        history.committed(2, 1).expect("acknowledged");
        let contents = |operation| Contents {
            sequence: 1,
            operation,
            rows: 1,
            spoilt: 0,
            digest: Digest::default()
                .and_commit(1, Payload { operation, rows: 1, bytes: 3 })
                .and_slot(0, 0)
                .and_slot(1, 3),
        };
        for operation in [1, 2] {
            history.may_be(&contents(operation), &[operation], history.promised()).expect("either");
        }
        history.may_be(&contents(3), &[3], 0).expect_err("nobody else");
        history.may_be(&contents(1), &[1], 1).expect_err("not where the second was to stay");
        assert_eq!((history.promised(), history.acknowledged()), (0, 1));
    }
}
