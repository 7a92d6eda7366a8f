//! Worlds whose traces are judged: programs that do anything to a few files, locks, names and each other. No test lives here.

use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Event, Record};
use seedstorm_sim::{Draw, Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};
use std::sync::{Arc, Mutex};

/// A scenario made of a closure.
struct Case<P>(P);

impl<P: Fn(&mut World)> Scenario for Case<P> {
    fn name(&self) -> &'static str {
        "case"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan::plain("case", seed))
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        self.0(world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Runs a plan, and gives its trace.
pub(crate) fn record(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> (Outcome, Vec<Record>) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = records.clone();
    let listener = Box::new(move |event: &Event<'_>, _: &View<'_>| {
        kept.lock().expect("nobody panics with it").push(Record::from(event));
    });
    let outcome = run(&Case(populate), plan, Settings { listener: Some(listener), ..Settings::default() });
    let records = std::mem::take(&mut *records.lock().expect("nobody panics with it"));
    (outcome.expect("the plan can be run"), records)
}

pub(crate) const MILLI_NS: u64 = 1_000_000;

/// In time order, each call a microsecond.
pub(crate) fn timed() -> Plan {
    Plan {
        strategy: StrategyPlan::Timed,
        latency: "flat".into(),
        chaos_ns: 1000 * MILLI_NS,
        ..Plan::plain("case", Seed(1))
    }
}

fn fault(id: u32, kind: FaultKind, process: Option<&str>, when: Trigger) -> FaultPlan {
    FaultPlan { id, kind, process: process.map(str::to_owned), when, for_ns: MILLI_NS, by_ns: 0, between: None }
}

/// A plan for [`anything`]: kills, sometimes a crash, messages that are lost, doubled and late.
pub(crate) fn plan_of_anything(seed: u64) -> Plan {
    let mut draw = Seed(seed).stream("test");
    let mut faults = Vec::new();
    for (id, process) in (1..).zip(["a-0", "a-1", "a-2", "a-3"]) {
        if draw.chance(1, 2) {
            let when = Trigger::AtNs(draw.below(2 * MILLI_NS));
            faults.push(fault(id, FaultKind::Kill, Some(process), when));
        }
    }
    if draw.chance(1, 3) {
        faults.push(fault(10, FaultKind::MachineCrash, None, Trigger::AtNs(draw.below(3 * MILLI_NS))));
    }
    let weather = |id, kind| fault(id, kind, None, Trigger::Weather { from_ns: 0, until_ns: u64::MAX, per_mille: 200 });
    faults.push(weather(11, FaultKind::MessageLoss));
    faults.push(weather(12, FaultKind::MessageDuplicate));
    faults.push(weather(13, FaultKind::MessageReorder));
    Plan { seed: Seed(seed), faults, chaos_ns: 20 * MILLI_NS, ..Plan::plain("case", Seed(seed)) }
}

/// Four processes that do anything.
pub(crate) fn anything(steps: u32) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for index in 0..4 {
            world.process("a", index, move |sys| async move {
                do_anything(&sys, steps).await;
                Exit::success()
            });
        }
    }
}

async fn do_anything(sys: &Sys, steps: u32) {
    let mailbox = sys.bind(1).await.expect("the port is free");
    let mut files = Vec::new();
    for _ in 0..steps {
        let (what, one, other) = {
            let mut draw = sys.entropy();
            (draw.below(24), draw.below(4), draw.below(4))
        };
        let path = format!("/{}", ["f", "g", "d/h", "d/i"][one as usize]);
        let second = format!("/{}", ["f", "g", "d/h", "d/i"][other as usize]);
        let flags = OpenFlags::READ_WRITE;
        // What fails is a part of it.
        match what {
            0..=3 => {
                let flags = match other {
                    0 => flags,
                    1 => flags.create_exclusive(),
                    2 => flags.create().truncate(),
                    _ => flags.create(),
                };
                files.extend(sys.open(&path, flags).await.ok());
            }
            4 => drop(files.pop()),
            5 => drop(sys.rename(&path, &second).await),
            6 => drop(sys.link(&path, &second).await),
            7 => drop(sys.unlink(&path).await),
            8 => drop(sys.mkdir("/d").await),
            9 => drop(sys.rmdir("/d").await),
            10 => drop(sys.read_dir(if one < 2 { "/" } else { "/d" }).await),
            11 => drop(sys.stat(&path).await),
            12 => drop(sys.process_info(101 + one as u32 + 4 * other as u32).await),
            13..=15 => drop(mailbox.send(&Address::new(format!("a-{one}"), 1), &[other as u8]).await),
            16 | 17 => drop(mailbox.receive_within(MILLI_NS / 50).await),
            18 => sys.yield_now().await,
            _ => {
                let Some(file) = files.last() else { continue };
                match what {
                    19 => drop(file.write_at(&[other as u8], 0).await),
                    20 => drop(file.read_at(&mut [0; 4], 0).await),
                    21 => drop(file.try_lock(if other < 2 { LockMode::Shared } else { LockMode::Exclusive }).await),
                    22 => drop(file.unlock().await),
                    _ if other < 2 => drop(file.try_lock_range(0, 1, LockMode::Exclusive).await),
                    _ => drop(file.unlock_range(0, 1).await),
                }
            }
        }
        if files.len() > 3 {
            files.remove(0);
        }
    }
}
