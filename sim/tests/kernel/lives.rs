//! Lives of processes: exit statuses, restarts and their back-off, termination, panics, PIDs.

use crate::support::{Log, MILLI_NS, SECOND_NS, at_call, fault, note, plan, run_plain, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Operation, Trigger};
use seedstorm_sim::trace::{CallKind, Ended, RecordBody};
use seedstorm_sim::{Errno, Exit, Plan, World};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn exit_statuses_are_told_and_a_success_is_final() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            sys.yield_now().await;
            Exit::success()
        });
        world.process_with("b", 0, RestartPolicy::Never, |_| async { Exit { code: 42, why: "out of luck".into() } });
        world.process_with("c", 0, RestartPolicy::Never, |_| async { Exit::failure("no") });
    })
    .passed();
    let end = |id: u32| ran.ends(id).into_iter().map(|(_, ended)| ended).collect::<Vec<_>>();
    assert_eq!(end(0), [Ended::Exited { code: 0, why: String::new() }]);
    assert_eq!(end(1), [Ended::Exited { code: 42, why: "out of luck".into() }]);
    assert_eq!(end(2), [Ended::Exited { code: 1, why: "no".into() }]);
    assert_eq!((ran.starts(0).len(), ran.starts(1).len(), ran.starts(2).len()), (1, 1, 1));
}

#[test]
fn processes_that_a_plan_can_t_tell_apart_or_do_without_are_refused() {
    let why = |plan: &Plan, indices: [u32; 2]| {
        let told = run_plain(plan, |world| {
            world.prepare(|_| async { Exit::success() });
            for index in indices {
                world.process("a", index, |_| async { Exit::success() });
            }
        });
        told.map(|outcome| outcome.passed())
    };
    assert_eq!(why(&plan(), [3, 4]), Ok(true));
    let twice = why(&plan(), [3, 3]).expect_err("one name for two");
    assert!(twice.ends_with("two processes of the scenario are named `a-3`"), "{twice}");
    let absent = |name: &str| why(&Plan { absent: vec![name.to_owned()], ..plan() }, [3, 4]);
    assert_eq!(absent("a-3"), Ok(true));
    for (name, words) in [
        ("a-5", "absent: `a-5` is not possible; allowed: a-3, a-4"),
        ("prepare-0", "without the preparation nothing runs"),
    ] {
        let told = absent(name).expect_err(name);
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn operations_of_nobody_are_refused_and_those_of_the_absent_are_not() {
    let refused = |process: &str, absent: &[&str], count: u32| {
        let operation = |id, process: &str| Operation {
            id,
            process: process.to_owned(),
            kind: "any".to_owned(),
            not_before_ns: 0,
            think_ns: 0,
            arguments: Default::default(),
        };
        let operations = vec![operation(1, "b-0"), operation(2, process), operation(3, "a-0")];
        let absent = absent.iter().map(|name| (*name).to_owned()).collect();
        run_plain(&Plan { operations, absent, ..plan() }, |world| {
            world.prepare(|_| async { Exit::success() });
            for index in 0..count {
                world.process("a", index, |_| async { Exit::success() });
            }
            world.process("b", 0, |_| async { Exit::success() });
        })
        .map(|outcome| outcome.passed())
    };
    assert_eq!(refused("a-1", &[], 3), Ok(true));
    assert_eq!(refused("a-1", &["a-1"], 3), Ok(true));
    let told = |count| refused("c-0", &[], count).expect_err("nobody");
    let place = "operation 2, process: `c-0` is not possible; allowed: ";
    assert!(told(2).ends_with(&format!("{place}a-0, a-1, b-0")), "{}", told(2));
    assert!(told(30).ends_with(&format!("{place}a-0 to a-29, b-0")), "{}", told(30));
}

#[test]
fn restarts_back_off_twice_as_long_each_time_up_to_the_longest() {
    let restart = RestartPolicy::OnFailure { first_ns: 10 * MILLI_NS, last_ns: 50 * MILLI_NS };
    let ran = run_world(&plan(), |world| {
        let boots = Rc::new(Cell::new(0));
        world.process_with("a", 0, restart, move |sys| {
            let boots = boots.clone();
            async move {
                boots.set(boots.get() + 1);
                note(&sys, format!("boot {} pid {}", boots.get(), sys.pid())).await;
                if boots.get() < 6 { Exit::failure("again") } else { Exit::success() }
            }
        });
    })
    .passed();
    let waits: Vec<u64> =
        ran.ends(0).iter().zip(&ran.starts(0)[1..]).map(|((end_ns, _), start_ns)| start_ns - end_ns).collect();
    assert_eq!(waits, [10, 20, 40, 50, 50].map(|milli| milli * MILLI_NS));
    let expected: Vec<String> = (1..=6).map(|boot| format!("boot {boot} pid {}", 100 + boot)).collect();
    assert_eq!(ran.notes(0), expected, "each boot has a PID of its own");
    let boots: Vec<u32> = ran.of(0).map(|record| record.boot).collect();
    assert!(boots.is_sorted() && boots.last() == Some(&6));
}

/// A process that sleeps and, asked to end, ends in its own way.
fn terminated(world: &mut World, obeys: bool) {
    world.process_with("a", 0, RestartPolicy::Never, move |sys| async move {
        let slept = sys.sleep(SECOND_NS / 2).await;
        note(&sys, format!("{slept:?} {}", sys.is_terminating())).await;
        if obeys {
            return Exit { code: 143, why: "terminated".into() };
        }
        let slept = sys.sleep(SECOND_NS).await;
        note(&sys, format!("{slept:?}")).await;
        Exit::success()
    });
}

#[test]
fn termination_interrupts_a_sleep_and_the_program_ends_itself() {
    let terminate = FaultPlan { for_ns: 300 * MILLI_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(100 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![terminate], ..plan() }, |world| terminated(world, true)).passed();
    let interrupted = (100 * MILLI_NS + 1, Err(Errno::Interrupted));
    assert_eq!(ran.calls(0, CallKind::Sleep), [interrupted]);
    assert_eq!(ran.notes(0), ["Err(Interrupted) true"]);
    assert_eq!(ran.ends(0)[0].1, Ended::Exited { code: 143, why: "terminated".into() });
    assert_eq!(ran.ends(0).len(), 1, "no kill follows");
    assert!(ran.outcome.simulated_ns < 200 * MILLI_NS);
}

#[test]
fn who_ignores_termination_is_killed_after_the_grace() {
    let terminate = FaultPlan { for_ns: 300 * MILLI_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(100 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![terminate], ..plan() }, |world| terminated(world, false)).passed();
    assert_eq!(ran.notes(0), ["Err(Interrupted) true"], "a sleep that begins after the signal is not interrupted");
    assert_eq!(ran.ends(0), [(400 * MILLI_NS, Ended::Killed)]);
}

#[test]
fn a_grace_ends_with_its_boot() {
    let terminate = FaultPlan { for_ns: 300 * MILLI_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(100 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![terminate], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            match sys.sleep(SECOND_NS).await {
                Ok(()) => Exit::success(),
                Err(_) => Exit::failure("terminated"),
            }
        });
    })
    .passed();
    let ends: Vec<Ended> = ran.ends(0).into_iter().map(|(_, ended)| ended).collect();
    assert_eq!(
        ends,
        [Ended::Exited { code: 1, why: "terminated".into() }, Ended::Exited { code: 0, why: String::new() }]
    );
}

/// Two processes; the first panics at its third step.
fn panics(world: &mut World) {
    world.process("a", 0, |sys| async move {
        sys.yield_now().await;
        sys.yield_now().await;
        assert!(sys.pid() == 0, "the sky has PID {}", sys.pid());
        Exit::success()
    });
    sound(world);
}

fn sound(world: &mut World) {
    world.process("b", 0, |sys| async move {
        for _ in 0..50 {
            sys.yield_now().await;
        }
        Exit::success()
    });
}

#[test]
fn a_panic_is_a_violation_and_the_next_run_is_as_ever() {
    let before = run_world(&plan(), sound).passed().outcome.trace_hash;
    let ran = run_world(&plan(), panics);
    let (invariant, message) = ran.violation();
    assert_eq!(invariant, "no-panic");
    assert!(message.contains("a-0 panicked: the sky has PID 101"), "{message}");
    assert_eq!(ran.outcome.violations[0].fingerprint, "no-panic/process/a/panic");
    assert!(ran.calls(1, CallKind::Yield).len() < 50, "the run ends there");
    assert_eq!(run_world(&plan(), sound).passed().outcome.trace_hash, before);
}

#[test]
fn a_destructor_that_panics_at_a_kill_is_a_violation_and_the_others_run_all_the_same() {
    let log = Log::default();
    let faults = vec![fault(FaultKind::Kill, at_call(CallKind::Yield, 3))];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        let log = log.clone();
        world.process("a", 0, move |sys| {
            let (first, second) = (Bomb(log.clone(), true), Bomb(log.clone(), false));
            async move {
                let child = sys.spawn(|sys| async move {
                    let _first = first;
                    sys.sleep(SECOND_NS).await
                });
                let (_child, _second) = (child.await, second);
                loop {
                    sys.yield_now().await;
                }
            }
        });
        sound(world);
    });
    let (invariant, message) = ran.violation();
    assert_eq!((invariant, message), ("no-panic", "a-0 panicked: a bomb"));
    let mut dropped = log.take();
    dropped.sort();
    assert_eq!(dropped, ["dropped false", "dropped true"]);
}

/// Panics when it is dropped, if it is armed.
struct Bomb(Log, bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.add(format!("dropped {}", self.1));
        assert!(!self.1, "a bomb");
    }
}

#[test]
fn two_calls_at_once_are_a_violation_that_says_what_to_do() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let sleep = sys.sleep(SECOND_NS);
            let mut sleep = std::pin::pin!(sleep);
            std::future::poll_fn(|context| {
                let _ = sleep.as_mut().poll(context);
                std::task::Poll::Ready(())
            })
            .await;
            sys.yield_now().await;
            Exit::success()
        });
    });
    let (invariant, message) = ran.violation();
    assert_eq!(invariant, "no-panic");
    assert!(message.contains("one outstanding call") && message.contains("`yield`"), "{message}");
}

#[test]
fn a_dead_process_s_pid_goes_to_a_bystander_with_another_start() {
    let reuse = FaultPlan { for_ns: 20 * MILLI_NS, ..fault(FaultKind::PidReuse, Trigger::AtNs(10 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![reuse], ..plan() }, |world| {
        world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
            loop {
                sys.yield_now().await;
            }
        });
        world.process("b", 0, |sys| async move {
            for at_ns in [5, 15, 35].map(|milli| milli * MILLI_NS) {
                sys.sleep(at_ns - sys.monotonic_ns()).await.expect("sleep");
                note(&sys, format!("{:?}", sys.process_info(101).await.expect("query").map(|info| info.started_ns)))
                    .await;
            }
            Exit::success()
        });
    })
    .passed();
    let expected = ["Some(0)".to_owned(), format!("Some({})", 10 * MILLI_NS + 1), "None".to_owned()];
    assert_eq!(ran.notes(1), expected, "alive, then another under the same PID, then nobody");
    assert_eq!(ran.ends(0), [(10 * MILLI_NS, Ended::Killed)]);
}

#[test]
fn the_preparation_runs_alone_and_its_failure_is_told() {
    let prepared = |code: u8| {
        move |world: &mut World| {
            world.prepare(move |sys| async move {
                for _ in 0..20 {
                    sys.yield_now().await;
                }
                Exit { code, why: "no disk".into() }
            });
            sound(world);
        }
    };
    let ran = run_world(&plan(), prepared(0)).passed();
    let end = ran.index(|record| matches!(record.body, RecordBody::Ended(_)));
    assert!(
        ran.records[..end].iter().all(|record| record.process.is_some_and(|process| process.0 == 0)),
        "nobody else before its end"
    );
    assert_eq!(ran.calls(1, CallKind::Yield).len(), 50);
    let ran = run_world(&plan(), prepared(1));
    assert_eq!(ran.violation(), ("progress", "the preparation failed: no disk"));
    let on_preparation =
        FaultPlan { process: Some("prepare-0".into()), ..fault(FaultKind::Kill, at_call(CallKind::Yield, 1)) };
    let refused =
        run_plain(&Plan { faults: vec![on_preparation], ..plan() }, prepared(0)).expect_err("it must be refused");
    assert!(refused.contains("fault 1 (kill)") && refused.contains("preparation"), "{refused}");
}
