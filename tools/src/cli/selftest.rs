//! The arguments of `selftest`. Which mutants and strategies their lists name is `selftest::choice`'s business.

use super::sweep::{SEED_TIMEOUT, positive_duration};
use super::{CheckArguments, DrawArguments, WatchArguments};
use crate::duration;
use crate::seeds::{self, Seeds};
use clap::Args;

/// Plant each known bug, run seeds, and say how soon it is found, and by which invariant.
///
/// A seed detects a planted bug when the first violation of its run is of the invariant that `list mutants` names. Ends with exit code 1 if no
/// strategy detects one of them, if another invariant fires first, if a seed that fails with the bug fails without it too, or if the bug changes
/// the plan of a seed.
#[derive(Debug, Args)]
pub(crate) struct SelftestArguments {
    /// Which planted bugs: `all`, or names with commas between them (see `list mutants`).
    #[arg(long, value_name = "all|A,B", default_value = "all")]
    pub(crate) mutants: String,

    /// Under which strategies: `all`, or names with commas between them (see `list strategies`).
    #[arg(long, value_name = "all|A,B", default_value = "portfolio")]
    pub(crate) strategies: String,

    /// Which seeds for each planted bug and strategy, A..B without B. N alone is 0..N, so many seeds; `sweep` takes it for one seed.
    #[arg(long, value_name = "N|A..B", default_value = "500", value_parser = seeds::parse_range_or_count)]
    pub(crate) seeds: Seeds,

    /// Go on to the next after so many failing seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stop_after: Option<u64>,

    /// How many worker processes; without this, one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// How much real time a seed may take before its worker is ended.
    #[arg(long, value_name = "5m", default_value = SEED_TIMEOUT, value_parser = positive_duration)]
    pub(crate) seed_timeout: u64,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// Print one JSON line for each planted bug and strategy, and a last one with the summary.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,

    /// Print the table in Markdown, and what is wrong on stderr.
    #[arg(long)]
    pub(crate) markdown: bool,

    /// Print also which planted bugs show under which fingerprints (the JSON always has it).
    #[arg(long)]
    pub(crate) confusion: bool,

    /// What is checked.
    #[command(flatten)]
    pub(crate) check: CheckArguments,

    /// How many agents.
    #[arg(long, value_name = "N", value_parser = super::draw::some_workers, allow_negative_numbers = true, help_heading = "How plans are drawn")]
    pub(crate) workers: Option<u32>,

    /// Which faults: `default`, `none`, kinds with commas between them, or a TOML file.
    #[arg(long, value_name = "default|none|LIST|FILE.toml", help_heading = "How plans are drawn")]
    pub(crate) faults: Option<String>,

    /// A setting of the scenario's own; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "How plans are drawn")]
    pub(crate) set: Vec<String>,
}

impl SelftestArguments {
    /// The words of a command line that does the same with other planted bugs, strategies and seeds.
    pub(crate) fn words(&self, mutants: &str, strategies: &str, seeds: Seeds) -> Vec<String> {
        let seeds = seeds.to_string();
        let mut words: Vec<String> =
            ["selftest", "--mutants", mutants, "--strategies", strategies, "--seeds", &seeds].map(str::to_owned).into();
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(count) = self.stop_after {
            add("--stop-after", count.to_string());
        }
        if let Some(jobs) = self.jobs {
            add("--jobs", jobs.to_string());
        }
        if duration::parse(SEED_TIMEOUT) != Ok(self.seed_timeout) {
            add("--seed-timeout", duration::exact(self.seed_timeout));
        }
        words.extend([self.watch.words(), self.draw(None, None).words(), self.check.words()].concat());
        let forms = [("--json", self.json), ("--markdown", self.markdown), ("--confusion", self.confusion)];
        words.extend(forms.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| name.to_owned()));
        words
    }

    /// How plans are drawn, under a strategy and with a planted bug if they are given. Its words are those that `run` takes.
    pub(crate) fn draw(&self, strategy: Option<&str>, mutant: Option<&str>) -> DrawArguments {
        let mutant = mutant.map(|name| format!("{}={name}", seedstorm_sim::plan::MUTANT));
        DrawArguments {
            workers: self.workers,
            faults: self.faults.clone(),
            strategy: strategy.map(str::to_owned),
            set: self.set.iter().cloned().chain(mutant).collect(),
            ..DrawArguments::default()
        }
    }
}
