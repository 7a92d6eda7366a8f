//! Replays: recorded decisions give the same run, and a changed program is found out.

use crate::support::{MILLI_NS, at_call, fault, plan, replay_world, run_world};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
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
fn recorded_decisions_give_the_same_run_under_each_strategy_through_kills_and_crashes() {
    let (mut kills, mut crashes) = (0, 0);
    for plan in plans() {
        let ran = run_world(&plan, |world| busy(world, false)).passed();
        let faults = &ran.outcome.observations.faults;
        kills += faults.get(&FaultKind::Kill).unwrap_or(&0);
        crashes += faults.get(&FaultKind::MachineCrash).unwrap_or(&0);
        let again = replay_world(&plan, &ran.outcome.decisions, |world| busy(world, false)).passed();
        assert_eq!(again.outcome.drift, None, "{} seed {}", plan.strategy, plan.seed.0);
        assert_eq!(again.outcome.trace_hash, ran.outcome.trace_hash, "{} seed {}", plan.strategy, plan.seed.0);
        assert_eq!(again.outcome.decisions, ran.outcome.decisions, "a replay records what it follows");
        // The decisions decide, not the plan's strategy.
        let other = Plan { strategy: StrategyPlan::RoundRobin, ..plan.clone() };
        let again = replay_world(&other, &ran.outcome.decisions, |world| busy(world, false)).passed();
        assert_eq!(again.outcome.trace_hash, ran.outcome.trace_hash);
    }
    assert!(kills > 10 && crashes > 10, "{kills} kills, {crashes} crashes");
}

#[test]
fn decisions_are_departures_from_the_default_so_time_order_needs_few() {
    let decisions = |strategy| {
        let plan = Plan { strategy, latency: "nvme".into(), ..plan() };
        let outcome = run_world(&plan, |world| busy(world, false)).passed().outcome;
        outcome.decisions.departures.len() as f64 / outcome.steps as f64
    };
    let (timed, random) = (decisions(StrategyPlan::Timed), decisions(StrategyPlan::Random));
    assert!(timed < random, "{timed} {random}");
}

#[test]
fn a_changed_program_drifts_and_goes_on() {
    let mut drifts = 0;
    for seed in 0..10 {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Random, latency: "nvme".into(), ..plan() };
        let ran = run_world(&plan, |world| busy(world, false)).passed();
        let changed = replay_world(&plan, &ran.outcome.decisions, |world| busy(world, true)).passed();
        let Some(drift) = changed.outcome.drift.clone() else { continue };
        drifts += 1;
        let first_stat = changed.index(|record| matches!(record.body, RecordBody::Call { kind: CallKind::Stat, .. }));
        assert!(drift.step >= changed.records[first_stat].step, "no drift before the change");
        assert_eq!(drift.expected.step, drift.step);
        assert!(ran.outcome.decisions.departures.iter().any(|decision| decision == drift.expected));
        let is_there = |(process, ordinal, kind): &(_, u32, CallKind)| {
            (*process, *ordinal as u16, *kind) == (drift.expected.process, drift.expected.ordinal, drift.expected.kind)
        };
        assert!(!drift.found.is_empty() && !drift.found.iter().any(is_there), "{drift}");
        let words = drift.to_string();
        assert!(words.starts_with(&format!("step {}: recorded was `{}`", drift.step, drift.expected.kind)), "{words}");
        assert!(words.contains("ready were"), "{words}");
    }
    assert!(drifts > 5, "{drifts}");
}

#[test]
fn a_run_that_ends_before_its_recording_has_drifted_too() {
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
    let ran = run_world(&plan, yields(10)).passed();
    let shorter = replay_world(&plan, &ran.outcome.decisions, yields(4)).passed();
    let drift = shorter.outcome.drift.expect("the recording goes on");
    assert!(drift.found.is_empty());
    assert!(drift.to_string().ends_with("the run had ended"), "{drift}");
}
