//! What the exploring strategies promise: each explores what its paper says, measured over many seeds. The plainer ones are in `schedule`.

use crate::support::{MILLI_NS, plan, run_world};
use seedstorm_sim::plan::StrategyPlan;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::sync::{AtomicCell, Mutex};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, Sys, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Two processes that yield so many times each.
fn yields(world: &mut World, times: u32) {
    for index in 0..2 {
        world.process("a", index, move |sys| async move {
            for _ in 0..times {
                sys.yield_now().await;
            }
            Exit::success()
        });
    }
}

/// Whose yields they were, in order.
fn order_of_yields(strategy: StrategyPlan, seed: u64, times: u32) -> Vec<u32> {
    let ran = run_world(&Plan { seed: Seed(seed), strategy, ..plan() }, |world| yields(world, times)).passed();
    let yields =
        ran.records.iter().filter(|record| matches!(record.body, RecordBody::Call { kind: CallKind::Yield, .. }));
    yields.map(|record| record.process.expect("a yield is a process's").0).collect()
}

/// Fails unless each of `expected`, with its share, was seen about as often as it should in so many runs.
fn assert_shares(seen: &BTreeMap<Vec<u32>, u32>, expected: &BTreeMap<Vec<u32>, f64>, runs: u64) {
    assert_eq!(seen.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (order, share) in expected {
        let (mean, count) = (share * runs as f64, f64::from(seen[order]));
        assert!((count - mean).powi(2) < 25.0 * mean, "{order:?}: {count} times, {mean} are expected");
    }
}

/// All orders of so many steps of two processes.
fn interleavings(left: [u32; 2]) -> Vec<Vec<u32>> {
    if left == [0, 0] {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for process in (0..2).filter(|process| left[*process] > 0) {
        let mut rest = left;
        rest[process] -= 1;
        all.extend(interleavings(rest).into_iter().map(|rest| [vec![process as u32], rest].concat()));
    }
    all
}

#[test]
fn urw_takes_every_interleaving_as_often() {
    let runs = 4000;
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for seed in 0..runs {
        *seen.entry(order_of_yields(StrategyPlan::Urw, seed, 3)).or_default() += 1;
    }
    // A process's boot is a step, too: of the orders of four steps each, all alike, several look the same without the boots.
    let all = interleavings([4, 4]);
    let mut expected = BTreeMap::new();
    for order in &all {
        let mut booted = [false; 2];
        let is_yield = |process: &&u32| std::mem::replace(&mut booted[**process as usize], true);
        *expected.entry(order.iter().filter(is_yield).copied().collect()).or_default() += 1.0 / all.len() as f64;
    }
    assert_shares(&seen, &expected, runs);
}

/// How many of so many seeds give an order of yields in which `is_it`.
fn found(strategy: StrategyPlan, runs: u64, times: u32, is_it: impl Fn(&[u32]) -> bool) -> u64 {
    (0..runs).filter(|seed| is_it(&order_of_yields(strategy, *seed, times))).count() as u64
}

/// Whether it has exactly these runs of one process after the other, by their lengths.
fn runs_are(order: &[u32], lengths: &[usize]) -> bool {
    let found: Vec<usize> = order.chunk_by(|left, right| left == right).map(<[u32]>::len).collect();
    found == lengths && order[0] == 0
}

#[test]
fn pct_keeps_its_bound_where_random_has_no_chance() {
    // Depth 2: all of the second process falls into one gap of the first: 2 tasks, 42 steps, so 1 in 84 at least.
    let is_it = |order: &[u32]| runs_are(order, &[7, 20, 13]);
    let runs = 2000;
    let with_pct = found(StrategyPlan::Pct { depth: 2, steps: 0 }, runs, 20, is_it);
    assert!(with_pct * 84 >= runs / 2, "{with_pct} of {runs}; the bound is {}", runs / 84);
    assert_eq!(found(StrategyPlan::Random, runs, 20, is_it), 0, "at random it is one in 2²⁰");
    // Depth 3: two gaps; 2 tasks, 18 steps, so 1 in 648 at least. A depth of 2 can't reach it.
    let is_it = |order: &[u32]| runs_are(order, &[3, 5, 5, 3]);
    let runs = 6480;
    let with_pct = found(StrategyPlan::Pct { depth: 3, steps: 18 }, runs, 8, is_it);
    assert!(with_pct >= 5, "{with_pct} of {runs}; the bound is 10");
    assert_eq!(found(StrategyPlan::Pct { depth: 2, steps: 18 }, runs, 8, is_it), 0);
}

#[test]
fn pos_orders_a_race_whatever_stands_before_it() {
    // One process yields twenty times and then writes; the other writes at once. That the first comes first is one in 22 when each call
    // has a priority of its own, and one in 2²¹ when each step is a toss-up.
    let is_first = |strategy, seed| {
        let plan = Plan { seed: Seed(seed), strategy, ..plan() };
        let ran = run_world(&plan, |world| {
            world.prepare(|sys| async move {
                sys.open("/x", OpenFlags::WRITE.create()).await.expect("open");
                Exit::success()
            });
            for index in 0..2 {
                world.process("a", index, move |sys| async move {
                    let file = sys.open("/x", OpenFlags::WRITE).await.expect("open");
                    for _ in 0..20 * (1 - index) {
                        sys.yield_now().await;
                    }
                    file.write(b"x").await.expect("write");
                    Exit::success()
                });
            }
        })
        .passed();
        let write = |record: &&seedstorm_sim::trace::Record| {
            matches!(record.body, RecordBody::Call { kind: CallKind::Write, .. })
        };
        ran.records.iter().find(write).and_then(|record| record.process).expect("a write").0 == 1
    };
    let runs = 1500;
    let pos = (0..runs).filter(|seed| is_first(StrategyPlan::Pos, *seed)).count();
    assert!(pos * 22 >= runs as usize, "{pos} of {runs}");
    assert_eq!((0..runs).filter(|seed| is_first(StrategyPlan::Random, *seed)).count(), 0);
}

#[test]
fn surw_takes_every_order_of_the_shared_touches_as_often() {
    // Two tasks touch a cell three times each; one of them does much else.
    let order = |seed| {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Surw, ..plan() };
        let ran = run_world(&plan, |world| {
            world.process("a", 0, |sys| async move {
                let cell = AtomicCell::new(&sys, 0u64);
                let mut children = Vec::new();
                for task in 0..2u64 {
                    let cell = cell.clone();
                    let work = move |sys: Sys| async move {
                        for _ in 0..3 {
                            for _ in 0..12 * task {
                                sys.yield_now().await;
                            }
                            cell.fetch_add(1).await;
                        }
                    };
                    children.push(sys.spawn(work).await);
                }
                for child in children {
                    sys.join(child).await;
                }
                Exit::success()
            });
        })
        .passed();
        let touch = |record: &&seedstorm_sim::trace::Record| {
            matches!(record.body, RecordBody::Call { kind: CallKind::Cell, .. })
        };
        let mut tasks: Vec<u32> =
            ran.records.iter().filter(touch).map(|record| record.task.expect("a task").0).collect();
        let least = *tasks.iter().min().expect("touches");
        tasks.iter_mut().for_each(|task| *task -= least);
        if tasks == [0; 6] {
            // The first task had ended when the second started: it got the same slot.
            tasks = vec![0, 0, 0, 1, 1, 1];
        }
        tasks
    };
    let runs = 2000;
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for seed in 0..runs {
        *seen.entry(order(seed)).or_default() += 1;
    }
    let all = interleavings([3, 3]);
    let expected = all.iter().map(|order| (order.clone(), 1.0 / all.len() as f64)).collect();
    assert_shares(&seen, &expected, runs);
}

#[test]
fn swarm_delay_delays_the_calls_of_one_kind_or_process_hard() {
    let (mut kinds, mut processes, mut hit, mut missed) = (BTreeMap::new(), BTreeMap::new(), 0u32, 0u32);
    for seed in 0..120 {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::SwarmDelay { one_in: 8 }, ..plan() };
        let ran = run_world(&plan, |world| {
            for index in 0..3 {
                world.process("a", index, move |sys| async move {
                    let file = sys.open(&format!("/{index}"), OpenFlags::READ_WRITE.create()).await.expect("open");
                    for _ in 0..40 {
                        file.write(b"x").await.expect("write");
                        sys.yield_now().await;
                        file.sync().await.expect("fsync");
                    }
                    Exit::success()
                });
            }
        })
        .passed();
        let mut delayed: Vec<(CallKind, u32)> = Vec::new();
        let mut calls: Vec<(CallKind, u32)> = Vec::new();
        for record in &ran.records {
            let RecordBody::Call { kind, took_ns, .. } = record.body else { continue };
            let call = (kind, record.process.expect("a process's").0);
            calls.push(call);
            // A call that isn't delayed may wait for its turn, but never as long.
            if took_ns >= 4 * MILLI_NS {
                assert!(took_ns < 60 * MILLI_NS, "{call:?} took {took_ns} ns");
                delayed.push(call);
            }
        }
        let Some(&(kind, process)) = delayed.last() else { continue };
        let late = &delayed[delayed.len() / 2..];
        let of = |is_it: &dyn Fn(&(CallKind, u32)) -> bool| calls.iter().filter(|call| is_it(call)).count() as u32;
        if late.iter().all(|call| call.0 == kind) && late.iter().any(|call| call.1 != process) {
            *kinds.entry(kind).or_insert(0) += 1;
            hit += late.len() as u32;
            missed += of(&|call| call.0 == kind) / 2;
        } else if late.iter().all(|call| call.1 == process) {
            *processes.entry(process).or_insert(0) += 1;
        }
    }
    assert!(kinds.contains_key(&CallKind::Write) && kinds.contains_key(&CallKind::Sync), "{kinds:?}");
    assert_eq!(processes.len(), 3, "{processes:?}");
    let one_in = f64::from(missed) / f64::from(hit);
    assert!((5.0..12.0).contains(&one_in), "one in {one_in} calls is delayed");
}

#[test]
fn surw_takes_every_order_of_who_holds_a_lock_as_often() {
    // Three tasks hold a mutex for a while, each once: mostly some of them have to wait for it. What they then do later is what was meant before.
    let order = |seed| {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Surw, ..plan() };
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = order.clone();
        let populate = move |world: &mut World| {
            let told = told.clone();
            world.process("a", 0, move |sys| {
                let told = told.clone();
                async move {
                    let mutex = Mutex::new(&sys, ());
                    let mut children = Vec::new();
                    for task in 0..3 {
                        let (mutex, told) = (mutex.clone(), told.clone());
                        let work = move |sys: Sys| async move {
                            let held = mutex.lock().await.expect("it isn't held by this task");
                            told.lock().expect("nobody panicked").push(task);
                            sys.yield_now().await;
                            drop(held);
                        };
                        children.push(sys.spawn(work).await);
                    }
                    for child in children {
                        sys.join(child).await;
                    }
                    Exit::success()
                }
            });
        };
        run_world(&plan, populate).passed();
        // A run that counts the touches came before.
        order.lock().expect("nobody panicked").split_off(3)
    };
    let runs = 12_000;
    let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for seed in 0..runs {
        *seen.entry(order(seed)).or_default() += 1;
    }
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    assert_shares(&seen, &orders.map(|order| (order.to_vec(), 1.0 / 6.0)).into(), runs);
}

#[test]
fn surw_holds_nobody_back_for_ever() {
    // Whoever has the mutex touches a cell: if the other one, who waits for the mutex, is meant to touch next, it is held back for him. A third task goes on until
    // both are done, and touches nothing: it can always go.
    for seed in 0..200 {
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Surw, steps_max: 30_000, ..plan() };
        run_world(&plan, |world| {
            world.process("a", 0, |sys| async move {
                let (mutex, cell) = (Mutex::new(&sys, ()), AtomicCell::new(&sys, 0u64));
                let mut children = Vec::new();
                let done = Rc::new(Cell::new(0));
                for _ in 0..2 {
                    let (mutex, cell, done) = (mutex.clone(), cell.clone(), done.clone());
                    let work = move |_| async move {
                        let held = mutex.lock().await.expect("it isn't held by this task");
                        cell.fetch_add(1).await;
                        drop(held);
                        done.set(done.get() + 1);
                    };
                    children.push(sys.spawn(work).await);
                }
                let work = move |sys: Sys| async move {
                    while done.get() < 2 {
                        sys.yield_now().await;
                    }
                };
                children.push(sys.spawn(work).await);
                for child in children {
                    sys.join(child).await;
                }
                Exit::success()
            });
        })
        .passed();
    }
}
