//! contradiction-avalanche: agents take large batches of conflicting assertions in at once, and are killed at it. How it is drawn is in `avalanche`, what an
//! agent does with its plan in `swarm`, what must hold in `oracle::beliefs`.

use crate::avalanche::workload;
use crate::faults::Menu;
use crate::{oracle, setting, swarm};
use seedstorm_sim::invariant::{LOCKS, watch_locks};
use seedstorm_sim::plan::{FaultKind, Options, OptionsError, Plan, PlantedBug, Refusal};
use seedstorm_sim::{Scenario, Seed, World};
use std::collections::BTreeMap;
use toml::Value;

/// Three to twelve agents record reasons, contradictions, supersessions and retractions, in batches, all at once.
pub struct ContradictionAvalanche;

// (kind, chance that a seed has it in percent, how many at most).
const FAULTS: Menu = Menu {
    kinds: &[
        (FaultKind::Kill, 75, 6),
        (FaultKind::Terminate, 20, 2),
        (FaultKind::MachineCrash, 25, 2),
        (FaultKind::TornWrite, 10, 1),
        (FaultKind::Pause, 25, 2),
        (FaultKind::Delay, 30, 4),
        (FaultKind::ClockJump, 10, 2),
        (FaultKind::PidReuse, 15, 2),
        (FaultKind::IoError, 15, 2),
        (FaultKind::NoSpace, 15, 2),
        (FaultKind::ShortWrite, 15, 3),
        (FaultKind::FailedSync, 6, 1),
    ],
    possible: FaultKind::WITHOUT_MESSAGES,
};

/// How many agents wake after a crash that might have happened.
const RECOVERING: u32 = 2;

impl Scenario for ContradictionAvalanche {
    fn name(&self) -> &'static str {
        "contradiction-avalanche"
    }

    fn about(&self) -> &'static str {
        "agents take batches of conflicting assertions in at once, and are killed at it"
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
        setting::plainest(crate::avalanche::workload::SETTINGS)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        swarm::populate(plan, world);
        watch_locks(world);
        let planned = workload::planned(plan);
        oracle::watch_store(planned.core.keys().copied(), world);
        oracle::beliefs::watch_beliefs(planned, world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        swarm::recover(plan, RECOVERING, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[
            "contradiction_isolated",
            "odd_loop_reported",
            "positive_loop_dropped",
            "supersedes_cycle_refused",
            "core_attack_refused",
            "retraction_cascaded",
            "other_support_kept",
            "batch_killed_midway",
            "fork_resolved",
        ]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        const PARTS: &[&[(&str, &str)]] = &[LOCKS, oracle::AGENTS, oracle::WORKERS, oracle::beliefs::BELIEFS];
        const ALL: [(&str, &str); oracle::count(PARTS)] = oracle::joined(PARTS);
        &ALL
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        setting::planted_bugs(self.name())
    }
}
