//! `wal-acknowledged-durable`: behind each acknowledgement is a commit, and where the contract is synchronous=FULL it is durable by then. It looks at the
//! disk's own account of what is pending, not into the database.

use crate::wal::claims::{Committed, Found, Writing};
use crate::wal::schema::Synchronous;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest, TaskId};
use seedstorm_sim::{Plan, View};
use std::collections::BTreeMap;

/// Behind each acknowledgement is a commit of its own, as durable as was promised.
pub struct WalAcknowledgedDurable {
    synchronous: Synchronous,
    /// By task: the boot of its process, and how many transactions that had committed when the task held the write lock last and was about to commit.
    before: BTreeMap<TaskId, (u32, u64)>,
}

impl WalAcknowledgedDurable {
    pub(super) fn new(plan: &Plan) -> WalAcknowledgedDurable {
        WalAcknowledgedDurable { synchronous: Synchronous::of(plan), before: BTreeMap::new() }
    }
}

impl Invariant for WalAcknowledgedDurable {
    fn id(&self) -> &'static str {
        "wal-acknowledged-durable"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let (Some(process), Some(task)) = (event.process, event.task) else { return Ok(()) };
        // Whoever claims these holds the write lock: no other connection of its process commits in between.
        if event.claim::<Writing>().is_some() || event.claim::<Found>().is_some() {
            let number = view.commit_durability(process).map_or(0, |commit| commit.number);
            self.before.insert(task, (event.boot, number));
        }
        let Some(Committed { operation, sequence, .. }) = event.claim() else { return Ok(()) };
        let before = self.before.remove(&task).filter(|(boot, _)| *boot == event.boot).map_or(0, |(_, number)| number);
        let (why, loss) = match view.commit_durability(process).filter(|commit| commit.number > before) {
            Some(commit) if commit.is_durable || self.synchronous == Synchronous::Normal => return Ok(()),
            Some(commit) => {
                let (offset, len_bytes) = (commit.offset, commit.len_bytes);
                (format!("its {len_bytes} bytes of WAL at {offset} were not durable"), "not-durable")
            }
            None => ("there is no commit behind it".to_owned(), "not-committed"),
        };
        let process = view.process(process);
        let message =
            format!("{}: operation {operation} was acknowledged as commit {sequence}, and {why}", process.name);
        Err(Violation::new(self.id(), message).object("commit").role(process.role).loss(loss))
    }
}
