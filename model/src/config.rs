//! How an engine is set up. Everything that a deployment may choose is here; what must not be chosen isn't.

use crate::bus::BusConfig;
use crate::lock::{BackoffPolicy, LockKind};
use crate::mutant::Mutant;

/// The settings of an engine. All agents of a swarm have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory that holds everything: `state.db`, `.locks/`, `documents/`, `staged/`, `memories/`.
    pub directory: String,
    /// How named locks exclude.
    pub lock: LockKind,
    /// How those who wait for a named lock back off.
    pub backoff: BackoffPolicy,
    /// How long a named lock is waited for, in nanoseconds.
    pub lock_timeout_ns: u64,
    /// How long the lease of a named lock lasts, in nanoseconds of the wall clock.
    pub lease_ns: u64,
    /// How long a claim on a task lasts, in nanoseconds of the wall clock.
    pub claim_ns: u64,
    /// SQLite's busy timeout, in nanoseconds. SQLite counts in milliseconds: a part of one is lost.
    pub busy_timeout_ns: u64,
    /// How often a transaction is tried before the agent gives up, at most; 0 counts as 1.
    pub attempts_max: u32,
    /// The page size of a database that is made now, in bytes: a power of two from 512 to 65536.
    pub page_bytes: u32,
    /// Pages in the WAL after which a commit checkpoints (PRAGMA wal_autocheckpoint); 0 is never.
    pub autocheckpoint_pages: u32,
    /// SQLite's page cache, in pages (PRAGMA cache_size).
    pub cache_pages: u32,
    /// The mode of explicit checkpoints.
    pub checkpoint: CheckpointMode,
    /// The longest pause of a reader between two keys, inside its transaction, in nanoseconds.
    pub reader_pause_ns: u64,
    /// The greatest age of a reader's snapshot, in nanoseconds: an older one is given up and read anew. What a snapshot may still need pins the WAL, which
    /// grows all the while (sqlite.org/wal.html#avoiding_excessively_large_wal_files).
    pub reader_age_ns_max: u64,
    /// Whether agents keep days: whether they may introspect and sleep. The tables for it are then made, too.
    pub keeps_days: bool,
    /// How agents exchange signals, if they do. The tables for it are then made, too.
    pub bus: Option<BusConfig>,
    /// Whether agents remember: whether memories may be sealed. The tables for it are then made, too.
    pub keeps_memories: bool,
    /// Whether tasks may need each other: whether one is only ready when others are done. The table for it is then made, too.
    pub tasks_need_each_other: bool,
    /// Whether agents take beliefs in. Beliefs are memories: `keeps_memories` must be set, too.
    pub keeps_beliefs: bool,
    /// The planted bug, for proving that the harness finds it.
    pub mutant: Option<Mutant>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            directory: "/swarm".into(),
            lock: LockKind::Flock,
            backoff: BackoffPolicy::DecorrelatedJitter,
            lock_timeout_ns: 3_000_000_000,
            lease_ns: 10_000_000_000,
            claim_ns: 3_600_000_000_000,
            busy_timeout_ns: 50_000_000,
            attempts_max: 40,
            page_bytes: 4096,
            autocheckpoint_pages: 1000,
            cache_pages: 2000,
            checkpoint: CheckpointMode::Passive,
            reader_pause_ns: 2_000_000,
            reader_age_ns_max: 10_000_000_000,
            keeps_days: false,
            bus: None,
            keeps_memories: false,
            tasks_need_each_other: false,
            keeps_beliefs: false,
            mutant: None,
        }
    }
}

impl Config {
    /// The database's path.
    pub fn database(&self) -> String {
        format!("{}/state.db", self.directory)
    }

    /// The directory of the locks.
    pub fn locks(&self) -> String {
        format!("{}/.locks", self.directory)
    }

    /// The directory of what is on its way into the store: staged notes and seals.
    pub fn staged(&self) -> String {
        format!("{}/staged", self.directory)
    }

    /// The directory of the sealed memories.
    pub fn memories(&self) -> String {
        format!("{}/memories", self.directory)
    }

    /// The directory of the documents.
    pub fn documents(&self) -> String {
        format!("{}/documents", self.directory)
    }
}

/// What an explicit checkpoint waits for (sqlite.org/pragma.html#pragma_wal_checkpoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointMode {
    /// Nobody: it copies what it can.
    Passive,
    /// Writers, and readers of old snapshots.
    Full,
    /// As full, and for all readers of the WAL: the next writer begins it anew.
    Restart,
    /// As restart, and cuts the WAL to nothing.
    Truncate,
}

impl CheckpointMode {
    /// Every mode.
    pub const ALL: [CheckpointMode; 4] =
        [CheckpointMode::Passive, CheckpointMode::Full, CheckpointMode::Restart, CheckpointMode::Truncate];

    /// Its name in settings and in the PRAGMA.
    pub const fn name(self) -> &'static str {
        match self {
            CheckpointMode::Passive => "passive",
            CheckpointMode::Full => "full",
            CheckpointMode::Restart => "restart",
            CheckpointMode::Truncate => "truncate",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<CheckpointMode> {
        CheckpointMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
