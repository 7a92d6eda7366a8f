//! `wal-commits-kept`: no commit is lost, nor a part of one. One invariant for whoever looks: a reader, a writer, SQLite itself, an audit of the disk. A lost
//! page shows in many ways, and they have one cause.

use super::audit::{Audit, Auditor, Reading};
use super::history::History;
use super::story::Story;
use crate::wal::claims::{Begun, Checkpointed, Committed, Damaged, Looked, Peeked, Writing};
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, Event, Interest};
use seedstorm_sim::{Plan, View};
use std::cell::RefCell;
use std::rc::Rc;

/// Whoever looks finds what a prefix of the commits wrote, and no less than it must.
pub struct WalCommitsKept {
    history: History,
    auditor: Auditor,
    story: Rc<RefCell<Story>>,
}

impl WalCommitsKept {
    pub(super) fn new(plan: &Plan, auditor: Auditor, story: Rc<RefCell<Story>>) -> WalCommitsKept {
        WalCommitsKept { history: History::new(plan), auditor, story }
    }

    fn violation(&self, message: String) -> Violation {
        let message = format!("{message}{}", self.story.borrow().told());
        Violation::new(self.id(), message).object("commit").role("agent").loss("lost")
    }

    fn judge(&self, reading: &Reading, least: u64) -> Result<(), Violation> {
        let wrong = match reading {
            Err(error) => Err(format!("the database can't be read: {error}")),
            Ok(audit) if !audit.problems.is_empty() => {
                Err(format!("the database is damaged: {}", audit.problems.join("; ")))
            }
            Ok(audit) => self.history.may_be(&audit.contents, &audit.commits, least),
        };
        wrong.map_err(|wrong| self.violation(wrong))
    }

    /// After a power loss: what is there is what there is.
    fn crashed(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let reading = self.auditor.read(view);
        self.judge(&reading, self.history.promised())?;
        if let Ok(audit) = &*reading {
            if (audit.commits.len() as u64) < self.history.acknowledged() {
                view.cover("taken_back_by_power_loss");
            }
            self.history.settle(&audit.commits);
        }
        Ok(())
    }

    fn claimed(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), String> {
        let Body::Claim { kind, .. } = event.body else { return Ok(()) };
        match kind {
            Begun::KIND => {
                if let Some(Begun { operation }) = event.claim() {
                    self.history.begin(operation);
                }
            }
            Writing::KIND => {
                if let Some(Writing { operation, sequence, after }) = event.claim() {
                    return self.history.writing(operation, sequence, after);
                }
            }
            Committed::KIND => {
                if let Some(Committed { operation, sequence, .. }) = event.claim() {
                    view.count("transactions", 1);
                    return self.history.committed(operation, sequence);
                }
            }
            Peeked::KIND => {
                if let Some(Peeked { operation, newest }) = event.claim() {
                    return self.history.peeked(operation, &newest);
                }
            }
            Looked::KIND => {
                if let Some(Looked { operation, contents, .. }) = event.claim() {
                    return self.history.looked(operation, &contents);
                }
            }
            Checkpointed::KIND => {
                if let Some(Checkpointed { operation, was_busy: false, frames: Some(frames), moved: Some(moved) }) =
                    event.claim()
                    && frames == moved
                {
                    self.history.checkpointed(operation);
                }
            }
            Damaged::KIND => {
                if let Some(Damaged { why, .. }) = event.claim() {
                    return Err(format!("SQLite finds the database damaged: {why}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Invariant for WalCommitsKept {
    fn id(&self) -> &'static str {
        "wal-commits-kept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body {
            return self.crashed(view);
        }
        let by = event.process.map_or("", |process| view.process(process).name);
        self.claimed(event, view).map_err(|wrong| self.violation(format!("{by}: {wrong}")))
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(&self.auditor.read(view), self.history.known())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(&survivor.reading(Audit::of), self.history.promised())
    }
}
