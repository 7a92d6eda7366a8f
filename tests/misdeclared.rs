//! A program whose scenarios say wrong things of themselves: an invariant that they don't list, and one that doesn't exist.

use seedstorm::Known;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{OptionsError, PlantedBug, Refusal};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Exit, Options, Plan, Scenario, Seed, Sys, View, World};
use std::process::ExitCode;

static UNLISTED: Misdeclared = Misdeclared { name: "unlisted", adds: "counts-rise", bug: None };

static MISSPELT: Misdeclared = Misdeclared {
    name: "misspelt",
    adds: "counts-kept",
    bug: Some(PlantedBug::new("forgets", "forgets what it has counted", "counts-kpet")),
};

static MISSPELT_ALSO: Misdeclared = Misdeclared {
    name: "misspelt-also",
    adds: "counts-kept",
    bug: Some(PlantedBug::new("forgets-all", "forgets all of it", "progress").also(&["no-panik"])),
};

static ALL: [Known; 3] = [&UNLISTED, &MISSPELT, &MISSPELT_ALSO];

fn main() -> ExitCode {
    seedstorm::main_with(&ALL)
}

struct Misdeclared {
    name: &'static str,
    /// The invariant of its world.
    adds: &'static str,
    bug: Option<PlantedBug>,
}

impl Scenario for Misdeclared {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "says wrong things of itself"
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let mutant = options.set.iter().map(|(key, value)| (key.clone(), toml::Value::String(value.clone())));
        let plan = Plan { settings: mutant.collect(), ..Plan::plain(self.name, seed) };
        Ok(Plan { strategy: options.strategy.unwrap_or(plan.strategy), ..plan })
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        plan.check_planted_bug(&self.planted_bugs())
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        world.process("clerk", 0, |sys: Sys| async move {
            sys.yield_now().await;
            Exit::success()
        });
        world.invariant(Holds(self.adds));
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("counts-kept", "nothing that was counted is forgotten")]
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        self.bug.into_iter().collect()
    }
}

/// What always holds.
struct Holds(&'static str);

impl Invariant for Holds {
    fn id(&self) -> &'static str {
        self.0
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
