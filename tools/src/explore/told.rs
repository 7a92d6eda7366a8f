//! What `explore` tells: a row for each number of skips, then the verdict; or one JSON object.

use crate::catalogue::Known;
use crate::report::{RunResult, SCHEMA_VERSION, Screen, counted, grouped};
use crate::sweep::Pool;
use comfy_table::CellAlignment;
use seedstorm_sim::Plan;
use seedstorm_sim::explore::{Explored, Failing, Level};
use seedstorm_sim::plan::StrategyPlan;
use serde_json::json;

/// What there is to tell.
pub(super) struct Told<'a> {
    pub(super) scenario: Known,
    pub(super) plan: &'a Plan,
    pub(super) explored: &'a Explored,
    pub(super) skips_max: u32,
    pub(super) pool: &'a Pool,
}

impl Told<'_> {
    /// A row for each number of skips.
    fn table(&self) -> String {
        let mut table = Screen::of_stdout().table();
        table.set_header(["skips", "schedules", "run", "like none before", "choices at most"]);
        for level in &self.explored.levels {
            let Level { skips, schedules, runs, distinct, choices_max, unexplored: _ } = *level;
            table.add_row([u64::from(skips), schedules, runs, distinct, choices_max].map(grouped));
        }
        table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        table.to_string()
    }

    fn runs(&self) -> u64 {
        self.explored.levels.iter().map(|level| level.runs).sum()
    }

    /// The table, and how many runs there were in how much time.
    fn work(&self) -> String {
        let (runs, seconds) = (self.runs(), self.pool.elapsed_ns() as f64 / 1e9);
        let per_second = grouped((runs as f64 / seconds) as u64);
        let unexplored = match self.explored.levels.iter().map(|level| level.unexplored).sum() {
            0 => String::new(),
            some => {
                format!("not explored: the calm of {}, in which steps go in time order\n", counted(some, "run"))
            }
        };
        format!(
            "\n{}\n{} in {seconds:.1} s: {per_second} runs per second\n{unexplored}",
            self.table(),
            counted(runs, "run")
        )
    }

    /// That nothing failed, and of what that is known.
    pub(super) fn passed(&self, command: Option<&str>) -> String {
        let of = format!("{} seed {}", self.scenario.name(), self.plan.seed.0);
        let verdict = match self.explored.levels.last() {
            Some(level) if self.explored.is_cut_off => {
                let why = if self.pool.is_interrupted() { "interrupted" } else { "the time is up" };
                let known = match level.skips.checked_sub(1) {
                    Some(skips) => format!("every schedule with at most {} passes", counted(u64::from(skips), "skip")),
                    None => "nothing is known".to_owned(),
                };
                let (runs, schedules) = (grouped(level.runs), grouped(level.schedules));
                format!(
                    "INCOMPLETE {of}: {why}: {known}, and {runs} of {schedules} with {} do",
                    counted(u64::from(level.skips), "skip")
                )
            }
            _ if !self.explored.has_choices() => {
                format!("NOTHING TO CHOOSE {of}: there is one schedule only, in which one task at a time could go")
            }
            _ => format!(
                "PASSED {of}: every schedule with at most {} passes",
                counted(u64::from(self.skips_max), "skip")
            ),
        };
        let command = command.map_or_else(String::new, |command| format!("\n{command}\n"));
        format!("{}{verdict}\n{command}", self.work())
    }

    /// Which schedule fails.
    pub(super) fn failing(&self, failing: &Failing) -> String {
        let StrategyPlan::Skips { at } = failing.plan.strategy else { unreachable!("this strategy was explored") };
        let which = match at.all() {
            [] => "the schedule without a skip fails".to_owned(),
            [one] => format!("a schedule with one skip fails: at choice {one}"),
            all => format!("a schedule with {} skips fails: at choices {at}", all.len()),
        };
        let lost = if failing.tried.is_none() { "; its worker was lost, so it is run once more here" } else { "" };
        format!("{}{which}{lost}\n", self.work())
    }

    /// One JSON object.
    pub(super) fn json(&self, failing: Option<&RunResult>, command: Option<&str>) -> String {
        let object = json!({
            "schema_version": SCHEMA_VERSION,
            "scenario": self.scenario.name(),
            "seed": self.plan.seed.0,
            "skips_max": self.skips_max,
            "is_complete": !self.explored.is_cut_off && failing.is_none(),
            "interrupted": self.pool.is_interrupted(),
            "levels": self.explored.levels,
            "runs": self.runs(),
            "wall_ns": self.pool.elapsed_ns(),
            "strategy": self.explored.failing.as_ref().map(|failing| failing.plan.strategy.to_string()),
            "failing": failing,
            "command": command,
        });
        format!("{object}\n")
    }
}
