//! Budgets: a run that doesn't end by itself is ended, and that is a violation of `progress`.

use crate::support::{MILLI_NS, SECOND_NS, plan, run_plain, run_world};
use seedstorm_sim::sys::net::Address;
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
    assert!(message.contains("1234 is used up: a-0 (task 0) is at `yield`"), "{message}");
    assert_eq!(ran.outcome.violations[0].fingerprint, "progress/run/a/steps");
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
    let (invariant, message) = ran.violation();
    assert_eq!(invariant, "progress");
    assert!(message.ends_with("have finished 10.0 s into the calm phase: a-0 (task 0) is at `sleep`"), "{message}");
    assert_eq!(ran.outcome.violations[0].fingerprint, "progress/run/a/time");
    let simulated_ns = ran.outcome.simulated_ns;
    assert!((11 * SECOND_NS..11 * SECOND_NS + 200 * MILLI_NS).contains(&simulated_ns), "{simulated_ns}");
}

#[test]
fn a_wait_as_long_as_time_itself_ends_a_run_as_one_without_a_limit_does() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(1).await.expect("bind");
            let _ = mailbox.receive_within(u64::MAX).await;
            Exit::success()
        });
    });
    let (invariant, message) = ran.violation();
    assert_eq!(invariant, "progress", "{message}");
    assert!(message.contains("a-0 (task 0) is at `receive`"), "{message}");
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
fn a_run_ends_without_the_end_of_its_daemons() {
    let served = |has_client: bool| {
        run_plain(&plan(), move |world| {
            world.daemon("server", 0, |sys| async move {
                let mailbox = sys.bind(1).await.expect("nobody else has it");
                loop {
                    let request = mailbox.receive().await.expect("a request");
                    mailbox.send(&request.from, b"done").await.expect("it goes");
                }
            });
            if has_client {
                world.process("client", 0, |sys| async move {
                    let mailbox = sys.bind(1).await.expect("nobody else has it");
                    sys.sleep(MILLI_NS).await.expect("sleep");
                    mailbox.send(&Address::new("server-0", 1), b"please").await.expect("it goes");
                    assert_eq!(mailbox.receive().await.expect("a reply").bytes, b"done");
                    Exit::success()
                });
            }
        })
    };
    let outcome = served(true).expect("it can be run");
    assert!(outcome.passed() && outcome.processes == ["server-0", "client-0"], "{:?}", outcome.violations);
    let refused = served(false).expect_err("nobody would end it");
    assert!(
        refused.ends_with("all processes of the scenario are daemons: nobody's end would end the run"),
        "{refused}"
    );
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
