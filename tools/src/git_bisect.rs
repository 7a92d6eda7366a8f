//! `replay --git-bisect`: whether a recorded failure is still there, told by the exit codes that `git bisect run` reads. The rule is `sim::explore::presence`'s;
//! which commits are asked is git's business, or `bisect::commits`'.

use crate::catalogue::Catalogue;
use crate::cli::ReplayArguments;
use crate::exit::{Exit, Problem, Result, unless_closed};
use crate::hang;
use crate::interrupt;
use crate::report::counted;
use crate::reproducer::{self, REPRODUCER_FORMAT, Replayable};
use crate::sweep::{Pool, jobs};
use seedstorm_sim::explore::presence::{Effort, Presence, Recorded, Verdict, presence};
use seedstorm_sim::explore::{Share, Stopped};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// How much real time one run may take, in nanoseconds.
const RUN_LIMIT_NS: u64 = 300_000_000_000;

/// How much real time a verdict may take, in nanoseconds. After that there is none.
const BUDGET_NS: u64 = 900_000_000_000;

/// What `git bisect run` understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Judged {
    /// 0: the violation is gone.
    Gone,
    /// 1: it is there.
    There,
    /// 125: this commit can't be judged.
    Unclear,
    /// 128: our own error; no other commit would do better.
    Broken,
}

impl Judged {
    /// How a program ends that says so.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Judged::Gone => Exit::Pass,
            Judged::There => Exit::Violated,
            Judged::Unclear => Exit::Unclear,
            Judged::Broken => Exit::Broken,
        }
    }
}

/// The words of the command line that ask for it.
const ASKED: &str = "--git-bisect";

/// How this process ends. Under `--git-bisect` whatever is no verdict must be 128: git takes 2 or 70 for a bad commit.
pub(crate) fn unless_no_verdict(exit: Exit) -> Exit {
    let is_asked = std::env::args_os().any(|word| word == ASKED);
    match exit {
        Exit::Pass | Exit::Violated | Exit::Unclear | Exit::Broken => exit,
        _ if is_asked => Exit::Broken,
        _ => exit,
    }
}

/// What is told, one JSON object or the words of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The verdict.
    pub(crate) verdict: Judged,
    /// Why it is that.
    pub(crate) why: String,
    /// Whether a run that follows all recorded turns fails alike.
    #[serde(default)]
    pub(crate) follows: bool,
    /// How many of the runs near it fail alike.
    #[serde(default)]
    pub(crate) nearby: Share,
    /// How many of the runs at random.
    #[serde(default)]
    pub(crate) random: Share,
    /// The first drift, in words.
    #[serde(default)]
    pub(crate) drift: Option<String>,
}

impl Report {
    pub(crate) fn of(verdict: Judged, why: impl Into<String>) -> Report {
        let none = Share::default();
        Report { verdict, why: why.into(), follows: false, nearby: none, random: none, drift: None }
    }
}

/// Judges, and says so. It always has an exit code, also for bad input.
///
/// # Errors
/// The output can't be written.
pub(crate) fn replay(catalogue: Catalogue, arguments: &ReplayArguments) -> Result<Exit> {
    let report = match judge(catalogue, arguments) {
        Ok(report) => report,
        Err(Problem::Usage(why)) => Report::of(Judged::Broken, why),
        Err(Problem::Internal(error)) => Report::of(Judged::Broken, format!("{error:#}")),
        Err(problem @ (Problem::Refused(_) | Problem::OutputClosed | Problem::Interrupted(_) | Problem::Hung(_))) => {
            Report::of(Judged::Broken, problem.to_string())
        }
    };
    let mut output = std::io::stdout();
    let told = output.write_all(in_words(&report, arguments.json)?.as_bytes()).and_then(|()| output.flush());
    // Git reads the exit code, whoever reads the words.
    told.or_else(unless_closed)?;
    Ok(report.verdict.exit())
}

fn in_words(report: &Report, json: bool) -> Result<String> {
    if json {
        let text = serde_json::to_string(report).map_err(anyhow::Error::new)?;
        return Ok(format!("{text}\n"));
    }
    let drift = report.drift.as_ref().map_or_else(String::new, |drift| format!("drift: {drift}\n"));
    let verdict = match report.verdict {
        Judged::Gone => "the violation is gone",
        Judged::There => "the violation is there",
        Judged::Unclear => "this can't be judged",
        Judged::Broken => "error",
    };
    Ok(format!("{drift}{verdict}: {}\n", report.why))
}

fn judge(catalogue: Catalogue, arguments: &ReplayArguments) -> Result<Report> {
    let Some(path) = &arguments.file else {
        return Err(Problem::usage("--git-bisect needs a reproducer: a seed does not tell which violation is meant"));
    };
    if let Some(format) = newer_format(path) {
        let why = format!(
            "format {format} of the reproducer is newer than {REPRODUCER_FORMAT}, the newest that this version reads"
        );
        return Ok(Report::of(Judged::Unclear, why));
    }
    let Replayable::Recorded(recorded, _) = reproducer::read(path)? else {
        return Err(Problem::usage(format!("{}: a plan does not tell which violation is meant", path.display())));
    };
    let Some(violation) = recorded.violation else {
        return Err(Problem::usage(format!("{}: no violation is recorded in it", path.display())));
    };
    let Some(turns) = recorded.turns else {
        let instead = if hang::is_hang(&violation.fingerprint) { "; what `shrink` makes of it has them" } else { "" };
        let (path, invariant) = (path.display(), &violation.invariant);
        return Err(Problem::usage(format!("{path}: {invariant} has left no turns to follow{instead}")));
    };
    hang::limit_search(&violation.fingerprint, arguments.watch.step_timeout);
    // Another commit may have had other scenarios, or plans of another form.
    let scenario = match catalogue.named(&recorded.plan.scenario) {
        Ok(scenario) => scenario,
        Err(_) => {
            let why = format!("there is no scenario `{}` here", recorded.plan.scenario);
            return Ok(Report::of(Judged::Unclear, why));
        }
    };
    if let Err(error) = scenario.check(&recorded.plan) {
        return Ok(Report::of(Judged::Unclear, format!("the plan can't be run here: {error}")));
    }
    let question = Recorded {
        fingerprint: violation.fingerprint,
        crash_points: arguments.check.crash_points.unwrap_or(recorded.checked.crash_points),
        without_invariants: recorded.checked.without_invariants,
        plan: recorded.plan,
        turns,
    };
    let mut pool = Pool::new(jobs(None, u64::MAX), RUN_LIMIT_NS, BUDGET_NS, interrupt::flag()?);
    let effort = Effort { counts_all: arguments.count_all, expected: arguments.expected };
    match presence(&question, &mut pool, effort) {
        Ok(found) => Ok(report(found)),
        Err(Stopped::Interrupted) if pool.is_interrupted() => Ok(Report::of(Judged::Broken, "interrupted")),
        Err(Stopped::Interrupted) => Ok(Report::of(Judged::Unclear, "it takes too long")),
        Err(Stopped::Broken(why)) => Ok(Report::of(Judged::Broken, why)),
    }
}

fn report(found: Presence) -> Report {
    let runs = found.runs();
    let Presence { verdict, follows, nearby, random, drift, followed } = found;
    let of = |share: Share| format!("{} of {}", share.count, counted(share.of, "run"));
    let (verdict, why) = match verdict {
        Verdict::There if follows => {
            (Judged::There, "the run that follows the recorded turns fails as recorded".to_owned())
        }
        Verdict::There if nearby.count > 0 => {
            (Judged::There, format!("{} near the recorded one fail as recorded", of(nearby)))
        }
        Verdict::There => (Judged::There, format!("{} at random fail as recorded", of(random))),
        Verdict::Gone => {
            // The share that would show itself with 95 % in so many runs.
            let share = (1.0 - 0.05_f64.powf(1.0 / runs as f64)) * 100.0;
            let why = format!(
                "none of {runs} runs fails so; what fails in {share:.1} % of them would have been seen, with 95 %"
            );
            (Judged::Gone, why)
        }
        Verdict::Unclear(why) => (Judged::Unclear, why),
    };
    let followed = format!("; {:.0} % of the recorded calls came as recorded", followed * 100.0);
    let drift = drift.map(|drift| format!("{drift}{followed}"));
    Report { verdict, why, follows, nearby, random, drift }
}

/// The format of a reproducer that is too new to be read.
fn newer_format(path: &Path) -> Option<i64> {
    let path = if path.is_dir() { path.join(reproducer::FILE) } else { path.to_owned() };
    let table: toml::Table = toml::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let format = table.get("format")?.as_integer()?;
    (format > i64::from(REPRODUCER_FORMAT)).then_some(format)
}
