//! `acknowledged-durable`: at each acknowledgement of a write there is a commit behind it, and its WAL frames are durable. Cheap: it looks at the disk's
//! own account of what is pending, not into the database.

use seedstorm_model::claims::{Committed, OperationBegun};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest, ProcessId};
use std::collections::BTreeMap;

/// Behind each acknowledgement is a commit of its own, durable when it ended.
#[derive(Default)]
pub struct AcknowledgedDurable {
    /// What each process had committed when it began its operation, or when it last acknowledged one: (boot, number of the commit).
    accounted: BTreeMap<ProcessId, (u32, u64)>,
}

impl Invariant for AcknowledgedDurable {
    fn id(&self) -> &'static str {
        "acknowledged-durable"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(process) = event.process else { return Ok(()) };
        if matches!(event.body, Body::Claim { kind: OperationBegun::KIND, .. }) {
            let number = view.commit_durability(process).map_or(0, |commit| commit.number);
            self.accounted.insert(process, (event.boot, number));
        }
        let Some(committed) = view.claim::<Committed>(event) else { return Ok(()) };
        let Committed { key, was_found, .. } = &*committed;
        // What was found had been committed by an earlier try, perhaps in an earlier life.
        if *was_found {
            return Ok(());
        }
        let before =
            self.accounted.get(&process).filter(|(boot, _)| *boot == event.boot).map_or(0, |(_, number)| *number);
        let commit = view.commit_durability(process).filter(|commit| commit.number > before);
        if let Some(commit) = &commit {
            self.accounted.insert(process, (event.boot, commit.number));
            if commit.is_durable {
                return Ok(());
            }
        }
        let operation = format!("{}#{}", key.agent, key.number);
        let problem = match commit {
            Some(commit) => {
                let (offset, len_bytes) = (commit.offset, commit.len_bytes);
                (
                    format!(
                        "{operation} was acknowledged, and its {len_bytes} bytes of WAL at {offset} were not durable"
                    ),
                    "not-durable",
                )
            }
            None => (format!("{operation} was acknowledged, and there is no commit behind it"), "not-committed"),
        };
        Err(Violation::new(self.id(), problem.0).object("transaction").role(view.process(process).role).loss(problem.1))
    }
}
