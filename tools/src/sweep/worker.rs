//! A worker process: runs seeds that arrive on its standard input, one at a time. Who gets which seed is the coordinator's business.

use super::protocol::{Also, Answer, Request, Wanted, receive, send};
use crate::artifacts;
use crate::catalogue::Catalogue;
use crate::checked::Checked;
use crate::exit::{Exit, Problem, Result};
use crate::hang;
use crate::interrupt;
use crate::keep;
use crate::measured;
use crate::report::RunResult;
use crate::traced::Tracing;
use seedstorm_sim::explore::{self, Trial, Tried};
use seedstorm_sim::metrics::{Latencies, Measurements};
use seedstorm_sim::{Seed, Settings};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::mpsc;

/// Answers requests until the standard input ends.
///
/// # Errors
/// The sweep is gone.
pub(crate) fn work(catalogue: Catalogue, output: &mut impl Write) -> Result<Exit> {
    hang::is_watched_from_outside();
    let (sender, requests) = mpsc::channel();
    std::thread::Builder::new()
        .name("requests".into())
        .spawn(move || read_requests(&sender))
        .map_err(anyhow::Error::new)?;
    for wanted in requests {
        let answer = match wanted {
            Wanted::Seed(request) => answer(catalogue, &request),
            Wanted::Trial(trial) => try_out(catalogue, *trial),
            Wanted::Place | Wanted::SoFar(_) => continue,
        };
        let retires = matches!(answer, Answer::Ended { retires: true, .. } | Answer::Tried { retires: true, .. });
        send(output, &answer)?;
        if retires {
            break;
        }
    }
    Ok(Exit::Pass)
}

/// Reads on while a run goes on, and says where it is to whoever asks: the run's own thread may never come to answer. When the sweep is gone, this process ends at once, whatever its run is doing.
fn read_requests(sender: &mpsc::Sender<Wanted>) {
    let lines = std::io::stdin().lock().lines().map_while(std::io::Result::ok);
    for request in lines.map_while(|line| receive(&line)) {
        let is_done = match request {
            Wanted::Place => send(&mut std::io::stdout(), &Answer::At(Box::new(hang::place()))).is_ok(),
            Wanted::SoFar(violation) => {
                let tried = Tried::standing_still(&hang::beat(), *violation);
                // The run's thread will not answer.
                send(&mut std::io::stdout(), &Answer::Tried { tried: Box::new(tried), retires: true }).is_ok()
            }
            request => sender.send(request).is_ok(),
        };
        if !is_done {
            break;
        }
    }
    // The run may go on meanwhile: what it has begun is not finished any more.
    keep::remove_all();
    std::process::exit(0);
}

fn answer(catalogue: Catalogue, request: &Request) -> Answer {
    match try_answer(catalogue, request) {
        Ok((result, latencies)) => {
            let retires = seedstorm_sim::blocking::must_retire();
            Answer::Ended { result: Box::new(result), latencies, retires }
        }
        Err(problem @ (Problem::Usage(_) | Problem::Refused(_))) => Answer::Refused(problem.to_string()),
        Err(Problem::Internal(error)) => Answer::Failed(format!("{error:#}")),
        Err(problem @ (Problem::OutputClosed | Problem::Interrupted(_) | Problem::Hung(_))) => {
            Answer::Failed(problem.to_string())
        }
    }
}

fn try_out(catalogue: Catalogue, trial: Trial) -> Answer {
    let scenario = match catalogue.named(&trial.plan.scenario) {
        Ok(scenario) => scenario,
        Err(problem) => return Answer::Refused(format!("{problem:?}")),
    };
    if let Err(error) = scenario.check(&trial.plan) {
        return Answer::Refused(error.to_string());
    }
    match explore::carry_out(scenario, trial, Some(hang::beat())) {
        Ok(tried) => Answer::Tried { tried: Box::new(tried), retires: seedstorm_sim::blocking::must_retire() },
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn try_answer(catalogue: Catalogue, request: &Request) -> Result<(RunResult, BTreeMap<String, Latencies>)> {
    let scenario = catalogue.named(&request.scenario)?;
    // Which seed it is that can't be run, nobody knows beforehand: how many agents there are may be drawn, and a fault may name one of them.
    let of_seed = |why: String| Problem::Usage(format!("{} seed {}: {why}", request.scenario, request.seed));
    let plan = interrupt::draw(scenario, Seed(request.seed), &request.options)?;
    let plan = plan.map_err(|error| of_seed(error.to_string()))?;
    request.options.check(&plan).map_err(|error| of_seed(error.to_string()))?;
    let tracing = match &request.also {
        Also::Trace(path) => Some(Tracing::create(path)?),
        Also::Nothing | Also::Reproducer(_) => None,
    };
    let listener = tracing.as_ref().map(Tracing::listener);
    // Of what hangs its turns are all that can be kept beside its plan.
    let records_turns = matches!(request.also, Also::Reproducer(_));
    let settings = Settings { listener, records_turns, crash_points: request.crash_points, ..Settings::default() };
    let measured = measured::run(scenario, &plan, settings).map_err(|problem| match problem {
        Problem::Usage(_) | Problem::Refused(_) => of_seed(problem.to_string()),
        other => other,
    })?;
    if let Some(tracing) = tracing {
        tracing.finish(&measured.outcome)?;
    }
    let latencies = Measurements::from(&measured.outcome.observations).latencies;
    let mut result = RunResult::new(scenario, &plan, &measured.outcome, measured.wall_ns);
    if let Also::Reproducer(folder) = &request.also
        && !result.passed()
    {
        let kept =
            artifacts::keep(catalogue, scenario, &plan, None, &result, Checked::with(request.crash_points), folder)?;
        result.reproducer = Some(kept.reproducer.display().to_string());
        result.repro = Some(kept.repro);
    }
    Ok((result, latencies))
}
