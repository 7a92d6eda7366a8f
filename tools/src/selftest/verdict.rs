//! What trials prove, all together: what is wrong, how the program ends, and the command that shows the first of it again.

use super::geometric_mean::geometric_mean;
use super::trial::{AGAIN_MAX, Stray, Trial};
use crate::cli::SelftestArguments;
use crate::exit::Exit;
use crate::report::{Coverage, counted};
use crate::shell;
use seedstorm_sim::explore::Share;
use seedstorm_sim::plan::StrategyPlan;
use std::collections::{BTreeMap, BTreeSet};

/// The least share of a bug's failures that have one fingerprint.
const ONE_FINGERPRINT_MIN: f64 = 0.95;

/// Something that should not be.
pub(crate) enum Finding<'a> {
    /// Another invariant than that of the catalogue was the first to fire.
    WrongInvariant(&'a Trial, &'a Stray),
    /// A seed that fails with the bug fails without it too.
    NotClean(&'a Trial, &'a Stray),
    /// A bug changes the plan of a seed.
    PlanDiffers(&'a Trial, u64),
    /// No strategy has detected a bug: its trials.
    Survived(Vec<&'a Trial>),
}

/// A strategy beside `random`: the same bugs, faults and draws.
pub(crate) struct Ratio {
    /// The strategy.
    pub(crate) strategy: String,
    /// Of median seeds to detection. A median can't be less than 1, so bugs that most seeds find are alike under every strategy.
    pub(crate) medians: Mean,
    /// Of seeds run to seeds that detect: the expected number of seeds to a detection, which has no such floor.
    pub(crate) rates: Mean,
}

/// The geometric mean of the ratios of bugs. Below 1 the strategy is sooner than `random`.
pub(crate) struct Mean {
    /// The mean; `None` if nothing could be compared.
    pub(crate) value: Option<f64>,
    /// Over so many bugs: those that have the figure under both.
    pub(crate) mutants: usize,
}

impl Mean {
    fn of(ratios: &[f64]) -> Mean {
        Mean { value: geometric_mean(ratios), mutants: ratios.len() }
    }
}

impl Ratio {
    /// Both means, each with its name, as lines of `tools/peers` have them.
    pub(crate) fn lines(&self) -> Vec<String> {
        let named = [("medians", &self.medians), ("rates", &self.rates)];
        let line = |(of, Mean { value, mutants }): (&str, &Mean)| {
            let name = match of {
                "medians" => format!("{}_vs_random_geomean", self.strategy),
                of => format!("{}_vs_random_{of}_geomean", self.strategy),
            };
            value.map(|value| format!("ratio {name} {value:.3} over {mutants} mutants"))
        };
        named.into_iter().filter_map(line).collect()
    }
}

/// All trials, judged.
pub(crate) struct Verdict<'a> {
    /// The trials, in their order.
    pub(crate) trials: &'a [Trial],
    /// What is wrong, the worst first.
    pub(crate) findings: Vec<Finding<'a>>,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
    /// How it ends.
    pub(crate) exit: Exit,
}

impl<'a> Verdict<'a> {
    /// Judges.
    pub(crate) fn of(trials: &'a [Trial], interrupted: bool) -> Verdict<'a> {
        let wrong = trials.iter().flat_map(|trial| trial.wrong.iter().map(move |s| Finding::WrongInvariant(trial, s)));
        let unclean = trials.iter().flat_map(|trial| trial.unclean.iter().map(move |s| Finding::NotClean(trial, s)));
        let plans =
            trials.iter().flat_map(|trial| trial.plans_differ.iter().map(move |s| Finding::PlanDiffers(trial, *s)));
        let runs: u64 = trials.iter().map(|trial| trial.runs).sum();
        let steps: u64 = trials.iter().map(|trial| trial.steps).sum();
        let mut findings: Vec<Finding<'_>> = plans.chain(unclean).chain(wrong).collect();
        if runs > 0 {
            findings.extend(by_mutant(trials).into_iter().filter(|trials| survived(trials)).map(Finding::Survived));
        }
        let exit = match () {
            () if !findings.is_empty() => Exit::Violated,
            () if interrupted => Exit::Interrupted,
            () if runs == 0 || steps == 0 => Exit::Vacuous,
            () => Exit::Pass,
        };
        Verdict { trials, findings, interrupted, exit }
    }

    /// Those that no strategy has detected.
    pub(crate) fn survivors(&self) -> Vec<&'static str> {
        let name = |finding: &Finding<'_>| match finding {
            Finding::Survived(trials) => trials.first().map(|trial| trial.planted.info.name),
            _ => None,
        };
        self.findings.iter().filter_map(name).collect()
    }

    /// How many bugs some strategy has detected.
    pub(crate) fn detected(&self) -> usize {
        by_mutant(self.trials).iter().filter(|trials| trials.iter().any(|trial| !trial.detected.is_empty())).count()
    }

    /// How many bugs there were.
    pub(crate) fn mutants(&self) -> usize {
        by_mutant(self.trials).len()
    }

    /// Trials whose failures have too many fingerprints.
    pub(crate) fn scattered(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .filter(|trial| trial.one_fingerprint().known().is_some_and(|share| share.value() < ONE_FINGERPRINT_MIN))
    }

    /// By fingerprint: how many failures of each bug had it.
    pub(crate) fn confusion(&self) -> BTreeMap<&'a str, BTreeMap<&'static str, u64>> {
        let mut confusion: BTreeMap<&str, BTreeMap<&'static str, u64>> = BTreeMap::new();
        for trial in self.trials {
            for (fingerprint, count) in &trial.fingerprints {
                *confusion.entry(fingerprint).or_default().entry(trial.planted.info.name).or_default() += count;
            }
        }
        confusion
    }

    /// By scenario and name: what must happen sometimes, in all trials.
    pub(crate) fn coverage(&self) -> BTreeMap<&'static str, BTreeMap<&'a str, Coverage>> {
        let mut all: BTreeMap<&'static str, BTreeMap<&str, Coverage>> = BTreeMap::new();
        for trial in self.trials {
            let scenario = all.entry(trial.planted.scenario.name()).or_default();
            for (name, coverage) in &trial.coverage {
                let sum = scenario.entry(name).or_default();
                sum.total += coverage.total;
                sum.seeds += coverage.seeds;
            }
        }
        all
    }

    /// Each strategy beside `random`, if that was run.
    pub(crate) fn ratios(&self) -> Vec<Ratio> {
        let random = StrategyPlan::Random.name();
        if self.trials.iter().all(|trial| trial.strategy != random) {
            return Vec::new();
        }
        let strategies: BTreeSet<&str> = self.trials.iter().map(|trial| trial.strategy.as_str()).collect();
        let each = by_mutant(self.trials);
        let ratio = |strategy: &str| {
            let mean = |figure: fn(&Trial) -> Option<f64>| {
                let of = |trials: &[&Trial], strategy: &str| {
                    trials.iter().find(|trial| trial.strategy == strategy).and_then(|trial| figure(trial))
                };
                let ratios: Vec<f64> =
                    each.iter().filter_map(|trials| Some(of(trials, strategy)? / of(trials, random)?)).collect();
                Mean::of(&ratios)
            };
            let medians = mean(|trial| trial.seed_lengths.median().map(|median| median as f64));
            let rates = mean(|trial| {
                trial.share().known().map(Share::value).filter(|share| *share > 0.0).map(|share| 1.0 / share)
            });
            Ratio { strategy: strategy.to_owned(), medians, rates }
        };
        strategies.into_iter().filter(|strategy| *strategy != random).map(ratio).collect()
    }

    /// What has been checked beside the detections, in words.
    pub(crate) fn checked(&self) -> String {
        let sum = |count: fn(&Trial) -> u64| self.trials.iter().map(count).sum::<u64>();
        let (runs, again) = (sum(|trial| trial.runs), sum(|trial| trial.again));
        let dirty = sum(|trial| trial.unclean.len() as u64);
        let differ = sum(|trial| trial.plans_differ.len() as u64);
        let (plans, seeds) = (counted(runs, "plan"), counted(again, "failing seed"));
        format!(
            "{plans} compared with those drawn without the bug: {differ} differ in more than the setting that names it\n\
             {seeds} (at most the first {AGAIN_MAX} of each bug and strategy) judged without the bug: {dirty} fail"
        )
    }

    /// The command that shows the first finding again.
    pub(crate) fn reproduce(&self, program: &str, arguments: &SelftestArguments) -> Option<String> {
        self.findings.first().map(|finding| finding.command(program, arguments))
    }
}

/// Trials of one bug belong together: they come one after the other.
fn by_mutant(trials: &[Trial]) -> Vec<Vec<&Trial>> {
    let mut groups: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        match groups.last_mut() {
            Some(group) if group.iter().any(|other| other.planted.info.name == trial.planted.info.name) => {
                group.push(trial);
            }
            _ => groups.push(vec![trial]),
        }
    }
    groups
}

/// Whether a bug has shown under no strategy, and would have had the time.
fn survived(trials: &[&Trial]) -> bool {
    trials.iter().all(|trial| trial.is_whole && trial.detected.is_empty())
}

impl Finding<'_> {
    /// In words.
    pub(crate) fn words(&self) -> String {
        match self {
            Finding::WrongInvariant(trial, Stray { seed, invariant, message }) => {
                let (info, strategy) = (trial.planted.info, &trial.strategy);
                format!(
                    "wrong invariant first: {} seed {seed} ({strategy}): {invariant}, not {}: {message}",
                    info.name, info.invariant
                )
            }
            Finding::NotClean(trial, Stray { seed, invariant, message }) => {
                let strategy = &trial.strategy;
                let scenario = trial.planted.scenario.name();
                format!("fails without the bug too: {scenario} seed {seed} ({strategy}): {invariant}: {message}")
            }
            Finding::PlanDiffers(trial, seed) => {
                format!("the bug changes the plan: {} seed {seed} ({})", trial.planted.info.name, trial.strategy)
            }
            Finding::Survived(trials) => {
                let each: Vec<String> = trials
                    .iter()
                    .map(|trial| format!("{} under {}", counted(trial.runs, "seed"), trial.strategy))
                    .collect();
                let (name, scenario) =
                    trials.first().map_or(("", ""), |t| (t.planted.info.name, t.planted.scenario.name()));
                format!("survived: {name} ({scenario}): {}", each.join(", "))
            }
        }
    }

    fn command(&self, program: &str, arguments: &SelftestArguments) -> String {
        let run = |trial: &Trial, seed: u64, mutant: Option<&str>| {
            let mut line = vec!["run".to_owned(), "--scenarios".to_owned(), trial.planted.scenario.name().to_owned()];
            line.extend(["--seed".to_owned(), seed.to_string()]);
            // `run` must draw what the trial drew.
            line.extend(arguments.draw(Some(&trial.strategy), mutant).words_for(trial.planted.scenario));
            line.extend(arguments.check.words());
            line
        };
        let line = match self {
            Finding::WrongInvariant(trial, stray) => run(trial, stray.seed, Some(trial.planted.info.name)),
            Finding::NotClean(trial, stray) => run(trial, stray.seed, None),
            Finding::PlanDiffers(trial, seed) => {
                let mut line = run(trial, *seed, Some(trial.planted.info.name));
                line.push("--print-plan".to_owned());
                line
            }
            Finding::Survived(trials) => {
                let strategies: Vec<&str> = trials.iter().map(|trial| trial.strategy.as_str()).collect();
                let name = trials.first().map_or("", |trial| trial.planted.info.name);
                let line = ["selftest", "--mutants", name, "--strategies", &strategies.join(","), "--seeds"];
                let mut line: Vec<String> = line.map(str::to_owned).into();
                line.push(arguments.seeds.to_string());
                let draw = arguments.draw(None, None);
                line.extend(
                    trials.first().map_or_else(|| draw.words(), |trial| draw.words_for(trial.planted.scenario)),
                );
                line.extend(arguments.check.words());
                line
            }
        };
        shell::line([program].into_iter().chain(line.iter().map(String::as_str)))
    }
}
