//! Rows of the fault catalogue, family board: claims with two winners, lost updates, cycles of tasks, and retries that meet their own write.

use crate::agents::{agent, ask, happened};
use crate::script::{Diary, MS, SECOND, fault, follow, once, plan, play, steps, to_the_end, until, with};
use rusqlite::{Connection, OptionalExtension, params};
use seedstorm_model::agent::{Done, WorkKind, prepare, wake};
use seedstorm_model::config::Config;
use seedstorm_model::file::{open_document, replace, seal};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Os, Sys, World};
use std::rc::Rc;

const NAIVE: &str = "/swarm/naive.db";
const TASK: &str = "task";

fn config() -> Config {
    Config { tasks_need_each_other: true, busy_timeout_ns: 5 * MS, page_bytes: 1024, ..Config::default() }
}

fn tasks() -> Vec<String> {
    [TASK, "a", "b", "c"].map(str::to_owned).to_vec()
}

/// Adds the preparation: two keys, four tasks of two items, one of them at generation 3, and a database by hand.
fn prepared(world: &mut World) {
    world.prepare(|sys| async move {
        let keys = ["one", "two"].map(str::to_owned);
        prepare(&sys, &config(), &keys, &tasks(), 2).await.expect("nothing goes wrong yet");
        let made = sys.blocking(|_| {
            Connection::open(config().database())?.execute("UPDATE tasks SET generation = 3 WHERE name = 'task'", [])?;
            open_by_hand()?.execute_batch(
                "CREATE TABLE task (name TEXT PRIMARY KEY, version INTEGER, holder TEXT); INSERT INTO task VALUES ('task', 3, NULL);
                 CREATE TABLE note (key TEXT UNIQUE);",
            )
        });
        made.await.expect("nothing goes wrong yet");
        Exit::success()
    });
}

fn open_by_hand() -> rusqlite::Result<Connection> {
    let connection = Connection::open(NAIVE)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(connection)
}

/// Adds process `ROLE-0`, which runs SQL by hand once.
fn by_hand(
    world: &mut World,
    diary: &Diary,
    role: &'static str,
    work: impl Fn(&Os, &Connection, &Diary) -> rusqlite::Result<()> + 'static,
) {
    let work = Rc::new(work);
    once(world, diary, role, move |sys, diary| {
        let work = work.clone();
        async move {
            let done = sys.blocking(move |os| work(os, &open_by_hand()?, &diary));
            done.await.expect("what may fail is looked at");
        }
    });
}

/// One number out of the model's database, over a connection of its own.
async fn count_of(sys: &Sys, sql: &'static str) -> i64 {
    let count = move |_: &Os| Connection::open(config().database())?.query_row(sql, [], |row| row.get(0));
    sys.blocking(count).await.expect("a sound database")
}

fn claim() -> WorkKind {
    WorkKind::TaskClaim { task: TASK.into() }
}

fn mutated(mutant: Mutant) -> Config {
    Config { mutant: Some(mutant), ..config() }
}

/// A and B read open; both write.
#[test]
fn b1_a_claim_has_one_winner() {
    let legs = [until("a-0", CallKind::Claim, 1), to_the_end("b-0"), to_the_end("a-0")];
    let naive = follow(&plan(1), &legs, |world, diary| {
        prepared(world);
        for role in ["a", "b"] {
            by_hand(world, diary, role, |os, connection, diary| {
                let look = "SELECT 1 FROM task WHERE name = 'task' AND holder IS NULL";
                let is_open = connection.query_row(look, [], |_| Ok(())).optional()?.is_some();
                os.claim(&happened("looked"));
                if is_open {
                    connection.execute("UPDATE task SET holder = ?1 WHERE name = 'task'", [os.name()])?;
                    diary.note(format!("{} won", os.name()));
                }
                Ok(())
            });
        }
    });
    assert_eq!(naive.passed().notes, ["b-0 won", "a-0 won"]);
    // The model, with B at each step of A's operation.
    let winners = |config: &Config| -> Vec<usize> {
        let race = |count| {
            let legs = [until("a-0", CallKind::Claim, 1), steps("a-0", count), to_the_end("b-0")];
            let ran = follow(&plan(1), &legs, |world, diary| {
                prepared(world);
                for role in ["a", "b"] {
                    agent(world, diary, role, config, |sys, diary, mut agent| async move {
                        diary.note(format!("{:?}", ask(&sys, &mut agent, 1, claim()).await));
                        let _ = sys.sleep(10 * SECOND).await;
                    });
                }
            });
            ran.passed().notes.iter().filter(|note| *note == "Acknowledged").count()
        };
        (1..=steps_of_a(config)).map(race).collect()
    };
    assert!(winners(&config()).iter().all(|winners| *winners == 1), "{:?}", winners(&config()));
    let planted = winners(&mutated(Mutant::ClaimCheckThenAct));
    assert!(planted.contains(&2), "{planted:?}");
}

/// How many steps A's claim of a task takes when nobody is in its way, to its acknowledgement.
fn steps_of_a(config: &Config) -> usize {
    let alone = play(&plan(1), |world, diary| {
        prepared(world);
        agent(world, diary, "a", config, |sys, _, mut agent| async move {
            assert_eq!(ask(&sys, &mut agent, 1, claim()).await, Done::Acknowledged);
        });
    });
    let own = alone.steps.iter().filter(|step| step.by == "a-0").enumerate();
    let claims: Vec<usize> =
        own.filter(|(_, step)| step.kind == Some(CallKind::Claim)).map(|(place, _)| place).collect();
    let [begun, acknowledged] = claims[..] else { panic!("{claims:?}") };
    acknowledged - begun
}

/// A, B read v3; both write v4; A re-reads v4.
#[test]
fn b2_whoever_lost_has_no_token_that_counts() {
    let legs = [until("a-0", CallKind::Claim, 1), until("b-0", CallKind::Claim, 1), until("a-0", CallKind::Claim, 1)];
    let legs = [&legs[..], &[to_the_end("b-0"), to_the_end("a-0")]].concat();
    let naive = follow(&plan(1), &legs, |world, diary| {
        prepared(world);
        for role in ["a", "b"] {
            by_hand(world, diary, role, |os, connection, diary| {
                let version = |connection: &Connection| {
                    connection.query_row("SELECT version FROM task WHERE name = 'task'", [], |row| row.get::<_, i64>(0))
                };
                let read = version(connection)?;
                os.claim(&happened("read"));
                connection.execute("UPDATE task SET version = ?1, holder = ?2", params![read + 1, os.name()])?;
                os.claim(&happened("written"));
                if version(connection)? == read + 1 {
                    diary.note(format!("{} made version {}", os.name(), read + 1));
                }
                Ok(())
            });
        }
    });
    assert_eq!(naive.passed().notes, ["b-0 made version 4", "a-0 made version 4"]);
    // The model, whose task is at generation 3, with B at each step of A's claim. Later each works under what it believes is its claim.
    let race = |config: &Config, count| {
        let legs = [until("a-0", CallKind::Claim, 1), steps("a-0", count), to_the_end("b-0")];
        let ran = follow(&plan(1), &legs, |world, diary| {
            prepared(world);
            for (role, item) in [("a", 0), ("b", 1)] {
                agent(world, diary, role, config, move |sys, diary, mut agent| async move {
                    let name = sys.name();
                    if ask(&sys, &mut agent, 1, claim()).await == Done::Acknowledged {
                        diary.note(format!("{name} won"));
                    }
                    let _ = sys.sleep(SECOND).await;
                    let tick = WorkKind::TaskCheck { task: TASK.into(), item };
                    if ask(&sys, &mut agent, 2, tick).await == Done::Acknowledged {
                        diary.note(format!("{name} ticked"));
                    }
                    let _ = sys.sleep(SECOND).await;
                    let generation = count_of(&sys, "SELECT generation FROM tasks WHERE name = 'task'").await;
                    diary.note(format!("generation {generation}"));
                });
            }
        });
        let both_won = ran.has("a-0 won") && ran.has("b-0 won");
        let ticks = ran.notes.iter().filter(|note| note.ends_with(" ticked")).count();
        assert!(ran.has("generation 4"), "{:?}", ran.notes);
        (ran.passed(), both_won, ticks)
    };
    let mut winners = std::collections::BTreeSet::new();
    for count in 1..=steps_of_a(&config()) {
        let (ran, both_won, ticks) = race(&config(), count);
        let winner = if ran.has("a-0 won") { "a-0" } else { "b-0" };
        assert!(!both_won && ticks == 1 && ran.has(&format!("{winner} ticked")), "{count}: {:?}", ran.notes);
        winners.insert(winner);
    }
    assert_eq!(winners.len(), 2, "B was faster, and was not");
    // Where a claim is decided by the look, both made generation 4. The token still says whose it is: it is looked at by each use.
    let config = mutated(Mutant::ClaimCheckThenAct);
    let ticks = (1..=steps_of_a(&config)).map(|count| race(&config, count)).filter(|(_, both_won, _)| *both_won);
    let ticks: Vec<usize> = ticks.map(|(_, _, ticks)| ticks).collect();
    assert!(!ticks.is_empty() && ticks.iter().all(|ticks| *ticks == 1), "{ticks:?}");
}

/// A needs B; update B to need A.
#[test]
fn b4_a_cycle_of_tasks_is_refused_with_its_path() {
    let naive = play(&plan(1), |world, diary| {
        prepared(world);
        by_hand(world, diary, "a", |_, connection, diary| {
            connection.execute_batch(
                "CREATE TABLE needs (task TEXT, needed TEXT); INSERT INTO needs VALUES ('a', 'b'), ('b', 'a');
                 INSERT INTO task VALUES ('a', 0, NULL), ('b', 0, NULL);",
            )?;
            let ready = "SELECT count(*) FROM task WHERE name IN ('a', 'b') AND NOT EXISTS
               (SELECT 1 FROM needs JOIN task AS other ON other.name = needed WHERE needs.task = task.name AND other.holder IS NULL)";
            let ready: i64 = connection.query_row(ready, [], |row| row.get(0))?;
            diary.note(format!("{ready} ready"));
            Ok(())
        });
    });
    assert_eq!(naive.passed().notes, ["0 ready"], "and so for ever");
    let needs = |task: &str, needed: &[&str]| WorkKind::TaskNeeds {
        task: task.into(),
        needed: needed.iter().map(|needed| (*needed).to_owned()).collect(),
    };
    let ran = play(&plan(1), |world, diary| {
        prepared(world);
        agent(world, diary, "a", &config(), move |sys, diary, mut agent| async move {
            let steps = [
                needs("a", &["b"]),
                needs("b", &["a"]),
                needs("a", &["a"]),
                needs("b", &["c", TASK]),
                needs("c", &[TASK, "a"]),
                // What it needed before goes: now there is none.
                needs("b", &[TASK]),
                needs("c", &[TASK, "a"]),
                WorkKind::TaskClaim { task: "a".into() },
                claim(),
            ];
            for (number, step) in (1..).zip(steps) {
                diary.note(format!("{number} {:?}", ask(&sys, &mut agent, number, step).await));
            }
            for item in 0..2 {
                let tick = WorkKind::TaskCheck { task: TASK.into(), item };
                assert_eq!(ask(&sys, &mut agent, 20 + item, tick).await, Done::Acknowledged);
            }
            let leave = WorkKind::TaskLeave { task: TASK.into() };
            assert_eq!(ask(&sys, &mut agent, 30, leave).await, Done::Acknowledged);
            let ready = ask(&sys, &mut agent, 31, WorkKind::TaskClaim { task: "b".into() }).await;
            diary.note(format!("b is ready: {ready:?}"));
        });
    });
    let expected = [
        "1 Acknowledged",
        "a-0 was refused: a cycle: b needs a needs b",
        "2 Refused",
        "a-0 was refused: a cycle: a needs a",
        "3 Refused",
        "4 Acknowledged",
        "a-0 was refused: a cycle: c needs a needs b needs c",
        "5 Refused",
        "6 Acknowledged",
        "7 Acknowledged",
        "a-0 was refused: not-ready",
        "8 Refused",
        "9 Acknowledged",
        "b is ready: Acknowledged",
    ];
    assert_eq!(ran.passed().notes, expected);
    // Two that close a cycle together, B at each step of A's operation: each alone would be none.
    let race = |count| {
        let legs = [until("a-0", CallKind::Claim, 1), steps("a-0", count), to_the_end("b-0")];
        let ran = follow(&plan(1), &legs, |world, diary| {
            prepared(world);
            for (role, task, needed) in [("a", "a", "b"), ("b", "b", "a")] {
                agent(world, diary, role, &config(), move |sys, diary, mut agent| async move {
                    diary.note(format!("{:?}", ask(&sys, &mut agent, 1, needs(task, &[needed])).await));
                });
            }
        });
        ran.passed().notes.iter().filter(|note| *note == "Acknowledged").count()
    };
    let acknowledged: Vec<usize> = (1..=12).map(race).collect();
    assert_eq!(acknowledged, [1; 12]);
}

/// The insert commits; the reply is lost; the retry succeeds.
#[test]
fn b5_a_retry_recognises_its_own_write() {
    // Before it hears the answer, which is a claim; the model claims that it begins, before.
    let killed = |nth| fault(FaultKind::Kill, Some("a-0"), Trigger::Call { kind: CallKind::Claim, nth }, MS);
    let naive = play(&with([killed(1)], 1), |world, diary| {
        prepared(world);
        let noted = diary.clone();
        world.process_with("a", 0, RestartPolicy::OnFailure { first_ns: MS, last_ns: MS }, move |sys| {
            let noted = noted.clone();
            async move {
                let insert = sys.blocking(move |os| {
                    let connection = open_by_hand()?;
                    let inserted = connection.execute("INSERT INTO note VALUES ('mine')", []);
                    os.claim(&happened("answered"));
                    // Whoever asked hears it, unless it is dead.
                    if os.is_alive() {
                        noted.note(inserted.map_or_else(|error| format!("no: {error}"), |_| "yes".to_owned()));
                    }
                    Ok::<(), rusqlite::Error>(())
                });
                insert.await.expect("it is looked at");
                Exit::success()
            }
        });
    });
    assert_eq!(naive.fired(FaultKind::Kill), 1);
    assert_eq!(naive.passed().notes, ["no: UNIQUE constraint failed: note.key"], "though it is there, and its own");
    let asked_again = |config: &Config, fault| {
        play(&with([fault], 1), |world, diary| {
            prepared(world);
            let (noted, config) = (diary.clone(), config.clone());
            world.process_with("a", 0, RestartPolicy::OnFailure { first_ns: MS, last_ns: MS }, move |sys| {
                let (noted, config) = (noted.clone(), config.clone());
                async move {
                    let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
                    let done = ask(&sys, &mut agent, 1, WorkKind::Note { bytes: 20 }).await;
                    let notes = count_of(&sys, "SELECT count(*) FROM notes").await;
                    noted.note(format!("{done:?}, {notes} in the store"));
                    Exit::success()
                }
            });
        })
        .passed()
    };
    let ran = asked_again(&config(), killed(2));
    assert_eq!((ran.fired(FaultKind::Kill), ran.notes), (1, vec!["Acknowledged, 1 in the store".to_owned()]));
    // The reply that is lost can be COMMIT's own: its fsync fails, and the frames are in the WAL all the same.
    let mut unknown = 0;
    for nth in 1..=12 {
        let failed = fault(FaultKind::FailedSync, Some("a-0"), Trigger::Call { kind: CallKind::Sync, nth }, 0);
        let ran = asked_again(&config(), failed);
        unknown += usize::from(ran.has("a-0 doesn't know"));
        assert!(ran.has("Acknowledged, 1 in the store"), "{nth}: {:?}", ran.notes);
    }
    assert!(unknown > 0, "one of them is the commit's");
    let planted = asked_again(&mutated(Mutant::RetryWithoutIdempotence), killed(2));
    assert_eq!(planted.notes, ["Acknowledged, 2 in the store"]);
}

/// A, B read; A writes; B writes.
#[test]
fn b6_no_change_of_a_document_is_lost() {
    const PATH: &str = "/swarm/documents/plan";
    let history = |sys: Sys| async move {
        let document = open_document(&sys, PATH).await.expect("it can be read").document;
        let mut writers: Vec<String> = document.history.into_iter().map(|(writer, _)| writer).collect();
        writers.sort();
        writers.join(", ")
    };
    let legs = [
        until("a-0", CallKind::Claim, 1),
        until("b-0", CallKind::Claim, 1),
        until("a-0", CallKind::Claim, 1),
        to_the_end("b-0"),
    ];
    let naive = follow(&plan(1), &legs, |world, diary| {
        prepared(world);
        for role in ["a", "b"] {
            once(world, diary, role, move |sys, diary| async move {
                let mut document = open_document(&sys, PATH).await.expect("it can be read").document;
                sys.claim(&happened("read")).await;
                document.apply(&sys.name(), 1, "text".into());
                let sealed = seal(&document).expect("plain data");
                replace(&sys, PATH, &sealed).await.expect("there is room");
                sys.claim(&happened("written")).await;
                diary.note(format!("{} wrote", sys.name()));
                let _ = sys.sleep(SECOND).await;
                diary.note(history(sys).await);
            });
        }
    });
    let notes = naive.passed().notes;
    assert!(notes.contains(&"a-0 wrote".to_owned()) && notes.contains(&"b-0 wrote".to_owned()), "{notes:?}");
    assert!(!notes.contains(&"a-0, b-0".to_owned()), "A's change is gone: {notes:?}");
    // The model, B beginning when A has read, and at each step from there.
    let race = |config: &Config, count| {
        let legs = [until("a-0", CallKind::Claim, 2), steps("a-0", count), to_the_end("b-0")];
        follow(&plan(1), &legs, |world, diary| {
            prepared(world);
            for role in ["a", "b"] {
                agent(world, diary, role, config, move |sys, diary, mut agent| async move {
                    let change = WorkKind::Document { name: "plan".into(), bytes: 20 };
                    diary.note(format!("{:?}", ask(&sys, &mut agent, 1, change).await));
                    let _ = sys.sleep(20 * SECOND).await;
                    diary.note(history(sys).await);
                });
            }
        })
        .passed()
    };
    for count in 1..=20 {
        let ran = race(&config(), count);
        assert_eq!(ran.notes, ["Acknowledged", "Acknowledged", "a-0, b-0", "a-0, b-0"], "B after {count} of A's steps");
    }
    let planted = (1..=20).map(|count| race(&mutated(Mutant::LockReleasedBeforeDurable), count));
    let lost = planted.filter(|ran| !ran.has("a-0, b-0")).count();
    assert!(lost > 0, "a lock that is given back before the write protects nothing");
}
