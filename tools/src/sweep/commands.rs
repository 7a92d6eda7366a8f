//! The commands that a sweep, or a merge of several, prints for what went wrong: each can be pasted as it is.

use super::asked::Asked;
use crate::catalogue::Catalogue;
use crate::cli::{CheckArguments, words_to_show};
use crate::exit::Exit;
use crate::report::{Difference, FingerprintGroup, Longest, SweepSummary};
use crate::run::replay_command;
use crate::seeds::Seeds;
use crate::shard::Shard;
use crate::shell;
use std::path::Path;

/// How many seeds are run before one that was not deterministic, to show it again.
const SEEDS_BEFORE: u64 = 20;

/// Writes commands for runs of one sweep.
#[derive(Clone)]
pub(crate) struct Commands {
    /// The program's scenarios.
    pub(crate) catalogue: Catalogue,
    /// What was asked for.
    pub(crate) asked: Asked,
    /// Of the whole sweep, the shard that was run here.
    pub(crate) shard: Option<Shard>,
    /// The words of the sweep that was asked for here; a merge has none.
    pub(crate) again: Vec<String>,
    /// Those that say where failures are kept.
    pub(crate) artifacts: Vec<String>,
    /// How long a step could take, in nanoseconds of real time: no longer than a seed.
    pub(crate) step_timeout_ns: u64,
}

impl Commands {
    /// The command that shows the first thing that went wrong.
    pub(crate) fn first(&self, summary: &SweepSummary, exit: Exit) -> Option<String> {
        match exit {
            Exit::Pass | Exit::Usage | Exit::Internal | Exit::Interrupted | Exit::Unclear | Exit::Broken => None,
            Exit::Nondeterministic => Some(self.of_difference(summary.differences.first()?)),
            Exit::Violated => self.of_group(summary.fingerprints.first()?),
            Exit::OverBudget => {
                let missed = summary.budgets.iter().find(|budget| budget.is_met == Some(false))?;
                Some(self.of_longest(missed.longest.as_ref()?))
            }
            Exit::Vacuous if !summary.missing.is_empty() => {
                summary.missing.iter().find_map(|missing| missing.command.clone())
            }
            Exit::Vacuous => Some(self.all()),
        }
    }

    /// Sweeps all of it again.
    pub(crate) fn all(&self) -> String {
        if !self.again.is_empty() {
            // With its budgets: all of it may have to do with what was not seen or not judged.
            return self.pasted(&self.again);
        }
        let nothing = Seeds { first: 0, count: 0 };
        let seeds = self.asked.seeds.iter().copied().reduce(|first, last| {
            // From the first seed to the last: of several ranges there is no shorter form.
            Seeds { first: first.first, count: (last.first - first.first).saturating_add(last.count) }
        });
        self.sweep(&self.asked.scenarios, seeds.unwrap_or(nothing), self.shard, &[])
    }

    /// Runs a seed twice that was not deterministic.
    pub(crate) fn of_difference(&self, difference: &Difference) -> String {
        let seeds = self.asked.seeds.iter().find(|seeds| seeds.has(difference.seed));
        let begin = seeds.map_or(difference.seed, |seeds| seeds.first);
        // It may depend on the runs before it in its process: some of them come along, those of the same shard.
        let stride = difference.shard.map_or(1, Shard::count);
        let before = SEEDS_BEFORE.min((difference.seed - begin) / stride) * stride;
        let seeds = format!("{}..={}", difference.seed - before, difference.seed);
        let mut words = ["sweep", "--scenarios", &difference.scenario, "--seeds", &seeds].map(str::to_owned).to_vec();
        if let Some(shard) = Shard::new(1, stride).filter(|_| stride > 1) {
            words.extend(["--shard".to_owned(), shard.to_string()]);
        }
        words.extend(["--jobs", "1", "--determinism", "100%"].map(str::to_owned));
        self.line(words, &[&difference.scenario])
    }

    /// Replays the first failure of a group: what was kept of it, where that is here, or else its seed.
    pub(crate) fn of_group(&self, group: &FingerprintGroup) -> Option<String> {
        if let Some(path) = group.reproducers.first().map(Path::new).filter(|path| path.exists()) {
            let program = self.catalogue.program();
            return Some(replay_command(program, path, &group.fingerprint, self.step_timeout_ns));
        }
        let watch = words_to_show(&group.fingerprint, self.step_timeout_ns);
        let (scenario, seed) = (group.scenarios.first()?, group.seeds.first()?.to_string());
        let words = ["replay", "--scenario", scenario, "--seed", &seed].map(str::to_owned);
        Some(self.line([&words[..], &watch].concat(), &[scenario]))
    }

    /// Runs the seed in which a latency is longest.
    pub(crate) fn of_longest(&self, longest: &Longest) -> String {
        let words = ["run", "--scenarios", &longest.scenario, "--seed", &longest.seed.to_string()].map(str::to_owned);
        self.line(words.to_vec(), &[&longest.scenario])
    }

    /// Sweeps.
    pub(crate) fn sweep(&self, scenarios: &[String], seeds: Seeds, shard: Option<Shard>, more: &[&str]) -> String {
        let all = self.catalogue.all();
        let is_all = all.len() == scenarios.len() && all.iter().zip(scenarios).all(|(one, name)| one.name() == name);
        let names = if is_all { "all".to_owned() } else { scenarios.join(",") };
        let mut words = ["sweep", "--scenarios", &names, "--seeds", &seeds.to_string()].map(str::to_owned).to_vec();
        if let Some(shard) = shard {
            words.extend(["--shard".to_owned(), shard.to_string()]);
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        self.line(words, &scenarios.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A command for some scenarios, with what was asked about plans and checks.
    fn line(&self, mut words: Vec<String>, scenarios: &[&str]) -> String {
        let Asked { draw, crash_points, .. } = &self.asked;
        words.extend(match scenarios {
            [name] => self.catalogue.named(name).map_or_else(|_| draw.words(), |scenario| draw.words_for(scenario)),
            _ => draw.words(),
        });
        if *crash_points != CheckArguments::default().crash_points() {
            words.extend(["--crash-points".to_owned(), crash_points.to_string()]);
        }
        words.extend_from_slice(&self.artifacts);
        self.pasted(&words)
    }

    /// This program with these words, as a line to paste.
    pub(crate) fn pasted(&self, words: &[String]) -> String {
        shell::line([self.catalogue.program()].into_iter().chain(words.iter().map(String::as_str)))
    }
}
