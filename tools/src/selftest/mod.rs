//! `selftest`: plants each known bug and measures how soon it is found, by which invariant, and that it is nothing but the bug that is found. Running seeds is
//! `sweep`'s business.

mod choice;
mod geometric_mean;
mod lines;
mod statistics;
mod table;
mod trial;
mod verdict;

use crate::catalogue::{Catalogue, Known};
use crate::cli::SelftestArguments;
use crate::exit::{Exit, Result, unless_closed};
use crate::fault_options;
use crate::interrupt;
use crate::measured::Stopwatch;
use crate::report::Screen;
use crate::shell;
use crate::stderr;
use choice::Planted;
use std::io::Write;
use std::sync::atomic::Ordering;
use trial::{Bench, Trial};
use verdict::Verdict;

/// Runs a self-test.
///
/// # Errors
/// Bad input; an output that can't be written; workers that can't be started.
pub(crate) fn selftest(catalogue: Catalogue, arguments: &SelftestArguments) -> Result<Exit> {
    let mutants = choice::mutants(catalogue, &arguments.mutants)?;
    let strategies = choice::strategies(arguments)?;
    let pairs: Vec<_> =
        mutants.iter().flat_map(|planted| strategies.iter().map(move |strategy| (*planted, strategy))).collect();
    let mut scenarios: Vec<Known> = Vec::new();
    for planted in &mutants {
        if scenarios.iter().all(|known| known.name() != planted.scenario.name()) {
            scenarios.push(planted.scenario);
        }
    }
    fault_options::check(&scenarios, &arguments.draw(None, None).options()?)?;
    let interrupt = interrupt::flag()?;
    let mut bench = Bench { catalogue, arguments, interrupt: &interrupt, without: trial::Without::new() };
    for (planted, strategy) in &pairs {
        bench.check(*planted, strategy)?;
    }
    let stopwatch = Stopwatch::start();
    let mut output = std::io::stdout();
    let mut trials = Vec::new();
    for (number, (planted, strategy)) in pairs.iter().enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let label = format!("{}/{} {} {strategy}  ", number + 1, pairs.len(), planted.info.name);
        let trial = bench.run(*planted, strategy, &label)?;
        if arguments.json {
            lines::trial(&mut output, &trial, arguments.seeds).or_else(unless_closed)?;
        }
        trials.push(trial);
    }
    let verdict = Verdict::of(&trials, interrupt.load(Ordering::Relaxed));
    let reproduce = match verdict.exit {
        Exit::Interrupted => going_on(catalogue.program(), arguments, &pairs, &trials),
        _ => verdict.reproduce(catalogue.program(), arguments),
    };
    if arguments.json {
        lines::summary(&mut output, &verdict, reproduce.as_deref(), stopwatch.elapsed_ns()).or_else(unless_closed)?;
        return Ok(verdict.exit);
    }
    if arguments.markdown {
        output
            .write_all(table::markdown(shell::name_of(catalogue.program()), &verdict, arguments).as_bytes())
            .or_else(unless_closed)?;
        for finding in &verdict.findings {
            stderr::say(finding.words());
        }
        if let Some(command) = reproduce {
            stderr::say(command);
        }
    } else {
        let mut text = table::human(&verdict, arguments.confusion, Screen::of_stdout());
        if let Some(command) = reproduce {
            text.push('\n');
            text.push_str(&command);
            text.push('\n');
        }
        output.write_all(text.as_bytes()).or_else(unless_closed)?;
    }
    output.flush().or_else(unless_closed)?;
    Ok(verdict.exit)
}

/// The command that goes on where an interruption has ended this. A planted bug that was not done begins anew, unless it is the only one that is left.
fn going_on(
    program: &str,
    arguments: &SelftestArguments,
    pairs: &[(Planted, &String)],
    trials: &[Trial],
) -> Option<String> {
    let done = trials.iter().take_while(|trial| trial.is_whole).count();
    let left = &pairs[done..];
    let mut mutants: Vec<&str> = left.iter().map(|(planted, _)| planted.info.name).collect();
    mutants.dedup();
    let (strategies, seeds) = match (left, &mutants[..]) {
        ([], _) => return None,
        ([(_, strategy)], _) => {
            let told = trials.get(done).map_or(0, |trial| trial.told);
            let seeds = arguments.seeds.after(told);
            // All were run, but not all that is to be seen of them.
            (strategy.to_string(), if seeds.count == 0 { arguments.seeds } else { seeds })
        }
        (left, [_]) => {
            let strategies: Vec<&str> = left.iter().map(|(_, strategy)| strategy.as_str()).collect();
            (strategies.join(","), arguments.seeds)
        }
        _ => (arguments.strategies.clone(), arguments.seeds),
    };
    let words = arguments.words(&mutants.join(","), &strategies, seeds);
    Some(shell::line([program].into_iter().chain(words.iter().map(String::as_str))))
}
