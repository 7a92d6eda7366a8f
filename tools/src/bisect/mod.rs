//! `bisect`: at which step a failing run was sealed, and which commit brought the failure. How the search in time goes is decided in `sim::explore::bisect`; the
//! search in commits is git's, and driven by `commits`.

mod commits;
mod moment;
mod progress;
mod repository;
mod step;
mod subject;
mod surroundings;
mod told;

pub(crate) use subject::Subject;

use crate::artifacts;
use crate::catalogue::Catalogue;
use crate::cli::BisectArguments;
use crate::exit::{Exit, Interrupted, Problem, Result};
use crate::interrupt;
use crate::picture::{Bisected, Estimate};
use crate::shell;
use crate::sweep::{Pool, jobs};
use moment::Moment;
use progress::Progress;
use seedstorm_sim::explore::Stopped;
use seedstorm_sim::explore::bisect::{Found, Place, Question, Refused, bisect as search};
use std::io::Write;
use std::path::Path;
use told::{Cost, Told};

/// Bisects.
///
/// # Errors
/// Bad input; workers that can't be started; an output that can't be written.
pub(crate) fn bisect(catalogue: Catalogue, arguments: &BisectArguments) -> Result<Exit> {
    match &arguments.commits {
        Some(range) => commits::bisect(arguments, range),
        None => in_time(catalogue, arguments),
    }
}

/// One commit of a bisection.
///
/// # Errors
/// What is to be done can't be read, or git can't be used.
pub(crate) fn step(job: &Path) -> Result<Exit> {
    step::command(job)
}

fn in_time(catalogue: Catalogue, arguments: &BisectArguments) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    let subject = Subject::read(catalogue, &arguments.file)?;
    let jobs = jobs(arguments.jobs, u64::MAX);
    let mut pool = Pool::new(jobs, arguments.seed_timeout, arguments.budget, interrupt);
    let question = Question {
        plan: subject.plan.clone(),
        turns: subject.turns.clone(),
        fingerprint: subject.violation.fingerprint.clone(),
        crash_points: subject.checked.crash_points,
        without_invariants: subject.checked.without_invariants,
        seed: subject.plan.seed,
    };
    let progress = Progress::start();
    let found = search(&question, &mut pool, &mut |doing| progress.tell(doing));
    progress.finish();
    let found = match found {
        Err(Refused::Stopped(Stopped::Interrupted)) if pool.is_interrupted() => {
            return Err(Problem::Interrupted(Interrupted::Else("not even one run came to its end")));
        }
        found => found.map_err(|refused| refusal(arguments, &refused))?,
    };
    let cost = Cost { runs: pool.trials(), wall_ns: pool.elapsed_ns(), is_interrupted: pool.is_interrupted() };
    let steps: Vec<u64> = found.decisive.iter().map(|decisive| decisive.step).collect();
    let moments = moment::look(&subject, &steps)?;
    let words = told::in_words(&subject, &found);
    artifacts::add_to_findings(catalogue, &arguments.file, |known| {
        known.bisected = Some(findings(&subject, &found, words))
    })?;
    let command = command(catalogue.program(), arguments, &found, &moments);
    let told = Told {
        subject: &subject,
        from: &arguments.file,
        found: &found,
        moments: &moments,
        cost: &cost,
        command: &command,
    };
    let mut output = std::io::stdout();
    if arguments.json {
        told.json(&mut output)?
    } else {
        told.human(&mut output)?
    }
    output.flush()?;
    match &found.stopped {
        Some(Stopped::Broken(why)) => Err(Problem::Internal(anyhow::anyhow!("the search ended early: {why}"))),
        // What was found by then is told, but there may be more.
        Some(Stopped::Interrupted) if cost.is_interrupted => Ok(Exit::Interrupted),
        _ => Ok(Exit::Pass),
    }
}

/// What the page of the failure shows of it.
fn findings(subject: &Subject, found: &Found, in_words: String) -> Bisected {
    let estimate = |place: &Place| {
        let (low, high) = place.share.interval();
        let (low, high) = if place.kept == subject.turns.steps { (1.0, 1.0) } else { (low, high) };
        Estimate { step: subject.step_of(place.kept), probability: place.share.value(), low, high }
    };
    Bisected {
        critical_steps: found.decisive.iter().map(|decisive| subject.step_of(decisive.step)).collect(),
        curve: found.curve.iter().map(estimate).collect(),
        in_words,
    }
}

fn refusal(arguments: &BisectArguments, refused: &Refused) -> Problem {
    let path = arguments.file.display();
    match refused {
        Refused::NotRepeated(instead) => Problem::usage(format!(
            "{path}: it does not come out as recorded: {instead}. What doesn't repeat can't be bisected; `replay` says where it parts"
        )),
        Refused::Stopped(Stopped::Interrupted) => {
            Problem::usage(format!("{path}: not even one run came to its end; give it a longer --budget"))
        }
        Refused::Stopped(Stopped::Broken(why)) => Problem::Internal(anyhow::anyhow!("{why}")),
    }
}

/// The command that shows what there is to see: the run up to the step that decides.
fn command(program: &str, arguments: &BisectArguments, found: &Found, moments: &[Moment]) -> String {
    let path = shell::path(&arguments.file);
    let step = match (moments.first(), found.rise) {
        (Some(moment), _) => Some(moment.step.to_string()),
        (None, _) => None,
    };
    match &step {
        Some(step) => shell::line([program, "replay", &path, "--until", step]),
        None => shell::line([program, "replay", &path]),
    }
}
