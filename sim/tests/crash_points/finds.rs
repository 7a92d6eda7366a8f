//! What crash points find that no run without a crash can: bugs of durability, by the images that a crash allows.

use crate::support::{
    Bug, Case, FILE, FILE_BYTES, Kept, count, fired, look, passed, plan, run_case, run_saving, save_all,
};
use seedstorm_sim::invariant::{CrashPoints, Invariant, Survivor, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::{CallKind, Event, Interest};
use seedstorm_sim::{Plan, Seed, View, World};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

#[test]
fn a_program_without_a_bug_survives_every_crash() {
    for persistence in [Persistence::Strict, Persistence::Ext4, Persistence::Posix] {
        let outcome = run_saving(&Plan { persistence, ..plan() }, Bug::None, CrashPoints::All);
        passed(&outcome);
        // Three calls of each save may change the durable image, the claim is the fourth point; and one call in the beginning.
        assert!(count(&outcome, "crash_points") >= 5 * 3, "{persistence:?}: {:?}", outcome.observations.counters);
        assert!(count(&outcome, "crash_images") >= 10, "{persistence:?}: {:?}", outcome.observations.counters);
    }
}

#[test]
fn a_missing_fsync_is_found_without_any_crash_in_the_plan() {
    passed(&run_saving(&plan(), Bug::FileSync, CrashPoints::None));
    let outcome = run_saving(&plan(), Bug::FileSync, CrashPoints::All);
    fired(
        &outcome,
        "kept",
        &[
            "had the power failed at step",
            "just before agent-0's fsync of /data",
            "kept the rename of /data/file.1 to /data/file",
            "of /data/file, but not the length that it gave",
        ],
    );
    let violation = &outcome.violations[0];
    assert_eq!((violation.fingerprint.as_str(), violation.step), ("kept/file/-/torn", outcome.steps));
}

#[test]
fn a_missing_fsync_of_the_directory_is_found_at_the_acknowledgement() {
    passed(&run_saving(&plan(), Bug::DirectorySync, CrashPoints::None));
    let outcome = run_saving(&plan(), Bug::DirectorySync, CrashPoints::All);
    fired(
        &outcome,
        "kept",
        &["revision 1 is gone", "just after agent-0's claim", "lost the rename of /data/file.1 to /data/file"],
    );
}

#[test]
fn a_few_points_of_many_seeds_find_it_too() {
    let found =
        |seed| !run_saving(&Plan { seed: Seed(seed), ..plan() }, Bug::FileSync, CrashPoints::Sampled(4)).passed();
    let seeds = (0..40).filter(|seed| found(*seed)).count();
    assert!(seeds >= 20, "{seeds} of 40 seeds");
    for seed in 0..40 {
        passed(&run_saving(&Plan { seed: Seed(seed), ..plan() }, Bug::None, CrashPoints::Sampled(4)));
    }
}

/// Every fsync of the run lies.
fn lying() -> Plan {
    let lie = |nth| FaultPlan {
        id: nth as u32,
        kind: FaultKind::LyingSync,
        process: Some("agent-0".into()),
        when: Trigger::Call { kind: CallKind::Sync, nth },
        for_ns: 0,
        by_ns: 0,
        between: None,
    };
    Plan { faults: (1..=11).map(lie).collect(), ..plan() }
}

#[test]
fn a_disk_that_ignores_fsync_is_flagged_by_who_trusts_it_all_the_same() {
    let run_with = |trusts_the_disk| {
        let populate = move |world: &mut World| {
            world.process_with("agent", 0, RestartPolicy::Never, move |sys| save_all(sys, Bug::None));
            world.invariant(Kept { acknowledged: 0, trusts_the_disk });
        };
        run_case(&Case { populate, recover: look }, &lying(), CrashPoints::All)
    };
    // A lie voids what rests on durability: who knows that is not asked.
    passed(&run_with(true));
    let outcome = run_with(false);
    assert!(outcome.violations.len() == 1 && outcome.violations[0].invariant == "kept", "{:#?}", outcome.violations);
    assert!(outcome.violations[0].message.contains("700 bytes written at 0"), "{}", outcome.violations[0].message);
}

/// Judges nothing, and notes how long it saw the file to be: `None` is absent.
struct Notes(Arc<Mutex<BTreeSet<Option<usize>>>>);

impl Invariant for Notes {
    fn id(&self) -> &'static str {
        "notes"
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let found = survivor.disk().visible_read(FILE).map(|bytes| bytes.iter().filter(|byte| **byte > 0).count());
        self.0.lock().expect("nobody panics").insert(found);
        Ok(())
    }
}

/// What images of all points of a run show of the file, as its number of bytes that are not zero.
fn shown(persistence: Persistence, bug: Bug) -> BTreeSet<Option<usize>> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    for seed in 0..20 {
        let seen = seen.clone();
        let populate = move |world: &mut World| {
            world.process_with("agent", 0, RestartPolicy::Never, move |sys| save_all(sys, bug));
            world.invariant(Notes(seen.clone()));
        };
        let plan = Plan { seed: Seed(seed), persistence, ..plan() };
        passed(&run_case(&Case { populate, recover: look }, &plan, CrashPoints::All));
    }
    Arc::into_inner(seen).expect("the runs are over").into_inner().expect("nobody panics")
}

#[test]
fn images_are_those_that_the_profile_allows() {
    // What is renamed into place has been synced: it is whole or not there, under every profile.
    for persistence in [Persistence::Strict, Persistence::Ext4, Persistence::Posix] {
        assert_eq!(shown(persistence, Bug::None), BTreeSet::from([None, Some(FILE_BYTES)]), "{persistence:?}");
    }
    // Without the sync, strict order keeps the write if it keeps the rename.
    assert_eq!(shown(Persistence::Strict, Bug::FileSync), BTreeSet::from([None, Some(FILE_BYTES)]));
    // posix may lose it, keep it, or tear it at a sector.
    let posix = shown(Persistence::Posix, Bug::FileSync);
    for found in [None, Some(0), Some(512), Some(FILE_BYTES - 512), Some(FILE_BYTES)] {
        assert!(posix.contains(&found), "{found:?} is not among {posix:?}");
    }
    // ext4 loses it too where the name is new, but writes whole pages.
    let ext4 = shown(Persistence::Ext4, Bug::FileSync);
    assert_eq!(ext4, BTreeSet::from([None, Some(0), Some(FILE_BYTES)]));
}

#[test]
fn what_was_judged_is_judged_again_when_more_was_acknowledged() {
    // The claim comes before the work: the image that was right before it is wrong after it.
    let populate = |world: &mut World| {
        world.process_with("agent", 0, RestartPolicy::Never, |sys| async move {
            sys.mkdir("/data").await.expect("it is new");
            sys.sync_dir("/").await.expect("the disk takes it");
            sys.mkdir("/data/other").await.expect("it is new");
            sys.sync_dir("/data").await.expect("the disk takes it");
            sys.claim(&crate::support::Saved { revision: 1 }).await;
            seedstorm_sim::Exit::success()
        });
        world.invariant(Kept::trusting());
    };
    let outcome = run_case(&Case { populate, recover: look }, &plan(), CrashPoints::All);
    fired(
        &outcome,
        "kept",
        &["revision 1 is gone", "just after agent-0's claim", "that kept nothing that was not durable;\nlost nothing"],
    );
}
