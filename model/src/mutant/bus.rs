//! Planted bugs of the bus.

use super::{Mutant, MutantInfo};

const fn flood(
    mutant: Mutant,
    name: &'static str,
    about: &'static str,
    row: &'static str,
    invariant: &'static str,
) -> MutantInfo {
    MutantInfo { mutant, name, about, row, scenario: "signal-flood", invariant, ..MutantInfo::PLAIN }
}

pub(super) const CATALOGUE: &[MutantInfo] = &[
    flood(
        Mutant::MergeSkipped,
        "merge-skipped",
        "a delivery ticks the clock and doesn't merge the signal's: what was received looks concurrent with it",
        "M7",
        "clocks-agree",
    ),
    flood(
        Mutant::TickNotPersisted,
        "tick-not-persisted",
        "a send's tick is in memory only: the next life begins without it",
        "M4",
        "clocks-agree",
    ),
    flood(
        Mutant::ReceiveWithoutTick,
        "receive-without-tick",
        "a delivery merges and doesn't tick: it ties with the event before it",
        "M7",
        "clocks-agree",
    ),
    flood(
        Mutant::ClockFromSnapshot,
        "clock-from-snapshot",
        "a life begins from the clock's snapshot, without what has risen since",
        "M4",
        "clocks-agree",
    ),
    flood(
        Mutant::DuplicateKeysAccepted,
        "duplicate-keys-accepted",
        "whatever looks like a clock is read, as far as it goes: of two entries with one key the last counts",
        "M8",
        "corrupt-clock-refused",
    ),
    flood(
        Mutant::PruningBreaksDescent,
        "pruning-breaks-descent",
        "a pruned entry leaves no trace: what it stood for counts as unknown, not as past",
        "M5",
        "clocks-agree",
    ),
    flood(
        Mutant::AcknowledgedBeforeDelivered,
        "acknowledged-before-delivered",
        "signals leave the queue before they have taken effect, in a transaction of its own",
        "M1",
        "exactly-once-in-causal-order",
    ),
    flood(
        Mutant::SeenBeforeProcessed,
        "seen-before-processed",
        "signals count as seen before they have taken effect, in a transaction of its own: a second delivery drops them",
        "M6",
        "exactly-once-in-causal-order",
    ),
    MutantInfo {
        // Who reads a row of a queue whose signal has been counted off before all rows were there, finds nothing, and ends.
        also: &["no-unhandled-error"],
        ..flood(
            Mutant::TwoStepSend,
            "two-step-send",
            "the outbound row is committed before the inbound ones: a failure in between sends to nobody",
            "M2",
            "exactly-once-in-causal-order",
        )
    },
    flood(
        Mutant::BroadcastMissesOne,
        "broadcast-misses-one",
        "a broadcast leaves out the member that came last",
        "M2",
        "exactly-once-in-causal-order",
    ),
    MutantInfo {
        mutant: Mutant::SendAcknowledgedEarly,
        name: "send-acknowledged-early",
        about: "a send is acknowledged before its transaction is committed",
        row: "S6",
        scenario: "signal-flood",
        invariant: "signals-survive",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::NothingHeldBack,
        name: "nothing-held-back",
        about: "whatever is in hand is delivered, also before what came before it",
        row: "H3",
        scenario: "signal-flood",
        invariant: "exactly-once-in-causal-order",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::EntriesOverwritten,
        name: "entries-overwritten",
        about: "a delivery takes the entries of the signal's clock over, also where it knows less",
        row: "M7",
        scenario: "signal-flood",
        invariant: "clocks-agree",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SenderCountedOn,
        name: "sender-counted-on",
        about: "a delivery ticks the sender's entry, too: the clock knows an event that hasn't happened",
        row: "M7",
        scenario: "signal-flood",
        invariant: "clocks-agree",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::FinishTakenForGranted,
        name: "finish-taken-for-granted",
        about: "a member whose finish couldn't be noted goes on as if it had been: nobody ever sees that all have finished",
        row: "M6",
        scenario: "signal-flood",
        invariant: "progress",
        ..MutantInfo::PLAIN
    },
];
