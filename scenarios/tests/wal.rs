//! sqlite-wal as a whole: seeds pass, the same plan gives the same run, every moment may be the last, and each planted bug is caught by its own invariant.

use seedstorm_model::mutant::catalogue;
use seedstorm_scenarios::sqlite_wal::SqliteWal;
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Faults, Trigger, Why};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Options, Outcome, Plan, Scenario, Seed, Settings, run};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

fn options(set: &[(&str, &str)]) -> Options {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Options { set, ..Options::default() }
}

fn plan(seed: u64, options: &Options) -> Plan {
    let plan = SqliteWal.plan(Seed(seed), options).expect("a plan");
    SqliteWal.check(&plan).expect("a plan that the scenario knows");
    plan
}

fn carry_out(plan: &Plan, crash_points: CrashPoints) -> Outcome {
    run(&SqliteWal, plan, Settings { crash_points, ..Settings::default() }).expect("it can be run")
}

#[test]
fn seeds_pass_whatever_goes_wrong_and_repeat_themselves() {
    for seed in 0..25 {
        let plan = plan(seed, &options(&[("operations", "60")]));
        let outcome = carry_out(&plan, CrashPoints::Sampled(4));
        assert!(outcome.passed(), "seed {seed}: {:#?}", outcome.violations);
        assert!(outcome.observations.counters["transactions"] > 0, "seed {seed}");
        let again = carry_out(&plan, CrashPoints::None);
        assert_eq!(outcome.trace_hash, again.trace_hash, "seed {seed}");
    }
}

#[test]
fn every_moment_may_be_the_last_under_both_contracts() {
    for synchronous in ["full", "normal"] {
        let options = Options {
            workers: Some(3),
            faults: Faults::None,
            ..options(&[("operations", "40"), ("synchronous", synchronous)])
        };
        let outcome = carry_out(&plan(7, &options), CrashPoints::All);
        assert!(outcome.passed(), "{synchronous}: {:#?}", outcome.violations);
    }
}

#[test]
fn what_fsync_fails_to_keep_is_no_violation() {
    let faults = Faults::Kinds(vec![FaultKind::FailedSync, FaultKind::LyingSync, FaultKind::MachineCrash]);
    for seed in 0..10 {
        let options = Options { faults: faults.clone(), ..options(&[("operations", "60")]) };
        let outcome = carry_out(&plan(seed, &options), CrashPoints::None);
        assert!(outcome.passed(), "seed {seed}: {:#?}", outcome.violations);
    }
}

/// So many seeds must show each planted bug.
const SEEDS: u64 = 400;

/// The first seed that a planted bug fails, with its first violation's invariant. The same plan passes without it.
fn first_failure(mutant: &str) -> Option<(u64, String)> {
    (0..SEEDS).find_map(|seed| {
        let mut plan = plan(seed, &options(&[("mutant", mutant)]));
        let outcome = carry_out(&plan, CrashPoints::Sampled(4));
        let invariant = outcome.violations.first()?.invariant.clone();
        plan.settings.remove("mutant");
        let sound = carry_out(&plan, CrashPoints::Sampled(4));
        assert!(sound.passed(), "{mutant}: seed {seed} fails without it, too: {:#?}", sound.violations);
        Some((seed, invariant))
    })
}

#[test]
fn each_planted_bug_is_caught_by_its_own_invariant_first() {
    let own: Vec<_> = catalogue().filter(|mutant| mutant.scenario == SqliteWal.name()).collect();
    assert!(own.len() >= 8, "they were found");
    for mutant in own {
        let (seed, invariant) = first_failure(mutant.name).unwrap_or_else(|| panic!("{} is not found", mutant.name));
        assert!(mutant.planted_bug().is_caught_by(&invariant), "{}: seed {seed} fails by {invariant}", mutant.name);
    }
}

/// A power loss at the n-th write of a process that writes.
fn power_loss(nth: u64) -> FaultPlan {
    let when = Trigger::Call { kind: CallKind::WriteAt, nth };
    let process = Some("agent-0".to_owned());
    FaultPlan { id: 1, kind: FaultKind::MachineCrash, process, when, for_ns: 1_000_000, by_ns: 0, between: None }
}

#[test]
fn a_power_loss_takes_nothing_back_under_full_and_the_last_commits_under_normal() {
    let taken_back = |synchronous: &str, nth: u64| {
        let set =
            [("operations", "60"), ("synchronous", synchronous), ("autocheckpoint_pages", "50"), ("connections", "1")];
        let options = Options { workers: Some(2), faults: Faults::Exactly(vec![power_loss(nth)]), ..options(&set) };
        let outcome = carry_out(&plan(3, &options), CrashPoints::None);
        assert!(outcome.passed(), "{synchronous}, {nth}: {:#?}", outcome.violations);
        outcome.observations.coverage.get("taken_back_by_power_loss").copied().unwrap_or(0)
    };
    assert_eq!((1..20).map(|nth| taken_back("full", nth * 7)).sum::<u64>(), 0);
    assert!((1..20).map(|nth| taken_back("normal", nth * 7)).sum::<u64>() > 0);
}

#[test]
fn what_a_sweep_must_show_shows() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 500..600 {
        let outcome = carry_out(&plan(seed, &Options::default()), CrashPoints::None);
        assert!(outcome.passed(), "seed {seed}: {:#?}", outcome.violations);
        outcome.observations.coverage.keys().for_each(|name| *seen.entry(name).or_default() += 1);
    }
    let missing: BTreeSet<_> = SqliteWal.coverage().iter().filter(|name| !seen.contains_key(**name)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}, of {seen:?}");
}

#[test]
fn plans_of_another_kind_are_refused() {
    let sound = plan(1, &Options::default());
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = sound.clone();
        change(&mut plan);
        match SqliteWal.check(&plan).expect_err("it is refused").why {
            Why::Value { allowed, .. } | Why::Unknown { allowed, .. } => allowed,
            Why::Words(words) => words,
        }
    };
    assert_eq!(refused(&|plan| plan.operations[0].kind = "note".into()), "write, read, scan, hold, checkpoint, check");
    let argue = |key: &'static str, value: Value| {
        move |plan: &mut Plan| drop(plan.operations[0].arguments.insert(key.into(), value.clone()))
    };
    assert_eq!(refused(&argue("mode", Value::String("lazy".into()))), "passive, full, restart, truncate");
    assert_eq!(refused(&argue("connection", Value::Integer(16))), "a whole number from 0 to 15");
    assert_eq!(refused(&argue("colour", Value::Integer(1))), "connection, rows, bytes, held_ns, mode");
}
