//! What the concurrency storm draws from options: limits of its settings, and faults that are asked for by kind.

use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_sim::plan::{FaultKind, Faults};
use seedstorm_sim::{Options, Scenario, Seed};

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
