//! `bisect --commits`: which commit brought a failure. Drives `git bisect run` in a worktree of its own; how one commit is built and judged is in `step`.
//!
//! The user's checkout, index and branches are not touched: a worktree has its own head and its own bisection. All of it lies in one folder for
//! temporary files and goes with it, however this ends.

use super::repository::{Repository, Workplace, git_command, run_to_end};
use super::step::{self, Job, Step};
use crate::cli::BisectArguments;
use crate::exit::{Exit, Problem, Result};
use crate::git_bisect::{Judged, Report};
use crate::interrupt;
use crate::measured::Stopwatch;
use crate::report::{SCHEMA_VERSION, counted};
use crate::reproducer::{self, Replayable};
use crate::shell;
use seedstorm_sim::metrics::Nanoseconds;
use serde::Serialize;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// How commits are built unless the command line says otherwise.
const BUILD: [&str; 3] = ["cargo", "build", "--release"];

/// What a bisection of commits came to.
#[derive(Default)]
struct Outcome {
    /// The first bad commit; several if what lies between could not be judged.
    first_bad: Vec<String>,
    steps: Vec<Step>,
}

/// Bisects commits.
///
/// # Errors
/// Bad input; git, or a commit at one of both ends, that can't be used.
pub(crate) fn bisect(arguments: &BisectArguments, range: &str) -> Result<Exit> {
    let stopwatch = Stopwatch::start();
    let reproducer = readable(&arguments.file)?;
    let program = program(arguments)?;
    let interrupt = interrupt::flag()?;
    let repository = Repository::here(range)?;
    let workplace = Workplace::create(&repository)?;
    let mut job = Job {
        worktree: workplace.worktree().to_owned(),
        folder: repository.folder.clone(),
        build: match arguments.build.is_empty() {
            true => BUILD.map(str::to_owned).to_vec(),
            false => arguments.build.clone(),
        },
        program,
        reproducer,
        expected: None,
        log: workplace.file("steps.jsonl"),
        build_log: workplace.file("build.log"),
    };
    let found = search(&repository, &workplace, &mut job, &interrupt);
    // What was found by then is told also when it was cut short.
    let steps = step::read_log(&job.log);
    drop(workplace);
    let is_interrupted = interrupt.load(Ordering::Relaxed);
    let outcome = match found {
        Ok(first_bad) => Outcome { first_bad, steps },
        Err(_) if is_interrupted => Outcome { first_bad: Vec::new(), steps },
        Err(problem) => return Err(problem),
    };
    tell(arguments, &repository, &outcome, stopwatch.elapsed_ns(), is_interrupted)?;
    Ok(if is_interrupted && outcome.first_bad.is_empty() { Exit::Interrupted } else { Exit::Pass })
}

/// What is wrong with a reproducer is said before anything is built.
fn readable(path: &Path) -> Result<PathBuf> {
    match reproducer::read(path)? {
        Replayable::Recorded(recorded, _) if recorded.violation.is_some() => {}
        _ => return Err(Problem::usage(format!("{}: no violation is recorded in it", path.display()))),
    }
    std::path::absolute(path).map_err(|error| Problem::usage(format!("{}: {error}", path.display())))
}

/// Where each build leaves the program. What lies there before is removed: it must be in the worktree.
fn program(arguments: &BisectArguments) -> Result<PathBuf> {
    let Some(program) = &arguments.program else { return Ok(default_program()) };
    let is_within = program.components().all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
    if is_within && program.file_name().is_some() {
        return Ok(program.clone());
    }
    let example = default_program();
    let (program, example) = (program.display(), example.display());
    Err(Problem::usage(format!(
        "--program: `{program}` is not in the worktree; allowed: a path from its top, as {example}"
    )))
}

/// Where `cargo build --release` leaves a program of this one's name.
fn default_program() -> PathBuf {
    let own = std::env::current_exe().ok();
    let name = own.as_deref().and_then(Path::file_name).unwrap_or("seedstorm".as_ref());
    Path::new("target/release").join(name)
}

fn search(
    repository: &Repository,
    workplace: &Workplace,
    job: &mut Job,
    interrupt: &AtomicBool,
) -> Result<Vec<String>> {
    // What git takes on trust is looked at first: without it the search would name any commit.
    for (commit, expected) in [(&repository.bad, Judged::There), (&repository.good, Judged::Gone)] {
        workplace.check_out(commit)?;
        let step = step::take(job, expected == Judged::There, &|| interrupt.load(Ordering::Relaxed))?;
        if step.report.verdict != expected {
            let (short, end) = (&step.commit, if expected == Judged::There { "BAD" } else { "GOOD" });
            let problem = format!("--commits: {end} ({short}) is not {}: {}", end.to_lowercase(), step.report.why);
            return Err(Problem::usage(problem));
        }
        if expected == Judged::There {
            job.expected = Some(step.report.random);
        }
    }
    workplace.git(&["bisect", "start", &repository.bad, &repository.good])?;
    let own = workplace.own_program()?;
    let job_file = workplace.file("job.json");
    let text = serde_json::to_string(&*job).map_err(anyhow::Error::new)?;
    std::fs::write(&job_file, text).map_err(anyhow::Error::new)?;
    let mut run = git_command(&job.worktree);
    run.args(["bisect", "run"]).arg(own).arg("bisect-step").arg(job_file);
    let ran = run_to_end(&mut run, None, &|| interrupt.load(Ordering::Relaxed))?;
    let first_bad = workplace.first_bad()?;
    if first_bad.is_empty() {
        let why = if interrupt.load(Ordering::Relaxed) {
            "interrupted".to_owned()
        } else {
            format!("git bisect run ended: {ran}")
        };
        let last = step::read_log(&job.log)
            .pop()
            .map_or(String::new(), |step| format!("; last: {} {}", step.commit, step.report.why));
        return Err(Problem::usage(format!("{why}{last}")));
    }
    Ok(first_bad)
}

fn tell(
    arguments: &BisectArguments,
    repository: &Repository,
    outcome: &Outcome,
    wall_ns: u64,
    is_interrupted: bool,
) -> Result<()> {
    let confidence = confidence(repository, outcome);
    let subjects: Vec<String> = outcome.first_bad.iter().map(|commit| repository.subject(commit)).collect();
    let command = match outcome.first_bad.first() {
        Some(commit) => shell::line(["git", "show", commit]),
        None => shell::line(["git", "log", "--oneline", &format!("{}..{}", repository.good, repository.bad)]),
    };
    let mut output = std::io::stdout();
    if arguments.json {
        let object = Object {
            schema_version: SCHEMA_VERSION,
            reproducer: arguments.file.display().to_string(),
            first_bad: &outcome.first_bad,
            subjects: &subjects,
            confidence: &confidence,
            steps: &outcome.steps,
            seconds: wall_ns as f64 / 1e9,
            is_complete: !is_interrupted,
            command: &command,
        };
        writeln!(output, "{}", serde_json::to_string(&object).map_err(anyhow::Error::new)?)?;
        output.flush()?;
        return Ok(());
    }
    for step in &outcome.steps {
        writeln!(output, "{}", step.line())?;
    }
    match &outcome.first_bad[..] {
        [] => writeln!(output, "\ninterrupted: the first bad commit is not known yet")?,
        [_] => writeln!(output, "\nfirst bad commit: {}", subjects.concat())?,
        _ => {
            writeln!(output, "\nthe first bad commit is one of these; those between could not be judged:")?;
            for subject in &subjects {
                writeln!(output, "  {subject}")?;
            }
        }
    }
    for line in &confidence {
        writeln!(output, "  {line}")?;
    }
    writeln!(output, "\n{} in {}\n\n{command}", counted(outcome.steps.len() as u64, "commit"), Nanoseconds(wall_ns))?;
    output.flush()?;
    Ok(())
}

/// How sure it is, and of what not.
fn confidence(repository: &Repository, outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(last_good) = outcome.first_bad.last().and_then(|commit| last_good(repository, outcome, commit)) else {
        return lines;
    };
    let at_bad = outcome.steps.iter().find(|step| step.commit == repository.bad);
    let Report { nearby, random, drift, .. } = &last_good.report;
    let runs = 1 + nearby.of + random.of;
    lines.push(format!("before it, {} is good: none of {runs} runs fails so", repository.subject(&last_good.commit)));
    if let Some(bad) = at_bad {
        // Where calls don't come as recorded only the runs at random are as good as at the bad end.
        let (kind, here, there) = match drift {
            None => ("near the recorded one", nearby, bad.report.nearby),
            Some(_) => ("at random", random, bad.report.random),
        };
        let missed = (1.0 - there.value()).powf(here.of as f64);
        let missed = if missed < 1e-4 { "under 0.01 %".to_owned() } else { format!("{:.2} %", missed * 100.0) };
        lines.push(format!(
            "at the bad end {} of {} {kind} fail: if it were there too, {} such would have missed it with a chance of {missed}",
            there.count,
            counted(there.of, "run"),
            here.of
        ));
    }
    if let Some(drift) = drift {
        lines.push(format!("its runs drift from the recorded one: {drift}"));
    }
    let skipped = outcome.steps.iter().filter(|step| step.report.verdict == Judged::Unclear).count();
    if skipped > 0 {
        let (commits, were) = (counted(skipped as u64, "commit"), if skipped == 1 { "was" } else { "were" });
        lines.push(format!("{commits} on the way could not be judged and {were} left out"));
    }
    lines
}

/// The nearest commit before another that was judged good.
fn last_good<'a>(repository: &Repository, outcome: &'a Outcome, commit: &str) -> Option<&'a Step> {
    let good = outcome.steps.iter().filter(|step| step.report.verdict == Judged::Gone);
    let before = good.filter(|step| repository.is_before(&step.commit, commit));
    before.min_by_key(|step| repository.distance(&step.commit, commit))
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    reproducer: String,
    first_bad: &'a [String],
    subjects: &'a [String],
    confidence: &'a [String],
    steps: &'a [Step],
    seconds: f64,
    is_complete: bool,
    command: &'a str,
}
