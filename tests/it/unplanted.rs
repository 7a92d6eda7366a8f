//! Each invariant has a planted bug that it must catch. Those that have none stand here: why, and the test that trips them instead.

use seedstorm_sim::invariant::GENERIC;
use std::collections::BTreeSet;
use std::path::Path;

/// An invariant without a planted bug.
struct Unplanted {
    invariant: &'static str,
    /// The file of the test that trips it, in the workspace, and the test's name.
    tripped_by: (&'static str, &'static str),
}

const fn unplanted(invariant: &'static str, file: &'static str, test: &'static str) -> Unplanted {
    Unplanted { invariant, tripped_by: (file, test) }
}

/// The harness's own: each is broken by a program that hangs, panics, dies or never comes up. A bug of the engine is planted after a mechanism that
/// goes wrong, and has an invariant that says what is wrong; these only say that a run or a recovery did not come to its end.
const OF_THE_HARNESS: &[Unplanted] = &[
    unplanted("no-panic", "sim/tests/kernel/lives.rs", "a_panic_is_a_violation_and_the_next_run_is_as_ever"),
    unplanted(
        "leaves-when-dead",
        "sim/tests/blocking_endless.rs",
        "code_that_retries_for_ever_after_its_death_is_left_behind_and_reported",
    ),
    unplanted(
        "recovers",
        "sim/tests/crash_points/recoveries.rs",
        "a_recovery_that_fails_is_flagged_also_if_its_next_try_would_not",
    ),
    unplanted("worker-died", "tests/it/failures.rs", "a_worker_that_aborts_is_its_seeds_failure"),
    unplanted("worker-timed-out", "tests/it/failures.rs", "a_worker_that_hangs_is_ended"),
];

/// Beneath the engine, or promised by its construction.
const OUT_OF_REACH: &[Unplanted] = &[
    // SQLite's own soundness: callers can't break it through its interface.
    unplanted("database-sound", "scenarios/tests/oracles.rs", "database_sound_finds_garbage_in_a_page"),
    // What is delivered is chosen among rows that the send's own transaction has written, and claimed before it could commit: a signal that nobody has sent has
    // no row, whatever a copy says.
    unplanted("delivered-after-sent", "scenarios/tests/signals.rs", "nothing_comes_before_it_is_sent"),
];

/// Others say more of the same event and come before them, so that they are never the first: whatever trips them trips those. Their tests plant a bug, and
/// leave everything else unasked.
const OVERSHADOWED: &[Unplanted] = &[
    // By `clocks-agree`: the truth only rises, so a clock that falls is not the truth.
    unplanted("clocks-monotone", "scenarios/tests/overshadowed.rs", "a_clock_that_is_overwritten_falls"),
    // By `clocks-agree`: a clock that knows the future knows more than the truth.
    unplanted("claimed-order-acyclic", "scenarios/tests/overshadowed.rs", "a_sender_that_is_counted_on_closes_a_cycle"),
    // By `isolation-by-rank` and `labels-agree`: labels that depend on an order are not those of the naive labeller, which knows none.
    unplanted(
        "labels-order-free",
        "scenarios/tests/overshadowed.rs",
        "contradictions_that_yield_by_arrival_are_labelled_by_their_order",
    ),
];

fn excepted() -> impl Iterator<Item = &'static Unplanted> {
    OF_THE_HARNESS.iter().chain(OUT_OF_REACH).chain(OVERSHADOWED)
}

fn invariants() -> BTreeSet<&'static str> {
    let of_scenarios = seedstorm_scenarios::all().iter().flat_map(|scenario| scenario.invariants().iter());
    GENERIC.iter().chain(seedstorm::WORKER_INVARIANTS).chain(of_scenarios).map(|(id, _)| *id).collect()
}

#[test]
fn every_invariant_has_a_planted_bug_or_a_reason() {
    let caught: BTreeSet<&str> = seedstorm_model::mutant::catalogue().map(|mutant| mutant.invariant).collect();
    let also: BTreeSet<&str> = seedstorm_model::mutant::catalogue().flat_map(|mutant| mutant.also).copied().collect();
    let invariants = invariants();
    assert!(invariants.len() > 40 && caught.len() > 20, "they were found");
    let strange: Vec<_> = caught.union(&also).filter(|name| !invariants.contains(*name)).collect();
    assert!(strange.is_empty(), "planted bugs name invariants that nobody checks: {strange:?}");
    let excepted: BTreeSet<&str> = excepted().map(|one| one.invariant).collect();
    let proven: BTreeSet<&str> = caught.union(&excepted).copied().collect();
    let without: Vec<_> = invariants.difference(&proven).collect();
    assert!(without.is_empty(), "no planted bug trips these invariants: {without:?}");
    let needless: Vec<_> =
        excepted.iter().filter(|name| caught.contains(*name) || !invariants.contains(*name)).collect();
    assert!(needless.is_empty(), "these have a planted bug, or are no more: take them out of the list: {needless:?}");
}

#[test]
fn who_has_no_planted_bug_has_a_test() {
    for Unplanted { invariant, tripped_by: (file, test) } in excepted() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("#[test]\nfn {test}()")), "{invariant}: {file} has no test {test}");
    }
}
