//! Replays: recorded turns give the same run, and a changed program is found out.

use crate::support::{MILLI_NS, at_call, fault, follow_world, plan, record_world};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::schedule::TaskCalls;
use seedstorm_sim::sys::sync::{Mutex, channel};
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Draw, Exit, Plan, Seed, World};

/// Everything at once: locks, files, tasks, sleeps, failures. `extra` is one more call in the middle of the first process's work.
fn busy(world: &mut World, extra: bool) {
    world.prepare(|sys| async move {
        sys.mkdir("/data").await.expect("mkdir");
        Exit::success()
    });
    for index in 0..4u32 {
        world.process("a", index, move |sys| async move {
            let mutex = Mutex::new(&sys, 0u32);
            let (sender, receiver) = channel::<u32>(&sys, Some(2));
            let mut children = Vec::new();
            for task in 0..2 {
                let (mutex, sender) = (mutex.clone(), sender.clone());
                let work = move |sys: seedstorm_sim::Sys| async move {
                    for round in 0..4 {
                        *mutex.lock().await.expect("lock") += 1;
                        if sender.send(round).await.is_err() {
                            return;
                        }
                        let pause_ns = sys.entropy().below(MILLI_NS);
                        let _ = sys.sleep(pause_ns * task).await;
                    }
                };
                children.push(sys.spawn(work).await);
            }
            drop(sender);
            while let Some(round) = receiver.receive().await {
                let Ok(file) = sys.open("/data/log", OpenFlags::WRITE.create().append()).await else { continue };
                file.lock(LockMode::Exclusive).await.expect("lock");
                if extra && index == 0 && round == 2 {
                    let _ = sys.stat("/data").await;
                }
                let _ = file.write(format!("{index} {round}\n").as_bytes()).await;
                let _ = file.sync().await;
            }
            for child in children {
                sys.join(child).await;
            }
            Exit::success()
        });
    }
}

fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (strategy, _) in StrategyPlan::ALL.iter().copied() {
        for seed in 0..8 {
            let of = |id: u32, kind, when| FaultPlan {
                id,
                process: Some(format!("a-{}", id % 4)),
                for_ns: 3 * MILLI_NS,
                ..fault(kind, when)
            };
            let faults = vec![
                of(1, FaultKind::Kill, at_call(CallKind::Sync, 2)),
                of(2, FaultKind::Pause, Trigger::AtNs(2 * MILLI_NS)),
                of(3, FaultKind::MachineCrash, at_call(CallKind::Write, 4)),
                of(4, FaultKind::PidReuse, at_call(CallKind::Lock, 3)),
                of(5, FaultKind::Delay, at_call(CallKind::Open, 1)),
                of(6, FaultKind::Terminate, Trigger::AtNs(4 * MILLI_NS)),
                of(7, FaultKind::FailedSync, at_call(CallKind::Sync, 1)),
            ];
            plans.push(Plan { seed: Seed(seed), strategy, faults, latency: "nvme".into(), ..plan() });
        }
    }
    plans
}

#[test]
fn recorded_turns_give_the_same_run_under_each_strategy_through_kills_and_crashes() {
    let (mut kills, mut crashes) = (0, 0);
    for plan in plans() {
        let ran = record_world(&plan, |world| busy(world, false)).passed();
        let faults = &ran.outcome.observations.faults;
        kills += faults.get(&FaultKind::Kill).unwrap_or(&0);
        crashes += faults.get(&FaultKind::MachineCrash).unwrap_or(&0);
        follow_world(&plan, &ran, |world| busy(world, false)).passed().is_exactly(&ran);
        // The turns decide, not the plan's strategy.
        let other = Plan { strategy: StrategyPlan::RoundRobin, ..plan };
        follow_world(&other, &ran, |world| busy(world, false)).passed().is_exactly(&ran);
    }
    assert!(kills > 10 && crashes > 10, "{kills} kills, {crashes} crashes");
}

#[test]
fn a_turn_lasts_until_another_goes_so_time_order_needs_fewer() {
    let turns = |strategy| {
        let plan = Plan { strategy, latency: "nvme".into(), ..plan() };
        let ran = record_world(&plan, |world| busy(world, false)).passed();
        let turns = ran.turns();
        assert!(turns.turns.windows(2).all(|pair| pair[0].task != pair[1].task), "two turns of one task in a row");
        turns.turns.len() as f64 / turns.steps as f64
    };
    let (timed, random) = (turns(StrategyPlan::Timed), turns(StrategyPlan::Random));
    assert!(timed < random, "{timed} {random}");
}

#[test]
fn a_changed_program_drifts_and_goes_on() {
    let mut drifts = 0;
    for seed in 0..10 {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Random, latency: "nvme".into(), ..plan() };
        let ran = record_world(&plan, |world| busy(world, false)).passed();
        let changed = follow_world(&plan, &ran, |world| busy(world, true)).passed();
        let guided = changed.guided();
        let Some(drift) = &guided.drift else { continue };
        drifts += 1;
        let first_stat = changed.index(|record| matches!(record.body, RecordBody::Call { kind: CallKind::Stat, .. }));
        let step = changed.outcome.steps_before_chaos + drift.step;
        assert_eq!(step, changed.records[first_stat].step, "the change itself is the first drift");
        assert_eq!((drift.task.as_str(), drift.found), ("a-0.1/0", Some(CallKind::Stat)));
        let is_recorded =
            |task: &TaskCalls| task.name.to_string() == drift.task && task.calls.contains(&drift.expected);
        assert!(ran.turns().tasks.iter().any(is_recorded), "{drift}");
        let words = drift.to_string();
        let begins = format!("step {} of the chaos: recorded was `{}` of a-0.1/0", drift.step, drift.expected);
        assert!(words.starts_with(&begins), "{words}");
        // All but the new calls goes as before.
        let new = changed.calls(1, CallKind::Stat).len() as u64;
        assert_eq!((guided.calls_new, guided.calls_missing), (new, 0), "{guided:?}");
        assert!(guided.calls_followed > drift.step, "{guided:?}");
    }
    assert!(drifts > 5, "{drifts}");
}

#[test]
fn a_run_that_ends_before_its_recording_has_followed_a_part_of_it() {
    let yields = |times: u32| {
        move |world: &mut World| {
            for index in 0..2 {
                world.process("a", index, move |sys| async move {
                    for _ in 0..times {
                        sys.yield_now().await;
                    }
                    Exit::success()
                });
            }
        }
    };
    let plan = Plan { strategy: StrategyPlan::RoundRobin, ..plan() };
    let ran = record_world(&plan, yields(10)).passed();
    let shorter = follow_world(&plan, &ran, yields(4)).passed();
    let followed = shorter.guided().calls_followed;
    assert_eq!(followed, shorter.turns().steps, "what there was went as recorded");
    assert_eq!(ran.turns().steps - followed, 2 * (10 - 4));
}
