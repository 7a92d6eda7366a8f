//! `skips`, and the enumeration of its schedules: each that there is with so many skips is run, none twice, and what is found needs as few as there can be.

use crate::support::{explore_world, note, plan, run_world};
use seedstorm_sim::plan::{SkipPoints, StrategyPlan};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Errno, Exit, Plan, Sys, World};
use std::collections::BTreeSet;

/// Processes that claim so many times each. None of them ever waits for another.
fn claims(world: &mut World, processes: u32, times: u32) {
    for index in 0..processes {
        world.process("a", index, move |sys| async move {
            for _ in 0..times {
                note(&sys, "here").await;
            }
            Exit::success()
        });
    }
}

fn skipping(at: SkipPoints) -> Plan {
    Plan { strategy: StrategyPlan::Skips { at }, ..plan() }
}

/// Whose calls they were, in order: boots and claims.
fn order(plan: &Plan, processes: u32, times: u32) -> Vec<u32> {
    let ran = run_world(plan, |world| claims(world, processes, times)).passed();
    let is_step =
        |body: &RecordBody| matches!(body, RecordBody::Claim { .. } | RecordBody::Call { kind: CallKind::Boot, .. });
    let steps = ran.records.iter().filter(|record| is_step(&record.body));
    steps.map(|record| record.process.expect("a process's").0).collect()
}

/// The orders of a scheduler by the book: each goes on until it has taken its steps, or is skipped; then the next one in the round that has some left.
fn by_the_book(left: &mut [u32], at: usize, skips: u32, order: &mut Vec<u32>, orders: &mut BTreeSet<Vec<u32>>) {
    let Some(goes) = (0..left.len()).map(|ahead| (at + ahead) % left.len()).find(|process| left[*process] > 0) else {
        orders.insert(order.clone());
        return;
    };
    left[goes] -= 1;
    order.push(goes as u32);
    by_the_book(left, goes, skips, order, orders);
    order.pop();
    left[goes] += 1;
    if skips > 0 && left.iter().filter(|left| **left > 0).count() > 1 {
        by_the_book(left, (goes + 1) % left.len(), skips - 1, order, orders);
    }
}

#[test]
fn each_schedule_that_there_is_is_run() {
    for (processes, times, skips) in [(2, 3, 0), (2, 3, 1), (2, 3, 3), (3, 2, 2), (3, 2, 4)] {
        let (explored, plans) =
            explore_world(&skipping(SkipPoints::NONE), skips, usize::MAX, |world| claims(world, processes, times));
        assert!(!explored.is_cut_off && explored.failing.is_none());
        let run: BTreeSet<Vec<u32>> = plans.iter().map(|plan| order(plan, processes, times)).collect();
        let mut expected = BTreeSet::new();
        // A boot is a step, too.
        by_the_book(&mut vec![times + 1; processes as usize], 0, skips, &mut Vec::new(), &mut expected);
        assert_eq!(run, expected, "{processes} processes, {skips} skips");
        let distinct: u64 = explored.levels.iter().map(|level| level.distinct).sum();
        assert_eq!(distinct, expected.len() as u64, "{processes} processes, {skips} skips: {:?}", explored.levels);
        let runs: u64 = explored.levels.iter().map(|level| level.runs).sum();
        assert_eq!(runs, plans.len() as u64);
        assert!(explored.levels.iter().all(|level| level.runs == level.schedules), "{:?}", explored.levels);
        let texts: BTreeSet<String> = plans.iter().map(|plan| plan.strategy.to_string()).collect();
        assert_eq!(texts.len(), plans.len(), "none is run twice");
    }
}

/// Reads a number in a file and writes it back, one higher.
async fn count(sys: &Sys) -> Result<(), Errno> {
    let file = sys.open("/count", OpenFlags::READ_WRITE.create()).await?;
    let mut bytes = [0];
    file.read_at(&mut bytes, 0).await?;
    file.write_at(&[bytes[0] + 1], 0).await?;
    Ok(())
}

/// Three count, and the last of them to be done looks whether all were counted.
fn counters(world: &mut World) {
    for index in 0..3 {
        world.process("a", index, move |sys| async move {
            count(&sys).await.expect("no faults");
            let done = sys.open(&format!("/done-{index}"), OpenFlags::READ_WRITE.create()).await.expect("no faults");
            done.close().await.expect("it is open");
            if sys.read_dir("/").await.expect("the root is there").len() < 4 {
                return Exit::success();
            }
            let file = sys.open("/count", OpenFlags::READ).await.expect("it was made");
            let mut bytes = [0];
            file.read_at(&mut bytes, 0).await.expect("no faults");
            assert_eq!(bytes[0], 3, "all were counted");
            Exit::success()
        });
    }
}

#[test]
fn what_is_found_needs_as_few_skips_as_there_can_be() {
    let base = Plan { strategy: StrategyPlan::Random, ..plan() };
    let (explored, _) = explore_world(&base, 0, usize::MAX, counters);
    assert!(explored.failing.is_none(), "one after the other they count right");
    let (explored, plans) = explore_world(&base, 3, usize::MAX, counters);
    let failing = explored.failing.expect("between its read and its write another one counts");
    let StrategyPlan::Skips { at } = failing.plan.strategy else { panic!("{}", failing.plan.strategy) };
    assert_eq!((at.all().len(), explored.levels.len()), (1, 2), "one skip is enough");
    let violation = failing.tried.and_then(|tried| tried.violation).expect("a violation");
    assert_eq!(violation.invariant, "no-panic");
    let again = run_world(&failing.plan, counters);
    assert_eq!(again.outcome.violations.first().map(|violation| &violation.message), Some(&violation.message));
    let before: Vec<&Plan> = plans.iter().take_while(|plan| plan.strategy != failing.plan.strategy).collect();
    assert!(
        before.len() > 1 && before.iter().all(|plan| run_world(plan, counters).outcome.passed()),
        "it is the first"
    );
}

#[test]
fn a_search_that_is_ended_says_how_far_it_came() {
    let (explored, plans) = explore_world(&plan(), 2, 40, |world| claims(world, 3, 4));
    assert!(explored.is_cut_off && explored.failing.is_none());
    let last = explored.levels.last().expect("a level");
    assert_eq!((last.skips, plans.len() as u64), (2, explored.levels.iter().map(|level| level.runs).sum::<u64>()));
    assert!(last.runs < last.schedules, "{last:?}");
    assert!(explored.levels[..2].iter().all(|level| level.runs == level.schedules));
}

#[test]
fn who_asks_again_and_again_lets_others_go_in_the_end() {
    let ran = run_world(&skipping(SkipPoints::NONE), |world| {
        world.process("a", 0, |sys| async move {
            while sys.open("/ready", OpenFlags::READ).await.is_err() {}
            Exit::success()
        });
        world.process("a", 1, |sys| async move {
            let ready = sys.open("/ready", OpenFlags::READ_WRITE.create()).await.expect("no faults");
            ready.close().await.expect("it is open");
            Exit::success()
        });
    })
    .passed();
    assert!(ran.outcome.choices.is_some_and(|choices| choices > 1_000), "{:?}", ran.outcome.choices);
}
