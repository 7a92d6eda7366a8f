//! One connection of a client of sqlite-wal, as long as its process lives: it carries out its part of the plan, one operation after the other, each until
//! it is done.

use super::claims::{Begun, Damaged, Retried, Unsettled};
use super::content::Payload;
use super::error::Trouble;
use super::looking::{check, checkpoint, look, peek};
use super::schema::Config;
use super::writing::{run, write};
use rusqlite::Connection;
use seedstorm_sim::plan::Operation;
use seedstorm_sim::{Draw, Os, Sys};
use std::cell::Cell;
use toml::Value;

/// What a connection is to do, and how far it has got. It outlives its process's deaths, as a person at a terminal would.
pub(super) struct Script {
    operations: Vec<Operation>,
    next: Cell<usize>,
    only_reads: bool,
}

impl Script {
    pub(super) fn new(operations: Vec<Operation>) -> Script {
        let only_reads = operations.iter().all(|operation| ["read", "scan", "hold"].contains(&operation.kind.as_str()));
        Script { operations, next: Cell::new(0), only_reads }
    }

    fn next(&self) -> Option<&Operation> {
        self.operations.get(self.next.get())
    }

    fn advance(&self) {
        self.next.set(self.next.get() + 1);
    }
}

/// How a connection's work ended.
pub(super) enum End {
    /// All is done.
    Done,
    /// The process was asked to end, or has died.
    Terminated,
    /// With an error that no retry heals.
    Failed(String),
}

/// Carries out what is left of a script.
pub(super) fn live(os: &Os, sys: &Sys, config: &Config, script: &Script) -> End {
    let mut open = None;
    while let Some(operation) = script.next() {
        if os.is_terminating() {
            return End::Terminated;
        }
        os.begin_operation(operation.id);
        let wait_ns = operation.not_before_ns.saturating_sub(sys.simulated_ns()) + operation.think_ns;
        if wait_ns > 0 && os.sleep(wait_ns).is_err() {
            continue;
        }
        match until_done(os, config, script.only_reads, operation, &mut open) {
            // From a dead process nothing counts.
            End::Done if os.is_alive() => script.advance(),
            End::Done => return End::Terminated,
            ended => return ended,
        }
    }
    End::Done
}

/// The first pause between two attempts, and the longest, in nanoseconds.
const PAUSES_NS: (u64, u64) = (200_000, 50_000_000);

fn until_done(os: &Os, config: &Config, only_reads: bool, operation: &Operation, open: &mut Option<Connection>) -> End {
    let mut pause_ns = PAUSES_NS.0;
    loop {
        os.claim(&Begun { operation: operation.id });
        let trouble = match attempt(os, config, only_reads, operation, open) {
            Ok(()) => return End::Done,
            Err(trouble) => trouble.examined(open.as_ref()),
        };
        if let Some(connection) = open.as_ref().filter(|connection| !connection.is_autocommit()) {
            // On every path: an open transaction would lock everybody out.
            let _ = run(connection, "ROLLBACK");
        }
        if trouble.spoils_connection() {
            *open = None;
        }
        if os.is_terminating() {
            return End::Terminated;
        }
        match trouble {
            Trouble::Busy | Trouble::Stale => os.claim(&Retried { operation: operation.id, was_busy: true }),
            Trouble::Disk => os.claim(&Retried { operation: operation.id, was_busy: false }),
            Trouble::Unsettled => os.claim(&Unsettled { operation: operation.id }),
            Trouble::Damaged(why) => {
                os.claim(&Damaged { operation: operation.id, why: why.clone() });
                return End::Failed(why);
            }
            Trouble::Unexpected(error) => return End::Failed(error.to_string()),
        }
        let jitter_ns = os.entropy().below(pause_ns);
        // A sleep that a signal cuts short is a shorter one.
        let _ = os.sleep(pause_ns / 2 + jitter_ns);
        pause_ns = (pause_ns * 2).min(PAUSES_NS.1);
    }
}

fn attempt(
    os: &Os,
    config: &Config,
    only_reads: bool,
    operation: &Operation,
    open: &mut Option<Connection>,
) -> Result<(), Trouble> {
    let connection = match open {
        Some(connection) => connection,
        None => open.insert(config.open(only_reads)?),
    };
    let number = |key: &str| operation.arguments.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    match operation.kind.as_str() {
        "write" => write(os, connection, config, payload(operation)),
        "hold" => look(os, connection, config, operation.id, number("held_ns").max(1)),
        "scan" => look(os, connection, config, operation.id, 0),
        "check" => check(connection),
        "checkpoint" => {
            let mode = operation.arguments.get("mode").and_then(Value::as_str).unwrap_or("passive");
            checkpoint(os, connection, operation.id, mode)
        }
        // A plan of other kinds is refused before it runs.
        _ => peek(os, connection, operation.id),
    }
}

/// What a write of the plan writes.
pub(crate) fn payload(operation: &Operation) -> Payload {
    let number = |key: &str| operation.arguments.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    Payload { operation: operation.id, rows: number("rows").max(1), bytes: number("bytes") }
}
