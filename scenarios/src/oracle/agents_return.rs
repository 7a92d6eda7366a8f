//! `agents-return`: the recovery after a crash has taken place. That it was right is for the other oracles to say.

use super::audit::Audit;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::trace::{Event, Interest};

/// After a crash at any moment the agents that wake are in the store, as lives of the machine's new boot: a recovery that does nothing recovers nothing.
#[derive(Default)]
pub struct AgentsReturn;

impl Invariant for AgentsReturn {
    fn id(&self) -> &'static str {
        "agents-return"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let reading = survivor.reading(Audit::of);
        // Whether it can be read at all is `database-sound`'s to say.
        let Ok(audit) = &*reading else { return Ok(()) };
        let boot_of = |name: &str| audit.as_ref().and_then(|audit| audit.boots.get(name)).copied();
        let missing = survivor.processes().iter().find(|process| boot_of(&process.name) != Some(survivor.boot_id()));
        match missing {
            None => Ok(()),
            Some(process) => {
                let message = format!("{} was up again after a crash, and the store doesn't know", process.name);
                Err(Violation::new(self.id(), message).object("agent-row").role(process.role).loss("stale"))
            }
        }
    }
}
