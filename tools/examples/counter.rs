//! Agents of your own in seedstorm: processes that count in one file. Copy this file into a crate of yours and begin from it.
//!
//! `cargo run --release --example counter -- sweep --scenarios counter --seeds 0..200` passes; with `--set lock=none` it finds the lost update.

use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, Trigger};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Draw, Errno, Exit, Options, Plan, Scenario, Seed, Sys, View, World};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

const PATH: &str = "/counter";
const COUNTS: u64 = 20;

/// What a process believes after it has counted.
#[derive(Serialize, Deserialize)]
struct Counted {
    to: u64,
}

impl Claim for Counted {
    const KIND: &'static str = "counted";
}

/// A program is an async function on `Sys`, its operating system. Each call is a step: anything may happen between two of them.
async fn count(sys: Sys, locks: bool) -> Result<(), Errno> {
    let file = sys.open(PATH, OpenFlags::READ_WRITE.create()).await?;
    for _ in 0..COUNTS {
        if locks {
            file.lock(LockMode::Exclusive).await?;
        }
        let mut bytes = [0; 8];
        file.read_at(&mut bytes, 0).await?;
        let to = u64::from_le_bytes(bytes) + 1;
        file.write_at(&to.to_le_bytes(), 0).await?;
        sys.claim(&Counted { to }).await;
        if locks {
            file.unlock().await?;
        }
        sys.sleep(sys.entropy().below(1_000_000)).await?;
    }
    Ok(())
}

/// An invariant sees each event that it wants just after it took effect, and judges.
#[derive(Default)]
struct CountsRise {
    last: u64,
}

impl Invariant for CountsRise {
    fn id(&self) -> &'static str {
        "counts-rise"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(Counted { to }) = event.claim() else { return Ok(()) };
        if to <= self.last {
            let message = format!("a process counted to {to} after another had counted to {}", self.last);
            return Err(Violation::new(self.id(), message).object("counter").role("counter").loss("lost-update"));
        }
        self.last = to;
        view.cover("counted");
        Ok(())
    }
}

struct Counter;

impl Scenario for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn about(&self) -> &'static str {
        "processes that count in one file"
    }

    fn faults(&self) -> &'static [FaultKind] {
        &[FaultKind::Kill]
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let workers = options.workers.unwrap_or(4);
        let settings = options.settings(&[("lock", &["flock", "none"])], &[])?;
        let mut stream = seed.stream("counter");
        let process = format!("counter-{}", stream.below(u64::from(workers)));
        let kill = FaultPlan::new(1, FaultKind::Kill, Some(process), Trigger::AtNs(stream.below(20_000_000)));
        let faults = options.faults.choose(vec![kill]);
        let mut plan = Plan { settings, faults, persistence: Persistence::Ext4, ..Plan::plain(self.name(), seed) };
        plan.settings.insert("workers".into(), i64::from(workers).into());
        plan.strategy = options.strategy_of(seed, 100 * u64::from(workers));
        plan.chaos_ns = options.duration_ns.unwrap_or(1_000_000_000);
        Ok(plan)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        let locks = plan.setting_str("lock") == Some("flock");
        for index in 0..plan.setting_u64("workers", 1) as u32 {
            world.process("counter", index, move |sys| async move {
                match count(sys, locks).await {
                    Ok(()) => Exit::success(),
                    Err(error) => Exit::failure(error.to_string()),
                }
            });
        }
        world.invariant(CountsRise::default());
    }

    fn coverage(&self) -> &'static [&'static str] {
        &["counted"]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("counts-rise", "no two processes count to the same number")]
    }
}

fn main() -> ExitCode {
    seedstorm::main_with(&[&Counter])
}
