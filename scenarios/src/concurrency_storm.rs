//! concurrency-storm: many agents at once on one board, one task list, a few documents and locks, in bursts. How it is drawn is in `workload`, what an
//! agent does with its plan in `swarm`.

use crate::faults::Menu;
use crate::workload::Workload;
use crate::{oracle, setting, swarm};
use seedstorm_sim::invariant::{LOCKS, watch_locks};
use seedstorm_sim::plan::{FaultKind, Options, OptionsError, Plan, PlantedBug, Refusal};
use seedstorm_sim::{Scenario, Seed, World};
use std::collections::BTreeMap;
use toml::Value;

/// Four to twenty-four agents write the board, claim and check tasks, take notes and replace documents, all at once.
pub struct ConcurrencyStorm;

const WORKLOAD: Workload = Workload {
    scenario: "concurrency-storm",
    workers: &[4, 8, 16, 24],
    kinds: &[
        ("board-write", 30),
        ("board-read", 12),
        ("task-claim", 18),
        ("task-check", 14),
        ("task-leave", 6),
        ("note", 14),
        ("document", 16),
        ("checkpoint", 3),
        ("remember", 4),
        ("verify", 1),
        ("task-needs", 4),
    ],
    calm_turns: &[
        &["task-claim", "task-check", "task-leave"],
        &["board-write", "note", "verify"],
        &["document", "checkpoint"],
        &["board-read", "remember"],
    ],
    // (kind, chance that a seed has it in percent, how many at most).
    faults: Menu {
        kinds: &[
            (FaultKind::Kill, 50, 4),
            (FaultKind::Terminate, 25, 2),
            (FaultKind::Pause, 40, 3),
            (FaultKind::Delay, 40, 6),
            (FaultKind::ClockJump, 20, 2),
            (FaultKind::PidReuse, 25, 3),
            (FaultKind::IoError, 15, 2),
            (FaultKind::NoSpace, 15, 2),
            (FaultKind::ShortWrite, 20, 3),
            (FaultKind::FailedSync, 10, 1),
            (FaultKind::MachineCrash, 12, 1),
            (FaultKind::TornWrite, 8, 1),
        ],
        possible: FaultKind::WITHOUT_MESSAGES,
    },
    lies_before_power_loss: 0,
    kills_of_holders: 35,
    fixed: &[(swarm::MEMORIES, 1), (swarm::NEEDS, 1)],
};

/// How many agents wake after a crash that might have happened: the first repairs, the other meets it. All agents are alike and leave nothing that only
/// their own next life could finish, and a recovery costs what it wakes.
const RECOVERING: u32 = 2;

impl Scenario for ConcurrencyStorm {
    fn name(&self) -> &'static str {
        "concurrency-storm"
    }

    fn about(&self) -> &'static str {
        "many agents at once on one board, one task list, a few documents and locks"
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
        oracle::watch_swarm(world);
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        swarm::recover(plan, RECOVERING, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[
            "lock_contended",
            "lock_timeout_handled",
            "backoff_slept",
            "claim_lost_race",
            "claim_expired_and_retaken",
            "busy_retried",
            "checkpoint_beside_writer",
            "wal_reset",
            "ambiguous_commit",
            "reader_held_snapshot",
            "needs_cycle_refused",
        ]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        const PARTS: &[&[(&str, &str)]] = &[LOCKS, oracle::AGENTS, oracle::WORKERS, oracle::SWARM];
        const ALL: [(&str, &str); oracle::count(PARTS)] = oracle::joined(PARTS);
        &ALL
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        setting::planted_bugs(self.name())
    }
}
