//! Power loss: what SQLite acknowledged with `synchronous=FULL` survives it, and what breaks that promise is seen.

mod sqlite_support;

use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::{CallKind, Event, Interest};
use seedstorm_sim::{Outcome, Plan, View};
use sqlite_support::writers::{Kept, Use, add};
use sqlite_support::{fault, pass, plan, run_plan};

const PROFILES: [Persistence; 3] = [Persistence::Posix, Persistence::Ext4, Persistence::Strict];

/// The power fails a few times in the course of a run.
fn losses(seed: u64) -> Vec<FaultPlan> {
    let at = |id: u32| Trigger::AtNs(2_000_000 + (seed * 7_919 + u64::from(id) * 104_729) % 40_000_000);
    (1..=2).map(|id| fault(id, FaultKind::MachineCrash, None, at(id))).collect()
}

fn stormy(seed: u64, persistence: Persistence) -> Plan {
    Plan {
        faults: losses(seed),
        persistence,
        strategy: [StrategyPlan::Random, StrategyPlan::Timed][(seed % 2) as usize],
        ..plan(seed)
    }
}

fn survives(how: Use, seeds: u64, images: bool) {
    let mut losses = 0;
    for seed in 0..seeds {
        let outcome = pass(&stormy(seed, PROFILES[(seed % 3) as usize]), |_, world| {
            add(world, how);
            world.invariant(Kept { images, ..Kept::default() });
        });
        losses += outcome.observations.faults.get(&FaultKind::MachineCrash).copied().unwrap_or(0);
    }
    assert!(losses > seeds / 2, "{losses} power losses");
}

#[test]
fn what_a_wal_acknowledged_survives() {
    survives(Use::WAL, 150, true);
}

#[test]
fn what_a_rollback_journal_acknowledged_survives() {
    // EXTRA makes the deletion of the journal durable too; with FULL a power loss may bring it back, and with it the state before
    // (sqlite.org/pragma.html#pragma_synchronous).
    survives(Use { journal: "DELETE", synchronous: "EXTRA", ..Use::WAL }, 60, true);
    survives(Use { journal: "TRUNCATE", synchronous: "FULL", ..Use::WAL }, 40, true);
    survives(Use { journal: "PERSIST", synchronous: "FULL", ..Use::WAL }, 40, true);
}

/// How many seeds lost something; what else goes wrong is none of it.
fn seeds_with_losses(seeds: u64, run: impl Fn(u64) -> Outcome) -> u64 {
    let lost = |outcome: &Outcome| match outcome.violations.as_slice() {
        [] => false,
        [violation] => {
            // Where the schema itself was lost, the writers never finish.
            let losses = ["no-lost-write", "database-sound", "unvoided", "progress"];
            assert!(losses.contains(&violation.invariant.as_str()), "{violation:#?}");
            true
        }
        more => panic!("{more:#?}"),
    };
    (0..seeds).filter(|&seed| lost(&run(seed))).count() as u64
}

#[test]
fn what_sqlite_does_not_promise_is_lost_at_times() {
    // Of a journal's deletion FULL doesn't wait for the directory; NORMAL doesn't wait for the WAL.
    for (journal, synchronous) in [("DELETE", "FULL"), ("WAL", "NORMAL")] {
        let how = Use { journal, synchronous, ..Use::WAL };
        let lost = seeds_with_losses(20, |seed| {
            run_plan(&stormy(seed, Persistence::Posix), |_, world| {
                add(world, how);
                world.invariant(Kept { images: true, ..Kept::default() });
            })
        });
        assert!(lost > 10, "{how:?}: only {lost} of 20 seeds lost a commit");
    }
}

/// Every fsync of one writer's first boots lies. Voided by the fault's kind, so the judge is one that no fault voids.
fn lying(seed: u64) -> Plan {
    let lie = |id: u32| {
        fault(id, FaultKind::LyingSync, Some("writer-0"), Trigger::Call { kind: CallKind::Sync, nth: u64::from(id) })
    };
    Plan { faults: (1..=8).map(lie).collect(), ..plan(seed) }
}

#[test]
fn a_lying_fsync_is_seen_by_the_judge_of_commits_and_by_crash_images() {
    for (images, wants_commits_durable) in [(true, false), (false, true)] {
        let lost = seeds_with_losses(20, |seed| {
            run_plan(&lying(seed), |_, world| {
                add(world, Use::WAL);
                world.invariant(Unvoided(Kept { images, wants_commits_durable, ..Kept::default() }));
            })
        });
        assert!(lost > 10, "images {images}: only {lost} of 20 seeds lost a commit");
    }
}

#[test]
fn honest_commits_are_durable_when_they_are_acknowledged() {
    for seed in 0..60 {
        pass(&stormy(seed, PROFILES[(seed % 3) as usize]), |_, world| {
            add(world, Use::WAL);
            world.invariant(Kept { wants_commits_durable: true, ..Kept::default() });
        });
    }
}

/// A judge under a name that no fault voids.
struct Unvoided(Kept);

impl Invariant for Unvoided {
    fn id(&self) -> &'static str {
        "unvoided"
    }

    fn interest(&self) -> Interest {
        self.0.interest()
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.0.observe(event, view).map_err(|violation| Violation::new("unvoided", violation.message))
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
