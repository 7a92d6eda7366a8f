//! Unmodified rusqlite code in a run: WAL, contention, busy timeouts in simulated time.

mod sqlite_support;

use seedstorm_sim::plan::StrategyPlan;
use seedstorm_sim::{Exit, Plan, World};
use sqlite_support::{number, open_wal, pass, pass_recorded, plan};

const WRITERS: u32 = 4;
const TRANSACTIONS: i64 = 10;

fn contention(_plan: &Plan, world: &mut World) {
    world.prepare(|sys| async move {
        sys.blocking(|_| {
            let db = open_wal("/db").expect("opens");
            db.execute_batch(
                "CREATE TABLE counter(n INTEGER); INSERT INTO counter VALUES(0); CREATE TABLE log(who, n)",
            )
            .expect("creates");
        })
        .await;
        Exit::success()
    });
    for writer in 0..WRITERS {
        world.process("writer", writer, move |sys| async move {
            sys.blocking(move |_| {
                let db = open_wal("/db").expect("opens");
                for _ in 0..TRANSACTIONS {
                    db.execute_batch("BEGIN IMMEDIATE").expect("waits for the lock, five seconds at most");
                    db.execute_batch("UPDATE counter SET n = n + 1").expect("updates");
                    db.execute("INSERT INTO log SELECT ?, n FROM counter", [writer]).expect("inserts");
                    db.execute_batch("COMMIT").expect("commits");
                }
                let seen = number(&db, "SELECT count(*) FROM log WHERE who = 0").expect("reads");
                assert!((0..=TRANSACTIONS).contains(&seen), "{seen}");
                assert_eq!(
                    number(&db, "SELECT count(*) = max(n) FROM log"),
                    Ok(1),
                    "no transaction was lost to another"
                );
            })
            .await;
            Exit::success()
        });
    }
}

#[test]
fn processes_share_a_database_in_wal_mode() {
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random, StrategyPlan::RoundRobin] {
        for seed in 0..5 {
            let outcome = pass(&Plan { strategy, ..plan(seed) }, contention);
            assert!(outcome.steps > 500, "every VFS call is a step: {}", outcome.steps);
        }
    }
}

#[test]
fn a_run_repeats_bit_for_bit_whatever_ran_before_it() {
    let first = pass_recorded(&plan(7), contention);
    for seed in 100..118 {
        pass(&plan(seed), contention);
    }
    let twentieth = pass_recorded(&plan(7), contention);
    assert_eq!(first.trace_hash, twentieth.trace_hash);
    assert_eq!(first.turns, twentieth.turns);
}

#[test]
fn runs_on_two_threads_take_turns() {
    let alone: Vec<_> = (20..24).map(|seed| pass(&plan(seed), contention).trace_hash).collect();
    let together = std::thread::scope(|scope| {
        let halves = [20..22, 22..24].map(|seeds| {
            scope.spawn(move || seeds.map(|seed| pass(&plan(seed), contention).trace_hash).collect::<Vec<_>>())
        });
        halves.map(|half| half.join().expect("it passes")).concat()
    });
    assert_eq!(together, alone);
}
