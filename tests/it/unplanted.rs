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
/// goes wrong, and has an invariant that says what is wrong; these only say that a run did not come to its end.
const OF_THE_HARNESS: &[Unplanted] = &[
    unplanted("progress", "sim/tests/kernel/budgets.rs", "the_step_budget_ends_a_run_that_goes_on_for_ever"),
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

/// Beneath the engine or above it: SQLite's own soundness, which callers can't break through its interface; and what all operations of a kind together
/// come to, which a single wrong step doesn't decide.
const OUT_OF_REACH: &[Unplanted] = &[
    unplanted("database-sound", "scenarios/tests/oracles.rs", "database_sound_finds_garbage_in_a_page"),
    unplanted(
        "calm-completes",
        "scenarios/tests/oracles.rs",
        "calm_completes_wants_each_planned_kind_to_complete_in_the_calm",
    ),
];

/// A bug could be planted for these, and none is yet. The list may only grow shorter.
const NOT_YET: &[Unplanted] = &[
    unplanted(
        "waits-for-acyclic",
        "sim/tests/invariant_locks.rs",
        "a_deadlock_over_named_locks_is_found_and_printed_whole",
    ),
    unplanted(
        "agents-return",
        "scenarios/tests/crash_points.rs",
        "agents_that_wake_and_do_nothing_are_flagged_at_once",
    ),
    unplanted("damage-named", "scenarios/tests/memories.rs", "damage_named_finds_damage_that_nobody_named"),
    unplanted(
        "lock-timeouts-handled",
        "scenarios/tests/oracles.rs",
        "lock_timeouts_handled_finds_an_agent_that_ends_because_of_one",
    ),
    unplanted("locks-free", "scenarios/tests/oracles.rs", "locks_free_finds_a_lock_of_a_process_that_ended_well"),
    unplanted("memories-kept", "scenarios/tests/memories.rs", "memories_kept_finds_a_seal_without_a_file"),
    unplanted("orphans-swept", "scenarios/tests/memories.rs", "orphans_swept_finds_a_file_that_nobody_sealed"),
    unplanted(
        "dead-locks-reclaimed",
        "scenarios/tests/days.rs",
        "dead_locks_reclaimed_finds_a_lock_of_an_earlier_life",
    ),
    unplanted(
        "status-true",
        "scenarios/tests/days.rs",
        "status_true_finds_a_dead_worker_a_living_dead_and_a_sleep_that_never_was",
    ),
    unplanted(
        "temporaries-reaped",
        "scenarios/tests/days.rs",
        "temporaries_have_one_owner_stay_while_it_lives_and_go_in_the_end",
    ),
    unplanted("wake-succeeds", "scenarios/tests/days.rs", "wake_succeeds_wants_each_life_to_get_awake"),
    unplanted("delivered-after-sent", "scenarios/tests/signals.rs", "nothing_comes_before_it_is_sent"),
    unplanted("signals-survive", "scenarios/tests/flood.rs", "a_signal_that_is_acknowledged_and_not_durable_is_found"),
    unplanted("clocks-monotone", "scenarios/tests/signals.rs", "the_clock_of_a_life_only_rises"),
    unplanted("claimed-order-acyclic", "scenarios/tests/signals.rs", "a_clock_that_knows_the_future_closes_a_cycle"),
    unplanted(
        "batches-kept",
        "scenarios/tests/belief_oracles.rs",
        "batches_kept_finds_an_acknowledgement_with_nothing_behind_it",
    ),
    unplanted(
        "contradictions-flagged",
        "scenarios/tests/belief_oracles.rs",
        "contradictions_flagged_finds_one_that_is_not",
    ),
    unplanted(
        "labels-order-free",
        "scenarios/tests/belief_oracles.rs",
        "labels_order_free_finds_labels_that_another_order_does_not_give",
    ),
    unplanted("relabel-bounded", "scenarios/tests/belief_oracles.rs", "relabel_bounded_finds_work_without_bound"),
];

fn excepted() -> impl Iterator<Item = &'static Unplanted> {
    OF_THE_HARNESS.iter().chain(OUT_OF_REACH).chain(NOT_YET)
}

fn invariants() -> BTreeSet<&'static str> {
    let of_scenarios = seedstorm_scenarios::all().iter().flat_map(|scenario| scenario.invariants().iter());
    GENERIC.iter().chain(seedstorm::WORKER_INVARIANTS).chain(of_scenarios).map(|(id, _)| *id).collect()
}

#[test]
fn every_invariant_has_a_planted_bug_or_a_reason() {
    let caught: BTreeSet<&str> = seedstorm_model::mutant::catalogue().map(|mutant| mutant.invariant).collect();
    let invariants = invariants();
    assert!(invariants.len() > 40 && caught.len() > 20, "they were found");
    let strange: Vec<_> = caught.difference(&invariants).collect();
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
