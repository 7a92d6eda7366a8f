//! `wal-snapshot-still`: what a transaction reads stays as it was at its first read, whatever others commit, checkpoint or reset meanwhile.

use crate::wal::claims::Looked;
use crate::wal::content::Contents;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest};
use std::collections::BTreeMap;

/// A transaction that reads twice reads the same.
#[derive(Default)]
pub struct WalSnapshotStill {
    /// By operation: what it read first in its last transaction.
    first: BTreeMap<u64, Contents>,
}

impl Invariant for WalSnapshotStill {
    fn id(&self) -> &'static str {
        "wal-snapshot-still"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(Looked { operation, contents, again }) = event.claim() else { return Ok(()) };
        if !again {
            self.first.insert(operation, contents);
            return Ok(());
        }
        let first = self.first.remove(&operation).filter(|first| *first != contents);
        let (Some(first), Some(process)) = (first, event.process) else { return Ok(()) };
        let process = view.process(process);
        let message = format!(
            "{}: a transaction of operation {operation} saw {} commits and {} rows, then {} and {}",
            process.name, first.sequence, first.rows, contents.sequence, contents.rows
        );
        Err(Violation::new(self.id(), message).object("snapshot").role(process.role).loss("moved"))
    }
}
