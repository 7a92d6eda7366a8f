//! sqlite-wal: clients that use SQLite directly, several connections each, on one database in WAL mode: they write, read, hold snapshots and checkpoint, and are
//! killed at it. How it is drawn is in `wal::workload`, what a client does with its plan in `wal`, what must hold in `oracle::wal`.

use crate::faults::Menu;
use crate::oracle::wal::{COVERAGE, WAL, watch_wal};
use crate::setting;
use crate::wal::{client, workload};
use seedstorm_sim::plan::{FaultKind, Options, OptionsError, Plan, PlantedBug, Refusal};
use seedstorm_sim::{Scenario, Seed, World};
use std::collections::BTreeMap;
use toml::Value;

/// Two to six processes on one database.
pub struct SqliteWal;

// (kind, chance that a seed has it in percent, how many at most). What fsync fails to keep is no fault of SQLite's: such faults are on only when they are
// asked for.
const FAULTS: Menu = Menu {
    kinds: &[
        (FaultKind::Kill, 55, 4),
        (FaultKind::Terminate, 10, 1),
        (FaultKind::MachineCrash, 20, 1),
        (FaultKind::TornWrite, 12, 1),
        (FaultKind::Pause, 15, 2),
        (FaultKind::Delay, 20, 3),
        (FaultKind::IoError, 15, 2),
        (FaultKind::NoSpace, 10, 2),
        (FaultKind::ShortWrite, 10, 2),
    ],
    possible: FaultKind::WITHOUT_MESSAGES,
};

impl Scenario for SqliteWal {
    fn name(&self) -> &'static str {
        "sqlite-wal"
    }

    fn about(&self) -> &'static str {
        "clients write, read and checkpoint one SQLite database in WAL mode, and are killed at it"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn faults(&self) -> &'static [FaultKind] {
        FAULTS.possible
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        workload::plan(self.name(), &FAULTS, seed, options)
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        workload::check(plan, FAULTS.possible)
    }

    fn plainest(&self) -> BTreeMap<String, Value> {
        crate::setting::plainest(workload::SETTINGS)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        client::populate(plan, world);
        watch_wal(plan, world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        client::recover(plan, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        COVERAGE
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        WAL
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        setting::planted_bugs(self.name())
    }
}
