//! Strategies: what each picks, and that `random` can reach everything.

use crate::support::{Ran, note, plan, run_world};
use seedstorm_sim::plan::StrategyPlan;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};
use std::collections::BTreeMap;

fn yields(world: &mut World, processes: u32, times: u32) {
    for index in 0..processes {
        world.process("a", index, move |sys| async move {
            for _ in 0..times {
                sys.yield_now().await;
            }
            Exit::success()
        });
    }
}

/// Whose yields they were, in order.
fn interleaving(ran: &Ran) -> String {
    let yields =
        ran.records.iter().filter(|record| matches!(record.body, RecordBody::Call { kind: CallKind::Yield, .. }));
    yields.map(|record| record.process.expect("a yield is a process's").0.to_string()).collect()
}

#[test]
fn random_reaches_every_interleaving_about_as_often() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let runs = 4000;
    for seed in 0..runs {
        let ran = run_world(&Plan { seed: Seed(seed), strategy: StrategyPlan::Random, ..plan() }, |world| {
            yields(world, 2, 3)
        })
        .passed();
        *seen.entry(interleaving(&ran)).or_default() += 1;
    }
    assert_eq!(seen.len(), 20, "six yields of two processes can be mixed in (6 over 3) ways: {seen:?}");
    let mut expected = BTreeMap::new();
    walks(String::new(), [4, 4], 1.0, &mut expected);
    for (order, share) in expected {
        let (mean, count) = (share * runs as f64, f64::from(seen[&order]));
        assert!(
            (count - mean).powi(2) < 25.0 * mean,
            "{order}: {count} times where {mean} are expected, which is five standard deviations"
        );
    }
}

/// The probability of each interleaving of yields, if each step is a toss-up between those who can take one. A process's first step is its boot.
fn walks(order: String, left: [usize; 2], share: f64, shares: &mut BTreeMap<String, f64>) {
    if left == [0, 0] {
        let is_boot = |(place, process): (usize, char)| order.find(process) == Some(place);
        let yields: String = order.char_indices().filter(|step| !is_boot(*step)).map(|(_, process)| process).collect();
        *shares.entry(yields).or_default() += share;
        return;
    }
    let choices = left.iter().filter(|left| **left > 0).count();
    for process in (0..2).filter(|process| left[*process] > 0) {
        let mut left = left;
        left[process] -= 1;
        walks(format!("{order}{process}"), left, share / choices as f64, shares);
    }
}

#[test]
fn round_robin_takes_turns() {
    let ran = run_world(&Plan { strategy: StrategyPlan::RoundRobin, ..plan() }, |world| yields(world, 3, 4)).passed();
    assert_eq!(interleaving(&ran), "012012012012");
}

#[test]
fn timed_takes_calls_in_the_order_of_their_due_times() {
    for seed in 0..10 {
        let ran = run_world(&Plan { seed: Seed(seed), latency: "nvme".into(), ..plan() }, |world| yields(world, 5, 50))
            .passed();
        let mut due = BTreeMap::new();
        let mut last_ns = 0;
        for record in ran.records.iter().filter(|record| matches!(record.body, RecordBody::Call { .. })) {
            let RecordBody::Call { took_ns, .. } = record.body else { continue };
            assert!(record.time_ns >= last_ns, "time never goes back");
            last_ns = record.time_ns;
            // In time order no call waits for its turn: each happens when it is due, a latency after the process's last.
            let announced_ns = record.time_ns - took_ns;
            assert_eq!(due.insert(record.process, record.time_ns).unwrap_or(0), announced_ns);
        }
    }
    let order = |strategy| {
        interleaving(&run_world(&Plan { strategy, latency: "nvme".into(), ..plan() }, |world| yields(world, 3, 5)))
    };
    assert_ne!(order(StrategyPlan::Timed), order(StrategyPlan::Random), "random ignores due times");
}

#[test]
fn in_time_order_a_lock_goes_to_who_has_waited_longest() {
    let ran = run_world(&plan(), |world| {
        for index in 0..5u32 {
            world.process("a", index, move |sys| async move {
                // The last comes first.
                sys.sleep(u64::from(10 - index) * 1_000_000).await.expect("sleep");
                let file = sys.open("/lock", OpenFlags::READ_WRITE.create()).await.expect("open");
                file.lock(LockMode::Exclusive).await.expect("lock");
                note(&sys, "locked").await;
                sys.sleep(20_000_000).await.expect("sleep");
                Exit::success()
            });
        }
    })
    .passed();
    let order: Vec<u32> = ran.all_notes().into_iter().map(|(process, _)| process).collect();
    assert_eq!(order, [4, 3, 2, 1, 0]);
}

#[test]
fn the_calm_goes_in_time_order_whatever_the_strategy() {
    let ran = run_world(&Plan { strategy: StrategyPlan::Random, chaos_ns: 1_000_000, ..plan() }, |world| {
        for index in 0..3 {
            world.process("a", index, |sys| async move {
                while sys.monotonic_ns() < 3_000_000 {
                    sys.yield_now().await;
                }
                Exit::success()
            });
        }
    })
    .passed();
    let calm = ran.index(|record| record.body == RecordBody::CalmBegan);
    // What was announced before may be overdue; from each process's second call on, none is.
    let mut last: BTreeMap<_, u64> = BTreeMap::new();
    let mut late = 0;
    for record in &ran.records[calm + 1..] {
        let RecordBody::Call { took_ns, .. } = record.body else { continue };
        if last.insert(record.process, record.time_ns).is_some() && took_ns != 1000 {
            late += 1;
        }
    }
    assert_eq!(late, 0, "each call takes as long as was drawn");
    let before = ran.records[..calm]
        .iter()
        .any(|record| matches!(record.body, RecordBody::Call { took_ns, .. } if took_ns > 1000));
    assert!(before, "under `random` calls wait for their turn");
}
