//! signal-flood as a whole: small floods pass, the same plan gives the same run, and what the disk loses is found.

use seedstorm_scenarios::signal_flood::SignalFlood;
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::plan::Faults;
use seedstorm_sim::{Options, Outcome, Scenario, Seed, Settings, run};

fn options(set: &[(&str, &str)]) -> Options {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Options { workers: Some(5), duration_ns: Some(60_000_000), set, ..Options::default() }
}

fn flood(seed: u64, options: &Options, crash_points: CrashPoints) -> Outcome {
    let plan = SignalFlood.plan(Seed(seed), options).expect("a plan");
    SignalFlood.check(&plan).expect("a plan that the scenario knows");
    run(&SignalFlood, &plan, Settings { crash_points, ..Settings::default() }).expect("it can be run")
}

#[test]
fn floods_pass_whatever_goes_wrong_and_repeat_themselves() {
    for seed in 0..12 {
        let outcome = flood(seed, &options(&[]), CrashPoints::Sampled(4));
        assert!(outcome.passed(), "seed {seed}: {:#?}", outcome.violations);
        assert!(outcome.observations.counters["deliveries"] > 0, "seed {seed}");
        let again = flood(seed, &options(&[]), CrashPoints::None);
        assert_eq!(outcome.trace_hash, again.trace_hash, "seed {seed}");
    }
}

#[test]
fn every_moment_of_a_flood_may_be_its_last() {
    let options = Options { workers: Some(3), faults: Faults::None, ..options(&[]) };
    let outcome = flood(7, &options, CrashPoints::All);
    assert!(outcome.passed(), "{:#?}", outcome.violations);
}

#[test]
fn a_signal_that_is_acknowledged_and_not_durable_is_found() {
    for seed in 0..3 {
        let outcome = flood(seed, &options(&[("mutant", "synchronous-normal")]), CrashPoints::None);
        let first = outcome.violations.first().map(|violation| violation.invariant.as_str());
        assert_eq!(first, Some("signals-survive"), "seed {seed}: {:#?}", outcome.violations);
    }
}

#[test]
fn the_limit_on_what_a_sender_sends_slows_it_down_and_loses_nothing() {
    let options = Options { faults: Faults::None, ..options(&[("signals_per_minute", "2"), ("answer_percent", "0")]) };
    let outcome = flood(3, &options, CrashPoints::None);
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    // Four signals each, two a minute.
    assert!(outcome.simulated_ns > 60_000_000_000, "{} ns", outcome.simulated_ns);
}
