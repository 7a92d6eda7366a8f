//! What the tests of blocking code and of SQLite share: a scenario made of a closure, a plan for it, and common SQL. No test lives here.

#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod writers;

use rusqlite::{Connection, OpenFlags};
use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, Trigger};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Options, Outcome, Plan, Scenario, Seed, Settings, View, World, run};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

/// A scenario that a test writes in place.
pub(crate) struct Script<F>(pub(crate) F);

impl<F: Fn(&Plan, &mut World) + Sync> Scenario for Script<F> {
    fn name(&self) -> &'static str {
        "script"
    }

    fn about(&self) -> &'static str {
        "what a test does"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(plan(seed.0))
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        (self.0)(plan, world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A plan without faults: random schedule, NVMe latencies, the harshest persistence.
pub(crate) fn plan(seed: u64) -> Plan {
    Plan {
        chaos_ns: 30_000_000_000,
        calm_ns: 60_000_000_000,
        steps_max: 5_000_000,
        ..Plan::plain("script", Seed(seed))
    }
}

/// A fault on a process, or on the machine.
pub(crate) fn fault(id: u32, kind: FaultKind, process: Option<&str>, when: Trigger) -> FaultPlan {
    FaultPlan { id, kind, process: process.map(str::to_owned), when, for_ns: 5_000_000, by_ns: 0, between: None }
}

/// Runs a plan.
pub(crate) fn run_plan(plan: &Plan, populate: impl Fn(&Plan, &mut World) + Sync) -> Outcome {
    run(&Script(populate), plan, Settings::default()).expect("the plan can be run")
}

/// Runs a plan, and demands that nothing was violated.
pub(crate) fn pass(plan: &Plan, populate: impl Fn(&Plan, &mut World) + Sync) -> Outcome {
    let outcome = run_plan(plan, populate);
    assert!(outcome.passed(), "seed {}: {:#?}", plan.seed.0, outcome.violations);
    outcome
}

/// As [`pass`], and who went when is written down.
pub(crate) fn pass_recorded(plan: &Plan, populate: impl Fn(&Plan, &mut World) + Sync) -> Outcome {
    let settings = Settings { records_turns: true, ..Settings::default() };
    let outcome = run(&Script(populate), plan, settings).expect("the plan can be run");
    assert!(outcome.passed(), "seed {}: {:#?}", plan.seed.0, outcome.violations);
    outcome
}

/// Opens a database as the model does.
pub(crate) fn open(path: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Opens a database in WAL mode with `synchronous=FULL`.
pub(crate) fn open_wal(path: &str) -> rusqlite::Result<Connection> {
    let connection = open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// One number out of a query.
pub(crate) fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// What a program says in these tests: a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said(pub(crate) String);

impl Claim for Said {
    const KIND: &'static str = "said";
}

/// Runs a plan, and gives what was said, in order: by whom, and what.
pub(crate) fn listen(plan: &Plan, populate: impl Fn(&Plan, &mut World) + Sync) -> (Outcome, Vec<(String, String)>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        if let Some(Said(text)) = event.claim::<Said>() {
            let who = event.process.map(|process| view.process(process).name.to_owned()).unwrap_or_default();
            heard.lock().expect("nobody panicked").push((who, text));
        }
    };
    let settings = Settings { listener: Some(Box::new(listener)), ..Settings::default() };
    let outcome = run(&Script(populate), plan, settings).expect("the plan can be run");
    let said = std::mem::take(&mut *said.lock().expect("nobody panicked"));
    (outcome, said)
}
