//! What scenarios draw from options: limits of their settings, faults that are asked for by kind, and what a plan file may not change.

use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_scenarios::guillotine::Guillotine;
use seedstorm_scenarios::signal_flood::SignalFlood;
use seedstorm_sim::plan::{FaultKind, Faults, Trigger};
use seedstorm_sim::{Options, Scenario, Seed};
use std::collections::BTreeSet;
use toml::Value;

fn keys(count: &str) -> Options {
    Options { set: [("board_keys".to_owned(), count.to_owned())].into(), ..Options::default() }
}

#[test]
fn a_board_has_at_most_as_many_keys_as_are_used() {
    let plan = ConcurrencyStorm.plan(Seed(1), &keys("64")).expect("64 are allowed");
    assert_eq!(plan.setting_u64("board_keys", 0), 64);
    let error = ConcurrencyStorm.plan(Seed(1), &keys("65")).expect_err("65 are not");
    assert_eq!(error.allowed, "a whole number from 1 to 64");
}

#[test]
fn a_kind_of_fault_that_is_named_twice_is_drawn_once() {
    let faults = |kinds: &[FaultKind]| {
        let options = Options { faults: Faults::Kinds(kinds.to_vec()), ..Options::default() };
        ConcurrencyStorm.plan(Seed(1), &options).expect("the options are good").faults
    };
    let (kill, pause) = (FaultKind::Kill, FaultKind::Pause);
    let once = faults(&[kill, pause]);
    assert!(once.len() >= 2, "{once:?}");
    assert_eq!(faults(&[kill, pause, kill, kill, pause]), once);
}

#[test]
fn faults_of_messages_are_drawn_as_weather_and_aimed() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let kinds: Vec<FaultKind> =
            FaultKind::ALL.iter().copied().filter(|kind| !FaultKind::WITHOUT_MESSAGES.contains(kind)).collect();
        assert_eq!(kinds.len(), 6);
        let options = Options { faults: Faults::Kinds(kinds), ..Options::default() };
        assert_eq!(ConcurrencyStorm.plan(Seed(seed), &options).expect("it leaves them out").faults, []);
        let plan = SignalFlood.plan(Seed(seed), &options).expect("the options are good");
        assert!(plan.faults.len() >= 6);
        for fault in &plan.faults {
            fault.check().expect("each can happen");
            seen.insert((fault.kind, matches!(fault.when, Trigger::Weather { .. }), fault.between.is_some()));
        }
    }
    for kind in FaultKind::ALL.iter().filter(|kind| kind.hits_messages()) {
        for way in [(*kind, true, false), (*kind, true, true), (*kind, false, false)] {
            assert!(seen.contains(&way), "{way:?} is not among {seen:?}");
        }
    }
    assert!(seen.contains(&(FaultKind::Partition, false, true)));
}

#[test]
fn the_guillotines_agents_keep_days_and_nothing_else_runs_under_its_name() {
    let mut plan = Guillotine.plan(Seed(1), &Options::default()).expect("the options are good");
    Guillotine.check(&plan).expect("what was drawn can be run");
    plan.settings.insert("days".into(), Value::Integer(0));
    let error = Guillotine.check(&plan).expect_err("the days are fixed");
    assert_eq!(error.to_string(), "settings.days: `0` is not possible; allowed: 1");
    let given = Options { set: [("days".to_owned(), "0".to_owned())].into(), ..Options::default() };
    Guillotine.plan(Seed(1), &given).expect_err("it is no setting that can be chosen");
}

#[test]
fn faults_of_the_guillotine_have_ids_of_their_own_and_go_when_they_are_turned_off() {
    let mut in_company = 0;
    for seed in 0..200 {
        let faults = |faults| {
            let options = Options { faults, ..Options::default() };
            Guillotine.plan(Seed(seed), &options).expect("the options are good").faults
        };
        let drawn = faults(Faults::Default);
        let ids: BTreeSet<u32> = drawn.iter().map(|fault| fault.id).collect();
        assert_eq!(ids.len(), drawn.len(), "seed {seed}");
        drawn.iter().for_each(|fault| fault.check().expect("each can happen"));
        in_company += usize::from(drawn.iter().any(|fault| fault.id % 1000 >= 500));
        assert_eq!(faults(Faults::None), []);
        let kills = faults(Faults::Kinds(vec![FaultKind::Kill]));
        assert!(kills.iter().all(|fault| fault.kind == FaultKind::Kill && fault.id % 1000 < 500), "{kills:?}");
    }
    assert!((80..160).contains(&in_company), "{in_company} seeds of 200");
}
