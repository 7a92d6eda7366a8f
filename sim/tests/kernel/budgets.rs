//! Budgets: a run that doesn't end by itself is ended, and that is a violation of `progress`.

use crate::support::{MILLI_NS, SECOND_NS, plan, run_world};
use seedstorm_sim::sys::sync::channel;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::{Exit, Plan};

#[test]
fn the_step_budget_ends_a_run_that_goes_on_for_ever() {
    let ran = run_world(&Plan { steps_max: 1234, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            loop {
                sys.yield_now().await;
            }
        });
    });
    let (invariant, message) = ran.violation();
    assert_eq!((invariant, ran.outcome.steps), ("progress", 1234));
    assert!(message.contains("1234"), "{message}");
    assert_eq!(ran.outcome.violations[0].fingerprint, "progress/run/-/steps");
}

#[test]
fn the_calm_s_time_budget_ends_a_run_that_sleeps_too_long() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            loop {
                sys.sleep(100 * MILLI_NS).await.expect("sleep");
            }
        });
    });
    assert_eq!(ran.violation().0, "progress");
    assert_eq!(ran.outcome.violations[0].fingerprint, "progress/run/-/time");
    let simulated_ns = ran.outcome.simulated_ns;
    assert!((11 * SECOND_NS..11 * SECOND_NS + 200 * MILLI_NS).contains(&simulated_ns), "{simulated_ns}");
}

#[test]
fn a_run_in_which_all_wait_for_ever_ends_at_once_and_says_for_what() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/f", OpenFlags::READ_WRITE.create()).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            let (_sender, receiver) = channel::<u8>(&sys, None);
            receiver.receive().await;
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            let file = sys.open("/f", OpenFlags::READ_WRITE.create()).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            Exit::success()
        });
        world.process("c", 0, |_| std::future::pending());
    });
    let (invariant, message) = ran.violation();
    assert_eq!(invariant, "progress");
    for part in
        ["a-0 (task 0) waits for `channel`", "b-0 (task 0) waits for `flock`", "c-0 (task 0) waits for something"]
    {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(ran.outcome.violations[0].fingerprint, "progress/run/-/stuck");
    assert!(ran.outcome.simulated_ns <= SECOND_NS, "no time passes when nothing can happen any more");
}

#[test]
fn a_run_ends_as_soon_as_all_work_is_done() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            sys.yield_now().await;
            Exit::success()
        });
    })
    .passed();
    assert!(ran.outcome.simulated_ns < MILLI_NS, "{}", ran.outcome.simulated_ns);
}
