//! Kills: atomic, final, and on either side of a call.

use crate::support::{Log, MILLI_NS, at_call, fault, note, plan, run_watched, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Position, StrategyPlan, Trigger};
use seedstorm_sim::sys::claim::{Exclusion, LockAcquired};
use seedstorm_sim::sys::sync::{Mutex, MutexGuard, channel};
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Body, CallKind, Ended, Event, ProcessId, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, Settings, Sys, View, World};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

/// `a-0` locks a file and is killed with it; `b-0` waits for the lock; `c-0` to `c-3` only yield.
fn locked(world: &mut World) {
    world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
        let file = sys.open("/lock", CREATE).await.expect("open");
        file.lock(LockMode::Exclusive).await.expect("lock");
        file.try_lock_range(0, 10, LockMode::Exclusive).await.expect("range lock");
        sys.claim(&LockAcquired { lock: "l".into(), exclusion: Exclusion::Holder, token: 0 }).await;
        loop {
            file.write(b"x").await.expect("write");
        }
    });
    world.process("b", 0, |sys| async move {
        sys.sleep(MILLI_NS / 10).await.expect("sleep");
        let file = sys.open("/lock", CREATE).await.expect("open");
        file.lock(LockMode::Exclusive).await.expect("lock");
        note(&sys, "locked").await;
        Exit::success()
    });
    for index in 0..4 {
        world.process("c", index, |sys| async move {
            for _ in 0..300 {
                sys.yield_now().await;
            }
            Exit::success()
        });
    }
}

#[test]
fn nothing_steps_between_a_kill_and_the_release_of_all_that_the_process_held() {
    for seed in 0..20 {
        let while_locked = Trigger::While { position: Position::HoldingLock, nth: 40 };
        let faults = vec![fault(FaultKind::Kill, while_locked)];
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Random, faults, ..plan() };
        let held = Log::default();
        let log = held.clone();
        let watch = move |event: &Event<'_>, view: &View<'_>| {
            let (Some(ProcessId(0)), Body::Ended(_)) = (event.process, &event.body) else { return };
            let (disk, owner) = (view.disk(), view.process(ProcessId(0)).owner);
            let inode = disk.inode_of("/lock").expect("it exists");
            let held = (disk.flock_holders(inode).len(), disk.range_locks(inode).len(), disk.open_fds(owner).len());
            log.add(format!("{held:?}"));
        };
        let ran = run_watched(&plan, Settings::default(), watch, locked).passed();
        assert_eq!(held.take(), ["(0, 0, 0)"], "at its end a dead process holds nothing");
        let fault = ran.index(|record| matches!(record.body, RecordBody::Fault { .. }));
        let end = ran.index(|record| record.body == RecordBody::Ended(Ended::Killed));
        let of_others = ran.records[fault..end].iter().filter(|record| record.process != Some(ProcessId(0))).count();
        assert_eq!(of_others, 0, "seed {seed}: others acted between the kill and the end");
        assert_eq!(ran.records[fault].step, ran.records[end].step);
        assert!(
            ran.records[end..]
                .iter()
                .all(|record| record.process != Some(ProcessId(0)) || record.body == RecordBody::Ended(Ended::Killed))
        );
        assert_eq!(ran.notes(1), ["locked"], "the waiter gets the lock");
    }
}

/// A local whose destructor does what tidy programs do.
struct Tidy<'a> {
    sys: Sys,
    log: Log,
    _guard: MutexGuard<'a, u32>,
}

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let mut unlink = pin!(self.sys.unlink("/precious"));
        let polls = [unlink.as_mut().poll(&mut context).is_ready(), unlink.as_mut().poll(&mut context).is_ready()];
        let mut claim = pin!(note(&self.sys, "said by a dead process"));
        let claimed = [claim.as_mut().poll(&mut context).is_ready(), claim.as_mut().poll(&mut context).is_ready()];
        self.sys.begin_operation(77);
        self.log.add(format!("dropped {polls:?} {claimed:?}"));
    }
}

#[test]
fn destructors_of_a_killed_program_have_no_effect() {
    for seed in 0..6 {
        let faults = vec![fault(FaultKind::Kill, at_call(CallKind::Yield, 5))];
        let log = Log::default();
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
            let log = log.clone();
            world.process_with("a", 0, RestartPolicy::Never, move |sys| {
                let log = log.clone();
                async move {
                    let file = sys.open("/precious", CREATE).await.expect("open");
                    file.write(b"kept").await.expect("write");
                    let mutex = Mutex::new(&sys, 0u32);
                    let (sender, _receiver) = channel::<u32>(&sys, None);
                    let _tidy = Tidy { sys: sys.clone(), log, _guard: mutex.lock().await.expect("lock") };
                    let sent = sender.clone();
                    let child = sys.spawn(move |sys| async move {
                        let _both = (sent, file);
                        sys.sleep(u64::MAX / 2).await
                    });
                    let _child = child.await;
                    loop {
                        sys.yield_now().await;
                    }
                }
            });
            world.process("b", 0, |sys| async move {
                sys.sleep(MILLI_NS).await.expect("sleep");
                note(&sys, format!("{:?}", sys.stat("/precious").await.map(|stat| stat.len_bytes))).await;
                Exit::success()
            });
        })
        .passed();
        assert_eq!(log.take(), ["dropped [false, false] [false, false]"], "destructors run, and nothing answers them");
        assert_eq!(ran.notes(1), ["Ok(4)"], "the unlink never happened");
        let end = ran.index(|record| record.body == RecordBody::Ended(Ended::Killed));
        assert!(ran.records[end + 1..].iter().all(|record| record.process != Some(ProcessId(0))));
        let fault = ran.index(|record| matches!(record.body, RecordBody::Fault { .. }));
        let between = &ran.records[fault + 1..end];
        let is_the_call = |body: &RecordBody| matches!(body, RecordBody::Call { kind: CallKind::Yield, .. });
        assert!(between.iter().all(|record| is_the_call(&record.body)), "no close, unlock or unlink: {between:#?}");
    }
}

#[test]
fn a_kill_falls_on_either_side_of_an_effect_and_before_its_claim() {
    let outcomes = |when: Trigger| {
        let mut seen = [0; 3];
        for seed in 0..60 {
            let faults = vec![fault(FaultKind::Kill, when.clone())];
            let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
                world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
                    let file = sys.open("/f", CREATE).await.expect("open");
                    let written = file.write(b"0123456789").await.expect("write");
                    note(&sys, format!("wrote {written}")).await;
                    Exit::success()
                });
                world.process("b", 0, |sys| async move {
                    sys.sleep(MILLI_NS).await.expect("sleep");
                    note(&sys, sys.stat("/f").await.expect("stat").len_bytes.to_string()).await;
                    Exit::success()
                });
            })
            .passed();
            assert_eq!(ran.ends(0)[0].1, Ended::Killed);
            match (ran.notes(0).len(), ran.notes(1)[0].parse().expect("a number")) {
                (0, 0u64) => seen[0] += 1,
                (0, 1..=9) => seen[1] += 1,
                (0, 10) => seen[2] += 1,
                other => panic!("a killed writer can't have left {other:?}"),
            }
        }
        seen
    };
    let at_write = outcomes(at_call(CallKind::Write, 1));
    assert!(at_write.iter().all(|count| *count > 5), "before, inside and after the write: {at_write:?}");
}

#[test]
fn a_process_is_killed_while_it_waits() {
    let mut waited = 0;
    for seed in 0..20 {
        let faults = vec![fault(FaultKind::Kill, at_call(CallKind::Lock, 1))];
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
            world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
                let file = sys.open("/f", CREATE).await.expect("open");
                sys.sleep(MILLI_NS).await.expect("sleep");
                file.lock(LockMode::Exclusive).await.expect("lock");
                note(&sys, "locked").await;
                Exit::success()
            });
            world.process("b", 0, |sys| async move {
                let file = sys.open("/f", CREATE).await.expect("open");
                file.lock(LockMode::Exclusive).await.expect("lock");
                sys.sleep(5 * MILLI_NS).await.expect("sleep");
                Exit::success()
            });
        })
        .passed();
        let (killed_ns, ended) = ran.ends(0)[0].clone();
        assert_eq!(ended, Ended::Killed, "a fault that fired has happened");
        assert_eq!(killed_ns, ran.faults()[0].0, "and at once");
        assert!(ran.notes(0).is_empty());
        waited += ran.records.iter().filter(|record| matches!(record.body, RecordBody::Blocked { .. })).count();
    }
    assert!(waited > 0, "in some runs the call had begun to wait");
}

#[test]
fn a_task_that_is_started_in_the_step_of_the_kill_never_runs() {
    let mut spawned = 0;
    for seed in 0..20 {
        let faults = vec![fault(FaultKind::Kill, at_call(CallKind::Spawn, 1))];
        let log = Log::default();
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
            let of_child = log.clone();
            world.process_with("a", 0, RestartPolicy::Never, move |sys| {
                let log = of_child.clone();
                async move {
                    let told = Told(log.clone());
                    let child = sys.spawn(move |sys| async move {
                        let _told = told;
                        log.add("ran");
                        sys.yield_now().await;
                    });
                    sys.join(child.await).await;
                    Exit::success()
                }
            });
            let log = log.clone();
            world.process("b", 0, move |sys| {
                let log = log.clone();
                async move {
                    sys.sleep(MILLI_NS).await.expect("sleep");
                    log.add("later");
                    Exit::success()
                }
            });
        })
        .passed();
        assert_eq!(ran.ends(0)[0].1, Ended::Killed);
        spawned += ran.calls(0, CallKind::Spawn).len();
        assert_eq!(
            log.take(),
            ["dropped", "later"],
            "what the child held goes with the process, not when its slot is used again"
        );
    }
    assert!(spawned > 0, "in some runs the spawn took effect");
}

/// Tells when it is dropped.
struct Told(Log);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.add("dropped");
    }
}
