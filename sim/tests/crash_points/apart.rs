//! The run notices nothing of crash points: not its hash, clocks, entropy, hash maps, nor SQLite's generator, which belongs to the whole OS
//! process. Recoveries use all of them.

use crate::support::{Case, count, plan, run_case};
use rusqlite::Connection;
use seedstorm_sim::invariant::{CrashPoints, Invariant, Survivor, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Operation, StrategyPlan, Trigger};
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Draw, Exit, Outcome, Plan, Seed, Sys, View, World};
use serde::{Deserialize, Serialize};
use std::time::{Instant, SystemTime};

const DATABASE: &str = "/state.db";
const AGENTS: u32 = 3;

/// All that a program can learn of clocks and chance.
#[derive(Serialize, Deserialize)]
struct Learned {
    elapsed_ns: u64,
    wall_ns: u128,
    entropy: u64,
    hash_order: Vec<u32>,
    from_sqlite: i64,
}

impl Claim for Learned {
    const KIND: &'static str = "learned";
}

#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what reaches programs by these doors is what is tested"
)]
async fn learn(sys: &Sys, since: Instant, from_sqlite: i64) {
    let map: std::collections::HashMap<u32, ()> = (0..40).map(|key| (key, ())).collect();
    let learned = Learned {
        elapsed_ns: since.elapsed().as_nanos() as u64,
        wall_ns: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_nanos(), // simulated: that is what is tested
        entropy: sys.entropy().bits(),
        hash_order: map.into_keys().collect(),
        from_sqlite,
    };
    sys.claim(&learned).await;
}

/// Pages of the database are many, and each connection may keep few: it depends on every page that is taken from it.
fn open() -> rusqlite::Result<Connection> {
    let connection = Connection::open(DATABASE)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.execute_batch("PRAGMA page_size = 512; PRAGMA cache_size = 12; PRAGMA synchronous = FULL")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("CREATE TABLE IF NOT EXISTS noise (id INTEGER PRIMARY KEY, bytes BLOB)")?;
    Ok(connection)
}

fn write(connection: &Connection) -> rusqlite::Result<i64> {
    connection.execute_batch(
        "BEGIN IMMEDIATE; INSERT INTO noise (bytes) VALUES (randomblob(700)), (randomblob(900)); COMMIT",
    )?;
    connection.query_row("SELECT random() + (SELECT count(*) FROM noise WHERE bytes <> x'')", [], |row| row.get(0))
}

#[allow(clippy::disallowed_methods, reason = "what reaches programs by this door is what is tested")]
async fn work(sys: Sys, rounds: u64) -> Exit {
    let since = Instant::now(); // simulated: that is what is tested
    let mut connection = None;
    for round in 0..rounds {
        sys.begin_operation(round + 1);
        let kept = connection.take();
        let done: rusqlite::Result<(Connection, i64)> = sys
            .blocking(move |_| {
                let connection: Connection = kept.map_or_else(open, Ok)?;
                let drawn = write(&connection)?;
                Ok((connection, drawn))
            })
            .await;
        match done {
            Ok((open, drawn)) => {
                connection = Some(open);
                learn(&sys, since, drawn).await;
            }
            Err(error) => return Exit::failure(error.to_string()),
        }
    }
    // The last that it does with SQLite's generator is to use it: the connection is closed later, outside of blocking code.
    let last = sys.blocking(move |_| {
        let drawn = connection.as_ref().map(|last| last.query_row("SELECT random()", [], |row| row.get::<_, i64>(0)));
        (connection, drawn)
    });
    drop(last.await);
    Exit::success()
}

/// The database is sound after each crash.
struct Sound;

impl Invariant for Sound {
    fn id(&self) -> &'static str {
        "sound"
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Learned::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let found = survivor.reading(|disk| {
            inspect(disk, || {
                let connection = Connection::open(DATABASE)?;
                connection.query_row("SELECT integrity_check || ' ' || random() || ' ' || (SELECT count(*) FROM noise WHERE bytes <> x'00') FROM pragma_integrity_check", [], |row| {
                    row.get::<_, String>(0)
                })
            })
        });
        match &*found {
            Ok(words) if words.starts_with("ok ") => Ok(()),
            found => Err(Violation::new(self.id(), format!("{found:?}")).object("database")),
        }
    }
}

fn run_storm(seed: u64, crash_points: CrashPoints) -> Outcome {
    let populate = |world: &mut World| {
        world.prepare(|sys| async move {
            match sys.blocking(|_| open().map(drop)).await {
                Ok(()) => Exit::success(),
                Err(error) => Exit::failure(error.to_string()),
            }
        });
        for index in 0..AGENTS {
            world.process("agent", index, |sys| work(sys, 12));
        }
        world.invariant(Sound);
    };
    let recover = |world: &mut World| {
        for index in 0..2 {
            world.process("agent", index, |sys| work(sys, 2));
        }
    };
    let operation = |id| Operation {
        id,
        process: format!("agent-{}", id % u64::from(AGENTS)),
        kind: "write".into(),
        not_before_ns: 0,
        think_ns: 0,
        arguments: Default::default(),
    };
    let kill = FaultPlan {
        id: 1,
        kind: FaultKind::Kill,
        process: Some("agent-1".into()),
        when: Trigger::AtNs(20_000_000),
        for_ns: 0,
        by_ns: 0,
        between: None,
    };
    let crash = FaultPlan {
        id: 2,
        kind: FaultKind::MachineCrash,
        process: None,
        when: Trigger::AtNs(60_000_000),
        ..kill.clone()
    };
    let plan = Plan {
        seed: Seed(seed),
        strategy: if seed.is_multiple_of(2) { StrategyPlan::Timed } else { StrategyPlan::Random },
        persistence: [Persistence::Strict, Persistence::Ext4, Persistence::Posix][(seed % 3) as usize],
        latency: "ssd".into(),
        chaos_ns: 10_000_000_000,
        calm_ns: 100_000_000_000,
        steps_max: 1_000_000,
        operations: (1..=12 * u64::from(AGENTS)).map(operation).collect(),
        faults: vec![kill, crash],
        ..plan()
    };
    run_case(&Case { populate, recover }, &plan, crash_points)
}

#[test]
fn the_run_notices_nothing() {
    for seed in 0..6 {
        let outcomes =
            [CrashPoints::None, CrashPoints::Sampled(4), CrashPoints::All].map(|points| run_storm(seed, points));
        let hashes = outcomes.each_ref().map(|outcome| outcome.trace_hash);
        for outcome in &outcomes {
            crate::support::passed(outcome);
        }
        assert_eq!(hashes, [hashes[0]; 3], "seed {seed}");
        assert_eq!(count(&outcomes[0], "crash_points"), 0);
        assert_eq!(count(&outcomes[1], "crash_points"), 4, "seed {seed}");
        assert!(count(&outcomes[2], "crash_recoveries") > 50, "seed {seed}: {:?}", outcomes[2].observations.counters);
    }
}

#[test]
fn exploration_itself_repeats() {
    let found = |outcome: Outcome| (outcome.trace_hash, outcome.observations.counters);
    assert_eq!(found(run_storm(7, CrashPoints::All)), found(run_storm(7, CrashPoints::All)));
    assert_eq!(found(run_storm(8, CrashPoints::Sampled(6))), found(run_storm(8, CrashPoints::Sampled(6))));
}
