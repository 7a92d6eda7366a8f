//! A plan: everything that a run will do, as a value. A run is a pure function of its plan. No drawing happens here but through
//! a scenario's `plan`.

mod fault;
mod options;
mod planted;
mod position;
mod reading;
mod refusal;
mod skip_points;
mod strategy;

pub use fault::{Between, FaultKind, FaultPlan, Position, Trigger};
pub use options::{Faults, Given, Options, OptionsError};
pub use planted::PlantedBug;
pub use reading::{PlanError, read_faults, read_toml};
pub use refusal::{Place, Refusal, Why};
pub use skip_points::{NoSkipPoints, SkipPoints};
pub use strategy::{StrategyError, StrategyPlan};

use crate::schedule::StepCounts;
use crate::seed::Seed;
use crate::sys::claim::ClaimKind;
use crate::sys::disk::Persistence;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the plan's format. A reader refuses a newer one.
pub const PLAN_FORMAT: u32 = 1;

/// Everything that a run will do. Prints as TOML and runs from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub scenario: String,
    /// What the remaining draws (latencies, entropy, schedule) are keyed by.
    pub seed: Seed,
    /// Who steps next.
    pub strategy: StrategyPlan,
    /// What a machine crash may lose.
    pub persistence: Persistence,
    /// The name of the latency profile, one of [`crate::kernel::latency::PROFILES`].
    pub latency: String,
    /// How long faults may fire and operations may start, in simulated nanoseconds.
    pub chaos_ns: u64,
    /// How long the calm phase may take until all work is done, in simulated nanoseconds.
    pub calm_ns: u64,
    /// The most steps that a run may take before it is a violation of `progress`.
    pub steps_max: u64,
    /// The disk's capacity in bytes; `None` is boundless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity_bytes: Option<u64>,
    /// Processes that never start, though the scenario has them: shrinking takes them away and shifts no other's name or draws.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Offsets of each process's wall clock from the machine's, in nanoseconds, by process name; absent is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clock_skew_ns: BTreeMap<String, i64>,
    /// What the scenario drew for itself.
    #[serde(default)]
    pub settings: BTreeMap<String, toml::Value>,
    /// What may go wrong.
    #[serde(default)]
    pub faults: Vec<FaultPlan>,
    /// What processes will do. `sim` can cut them without knowing the model.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// What a first run of this plan or of one like it has counted ([`crate::count_steps`]). Strategies that must know how many steps tasks take make no first
    /// run of their own then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_counts: Option<StepCounts>,
}

/// One operation of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Unique in the plan. Draws made during the operation are keyed by it. 0 is not used.
    pub id: u64,
    /// The process that does it, by name.
    pub process: String,
    /// What it is, in the scenario's words.
    pub kind: String,
    /// When it may start at the earliest, in simulated nanoseconds since the start of the run.
    #[serde(default)]
    pub not_before_ns: u64,
    /// How long the process thinks before it, in simulated nanoseconds.
    #[serde(default)]
    pub think_ns: u64,
    /// The scenario's own arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, toml::Value>,
}

impl Plan {
    /// A plan of plain values, for tests and for scenarios to start from: a random schedule without faults, on a fast disk that keeps no more than
    /// POSIX promises; 20 s of chaos, 600 s of calm, two million steps.
    pub fn plain(scenario: &str, seed: Seed) -> Plan {
        Plan {
            format: PLAN_FORMAT,
            scenario: scenario.to_owned(),
            seed,
            strategy: StrategyPlan::Random,
            persistence: Persistence::Posix,
            latency: "nvme".to_owned(),
            chaos_ns: 20_000_000_000,
            calm_ns: 600_000_000_000,
            steps_max: 2_000_000,
            disk_capacity_bytes: None,
            absent: Vec::new(),
            clock_skew_ns: BTreeMap::new(),
            settings: BTreeMap::new(),
            faults: Vec::new(),
            operations: Vec::new(),
            step_counts: None,
        }
    }

    /// The plan as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan holds nothing that TOML can't")
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong and where: line, key, what is allowed.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        reading::read_plan(text)
    }

    /// Looks at what every plan must have, whatever its scenario: what [`Plan::from_toml`] refuses of one that it could read. For plans that are a part of
    /// another file.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn check(&self) -> Result<(), Refusal> {
        reading::check_plan(self)
    }

    /// Checks that its faults are of these kinds.
    ///
    /// # Errors
    /// The first one that isn't.
    pub fn check_fault_kinds(&self, possible: &[FaultKind]) -> Result<(), Refusal> {
        let Some(fault) = self.faults.iter().find(|fault| !possible.contains(&fault.kind)) else { return Ok(()) };
        let names: Vec<&str> = possible.iter().map(|kind| kind.name()).collect();
        let place = Place::Fault { id: fault.id, key: Some("kind") };
        Err(Refusal::value(place, fault.kind.name(), names.join(", ")))
    }

    /// Checks that the bug that it plants, if it plants one, is one of these.
    ///
    /// # Errors
    /// A bug that isn't.
    pub fn check_planted_bug(&self, possible: &[PlantedBug]) -> Result<(), Refusal> {
        match self.setting_str(MUTANT) {
            Some(bug) if possible.iter().all(|known| known.name != bug) => {
                let allowed = possible.iter().map(|bug| bug.name).collect::<Vec<_>>().join(", ");
                Err(Refusal::value(Place::Setting(MUTANT.to_owned()), bug, allowed))
            }
            _ => Ok(()),
        }
    }

    /// A whole-number setting, or `default` where the plan has none.
    pub fn setting_u64(&self, key: &str, default: u64) -> u64 {
        self.settings
            .get(key)
            .and_then(toml::Value::as_integer)
            .and_then(|value| u64::try_from(value).ok())
            .unwrap_or(default)
    }

    /// A whole-number setting that may be less than 0, or `default` where the plan has none.
    pub fn setting_i64(&self, key: &str, default: i64) -> i64 {
        self.settings.get(key).and_then(toml::Value::as_integer).unwrap_or(default)
    }

    /// A text setting.
    pub fn setting_str(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(toml::Value::as_str)
    }
}

/// The setting that plants a bug. It is never drawn.
pub const MUTANT: &str = "mutant";

/// What a scenario is: a name, a pure function from seed to plan, and the programs that carry the plan out.
pub trait Scenario {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// One line that says what it stresses.
    fn about(&self) -> &'static str;

    /// Whether its programs ask nobody but `Sys` for time and chance. In a run of such a scenario std's clocks stand still, and what std and others draw from
    /// getrandom(2) is the same for every seed; in return it begins in a third of the time where many follow each other ([`crate::run_series`]).
    fn is_self_contained(&self) -> bool {
        false
    }

    /// The kinds of fault that can happen in it, asked for or not.
    fn faults(&self) -> &'static [FaultKind] {
        FaultKind::ALL
    }

    /// Draws the plan of a seed. Pure: it reads nothing but its arguments.
    ///
    /// # Errors
    /// An option that the scenario doesn't know, or a value out of range.
    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError>;

    /// Looks at a plan that came from a file: its settings, operations and processes must be ones that the scenario knows, and nothing may be in it that
    /// its options refuse. The plan's form and its faults have been checked by then ([`Plan::check`]). Without a check of its own a scenario looks at the
    /// planted bug; one of its own begins with [`Plan::check_planted_bug`].
    ///
    /// # Errors
    /// What the scenario doesn't know, where, and what is allowed.
    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        plan.check_planted_bug(&self.planted_bugs())
    }

    /// The plainest value of each setting: what shrinking tries to bring a failing plan to.
    fn plainest(&self) -> BTreeMap<String, toml::Value> {
        BTreeMap::new()
    }

    /// Creates the processes and invariants of a plan.
    fn populate(&self, plan: &Plan, world: &mut crate::kernel::World);

    /// Creates the processes that come up after a crash at an arbitrary moment: what an agent's next wake does, with no operation. They run on what the crash
    /// left, each to its end, in time order and without faults; then invariants judge the disk ([`crate::invariant::Invariant::survived`]). What
    /// invariants it adds is ignored. A scenario whose invariants judge survivors must start a process here: see the invariant `recovers`.
    fn recover(&self, plan: &Plan, world: &mut crate::kernel::World) {
        let _ = (plan, world);
    }

    /// What must happen at least once in a sweep, by the names that its invariants give to [`crate::kernel::View::cover`]. Some the harness counts by itself:
    /// `duplicated` (a message was received twice), `reordered` (it was overtaken), `partition_healed` (a pair talks again after a cut),
    /// `power_loss_lost_unsynced`, `power_loss_tore_write`.
    fn coverage(&self) -> &'static [&'static str];

    /// The invariants that it adds: (id, what must hold). The command line refuses to run a world with another one.
    fn invariants(&self) -> &'static [(&'static str, &'static str)];

    /// The kinds of claim of its own: listings of events then tell what they say.
    fn claims(&self) -> Vec<ClaimKind> {
        Vec::new()
    }

    /// How a message reads that one of its programs has sent, in a line; who sent it to whom, and how long it is, is told with it. `None`: it is none that they
    /// know, as one that a fault has garbled, and is told by its beginning.
    fn message_in_words(&self, bytes: &[u8]) -> Option<String> {
        let _ = bytes;
        None
    }

    /// The bugs that can be planted in it, by the setting [`MUTANT`]. Its invariants must catch them; a self-test looks whether they do.
    fn planted_bugs(&self) -> Vec<PlantedBug> {
        Vec::new()
    }
}
