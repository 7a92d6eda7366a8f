//! The invariant `recovers`: a recovery that fails, hangs, panics or does nothing.

use crate::support::{Bug, Case, Kept, count, fired, look, passed, plan, run_case, save_all};
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::{Exit, Outcome, Sys, World};

fn run_with(recover: impl Fn(&mut World) + Sync, crash_points: CrashPoints) -> Outcome {
    let populate = |world: &mut World| {
        world.process_with("agent", 0, RestartPolicy::Never, |sys| save_all(sys, Bug::None));
        world.invariant(Kept::trusting());
    };
    run_case(&Case { populate, recover }, &plan(), crash_points)
}

#[test]
fn a_recovery_that_does_nothing_is_flagged_at_once() {
    let outcome = run_with(|_| {}, CrashPoints::All);
    fired(&outcome, "recovers", &["its recovery starts no process", "had the power failed at step"]);
    assert_eq!(count(&outcome, "crash_points"), 1);
    passed(&run_with(|_| {}, CrashPoints::None));
}

#[test]
fn a_recovery_that_fails_is_flagged_also_if_its_next_try_would_not() {
    let recover = |world: &mut World| {
        world.process("agent", 0, |sys: Sys| async move {
            match sys.open("/data/mark", OpenFlags::WRITE.create_exclusive()).await {
                Ok(_) => Exit { code: 70, why: "not yet".into() },
                Err(_) => Exit::success(),
            }
        });
    };
    let outcome = run_with(recover, CrashPoints::All);
    fired(&outcome, "recovers", &["agent-0 ended with code 70: not yet", "kept the name /data"]);
    assert_eq!(outcome.violations[0].fingerprint, "recovers/recovery/agent/failed");
}

#[test]
fn a_recovery_that_hangs_or_goes_on_for_ever_is_flagged() {
    let sleeps = |world: &mut World| {
        world.process("agent", 0, |sys: Sys| async move {
            loop {
                let _ = sys.sleep(1_000_000_000).await;
            }
        });
    };
    fired(&run_with(sleeps, CrashPoints::All), "recovers", &["not all have finished"]);
    let spins = |world: &mut World| {
        world.process("agent", 0, |sys: Sys| async move {
            loop {
                sys.yield_now().await;
            }
        });
    };
    fired(&run_with(spins, CrashPoints::All), "recovers", &["the step budget of 20000 is used up"]);
    let stuck = |world: &mut World| {
        world.process("agent", 0, |_: Sys| std::future::pending());
    };
    fired(&run_with(stuck, CrashPoints::All), "recovers", &["nothing can run"]);
}

#[test]
fn a_recovery_that_panics_is_flagged_and_the_harness_goes_on() {
    let recover = |world: &mut World| {
        world.process("agent", 0, |_: Sys| async move { panic!("on purpose") });
    };
    let outcome = run_with(recover, CrashPoints::All);
    fired(&outcome, "recovers", &["agent-0 panicked: on purpose"]);
    assert_eq!(outcome.violations[0].fingerprint, "recovers/recovery/-/panic");
    passed(&run_with(look, CrashPoints::All));
}

/// Where a machine notes its boot id.
const BOOT: &str = "/boot";

#[test]
fn a_recovery_runs_on_a_machine_that_was_down() {
    let populate = |world: &mut World| {
        world.process_with("agent", 0, RestartPolicy::Never, |sys| async move {
            let file = sys.open(BOOT, OpenFlags::WRITE.create_exclusive()).await.expect("it is new");
            file.write(&sys.boot_id().to_le_bytes()).await.expect("the disk takes it");
            file.sync().await.expect("the disk takes it");
            sys.sync_dir("/").await.expect("the disk takes it");
            save_all(sys, Bug::None).await
        });
        world.invariant(Kept::trusting());
    };
    let recover = |world: &mut World| {
        world.process("agent", 0, |sys: Sys| async move {
            if sys.pid() != 101 || sys.monotonic_ns() > 1_000_000 || sys.simulated_ns() < 1_000_000_000 {
                return Exit::failure("the machine has not been down");
            }
            let Ok(file) = sys.open(BOOT, OpenFlags::READ).await else { return Exit::success() };
            let mut boot_id = [0; 8];
            match file.read(&mut boot_id).await {
                Ok(8) if boot_id == sys.boot_id().to_le_bytes() => Exit::failure("the boot id is that of the dead"),
                _ => Exit::success(),
            }
        });
    };
    passed(&run_case(&Case { populate, recover }, &plan(), CrashPoints::All));
}
