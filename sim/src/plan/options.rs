//! What a person may say about how a plan is drawn. Reading it from a command line is the business of `tools`.

use super::{FaultKind, FaultPlan, MUTANT, Plan, PlantedBug, StrategyPlan};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// Options of a scenario. What is `None` is drawn from the seed or has the scenario's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// How many agents.
    pub workers: Option<u32>,
    /// How long the chaos lasts, in simulated nanoseconds.
    pub duration_ns: Option<u64>,
    /// Which faults may be drawn.
    pub faults: Faults,
    /// Who steps next.
    pub strategy: Option<StrategyPlan>,
    /// Which lock implementation.
    pub lock: Option<String>,
    /// Which back-off policy.
    pub backoff: Option<String>,
    /// The scenario's own settings, by key.
    pub set: BTreeMap<String, String>,
}

/// A setting that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// The option that asked for it, as messages name it.
    pub option: String,
    /// The setting.
    pub key: &'a str,
    /// What it shall be.
    pub value: &'a str,
    /// Whether it has an option of its own; else it came by `--set`.
    pub has_option: bool,
}

impl Options {
    /// The strategy of a seed's plan: the one that was asked for; without one the seed draws it, as the portfolio does. `steps` is how many a run takes, more or
    /// less, for strategies that must know it.
    pub fn strategy_of(&self, seed: Seed, steps: u64) -> StrategyPlan {
        self.strategy.unwrap_or_else(|| StrategyPlan::drawn(seed, steps))
    }

    /// Whether a plan has what was asked for: its strategy, and no other faults. What a scenario passes over would look as if it had been tried.
    ///
    /// # Errors
    /// The option that the scenario has passed over.
    pub fn check(&self, plan: &Plan) -> Result<(), OptionsError> {
        if let Some(strategy) = self.strategy.filter(|strategy| *strategy != plan.strategy) {
            let allowed = format!(
                "{}: the scenario passes over what was asked for (`Options::strategy_of` doesn't)",
                plan.strategy
            );
            return Err(OptionsError { option: "--strategy".into(), value: strategy.to_string(), allowed });
        }
        let is_other = |fault: &&FaultPlan| match &self.faults {
            Faults::Default => false,
            Faults::None => true,
            Faults::Kinds(kinds) => !kinds.contains(&fault.kind),
            Faults::Exactly(faults) => !faults.contains(fault),
        };
        match plan.faults.iter().find(is_other) {
            None => Ok(()),
            Some(fault) => Err(OptionsError {
                option: "--faults".into(),
                value: self.faults.to_string(),
                allowed: format!(
                    "{}: the scenario passes over what was asked for (`Faults::choose` doesn't)",
                    fault.kind.name()
                ),
            }),
        }
    }

    /// The settings that were asked for, those with options of their own first.
    pub fn given(&self) -> impl Iterator<Item = Given<'_>> {
        let named = [("lock", &self.lock), ("backoff", &self.backoff)].into_iter().filter_map(|(key, value)| {
            Some(Given { option: format!("--{key}"), key, value: value.as_deref()?, has_option: true })
        });
        let set =
            self.set.iter().map(|(key, value)| Given { option: format!("--set {key}"), key, value, has_option: false });
        named.chain(set)
    }

    /// The settings of a scenario that has none but these words, and these bugs to plant: each word as it was given, or the first that it may be. A bug is planted
    /// if one was asked for. A setting that doesn't exist is refused: an option that is passed over makes a run look better than it is.
    ///
    /// # Errors
    /// A setting that isn't one of these, or a word that it can't be.
    pub fn settings(
        &self,
        words: &[(&str, &[&str])],
        bugs: &[PlantedBug],
    ) -> Result<BTreeMap<String, toml::Value>, OptionsError> {
        let first = |(key, words): &(&str, &[&str])| Some(((*key).to_owned(), (*words.first()?).into()));
        let mut settings: BTreeMap<String, toml::Value> = words.iter().filter_map(first).collect();
        let bugs: Vec<&str> = bugs.iter().map(|bug| bug.name).collect();
        let planted = (!bugs.is_empty()).then_some((MUTANT, bugs.as_slice()));
        let all: Vec<(&str, &[&str])> = words.iter().copied().chain(planted).collect();
        let refuse = |option: String, value: &str, allowed: &[&str]| {
            let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            Err(OptionsError { option, value: value.to_owned(), allowed })
        };
        for Given { option, key, value, has_option } in self.given() {
            match all.iter().find(|(known, _)| *known == key) {
                Some((_, allowed)) if allowed.contains(&value) => drop(settings.insert(key.to_owned(), value.into())),
                Some((_, allowed)) => return refuse(option, value, allowed),
                None if has_option => return refuse(option, value, &[]),
                None => {
                    let keys: Vec<&str> = all.iter().map(|(key, _)| *key).collect();
                    return refuse("--set".to_owned(), key, &keys);
                }
            }
        }
        Ok(settings)
    }
}

/// Which faults a plan may hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// The scenario's own choice.
    #[default]
    Default,
    /// None.
    None,
    /// These kinds only.
    Kinds(Vec<FaultKind>),
    /// Exactly these.
    Exactly(Vec<FaultPlan>),
}

impl Faults {
    /// The faults of a plan, of those that a scenario has drawn: all, none, or those of the kinds that were asked for; or the ones that were given instead.
    pub fn choose(&self, mut drawn: Vec<FaultPlan>) -> Vec<FaultPlan> {
        match self {
            Faults::Default => drawn,
            Faults::None => Vec::new(),
            Faults::Kinds(kinds) => {
                drawn.retain(|fault| kinds.contains(&fault.kind));
                drawn
            }
            Faults::Exactly(given) => given.clone(),
        }
    }
}

impl fmt::Display for Faults {
    /// As `--faults` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Faults::Default => f.write_str("default"),
            Faults::None => f.write_str("none"),
            Faults::Kinds(kinds) => f.write_str(&kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",")),
            Faults::Exactly(_) => f.write_str("those of a file"),
        }
    }
}

/// An option that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option}: `{value}` is not possible; allowed: {allowed}")]
pub struct OptionsError {
    /// The option or key.
    pub option: String,
    /// The value that was given.
    pub value: String,
    /// What would have been possible.
    pub allowed: String,
}

#[cfg(test)]
mod tests {
    use super::super::Trigger;
    use super::*;

    fn fault(id: u32, kind: FaultKind) -> FaultPlan {
        FaultPlan::new(id, kind, None, Trigger::AtNs(u64::from(id)))
    }

    fn drawn() -> Vec<FaultPlan> {
        [FaultKind::Kill, FaultKind::Delay, FaultKind::Kill]
            .into_iter()
            .zip(1..)
            .map(|(kind, id)| fault(id, kind))
            .collect()
    }

    /// All that can be said about faults.
    fn wishes() -> Vec<Faults> {
        let given = vec![fault(9, FaultKind::Pause)];
        vec![
            Faults::Default,
            Faults::None,
            Faults::Kinds(vec![FaultKind::Kill]),
            Faults::Kinds(vec![FaultKind::MachineCrash]),
            Faults::Exactly(given),
        ]
    }

    #[test]
    fn faults_are_chosen_as_they_were_asked_for() {
        let ids = |faults: Faults| faults.choose(drawn()).iter().map(|fault| fault.id).collect::<Vec<_>>();
        assert_eq!(
            wishes().into_iter().map(ids).collect::<Vec<_>>(),
            [vec![1, 2, 3], vec![], vec![1, 3], vec![], vec![9]]
        );
    }

    #[test]
    fn whoever_chooses_has_passed_over_nothing_and_whoever_does_not_is_found_out() {
        for (faults, passed_over) in
            wishes().into_iter().zip([None, Some("kill"), Some("delay"), Some("kill"), Some("kill")])
        {
            let options = Options { faults: faults.clone(), ..Options::default() };
            let plan = |faults| Plan { faults, ..Plan::plain("some", Seed(1)) };
            assert_eq!(options.check(&plan(faults.choose(drawn()))), Ok(()));
            let error = options.check(&plan(drawn())).err();
            assert_eq!(
                error.as_ref().map(|error| error.option.as_str()),
                passed_over.map(|_| "--faults"),
                "{faults:?}"
            );
            if let (Some(error), Some(kind)) = (error, passed_over) {
                assert_eq!(error.value, faults.to_string());
                assert!(error.allowed.starts_with(kind) && error.allowed.contains("`Faults::choose`"), "{error}");
            }
        }
    }

    #[test]
    fn a_strategy_that_was_asked_for_is_not_passed_over() {
        let seed = Seed(1);
        for strategy in [None, Some(StrategyPlan::Timed), Some(StrategyPlan::Pos)] {
            let options = Options { strategy, ..Options::default() };
            let plan = |strategy| Plan { strategy, ..Plan::plain("some", seed) };
            assert_eq!(options.check(&plan(options.strategy_of(seed, 100))), Ok(()));
            let error = options.check(&plan(StrategyPlan::RoundRobin)).err();
            assert_eq!(
                error.map(|error| (error.option, error.value)),
                strategy.map(|strategy| ("--strategy".to_owned(), strategy.to_string()))
            );
        }
    }
}
