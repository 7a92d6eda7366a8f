//! The invariants of locks, each seen to fire on a small world that breaks it, and to stay silent on the same world put right.

use seedstorm_sim::invariant::watch_locks;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::sys::claim::{Exclusion, FencedWrite, LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, World, run};
use std::future::Future;

/// A scenario of a few processes, each an async function of `Sys` and its index: two, where a test says nothing else.
struct Pair<P>(u32, P);

impl<P, F> Scenario for Pair<P>
where
    P: Fn(Sys, u32) -> F + Copy + 'static,
    F: Future<Output = Result<(), Errno>> + 'static,
{
    fn name(&self) -> &'static str {
        "pair"
    }

    fn about(&self) -> &'static str {
        "two processes"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan {
            strategy: StrategyPlan::Timed,
            persistence: Persistence::Strict,
            latency: "flat".into(),
            chaos_ns: 10_000_000_000,
            calm_ns: 1_000_000_000,
            steps_max: 10_000,
            ..Plan::plain(self.name(), seed)
        })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let program = self.1;
        for index in 0..self.0 {
            world.process_with("agent", index, RestartPolicy::Never, move |sys| async move {
                match program(sys, index).await {
                    Ok(()) => Exit::success(),
                    Err(error) => Exit::failure(error.to_string()),
                }
            });
        }
        watch_locks(world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

fn outcome<P, F>(program: P) -> Outcome
where
    P: Fn(Sys, u32) -> F + Copy + Sync + 'static,
    F: Future<Output = Result<(), Errno>> + 'static,
{
    outcome_with(Vec::new(), program)
}

fn outcome_with<P, F>(faults: Vec<FaultPlan>, program: P) -> Outcome
where
    P: Fn(Sys, u32) -> F + Copy + Sync + 'static,
    F: Future<Output = Result<(), Errno>> + 'static,
{
    outcome_of(2, faults, program)
}

fn outcome_of<P, F>(processes: u32, faults: Vec<FaultPlan>, program: P) -> Outcome
where
    P: Fn(Sys, u32) -> F + Copy + Sync + 'static,
    F: Future<Output = Result<(), Errno>> + 'static,
{
    let pair = Pair(processes, program);
    let plan = Plan { faults, ..pair.plan(Seed(1), &Options::default()).expect("a plan") };
    run(&pair, &plan, Settings::default()).expect("the plan runs")
}

/// The id and message of the one violation.
fn violation(outcome: &Outcome) -> (&str, &str) {
    match outcome.violations.as_slice() {
        [violation] => (&violation.invariant, &violation.message),
        other => panic!("not one violation: {other:?}"),
    }
}

async fn acquired(sys: &Sys, lock: &str, exclusion: Exclusion) {
    sys.claim(&LockAcquired { lock: lock.into(), exclusion, token: 0 }).await;
}

async fn waiting(sys: &Sys, lock: &str, within_ns: u64) {
    sys.claim(&LockWaiting { lock: lock.into(), within_ns }).await;
}

async fn released(sys: &Sys, lock: &str) {
    sys.claim(&LockReleased { lock: lock.into() }).await;
}

#[test]
fn two_holders_break_exclusion() {
    let broken = outcome(|sys, _| async move {
        acquired(&sys, "board", Exclusion::Holder).await;
        sys.sleep(1_000_000).await?;
        released(&sys, "board").await;
        Ok(())
    });
    let (invariant, message) = violation(&broken);
    assert_eq!(invariant, "lock-exclusion");
    assert!(message.contains("agent-0") && message.contains("agent-1") && message.contains("`board`"), "{message}");
}

#[test]
fn holders_in_turn_keep_exclusion() {
    let sound = outcome(|sys, _| async move {
        let file = sys.open("/lock", OpenFlags::READ_WRITE.create()).await?;
        file.lock(LockMode::Exclusive).await?;
        acquired(&sys, "board", Exclusion::Holder).await;
        sys.sleep(1_000_000).await?;
        released(&sys, "board").await;
        file.unlock().await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_program_that_ends_well_with_a_lock_is_found() {
    let broken = outcome(|sys, index| async move {
        if index == 0 {
            acquired(&sys, "board", Exclusion::Holder).await;
        }
        Ok(())
    });
    assert_eq!(violation(&broken).0, "lock-exclusion");
}

#[test]
fn a_deadlock_over_named_locks_is_found_and_printed_whole() {
    let broken = outcome(|sys, index| async move {
        let (first, second) = if index == 0 { ("a", "b") } else { ("b", "a") };
        acquired(&sys, first, Exclusion::Holder).await;
        sys.sleep(1_000_000).await?;
        waiting(&sys, second, 1_000_000_000).await;
        sys.sleep(1_000_000).await
    });
    let (invariant, message) = violation(&broken);
    assert_eq!(invariant, "waits-for-acyclic");
    for part in ["agent-0 waits for `b`, held by agent-1", "agent-1 waits for `a`, held by agent-0"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn whoever_waits_for_its_own_lock_waits_for_ever() {
    let broken = outcome(|sys, index| async move {
        if index == 0 {
            acquired(&sys, "a", Exclusion::Holder).await;
            waiting(&sys, "a", 1_000_000_000).await;
        }
        sys.sleep(1_000_000).await
    });
    let (invariant, message) = violation(&broken);
    assert_eq!(invariant, "waits-for-acyclic");
    assert!(message.contains("agent-0 waits for `a`, held by agent-0"), "{message}");
}

#[test]
fn a_deadlock_over_files_is_found_without_any_claim() {
    let broken = outcome(|sys, index| async move {
        let (first, second) = if index == 0 { ("/a", "/b") } else { ("/b", "/a") };
        let first = sys.open(first, OpenFlags::READ_WRITE.create()).await?;
        let second = sys.open(second, OpenFlags::READ_WRITE.create()).await?;
        first.lock(LockMode::Exclusive).await?;
        sys.sleep(1_000_000).await?;
        second.lock(LockMode::Exclusive).await
    });
    assert_eq!(violation(&broken).0, "waits-for-acyclic");
}

#[test]
fn waiting_in_one_order_is_no_deadlock() {
    let sound = outcome(|sys, _| async move {
        let first = sys.open("/a", OpenFlags::READ_WRITE.create()).await?;
        let second = sys.open("/b", OpenFlags::READ_WRITE.create()).await?;
        first.lock(LockMode::Exclusive).await?;
        sys.sleep(1_000_000).await?;
        second.lock(LockMode::Exclusive).await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_task_that_gives_a_file_back_when_no_message_comes_is_no_deadlock() {
    let sound = outcome(|sys, index| async move {
        let (own, other) = if index == 0 { ("/a", "/b") } else { ("/b", "/a") };
        let held = sys.open(own, OpenFlags::READ_WRITE.create()).await?;
        held.lock(LockMode::Exclusive).await?;
        let giver = sys.spawn(move |sys| async move {
            let mailbox = sys.bind(1).await?;
            mailbox.receive_within(5_000_000).await?;
            held.unlock().await
        });
        let giver = giver.await;
        sys.sleep(1_000_000).await?;
        let wanted = sys.open(other, OpenFlags::READ_WRITE.create()).await?;
        wanted.lock(LockMode::Exclusive).await?;
        sys.join(giver).await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

/// Each of two processes has a lock of its own, one task that waits for the other's, and another that gives the lock back as `giver` says. The main tasks
/// wait for both.
async fn crosswise<F>(sys: Sys, index: u32, giver: impl FnOnce(Sys, File) -> F + 'static) -> Result<(), Errno>
where
    F: Future<Output = Result<(), Errno>> + 'static,
{
    let (own, other) = if index == 0 { ("/a", "/b") } else { ("/b", "/a") };
    let held = sys.open(own, OpenFlags::READ_WRITE.create()).await?;
    held.lock(LockMode::Exclusive).await?;
    let giver = sys.spawn(move |sys| giver(sys, held)).await;
    sys.sleep(1_000_000).await?;
    let waiter = sys.spawn(move |sys| async move {
        let wanted = sys.open(other, OpenFlags::READ_WRITE.create()).await?;
        wanted.lock(LockMode::Exclusive).await
    });
    let waiter = waiter.await;
    sys.join(giver).await?;
    sys.join(waiter).await
}

#[test]
fn a_task_that_gives_a_file_back_when_a_message_comes_is_no_deadlock() {
    // Nobody of the two goes on by itself, but a third one does.
    let sound = outcome_of(3, Vec::new(), |sys, index| async move {
        if index == 2 {
            sys.sleep(20_000_000).await?;
            let mailbox = sys.bind(1).await?;
            mailbox.send(&Address::new("agent-0", 1), b"give").await?;
            return mailbox.send(&Address::new("agent-1", 1), b"give").await;
        }
        crosswise(sys, index, |sys, held| async move {
            let mailbox = sys.bind(1).await?;
            mailbox.receive().await?;
            held.unlock().await
        })
        .await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_task_that_gives_a_file_back_when_it_gets_another_is_no_deadlock() {
    let sound = outcome_of(3, Vec::new(), |sys, index| async move {
        let third = sys.open("/third", OpenFlags::READ_WRITE.create()).await?;
        if index == 2 {
            third.lock(LockMode::Exclusive).await?;
            sys.sleep(20_000_000).await?;
            return third.unlock().await;
        }
        sys.sleep(100_000).await?;
        crosswise(sys, index, |_, held| async move {
            third.lock(LockMode::Shared).await?;
            held.unlock().await
        })
        .await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn messages_that_nobody_is_left_to_send_are_a_deadlock() {
    let broken = outcome(|sys, index| {
        crosswise(sys, index, |sys, held| async move {
            // The wait that leaves nobody who could go on comes last.
            sys.sleep(5_000_000).await?;
            let mailbox = sys.bind(1).await?;
            mailbox.receive().await?;
            held.unlock().await
        })
    });
    let (invariant, message) = violation(&broken);
    assert_eq!(invariant, "waits-for-acyclic");
    for part in ["agent-0 waits for `a file`, held by agent-1", "agent-1 waits for `a file`, held by agent-0"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn tasks_of_two_processes_that_wait_for_idle_ones_are_no_deadlock() {
    // Each process has one task that holds a lock and goes on, and one that waits for the other process's.
    let sound = outcome(|sys, index| async move {
        let (own, other) = if index == 0 { ("a", "b") } else { ("b", "a") };
        acquired(&sys, own, Exclusion::Holder).await;
        let waiter = sys.spawn(move |sys| async move {
            waiting(&sys, other, 1_000_000_000).await;
            sys.sleep(4_000_000).await?;
            acquired(&sys, other, Exclusion::Holder).await;
            released(&sys, other).await;
            Ok::<(), Errno>(())
        });
        let waiter = waiter.await;
        sys.sleep(2_000_000).await?;
        released(&sys, own).await;
        sys.join(waiter).await
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_deadlock_of_tasks_among_others_is_found() {
    let broken = outcome(|sys, index| async move {
        let (first, second) = if index == 0 { ("a", "b") } else { ("b", "a") };
        let stuck = sys.spawn(move |sys| async move {
            acquired(&sys, first, Exclusion::Holder).await;
            sys.sleep(1_000_000).await?;
            waiting(&sys, second, 1_000_000_000).await;
            sys.sleep(3_000_000).await
        });
        let stuck = stuck.await;
        let other = sys.spawn(|sys| async move {
            waiting(&sys, "c", 1_000_000_000).await;
            sys.sleep(5_000_000).await
        });
        let other = other.await;
        sys.join(stuck).await?;
        sys.join(other).await
    });
    assert_eq!(violation(&broken).0, "waits-for-acyclic");
}

#[test]
fn each_task_has_a_wait_of_its_own() {
    let measured = outcome(|sys, index| async move {
        if index == 1 {
            return Ok(());
        }
        let tasks = [("a", 2_000_000), ("b", 5_000_000)].map(|(lock, for_ns)| {
            sys.spawn(move |sys| async move {
                waiting(&sys, lock, 10_000_000).await;
                sys.sleep(for_ns).await?;
                acquired(&sys, lock, Exclusion::Holder).await;
                released(&sys, lock).await;
                Ok::<(), Errno>(())
            })
        });
        let [first, second] = tasks;
        let (first, second) = (first.await, second.await);
        // It waits for no lock, and may sleep as long as it likes.
        sys.sleep(50_000_000).await?;
        sys.join(first).await?;
        sys.join(second).await
    });
    assert!(measured.passed(), "{:?}", measured.violations);
    let waits = &measured.observations.latencies["lock_acquire_ns"];
    assert_eq!(waits.len(), 2);
    assert!(waits.max() >= 5_000_000 && waits.min() < 4_000_000, "{} {}", waits.min(), waits.max());
}

async fn sleep_while_waiting(sys: Sys, for_ns: u64) -> Result<(), Errno> {
    waiting(&sys, "board", 10_000_000).await;
    sys.sleep(for_ns).await?;
    sys.claim(&LockTimedOut { lock: "board".into(), holder: "agent-7".into() }).await;
    Ok(())
}

#[test]
fn a_sleep_past_the_deadline_is_found() {
    let broken = outcome(move |sys, _| async move { sleep_while_waiting(sys, 25_000_000).await });
    assert_eq!(violation(&broken).0, "lock-wait-bounded");
    let sound = outcome(move |sys, _| async move { sleep_while_waiting(sys, 9_000_000).await });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_timeout_on_a_dead_holder_is_found() {
    let kill = FaultPlan {
        id: 1,
        kind: FaultKind::Kill,
        process: Some("agent-0".into()),
        when: Trigger::AtNs(10_000_000),
        for_ns: 0,
        by_ns: 0,
        between: None,
    };
    let broken = outcome_with(vec![kill], |sys, index| async move {
        if index == 0 {
            acquired(&sys, "board", Exclusion::Holder).await;
            // Killed by the plan meanwhile: the lock is nobody's from then on.
            return sys.sleep(5_000_000_000).await;
        }
        sys.sleep(20_000_000).await?;
        waiting(&sys, "board", 500_000_000).await;
        sys.sleep(490_000_000).await?;
        sys.claim(&LockTimedOut { lock: "board".into(), holder: "agent-0".into() }).await;
        // Long enough that whoever had taken it meanwhile would have said so.
        sys.sleep(900_000_000).await?;
        sys.sleep(900_000_000).await?;
        waiting(&sys, "another", 10_000_000).await;
        Ok(())
    });
    assert_eq!(violation(&broken).0, "lock-reclaimed");
}

#[test]
fn whose_claim_is_delayed_may_be_the_holder() {
    let delay = FaultPlan {
        id: 7,
        kind: FaultKind::Delay,
        process: Some("agent-0".into()),
        when: Trigger::Call { kind: CallKind::Claim, nth: 3 },
        for_ns: 4_000_000_000,
        by_ns: 0,
        between: None,
    };
    let sound = outcome_with(vec![delay], |sys, index| async move {
        if index == 0 {
            acquired(&sys, "board", Exclusion::Holder).await;
            released(&sys, "board").await;
            // Its third claim: it has the lock, and says so four seconds later.
            acquired(&sys, "board", Exclusion::Holder).await;
            released(&sys, "board").await;
            return Ok(());
        }
        sys.sleep(20_000_000).await?;
        waiting(&sys, "board", 500_000_000).await;
        sys.sleep(490_000_000).await?;
        sys.claim(&LockTimedOut { lock: "board".into(), holder: "agent-0".into() }).await;
        sys.sleep(1_800_000_000).await?;
        waiting(&sys, "another", 10_000_000).await;
        Ok(())
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_timeout_on_a_live_holder_is_none_of_its_business() {
    let sound = outcome(|sys, index| async move {
        if index == 0 {
            acquired(&sys, "board", Exclusion::Holder).await;
            sys.sleep(900_000_000).await?;
            released(&sys, "board").await;
            return Ok(());
        }
        sys.sleep(20_000_000).await?;
        waiting(&sys, "board", 500_000_000).await;
        sys.sleep(490_000_000).await?;
        sys.claim(&LockTimedOut { lock: "board".into(), holder: "agent-0".into() }).await;
        Ok(())
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}

#[test]
fn a_stale_write_breaks_fencing_whatever_the_order_of_the_claims() {
    for (first, second) in [((1, 8), (2, 7)), ((2, 7), (1, 8)), ((3, 8), (3, 7))] {
        let broken = outcome(move |sys, index| async move {
            if index == 0 {
                for (sequence, token) in [first, second] {
                    sys.claim(&FencedWrite { resource: "document".into(), token, sequence }).await;
                }
            }
            Ok(())
        });
        assert_eq!(violation(&broken).0, "lease-fencing");
    }
    let sound = outcome(|sys, index| async move {
        if index == 0 {
            for (sequence, token) in [(2, 8), (1, 7), (3, 8)] {
                sys.claim(&FencedWrite { resource: "document".into(), token, sequence }).await;
            }
        }
        Ok(())
    });
    assert!(sound.passed(), "{:?}", sound.violations);
}
