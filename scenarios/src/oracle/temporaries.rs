//! `temporaries-exclusive`, `live-temporaries-kept` and `temporaries-reaped`: a temporary file has one owner; it stays while the owner lives, and goes
//! with it.

use super::lives::Lives;
use super::paths::{DOCUMENTS, LOCKS, MEMORIES, STAGED};
use seedstorm_model::file::temporary_owner;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::collections::BTreeMap;

/// Each temporary file has one owner: nobody else opens it, and its name says whose it is.
#[derive(Default)]
pub struct TemporariesExclusive {
    /// Who has opened a temporary file that is still there.
    opened: BTreeMap<String, (ProcessId, u32)>,
}

impl TemporariesExclusive {
    fn violation(&self, message: String, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object("temporary").role("agent").loss(loss)
    }
}

impl Invariant for TemporariesExclusive {
    fn id(&self) -> &'static str {
        "temporaries-exclusive"
    }

    fn interest(&self) -> Interest {
        let calls = [CallKind::Open, CallKind::Unlink, CallKind::Rename];
        calls.into_iter().fold(Interest::NONE, |all, kind| all.and(Interest::call(kind)))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Body::Call { kind, result: Ok(_), data, .. } = event.body else { return Ok(()) };
        let Some(process) = event.process else { return Ok(()) };
        let path = data.split(|byte| *byte == 0).next().and_then(|path| std::str::from_utf8(path).ok());
        let Some(path) = path.filter(|path| is_temporary(path)) else { return Ok(()) };
        if kind != CallKind::Open {
            self.opened.remove(path);
            return Ok(());
        }
        match self.opened.insert(path.to_owned(), (process, event.boot)) {
            Some(other) if other != (process, event.boot) => {
                let [by, other] = [process, other.0].map(|process| view.process(process).name);
                Err(self.violation(format!("{by} opened {path}, which {other} had opened before it"), "shared"))
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        match left(view.disk()).find(|path| temporary_owner(path).is_none()) {
            None => Ok(()),
            Some(path) => Err(self.violation(format!("{path} is left, and nobody can tell whose it was"), "nobodys")),
        }
    }
}

/// Nobody removes a temporary file that another living process is writing.
#[derive(Default)]
pub struct LiveTemporariesKept {
    lives: Lives,
}

impl Invariant for LiveTemporariesKept {
    fn id(&self) -> &'static str {
        "live-temporaries-kept"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Unlink).and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.lives.observe(event, view);
        let Body::Call { kind: CallKind::Unlink, result: Ok(_), data, .. } = event.body else { return Ok(()) };
        let Ok(path) = std::str::from_utf8(data) else { return Ok(()) };
        let owner = temporary_owner(path).and_then(|owner| self.lives.living(&owner, view));
        let Some(owner) = owner.filter(|owner| Some(*owner) != event.process) else { return Ok(()) };
        let by = event.process.map_or("?", |process| view.process(process).name);
        let message = format!("{by} removed {path}, whose owner {} is alive", view.process(owner).name);
        Err(Violation::new(self.id(), message).object("temporary").role("agent").loss("reaped-alive"))
    }
}

fn is_temporary(name: &str) -> bool {
    name.contains(".tmp")
}

/// Temporary files on a disk.
fn left(disk: &Disk) -> impl Iterator<Item = String> {
    [DOCUMENTS, LOCKS, MEMORIES, STAGED].into_iter().flat_map(|directory| {
        let names = disk.read_dir(directory.trim_end_matches('/')).unwrap_or_default();
        names.into_iter().filter(|name| is_temporary(name)).map(move |name| format!("{directory}{name}"))
    })
}

/// When all is over, no temporary file is left: those of the dead were removed when their agents woke again.
#[derive(Default)]
pub struct TemporariesReaped;

impl TemporariesReaped {
    fn judge(&self, disk: &Disk) -> Result<(), Violation> {
        let mut left = left(disk).filter(|path| temporary_owner(path).is_some());
        match left.next() {
            None => Ok(()),
            Some(path) => {
                let message = format!("{path} is left, and nobody is alive to whom it could belong");
                Err(Violation::new(self.id(), message).object("temporary").role("agent").loss("never-reaped"))
            }
        }
    }
}

impl Invariant for TemporariesReaped {
    fn id(&self) -> &'static str {
        "temporaries-reaped"
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk())
    }
}
