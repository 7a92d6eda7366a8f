//! Small scenarios: yields, sleeps, SQLite, and a mix of calls. An invariant is called at each of their steps.

use super::{STRATEGY, workload};
use seedstorm_sim::invariant::{Invariant, Violation, watch_locks};
use seedstorm_sim::plan::{OptionsError, PLAN_FORMAT};
use seedstorm_sim::sys::claim::{Exclusion, LockAcquired, LockReleased};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Draw, Errno, Exit, Options, Plan, Scenario, Seed, Sys, View, World};

/// A small scenario.
pub(super) enum Small {
    /// Processes that only yield.
    Yields { tasks: u64, rounds: u64 },
    /// Processes that sleep for drawn times.
    Sleeps { tasks: u64, rounds: u64 },
    /// Processes with transactions on one database.
    Sqlite { agents: u64, transactions: u64 },
    /// Sixteen processes that write, sync, lock, claim, sleep and yield, for about so many steps in all.
    Mixed { steps: u64 },
}

impl Scenario for Small {
    fn name(&self) -> &'static str {
        "small"
    }

    fn about(&self) -> &'static str {
        "work for the benches"
    }

    fn is_self_contained(&self) -> bool {
        true
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan {
            format: PLAN_FORMAT,
            scenario: self.name().into(),
            seed,
            strategy: STRATEGY,
            step_counts: None,
            persistence: Persistence::Ext4,
            latency: "nvme".into(),
            chaos_ns: u64::MAX / 4,
            calm_ns: u64::MAX / 4,
            steps_max: u64::MAX,
            disk_capacity_bytes: None,
            absent: Vec::new(),
            clock_skew_ns: Default::default(),
            settings: Default::default(),
            faults: Vec::new(),
            operations: Vec::new(),
        })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        match *self {
            Small::Yields { tasks, rounds } => {
                for index in 0..tasks as u32 {
                    world.process("task", index, move |sys| async move {
                        for _ in 0..rounds {
                            sys.yield_now().await;
                        }
                        Exit::success()
                    });
                }
            }
            Small::Sleeps { tasks, rounds } => {
                for index in 0..tasks as u32 {
                    world.process("task", index, move |sys| async move {
                        for _ in 0..rounds {
                            let for_ns = sys.entropy().between(1_000_000, 10_000_000);
                            if sys.sleep(for_ns).await.is_err() {
                                return Exit::failure("a sleep was interrupted");
                            }
                        }
                        Exit::success()
                    });
                }
            }
            Small::Sqlite { agents, transactions } => {
                world.prepare(|sys| async move { exit(sys.blocking(|_os| workload::prepare()).await) });
                for index in 0..agents as u32 {
                    world.process("task", index, move |sys| async move {
                        exit(sys.blocking(move |_os| workload::agent(u64::from(index), transactions)).await.map(drop))
                    });
                }
            }
            Small::Mixed { steps } => {
                for index in 0..16 {
                    world.process("task", index, move |sys| async move {
                        match mixed(&sys, index, steps / 16 / STEPS_PER_ROUND).await {
                            Ok(()) => Exit::success(),
                            Err(error) => Exit::failure(error.to_string()),
                        }
                    });
                }
            }
        }
        watch_locks(world);
        world.invariant(Counting::default());
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

fn exit(result: rusqlite::Result<()>) -> Exit {
    match result {
        Ok(()) => Exit::success(),
        Err(error) => Exit::failure(error.to_string()),
    }
}

/// Calls of one round of `mixed`, more or less.
const STEPS_PER_ROUND: u64 = 9;

async fn mixed(sys: &Sys, index: u32, rounds: u64) -> Result<(), Errno> {
    let file = sys.open(&format!("/file-{index}"), OpenFlags::READ_WRITE.create()).await?;
    let lock = sys.open("/lock", OpenFlags::READ_WRITE.create()).await?;
    for round in 0..rounds {
        file.write_at(&[round as u8; 200], round * 200 % 65_536).await?;
        file.read_at(&mut [0; 100], round * 100 % 65_536).await?;
        if round % 8 == 0 {
            file.sync().await?;
        }
        sys.yield_now().await;
        lock.lock(LockMode::Exclusive).await?;
        sys.claim(&LockAcquired { lock: "lock".into(), exclusion: Exclusion::Holder, token: 0 }).await;
        sys.claim(&LockReleased { lock: "lock".into() }).await;
        lock.unlock().await?;
        sys.sleep(sys.entropy().below(100_000)).await?;
    }
    Ok(())
}

/// An invariant that is called at each step and counts: the least that a check can cost.
#[derive(Default)]
struct Counting {
    vfs_calls: u64,
}

impl Invariant for Counting {
    fn id(&self) -> &'static str {
        "counting"
    }

    fn interest(&self) -> Interest {
        Interest::ALL
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Body::Call { kind, .. } = event.body {
            self.vfs_calls +=
                u64::from(!matches!(kind, CallKind::Boot | CallKind::Yield | CallKind::Sleep | CallKind::Claim));
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        view.count("vfs_calls", self.vfs_calls);
        Ok(())
    }
}
