//! Processes that die while SQLite works: nothing that the dead do takes effect, and nothing that they did is lost.

mod sqlite_support;

use seedstorm_sim::plan::{FaultKind, FaultPlan, Position, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Draw, Plan, Seed};
use sqlite_support::writers::{COMMITTED_AFTER_DEATH, Kept, Use, add};
use sqlite_support::{fault, pass, pass_recorded, plan};
use std::sync::atomic::Ordering;

/// Kills of writers at drawn calls, some of them in the middle of a transaction.
fn kills(seed: u64, count: u32) -> Vec<FaultPlan> {
    let mut draw = Seed(seed).stream("kills");
    let kinds = [
        CallKind::WriteAt,
        CallKind::Sync,
        CallKind::SharedLock,
        CallKind::SharedBarrier,
        CallKind::FileControl,
        CallKind::ReadAt,
    ];
    let one = |id| {
        let writer = format!("writer-{}", draw.below(3));
        let when = match draw.below(3) {
            0 => Trigger::While { position: Position::InTransaction, nth: 1 + draw.below(60) },
            1 => Trigger::While { position: Position::BetweenEffectAndClaim, nth: 1 + draw.below(3) },
            _ => Trigger::Call { kind: kinds[draw.below(kinds.len() as u64) as usize], nth: 1 + draw.below(40) },
        };
        fault(id, FaultKind::Kill, Some(&writer), when)
    };
    (1..=count).map(one).collect()
}

fn sweep(how: Use, seeds: std::ops::Range<u64>) -> u64 {
    let mut fired = 0;
    for seed in seeds {
        let deadly = Plan { faults: kills(seed, 5), ..plan(seed) };
        let outcome = pass(&deadly, |_, world| {
            add(world, how);
            world.invariant(Kept { images: true, ..Kept::default() });
        });
        fired += outcome.observations.faults.get(&FaultKind::Kill).copied().unwrap_or(0);
    }
    fired
}

#[test]
fn kills_lose_nothing_and_the_dead_claim_nothing() {
    let fired = sweep(Use::WAL, 0..150);
    assert!(fired > 300, "{fired} kills");
    let after_death = COMMITTED_AFTER_DEATH.load(Ordering::Relaxed);
    assert!(after_death > 0, "no COMMIT succeeded after its process's death: the claims were not put to the test");
}

#[test]
fn kills_lose_nothing_with_a_rollback_journal() {
    let fired = sweep(Use { journal: "DELETE", synchronous: "EXTRA", ..Use::WAL }, 0..60);
    assert!(fired > 30, "{fired} kills");
}

#[test]
fn runs_with_kills_repeat_bit_for_bit() {
    let deadly = Plan { faults: kills(11, 6), ..plan(11) };
    let run = |is_watched: bool| {
        pass_recorded(&deadly, move |_, world| {
            add(world, Use::WAL);
            if is_watched {
                world.invariant(Kept { images: true, ..Kept::default() });
            }
        })
    };
    let plain = run(false);
    assert!(plain.observations.faults.contains_key(&FaultKind::Kill));
    for is_watched in [true, false, true] {
        let again = run(is_watched);
        assert_eq!(again.trace_hash, plain.trace_hash, "with inspections: {is_watched}");
        assert_eq!(again.turns, plain.turns);
    }
}
