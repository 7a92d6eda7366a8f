//! Signals between agents, each with a vector clock: direct ones and broadcasts, durable in SQLite, delivered in causal order, each with effect once.
//!
//! Two paths lead to a recipient. The durable one is a queue in the store: a row for each recipient, committed with the signal, and deleted by the transaction in
//! which the recipient acknowledges. The fast one is a copy over the network, which also wakes the recipient; it may be lost, come twice, late or garbled, so a
//! poll of the queue backs it up.
//!
//! - **Sending** is one transaction: the tick, the signal, a row in the queue of each recipient.
//! - **Delivering** hands over signals in causal order; then one transaction acknowledges them: effect, merge and tick of each, seen, off the queue. A kill before its
//!   COMMIT has the signals delivered again, and none has taken effect twice.
//! - **Full queues.** A signal for which one recipient has no room is refused as a whole, and tried again later: nobody gets it before the others could, and no queue
//!   grows without bound. Whoever waits so goes on receiving, so that two with full queues can't wait for each other.
//! - **Copies that wait** for what comes before them causally are held in a buffer; what finds that full is dropped, and polled later.
//!
//! | file | what |
//! |---|---|
//! | `member` | [`Member`]: an agent that exchanges signals; joining, listening, leaving |
//! | `send`, `deliver` | the two transactions |
//! | `order` | which queued signals may be delivered now |
//! | `signal`, `copies` | signals, their copies on the network, and the buffer of those |
//! | `clock`, `encoding` | vector clocks, and how they are written down |
//! | `journal`, `pruning` | where clocks are kept; entries that nobody needs |
//! | `rate` | how many signals a sender may send |
//! | `claims` | what the outside is told beside |

mod claims;
mod clock;
mod config;
mod copies;
mod deliver;
mod encoding;
mod journal;
mod member;
mod order;
mod pruning;
mod rate;
mod row;
mod send;
mod signal;

pub use claims::{ClockCopyRefused, QueueFull, SignalHeldBack};
pub use clock::Clock;
pub use config::{BusConfig, RateLimit};
pub use deliver::{Delivered, From};
pub use encoding::{CLOCK_VERSION, ClockRefused, decode, encode};
pub use member::{Member, Survey};
pub use send::{Outgoing, SendOutcome, To};
pub use signal::{CopyRefused, Signal};
