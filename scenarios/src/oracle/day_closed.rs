//! `day-closed`: a sleep or an introspection that was sealed is finished by the time its agent is awake again.

use super::paths::STAGED;
use seedstorm_model::claims::Awake;
use seedstorm_model::file::StagedName;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Event, Interest};

/// Once an agent is awake, no seal of an earlier life of it is left.
#[derive(Default)]
pub struct DayClosed;

impl DayClosed {
    fn judge(&self, disk: &Disk, is_awake: impl Fn(&str) -> bool) -> Result<(), Violation> {
        let names = disk.read_dir(STAGED.trim_end_matches('/')).unwrap_or_default();
        let mut seals = names.iter().filter_map(|name| StagedName::parse(name)).filter(|name| name.note.is_none());
        match seals.find(|seal| is_awake(&seal.agent)) {
            None => Ok(()),
            Some(seal) => {
                let message = format!(
                    "{} is awake, and what it had sealed in operation {} isn't finished",
                    seal.agent, seal.number
                );
                Err(Violation::new(self.id(), message).object("seal").role("agent").loss("half-done"))
            }
        }
    }
}

impl Invariant for DayClosed {
    fn id(&self) -> &'static str {
        "day-closed"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.claim() {
            Some(Awake { agent }) => self.judge(view.disk(), |name| name == agent),
            None => Ok(()),
        }
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk(), |name| survivor.came_up(name))
    }
}
