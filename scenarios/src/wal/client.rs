//! The processes of sqlite-wal: each has several connections, each connection a task. What a connection does is in `connection`.

use super::connection::{End, Script, live};
use super::content::Contents;
use super::error::Trouble;
use super::schema::Config;
use crate::plans::workers_of;
use crate::script::TERMINATED;
use seedstorm_sim::plan::Operation;
use seedstorm_sim::{Exit, Plan, Sys, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use toml::Value;

/// A client's connections, and how often it has ended by itself. They outlive its deaths.
struct Client {
    config: Config,
    scripts: Vec<Rc<Script>>,
    failures: Cell<u32>,
}

/// So many failures of a client are final, as for a service manager. Where nothing excuses a failure, the first one is a violation, and nobody gets here.
const FAILURES_MAX: u32 = 100;

/// Adds the preparation, and a process for each that the plan's settings name.
pub fn populate(plan: &Plan, world: &mut World) {
    let config = Config::of(plan);
    let prepared = config.clone();
    world.prepare(move |sys| {
        let config = prepared.clone();
        async move {
            match sys.blocking(move |_| config.prepare()).await {
                Ok(()) => Exit::success(),
                Err(error) => Exit::failure(format!("prepare: {error}")),
            }
        }
    });
    let mut scripts: BTreeMap<&str, BTreeMap<i64, Vec<Operation>>> = BTreeMap::new();
    for operation in &plan.operations {
        let connection = operation.arguments.get("connection").and_then(Value::as_integer).unwrap_or(0);
        scripts.entry(&operation.process).or_default().entry(connection).or_default().push(operation.clone());
    }
    for index in 0..workers_of(plan) {
        let scripts = scripts.remove(format!("agent-{index}").as_str()).unwrap_or_default();
        let scripts = scripts.into_values().map(|operations| Rc::new(Script::new(operations))).collect();
        let client = Rc::new(Client { config: config.clone(), scripts, failures: Cell::new(0) });
        world.process("agent", index, move |sys| work(sys, client.clone()));
    }
}

/// Adds a client as it comes up after a crash: it opens the database, and reads everything. What it makes of damage is for the invariants to judge.
pub fn recover(plan: &Plan, world: &mut World) {
    let config = Config::of(plan);
    world.process("agent", 0, move |sys| {
        let config = config.clone();
        async move {
            let read = sys.blocking(move |_| -> Result<(), Trouble> {
                Contents::read(&config.open(false)?)?;
                Ok(())
            });
            match read.await {
                Ok(()) | Err(Trouble::Damaged(_) | Trouble::Unexpected(_)) => Exit::success(),
                Err(trouble) => Exit::failure(format!("{trouble:?}")),
            }
        }
    });
}

async fn work(sys: Sys, client: Rc<Client>) -> Exit {
    let mut tasks = Vec::new();
    for script in client.scripts.iter().skip(1) {
        let (client, script) = (client.clone(), script.clone());
        tasks.push(sys.spawn(move |sys| connect(sys, client, script)).await);
    }
    let mut ends = Vec::new();
    if let Some(script) = client.scripts.first() {
        ends.push(connect(sys.clone(), client.clone(), script.clone()).await);
    }
    for task in tasks {
        ends.push(sys.join(task).await);
    }
    let failed = ends.iter().find_map(|end| if let End::Failed(why) = end { Some(why.clone()) } else { None });
    match failed {
        Some(why) => {
            client.failures.set(client.failures.get() + 1);
            if client.failures.get() < FAILURES_MAX {
                return Exit::failure(why);
            }
            Exit { code: 0, why: format!("given up: {why}") }
        }
        None if ends.iter().any(|end| matches!(end, End::Terminated)) => {
            Exit { code: TERMINATED, why: "asked to end".into() }
        }
        None => Exit::success(),
    }
}

async fn connect(sys: Sys, client: Rc<Client>, script: Rc<Script>) -> End {
    let clock = sys.clone();
    sys.blocking(move |os| live(os, &clock, &client.config, &script)).await
}
