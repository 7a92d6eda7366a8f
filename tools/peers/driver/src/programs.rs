//! The programs with their bugs: how many schedules each contender needs under each strategy, what a schedule costs it, and the time to the first bug that comes of it.

use crate::contenders::{Contender, Contenders};
use crate::statistics::{Median, geometric_mean, median};
use peers_bench::{PROGRAMS, Request, Search, Told};

/// How much is done.
pub(crate) struct Effort {
    /// Turns that each contender and strategy gets for each program.
    pub(crate) rounds: u64,
    /// Tries in a turn.
    tries: u64,
    /// After so many schedules a try gives up.
    schedules_max: u64,
    /// Schedules in a turn by which their cost is measured.
    schedules: u64,
    /// Rounds of a yielding task, in thousands.
    pub(crate) thousands: u64,
}

impl Effort {
    /// Of each side 150 tries: a median of thirty wavers by a quarter. In many turns, so that each side meets the machine when it is fast.
    pub(crate) const FULL: Effort =
        Effort { rounds: 15, tries: 10, schedules_max: 5_000, schedules: 2_500, thousands: 50 };
    /// Enough to see that everything runs.
    pub(crate) const SHORT: Effort = Effort { rounds: 1, tries: 4, schedules_max: 500, schedules: 200, thousands: 1 };
}

/// The strategy that ours is compared with.
const OURS: &str = "surw";

/// A contender, and its name of a strategy.
type Side = (Contender, &'static str);

/// Who runs, and how.
const SIDES: &[Side] = &[
    (Contender::Ours, "random"),
    (Contender::Shuttle, "random"),
    (Contender::Ours, "pct:depth=2"),
    (Contender::Shuttle, "pct:depth=2"),
    (Contender::Ours, "pct:depth=3"),
    (Contender::Shuttle, "pct:depth=3"),
    (Contender::Ours, "pos"),
    (Contender::Ours, "urw"),
    (Contender::Shuttle, "urw"),
    (Contender::Ours, "surw"),
    (Contender::Ours, "portfolio"),
];

/// What a contender did with a program under one strategy.
struct Measured {
    contender: Contender,
    strategy: &'static str,
    schedules: Median,
    /// Of all schedules that were run to measure their cost, how many had the bug.
    share: f64,
    points: f64,
    /// Processor time of a schedule, in seconds: of the fastest turn.
    schedule_s: f64,
}

impl Measured {
    /// The time to the first bug: schedules up to it, by what one takes.
    fn bug_s(&self) -> f64 {
        self.schedules.median * self.schedule_s
    }
}

/// Measures everything on every program, and prints it. Gives the ratios.
pub(crate) fn compare(contenders: &Contenders, effort: &Effort) -> Vec<(String, String)> {
    println!(
        "{:<16} {:<9} {:<12} {:>9} {:>17} {:>9} {:>8} {:>12} {:>13}",
        "program", "contender", "strategy", "schedules", "95 %", "share", "points", "schedules/s", "time to bug"
    );
    let (mut ratios, mut of_best) = (Vec::new(), Vec::new());
    for (program, about) in PROGRAMS {
        let measured = measure(contenders, effort, program);
        println!("{program}: {about}");
        measured.iter().for_each(print);
        let best = |contender: Contender| {
            let of_contender = measured.iter().filter(|side| side.contender == contender);
            of_contender.min_by(|left, right| left.bug_s().total_cmp(&right.bug_s())).expect("each has a strategy")
        };
        let ours = measured.iter().find(|side| side.contender == Contender::Ours && side.strategy == OURS);
        let (ours, shuttle) = (ours.expect("it is one of the sides"), best(Contender::Shuttle));
        let our_best = best(Contender::Ours);
        let [ratio, ratio_of_best] = [ours, our_best].map(|side| side.bug_s() / shuttle.bug_s());
        println!(
            "{:<16} {} over shuttle's best, {}: {ratio:.2}; our best, {}: {ratio_of_best:.2}\n",
            "", ours.strategy, shuttle.strategy, our_best.strategy
        );
        ratios.push(ratio);
        of_best.push(ratio_of_best);
    }
    let better = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    println!(
        "ours is {OURS} on every program; shuttle's is whichever of its strategies is fastest on it; {} programs",
        ratios.len()
    );
    let mean = |ratios| geometric_mean(ratios).map_or_else(|| "none".to_owned(), |mean| format!("{mean:.2}"));
    vec![
        ("time_to_bug_geomean_vs_shuttle".to_owned(), mean(&ratios)),
        // Each side by whichever of its strategies is fastest on the program.
        ("time_to_bug_geomean_best_vs_best".to_owned(), mean(&of_best)),
        ("programs_better_than_shuttle".to_owned(), better.to_string()),
    ]
}

fn measure(contenders: &Contenders, effort: &Effort, program: &str) -> Vec<Measured> {
    let mut told: Vec<(Vec<Told>, Vec<Told>)> = SIDES.iter().map(|_| Default::default()).collect();
    for round in 0..effort.rounds {
        for ((contender, strategy), (searches, rates)) in SIDES.iter().zip(&mut told) {
            // Far apart, so that no seed is used twice.
            let search = |seed| Search {
                program: program.to_owned(),
                is_mended: false,
                strategy: (*strategy).to_owned(),
                seed: seed + round * 1_000_000_000,
            };
            let (tries, schedules_max) = (effort.tries, effort.schedules_max);
            searches.push(contenders.search(*contender, &Request::Search { search: search(1), tries, schedules_max }));
            let rate = Request::Rate { search: search(500_000_000), schedules: effort.schedules };
            rates.push(contenders.search(*contender, &rate));
        }
    }
    let measured = |((contender, strategy), (searches, rates)): (&Side, (Vec<Told>, Vec<Told>))| {
        let tries = searches.iter().flat_map(|told| &told.tries);
        let sum = |of: fn(&Told) -> u64| rates.iter().map(of).sum::<u64>() as f64;
        let schedules = sum(|told| told.schedules);
        Measured {
            contender: *contender,
            strategy,
            schedules: median(tries.map(|schedules| schedules.map_or(f64::INFINITY, |schedules| schedules as f64))),
            share: sum(|told| told.found) / schedules,
            points: sum(|told| told.points) / schedules,
            schedule_s: rates.iter().map(|told| told.seconds / told.schedules as f64).fold(f64::INFINITY, f64::min),
        }
    };
    SIDES.iter().zip(told).map(measured).collect()
}

fn print(measured: &Measured) {
    let number = |value: f64| if value.is_finite() { format!("{value:.1}") } else { "none".to_owned() };
    let Measured { contender, strategy, schedules, share, points, schedule_s } = measured;
    let bug_us = measured.bug_s() * 1e6;
    println!(
        "{:<16} {:<9} {strategy:<12} {:>9} {:>17} {:>7.3} % {points:>8.1} {:>12.0} {:>13}",
        "",
        contender.name(),
        number(schedules.median),
        format!("{}–{}", number(schedules.low), number(schedules.high)),
        share * 100.0,
        1.0 / schedule_s,
        if bug_us.is_finite() { format!("{bug_us:.1} µs") } else { "none".to_owned() },
    );
}
