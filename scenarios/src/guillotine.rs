//! guillotine: agents that work, introspect and sleep die at the worst moments: by SIGKILL anywhere, by power loss, and again while they recover. How it
//! is drawn is in `workload`, what an agent does with its plan in `swarm`, what must hold in `oracle`.

use crate::faults::Menu;
use crate::workload::Workload;
use crate::{oracle, setting, swarm};
use seedstorm_sim::invariant::{LOCKS, watch_locks};
use seedstorm_sim::plan::{FaultKind, Options, OptionsError, Plan, PlantedBug, Refusal};
use seedstorm_sim::{Scenario, Seed, World};
use std::collections::BTreeMap;
use toml::Value;

/// Three to twelve agents do what they do in the storm, keep days besides, and are killed at it.
pub struct Guillotine;

const WORKLOAD: Workload = Workload {
    scenario: "guillotine",
    workers: &[3, 6, 8, 12],
    kinds: &[
        ("board-write", 20),
        ("board-read", 4),
        ("task-claim", 16),
        ("task-check", 8),
        ("task-leave", 4),
        ("note", 12),
        ("document", 26),
        ("checkpoint", 3),
        ("introspect", 16),
        ("sleep", 8),
        ("status", 5),
        ("remember", 14),
        ("verify", 4),
    ],
    calm_turns: &[
        &["board-write", "task-claim", "task-check", "task-leave", "introspect", "remember", "status"],
        &["note", "document", "board-read", "checkpoint", "task-claim", "verify", "sleep", "status"],
    ],
    // (kind, chance that a seed has it in percent, how many at most).
    faults: Menu {
        kinds: &[
            (FaultKind::Kill, 85, 10),
            (FaultKind::Terminate, 40, 3),
            (FaultKind::PidReuse, 50, 5),
            (FaultKind::MachineCrash, 35, 2),
            (FaultKind::TornWrite, 15, 1),
            (FaultKind::Pause, 20, 2),
            (FaultKind::Delay, 20, 4),
            (FaultKind::ClockJump, 10, 2),
            (FaultKind::IoError, 20, 3),
            (FaultKind::NoSpace, 25, 3),
            (FaultKind::ShortWrite, 20, 3),
            (FaultKind::FailedSync, 12, 2),
            (FaultKind::LyingSync, 4, 4),
        ],
        possible: FaultKind::WITHOUT_MESSAGES,
    },
    lies_before_power_loss: 20,
    kills_of_holders: 55,
    fixed: &[(swarm::DAYS, 1), (swarm::MEMORIES, 1)],
};

impl Scenario for Guillotine {
    fn name(&self) -> &'static str {
        "guillotine"
    }

    fn about(&self) -> &'static str {
        "agents that keep days are killed at the worst moments, the machine loses power, and they recover"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn faults(&self) -> &'static [FaultKind] {
        WORKLOAD.faults.possible
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        WORKLOAD.plan(seed, options)
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        WORKLOAD.check(plan)
    }

    fn plainest(&self) -> BTreeMap<String, Value> {
        setting::plainest(crate::workload::SETTINGS)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        swarm::populate(plan, world);
        watch_locks(world);
        oracle::watch_wakes(world);
        oracle::watch_swarm(world);
        oracle::watch_days(world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        swarm::recover(plan, u32::MAX, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[
            "kill_inside_write",
            "kill_between_temp_and_rename",
            "kill_inside_transaction",
            "kill_between_effect_and_claim",
            "kill_while_holding_lock",
            "kill_during_recovery",
            "stale_lock_reclaimed",
            "pid_reused",
            "temp_reaped",
            "temp_of_live_peer_kept",
            "orphan_swept",
            "power_loss_lost_unsynced",
            "power_loss_tore_write",
            "fsync_failed",
            "disk_full_handled",
            "corrupt_quarantined",
            "wal_recovered",
        ]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        const PARTS: &[&[(&str, &str)]] = &[LOCKS, oracle::AGENTS, oracle::WORKERS, oracle::SWARM, oracle::DAYS];
        const ALL: [(&str, &str); oracle::count(PARTS)] = oracle::joined(PARTS);
        &ALL
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        setting::planted_bugs(self.name())
    }
}
