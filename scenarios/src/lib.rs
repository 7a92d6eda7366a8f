//! What is run: one file for one scenario, its oracles in `oracle`, what scenarios share beside them. The engine under test is in `model`, the harness
//! in `sim`.

pub mod avalanche;
pub(crate) mod check;
pub mod concurrency_storm;
pub mod contradiction_avalanche;
pub mod faults;
pub mod flood;
pub mod guillotine;
pub mod oracle;
pub(crate) mod plans;
pub mod script;
pub mod setting;
pub mod signal_flood;
pub mod sqlite_wal;
pub mod swarm;
pub mod wal;
pub mod workload;

use seedstorm_sim::Scenario;

/// Every scenario, in the order in which `--scenarios all` runs them.
pub fn all() -> &'static [&'static (dyn Scenario + Sync)] {
    &[
        &concurrency_storm::ConcurrencyStorm,
        &guillotine::Guillotine,
        &signal_flood::SignalFlood,
        &contradiction_avalanche::ContradictionAvalanche,
        &sqlite_wal::SqliteWal,
    ]
}
