//! Invariants that are never the first to fire, since others say more of the same event: with a bug planted and nobody else asked, each fires.

use seedstorm_model::mutant::Mutant;
use seedstorm_scenarios::avalanche::workload;
use seedstorm_scenarios::contradiction_avalanche::ContradictionAvalanche;
use seedstorm_scenarios::oracle::beliefs::judge::{OfBeliefs, labels_order_free};
use seedstorm_scenarios::oracle::beliefs::reading::{Planned, Reader};
use seedstorm_scenarios::oracle::signals::{Ledger, Watch};
use seedstorm_scenarios::signal_flood::SignalFlood;
use seedstorm_scenarios::{flood, swarm};
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::plan::{MUTANT, OptionsError};
use seedstorm_sim::{Options, Plan, Scenario, Seed, Settings, World, run};
use std::cell::RefCell;
use std::rc::Rc;

/// A scenario with one invariant.
struct Alone {
    of: &'static (dyn Scenario + Sync),
    programs: fn(&Plan, &mut World),
    invariant: fn(&Plan, &mut World),
}

impl Scenario for Alone {
    fn name(&self) -> &'static str {
        self.of.name()
    }

    fn about(&self) -> &'static str {
        self.of.about()
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        self.of.plan(seed, options)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        (self.programs)(plan, world);
        (self.invariant)(plan, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// The seeds, of so many, in which the one invariant fires, with the bug and without.
fn fires(scenario: &Alone, seeds: u64, options: &Options, mutant: &str) -> (usize, usize) {
    let of = |mutant: Option<&str>| {
        let mut options = options.clone();
        options.set.extend(mutant.map(|name| (MUTANT.to_owned(), name.to_owned())));
        let violated = |seed: &u64| {
            let plan = scenario.plan(Seed(*seed), &options).expect("a plan");
            let settings = Settings { crash_points: CrashPoints::None, ..Settings::default() };
            !run(scenario, &plan, settings).expect("it can be run").passed()
        };
        (0..seeds).filter(violated).count()
    };
    (of(Some(mutant)), of(None))
}

fn small_flood() -> Options {
    Options { workers: Some(5), duration_ns: Some(60_000_000), ..Options::default() }
}

fn flood_with(invariant: fn(&Plan, &mut World)) -> Alone {
    Alone { of: &SignalFlood, programs: flood::populate, invariant }
}

#[test]
fn a_clock_that_is_overwritten_falls() {
    let watch = |_: &Plan, world: &mut World| {
        world.invariant(Watch::new("clocks-monotone", Rc::new(RefCell::new(Ledger::default()))));
    };
    let (with, without) = fires(&flood_with(watch), 4, &small_flood(), "entries-overwritten");
    assert!(with > 0 && without == 0, "{with} with it, {without} without");
}

#[test]
fn a_sender_that_is_counted_on_closes_a_cycle() {
    let watch = |_: &Plan, world: &mut World| {
        world.invariant(Watch::new("claimed-order-acyclic", Rc::new(RefCell::new(Ledger::default()))));
    };
    let (with, without) = fires(&flood_with(watch), 4, &small_flood(), "sender-counted-on");
    assert!(with > 0 && without == 0, "{with} with it, {without} without");
}

#[test]
fn contradictions_that_yield_by_arrival_are_labelled_by_their_order() {
    let watch = |plan: &Plan, world: &mut World| {
        // The engine that takes the records in again has the bug, too: by itself it would have none.
        let mutant = plan.setting_str(MUTANT).and_then(Mutant::parse);
        let reader = Reader::new(Planned { mutant, ..workload::planned(plan) });
        world.invariant(OfBeliefs::rarely("labels-order-free", &reader, labels_order_free));
    };
    let avalanche = Alone { of: &ContradictionAvalanche, programs: swarm::populate, invariant: watch };
    let options = Options { workers: Some(4), ..Options::default() };
    let (with, without) = fires(&avalanche, 12, &options, "contradiction-by-arrival");
    assert!(with > 0 && without == 0, "{with} with it, {without} without");
}
