//! Whether a plan can be run at all: its world is filled, and nothing in it starts. What is refused then, `begin` refuses at a run, too.

use super::begin::core;
use super::run::{RunError, Settings, in_simulation, on_fresh_thread, seed_of_std};
use super::world::World;
use crate::plan::{Plan, Scenario};
use crate::schedule::FirstRun;
use std::rc::Rc;

/// Looks whether a plan can be run, for whoever wants to know before anything is told of the run. The scenario fills a world, on a thread of its own; no step
/// is taken.
///
/// # Errors
/// As [`super::run`]; an invariant that the scenario doesn't list.
///
/// # Panics
/// When the scenario does.
pub fn check(scenario: &(dyn Scenario + Sync), plan: &Plan) -> Result<(), RunError> {
    let look = || {
        let mut world = World::default();
        scenario.populate(plan, &mut world);
        world.check_listed(scenario)?;
        core(&Rc::new(plan.clone()), world, Settings::default(), FirstRun::None).map(drop)
    };
    // Without a turn, as runs take it: a world that is never filled would keep it from the run that tells so.
    on_fresh_thread(|| in_simulation(seed_of_std(scenario, plan.seed), look))
}
