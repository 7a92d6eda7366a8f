//! The oracles of signals. One ledger reads the claims once for all of them; what they judge is in a file each.
//!
//! | file | what |
//! |---|---|
//! | `ledger` | the account that all share: it drives `sim::causality::signals`, and notes what each invariant has to say |
//! | `queues` | who still has to get what: once, and in causal order |
//! | `claimed_order` | the order that clocks claim, united with send → delivery |
//! | `survival` | what the database must hold, after each crash and at the end |
//! | `stored` | what it holds, read by SQL of the oracles' own |
//! | `seen` | what must happen sometimes |

mod claimed_order;
mod ledger;
mod queues;
mod seen;
mod stored;
mod survival;

pub use ledger::{Ledger, Watch};
pub use seen::SignalsSeen;
pub use survival::SignalsSurvive;

use seedstorm_sim::World;
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const CORRUPT: &str = "corrupt-clock-refused";
pub(super) const SENT_FIRST: &str = "delivered-after-sent";
pub(super) const AGREE: &str = "clocks-agree";
pub(super) const MONOTONE: &str = "clocks-monotone";
pub(super) const ACYCLIC: &str = "claimed-order-acyclic";
pub(super) const ONCE: &str = "exactly-once-in-causal-order";

/// The invariants of agents that exchange signals: (id, what must hold).
pub const SIGNALS: &[(&str, &str)] = &[
    (CORRUPT, "no clock is accepted that is not the one that was sent"),
    (SENT_FIRST, "nothing is delivered before it was sent"),
    (AGREE, "vector clocks agree with the true order of signals, both ways, and no two events tie"),
    (MONOTONE, "the clock of a life only rises"),
    (ACYCLIC, "the order that clocks claim, united with send → delivery, has no cycle"),
    (ONCE, "every signal reaches every live recipient, has effect once, and comes in causal order"),
    (
        "signals-survive",
        "sends and deliveries that were acknowledged were durable by then, and nothing that is stored is unreadable",
    ),
];

/// Adds the invariants of [`SIGNALS`] to a world.
pub fn watch_signals(world: &mut World) {
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    // Where several have something to say of one event, the first is the one that knows the cause: a corrupt clock breaks every order.
    for id in [CORRUPT, SENT_FIRST, AGREE, MONOTONE, ACYCLIC, ONCE] {
        world.invariant(Watch::new(id, ledger.clone()));
    }
    world.invariant(SignalsSurvive::new(ledger.clone()));
    world.invariant(SignalsSeen::new(ledger));
}
