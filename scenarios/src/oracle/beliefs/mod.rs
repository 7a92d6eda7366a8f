//! The oracles of truth maintenance: a naive labeller of their own, the accepted set, and what must hold of the engine's labels.

pub mod accepted;
mod batches;
mod happened;
pub mod judge;
pub mod naive;
pub mod reading;

pub use batches::{BatchesKept, RelabelBounded};
pub use happened::AvalancheCoverage;

use judge::OfBeliefs;
use reading::{Planned, Reader};
use seedstorm_sim::World;

/// The invariants of truth maintenance: (id, what must hold).
pub const BELIEFS: &[(&str, &str)] = &[
    ("batches-kept", "each acknowledged batch is recorded but for what was refused, and nothing that nobody asked for"),
    (
        "contradictions-flagged",
        "a contradiction is flagged if who yields has a reason and the others hold, and only then",
    ),
    ("core-kept", "core memories are there byte for byte, and in"),
    ("isolation-by-rank", "who yields in a contradiction is the weakest, whatever came when"),
    ("labels-agree", "labels are those of a naive implementation of the well-founded semantics"),
    ("labels-order-free", "the same records in another order give the same labels"),
    ("relabel-bounded", "labelling anew keeps within its bound on work"),
    ("supersedes-acyclic", "no belief supersedes itself, directly or through others"),
    ("support-well-founded", "what is in rests on premises, not on itself"),
];

/// Adds the invariants of [`BELIEFS`] to a world. The order counts: of one event the first violation is reported, and some say more than others.
pub fn watch_beliefs(plan: Planned, world: &mut World) {
    let reader = Reader::new(plan);
    world.invariant(BatchesKept::new(&reader));
    world.invariant(OfBeliefs::new("supersedes-acyclic", &reader, judge::supersedes_acyclic));
    world.invariant(OfBeliefs::new("core-kept", &reader, judge::core_kept));
    world.invariant(OfBeliefs::new("isolation-by-rank", &reader, judge::isolation_by_rank));
    world.invariant(OfBeliefs::new("support-well-founded", &reader, judge::support_well_founded));
    world.invariant(OfBeliefs::new("labels-agree", &reader, judge::labels_agree));
    world.invariant(OfBeliefs::new("contradictions-flagged", &reader, judge::contradictions_flagged));
    world.invariant(OfBeliefs::rarely("labels-order-free", &reader, judge::labels_order_free));
    world.invariant(RelabelBounded::new(&reader));
    world.invariant(AvalancheCoverage::new(&reader));
}
