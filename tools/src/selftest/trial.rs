//! One planted bug under one strategy: its seeds are run by the sweep's coordinator, and what they show is collected here. What it proves is judged in
//! `verdict`, how it is told in `table` and `lines`.

use super::choice::Planted;
use super::statistics::Lengths;
use crate::budget::Judge;
use crate::catalogue::Catalogue;
use crate::cli::{SelftestArguments, Share as Portion};
use crate::exit::{Problem, Result};
use crate::fault_options;
use crate::interrupt;
use crate::refused;
use crate::report::{Coverage, RunEvent, RunResult, Sink};
use crate::shard::Shard;
use crate::sweep::{self, SeedSet, Sweep};
use seedstorm_sim::explore::Share;
use seedstorm_sim::plan::MUTANT;
use seedstorm_sim::{Options, Seed};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;

/// Of the failing seeds of a trial so many, the first, are run again without the bug.
pub(crate) const AGAIN_MAX: usize = 20;

/// A violation that should not have been the first.
#[derive(Clone, Debug)]
pub(crate) struct Stray {
    /// The seed.
    pub(crate) seed: u64,
    /// The invariant that fired.
    pub(crate) invariant: String,
    /// What it said.
    pub(crate) message: String,
}

/// How often a strategy that seeds picked was run, and how often it detected the bug.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Picked {
    /// Runs.
    pub(crate) runs: u64,
    /// Detections among them.
    pub(crate) detected: u64,
}

/// What the seeds of one planted bug under one strategy came to.
pub(crate) struct Trial {
    /// The bug.
    pub(crate) planted: Planted,
    /// The strategy, as `--strategy` takes it.
    pub(crate) strategy: String,
    /// How many seeds were run.
    pub(crate) runs: u64,
    /// Steps of all runs.
    pub(crate) steps: u64,
    /// Seeds whose first violation was of an invariant that rightly catches the bug.
    pub(crate) detected: Vec<u64>,
    /// Seeds whose first violation was of another.
    pub(crate) wrong: Vec<Stray>,
    /// How often each invariant was the first to fire.
    pub(crate) fired: BTreeMap<String, u64>,
    /// How many failures had each fingerprint.
    pub(crate) fingerprints: BTreeMap<String, u64>,
    /// Run lengths in seeds.
    pub(crate) seed_lengths: Lengths,
    /// Run lengths in steps.
    pub(crate) step_lengths: Lengths,
    /// By the strategy that each seed picked.
    pub(crate) picked: BTreeMap<String, Picked>,
    /// What must happen sometimes.
    pub(crate) coverage: BTreeMap<String, Coverage>,
    /// Seeds whose plan is not equal with and without the bug, but for the setting that names it.
    pub(crate) plans_differ: Vec<u64>,
    /// How many seeds that failed were run again without the bug.
    pub(crate) again: u64,
    /// Those that failed without it, too.
    pub(crate) unclean: Vec<Stray>,
    /// How many of its seeds were run without a gap, from the first one on.
    pub(crate) told: u64,
    /// Whether it came to its end, and wasn't interrupted.
    pub(crate) is_whole: bool,
}

impl Trial {
    fn new(planted: Planted, strategy: &str) -> Trial {
        let coverage = planted.scenario.coverage().iter().map(|name| ((*name).to_owned(), Coverage::default()));
        Trial {
            planted,
            strategy: strategy.to_owned(),
            runs: 0,
            steps: 0,
            detected: Vec::new(),
            wrong: Vec::new(),
            fired: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            seed_lengths: Lengths::default(),
            step_lengths: Lengths::default(),
            picked: BTreeMap::new(),
            coverage: coverage.collect(),
            plans_differ: Vec::new(),
            again: 0,
            unclean: Vec::new(),
            told: 0,
            is_whole: false,
        }
    }

    /// How many of the seeds detected the bug.
    pub(crate) fn share(&self) -> Share {
        Share { count: self.detected.len() as u64, of: self.runs }
    }

    /// How many of the failures have the most frequent fingerprint.
    pub(crate) fn one_fingerprint(&self) -> Share {
        let most = self.fingerprints.values().max().copied().unwrap_or(0);
        Share { count: most, of: self.fingerprints.values().sum() }
    }

    /// Its fingerprints, the most frequent first.
    pub(crate) fn by_frequency(&self) -> Vec<(&str, u64)> {
        let mut all: Vec<(&str, u64)> = self.fingerprints.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }

    fn add(&mut self, result: &RunResult) {
        self.runs += 1;
        self.steps += result.steps;
        for (name, count) in &result.coverage {
            self.coverage.entry(name.clone()).or_default().add(*count);
        }
        let first = result.violations.first();
        let is_detection = first.is_some_and(|first| self.planted.info.is_caught_by(&first.invariant));
        self.seed_lengths.add(1, is_detection);
        self.step_lengths.add(result.steps, is_detection);
        let picked = self.picked.entry(result.strategy.clone()).or_default();
        picked.runs += 1;
        picked.detected += u64::from(is_detection);
        let Some(first) = first else {
            return;
        };
        *self.fired.entry(first.invariant.clone()).or_default() += 1;
        *self.fingerprints.entry(first.fingerprint.clone()).or_default() += 1;
        if is_detection {
            self.detected.push(result.seed);
        } else {
            self.wrong.push(stray(result));
        }
    }

    /// The first seeds that failed, in order.
    fn failing(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> =
            self.detected.iter().copied().chain(self.wrong.iter().map(|stray| stray.seed)).collect();
        seeds.sort_unstable();
        seeds.truncate(AGAIN_MAX);
        seeds
    }
}

/// The first violation of a run that failed.
fn stray(result: &RunResult) -> Stray {
    let (invariant, message) = result.violations.first().map_or(("", ""), |first| (&first.invariant, &first.message));
    let message = message.lines().next().unwrap_or_default();
    Stray { seed: result.seed, invariant: invariant.to_owned(), message: message.to_owned() }
}

/// Takes each run of a sweep.
struct Each<F>(F);

impl<F: FnMut(&RunResult)> Sink for Each<F> {
    fn event(&mut self, event: &RunEvent<'_>) -> io::Result<()> {
        if let RunEvent::SweepSeed(result) = event {
            self.0(result);
        }
        Ok(())
    }
}

/// Seeds that have been run without a planted bug, by scenario and strategy: whether they failed. Several bugs fail the same seeds.
pub(crate) type Without = BTreeMap<(&'static str, String), BTreeMap<u64, Option<Stray>>>;

/// What trials have in common.
pub(crate) struct Bench<'a> {
    /// The program's scenarios.
    pub(crate) catalogue: Catalogue,
    /// What the command line says.
    pub(crate) arguments: &'a SelftestArguments,
    /// Raised by Ctrl-C.
    pub(crate) interrupt: &'a AtomicBool,
    /// What is known of seeds without a planted bug.
    pub(crate) without: Without,
}

impl Bench<'_> {
    /// Refuses what can't be drawn, before anything runs.
    ///
    /// # Errors
    /// Options that the scenario doesn't take.
    pub(crate) fn check(&self, planted: Planted, strategy: &str) -> Result<()> {
        let options = self.arguments.draw(Some(strategy), Some(planted.info.name)).options()?;
        let faults_file = self.arguments.faults.as_deref().and_then(fault_options::path);
        refused::draw(planted.scenario, Seed(self.arguments.seeds.first), &options, faults_file).map(drop)
    }

    /// Runs a planted bug under a strategy; then compares the plans, and runs failing seeds without it.
    ///
    /// # Errors
    /// A plan that can't be drawn or run; workers that can't be started.
    pub(crate) fn run(&mut self, planted: Planted, strategy: &str, label: &str) -> Result<Trial> {
        let with = self.arguments.draw(Some(strategy), Some(planted.info.name)).options()?;
        let without = self.arguments.draw(Some(strategy), None).options()?;
        let mut trial = Trial::new(planted, strategy);
        let mut run = Vec::new();
        let mut sink = Each(|result: &RunResult| {
            trial.add(result);
            run.push(result.seed);
        });
        let stop_after = self.arguments.stop_after;
        let job =
            self.job(planted, SeedSet::Shard(self.arguments.seeds, Shard::WHOLE), with.clone(), stop_after, label);
        let swept = sweep::carry_out(&job, Judge::default(), &mut sink, self.interrupt)?;
        trial.told = swept.told;
        for seed in run {
            if !plans_agree(planted, seed, &with, &without)? {
                trial.plans_differ.push(seed);
            }
        }
        trial.is_whole = !swept.interrupted && self.run_without(&mut trial, &without, label)?;
        Ok(trial)
    }

    /// Runs seeds that failed without the bug. False when it was interrupted.
    fn run_without(&mut self, trial: &mut Trial, options: &Options, label: &str) -> Result<bool> {
        let failing = trial.failing();
        let key = (trial.planted.scenario.name(), trial.strategy.clone());
        let known = self.without.entry(key.clone()).or_default();
        let unknown: Vec<u64> = failing.iter().copied().filter(|seed| !known.contains_key(seed)).collect();
        let mut found = Vec::new();
        let mut sink = Each(|result: &RunResult| found.push((result.seed, (!result.passed()).then(|| stray(result)))));
        let label = format!("{label}without it  ");
        let job = self.job(trial.planted, SeedSet::These(unknown), options.clone(), None, &label);
        let swept = sweep::carry_out(&job, Judge::default(), &mut sink, self.interrupt)?;
        let known = self.without.entry(key).or_default();
        known.extend(found);
        let again = failing.iter().filter_map(|seed| known.get(seed));
        trial.again = again.clone().count() as u64;
        trial.unclean = again.flatten().cloned().collect();
        Ok(!swept.interrupted)
    }

    fn job(&self, planted: Planted, seeds: SeedSet, options: Options, stop: Option<u64>, label: &str) -> Sweep {
        let runs = seeds.count();
        Sweep {
            catalogue: self.catalogue,
            scenarios: vec![planted.scenario],
            seeds,
            options,
            runs,
            jobs: sweep::jobs(self.arguments.jobs, runs),
            crash_points: self.arguments.check.crash_points(),
            failures_max: stop,
            determinism: Portion::NONE,
            seed_timeout_ns: self.arguments.seed_timeout,
            artifacts: None,
            label: label.to_owned(),
        }
    }
}

fn plan(planted: Planted, seed: u64, options: &Options) -> Result<seedstorm_sim::Plan> {
    interrupt::draw(planted.scenario, Seed(seed), options)?.map_err(|error| Problem::usage(error.to_string()))
}

/// Whether the plan of a seed is the same with the bug and without, but for the setting that names it.
fn plans_agree(planted: Planted, seed: u64, with: &Options, without: &Options) -> Result<bool> {
    let mut with = plan(planted, seed, with)?;
    with.settings.remove(MUTANT);
    Ok(with == plan(planted, seed, without)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::plan::OptionsError;
    use seedstorm_sim::plan::PlantedBug;
    use seedstorm_sim::{Plan, Scenario, World};

    /// Draws more steps where a bug is planted, if it is told to.
    struct Draws {
        differs: bool,
    }

    impl Scenario for Draws {
        fn name(&self) -> &'static str {
            "draws"
        }

        fn about(&self) -> &'static str {
            "draws a plan"
        }

        fn plan(&self, seed: Seed, options: &Options) -> std::result::Result<Plan, OptionsError> {
            let mut plan = Plan::plain("draws", seed);
            if let Some(name) = options.set.get(MUTANT) {
                plan.settings.insert(MUTANT.to_owned(), toml::Value::String(name.clone()));
                plan.steps_max += u64::from(self.differs && seed.0 == 7);
            }
            Ok(plan)
        }

        fn populate(&self, _plan: &Plan, _world: &mut World) {}

        fn coverage(&self) -> &'static [&'static str] {
            &[]
        }

        fn invariants(&self) -> &'static [(&'static str, &'static str)] {
            &[]
        }
    }

    #[test]
    fn a_plan_that_the_bug_changes_is_told_apart() {
        let info = PlantedBug::new("a-bug", "something is wrong", "an-invariant");
        let with = Options { set: [(MUTANT.to_owned(), info.name.to_owned())].into(), ..Options::default() };
        let agree =
            |scenario, seed| plans_agree(Planted { info, scenario }, seed, &with, &Options::default()).expect("plans");
        assert!(agree(&Draws { differs: false }, 7), "the setting alone is no difference");
        assert!(agree(&Draws { differs: true }, 6));
        assert!(!agree(&Draws { differs: true }, 7));
    }
}
