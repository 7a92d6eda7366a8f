//! The name of a scheduling strategy in a plan. The strategies themselves are in `schedule`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which strategy picks the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyPlan {
    /// In the order of due times. Only its latencies mean time.
    Timed,
    /// Any announced call, with equal chance.
    Random,
    /// Tasks in turn.
    RoundRobin,
}

impl StrategyPlan {
    /// Every strategy: (name, what it does).
    pub const ALL: &[(StrategyPlan, &'static str)] = &[
        (StrategyPlan::Timed, "in the order of due times; its latencies are simulated time"),
        (StrategyPlan::Random, "any announced call, with equal chance"),
        (StrategyPlan::RoundRobin, "tasks in turn"),
    ];

    /// The name that plans and options use.
    pub const fn name(self) -> &'static str {
        match self {
            StrategyPlan::Timed => "timed",
            StrategyPlan::Random => "random",
            StrategyPlan::RoundRobin => "round-robin",
        }
    }

    /// The strategy of that name.
    pub fn parse(name: &str) -> Option<StrategyPlan> {
        StrategyPlan::ALL.iter().map(|(strategy, _)| *strategy).find(|strategy| strategy.name() == name)
    }
}

impl fmt::Display for StrategyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
