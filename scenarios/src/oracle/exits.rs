//! `no-unhandled-error` and `lock-timeouts-handled`: agents end well, whatever they met.

use crate::script::TERMINATED;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Body, Ended, Event, Interest};

/// sysexits.h: EX_TEMPFAIL. An agent ends with it when a lock timed out and nothing handled it.
const LOCK_TIMEOUT: u8 = 75;

/// No agent ends with an error that it should have handled.
#[derive(Default)]
pub struct NoUnhandledError;

impl Invariant for NoUnhandledError {
    fn id(&self) -> &'static str {
        "no-unhandled-error"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        judge(self.id(), event, view, |code| ![0, LOCK_TIMEOUT, TERMINATED].contains(&code), "unhandled")
    }
}

/// No agent ends because a lock timed out.
#[derive(Default)]
pub struct LockTimeoutsHandled;

impl Invariant for LockTimeoutsHandled {
    fn id(&self) -> &'static str {
        "lock-timeouts-handled"
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        judge(self.id(), event, view, |code| code == LOCK_TIMEOUT, "unhandled-timeout")
    }
}

fn judge(
    id: &str,
    event: &Event<'_>,
    view: &View<'_>,
    is_bad: impl Fn(u8) -> bool,
    loss: &'static str,
) -> Result<(), Violation> {
    let (Body::Ended(Ended::Exited { code, why }), Some(process)) = (&event.body, event.process) else { return Ok(()) };
    if !is_bad(*code) {
        return Ok(());
    }
    let process = view.process(process);
    let message = format!("{} ended with code {code}: {why}", process.name);
    Err(Violation::new(id, message).object("process").role(process.role).loss(loss))
}
