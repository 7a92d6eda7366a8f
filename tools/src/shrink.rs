//! `shrink`: from a recorded failure to the smallest one that fails alike. The search is `sim::explore`'s.

use crate::artifacts;
use crate::catalogue::{Catalogue, Known};
use crate::checked::Checked;
use crate::cli::ShrinkArguments;
use crate::exit::{Exit, Interrupted, Problem, Result, unless_closed};
use crate::hang;
use crate::interrupt;
use crate::keep;
use crate::picture::{self, Shrinkage};
use crate::plan_file;
use crate::progress;
use crate::report::{counted, grouped};
use crate::reproducer::{self, Replayable, Reproducer};
use crate::run::replay_command;
use crate::stderr;
use crate::sweep::{Pool, jobs};
use anyhow::anyhow;
use indicatif::ProgressBar;
use seedstorm_sim::explore::{Runner, Shrunk, Size, Stopped, Trial, shrink};
use seedstorm_sim::schedule::Guide;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How much real time one trial may take, in nanoseconds: a smaller run takes no longer than the one that it comes from.
const TRIAL_LIMIT_NS: u64 = 60_000_000_000;

/// The name of what comes out, beside the reproducer that went in.
const STEM: &str = "shrunk";

/// Cuts a failure down.
///
/// # Errors
/// A reproducer that can't be read or whose failure does not happen any more; an output that can't be written.
pub(crate) fn shrink_command(catalogue: Catalogue, arguments: &ShrinkArguments) -> Result<Exit> {
    let recorded = recorded(&arguments.reproducer)?;
    let scenario = plan_file::scenario_of(catalogue, &recorded.plan, Some(&arguments.reproducer))?;
    let destination = Destination::of(arguments)?;
    let trial_limit_ns = trial_limit_ns(arguments, &recorded);
    let mut pool = Pool::new(jobs(arguments.jobs, u64::MAX), trial_limit_ns, arguments.budget, interrupt::flag()?);
    let first = first(&mut pool, &recorded, &arguments.reproducer)?;
    let progress = Progress::new(first.size());
    let found = shrink(&mut pool, first.clone(), scenario.plainest(), &mut |best| progress.at(best));
    progress.finish();
    let smallest = found.map_err(|why| Problem::Internal(anyhow!(why)))?;
    let path = destination.write(&smallest)?;
    let (from, to) = (first.size(), smallest.size());
    let sizes = [
        ("faults", from.faults as u64, to.faults as u64),
        ("processes", from.processes as u64, to.processes as u64),
        ("operations", from.operations as u64, to.operations as u64),
        ("preemptions", from.preemptions, to.preemptions),
    ];
    let sizes = sizes.map(|(what, before, after)| Shrinkage { what: what.to_owned(), before, after });
    let command = path.as_ref().map(|path| {
        let fingerprint = &smallest.violation.fingerprint;
        replay_command(catalogue.program(), path, fingerprint, arguments.watch.step_timeout_ns())
    });
    let reproduce = command.clone();
    artifacts::add_to_findings(catalogue, &arguments.reproducer, |found| {
        found.shrunk = Some(picture::Shrunk { sizes: sizes.into(), reproduce });
    })?;
    let told = Told { first: &first, smallest: &smallest, kept: path.as_deref().zip(command.as_deref()), pool: &pool };
    tell(scenario, arguments, &told)
}

/// Reads the failure.
fn recorded(path: &Path) -> Result<Reproducer> {
    let wrong = |why: &str| Err(Problem::usage(format!("{}: {why}", path.display())));
    let reproducer = match reproducer::read(path)? {
        Replayable::Recorded(reproducer, _) => *reproducer,
        Replayable::Plan(_) => {
            return wrong("a plan tells of no failure; `run --plan` keeps a reproducer if it fails");
        }
    };
    let Some(violation) = &reproducer.violation else { return wrong("it tells of no violation") };
    match violation.invariant.as_str() {
        "worker-died" => wrong(
            "a run that ends its process tells nothing by which a smaller one could be known as the same failure; \
             cut `[plan]` down by hand, and try it with `run --plan`",
        ),
        _ if hang::is_timeout(&violation.fingerprint) && !hang::is_hang(&violation.fingerprint) => wrong(
            "the run was only slow: it was ended for --seed-timeout while it went on, and no smaller one fails alike",
        ),
        _ => Ok(reproducer),
    }
}

/// How much real time a trial has, in nanoseconds. A hang takes what a step has each time that it is met: that is said here, too.
fn trial_limit_ns(arguments: &ShrinkArguments, recorded: &Reproducer) -> u64 {
    let fingerprint = recorded.violation.as_ref().map_or("", |violation| &violation.fingerprint);
    match hang::limit_search(fingerprint, arguments.watch.step_timeout) {
        // What stands still is told as that, and not as what took too long.
        Some(step_timeout_ns) => TRIAL_LIMIT_NS.saturating_add(step_timeout_ns),
        None => TRIAL_LIMIT_NS,
    }
}

/// Runs the failure once as it is: what it does now is what shall be kept.
fn first(pool: &mut Pool, recorded: &Reproducer, path: &Path) -> Result<Shrunk> {
    let guide = recorded.turns.clone().map(|turns| Guide { turns, ..Guide::default() });
    let Checked { crash_points, without_invariants } = recorded.checked;
    let trial = Trial { plan: recorded.plan.clone(), guide, crash_points, without_invariants };
    let mut tried = match pool.run(vec![trial]) {
        Ok(tried) => tried,
        Err(Stopped::Interrupted) if pool.is_interrupted() => {
            return Err(Problem::Interrupted(Interrupted::Else("the failure had not been seen once")));
        }
        Err(Stopped::Interrupted) => {
            return Err(Problem::usage("the time was over before the failure had been seen once"));
        }
        Err(Stopped::Broken(why)) => return Err(Problem::Internal(anyhow!(why))),
    };
    let was = recorded.violation.as_ref().map(|violation| violation.fingerprint.as_str()).unwrap_or_default();
    let is = match tried.pop().flatten() {
        None => pool.refusal().unwrap_or_else(|| "it ends its worker".to_owned()),
        Some(tried) => match (tried.violation, tried.turns) {
            (Some(violation), Some(turns)) if violation.fingerprint == was => {
                return Ok(Shrunk {
                    plan: recorded.plan.clone(),
                    turns,
                    crash_points,
                    without_invariants,
                    violation,
                    trace_hash: tried.trace_hash,
                    steps: tried.steps,
                    processes: tried.processes,
                    hits: tried.hits,
                });
            }
            (Some(violation), _) => format!("it is {}", violation.fingerprint),
            (None, _) => "it passes".to_owned(),
        },
    };
    Err(Problem::usage(format!("{}: the recorded failure, {was}, does not happen here: {is}", path.display())))
}

/// Where the result goes.
enum Destination {
    /// Beside the reproducer that it comes from, under a name that nothing else has.
    Beside { folder: PathBuf },
    /// Into a file that was asked for.
    File { path: PathBuf, output: keep::Output },
    /// To the standard output; what is told of it goes to stderr then.
    StandardOutput,
}

impl Destination {
    fn of(arguments: &ShrinkArguments) -> Result<Destination> {
        match arguments.output.as_deref() {
            Some(path) if path == Path::new("-") && arguments.json => Err(Problem::usage(
                "-o -: the standard output takes either the reproducer or, with --json, what is told of it; name a file",
            )),
            Some(path) if path == Path::new("-") => Ok(Destination::StandardOutput),
            Some(path) => Ok(Destination::File { path: path.to_owned(), output: keep::output(path, false)? }),
            None => {
                let of = &arguments.reproducer;
                let folder = if of.is_dir() { of } else { of.parent().unwrap_or(Path::new("")) };
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                keep::check_folder(folder)?;
                Ok(Destination::Beside { folder: folder.to_owned() })
            }
        }
    }

    /// Writes it. Gives its path, if it has one.
    fn write(self, smallest: &Shrunk) -> Result<Option<PathBuf>> {
        let Shrunk { crash_points, without_invariants, .. } = *smallest;
        let reproducer = Reproducer {
            plan: smallest.plan.clone(),
            checked: Checked { crash_points, without_invariants },
            turns: Some(smallest.turns.clone()),
            violation: Some(smallest.violation.clone()),
            trace_hash: smallest.trace_hash.clone(),
            steps: smallest.steps,
        };
        let text = reproducer.in_one_file()?;
        match self {
            Destination::Beside { folder } => keep::put(&folder, STEM, "toml", text.as_bytes())
                .map(Some)
                .map_err(|error| Problem::usage(format!("{error:#}"))),
            Destination::File { path, mut output } => {
                let written = output.write_all(text.as_bytes()).and_then(|()| output.finish());
                written.map_err(|error| keep::unwritten(&path, &error))?;
                Ok(Some(path))
            }
            Destination::StandardOutput => {
                let mut output = std::io::stdout();
                output.write_all(text.as_bytes()).and_then(|()| output.flush()).or_else(unless_closed)?;
                Ok(None)
            }
        }
    }
}

/// What is told at the end.
struct Told<'a> {
    first: &'a Shrunk,
    smallest: &'a Shrunk,
    /// The file that the smallest is in, and what runs it.
    kept: Option<(&'a Path, &'a str)>,
    pool: &'a Pool,
}

fn tell(scenario: Known, arguments: &ShrinkArguments, told: &Told<'_>) -> Result<Exit> {
    let Told { first, smallest, kept, pool } = told;
    let (from, to) = (first.size(), smallest.size());
    let seconds = pool.elapsed_ns() as f64 / 1e9;
    let text = if arguments.json {
        let size = |size: Size, steps: u64| json!({"faults": size.faults, "processes": size.processes, "operations": size.operations, "preemptions": size.preemptions, "steps": steps});
        let object = json!({
            "schema_version": crate::report::SCHEMA_VERSION, "scenario": scenario.name(), "seed": smallest.plan.seed.0,
            "fingerprint": smallest.violation.fingerprint, "from": size(from, first.steps), "to": size(to, smallest.steps),
            "runs": pool.trials(), "wall_ns": pool.elapsed_ns(), "interrupted": pool.is_interrupted(),
            "reproducer": kept.map(|(path, _)| path.display().to_string()),
        });
        format!("{object}\n")
    } else {
        let ended = match () {
            () if pool.is_interrupted() => ", interrupted",
            () if pool.elapsed_ns() >= arguments.budget => ", the time is up",
            () => ", nothing more can go",
        };
        let kept =
            kept.map_or_else(String::new, |(path, command)| format!("\nreproducer: {}\n\n{command}\n", path.display()));
        format!(
            "{} seed {}: {}\n  {}\n  {}\n  {} in {seconds:.1} s{ended}\n\nviolated: {}\n  {}\n{kept}",
            scenario.name(),
            smallest.plan.seed.0,
            smallest.violation.fingerprint,
            sizes(from, to),
            format_args!("steps {} → {}", grouped(first.steps), grouped(smallest.steps)),
            counted(pool.trials(), "run"),
            smallest.violation.invariant,
            smallest.violation.message.replace('\n', "\n  "),
        )
    };
    if kept.is_some() {
        let mut output = std::io::stdout();
        output.write_all(text.as_bytes()).and_then(|()| output.flush()).or_else(unless_closed)?;
    } else {
        stderr::say(text.trim_end());
    }
    // What is smaller by then is kept and told, but it is not known to be the smallest.
    Ok(if pool.is_interrupted() { Exit::Interrupted } else { Exit::Pass })
}

fn sizes(from: Size, to: Size) -> String {
    let count = |count: usize| grouped(count as u64);
    format!(
        "faults {} → {}, processes {} → {}, operations {} → {}, preemptions {} → {}",
        count(from.faults),
        count(to.faults),
        count(from.processes),
        count(to.processes),
        count(from.operations),
        count(to.operations),
        grouped(from.preemptions),
        grouped(to.preemptions)
    )
}

/// How small it is by now: on a terminal only.
struct Progress {
    bar: ProgressBar,
    from: Size,
}

impl Progress {
    fn new(from: Size) -> Progress {
        let bar = progress::line();
        bar.set_message(sizes(from, from));
        Progress { bar, from }
    }

    fn at(&self, best: &Shrunk) {
        self.bar.set_message(sizes(self.from, best.size()));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
