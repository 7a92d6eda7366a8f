//! `signals-survive`: a send or a delivery that was acknowledged was durable by then. And what the database holds after each crash, at the end, and at each moment that is explored
//! as a crash point, as other invariants demand it: stored clocks know what their lives knew (`clocks-agree`); what somebody waits for is in its queue, and what was
//! delivered has had its effect (`exactly-once-in-causal-order`).

use super::ledger::{Ledger, NOT_ONCE, entry};
use super::stored::Stored;
use super::{AGREE, ONCE};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::claim::signal::{IncarnationBegun, Life, SignalId, SignalSent, SignalsDelivered};
use seedstorm_sim::trace::{Body, Event, Interest, ProcessId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Sends and deliveries that were acknowledged survive.
pub struct SignalsSurvive {
    ledger: Rc<RefCell<Ledger>>,
    /// By process: the boot, and the number of the last commit that an acknowledgement stood for.
    accounted: BTreeMap<ProcessId, (u32, u64)>,
}

impl SignalsSurvive {
    /// Shares the ledger.
    pub fn new(ledger: Rc<RefCell<Ledger>>) -> SignalsSurvive {
        SignalsSurvive { ledger, accounted: BTreeMap::new() }
    }

    fn violation(&self, message: String, object: &'static str, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object(object).role("agent").loss(loss)
    }

    fn of_another(id: &str, message: String, object: &'static str, loss: &'static str) -> Violation {
        Violation::new(id, message).object(object).role("agent").loss(loss)
    }

    /// Whether there is a commit behind an acknowledgement, and whether it is durable.
    fn judge_commit(&mut self, event: &Event<'_>, view: &View<'_>, kind: &str) -> Result<(), Violation> {
        let Some(process) = event.process else { return Ok(()) };
        let before = self.accounted.get(&process).filter(|(boot, _)| *boot == event.boot).map_or(0, |(_, last)| *last);
        let name = view.process(process).name;
        match view.commit_durability(process) {
            Some(commit) if commit.number > before => {
                self.accounted.insert(process, (event.boot, commit.number));
                if commit.is_durable {
                    return Ok(());
                }
                let message = format!("{name} claimed `{kind}`, and its commit was not durable");
                Err(self.violation(message, "transaction", "not-durable"))
            }
            _ => {
                let message = format!("{name} claimed `{kind}`, and there is no commit behind it");
                Err(self.violation(message, "transaction", "not-committed"))
            }
        }
    }

    fn compare(&self, reading: &Result<Option<Stored>, String>, is_end: bool) -> Result<(), Violation> {
        let ledger = self.ledger.borrow();
        let stored = match reading {
            Ok(Some(stored)) => stored,
            Ok(None) if ledger.clocks.is_empty() => return Ok(()),
            Ok(None) => return Err(self.violation("the signals are gone".into(), "database", "lost")),
            // Whether it can be read at all is `database-sound`'s to say.
            Err(_) => return Ok(()),
        };
        if let Some(row) = stored.unreadable.first() {
            return Err(self.violation(format!("a stored clock isn't one: {row}"), "clock", "corrupt"));
        }
        for (life, clock) in &ledger.clocks {
            let lost = clock.counters.iter().find(|(of, counter)| !stored.knows(life.agent, *of, *counter));
            if let Some((of, counter)) = lost {
                let message = format!("{life} knew event {counter} of {of}, and its stored clock doesn't");
                let lacking = ledger
                    .order
                    .lacking(life.agent, &clock.counters, |of| stored.known_of(life.agent, of))
                    .map_or("clock", entry);
                return Err(SignalsSurvive::of_another(AGREE, message, lacking, "lost"));
            }
        }
        // What is waited for by the account may have been acknowledged since, by a transaction that nobody could claim: then it has had its effect.
        let taken = |recipient: u32, signal: SignalId| {
            let count = |effects: &BTreeMap<(u32, Life), (u64, u64)>| {
                effects.get(&(recipient, signal.sender)).map_or(0, |effect| effect.0)
            };
            count(&stored.effects) > count(&ledger.queues.effects)
        };
        let missing = ledger.queues.all_waiting().find(|&(recipient, signal)| {
            !stored.queued.contains(&(recipient, signal)) && (is_end || !taken(recipient, signal))
        });
        if let Some((recipient, signal)) = missing {
            let message = format!("{signal} waits for agent {recipient}, and isn't in its queue");
            return Err(SignalsSurvive::of_another(ONCE, message, "signal", NOT_ONCE));
        }
        for (&(recipient, sender), expected) in &ledger.queues.effects {
            let found = stored.effects.get(&(recipient, sender)).copied().unwrap_or_default();
            let is_right = if is_end { found == *expected } else { found.0 >= expected.0 };
            if !is_right {
                let message = format!(
                    "agent {recipient} was delivered {} signals of {sender}, and {} have had their effect{}",
                    expected.0,
                    found.0,
                    if found.0 == expected.0 { ", another one than they should" } else { "" }
                );
                return Err(SignalsSurvive::of_another(ONCE, message, "signal", NOT_ONCE));
            }
        }
        Ok(())
    }
}

const ACKNOWLEDGEMENTS: &[&str] = &[IncarnationBegun::KIND, SignalSent::KIND, SignalsDelivered::KIND];

impl Invariant for SignalsSurvive {
    fn id(&self) -> &'static str {
        "signals-survive"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Claim { kind, .. } if ACKNOWLEDGEMENTS.contains(&kind) => self.judge_commit(event, view, kind),
            Body::MachineCrashed => self.compare(&Stored::of(view.disk()), false),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.compare(&Stored::of(view.disk()), true)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(ACKNOWLEDGEMENTS)
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.compare(&survivor.reading(Stored::of), false)
    }
}
