//! `live-temporaries-kept` and `temporaries-reaped`: temporary files of the dead go, those of the living stay.

use super::lives::Lives;
use super::paths::{DOCUMENTS, LOCKS, STAGED};
use seedstorm_model::file::temporary_owner;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};

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

/// When all is over, no temporary file is left: those of the dead were removed when their agents woke again.
#[derive(Default)]
pub struct TemporariesReaped;

impl TemporariesReaped {
    fn judge(&self, disk: &Disk) -> Result<(), Violation> {
        let is_temporary = |name: &String| name.contains(".tmp");
        let left = [DOCUMENTS, LOCKS, STAGED].into_iter().find_map(|directory| {
            let names = disk.read_dir(directory.trim_end_matches('/')).unwrap_or_default();
            names.into_iter().find(is_temporary).map(|name| format!("{directory}{name}"))
        });
        match left {
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
