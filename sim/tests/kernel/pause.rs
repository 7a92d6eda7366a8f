//! Pauses: a paused process keeps what it holds, takes no step, and goes on where it was.

use crate::support::{MILLI_NS, SECOND_NS, at_call, fault, note, plan, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{CallKind, Ended, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

fn pause(when: Trigger, for_ns: u64) -> FaultPlan {
    FaultPlan { for_ns, ..fault(FaultKind::Pause, when) }
}

fn holder_and_waiter(world: &mut World) {
    world.process("a", 0, |sys| async move {
        let file = sys.open("/lock", CREATE).await.expect("open");
        file.lock(LockMode::Exclusive).await.expect("lock");
        for _ in 0..20 {
            sys.yield_now().await;
        }
        file.close().await.expect("close");
        Exit::success()
    });
    world.process("b", 0, |sys| async move {
        let file = sys.open("/lock", CREATE).await.expect("open");
        file.lock(LockMode::Exclusive).await.expect("lock");
        note(&sys, "locked").await;
        Exit::success()
    });
}

#[test]
fn a_paused_holder_keeps_its_lock() {
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random, StrategyPlan::RoundRobin] {
        for seed in 0..5 {
            let faults = vec![pause(at_call(CallKind::Yield, 5), 100 * MILLI_NS)];
            let ran = run_world(&Plan { seed: Seed(seed), strategy, faults, ..plan() }, holder_and_waiter).passed();
            let paused = ran.index(|record| record.body == RecordBody::Paused);
            let resumed = ran.index(|record| record.body == RecordBody::Resumed);
            let time_ns = |index: usize| ran.records[index].time_ns;
            assert_eq!(time_ns(resumed) - time_ns(paused), 100 * MILLI_NS);
            assert!(
                ran.records[paused + 1..resumed].iter().all(|record| record.process.is_some_and(|id| id.0 != 0)),
                "no step while paused"
            );
            let locks: Vec<u64> = ran.calls(1, CallKind::Lock).into_iter().map(|(at_ns, _)| at_ns).collect();
            let close = ran.calls(0, CallKind::Close)[0].0;
            assert!(
                locks.len() == 1 && (locks[0] >= close || locks[0] < time_ns(paused)),
                "{strategy}: {locks:?}, paused holder"
            );
        }
    }
}

#[test]
fn a_timer_that_passes_during_a_pause_fires_after_it() {
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 100 * MILLI_NS)];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(50 * MILLI_NS).await.expect("sleep");
            note(&sys, format!("{}", sys.monotonic_ns() / MILLI_NS)).await;
            sys.sleep(50 * MILLI_NS).await.expect("sleep");
            note(&sys, format!("{}", sys.monotonic_ns() / MILLI_NS)).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["110", "160"], "the first sleep ends with the pause; the second is as long as ever");
    // A pause that ends before the timer changes nothing.
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 20 * MILLI_NS)];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(50 * MILLI_NS).await.expect("sleep");
            note(&sys, format!("{}", sys.monotonic_ns() / MILLI_NS)).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["50"]);
}

#[test]
fn a_waiter_that_is_woken_while_paused_goes_on_after_the_pause() {
    let paused_waiter =
        FaultPlan { process: Some("b-0".into()), ..pause(Trigger::AtNs(10 * MILLI_NS), 100 * MILLI_NS) };
    let ran = run_world(&Plan { faults: vec![paused_waiter], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/lock", CREATE).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            sys.sleep(50 * MILLI_NS).await.expect("sleep");
            file.unlock().await.expect("unlock");
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            let file = sys.open("/lock", CREATE).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            Exit::success()
        });
    })
    .passed();
    let (locked_ns, result) = ran.calls(1, CallKind::Lock)[0];
    assert_eq!(result, Ok(0));
    assert!((110 * MILLI_NS..111 * MILLI_NS).contains(&locked_ns), "{locked_ns}");
}

#[test]
fn all_tasks_of_a_process_pause_together() {
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 100 * MILLI_NS)];
    let ran = run_world(&Plan { strategy: StrategyPlan::Random, faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let mut children = Vec::new();
            for index in 0..4u64 {
                children.push(
                    sys.spawn(move |sys| async move {
                        while sys.monotonic_ns() < 200 * MILLI_NS {
                            match index {
                                0 => sys.sleep(10_000).await.expect("sleep"),
                                _ => sys.sleep(index * MILLI_NS).await.expect("sleep"),
                            }
                        }
                    })
                    .await,
                );
            }
            for child in children {
                sys.join(child).await;
            }
            Exit::success()
        });
    });
    let ran = ran.passed();
    let times: Vec<u64> = ran
        .of(0)
        .filter(|record| matches!(record.body, RecordBody::Call { .. }))
        .map(|record| record.time_ns)
        .collect();
    let paused: Vec<u64> =
        times.iter().copied().filter(|at_ns| (10 * MILLI_NS + 1..110 * MILLI_NS).contains(at_ns)).collect();
    assert!(paused.is_empty(), "{paused:?}");
    assert!(times.iter().any(|at_ns| *at_ns > 190 * MILLI_NS));
}

#[test]
fn a_paused_process_can_be_killed_and_the_pause_dies_with_it() {
    let kill = FaultPlan { id: 2, ..fault(FaultKind::Kill, Trigger::AtNs(20 * MILLI_NS)) };
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 100 * MILLI_NS), kill];
    let restart = RestartPolicy::OnFailure { first_ns: MILLI_NS, last_ns: MILLI_NS };
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process_with("a", 0, restart, |sys| async move {
            for _ in 0..30 {
                sys.sleep(MILLI_NS).await.expect("sleep");
            }
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.ends(0)[0], (20 * MILLI_NS, Ended::Killed));
    assert_eq!(ran.starts(0)[1], 21 * MILLI_NS);
    assert!(ran.ends(0)[1].0 < 60 * MILLI_NS, "the second boot is not paused");
    assert!(ran.of(0).all(|record| record.body != RecordBody::Resumed));
}

#[test]
fn a_second_pause_of_a_paused_process_does_not_fire_and_the_calm_ends_the_first() {
    let again = FaultPlan { id: 2, ..pause(Trigger::AtNs(20 * MILLI_NS), MILLI_NS) };
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 5 * SECOND_NS), again];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(100 * MILLI_NS).await.expect("sleep");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.faults(), [(10 * MILLI_NS, FaultKind::Pause)]);
    let resumed = ran.index(|record| record.body == RecordBody::Resumed);
    assert_eq!(ran.records[resumed].time_ns, SECOND_NS);
}

#[test]
fn a_terminated_process_that_is_paused_hears_of_it_when_it_goes_on() {
    let terminate =
        FaultPlan { id: 2, for_ns: 300 * MILLI_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(20 * MILLI_NS)) };
    let faults = vec![pause(Trigger::AtNs(10 * MILLI_NS), 100 * MILLI_NS), terminate];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
            let slept = sys.sleep(SECOND_NS).await;
            note(&sys, format!("{slept:?}")).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["Err(Interrupted)"]);
    let (slept_ns, _) = ran.calls(0, CallKind::Sleep)[0];
    assert_eq!(slept_ns, 110 * MILLI_NS);
}
