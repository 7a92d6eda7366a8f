//! The name of a scheduling strategy in a plan, with its parameters. The strategies themselves are in `schedule`.

use super::skip_points::SkipPoints;
use crate::seed::{Draw, Seed};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Which strategy picks the next step. As text: its name, then its parameters as `:key=value,key=value`; what is left out has its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum StrategyPlan {
    /// In the order of due times. Only its latencies mean time.
    Timed,
    /// Any announced call, with equal chance.
    Random,
    /// Tasks in turn.
    RoundRobin,
    /// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).
    Pct {
        /// How many ordering constraints a bug may need: one more than there are changes of priority; 1 to 16.
        depth: u32,
        /// How many steps the run is taken to have; 0: a first run counts them.
        steps: u64,
    },
    /// Partial order sampling (Yuan, Yang and Gu, CAV 2018).
    Pos,
    /// A random walk in which a task's chance is its share of the steps that are left (Zhao et al., ASPLOS 2025: URW). A first run counts them.
    Urw,
    /// As `urw`, for the calls that touch what several tasks share, or one such thing; the others go at random (the same authors' SURW).
    Surw,
    /// Any announced call, but the calls of one kind, or of one process, are now and then delayed hard.
    SwarmDelay {
        /// One call in so many of those is delayed; 1 to 1,000.
        one_in: u32,
    },
    /// Each task as long as it can, then the next one in turn (Emmi, Qadeer and Rakamarić, POPL 2011: delay-bounded scheduling).
    Skips {
        /// At which choices whoever's turn it is is skipped.
        at: SkipPoints,
    },
}

/// A strategy that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StrategyError {
    /// There is none of that name.
    #[error("unknown strategy `{0}`")]
    Unknown(String),
    /// It has no such parameter, or the value isn't possible.
    #[error("strategy `{strategy}`: `{parameter}` is not possible; allowed: {allowed}")]
    Parameter {
        /// The strategy's name.
        strategy: &'static str,
        /// What was given.
        parameter: String,
        /// What would have been possible.
        allowed: &'static str,
    },
}

/// What `pct` takes when its depth isn't given: most known bugs of this kind have a depth of at most 3.
const DEPTH: u32 = 3;
/// What `swarm-delay` takes when nothing is given.
const ONE_IN: u32 = 8;

impl StrategyPlan {
    /// Every strategy, with the parameters that it has when none are given: (strategy, what it does).
    pub const ALL: &[(StrategyPlan, &'static str)] = &[
        (StrategyPlan::Timed, "in the order of due times; its latencies are simulated time"),
        (StrategyPlan::Random, "any announced call, with equal chance"),
        (StrategyPlan::RoundRobin, "tasks in turn"),
        (
            StrategyPlan::Pct { depth: DEPTH, steps: 0 },
            "tasks by drawn priorities that change depth - 1 times; `:depth=3,steps=20000`, steps from a first run when left out",
        ),
        (StrategyPlan::Pos, "calls by drawn priorities, drawn anew for those that race with the one that took effect"),
        (StrategyPlan::Urw, "tasks with a chance of their share of the steps left, as a first run counted them"),
        (
            StrategyPlan::Surw,
            "as urw for the calls that touch what tasks share, or one such thing; at random for the others",
        ),
        (
            StrategyPlan::SwarmDelay { one_in: ONE_IN },
            "at random, but one in so many calls of a drawn kind or process is delayed hard; `:one_in=8`",
        ),
        (
            StrategyPlan::Skips { at: SkipPoints::NONE },
            "each task as long as it can, and whoever's turn it is is skipped at some choices; `:at=3+17`, what `explore` enumerates",
        ),
    ];

    /// The word for: each seed picks one. It is no strategy of a run, so no plan has it.
    pub const PORTFOLIO: &'static str = "portfolio";

    /// The name that options use, without parameters.
    pub const fn name(self) -> &'static str {
        match self {
            StrategyPlan::Timed => "timed",
            StrategyPlan::Random => "random",
            StrategyPlan::RoundRobin => "round-robin",
            StrategyPlan::Pct { .. } => "pct",
            StrategyPlan::Pos => "pos",
            StrategyPlan::Urw => "urw",
            StrategyPlan::Surw => "surw",
            StrategyPlan::SwarmDelay { .. } => "swarm-delay",
            StrategyPlan::Skips { .. } => "skips",
        }
    }

    /// The strategy that a seed picks when nobody asks for one: the portfolio. `steps` is about how many steps the run will have.
    pub fn drawn(seed: Seed, steps: u64) -> StrategyPlan {
        let mut stream = seed.stream("strategy");
        match stream.weighted(&PORTFOLIO_WEIGHTS) {
            0 => StrategyPlan::Timed,
            1 => StrategyPlan::Random,
            2 => StrategyPlan::Pct { depth: stream.between(2, 4) as u32, steps: steps.max(1) },
            3 => StrategyPlan::Pos,
            _ => StrategyPlan::SwarmDelay { one_in: ONE_IN },
        }
    }

    /// Whether it must know how many steps each task takes before it begins.
    pub(crate) const fn needs_counts(self) -> bool {
        matches!(self, StrategyPlan::Pct { steps: 0, .. } | StrategyPlan::Urw | StrategyPlan::Surw)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let within = |least: u64, greatest: u64| value.parse().ok().filter(|value| (least..=greatest).contains(value));
        match (self, key) {
            (StrategyPlan::Pct { depth, .. }, "depth") => *depth = within(1, 16).ok_or(PCT)? as u32,
            (StrategyPlan::Pct { steps, .. }, "steps") => *steps = within(1, u64::MAX).ok_or(PCT)?,
            (StrategyPlan::Pct { .. }, _) => return Err(PCT),
            (StrategyPlan::SwarmDelay { one_in }, "one_in") => *one_in = within(1, 1_000).ok_or(SWARM)? as u32,
            (StrategyPlan::SwarmDelay { .. }, _) => return Err(SWARM),
            (StrategyPlan::Skips { at }, "at") => *at = value.parse().map_err(|_| SKIPS)?,
            (StrategyPlan::Skips { .. }, _) => return Err(SKIPS),
            _ => return Err("no parameters"),
        }
        Ok(())
    }
}

/// Timed, random, pct, pos, swarm-delay: as they did on planted bugs, on seeds from 100,000 on (docs/detection.md). The last one is the best at SQLite's own.
const PORTFOLIO_WEIGHTS: [u64; 5] = [2, 1, 1, 4, 3];

const PCT: &str = "depth=N from 1 to 16, steps=N from 1";
const SWARM: &str = "one_in=N from 1 to 1000";
const SKIPS: &str = "at=N+N… of one to four choices from 1, in rising order";

impl FromStr for StrategyPlan {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<StrategyPlan, StrategyError> {
        let (name, parameters) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let known = StrategyPlan::ALL.iter().map(|(strategy, _)| *strategy).find(|strategy| strategy.name() == name);
        let mut strategy = known.ok_or_else(|| StrategyError::Unknown(name.to_owned()))?;
        for parameter in parameters.into_iter().flat_map(|all| all.split(',')) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            strategy.set(key.trim(), value.trim()).map_err(|allowed| StrategyError::Parameter {
                strategy: strategy.name(),
                parameter: parameter.to_owned(),
                allowed,
            })?;
        }
        Ok(strategy)
    }
}

impl fmt::Display for StrategyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            StrategyPlan::Pct { depth, steps: 0 } => write!(f, ":depth={depth}"),
            StrategyPlan::Pct { depth, steps } => write!(f, ":depth={depth},steps={steps}"),
            StrategyPlan::SwarmDelay { one_in } => write!(f, ":one_in={one_in}"),
            StrategyPlan::Skips { at } if *at != SkipPoints::NONE => write!(f, ":at={at}"),
            _ => Ok(()),
        }
    }
}

impl From<StrategyPlan> for String {
    fn from(strategy: StrategyPlan) -> String {
        strategy.to_string()
    }
}

impl TryFrom<String> for StrategyPlan {
    type Error = String;

    fn try_from(text: String) -> Result<StrategyPlan, String> {
        text.parse().map_err(|error: StrategyError| match error {
            StrategyError::Unknown(_) => {
                let names: Vec<String> =
                    StrategyPlan::ALL.iter().map(|(strategy, _)| format!("`{}`", strategy.name())).collect();
                format!("{error}; allowed: {}", names.join(", "))
            }
            StrategyError::Parameter { .. } => error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let texts = [
            "timed",
            "random",
            "round-robin",
            "pct:depth=2,steps=900",
            "pos",
            "urw",
            "surw",
            "swarm-delay:one_in=3",
            "skips",
            "skips:at=3+17+17",
        ];
        for text in texts {
            let strategy: StrategyPlan = text.parse().expect(text);
            assert_eq!(strategy.to_string(), text);
        }
        assert_eq!("pct".parse(), Ok(StrategyPlan::Pct { depth: 3, steps: 0 }));
        assert_eq!("pct:steps=7".parse(), Ok(StrategyPlan::Pct { depth: 3, steps: 7 }));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (text, message) in [
            ("tmed", "unknown strategy `tmed`"),
            ("pct:depth=0", "strategy `pct`: `depth=0` is not possible; allowed: depth=N from 1 to 16, steps=N from 1"),
            ("pos:depth=2", "strategy `pos`: `depth=2` is not possible; allowed: no parameters"),
            (
                "skips:at=17+3",
                "strategy `skips`: `at=17+3` is not possible; allowed: at=N+N… of one to four choices from 1, in rising order",
            ),
            ("swarm-delay:often", "strategy `swarm-delay`: `often` is not possible; allowed: one_in=N from 1 to 1000"),
        ] {
            assert_eq!(text.parse::<StrategyPlan>().expect_err(text).to_string(), message);
        }
    }

    #[test]
    fn the_portfolio_has_every_strategy_that_needs_no_first_run() {
        let drawn: std::collections::BTreeSet<&str> =
            (0..200).map(|seed| StrategyPlan::drawn(Seed(seed), 1000).name()).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), ["pct", "pos", "random", "swarm-delay", "timed"]);
        assert!((0..200).all(|seed| !StrategyPlan::drawn(Seed(seed), 1000).needs_counts()));
    }
}
