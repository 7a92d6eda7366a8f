//! A scenario's recovery on a crash image: a run inside the run, on a thread, a clock and streams of its own. When it is done, and on which images, is
//! decided in `crash_points`.

use super::beat::Beat;
use super::begin::core;
use super::crash_points::Explorer;
use super::handle::Kernel;
use super::process::{Exit, RestartPolicy};
use super::run::{Settings, carry_out, drop_programs, in_simulation, seed_of_std};
use super::view::View;
use super::world::World;
use crate::invariant::{Invariant, Recovered, Violation};
use crate::plan::{Plan, Scenario, StrategyPlan};
use crate::schedule::FirstRun;
use crate::seed::{Draw, Seed};
use crate::sys::disk::Disk;
use crate::trace::{Body, Ended, Event, Interest, layer};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tracing::dispatcher::{self, Dispatch};

/// How long the machine stays down, in simulated nanoseconds.
const DOWN_NS: u64 = 1_000_000_000;

/// The plan of every recovery of a run, but for when it begins: time order, no faults, nothing to do. Its seed is another, so that what the dead drew
/// (names, tokens, the boot's id) is not drawn again.
pub(super) fn plan_of_recovery(plan: &Plan) -> Plan {
    Plan {
        format: plan.format,
        scenario: plan.scenario.clone(),
        seed: Seed(plan.seed.stream("recovery").bits()),
        strategy: StrategyPlan::Timed,
        persistence: plan.persistence,
        latency: plan.latency.clone(),
        chaos_ns: 0,
        calm_ns: plan.calm_ns,
        steps_max: plan.steps_max,
        disk_capacity_bytes: plan.disk_capacity_bytes,
        // Whoever recovers is named by the scenario's recovery, not by the plan.
        absent: Vec::new(),
        clock_skew_ns: plan.clock_skew_ns.clone(),
        settings: plan.settings.clone(),
        faults: Vec::new(),
        operations: Vec::new(),
        step_counts: None,
    }
}

/// The moment of a crash, and the machine then.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) now_ns: u64,
    pub(super) machine_boots: u32,
    pub(super) wall_offset_ns: i64,
}

/// What came of a recovery, beside the disk.
pub(super) struct Recovery {
    /// The first of its processes that ended badly, if it came to its end.
    pub(super) failed: Option<Recovered>,
    /// How its processes ended, or what is wrong with that.
    pub(super) processes: Result<Vec<Recovered>, Violation>,
    pub(super) recovered_ns: u64,
    pub(super) boot_id: u64,
}

/// Recovers `disk`. To be called on a fresh thread: nothing is left of it there.
pub(super) fn recover(
    scenario: &dyn Scenario,
    plan: &Plan,
    plan_of_recovery: &Plan,
    moment: Moment,
    beat: Option<Arc<Beat>>,
    disk: &mut Disk,
) -> Recovery {
    // Who prints the run's own events wants none of what never happened. Where nobody listens nothing needs to be turned off.
    let _quiet = layer::is_listened().then(|| dispatcher::set_default(&Dispatch::none()));
    in_simulation(seed_of_std(scenario, plan_of_recovery.seed), || {
        crate::sqlite::begin_run();
        let _recovering = beat.as_ref().map(Beat::recovers);
        let mut world = World::default();
        scenario.recover(plan, &mut world);
        let starts_nobody = world.processes.is_empty();
        let ended = Rc::new(RefCell::new(Vec::new()));
        world.invariants = vec![Box::new(Ends(ended.clone()))];
        for process in &mut world.processes {
            // One that fails has not recovered, even if its next try might.
            process.restart = RestartPolicy::Never;
        }
        let settings = Settings { beat, ..Settings::default() };
        let mut core = match core(&Rc::new(plan_of_recovery.clone()), world, settings, FirstRun::None) {
            Ok(core) => core,
            Err(error) => {
                let violation = Violation::new("recovers", format!("the recovery can't begin: {error}"));
                let processes = Err(violation.object("recovery").loss("refused"));
                return Recovery { failed: None, processes, recovered_ns: 0, boot_id: 0 };
            }
        };
        core.traced = false;
        core.now_ns = moment.now_ns + DOWN_NS;
        core.machine_started_ns = core.now_ns;
        core.machine_boots = moment.machine_boots + 1;
        core.wall_offset_ns = moment.wall_offset_ns;
        std::mem::swap(&mut core.disk, disk);
        let kernel = Kernel::new(core);
        carry_out(&kernel, &mut Explorer::none(), !scenario.is_self_contained());
        let (violation, recovered_ns, boot_id) = kernel.with(|core| {
            std::mem::swap(&mut core.disk, disk);
            (core.violations.pop(), core.now_ns, core.boot_id())
        });
        drop_programs(&kernel);
        let ended = ended.take();
        let failed = ended.iter().find(|recovered| recovered.exit.code != 0).cloned().filter(|_| violation.is_none());
        let processes = match (violation, &failed) {
            (Some(violation), _) => Err(no_end(&violation)),
            (None, Some(failed)) => Err(bad_end(failed)),
            (None, None) if starts_nobody => Err(no_recovery()),
            (None, None) => Ok(ended),
        };
        Recovery { failed, processes, recovered_ns, boot_id }
    })
}

/// Without one, images would pass for recovered that were only looked at.
fn no_recovery() -> Violation {
    let message = "the scenario has invariants that judge what a recovery leaves (`Invariant::acknowledgements`), and its recovery starts no process: \
                   `Scenario::recover` must";
    Violation::new("recovers", message).object("recovery").loss("nothing")
}

fn no_end(violation: &Violation) -> Violation {
    let loss = if violation.invariant == "no-panic" { "panic" } else { "endless" };
    let message = format!("the recovery does not end well: {}: {}", violation.invariant, violation.message);
    Violation::new("recovers", message).object("recovery").loss(loss)
}

fn bad_end(failed: &Recovered) -> Violation {
    let Recovered { name, role, exit } = failed;
    let message = format!("in the recovery {name} ended with code {}: {}", exit.code, exit.why);
    Violation::new("recovers", message).object("recovery").role(role).loss("failed")
}

/// Notes how processes end.
struct Ends(Rc<RefCell<Vec<Recovered>>>);

impl Invariant for Ends {
    fn id(&self) -> &'static str {
        "recovers"
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let (Body::Ended(Ended::Exited { code, why }), Some(process)) = (&event.body, event.process) {
            let process = view.process(process);
            let exit = Exit { code: *code, why: why.clone() };
            self.0.borrow_mut().push(Recovered { name: process.name.to_owned(), role: process.role, exit });
        }
        Ok(())
    }
}
