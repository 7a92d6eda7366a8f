//! What observers are shown as ready, at every event of busy runs: each announced call once, of the living alone, and never the one that was picked.

use crate::support::{MILLI_NS, at_call, fault, follow_world, plan, recording, run_watched};
use crate::wakers::{Oneshot, either};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::sync::Mutex;
use seedstorm_sim::sys::{LockMode, OpenFlags, Sys};
use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId};
use seedstorm_sim::{Draw, Exit, Plan, Seed, View, World};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tasks start others, wake each other past the kernel, give up calls that they have announced, wait for locks, and end.
fn restless(world: &mut World) {
    world.prepare(|sys| async move {
        sys.mkdir("/data").await.expect("mkdir");
        Exit::success()
    });
    for index in 0..3 {
        world.process("a", index, |sys| async move {
            let mutex = Mutex::new(&sys, 0u32);
            for round in 0..6 {
                let oneshot = Oneshot::new();
                let (gift, counter) = (oneshot.clone(), mutex.clone());
                let child = sys.spawn(move |sys| async move {
                    *counter.lock().await.expect("nobody poisons it") += 1;
                    let pause_ns = sys.entropy().below(MILLI_NS / 2);
                    let _ = sys.sleep(pause_ns).await;
                    gift.give(round);
                    let grandchild = sys.spawn(|sys| async move { sys.yield_now().await });
                    grandchild.await;
                    sys.yield_now().await;
                });
                let child = child.await;
                // The sleep is given up if the gift comes first.
                let won = either(oneshot, sys.sleep(MILLI_NS / 4)).await;
                write(&sys, won.is_ok()).await;
                sys.join(child).await;
            }
            Exit::success()
        });
    }
}

async fn write(sys: &Sys, is_locked: bool) {
    let Ok(file) = sys.open("/data/log", OpenFlags::WRITE.create().append()).await else { return };
    if is_locked && file.lock(LockMode::Exclusive).await.is_err() {
        return;
    }
    let _ = file.write(b"line\n").await;
}

fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (strategy, _) in StrategyPlan::ALL.iter().copied() {
        for seed in 0..12 {
            let of = |id: u32, kind, when| FaultPlan {
                id,
                process: Some(format!("a-{}", id % 3)),
                for_ns: MILLI_NS,
                ..fault(kind, when)
            };
            let nth = seed % 6 + 1;
            let faults = vec![
                of(1, FaultKind::Kill, at_call(CallKind::Lock, nth)),
                of(2, FaultKind::Pause, at_call(CallKind::Yield, nth)),
                of(3, FaultKind::Kill, at_call(CallKind::Open, nth)),
                of(4, FaultKind::Delay, at_call(CallKind::Sleep, nth)),
                of(5, FaultKind::Terminate, Trigger::AtNs(nth * MILLI_NS)),
                of(6, FaultKind::MachineCrash, at_call(CallKind::Write, nth)),
            ];
            plans.push(Plan { seed: Seed(seed), strategy, faults, latency: "nvme".into(), ..plan() });
        }
    }
    plans
}

/// Fails the test unless what is ready is as it should be. Gives how many calls were.
fn look(event: &Event<'_>, view: &View<'_>) -> u64 {
    let mut seen = BTreeSet::new();
    for call in view.ready() {
        let of = (call.process, call.ordinal, call.kind == CallKind::Wake);
        assert!(seen.insert(of), "{call:?} is shown twice at {event:?}");
        let process = view.process(ProcessId(call.process.0));
        assert!(process.is_live && !process.is_paused, "{call:?} is of {process:?}, at {event:?}");
        assert!(!view.is_waiting(call.task) || call.kind == CallKind::Wake, "{call:?} waits, at {event:?}");
        if let Body::Call { kind, .. } = event.body
            && kind != CallKind::Wake
        {
            let is_picked = event.task == Some(call.task) && call.kind == kind;
            assert!(!is_picked, "{call:?} has been picked: {event:?}");
        }
    }
    seen.len() as u64
}

#[test]
fn each_announced_call_is_shown_once_and_the_picked_one_never() {
    let shown = Arc::new(AtomicU64::new(0));
    for plan in plans() {
        let sum = shown.clone();
        let watch = move |event: &Event<'_>, view: &View<'_>| {
            sum.fetch_add(look(event, view), Ordering::Relaxed);
        };
        let ran = run_watched(&plan, recording(), watch, restless).passed();
        follow_world(&plan, &ran, restless).passed().is_exactly(&ran);
    }
    assert!(shown.load(Ordering::Relaxed) > 10_000, "{shown:?}");
}
